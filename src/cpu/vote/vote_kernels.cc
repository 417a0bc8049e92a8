// Modes and numbers of distinct values, per instruction set. Without masks taps are sorted, and the longest run of
// equal ones wins; with masks, or ties that go to the first tap, each is compared with those after it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/vote/vote_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <utility>

#include "cpu/element/fold-inl.h"
#include "cpu/vote/sorting.h"
#include "cpu/vote/vote_kernels.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool kBoolean, class D>
HWY_INLINE hn::Vec<D> as_vote(D d, hn::Vec<D> v) {
  if constexpr (kBoolean) return hn::Min(v, hn::Set(d, hn::TFromD<D>{1}));
  return v;
}

template <class D>
HWY_INLINE hn::Vec<D> load_tap(D d, const void* row, index_t i) {
  return hn::LoadU(d, static_cast<const hn::TFromD<D>*>(row) + i);
}

// Two taps that lie beside each other.
template <class D>
HWY_INLINE void load_pair(D d, const void* row, index_t i, hn::Vec<D>& even, hn::Vec<D>& odd) {
  const auto* x = static_cast<const hn::TFromD<D>*>(row) + 2 * i;
  if constexpr (hn::MaxLanes(D()) == 1) {
    even = hn::Set(d, x[0]);
    odd = hn::Set(d, x[1]);
  } else {
    hn::LoadInterleaved2(d, x, even, odd);
  }
}

// Rows apart from each other are not foreseen by the hardware.
template <class D>
HWY_INLINE void prefetch_pair(D d, const VoteRows& r, int t, index_t i) {
  using T = hn::TFromD<D>;
  constexpr index_t kBytes = static_cast<index_t>(2 * sizeof(T) * hn::MaxLanes(D()));
  (void)d;
  const char* next = reinterpret_cast<const char*>(static_cast<const T*>(r.taps[t]) + 2 * i) + r.ahead;
  for (index_t b = 0; b < kBytes; b += 64) __builtin_prefetch(next + b, 0, 2);
}

template <class D, class V>
HWY_INLINE void order(D, V& a, V& b) {
  const V low = hn::Min(a, b);
  b = hn::Max(a, b);
  a = low;
}

template <int kTaps, class D, class V, std::size_t... kPair>
HWY_INLINE void sort_few(D d, V* v, std::index_sequence<kPair...>) {
  constexpr SortingNetwork<kTaps> kNetwork;
  (order(d, v[kNetwork.places[2 * kPair]], v[kNetwork.places[2 * kPair + 1]]), ...);
}

// Sorted values one after the other: what wins, or how many there are.
template <bool kDistinct, bool kIgnore, class D>
class Runs {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;

 public:
  HWY_INLINE Runs(D d, V first, V ignored)
      : d_(d), before_(first), best_(first), run_(hn::Set(d, T{1})), most_(run_), ignored_(ignored) {
    if constexpr (kIgnore) most_ = hn::IfThenZeroElse(hn::Eq(first, ignored_), most_);
  }
  HWY_INLINE void see(V v) {
    const auto same = hn::Eq(v, before_);
    before_ = v;
    const V one = hn::Set(d_, T{1});
    if constexpr (kDistinct) {
      run_ = hn::Add(run_, hn::IfThenZeroElse(same, one));
      return;
    }
    run_ = hn::Add(hn::IfThenElseZero(same, run_), one);
    V votes = run_;
    if constexpr (kIgnore) votes = hn::IfThenZeroElse(hn::Eq(v, ignored_), votes);
    best_ = hn::IfThenElse(hn::Gt(votes, most_), v, best_);
    most_ = hn::Max(most_, votes);
  }
  HWY_INLINE V result() const { return kDistinct ? run_ : best_; }

 private:
  D d_;
  V before_, best_, run_, most_, ignored_;
};

template <bool kPairs, bool kIgnore, int kTaps, class D>
HWY_INLINE void vote_few_at(D d, const VoteRows& r, const VoteRule& rule, index_t i) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  T* out = static_cast<T*>(r.out) + i;
  V v[kTaps];
  if constexpr (kPairs) {
    for (int t = 0; t < kTaps; t += 2) {
      prefetch_pair(d, r, t, i);
      load_pair(d, r.taps[t], i, v[t], v[t + 1]);
    }
  } else {
    for (int t = 0; t < kTaps; ++t) v[t] = load_tap(d, r.taps[t], i);
  }
  auto same = hn::Eq(v[0], v[1]);
  for (int t = 2; t < kTaps; ++t) same = hn::And(same, hn::Eq(v[0], v[t]));
  if (hn::AllTrue(d, same)) {  // most of a volume of labels
    hn::StoreU(v[0], d, out);
    return;
  }
  const V flip = hn::Set(d, static_cast<T>(rule.flip));
  for (int t = 0; t < kTaps; ++t) v[t] = hn::Xor(v[t], flip);
  sort_few<kTaps>(d, v, std::make_index_sequence<std::size_t{SortingNetwork<kTaps>::kPairs}>());
  Runs<false, kIgnore, D> runs(d, v[0], hn::Set(d, static_cast<T>(rule.ignore ^ rule.flip)));
  for (int t = 1; t < kTaps; ++t) runs.see(v[t]);
  hn::StoreU(hn::Xor(runs.result(), flip), d, out);
}

// All taps, into vectors one after the other. Whether they are the same.
template <bool kBoolean, class D>
HWY_INLINE bool load_taps(D d, const VoteRows& r, index_t i, hn::TFromD<D>* room) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  hn::Vec<D> first = hn::Zero(d);
  auto same = hn::Eq(first, first);
  const auto put = [&](int t, hn::Vec<D> v) HWY_ATTR {
    v = as_vote<kBoolean>(d, v);
    if (t == 0) first = v;
    same = hn::And(same, hn::Eq(v, first));
    hn::Store(v, d, room + static_cast<std::size_t>(t) * kLanes);
  };
  if (!r.pairs) {
    for (int t = 0; t < r.count; ++t) put(t, load_tap(d, r.taps[t], i));
  } else {
    for (int t = 0; t < r.count; t += 2) {
      hn::Vec<D> even, odd;
      load_pair(d, r.taps[t], i, even, odd);
      put(t, even);
      put(t + 1, odd);
    }
  }
  return hn::AllTrue(d, same);
}

// Any number of taps: they are sorted in memory.
template <bool kBoolean, bool kDistinct, bool kIgnore, class D>
HWY_INLINE void vote_many_at(D d, const VoteRows& r, const VoteRule& rule, index_t i) {
  using T = hn::TFromD<D>;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  alignas(64) T room[kMostVoteTaps * kLanes];
  T* out = static_cast<T*>(r.out) + i;
  hn::Store(hn::Zero(d), d, room);  // g++ for Arm does not see that there is a tap
  if (load_taps<kBoolean>(d, r, i, room)) {
    hn::StoreU(kDistinct ? hn::Set(d, T{1}) : hn::Load(d, room), d, out);
    return;
  }
  const auto flip = hn::Set(d, static_cast<T>(rule.flip));
  for (int t = 0; t < r.count; ++t) {
    T* at = room + static_cast<std::size_t>(t) * kLanes;
    hn::Store(hn::Xor(hn::Load(d, at), flip), d, at);
  }
  for (int p = 0; p < r.comparators; ++p) {
    T* a = room + r.network[2 * p] * kLanes;
    T* b = room + r.network[2 * p + 1] * kLanes;
    auto low = hn::Load(d, a), high = hn::Load(d, b);
    order(d, low, high);
    hn::Store(low, d, a);
    hn::Store(high, d, b);
  }
  Runs<kDistinct, kIgnore, D> runs(d, hn::Load(d, room), hn::Set(d, static_cast<T>(rule.ignore ^ rule.flip)));
  for (int t = 1; t < r.count; ++t) runs.see(hn::Load(d, room + static_cast<std::size_t>(t) * kLanes));
  hn::StoreU(kDistinct ? runs.result() : hn::Xor(runs.result(), flip), d, out);
}

template <class T, bool kPairs, bool kIgnore, int kTaps>
HWY_NOINLINE void vote_few(const VoteRows& r, const VoteRule& rule) {
  cover<T>(r.n, [&](auto d, index_t i) HWY_ATTR { vote_few_at<kPairs, kIgnore, kTaps>(d, r, rule, i); });
}

template <class T, bool kBoolean, bool kDistinct, bool kIgnore>
void vote_sorted(const VoteRows& r, const VoteRule& rule) {
  if constexpr (!kBoolean && !kDistinct) {  // 2x2, 2x2x2 and 3x3
    if (r.count == 4 && r.pairs) return vote_few<T, true, kIgnore, 4>(r, rule);
    if (r.count == 8 && r.pairs) return vote_few<T, true, kIgnore, 8>(r, rule);
    if (r.count == 9) return vote_few<T, false, kIgnore, 9>(r, rule);
  }
  cover<T>(r.n, [&](auto d, index_t i) HWY_ATTR {
    constexpr bool kRegisters = ORIEL_AVX512 && !kBoolean && !kDistinct && hn::MaxLanes(d) * sizeof(T) == 64;
    if constexpr (kRegisters) {  // 3x3x3: as many as there are registers
      if (r.count == 27 && !r.pairs) return vote_few_at<false, kIgnore, 27>(d, r, rule, i);
    }
    vote_many_at<kBoolean, kDistinct, kIgnore>(d, r, rule, i);
  });
}

// Lanes whose byte is not 0.
template <class D>
HWY_INLINE hn::Mask<D> load_mask(D d, const void* row, index_t i) {
  using T = hn::TFromD<D>;
  const auto* bytes = static_cast<const std::uint8_t*>(row) + i;
  if constexpr (sizeof(T) == 1) {
    return hn::Ne(hn::LoadU(d, bytes), hn::Zero(d));
  } else if constexpr (sizeof(T) == 8) {
    const auto v = hn::PromoteTo(hn::Rebind<std::uint32_t, D>(), hn::LoadU(hn::Rebind<std::uint8_t, D>(), bytes));
    return hn::Ne(hn::PromoteTo(d, v), hn::Zero(d));
  } else {
    return hn::Ne(hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), bytes)), hn::Zero(d));
  }
}

// Each tap with its number of equal taps after it: the first tap of a value has the most.
template <bool kBoolean, class D>
HWY_INLINE void vote_pairs_at(D d, const VoteRows& r, const VoteRule& rule, index_t i) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  alignas(64) T room[kMostVoteTaps * kLanes];
  alignas(64) T ones[kMostVoteTaps * kLanes];  // of valid taps, else 0
  const V one = hn::Set(d, T{1}), zero = hn::Zero(d), ignored = hn::Set(d, static_cast<T>(rule.ignore));
  const V flip = hn::Set(d, static_cast<T>(rule.flip)), nodata = hn::Set(d, static_cast<T>(rule.nodata));
  const bool same = load_taps<kBoolean>(d, r, i, room);
  const bool all_valid = r.masks == nullptr && !rule.has_nodata;
  if (same && all_valid && r.need <= r.count) {
    hn::StoreU(rule.distinct ? one : hn::Load(d, room), d, static_cast<T*>(r.out) + i);
    return;
  }
  V best = zero, most = zero, total = zero, distinct = zero;
  for (int t = r.count - 1; t >= 0; --t) {
    const std::size_t at = static_cast<std::size_t>(t) * kLanes;
    const V v = hn::Load(d, room + at);
    V valid = one;
    if (r.masks != nullptr) valid = hn::IfThenElseZero(load_mask(d, r.masks[t], i), one);
    if (rule.has_nodata) valid = hn::IfThenZeroElse(hn::Eq(v, nodata), valid);
    hn::Store(valid, d, ones + at);
    total = hn::Add(total, valid);
    V votes = zero;
    for (std::size_t u = at + kLanes; u < static_cast<std::size_t>(r.count) * kLanes; u += kLanes) {
      votes = hn::Add(votes, hn::IfThenElseZero(hn::Eq(v, hn::Load(d, room + u)), hn::Load(d, ones + u)));
    }
    const auto is = hn::Eq(valid, one);
    if (rule.distinct) {
      distinct = hn::Add(distinct, hn::IfThenElseZero(hn::And(is, hn::Eq(votes, zero)), one));
      continue;
    }
    votes = hn::Add(votes, hn::Set(d, T{2}));
    if (rule.has_ignore) votes = hn::IfThenElse(hn::Eq(v, ignored), one, votes);
    votes = hn::IfThenElseZero(is, votes);
    const auto ties = hn::And(is, hn::Eq(votes, most));  // of taps that come later
    auto better = hn::Gt(votes, most);
    if (rule.first) {
      better = hn::Or(better, ties);
    } else {
      better = hn::Or(better, hn::And(ties, hn::Lt(hn::Xor(v, flip), hn::Xor(best, flip))));
    }
    best = hn::IfThenElse(better, v, best);
    most = hn::Max(most, votes);
  }
  const V result = rule.distinct ? distinct : best;
  const V none = hn::Set(d, rule.distinct ? static_cast<T>(kNoVote) : static_cast<T>(rule.fill));
  const auto few = hn::Lt(total, hn::Set(d, static_cast<T>(r.need)));
  hn::StoreU(hn::IfThenElse(few, none, result), d, static_cast<T*>(r.out) + i);
}

template <class T, bool kBoolean>
void vote_pairs(const VoteRows& r, const VoteRule& rule) {
  cover<T>(r.n, [&](auto d, index_t i) HWY_ATTR { vote_pairs_at<kBoolean>(d, r, rule, i); });
}

template <class T, bool kBoolean = false>
Vote vote_of(const VoteRule& rule, bool masked) {
  if (masked || rule.first || rule.has_nodata) return &vote_pairs<T, kBoolean>;
  if (rule.distinct) return &vote_sorted<T, kBoolean, true, false>;
  return rule.has_ignore ? &vote_sorted<T, kBoolean, false, true> : &vote_sorted<T, kBoolean, false, false>;
}

Vote vote_of_width(index_t bytes, bool boolean, const VoteRule& rule, bool masked) {
  if (boolean) return vote_of<std::uint8_t, true>(rule, masked);
  switch (bytes) {
    case 1:
      return vote_of<std::uint8_t>(rule, masked);
    case 2:
      return vote_of<std::uint16_t>(rule, masked);
    case 4:
      return vote_of<std::uint32_t>(rule, masked);
    default:
      return vote_of<std::uint64_t>(rule, masked);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>

#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(vote_of_width);

using VoteOf = Vote (*)(index_t bytes, bool boolean, const VoteRule& rule, bool masked);

template <class T, class R>
void store_numbers(const T* from, index_t n, R fill, R* out) {
  for (index_t i = 0; i < n; ++i) out[i] = from[i] == kNoVote ? fill : static_cast<R>(from[i]);
}

template <class R>
void store_as(const void* from, index_t bytes, index_t n, const void* fill, void* out) {
  R none;
  std::memcpy(&none, fill, sizeof(R));
  R* to = static_cast<R*>(out);
  if (bytes == 1) return store_numbers(static_cast<const std::uint8_t*>(from), n, none, to);
  if (bytes == 2) return store_numbers(static_cast<const std::uint16_t*>(from), n, none, to);
  if (bytes == 4) return store_numbers(static_cast<const std::uint32_t*>(from), n, none, to);
  store_numbers(static_cast<const std::uint64_t*>(from), n, none, to);
}
}  // namespace

Vote vote_kernel(index_t bytes, bool boolean, const VoteRule& rule, bool masked) {
  static const PerTarget<VoteOf> all{
      [](VoteOf& one, std::size_t which) { one = HWY_DISPATCH_TABLE(vote_of_width)[which]; }};
  return all.active()(bytes, boolean, rule, masked);
}

void store_distinct(const void* from, index_t bytes, index_t n, Dtype result, const void* fill, void* out) {
  if (result == Dtype::f64) return store_as<double>(from, bytes, n, fill, out);
  if (result == Dtype::f32) return store_as<float>(from, bytes, n, fill, out);
  store_as<std::int64_t>(from, bytes, n, fill, out);
}
}  // namespace oriel::cpu
#endif
