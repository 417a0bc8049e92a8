// Axis is proved by exhaustion: every answer against the definitions S1, S2, S5, enumerated.
#include "oriel/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace oriel {
namespace {

static_assert(Axis::uniform(112, 3, 2, 1, 1).out == 56);
static_assert(Axis::uniform(112, 3, 2, 1, 1).taps(0) == Range{1, 3});
static_assert(Axis::uniform(112, 3, 2, 1, 1).full() == Range{1, 56});
static_assert(Axis::uniform(5, 2, 2, 0, 0, 1, true).out == 3);
static_assert(Axis::uniform(5, 2, 2, 0, 0, 1, true).divisor(2, true) == 1, "S5: the overhang of ceil does not count");
static_assert(Axis::uniform(7, 3, 2, 0, 0).slice({1, 3}).in == 5);
static_assert(Axis::make_adaptive(7, 3).kernel == 3 && Axis::make_adaptive(11, 4).kernel == 4);
static_assert(Axis::uniform(10, 3, 2, 1, 1).centre(0) == 0 && Axis::uniform(10, 3, 2, 1, 1).centre(4) == 8);
static_assert(Axis::uniform(10, 4, 2, 0, 0).centre(0) == 1 && Axis::uniform(5, 2, 2, 1, 1).centre(0) == 0);
static_assert(Axis::uniform(9, 3, 2, 1, 1).adjoint().adjoint().start(2) == 3);
static_assert(Axis::uniform(40, 3, 4, 0, 0, 6).classes() == 3 && Axis::uniform(40, 3, 4, 0, 0, 6).class_step() == 2);

// What an axis is, spelled out: where each tap looks. An input i stands at place i * spacing.
struct Truth {
  index_t in = 0;
  index_t spacing = 1;
  index_t dilation = 1;
  std::vector<std::vector<index_t>> places;  // [output][nominal tap]
  std::vector<std::vector<bool>> counted;    // whether padding's divisor counts it (S5); empty: not asked

  index_t out() const { return static_cast<index_t>(places.size()); }
  const std::vector<index_t>& of(index_t o) const { return places[static_cast<std::size_t>(o)]; }
  index_t last_place() const { return (in - 1) * spacing; }
  index_t input(index_t place) const {
    return place >= 0 && place % spacing == 0 && place / spacing < in ? place / spacing : -1;
  }
};

// Fast enough for hundreds of millions of checks: the expectation is only written when it fails.
#define CHECK_THAT(condition)                                            \
  do {                                                                   \
    if (!(condition)) {                                                  \
      ADD_FAILURE() << #condition << " in " << where << " output " << o; \
      return false;                                                      \
    }                                                                    \
  } while (false)

bool check_outputs(const Axis& a, const Truth& t, const std::string& where) {
  index_t o = -1;
  CHECK_THAT(a.in == t.in);
  CHECK_THAT(a.out == t.out());
  const Range full = a.full();
  CHECK_THAT(full.empty() || (full.begin >= 0 && full.end <= a.out));
  for (o = 0; o < a.out; ++o) {
    const auto& places = t.of(o);
    CHECK_THAT(a.width(o) == static_cast<index_t>(places.size()));
    CHECK_THAT(a.width(o) <= a.kernel);
    CHECK_THAT(a.start(o) == places[0]);
    index_t existing = 0, including = 0;
    for (index_t tap = 0; tap < a.width(o); ++tap) {
      const index_t place = places[static_cast<std::size_t>(tap)];
      CHECK_THAT(a.at(o, tap) == place);
      CHECK_THAT(a.input_at(place) == t.input(place));
      CHECK_THAT(a.taps(o).contains(tap) == (place >= 0 && place <= t.last_place()));
      existing += t.input(place) >= 0 ? 1 : 0;
      if (!t.counted.empty())
        including += t.counted[static_cast<std::size_t>(o)][static_cast<std::size_t>(tap)] ? 1 : 0;
    }
    CHECK_THAT(a.taps(o).begin >= 0 && a.taps(o).end <= a.width(o));
    CHECK_THAT(full.contains(o) == (!a.adaptive && a.spacing == 1 && existing == a.kernel));
    if (t.counted.empty()) continue;
    CHECK_THAT(a.divisor(o, false) == existing);
    CHECK_THAT(a.divisor(o, true) == including);
  }
  return true;
}

bool check_inputs(const Axis& a, const Truth& t, const std::string& where) {
  for (index_t i = 0; i < a.in; ++i) {
    const index_t place = i * t.spacing;
    const Range feeds = a.feeds(i);
    index_t o = 0;
    CHECK_THAT(feeds.begin >= 0 && feeds.end <= a.out);
    for (; o < a.out; ++o) {
      const auto& places = t.of(o);
      CHECK_THAT(feeds.contains(o) == (places.front() <= place && place <= places.back()));
      const auto found = std::find(places.begin(), places.end(), place);
      CHECK_THAT(a.tap_of(o, i) == (found == places.end() ? -1 : found - places.begin()));
    }
  }
  return true;
}

// needs(range): all that is read, and just the inputs from the first place to the last that the windows span.
bool check_needs(const Axis& a, const Truth& t, Range range, const std::string& where) {
  const Range needs = a.needs(range);
  index_t first = a.in, last = -1, o = range.begin;
  index_t lowest = range.empty() ? 0 : t.of(o).front(), highest = lowest;
  for (; o < range.end; ++o) {
    lowest = std::min(lowest, t.of(o).front());
    highest = std::max(highest, t.of(o).back());
    for (index_t place : t.of(o)) {
      if (t.input(place) < 0) continue;
      first = std::min(first, t.input(place));
      last = std::max(last, t.input(place));
    }
  }
  CHECK_THAT(needs.begin >= 0 && needs.begin <= needs.end && needs.end <= a.in);
  if (last >= 0) CHECK_THAT(needs.begin <= first && last < needs.end);
  for (index_t i = 0; i < a.in && !range.empty(); ++i)
    CHECK_THAT(needs.contains(i) == (lowest <= i * t.spacing && i * t.spacing <= highest));
  const Range all = a.feeds(needs);
  for (o = range.begin; o < range.end; ++o)
    for (index_t i = needs.begin; i < needs.end; ++i)
      if (a.tap_of(o, i) >= 0) CHECK_THAT(all.contains(o));
  return true;
}

Truth slice_of(const Truth& t, Range range, Range needs) {
  Truth s = t;
  s.in = needs.size();
  s.places.assign(t.places.begin() + range.begin, t.places.begin() + range.end);
  for (auto& places : s.places)
    for (index_t& place : places) place -= needs.begin * t.spacing;
  if (!t.counted.empty()) s.counted.assign(t.counted.begin() + range.begin, t.counted.begin() + range.end);
  return s;
}

// The transposed windows: input i is read by the outputs that read it, ascending.
Truth adjoint_of(const Truth& t, index_t stride, bool adaptive) {
  Truth s;
  s.in = t.out();
  s.dilation = t.dilation;
  s.spacing = adaptive ? 1 : stride;
  for (index_t i = 0; i < t.in; ++i) {
    std::vector<index_t> places;
    if (adaptive) {
      for (index_t o = 0; o < t.out(); ++o)
        if (std::find(t.of(o).begin(), t.of(o).end(), i) != t.of(o).end()) places.push_back(o);
    } else {
      // Output o reads i with tap t where o * stride = i - place(0, t).
      for (auto place = t.of(0).rbegin(); place != t.of(0).rend(); ++place) places.push_back(i - *place);
    }
    s.places.push_back(places);
  }
  return s;
}

// Every read of `t` is one of its transposed windows, and the other way round.
bool check_transposed(const Truth& t, const Truth& adjoint, const std::string& where) {
  for (index_t o = 0; o < t.out(); ++o)
    for (index_t i = 0; i < t.in; ++i) {
      const auto reads = std::count_if(t.of(o).begin(), t.of(o).end(), [&](index_t p) { return t.input(p) == i; });
      const auto fed =
          std::count_if(adjoint.of(i).begin(), adjoint.of(i).end(), [&](index_t p) { return adjoint.input(p) == o; });
      CHECK_THAT(reads == fed);
    }
  return true;
}

bool check_whole(const Axis& a, const Truth& t, const std::string& where, int depth) {
  if (!check_outputs(a, t, where) || !check_inputs(a, t, where)) return false;
  for (index_t begin = 0; begin < a.out; ++begin)
    for (index_t end = begin; end <= a.out; ++end) {
      const Range range{begin, end};
      if (!check_needs(a, t, range, where)) return false;
      if (depth == 0) continue;
      // Slices of slices: the ranges that touch an end, and single outputs.
      if (depth == 1 && begin != 0 && end != a.out && end != begin + 1) continue;
      const std::string part = where + " [" + std::to_string(begin) + "," + std::to_string(end) + ")";
      const Truth s = slice_of(t, range, a.needs(range));
      if (!check_whole(a.slice(range), s, part, range.empty() ? 0 : depth - 1)) return false;
    }
  return true;
}

#undef CHECK_THAT

struct Uniform {
  index_t in, kernel, stride, lo, hi, dilation;
  bool ceil_mode;

  std::string text() const {
    return "in " + std::to_string(in) + " k" + std::to_string(kernel) + "s" + std::to_string(stride) + "p" +
           std::to_string(lo) + "+" + std::to_string(hi) + "d" + std::to_string(dilation) + (ceil_mode ? " ceil" : "");
  }

  // S1 by its words.
  index_t outputs() const {
    const index_t span = dilation * (kernel - 1) + 1;
    const index_t room = in + lo + hi - span;
    if (room < 0) return 0;
    if (!ceil_mode) return room / stride + 1;
    const index_t out = (room + stride - 1) / stride + 1;
    return (out - 1) * stride >= in + lo ? out - 1 : out;
  }

  Truth truth() const {
    Truth t;
    t.in = in;
    t.dilation = dilation;
    for (index_t o = 0; o < outputs(); ++o) {
      std::vector<index_t> places;
      std::vector<bool> counted;
      for (index_t tap = 0; tap < kernel; ++tap) {
        places.push_back(o * stride - lo + tap * dilation);
        counted.push_back(places.back() >= -lo && places.back() < in + hi);
      }
      t.places.push_back(places);
      t.counted.push_back(counted);
    }
    return t;
  }
};

template <class F>
void for_all_uniform(index_t most_in, F visit) {
  for (index_t in = 1; in <= most_in; ++in)
    for (index_t kernel = 1; kernel <= 4; ++kernel)
      for (index_t stride = 1; stride <= 4; ++stride)
        for (index_t lo = 0; lo <= 3; ++lo)
          for (index_t hi = 0; hi <= 3; ++hi)
            for (index_t dilation = 1; dilation <= 3; ++dilation)
              for (bool ceil_mode : {false, true})
                if (!visit(Uniform{in, kernel, stride, lo, hi, dilation, ceil_mode})) return;
}

TEST(Axis, S1_S2_S5_UniformWindowsAndTheirSlices) {
  int count = 0;
  for_all_uniform(9, [&](const Uniform& u) {
    const Axis a = Axis::uniform(u.in, u.kernel, u.stride, u.lo, u.hi, u.dilation, u.ceil_mode);
    ++count;
    return check_whole(a, u.truth(), u.text(), 2);
  });
  EXPECT_EQ(count, 9 * 4 * 4 * 4 * 4 * 3 * 2);
}

TEST(Axis, S9_AdjointsOfUniformWindowsAndTheirSlices) {
  for_all_uniform(9, [&](const Uniform& u) {
    const Axis a = Axis::uniform(u.in, u.kernel, u.stride, u.lo, u.hi, u.dilation, u.ceil_mode);
    const Truth t = u.truth();
    if (t.out() == 0) return true;
    const Truth transposed = adjoint_of(t, u.stride, false);
    if (!check_transposed(t, transposed, u.text())) return false;
    if (!check_whole(a.adjoint(), transposed, "adjoint of " + u.text(), 1)) return false;
    for (index_t o = 0; o < a.out; ++o)
      for (index_t tap = 0; tap < a.kernel; ++tap)
        if (a.adjoint().adjoint().at(o, tap) != a.at(o, tap)) {
          ADD_FAILURE() << "twice transposed: " << u.text();
          return false;
        }
    return true;
  });
}

TEST(Axis, S9_AdjointsOfSlices) {
  for_all_uniform(6, [&](const Uniform& u) {
    const Axis a = Axis::uniform(u.in, u.kernel, u.stride, u.lo, u.hi, u.dilation, u.ceil_mode);
    const Truth t = u.truth();
    for (index_t begin = 0; begin < a.out; ++begin)
      for (index_t end = begin + 1; end <= a.out; ++end) {
        const Truth part = slice_of(t, {begin, end}, a.needs({begin, end}));
        const Axis slice = a.slice({begin, end});
        if (!check_whole(slice.adjoint(), adjoint_of(part, u.stride, false), "adjoint of a slice of " + u.text(), 0))
          return false;
      }
    return true;
  });
}

Truth even_truth(index_t in, index_t out) {
  Truth t;
  t.in = in;
  for (index_t o = 0; o < out; ++o) {
    t.places.emplace_back();
    for (index_t place = o * in / out; place < ((o + 1) * in + out - 1) / out; ++place)
      t.places.back().push_back(place);
    t.counted.emplace_back(t.places.back().size(), true);
  }
  return t;
}

TEST(Axis, AdaptiveWindowsTheirSlicesAndAdjoints) {
  for (index_t in = 1; in <= 12; ++in)
    for (index_t out = 1; out <= 12; ++out) {
      const Axis a = Axis::make_adaptive(in, out);
      const Truth t = even_truth(in, out);
      const std::string where = "adaptive " + std::to_string(in) + " to " + std::to_string(out);
      ASSERT_TRUE(check_whole(a, t, where, 2));
      const Truth transposed = adjoint_of(t, 1, true);
      ASSERT_TRUE(check_transposed(t, transposed, where));
      ASSERT_TRUE(check_whole(a.adjoint(), transposed, "adjoint of " + where, 1));
    }
}

TEST(Axis, EvenWindowsAreTheAdaptiveOnes) {
  for (index_t in = 1; in <= 24; ++in)
    for (index_t out = 1; out <= 24; ++out) {
      const Axis a = Axis::make_even(in, out), b = Axis::make_adaptive(in, out);
      EXPECT_EQ(a.adaptive, in % out != 0);
      ASSERT_EQ(a.out, out);
      ASSERT_EQ(a.kernel, b.kernel);
      for (index_t o = 0; o < out; ++o) {
        ASSERT_EQ(a.start(o), b.start(o));
        ASSERT_EQ(a.taps(o), b.taps(o));
        ASSERT_EQ(a.divisor(o, true), b.divisor(o, true));
        ASSERT_EQ(a.divisor(o, false), b.divisor(o, false));
      }
    }
}

TEST(Axis, AdaptiveKernelIsTheLargestWindow) {
  for (index_t in = 1; in <= 80; ++in)
    for (index_t out = 1; out <= 80; ++out) {
      index_t largest = 0;
      for (const auto& places : even_truth(in, out).places)
        largest = std::max(largest, static_cast<index_t>(places.size()));
      ASSERT_EQ(Axis::make_adaptive(in, out).kernel, largest) << in << " to " << out;
    }
}

TEST(Axis, GlobalWindowsSeeEverything) {
  for (index_t in = 1; in <= 30; ++in) {
    const Axis a = Axis::make_adaptive(in, 1);
    EXPECT_EQ(a.taps(0), (Range{0, in}));
    EXPECT_EQ(a.needs({0, 1}), (Range{0, in}));
    EXPECT_EQ(a.divisor(0, true), in);
  }
}

TEST(Axis, S1_SamePaddingGivesOneOutputPerStep) {
  for (index_t in = 1; in <= 20; ++in)
    for (index_t kernel = 1; kernel <= 6; ++kernel)
      for (index_t stride = 1; stride <= 6; ++stride)
        for (index_t dilation = 1; dilation <= 3; ++dilation) {
          const index_t total = Axis::same_padding(in, kernel, stride, dilation);
          const index_t out = (in + stride - 1) / stride;
          ASSERT_EQ(total, std::max<index_t>((out - 1) * stride + dilation * (kernel - 1) + 1 - in, 0));
          ASSERT_EQ(Axis::uniform(in, kernel, stride, total / 2, total - total / 2, dilation).out, out);
        }
}

TEST(Axis, S12_AnswersNearTheLargestNumber) {
  const index_t huge = std::numeric_limits<index_t>::max();
  const Axis a = Axis::uniform(huge - 10, 3, 2, 1, 1);
  EXPECT_EQ(a.out, (huge - 10 + 2 - 3) / 2 + 1);
  EXPECT_EQ(a.taps(a.out - 1).end - a.taps(a.out - 1).begin, 2);
  EXPECT_EQ(a.feeds(huge - 11).end, a.out);
  EXPECT_EQ(a.slice({a.out - 1, a.out}).in, 2);
  const Axis b = Axis::make_adaptive(huge, huge - 1);
  EXPECT_EQ(b.start(0), 0);
  EXPECT_EQ(b.start(b.out - 1) + b.width(b.out - 1), huge);
  EXPECT_EQ(b.kernel, 2);
  EXPECT_EQ(b.feeds(huge - 1), (Range{huge - 2, huge - 1}));
  const Axis c = Axis::make_adaptive(3, huge);
  EXPECT_EQ(c.width(huge / 2), 1);
  EXPECT_EQ(c.feeds(index_t{2}).end, huge);
}

TEST(Axis, S2_PhasesHoldEveryTap) {
  for (index_t stride = 1; stride <= 5; ++stride)
    for (index_t dilation = 1; dilation <= 4; ++dilation)
      for (index_t kernel = 1; kernel <= 4; ++kernel) {
        const Axis a = Axis::uniform(20, kernel, stride, 2, 1, dilation);
        for (index_t o = 0; o < a.out; ++o)
          for (index_t t = 0; t < kernel; ++t) {
            const index_t element = o + a.phase_offset(t), row = a.phase(t);
            EXPECT_EQ(a.start(0) + element * stride + row, a.at(o, t));
            EXPECT_LT(element, a.phase_length(row));
          }
      }
}

TEST(Axis, S9_StandingTapsAreThoseThatReadAnOutput) {
  for (index_t stride = 1; stride <= 5; ++stride)
    for (index_t dilation = 1; dilation <= 4; ++dilation)
      for (index_t kernel = 1; kernel <= 4; ++kernel) {
        const Axis a = Axis::uniform(20, kernel, stride, 2, 1, dilation).adjoint();
        for (index_t o = 0; o < a.out; ++o) {
          const index_t first = a.first_standing(o);
          for (index_t t = 0; t < kernel; ++t) {
            const bool stands = first >= 0 && t >= first && (t - first) % a.standing_step() == 0;
            const index_t input = a.input_at(a.at(o, t));
            if (!stands) {
              EXPECT_EQ(input, -1);
            } else {
              const index_t number = a.number_at(a.at(o, first)) + (t - first) / a.standing_step() * a.input_step();
              EXPECT_EQ(input, number >= 0 && number < a.in ? number : -1);
              EXPECT_EQ(a.number_at(a.at(o, t)), number);
            }
          }
        }
      }
}

TEST(Axis, S9_TheFirstStandingTapIsTheFirstThatMeetsAnInput) {
  for (index_t stride = 1; stride <= 14; ++stride)
    for (index_t dilation = 1; dilation <= 14; ++dilation) {
      const Axis a = Axis::uniform(60, 4, stride, 3, 2, dilation).adjoint();
      for (index_t o = 0; o < a.out; ++o) {
        index_t first = -1;
        for (index_t t = 3; t >= 0; --t) {
          if ((a.at(o, t) % stride + stride) % stride == 0) first = t;
        }
        EXPECT_EQ(a.first_standing(o), first) << stride << ' ' << dilation << ' ' << o;
      }
    }
  // Far too many taps to try one by one, products that no index_t holds.
  constexpr index_t kStride = 4'000'000'007, kDilation = 3'000'000'019;
  const Axis a = Axis::uniform(index_t{1} << 62, kStride, kStride, 0, 0, kDilation % 1'000'003).adjoint();
  for (index_t o : {index_t{0}, index_t{1}, index_t{12'345}, kStride + 7}) {
    const index_t first = a.first_standing(o);
    ASSERT_GE(first, 0);
    EXPECT_EQ(a.at(o, first) % kStride, 0);
  }
}

TEST(Axis, S2_WhoReadsAnInputWithATap) {
  for (index_t stride = 1; stride <= 5; ++stride)
    for (index_t dilation = 1; dilation <= 4; ++dilation)
      for (index_t pad = 0; pad <= 3; ++pad) {
        const Axis a = Axis::uniform(20, 4, stride, pad, 1, dilation);
        for (index_t i = 0; i < a.in; ++i) {
          EXPECT_EQ(a.start(0) + a.phase_element(i) * stride + a.phase_of(i), i);
          EXPECT_TRUE(a.phase_of(i) >= 0 && a.phase_of(i) < stride);
          for (index_t t = 0; t < a.kernel; ++t) {
            const index_t o = a.reader(i, t);
            EXPECT_EQ(a.reads(i, t), a.at(o, t) == i);
            if (a.reads(i, t) && o >= 0 && o < a.out) {
              EXPECT_EQ(a.tap_of(o, i), t);
            }
          }
        }
        for (index_t o = 0; o < a.out; ++o)
          for (index_t t = a.taps(o).begin; t < a.taps(o).end; ++t) EXPECT_TRUE(a.reads(a.at(o, t), t));
      }
}

TEST(Range, FloorAndCeilDivide) {
  for (index_t a = -20; a <= 20; ++a)
    for (index_t b = 1; b <= 7; ++b) {
      const index_t floor = floor_div(a, b), ceil = ceil_div(a, b);
      EXPECT_TRUE(floor * b <= a && a < (floor + 1) * b) << a << " / " << b;
      EXPECT_TRUE(ceil * b >= a && a > (ceil - 1) * b) << a << " / " << b;
    }
  EXPECT_TRUE(intersect({0, 3}, {5, 9}).empty());
  EXPECT_EQ(intersect({0, 7}, {5, 9}), (Range{5, 7}));
}

}  // namespace
}  // namespace oriel
