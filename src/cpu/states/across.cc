#include "cpu/states/across.h"

#include <bit>

namespace oriel::cpu {
namespace {

int floor_log2(index_t k) { return 63 - std::countl_zero(static_cast<std::uint64_t>(k)); }

// The largest power of two of taps that is kept; of a power of two the half, as the window itself is no part.
int levels_of(const Axis& axis) {
  if (!shares_powers(axis)) return 0;
  return floor_log2(axis.kernel) - ((axis.kernel & (axis.kernel - 1)) == 0 ? 1 : 0);
}

// How many rows of 2^level taps are kept.
index_t slots_of(const Axis& axis, int level, bool lifts) {
  if (!shares_powers(axis)) return lifts && !axis.adaptive && axis.stride < axis.extent() ? axis.extent() : 0;
  const index_t k = axis.kernel, m = index_t{1} << level;
  return 1 + axis.dilation * std::max(2 * m <= k ? m : 0, (k & m) != 0 ? k & (m - 1) : 0);
}

}  // namespace

bool shares_powers(const Axis& axis) {
  const index_t k = axis.kernel;
  if (axis.adaptive || k < 3) return false;
  return axis.stride * floor_log2(k) + std::popcount(static_cast<std::uint64_t>(k)) - 1 <= k - 1;
}

AcrossFolder::AcrossFolder(const Axis& axis, Joiner& joiner, index_t width, bool lifts, PartTree& tree, Arena& arena)
    : axis_(axis), joiner_(joiner), lifts_(lifts), doubles_(shares_powers(axis)), tree_(tree) {
  keeps_ = !doubles_ && lifts && !axis.adaptive && axis.stride < axis.extent();
  levels_ = levels_of(axis);
  for (int l = 0; l <= levels_; ++l) {
    const auto i = static_cast<std::size_t>(l);
    slots_[i] = slots_of(axis, l, lifts);
    rows_[i] = arena.take_array<StateRow>(slots_[i]);
    for (index_t r = 0; r < slots_[i] && (l > 0 || lifts); ++r) rows_[i][r] = joiner.take_row(width, arena);
  }
  if (keeps_) inputs_ = arena.take_array<index_t>(slots_[0]);
}

index_t AcrossFolder::bytes(const Axis& axis, const Joiner& joiner, index_t width, bool lifts) {
  index_t slots = 0;
  for (int l = 0; l <= levels_of(axis); ++l) slots += l > 0 || lifts ? slots_of(axis, l, lifts) : 0;
  return slots * joiner.row_bytes(width);
}

// The row of 2^level taps that ends `age` coordinates before the last one.
StateRow& AcrossFolder::slot(int level, index_t age) const {
  const auto l = static_cast<std::size_t>(level);
  const index_t number = now_[l] - age;
  return rows_[l][number < 0 ? number + slots_[l] : number];
}

// Of that many taps, the last one at a coordinate, those that exist.
index_t AcrossFolder::taps_until(index_t coordinate, index_t taps) const {
  const index_t d = axis_.dilation;
  if (coordinate < axis_.in && coordinate >= (taps - 1) * d) return taps;
  const index_t begin = std::max<index_t>(0, ceil_div(coordinate - axis_.in + 1, d));
  const index_t end = coordinate < 0 ? 0 : std::min(taps, coordinate / d + 1);
  return end > begin ? end - begin : 0;
}

void AcrossFolder::step(index_t c, index_t n, StateRows& rows) {
  const index_t d = axis_.dilation;
  for (int l = 0; l <= levels_; ++l) {
    const auto i = static_cast<std::size_t>(l);
    now_[i] = now_[i] + 1 < slots_[i] ? now_[i] + 1 : 0;
  }
  if (c >= 0 && c < axis_.in) {
    StateRow& row = slot(0, 0);
    row = rows.row(c, row);
  }
  for (int l = 0; l < levels_; ++l) {
    const index_t m = index_t{1} << l;
    if (c - (2 * m - 1) * d < first_) return;
    const index_t na = taps_until(c - m * d, m), nb = taps_until(c, m);
    const StateRow &a = slot(l, m * d), &b = slot(l, 0), &to = slot(l + 1, 0);
    if (na != 0 && nb != 0)
      joiner_.join(a, na * before_, b, nb * before_, to, n);
    else if (na + nb != 0)
      joiner_.copy(na != 0 ? a : b, to, n);
  }
}

// The powers of two that make up the window that ends at the last coordinate, largest first.
index_t AcrossFolder::join_parts(index_t end, index_t n, const StateRow& out) const {
  const index_t k = axis_.kernel, d = axis_.dilation;
  StateRow sum;
  index_t count = 0;
  const auto add = [&](int level, index_t age) {
    const index_t taps = taps_until(end - age, index_t{1} << level) * before_;
    if (taps == 0) return;
    const StateRow& part = slot(level, age);
    if (count == 0) {
      sum = part;
    } else {
      joiner_.join(sum, count, part, taps, out, n);
      sum = out;
    }
    count += taps;
  };
  if ((k & (k - 1)) == 0) {
    add(levels_, k / 2 * d);
    add(levels_, 0);
  } else {
    for (int l = levels_; l >= 0; --l)
      if ((k >> l & 1) != 0) add(l, (k & ((index_t{1} << l) - 1)) * d);
  }
  if (count == 0)
    joiner_.clear(out, whole_steps(n));
  else
    joiner_.copy(sum, out, n);
  return count;
}

index_t AcrossFolder::fold_taps(index_t output, index_t n, StateRows& rows, const StateRow& out) {
  const Range taps = axis_.taps(output);
  const index_t width = axis_.width(output);
  for (index_t t = 0; t < width; ++t) {
    PartTree::Part part;
    if (taps.contains(t)) {
      const index_t c = axis_.at(output, t);
      part.n = before_;
      if (keeps_) {
        const index_t number = floor_mod(c, slots_[0]);
        StateRow& row = rows_[0][number];
        if (inputs_[number] != c) row = rows.row(c, row);
        inputs_[number] = c;
        part.row = row;
      } else if (lifts_) {
        part.room = tree_.take_room();
        part.row = rows.row(c, tree_.room(part.room));
      } else {
        part.row = rows.row(c, part.row);
      }
    }
    tree_.add(t, part, n);
  }
  return tree_.finish(width, n, out);
}

index_t AcrossFolder::fold(index_t output, index_t before, index_t n, StateRows& rows, const StateRow& out) {
  before_ = before;
  if (before == 0) {
    joiner_.clear(out, whole_steps(n));
    return 0;
  }
  if (!doubles_) {
    if (!running_ && keeps_) std::fill_n(inputs_, slots_[0], index_t{-1});
    running_ = true;
    return fold_taps(output, n, rows, out);
  }
  const index_t start = axis_.start(output), end = axis_.at(output, axis_.kernel - 1);
  if (!running_ || start > next_) first_ = next_ = start;
  running_ = true;
  for (; next_ <= end; ++next_) step(next_, n, rows);
  return join_parts(end, n, out);
}

}  // namespace oriel::cpu
