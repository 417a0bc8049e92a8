#include "cpu/rows/row_folder.h"

#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

// Rows are short and read several at a time, which the hardware's prefetchers follow badly: measured 3x slower without.
constexpr index_t kAheadBytes = 4096;

}  // namespace

RowFolder::RowFolder(const FoldJob& job, const RowReduction& reduction, const Tiling& tiling, Arena& arena,
                     bool scan_order)
    : part_(job, reduction, tiling, scan_order, arena),
      source_(part_),
      windows_(part_, source_.is_in_place(), arena),
      chain_(part_, source_, windows_, arena),
      results_(part_, arena) {}

bool RowFolder::fold(index_t plane, index_t tile, Range rows) {
  if (tile != part_.tile_number) {
    part_.tile_number = tile;
    part_.tile = part_.tiling.tile(tile);
    results_.set_tile();
  }
  ++part_.task;
  source_.begin(plane, chain_.inputs(rows));
  results_.begin(plane);
  if (is_simple()) return fold_simple(rows);
  RowCoords c = row_coords(part_.layout, rows.begin);
  for (index_t r = rows.begin; r < rows.end; ++r, to_next_row(part_.layout, c)) {
    done_ = r;
    chain_.fold(c, results_.begin_row(row_offset(part_.layout, c, kY)));
    if (source_.special()) return false;
    results_.finish(c);
  }
  return true;
}

// The commonest fold: one axis across rows that are folded where they lie, then small windows along them.
bool RowFolder::is_simple() const {
  if (!chain_.rows_ascend() || part_.layout.row_axis < 0 || !windows_.are_short()) return false;
  const Axis& across = part_.axis(chain_.first_axis());
  return !across.adaptive && across.spacing == 1;
}

// What fold asks for every row is asked once here: rows of a network's planes are short.
bool RowFolder::fold_simple(Range outputs) {
  const int number = chain_.first_axis();
  const PooledAxis& rows = part_.layout.axis[RowPart::at(number)];
  const Axis& across = rows.axis;
  const FoldRows fold_rows = part_.how.fold.fold_rows;
  const index_t pitch = rows.pitch[kX] * part_.how.in_bytes;
  const index_t row_bytes = part_.tile.in_elems() * part_.how.in_bytes;
  const index_t new_bytes = std::min(across.stride, across.kernel) * row_bytes;
  const index_t ahead =
      part_.how.scan != nullptr ? RowSource::kScanBytes + kAheadBytes : kAheadBytes;  // a scan does it
  const RowOut folded = chain_.first_row();
  windows_.set_short({folded.value, nullptr, 0});
  RowCoords c{};
  RowIn in[kMaxFold];
  for (index_t o = outputs.begin; o < outputs.end; ++o) {
    const index_t start = across.start(o);
    for (index_t t = 0; t < across.kernel; ++t) in[t].value = source_.ascending_row(across.input_at(start + t));
    done_ = o;
    if (source_.special()) return false;
    const std::byte* soon = source_.first() + (start + across.kernel) * pitch + ahead;
    for (index_t b = 0; b < new_bytes; b += kLineBytes) __builtin_prefetch(soon + b);
    fold_rows(in, static_cast<int>(across.kernel), part_.tile.in_elems(), folded);
    c[RowPart::at(number)] = o;
    windows_.fold_short(results_.begin_row(o * rows.pitch[kY]));
    results_.finish(c);
  }
  return true;
}

}  // namespace oriel::cpu
