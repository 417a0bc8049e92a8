#include "pyramid/votes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "statistic_rules.h"

namespace oriel::detail {
namespace {

// How often a value occurs.
template <class T>
struct Vote {
  T value{};
  std::uint32_t count = 0;
};

// What a window holds: one value, or those in a list from `begin` on, in ascending order.
template <class T>
struct Ballot {
  Vote<T> only{};
  std::uint32_t begin = 0, size = 0;
};

// The ballots of a level's box, dense.
template <class T>
struct Count {
  LevelBox box;
  std::vector<Ballot<T>> ballots;
  std::vector<Vote<T>> lists;
};

// Along an axis: which elements of the level before each output's window holds.
struct Span {
  index_t begin = 0, size = 0;
};
using Spans = std::vector<std::vector<Span>>;

Spans spans_of(const Windows& windows, const Extents& from, const Extents& to) {
  Spans spans;
  for (int d = 0; d < from.size(); ++d) {
    index_t ratio = 1, lead = 0;
    for (int i = 0; i < windows.axes.size(); ++i) {
      if (windows.axes[i] != d) continue;
      ratio = windows.kernel[i];
      lead = windows.pad_lo[i];
    }
    std::vector<Span> along;
    for (index_t o = 0; o < to[d]; ++o) {
      const index_t begin = std::max<index_t>(o * ratio - lead, 0);
      along.push_back({begin, std::min(o * ratio - lead + ratio, from[d]) - begin});
    }
    spans.push_back(std::move(along));
  }
  return spans;
}

// Calls row(first output, rows) for each row of outputs along the last axis: `rows` are the rows of `x` that its
// windows have elements of.
template <class Element, class Row>
void for_each_row(const Element* x, const Extents& from, const Extents& to, const Spans& spans, const Row& row) {
  const int last = from.size() - 1;
  const Extents pitch = dense_pitch(from);
  std::vector<const Element*> rows;
  Extents at = Extents::filled(last, 0);
  for (index_t output = 0;; output += to[last]) {
    rows.assign(1, x);
    for (int d = 0; d < last; ++d) {
      const Span span = spans[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])];
      const std::size_t before = rows.size();
      for (index_t t = 1; t < span.size; ++t) {
        for (std::size_t r = 0; r < before; ++r) rows.push_back(rows[r] + (span.begin + t) * pitch[d]);
      }
      for (std::size_t r = 0; r < before; ++r) rows[r] += span.begin * pitch[d];
    }
    row(output, rows);
    int d = last - 1;
    for (; d >= 0 && ++at[d] == to[d]; --d) at[d] = 0;
    if (d < 0) return;
  }
}

// Joins votes in ascending order that have the same value.
template <class T>
void join(std::vector<Vote<T>>& votes) {
  std::sort(votes.begin(), votes.end(), [](const Vote<T>& a, const Vote<T>& b) { return a.value < b.value; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < votes.size(); ++i) {
    if (votes[i].value == votes[kept].value)
      votes[kept].count += votes[i].count;
    else
      votes[++kept] = votes[i];
  }
  votes.resize(kept + 1);
}

template <class T>
void set(Ballot<T>& ballot, std::vector<Vote<T>>& votes, std::vector<Vote<T>>& lists) {
  join(votes);
  if (votes.size() == 1) {
    ballot = {.only = votes[0]};
    return;
  }
  ballot = {.begin = static_cast<std::uint32_t>(lists.size()), .size = static_cast<std::uint32_t>(votes.size())};
  lists.insert(lists.end(), votes.begin(), votes.end());
}

// Where rows differ from the first of them: not zero.
template <class T>
void find_differences(const std::vector<const T*>& rows, std::vector<T>& differences) {
  const auto n = static_cast<index_t>(differences.size());
  T* const to = differences.data();
  std::fill(differences.begin(), differences.end(), T{});
  for (std::size_t r = 1; r < rows.size(); ++r) {
    for (index_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] | (rows[r][i] ^ rows[0][i]));
  }
}

// Whether all elements of a window are equal.
template <class T>
bool is_one_value(const T* row, const T* differences, Span span) {
  if (span.size == 2) {  // the usual one, without branches
    return ((differences[span.begin] | differences[span.begin + 1]) | (row[span.begin] ^ row[span.begin + 1])) == 0;
  }
  for (index_t i = span.begin; i < span.begin + span.size; ++i) {
    if (differences[i] != 0 || row[i] != row[span.begin]) return false;
  }
  return true;
}

template <class T>
Count<T> count_elements(const ConstTensor& x, const Spans& spans, const LevelBox& box) {
  Count<T> count;
  count.box = box;
  count.ballots.resize(static_cast<std::size_t>(element_count(box.shape)));
  std::vector<Vote<T>> votes;
  std::vector<T> differences(static_cast<std::size_t>(x.shape.back()));
  for_each_row(static_cast<const T*>(x.data), x.shape, box.shape, spans,
               [&](index_t output, const std::vector<const T*>& rows) {
                 Ballot<T>* ballot = count.ballots.data() + output;
                 find_differences(rows, differences);
                 for (const Span span : spans.back()) {
                   if (is_one_value(rows[0], differences.data(), span)) {
                     const index_t n = static_cast<index_t>(rows.size()) * span.size;
                     (ballot++)->only = {rows[0][span.begin], static_cast<std::uint32_t>(n)};
                     continue;
                   }
                   votes.clear();
                   for (const T* row : rows) {
                     for (index_t t = 0; t < span.size; ++t) votes.push_back({row[span.begin + t], 1});
                   }
                   set(*ballot++, votes, count.lists);
                 }
               });
  return count;
}

// What several windows held, in one.
template <class T>
void join_windows(const std::vector<const Ballot<T>*>& rows, Span span, const std::vector<Vote<T>>& lists,
                  std::vector<Vote<T>>& votes, Count<T>& count, Ballot<T>& to) {
  const Ballot<T>& first = rows[0][span.begin];
  bool same = first.size == 0;
  std::uint32_t all = 0;
  for (const Ballot<T>* row : rows) {
    for (index_t t = 0; t < span.size; ++t) {
      const Ballot<T>& one = row[span.begin + t];
      same = same && one.size == 0 && one.only.value == first.only.value;
      all += one.only.count;
    }
  }
  if (same) {
    to.only = {first.only.value, all};
    return;
  }
  votes.clear();
  for (const Ballot<T>* row : rows) {
    for (index_t t = 0; t < span.size; ++t) {
      const Ballot<T>& one = row[span.begin + t];
      if (one.size == 0) votes.push_back(one.only);
      for (std::uint32_t i = 0; i < one.size; ++i) votes.push_back(lists[one.begin + i]);
    }
  }
  set(to, votes, count.lists);
}

template <class T>
Count<T> count_ballots(const Count<T>& before, const Spans& spans, const LevelBox& box) {
  Count<T> count;
  count.box = box;
  count.ballots.resize(static_cast<std::size_t>(element_count(box.shape)));
  std::vector<Vote<T>> votes;
  for_each_row(before.ballots.data(), before.box.shape, box.shape, spans,
               [&](index_t output, const std::vector<const Ballot<T>*>& rows) {
                 Ballot<T>* ballot = count.ballots.data() + output;
                 for (const Span span : spans.back()) {
                   join_windows(rows, span, before.lists, votes, count, *ballot++);
                 }
               });
  return count;
}

template <class T>
T mode_of(const Ballot<T>& ballot, const std::vector<Vote<T>>& lists, Tie tie, const std::optional<T>& ignored) {
  if (ballot.size == 0) return ballot.only.value;
  Vote<T> best;
  for (std::uint32_t i = 0; i < ballot.size; ++i) {
    const Vote<T>& vote = lists[ballot.begin + i];
    if (ignored && vote.value == *ignored) continue;
    if (vote.count > best.count || (vote.count == best.count && tie == Tie::highest)) best = vote;
  }
  return best.value;
}

template <class T>
void climb_values(const Pool& pool, const Tiling& tiling, const ConstTensor& x, int last,
                  const LevelMaker::BoxOf& box_of, Scratch& scratch, const LevelMaker::Put& put) {
  std::optional<T> ignored;
  if (pool.ignore && is_representable(*pool.ignore, x.dtype)) {
    ignored.emplace();
    store(*pool.ignore, x.dtype, &*ignored);
  }
  Count<T> now;
  now.box = box_of(0);
  for (int level = 1; level <= last; ++level) {
    const LevelBox box = box_of(level);
    if (box.empty()) return;
    const Spans spans = spans_of(tiling.windows(now.box, level - 1, box, level), now.box.shape, box.shape);
    now = level == 1 ? count_elements<T>(x, spans, box) : count_ballots(now, spans, box);
    const Tensor y = scratch.tensor(x.dtype, box.shape);
    auto* to = static_cast<T*>(y.data);
    for (const Ballot<T>& ballot : now.ballots) *to++ = mode_of(ballot, now.lists, pool.tie, ignored);
    put(level, box, y);
  }
}

}  // namespace

bool can_count_votes(const Pool& pool, Dtype dtype) {
  return !is_floating(dtype) && dtype != Dtype::boolean && pool.tie != Tie::first && !pool.nodata &&
         pool.min_count == 0 && pool.min_fraction == 0;
}

Carry climb_by_votes(const Pool& pool, const Tiling& tiling, const Carry& carry, int, int last,
                     const LevelMaker::BoxOf& box_of, Scratch& scratch, const LevelMaker::Put& put) {
  visit(carry.value.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) climb_values<T>(pool, tiling, carry.value, last, box_of, scratch, put);
  });
  return {};
}

}  // namespace oriel::detail
