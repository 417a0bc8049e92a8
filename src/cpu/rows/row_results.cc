#include "cpu/rows/row_results.h"

#include "cpu/plan/index_rows.h"
#include "cpu/recipe/pairwise_rows.h"

namespace oriel::cpu {

RowResults::RowResults(const RowPart& part, Arena& arena)
    : part_(part),
      is_direct_(part.how.lower == nullptr && part.layout.has_dense_rows(kY) && part.job.index == nullptr) {
  folded_ = take_row(part.how, part.tiling.out_elems, arena);
  if (!asks_for_counts(part.how)) return;
  runs_ = arena.take_array<RowRun>(part.tiling.out_elems);
  for (int a = 0; a < part.layout.pooled(); ++a) {
    if (a != part.layout.row_axis) across_.push_back({a, &part.axis(a), part.axis(a).full()});
  }
}

void RowResults::set_tile() {
  if (runs_ == nullptr) return;
  RowCounts counts;
  counts.count(part_.tile.axis, part_.how, RunTaps::equal, runs_);
  along_ = counts.params(part_.how);
}

void RowResults::begin(index_t plane) {
  const FoldJob& job = part_.job;
  const auto begin = [&](Operand operand) { return part_.tile.offset(part_.layout, plane, operand); };
  y_ = static_cast<std::byte*>(job.y) + begin(kY) * part_.how.out_bytes;
  if (job.index == nullptr) return;
  index_ = static_cast<std::byte*>(job.index) + begin(kIndex) * size_bytes(job.index_dtype);
  flat_ = part_.layout.plane_offset(plane, kFlat) + part_.tile.lane_begin * part_.layout.lanes.pitch[kFlat];
}

LowerParams RowResults::params(const RowCoords& c) const {
  LowerParams p = along_;
  for (const Counted& a : across_) {
    const index_t o = c[RowPart::at(a.number)];
    const bool full = a.full.contains(o);
    if (!p.fixed_divisor) p.divisor *= full ? a.axis->kernel : a.axis->divisor(o, part_.how.count_include_pad);
    p.taps *= full ? a.axis->kernel : a.axis->taps(o).size();
  }
  return p;
}

void RowResults::finish(const RowCoords& c) const {
  if (is_direct_) return;
  const RowReduction& how = part_.how;
  const RowLayout& layout = part_.layout;
  const LowerRow lower = how.lower != nullptr ? how.lower : how.store;
  lower({folded_.value, folded_.extra, 0}, part_.tile.axis.out, part_.tile.lanes, params(c), row_,
        part_.tile.position_pitch(layout, kY), layout.lanes.pitch[kY]);
  if (part_.job.index != nullptr && folded_.extra != nullptr) write_indices(c);
}

void RowResults::write_indices(const RowCoords& c) const {
  IndexRow where{.parts = {}, .origin = flat_, .lanes = part_.tile.lanes};
  for (int a = 0; a < part_.layout.pooled(); ++a) {
    const std::size_t i = RowPart::at(a);
    const bool along = a == part_.layout.row_axis;
    where.parts[i] = {along ? &part_.tile.axis : &part_.axis(a), along ? part_.tile.in_begin : 0, c[i], part_.radix[i]};
  }
  std::byte* out = index_ + row_offset(part_.layout, c, kIndex) * size_bytes(part_.job.index_dtype);
  write_index_row(part_.job, where, folded_.extra, part_.how.extra_bytes, part_.tile.axis.out, out);
}

}  // namespace oriel::cpu
