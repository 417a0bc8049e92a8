#include "cpu/recipe/doubled_rows.h"

namespace oriel::cpu {

void DoubledRows::make(index_t kernel, index_t move, index_t n, Arena& arena) {
  if (kernel <= kMaxFold) return;
  rooms_ = arena.take_array<RowOut>(floor_log2(kernel) + 1);
  for (index_t m = 2; m <= kernel; m *= 2) {
    const index_t elems = n + (m < kMaxFold ? 0 : (kernel - m) * move);
    rooms_[floor_log2(m)] = take_row(how_, elems, arena);
  }
}

// Windows of at most kMaxFold taps.
void DoubledRows::fold_few(const RowIn& first, index_t taps, index_t move, index_t n, index_t radix, RowOut out) const {
  RowIn rows[kMaxFold];
  for (index_t t = 0; t < taps; ++t) rows[t] = shifted(how_, first, t * move, t * radix);
  how_.fold.fold_rows(rows, static_cast<int>(taps), n, out);
}

// Folds of every power of two of taps from kMaxFold on, at all places where the windows have one.
void DoubledRows::double_taps(const RowIn& first, index_t kernel, index_t move, index_t n, index_t radix) const {
  for (index_t m = kMaxFold; m <= kernel; m *= 2) {
    const RowOut& out = rooms_[floor_log2(m)];
    const index_t length = n + (kernel - m) * move;
    if (m == kMaxFold) {
      fold_few(first, m, move, length, radix, out);
      continue;
    }
    const RowIn half = doubled(m / 2);
    const RowIn halves[2] = {half, shifted(how_, half, m / 2 * move, m / 2 * radix)};
    how_.fold.fold_rows(halves, 2, length, out);
  }
}

void DoubledRows::fold(RowIn first, index_t kernel, index_t move, index_t n, RowOut out) const {
  const index_t radix = first.step;
  first.step = 0;
  if (kernel <= kMaxFold) return fold_few(first, kernel, move, n, radix, out);
  double_taps(first, kernel, move, n, radix);
  RowIn parts[64];
  int count = 0;
  if (repeats_) {
    const index_t most = detail::floor_power_of_two(kernel), rest = kernel - most;
    parts[count++] = doubled(most);
    if (rest > 0) parts[count++] = shifted(how_, doubled(most), rest * move, rest * radix);
    return join_powers(how_, parts, count, n, out);
  }
  for (index_t t = 0; t < kernel;) {
    const index_t m = detail::floor_power_of_two(kernel - t);
    if (m > 1 && m < kMaxFold) {
      fold_few(shifted(how_, first, t * move, 0), m, move, n, radix, rooms_[floor_log2(m)]);
      parts[count] = doubled(m);
      parts[count++].step = t * radix;
    } else {
      parts[count++] = shifted(how_, m == 1 ? first : doubled(m), t * move, t * radix);
    }
    t += m;
  }
  join_powers(how_, parts, count, n, out);
}

}  // namespace oriel::cpu
