#include "cpu/box_gradient/index_codes.h"

namespace oriel::cpu {

IndexCodes::IndexCodes(const RowLayout& layout, IndexSpace space, const std::int64_t* index,
                       const GatherKernels& kernels, index_t most, index_t room, Arena& arena)
    : layout_(layout),
      rule_{layout, space},
      step_(rule_.steps()),
      index_(index),
      k_(kernels),
      dense_(arena.take_array<std::int64_t>(room)),
      narrow_(arena.take_array<std::int32_t>(room)),
      bases_(arena.take_array<std::int32_t>(room)),
      low_(arena.take_array<std::int32_t>(room)),
      high_(arena.take_array<std::int32_t>(room)) {
  rule_.fill_bases(most, bases_);
}

void IndexCodes::set_row(const Pitches& plane, Range outputs) {
  plane_ = plane;
  if (outputs == outputs_) return;
  outputs_ = outputs;
  const Axis& row = layout_.axis.end()[-1].axis;
  const index_t lanes = layout_.lanes.n;
  for (index_t p = 0; p < outputs.size(); ++p) {
    const Range taps = row.taps(outputs.begin + p);
    std::fill_n(low_ + p * lanes, lanes, static_cast<std::int32_t>(taps.begin * step_[0]));
    std::fill_n(high_ + p * lanes, lanes, static_cast<std::int32_t>((taps.end - 1) * step_[0]));
  }
}

bool IndexCodes::read(const PlaceCoords& o, bool check, void* codes) {
  // The codes of the first column in every row that the row of outputs reads.
  RowRead reads[kMostPlaceTaps * kMostPlaceTaps];
  std::int32_t rows[kMostPlaceTaps * kMostPlaceTaps];
  index_t count = 0;
  if (check) {
    const auto taps = [&](int a) { return layout_.axis[at(a)].axis.taps(o[at(a)]); };
    count = list_reads(layout_, o, {}, step_, taps, reads);
    for (index_t r = 0; r < count; ++r) rows[r] = static_cast<std::int32_t>(reads[r].code);
  }
  return k_.relative(dense_row(o), bases_, outputs_.size() * layout_.lanes.n, rule_.origin(plane_[kFlat], o), rows,
                     static_cast<int>(count), {low_, high_, static_cast<std::int32_t>(step_[0])}, narrow_, codes);
}

const std::int64_t* IndexCodes::dense_row(const PlaceCoords& o) {
  const std::int64_t* index = index_ + plane_[kIndex] + offset_of(layout_, o, kIndex);
  if (is_dense_row(layout_, kIndex, outputs_.size())) return index;
  const index_t lanes = layout_.lanes.n, pitch = layout_.axis.end()[-1].pitch[kIndex];
  for (index_t p = 0; p < outputs_.size(); ++p) {
    for (index_t l = 0; l < lanes; ++l) dense_[p * lanes + l] = index[p * pitch + l * layout_.lanes.pitch[kIndex]];
  }
  return dense_;
}

}  // namespace oriel::cpu
