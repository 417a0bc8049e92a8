#include "cpu/recipe/pairwise_rows.h"

namespace oriel::cpu {

void PairwiseRows::make(index_t most, index_t elems, Arena& arena) {
  if (most <= kMaxFold) return;
  value_bytes_ = (elems * how_.value_bytes + 127) / 64 * 64;
  extra_bytes_ = how_.extra_bytes == 0 ? 0 : (elems * how_.extra_bytes + 127) / 64 * 64;
  const index_t rooms = (floor_log2(most) + 1) * kTurns;
  value_ = arena.take(rooms * value_bytes_);
  if (extra_bytes_ != 0) extra_ = arena.take(rooms * extra_bytes_);
}

void PairwiseRows::fold(const RowIn* rows, index_t count, index_t n, RowOut out) {
  if (count <= kMaxFold) return how_.fold.fold_rows(rows, static_cast<int>(count), n, out);
  fold(count, n, out, [&](index_t first, index_t some, RowOut room) {
    if (some == 1) return rows[first];
    how_.fold.fold_rows(rows + first, static_cast<int>(some), n, room);
    return RowIn{room.value, room.extra, 0};
  });
}

void PairwiseRows::fold_many(index_t count, index_t n, RowOut out, const AnyLeaf& leaf) {
  RowIn powers[kMostPowers];
  int used = 0;
  for (index_t t = 0; t < count;) {
    const index_t m = detail::floor_power_of_two(count - t);
    powers[used++] = power(t, m, n, leaf);
    t += m;
  }
  join_powers(how_, powers, used, n, out);
}

RowIn PairwiseRows::power(index_t first, index_t count, index_t n, const AnyLeaf& leaf) {
  const int size = floor_log2(count);
  const index_t room = size * kTurns + turns_[static_cast<std::size_t>(size)]++ % kTurns;
  const RowOut out = {value_ + room * value_bytes_, extra_ == nullptr ? nullptr : extra_ + room * extra_bytes_};
  if (count <= kMaxFold) return leaf.fold(leaf.self, first, count, out);
  const RowIn halves[2] = {power(first, count / 2, n, leaf), power(first + count / 2, count / 2, n, leaf)};
  how_.fold.fold_rows(halves, 2, n, out);
  return {out.value, out.extra, 0};
}

}  // namespace oriel::cpu
