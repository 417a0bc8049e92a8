#include "cpu/channels/channel_axes.h"

#include <algorithm>

#include "cpu/exact/mend.h"

namespace oriel::cpu {

ChannelAxes::ChannelAxes(const FoldJob& of, const Tiling& tiling)
    : job(of),
      kernels(element_kernels(*of.problem, of.plain)),
      mends(oriel::cpu::mends(of)),
      along(axis_along(of.layout)) {
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (a != along) across.push_back(a);
  }
  in_pitch = out_pitch = std::min(job.layout.lanes.n, tiling.in_elems);
  if (along < 0) return;
  const PooledAxis& row = job.layout.axis[static_cast<std::size_t>(along)];
  in_pitch = row.pitch[kX];
  out_pitch = row.pitch[kY];
  const bool all_lanes = job.layout.row_axis >= 0 || tiling.tiles == 1;
  dense = row.axis.in == 1 || (in_pitch == job.layout.lanes.n && all_lanes);
}

index_t TapRows::list(int number, index_t output, const std::byte* x, const std::byte** rows) {
  if (number < 0) {
    rows[0] = x;
    return 1;
  }
  const Axis& axis = axes_.axis(number);
  const index_t pitch = axes_.input_bytes(number), width = axis.width(output), start = axis.start(output);
  index_t unwatched = 0;
  for (index_t t = 0; t < width; ++t) {
    const index_t input = axis.input_at(start + t * axis.dilation);
    rows[t] = input < 0 ? absent_ : x + input * pitch;
    if (unwatched > 0 || input >= watched_) ++unwatched;
    if (input >= watched_ && axis.dilation == 1) watched_ = input + 1;
  }
  return axis.dilation > 1 ? width : unwatched;  // rows between those of one window are read by the next
}

}  // namespace oriel::cpu
