#include "cpu/argmax/box_argmax.h"

#include "cpu/argmax/index_writer.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool can_places(const FoldJob& job) {
  if (job.problem == nullptr || job.index == nullptr) return false;
  const RowLayout& layout = job.layout;
  const PooledAxis& row = layout.axis[at(layout.pooled() - 1)];
  const bool dense_index = (layout.lanes.n == 1 || layout.lanes.pitch[kIndex] == 1) &&
                           (row.axis.out == 1 || row.pitch[kIndex] == layout.lanes.n);
  return dense_index && finds_places(*job.problem, layout);
}

void run_places(const FoldJob& job, int threads) {
  each_place_box(job, threads, [&](const PlaceCoords& size, Arena& arena) { return PlaceWriter(job, size, arena); });
}

}  // namespace oriel::cpu
