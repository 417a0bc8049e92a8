// The part of RowFolder for the commonest fold: one axis across rows that are folded where they lie, then small windows
// along them. What the general way asks for every row is asked once here: rows of a network's planes are short.
#include "cpu/rows/row_folder.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

// Rows are short and read several at a time, which the hardware's prefetchers follow badly: measured 3x slower without.
constexpr index_t kAheadBytes = 4096;

}  // namespace

bool RowFolder::is_simple() const {
  const Axis& along = tile_.axis;
  return rows_ascend_ && row_stage_ == 1 && how_.extra_bytes == 0 && along.out > 0 && along.kernel <= kMaxFold &&
         !along.adaptive && along.spacing == 1 &&
         (along.stride == 1 || steps_in_pairs(along) || phases_.value != nullptr) && !stage_[0].axis->adaptive &&
         stage_[0].axis->spacing == 1;
}

bool RowFolder::fold_simple(Range outputs) {
  const Axis& across = *stage_[0].axis;
  const Axis& along = tile_.axis;
  const PooledAxis& rows = layout_.axis[at(stage_[0].number)];
  const index_t x_pitch = rows.pitch[kX] * how_.in_bytes, y_pitch = rows.pitch[kY] * how_.out_bytes;
  const RowOut folded = slot(levels_[1], 0, tiling_.before_elems);
  fill_margins(levels_[1], folded);
  const RowIn first = shifted({folded.value, nullptr, 0}, along.start(0) * tile_.lanes, 0);
  InlineList<RowIn, kMaxFold> taps;
  for (index_t t = 0; t < along.kernel; ++t) taps.push_back(shifted(first, t * along.dilation * tile_.lanes, 0));
  const bool direct = how_.lower == nullptr && dense_y_;
  const LowerRow lower = how_.lower != nullptr ? how_.lower : how_.store;
  const index_t along_pitch = layout_.axis[at(layout_.row_axis)].pitch[kY];
  const RowOut result = slot(result_, 0, 0);
  const RowIn unlowered = {result.value, nullptr, 0};
  const index_t new_bytes = std::min(across.stride, across.kernel) * tile_.in_elems() * how_.in_bytes;
  const index_t ahead = how_.scan != nullptr ? kScanBytes + kAheadBytes : kAheadBytes;  // a scan reads ahead itself
  const bool pairs = steps_in_pairs(along);
  Coords c{};
  InlineList<RowIn, kMaxFold> in;
  for (index_t o = outputs.begin; o < outputs.end; ++o) {
    const index_t start = across.start(o);
    in.clear();
    for (index_t t = 0; t < across.kernel; ++t) {
      const index_t i = start + t;
      in.push_back({i >= 0 && i < across.in ? x_ + i * x_pitch : identity_.value, nullptr, 0});
      if (how_.scan != nullptr && i >= scanned_ && i < across.in) scan_ahead(i);
    }
    done_ = o;
    if (special_) return false;
    const std::byte* soon = x_ + (start + across.kernel) * x_pitch + ahead;
    for (index_t b = 0; b < new_bytes; b += kLineBytes) __builtin_prefetch(soon + b);
    how_.fold.fold_rows(in.begin(), static_cast<int>(across.kernel), tile_.in_elems(), folded);
    std::byte* y = y_ + o * y_pitch;
    const RowOut out = direct ? RowOut{y, nullptr} : result;
    if (along.stride == 1)
      how_.fold.fold_rows(taps.begin(), static_cast<int>(along.kernel), tile_.out_elems(), out);
    else if (pairs)
      how_.fold.fold_windows(first, static_cast<int>(along.kernel), along.out, out, true);
    else
      fold_phases(first, out);
    if (direct) continue;
    c[at(stage_[0].number)] = o;
    lower(unlowered, along.out, tile_.lanes, lower_params(c), y, along_pitch, layout_.lanes.pitch[kY]);
  }
  return true;
}

}  // namespace oriel::cpu
