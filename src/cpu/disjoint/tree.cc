#include "cpu/disjoint/tree.h"

#include "cpu/recipe/pairwise_rows.h"
#include "cpu/simd/transpose.h"

namespace oriel::cpu {
namespace {

constexpr index_t kFewUnits = 16;  // fewer are folded one by one
constexpr int kMostParts = 64;

}  // namespace

RowTree::RowTree(const RowReduction& how, index_t most, Arena& arena)
    : how_(how), transpose_(transpose_kernel()), bytes_(how.value_bytes) {
  const auto buffer = [&](index_t n) { return arena.take(n * bytes_ + 64); };
  turned_ = buffer(most);
  halves_ = buffer(2 * (most / kUnit + 1));
  levels_ = buffer(most / (kUnit - 1) + 1);
  few_ = buffer(kUnit * kFewUnits);
  parts_ = buffer(kMostParts);
}

void RowTree::fold_units(const std::byte* row, index_t units, std::byte* out) {
  static_assert(kUnit == 2 * kMaxFold);
  transpose_(row, units, kUnit, bytes_, turned_);
  RowIn taps[kUnit];
  for (index_t t = 0; t < kUnit; ++t) taps[t] = {turned_ + t * units * bytes_, nullptr, 0};
  std::byte* second = halves_ + units * bytes_;
  how_.fold.fold_rows(taps, kMaxFold, units, {halves_, nullptr});
  how_.fold.fold_rows(taps + kMaxFold, kMaxFold, units, {second, nullptr});
  const RowIn halves[2] = {{halves_, nullptr, 0}, {second, nullptr, 0}};
  how_.fold.fold_rows(halves, 2, units, {out, nullptr});
}

// A power of two of values beside each other, by eights.
void RowTree::add_power(const std::byte* row, index_t count) {
  std::byte* out = parts_ + used_++ * bytes_;
  const std::byte* from = row;
  do {
    const index_t taps = std::min(count, kMaxFold), folds = count / taps;
    std::byte* to = folds == 1 ? out : few_;
    for (index_t f = 0; f < folds; ++f) {
      RowIn in[kMaxFold];
      for (index_t t = 0; t < taps; ++t) in[t] = {from + (f * taps + t) * bytes_, nullptr, 0};
      std::byte value[64];
      how_.fold.fold_rows(in, static_cast<int>(taps), 1, {value, nullptr});
      std::memcpy(to + f * bytes_, value, static_cast<std::size_t>(bytes_));
    }
    from = to;
    count = folds;
  } while (count > 1);
}

void RowTree::add_parts(const std::byte* row, index_t count, std::byte* levels) {
  index_t t = 0;
  if (count >= kUnit * kFewUnits) {
    const index_t units = count / kUnit;
    fold_units(row, units, levels);
    add_parts(levels, units, levels + units * bytes_);
    t = units * kUnit;
  }
  while (t < count) {
    const index_t m = detail::floor_power_of_two(count - t);
    add_power(row + t * bytes_, m);
    t += m;
  }
}

void RowTree::join_parts(std::byte* out) {
  RowIn list[kMostParts];
  for (int i = 0; i < used_; ++i) list[i] = {parts_ + i * bytes_, nullptr, 0};
  join_powers(how_, list, used_, 1, {out, nullptr});
}

void RowTree::join(const std::byte* units, index_t count, const std::byte* rest, index_t rest_count, std::byte* out) {
  used_ = 0;
  add_parts(units, count, levels_);
  for (index_t t = 0; t < rest_count;) {
    const index_t m = detail::floor_power_of_two(rest_count - t);
    add_power(rest + t * bytes_, m);
    t += m;
  }
  join_parts(out);
}

void RowTree::fold(const std::byte* row, index_t count, std::byte* out) {
  used_ = 0;
  add_parts(row, count, levels_);
  join_parts(out);
}

}  // namespace oriel::cpu
