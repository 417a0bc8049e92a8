#include "cpu/states/along.h"

#include <bit>

#include "cpu/simd/strided_copy.h"
#include "cpu/states/across.h"

namespace oriel::cpu {
namespace {

// So few windows of so many taps are halved one by one.
constexpr index_t kFewOutputs = 4, kManyTaps = 64, kManyAdaptiveTaps = 16;

constexpr index_t kSegment = 512;  // states: rows of all powers of two stay in the first caches

int floor_log2(index_t k) { return 63 - std::countl_zero(static_cast<std::uint64_t>(k)); }

}  // namespace

AlongFolder::AlongFolder(const Axis& axis, index_t lanes, index_t outputs, Joiner& joiner, Joiner* careful,
                         Arena& arena)
    : axis_(axis), lanes_(lanes), joiner_(joiner), careful_(careful) {
  const Joiner& widest = careful != nullptr ? *careful : joiner;  // it has more fields
  const index_t k = axis.kernel, stride = axis.adaptive ? 1 : axis.stride;
  const index_t positions = (outputs - 1) * stride + axis.extent();
  doubles_ = !axis.adaptive && (stride == 1 || shares_powers(axis));
  if (careful != nullptr) {
    counts_ = arena.take_array<double>(positions * lanes + kRowSlack);
    unread_ = arena.take_array<double>(outputs * lanes + kRowSlack);
  }
  halves_ = axis.adaptive ? k >= kManyAdaptiveTaps : outputs <= kFewOutputs && k >= kManyTaps;
  if (halves_) {
    for (StateRow& half : half_) half = widest.take_row((k + 1) / 2 * lanes + kRowSlack, arena);
    if (axis.dilation > 1) every_ = widest.take_row(k * lanes + kRowSlack, arena);
    for (index_t m = 1; m <= k; m *= 2)
      level_[static_cast<std::size_t>(floor_log2(m))] = widest.take_row(lanes + kRowSlack, arena);
    return;
  }
  if (axis.adaptive) {
    tree_.emplace(joiner, k, lanes + kRowSlack, arena);
    return;
  }
  if (doubles_) {
    segment_ = std::min(std::max(kSegment, 2 * (k - 1) * axis.dilation * lanes), ((outputs - 1) * stride + 1) * lanes);
    for (index_t m = 2; m <= k; m *= 2)
      level_[static_cast<std::size_t>(floor_log2(m))] =
          widest.take_row(segment_ + (k - m) * axis.dilation * lanes + kRowSlack, arena);
    if (stride > 1) every_ = widest.take_row(positions * lanes + kRowSlack, arena);
    return;
  }
  segment_ = std::min(kSegment, outputs * lanes);
  phase_ = arena.take_array<StateRow>(stride);
  const index_t taken = std::min(stride, axis.extent());
  for (index_t p = 0; p < taken; ++p)
    phase_[p] = widest.take_row((outputs + (axis.extent() - 1 - p) / stride) * lanes + kRowSlack, arena);
  tree_.emplace(joiner, k, segment_, arena);
  if (careful != nullptr) careful_tree_.emplace(*careful, k, segment_, arena);
}

// out[i] = position i * step.
void AlongFolder::pick(Joiner& joiner, const StateRow& row, index_t step, index_t n, const StateRow& out) const {
  const StridedCopy copy = strided_copy();
  for (std::size_t f = 0; f < joiner.fields(); ++f) copy(row.at[f], step, n, lanes_ * joiner.bytes(f), out.at[f]);
}

// Windows at `positions` positions, one after another.
void AlongFolder::double_taps(Joiner& joiner, const StateRow& row, index_t before, index_t positions,
                              const StateRow& out) {
  const index_t k = axis_.kernel, step = axis_.dilation * lanes_, all = positions * lanes_;
  const int top = floor_log2(k);
  for (index_t begin = 0; begin < all; begin += segment_) {
    const index_t n = std::min(segment_, all - begin);
    const StateRow to = joiner.moved_row(out, begin);
    const auto level = [&](int l) {
      return l == 0 ? joiner.moved_row(row, begin) : level_[static_cast<std::size_t>(l)];
    };
    for (int l = 0; l < top; ++l) {
      const index_t m = index_t{1} << l;
      const StateRow from = level(l);
      joiner.join(from, m * before, joiner.moved_row(from, m * step), m * before, 2 * m == k ? to : level(l + 1),
                  n + (k - 2 * m) * step);
    }
    if (k == 1) joiner.copy(level(0), to, n);
    if ((k & (k - 1)) == 0) continue;
    index_t taps = index_t{1} << top;
    StateRow sum = level(top);
    for (int l = top - 1; l >= 0; --l) {
      const index_t m = index_t{1} << l;
      if ((k & m) == 0) continue;
      joiner.join(sum, taps * before, joiner.moved_row(level(l), taps * step), m * before, to, n);
      sum = to;
      taps += m;
    }
  }
}

void AlongFolder::fold_phases(Joiner& joiner, const StateRow& row, index_t before, index_t outputs,
                              const StateRow& out) {
  const index_t k = axis_.kernel, stride = axis_.stride;
  const index_t positions = (outputs - 1) * stride + axis_.extent();
  for (index_t p = 0; p < std::min(stride, axis_.extent()); ++p) {
    bool read = false;
    for (index_t t = 0; t < std::min(k, stride) && !read; ++t) read = axis_.phase(t) == p;
    if (!read) continue;
    pick(joiner, joiner.moved_row(row, p * lanes_), stride, (positions - 1 - p) / stride + 1, phase_[p]);
  }
  PartTree& tree = &joiner == careful_ ? *careful_tree_ : *tree_;
  const index_t all = outputs * lanes_;
  for (index_t begin = 0; begin < all; begin += segment_) {
    const index_t n = std::min(segment_, all - begin);
    for (index_t t = 0; t < k; ++t) {
      PartTree::Part part;
      part.row = joiner.moved_row(phase_[axis_.phase(t)], axis_.phase_offset(t) * lanes_ + begin);
      part.n = before;
      tree.add(t, part, n);
    }
    tree.finish(k, n, joiner.moved_row(out, begin));
  }
}

// One window, whose first tap is the first position: neighbours are joined, then these, and so on. What is left over
// when there is an odd number of them is a part of its own.
void AlongFolder::halve(Joiner& joiner, const StateRow& row, index_t before, index_t width, const StateRow& out) {
  StateRow rest = row;
  if (axis_.dilation > 1) {
    pick(joiner, row, axis_.dilation, width, every_);
    rest = every_;
  }
  std::uint64_t left_over = 0;
  std::size_t level = 0;
  for (; width > 1; width /= 2, before *= 2, ++level) {
    if (width % 2 == 1) {
      joiner.copy(joiner.moved_row(rest, (width - 1) * lanes_), level_[level], lanes_);
      left_over |= std::uint64_t{1} << level;
    }
    pick(joiner, joiner.moved_row(rest, lanes_), 2, width / 2, half_[0]);
    pick(joiner, rest, 2, width / 2, half_[1]);
    joiner.join(half_[1], before, half_[0], before, half_[2], width / 2 * lanes_);
    rest = half_[2];
  }
  joiner.copy(rest, out, lanes_);
  index_t taps = before;
  while (level-- > 0) {
    before /= 2;
    if ((left_over >> level & 1) == 0) continue;
    joiner.join(out, taps, level_[level], before, out, lanes_);
    taps += before;
  }
}

void AlongFolder::fold_part(Joiner& joiner, const StateRow& row, index_t before, index_t outputs, const StateRow& out) {
  for (index_t o = 0; o < outputs && halves_; ++o)
    halve(joiner, joiner.moved_row(row, o * axis_.stride * lanes_), before, axis_.kernel,
          joiner.moved_row(out, o * lanes_));
  if (halves_) return;
  if (!doubles_) return fold_phases(joiner, row, before, outputs, out);
  if (axis_.stride == 1) return double_taps(joiner, row, before, outputs, out);
  double_taps(joiner, row, before, (outputs - 1) * axis_.stride + 1, every_);
  pick(joiner, every_, axis_.stride, outputs, out);
}

// The same with a number of taps for each state.
void AlongFolder::fold_border(const StateRow& row, index_t before, index_t origin, Range outputs, const StateRow& out) {
  if (outputs.empty()) return;
  const Range inputs = span(axis_, outputs);
  for (index_t c = inputs.begin; c < inputs.end; ++c) {
    const double n = c >= 0 && c < axis_.in ? static_cast<double>(before) : 0;
    std::fill_n(counts_ + (c - inputs.begin) * lanes_, lanes_, n);
  }
  StateRow from = joiner_.moved_row(row, (inputs.begin - origin) * lanes_);
  from.at[2] = reinterpret_cast<std::byte*>(counts_);
  StateRow to = out;
  to.at[2] = reinterpret_cast<std::byte*>(unread_);
  fold_part(*careful_, from, 1, outputs.size(), to);
}

void AlongFolder::fold_adaptive(const StateRow& row, index_t before, Range outputs, const StateRow& out) {
  const index_t origin = axis_.start(outputs.begin);
  for (index_t o = outputs.begin; o < outputs.end; ++o) {
    const index_t width = axis_.width(o);
    if (halves_) {
      halve(joiner_, joiner_.moved_row(row, (axis_.start(o) - origin) * lanes_), before, width,
            joiner_.moved_row(out, (o - outputs.begin) * lanes_));
      continue;
    }
    for (index_t t = 0; t < width; ++t) {
      PartTree::Part part;
      part.row = joiner_.moved_row(row, (axis_.at(o, t) - origin) * lanes_);
      part.n = before;
      tree_->add(t, part, lanes_);
    }
    tree_->finish(width, lanes_, joiner_.moved_row(out, (o - outputs.begin) * lanes_));
  }
}

void AlongFolder::fold(const StateRow& row, index_t before, Range outputs, const StateRow& out) {
  if (before == 0) return joiner_.clear(out, outputs.size() * lanes_);
  if (axis_.adaptive) return fold_adaptive(row, before, outputs, out);
  if (careful_ == nullptr) return fold_part(joiner_, row, before, outputs.size(), out);
  const Range full = intersect(axis_.full(), outputs);
  const index_t origin = axis_.start(outputs.begin);
  const auto at = [&](index_t o) { return joiner_.moved_row(out, (o - outputs.begin) * lanes_); };
  if (full.empty()) return fold_border(row, before, origin, outputs, out);
  // From left to right: each may write beyond its end.
  fold_border(row, before, origin, {outputs.begin, full.begin}, out);
  fold_part(joiner_, joiner_.moved_row(row, (axis_.start(full.begin) - origin) * lanes_), before, full.size(),
            at(full.begin));
  fold_border(row, before, origin, {full.end, outputs.end}, at(full.end));
}

}  // namespace oriel::cpu
