#include "cpu/rows/row_source.h"

#include <cstring>

#include "cpu/recipe/pairwise_rows.h"

namespace oriel::cpu {

RowPart::RowPart(const FoldJob& fold, const RowReduction& reduction, const Tiling& cut, bool scan_order, Arena& arena)
    : job(fold),
      layout(fold.layout),
      how(reduction),
      tiling(cut),
      repeats(fold.problem != nullptr && (reduction.any_order || scan_order)) {  // extrema
  // Sums follow the problem's order (S8); where order does not matter the row axis comes last and works on least.
  const bool row_axis_last = how.any_order && layout.row_axis >= 0;
  for (int i = 0; i < layout.pooled(); ++i) {
    const int a = scan_order ? layout.pooled() - 1 - i : i;
    if (!(row_axis_last && a == layout.row_axis)) order.push_back(a);
  }
  if (row_axis_last) order.push_back(layout.row_axis);
  index_t step = 1;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    radix[at(a)] = step;
    step *= axis(a).kernel;
  }
  const index_t widest =
      std::max({tiling.in_elems, tiling.out_elems, tiling.place_elems, tiling.before_elems, tiling.after_elems});
  identity = take_row(how, widest, arena);
  fill_identity(how, identity, widest);
}

void RowPart::fill_margins(RowSlots& slots, RowOut row) const {
  if (slots.margins_of == tile_number || tile.axis.spacing != 1) return;
  slots.margins_of = tile_number;
  const index_t before = tile.before * tile.lanes, after = tile.after * tile.lanes;
  const auto fill = [&](void* to, const void* identities, index_t bytes) {
    if (to == nullptr) return;
    auto* begin = static_cast<std::byte*>(to);
    std::memcpy(begin - before * bytes, identities, at(before * bytes));
    std::memcpy(begin + tile.in_elems() * bytes, identities, at(after * bytes));
  };
  fill(row.value, identity.value, how.value_bytes);
  fill(row.extra, identity.extra, how.extra_bytes);
}

RowSource::RowSource(const RowPart& part)
    : part_(part), dense_(part.layout.has_dense_rows(kX)), in_place_(part.how.lift == nullptr && dense_) {}

void RowSource::make(index_t count, bool margins, Arena& arena) {
  const Tiling& tiling = part_.tiling;
  margins_ = margins;
  if (margins) before_ = tiling.before_elems;
  const index_t elems = tiling.in_elems + (margins ? tiling.before_elems + tiling.after_elems : 0);
  slots_ = RowSlots(part_.how, count, in_place_ ? 0 : elems, arena);
  if (part_.how.lift != nullptr && part_.how.scan != nullptr && !dense_) {
    raw_ = arena.take(tiling.in_elems * part_.how.in_bytes);
  }
}

void RowSource::begin(index_t plane, Range inputs) {
  special_ = false;
  scanned_ = inputs.begin;
  scan_end_ = inputs.end;
  x_ = static_cast<const std::byte*>(part_.job.x) + part_.tile.offset(part_.layout, plane, kX) * part_.how.in_bytes;
}

RowIn RowSource::row(const RowCoords& c, index_t slot, std::uint64_t number) {
  const RowReduction& how = part_.how;
  const std::byte* x = x_ + row_offset(part_.layout, c, kX) * how.in_bytes;
  const index_t n = part_.tile.in_elems();
  if (in_place_) {
    if (!slots_.find(slot, {part_.task, number})) {
      special_ = special_ || how.scan(x, n, how.scan_zeros);
    }
    return {x, nullptr, 0};
  }
  const RowOut out = slots_.at(slot, before_);
  if (slots_.find(slot, {part_.task, number})) return {out.value, out.extra, 0};
  const index_t pitch = part_.tile.position_pitch(part_.layout, kX), lane_pitch = part_.layout.lanes.pitch[kX];
  const LiftRow lift = how.lift != nullptr ? how.lift : how.gather;
  lift(x, pitch, lane_pitch, part_.tile.axis.in, part_.tile.lanes, out, how.lift_params);
  if (how.scan != nullptr) {
    const void* seen = x;
    if (how.lift == nullptr) {
      seen = out.value;
    } else if (!dense_) {
      gather_raw(x);
      seen = raw_;
    }
    special_ = special_ || how.scan(seen, n, how.scan_zeros);
  }
  if (margins_) part_.fill_margins(slots_, out);
  return {out.value, out.extra, 0};
}

// Scans rows from `input` on, as many as lie together and fit the first cache, before they are folded from there.
void RowSource::scan_ahead(index_t input) {
  const RowReduction& how = part_.how;
  const index_t n = part_.tile.in_elems();
  index_t rows = 1;
  if (ascending_pitch_ == n * how.in_bytes) {
    rows = std::clamp<index_t>(kScanBytes / ascending_pitch_, 1, scan_end_ - input);
  }
  special_ = special_ || how.scan(x_ + input * ascending_pitch_, rows * n, how.scan_zeros);
  scanned_ = input + rows;
}

void RowSource::gather_raw(const std::byte* x) const {
  const index_t bytes = part_.how.in_bytes, pitch = part_.tile.position_pitch(part_.layout, kX);
  std::byte* out = raw_;
  for (index_t p = 0; p < part_.tile.axis.in; ++p) {
    for (index_t l = 0; l < part_.tile.lanes; ++l) {
      std::memcpy(out, x + (p * pitch + l * part_.layout.lanes.pitch[kX]) * bytes, RowPart::at(bytes));
      out += bytes;
    }
  }
}

}  // namespace oriel::cpu
