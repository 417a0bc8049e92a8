#include "cpu/networks/selection.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cpu/networks/schedule.h"

namespace oriel::cpu {
namespace {

constexpr double kStepCycles = 0.5;  // for each vector: what the reading of a step takes, of 16 vectors

// A sorted list without those of its elements that cannot have any of the ranks.
struct Sorted {
  std::vector<Ref> kept;
  index_t below = 0;  // that are left out
  index_t above = 0;

  Sorted shifted(index_t shift) const {
    Sorted all = *this;
    for (Ref& r : all.kept) r.shift += static_cast<std::uint32_t>(shift);
    return all;
  }
};

class Network {
 public:
  explicit Network(index_t inputs) : inputs_(static_cast<std::uint32_t>(inputs)) {}

  std::pair<Ref, Ref> exchange(Ref a, Ref b) {
    const std::uint32_t shift = std::min(a.shift, b.shift);
    const auto low = inputs_ + 2 * static_cast<std::uint32_t>(steps_.size());
    steps_.push_back({{a.node, a.shift - shift}, {b.node, b.shift - shift}});
    return {{low, shift}, {low + 1, shift}};
  }

  // Batcher's odd-even merge, of lists of any lengths.
  std::vector<Ref> merge(const std::vector<Ref>& a, const std::vector<Ref>& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    if (a.size() == 1 && b.size() == 1) {
      const auto [low, high] = exchange(a[0], b[0]);
      return {low, high};
    }
    const std::vector<Ref> even = merge(every_other(a, 0), every_other(b, 0));
    const std::vector<Ref> odd = merge(every_other(a, 1), every_other(b, 1));
    std::vector<Ref> all{even[0]};
    for (std::size_t i = 0; i < odd.size(); ++i) {
      if (i + 1 == even.size()) {
        all.push_back(odd[i]);
      } else {
        const auto [low, high] = exchange(odd[i], even[i + 1]);
        all.push_back(low);
        all.push_back(high);
      }
    }
    if (even.size() == odd.size() + 2) all.push_back(even.back());
    return all;
  }

  std::vector<Ref> sort(std::span<const Ref> all) {
    if (all.size() < 2) return {all.begin(), all.end()};
    const std::size_t half = all.size() / 2;
    return merge(sort(all.subspan(0, half)), sort(all.subspan(half)));
  }

  // The element of a rank among two sorted lists: the least of the maxima of all ways to take rank + 1 first elements.
  Ref select(const std::vector<Ref>& a, const std::vector<Ref>& b, index_t rank) {
    const index_t m = static_cast<index_t>(a.size()), n = static_cast<index_t>(b.size());
    std::optional<Ref> least;
    for (index_t i = std::max<index_t>(0, rank + 1 - n); i <= std::min(m, rank + 1); ++i) {
      const index_t j = rank + 1 - i;
      const auto at = [](const std::vector<Ref>& list, index_t k) { return list[static_cast<std::size_t>(k)]; };
      const Ref most = i == 0 ? at(b, j - 1) : j == 0 ? at(a, i - 1) : exchange(at(a, i - 1), at(b, j - 1)).second;
      least = least ? exchange(*least, most).first : most;
    }
    return *least;
  }

  const std::vector<Pair>& pairs() const { return steps_; }
  std::uint32_t inputs() const { return inputs_; }

 private:
  static std::vector<Ref> every_other(const std::vector<Ref>& all, std::size_t first) {
    std::vector<Ref> some;
    for (std::size_t i = first; i < all.size(); i += 2) some.push_back(all[i]);
    return some;
  }

  std::uint32_t inputs_;
  std::vector<Pair> steps_;
};

// The networks of windows of one shape.
class WindowNetwork {
 public:
  WindowNetwork(const SelectionWindow& window, bool halves)
      : window_(window),
        network_(window.depth * window.rows() * window.phases),
        count_(window.count()),
        halves_(halves),
        results_(static_cast<std::size_t>(window.outputs) * window.ranks.size()) {}

  Selection make() {
    if (!window_.taps.empty()) {
      const std::vector<Ref> found = select(columns_of_footprint());
      return schedule(network_.inputs(), network_.pairs(), found);
    }
    std::vector<Sorted> core = rows(window_.outputs - 1, window_.height);
    if (window_.outputs == 1) {
      write(0, select(std::move(core)));
    } else {
      split(0, window_.outputs, joined(std::move(core)));
    }
    return schedule(network_.inputs(), network_.pairs(), results_);
  }

 private:
  Ref input(index_t d, index_t y, const SelectionWindow::Column& column) const {
    return {static_cast<std::uint32_t>((d * window_.rows() + y) * window_.phases + column.phase),
            static_cast<std::uint32_t>(column.shift)};
  }

  void write(index_t output, const std::vector<Ref>& found) {
    std::copy(found.begin(), found.end(), results_.begin() + output * static_cast<index_t>(window_.ranks.size()));
  }

  // Leaves out elements with too many others below or above.
  void drop(Sorted& list) const {
    const index_t n = count_ - list.below - list.above, m = static_cast<index_t>(list.kept.size());
    const index_t least = window_.ranks.front() - list.below, most = window_.ranks.back() - list.below;
    const index_t below = std::clamp<index_t>(m - n + least, 0, m);
    const index_t above = std::clamp<index_t>(m - 1 - most, 0, m - below);
    list.kept.erase(list.kept.end() - above, list.kept.end());
    list.kept.erase(list.kept.begin(), list.kept.begin() + below);
    list.below += below;
    list.above += above;
  }

  Sorted merge(const Sorted& a, const Sorted& b) {
    Sorted all{.kept = network_.merge(a.kept, b.kept), .below = a.below + b.below, .above = a.above + b.above};
    drop(all);
    return all;
  }

  // The rows [begin, end) of inputs, as sorted lists that together have all their taps.
  std::vector<Sorted> rows(index_t begin, index_t end) {
    std::vector<Sorted> lists;
    for (index_t phase = 0; phase < window_.phases; ++phase) {
      std::vector<index_t> shifts;
      for (const SelectionWindow::Column& c : window_.columns) {
        if (c.phase == phase) shifts.push_back(c.shift);
      }
      if (shifts.empty()) continue;
      std::vector<Ref> refs;
      for (index_t d = 0; d < window_.depth; ++d) {
        for (index_t y = begin; y < end; ++y) refs.push_back(input(d, y, {phase, 0}));
      }
      Sorted column{.kept = network_.sort(refs)};
      drop(column);
      const index_t n = static_cast<index_t>(shifts.size()), step = n > 1 ? shifts[1] - shifts[0] : 0;
      for (Sorted& list : runs(column, n, step)) lists.push_back(list.shifted(shifts[0]));
    }
    return lists;
  }

  // n copies of a list, each `step` lanes further than the one before.
  std::vector<Sorted> runs(const Sorted& column, index_t n, index_t step) {
    if (halves_) return {run(column, n, step)};
    std::vector<Sorted> lists;
    Sorted power = column;
    index_t place = 0;
    for (index_t size = 1; size <= n; size *= 2) {
      if ((n & size) != 0) {
        lists.push_back(power.shifted(place));
        place += size * step;
      }
      if (2 * size <= n) power = merge(power, power.shifted(size * step));
    }
    return lists;
  }

  Sorted run(const Sorted& column, index_t n, index_t step) {
    if (n == 1) return column;
    if (n % 2 != 0) return merge(run(column, n - 1, step), column.shifted((n - 1) * step));
    const Sorted half = run(column, n / 2, step);
    return merge(half, half.shifted(n / 2 * step));
  }

  // Merges the shortest two until `most` are left.
  std::vector<Sorted> few(std::vector<Sorted> lists, std::size_t most) {
    while (lists.size() > most) {
      std::stable_sort(lists.begin(), lists.end(),
                       [](const Sorted& a, const Sorted& b) { return a.kept.size() > b.kept.size(); });
      const Sorted last = std::move(lists.back());
      lists.pop_back();
      lists.back() = merge(lists.back(), last);
    }
    return lists;
  }

  Sorted joined(std::vector<Sorted> lists) { return few(std::move(lists), 1)[0]; }

  std::vector<Ref> select(std::vector<Sorted> all) {
    std::vector<Sorted> lists = few(std::move(all), 2);
    if (lists.size() < 2) lists.emplace_back();
    const index_t below = lists[0].below + lists[1].below;
    std::vector<Ref> found;
    if (window_.ranks.size() > 3) {
      const std::vector<Ref> sorted = network_.merge(lists[0].kept, lists[1].kept);
      for (const index_t rank : window_.ranks) found.push_back(sorted[static_cast<std::size_t>(rank - below)]);
    } else {
      for (const index_t rank : window_.ranks)
        found.push_back(network_.select(lists[0].kept, lists[1].kept, rank - below));
    }
    return found;
  }

  // `core` has what the windows of all outputs [begin, end) share; each half of them shares some more rows.
  void split(index_t begin, index_t end, const Sorted& core) {
    const index_t middle = begin + (end - begin) / 2;
    grow(begin, middle, core, middle - 1, end - 1);
    grow(middle, end, core, begin + window_.height, middle + window_.height);
  }

  void grow(index_t begin, index_t end, const Sorted& core, index_t first, index_t last) {
    std::vector<Sorted> lists = few(rows(first, last), 1);
    lists.insert(lists.begin(), core);
    if (end - begin == 1) return write(begin, select(std::move(lists)));
    split(begin, end, joined(std::move(lists)));
  }

  // Columns of a footprint that look alike are sorted once.
  std::vector<Sorted> columns_of_footprint() {
    std::vector<Sorted> lists;
    std::map<std::pair<index_t, std::vector<std::uint8_t>>, Sorted> known;
    const std::size_t width = window_.columns.size(), cells = window_.taps.size() / width;
    for (std::size_t t = 0; t < width; ++t) {
      const SelectionWindow::Column& column = window_.columns[t];
      std::vector<std::uint8_t> has(cells);
      std::vector<Ref> refs;
      for (std::size_t c = 0; c < cells; ++c) {
        has[c] = window_.taps[c * width + t] != 0 ? 1 : 0;
        const index_t cell = static_cast<index_t>(c);
        if (has[c] != 0) refs.push_back(input(cell / window_.height, cell % window_.height, {column.phase, 0}));
      }
      if (refs.empty()) continue;
      const auto [at, fresh] = known.try_emplace({column.phase, has});
      if (fresh) {
        at->second.kept = network_.sort(refs);
        drop(at->second);
      }
      lists.push_back(at->second.shifted(column.shift));
    }
    return lists;
  }

  const SelectionWindow& window_;
  Network network_;
  index_t count_;
  bool halves_;
  std::vector<Ref> results_;
};

double cycles_of(const Selection& selection) {
  double cycles = 0;
  for (const Exchange& step : selection.steps) {
    const int exchanges = kExchangeShapes[step.shape].exchanges;
    const auto stores =
        std::count_if(step.out.begin(), step.out.end(), [](std::uint32_t row) { return row != kNoRow; });
    cycles += kStepCycles + std::max(static_cast<double>(exchanges), static_cast<double>(stores));
  }
  return cycles;
}

}  // namespace

index_t SelectionWindow::count() const {
  if (taps.empty()) return depth * height * static_cast<index_t>(columns.size());
  return std::count_if(taps.begin(), taps.end(), [](std::uint8_t tap) { return tap != 0; });
}

Selection make_selection(const SelectionWindow& window) {
  Selection binary = WindowNetwork(window, false).make();
  binary.cycles = cycles_of(binary);
  if (!window.taps.empty() || window.columns.size() < 3) return binary;
  Selection halves = WindowNetwork(window, true).make();
  halves.cycles = cycles_of(halves);
  return halves.cycles < binary.cycles ? halves : binary;
}

}  // namespace oriel::cpu
