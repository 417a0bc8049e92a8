#include "cpu/sum_gradient/tap_tree.h"

#include <algorithm>
#include <limits>

#include "reduction.h"

namespace oriel::cpu {
namespace {

constexpr index_t kMostWoven = 4;     // rows that one kernel weaves together
constexpr index_t kLongRun = 6;       // inputs, on average, from which on a run is quicker than vectors of pairs
constexpr index_t kPlacesSlack = 64;  // places after the last one that a vector reads

// Writes the tree of S8 over the taps first, first + step … of a window.
class TreeWriter {
 public:
  TreeWriter(index_t first, index_t step, int count) : first_(first), step_(step), count_(count) {}

  SumTree write(index_t width) {
    bool any = false;
    for (index_t at = 0; at < width && leaves_ < count_;) {
      const index_t taps = detail::floor_power_of_two(width - at);
      any = joined(any, power(at, taps));
      at += taps;
    }
    return tree_;
  }

 private:
  // The part over `taps` taps from `at`, a power of two; false when none of them is there.
  bool power(index_t at, index_t taps) {
    const index_t next = first_ + leaves_ * step_;
    if (leaves_ == count_ || next >= at + taps) return false;
    if (taps == 1) {
      ++leaves_;
      return true;
    }
    const bool left = power(at, taps / 2);
    return joined(left, power(at + taps / 2, taps / 2));
  }

  bool joined(bool left, bool right) {
    if (left && right) tree_ += SumTree{1} << (4 * (leaves_ - 1));
    return left || right;
  }

  index_t first_, step_;
  int count_, leaves_ = 0;
  SumTree tree_ = 0;
};

// The taps of output o of the adjoint that are in `range`.
SharedTaps taps_in(const Axis& adjoint, index_t o, Range range) {
  const index_t step = adjoint.standing_step(), standing = adjoint.first_standing(o);
  if (standing < 0) return {};
  const index_t first = standing + std::max<index_t>(0, ceil_div(range.begin - standing, step)) * step;
  if (first >= range.end) return {};
  SharedTaps taps;
  taps.first = adjoint.number_at(adjoint.at(o, first));
  taps.count = static_cast<int>(ceil_div(range.end - first, step));
  if (taps.count == 2) taps.tree = kTree2;
  if (taps.count > 2) taps.tree = TreeWriter(first, step, taps.count).write(adjoint.width(o));
  return taps;
}

}  // namespace

index_t most_shares(const Axis& adjoint) { return ceil_div(adjoint.kernel, adjoint.standing_step()); }

SharedTaps shared_taps(const Axis& adjoint, index_t i) { return taps_in(adjoint, i, adjoint.taps(i)); }

RowSpread::RowSpread(const Axis& adjoint, index_t lanes, Arena& arena) {
  how.lanes = lanes;
  how.n = adjoint.out;
  how.input_step = adjoint.input_step();
  how.step = adjoint.adaptive ? 1 : adjoint.spacing;
  const index_t period = std::min(how.step, how.n);
  SharedTaps* taps = arena.take_array<SharedTaps>(std::max(how.step, how.n));
  how.taps = taps;
  if (adjoint.adaptive) {
    how.kind = Spread::Kind::listed;
    for (index_t i = 0; i < how.n; ++i) taps[i] = shared_taps(adjoint, i);
    if (lanes == 1) shorten(adjoint.in, arena);
    return;
  }
  for (index_t r = 0; r < period; ++r) taps[r] = taps_in(adjoint, r, {0, adjoint.kernel});
  how.kind = how.step == 1 ? Spread::Kind::same : Spread::Kind::woven;
  if (how.step > kMostWoven && lanes == 1 && is_repeated(period)) {
    how.kind = Spread::Kind::repeated;
  } else if (how.step > kMostWoven && lanes == 1) {
    how.kind = Spread::Kind::listed;
    list(adjoint, taps);
    shorten(adjoint.in, arena);
    return;
  }
  for (index_t r = period; r < how.step; ++r) taps[r] = {};
  const index_t last_group = ceil_div(how.n, how.step) - 1;
  for (index_t r = 0; r < period; ++r) {
    if (taps[r].count == 0) continue;
    before = std::max(before, -taps[r].first);
    const index_t last = taps[r].first + (taps[r].count - 1) * how.input_step +
                         (how.kind == Spread::Kind::same ? how.n - 1 : last_group);
    after = std::max(after, last + 1 - adjoint.in);
  }
}

// A listed row of one lane, in a form that takes less time, if there is one; `outputs` are the shares.
void RowSpread::shorten(index_t outputs, Arena& arena) {
  if (outputs >= std::numeric_limits<std::int32_t>::max() || how.n >= std::numeric_limits<std::int32_t>::max()) return;
  index_t runs = 0;
  bool few = true;
  for (index_t i = 0; i < how.n; ++i) {
    runs += i == 0 || how.taps[i] != how.taps[i - 1] ? 1 : 0;
    few = few && how.taps[i].count <= 2;
  }
  if (how.n >= kLongRun * runs) {
    std::int32_t* ends = arena.take_array<std::int32_t>(runs);
    how.kind = Spread::Kind::runs;
    how.places = ends;
    for (index_t i = 1; i <= how.n; ++i)
      if (i == how.n || how.taps[i] != how.taps[i - 1]) *ends++ = static_cast<std::int32_t>(i);
  } else if (few) {
    how.kind = Spread::Kind::pairs;
    how.place_pitch = how.n + kPlacesSlack;
    std::int32_t* first = arena.take_array<std::int32_t>(2 * how.place_pitch);
    std::int32_t* second = first + how.place_pitch;
    how.places = first;
    std::fill_n(first, 2 * how.place_pitch, -1);
    for (index_t i = 0; i < how.n; ++i) {
      const SharedTaps& t = how.taps[i];
      if (t.count > 0) first[i] = static_cast<std::int32_t>(t.first);
      if (t.count > 1) second[i] = static_cast<std::int32_t>(t.first + how.input_step);
    }
  }
}

// Windows beside each other: `head` inputs take the first share, then every `step` the next.
bool RowSpread::is_repeated(index_t period) {
  how.head = 0;
  for (index_t r = 0; r < period; ++r) {
    const index_t ahead = how.taps[r].first - how.taps[0].first;
    if (how.taps[r].count != 1 || (ahead != 0 && ahead != 1) || (ahead == 0 && how.head != r)) return false;
    if (ahead == 0) ++how.head;
  }
  return true;
}

// Writes the taps of every input, from those of one period; at the ends some do not exist.
void RowSpread::list(const Axis& adjoint, SharedTaps* taps) const {
  for (index_t i = how.n - 1; i >= 0; --i) {
    SharedTaps t = taps[i % how.step];
    t.first += i / how.step;
    const index_t last = t.first + (t.count - 1) * how.input_step;
    taps[i] = t.first >= 0 && last < adjoint.in ? t : shared_taps(adjoint, i);
  }
}

}  // namespace oriel::cpu
