#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rank/median_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/networks/merge.h"
#include "cpu/order/key.h"
#include "cpu/order/rank_kernels.h"
#include "cpu/rank/median_kernels.h"
#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {  // other files have such names, too

// How elements of T are compared: integers as they are, floats as signed integers that have their order.
template <class T>
struct Elements {
  static constexpr bool kFloat = is_floating_v<T>;
  using Key = key_t<T>;
  using Lane = std::conditional_t<kFloat, std::make_signed_t<Key>, T>;

  template <class D, class V>
  static HWY_INLINE V turned(D d, V v) {  // either way
    if constexpr (kFloat) {
      return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(d, std::numeric_limits<Lane>::max())));
    } else {
      return v;
    }
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* row, index_t i) {  // a key
    auto v = hn::LoadU(d, static_cast<const Lane*>(row) + i);
#if HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
    asm("" : "+v"(v.raw));  // GCC would read it again for each of its uses: a tenth longer
#endif
    return v;
  }
  template <class D, class V>
  static HWY_INLINE void store(D d, V v, void* row, index_t i) {
    hn::StoreU(turned(d, v), d, static_cast<Lane*>(row) + i);
  }
};

template <class V>
HWY_INLINE void sort_two(V& a, V& b) {
  const V lesser = hn::Min(a, b);
  b = hn::Max(a, b);
  a = lesser;
}

// Calls body(i) for the first lanes of vectors that cover n lanes; the last two may overlap. Called in one place, it is
// a loop without a call.
template <class Body>
HWY_INLINE void each_vector(index_t n, index_t width, const Body& body) {
  const index_t last = n - width;
  for (index_t i = 0;; i = std::min(i + width, last)) {
    body(i);
    if (i == last) return;
  }
}

constexpr index_t kLiveRows = 6;  // that networks read at a time

// Rows of inputs as keys: integers are their own, those of floats are made when they are first asked for.
template <class T>
class KeyRows {
 public:
  KeyRows(const MedianStrip& strip, index_t size) : strip_(strip), lanes_(strip.lanes + (size - 1) * strip.step) {}

  HWY_INLINE const void* at(index_t r) {
    if constexpr (Elements<T>::kFloat) {
      for (; made_ <= r; ++made_) make(made_);
      return strip_.scratch + r % kLiveRows * strip_.pitch;
    } else {
      return strip_.rows[r];
    }
  }
  /// Whether one of the rows [begin, end) has a NaN.
  HWY_INLINE bool has_nan(index_t begin, index_t end) const {
    return std::any_of(has_nan_ + begin, has_nan_ + end, [](bool nan) { return nan; });
  }

 private:
  // A NaN is beyond infinity.
  void make(index_t r) {
    using Lane = typename Elements<T>::Lane;
    const hn::ScalableTag<Lane> d;
    const Lane* const from = static_cast<const Lane*>(strip_.rows[r]);
    Lane* const to = reinterpret_cast<Lane*>(strip_.scratch + r % kLiveRows * strip_.pitch);
    auto least = hn::Zero(d), most = least;
    each_vector(lanes_, static_cast<index_t>(hn::Lanes(d)), [&](index_t i) HWY_ATTR {
      __builtin_prefetch(reinterpret_cast<const std::byte*>(from + i) + 2 * strip_.next, 0, 3);
      const auto key = Elements<T>::turned(d, hn::LoadU(d, from + i));
      least = hn::Min(least, key);
      most = hn::Max(most, key);
      hn::StoreU(key, d, to + i);
    });
    const auto infinity = std::bit_cast<Lane>(highest_value<T>());
    has_nan_[r] = !hn::AllFalse(
        d, hn::Or(hn::Gt(most, hn::Set(d, infinity)), hn::Lt(least, hn::Set(d, static_cast<Lane>(~infinity)))));
  }

  const MedianStrip& strip_;
  const index_t lanes_;
  index_t made_ = 0;
  bool has_nan_[kMedianRows + 4] = {};
};

// A row of windows whose sorted columns come one after the other: the median is that of the greatest least, the median
// middle and the least greatest element of a column.
template <class V>
struct Nine {
  HWY_INLINE Nine() {}         // the one that g++ makes by itself is no code for Arm's vectors
  V low, high, less, greater;  // of the middle ones

  // A column of a sorted pair and a third one.
  template <std::size_t kColumn>
  HWY_INLINE void add(V third, V pair_less, V pair_greater) {
    const V l = hn::Min(third, pair_less), rest = hn::Max(third, pair_less);
    const V middle = hn::Min(rest, pair_greater), h = hn::Max(rest, pair_greater);
    if constexpr (kColumn == 0) {
      low = l, high = h, less = middle;
    } else {
      low = hn::Max(low, l);
      high = hn::Min(high, h);
      if constexpr (kColumn == 1) {
        greater = hn::Max(less, middle);
        less = hn::Min(less, middle);
      } else {
        less = hn::Max(less, hn::Min(greater, middle));
      }
    }
  }
  HWY_INLINE V median() const { return hn::Max(hn::Min(low, less), hn::Min(hn::Max(low, less), high)); }
};

// Two or four rows of outputs. Rows apart from each other are not foreseen by the hardware.
template <class T, int kOutputs>
HWY_INLINE void nine(const void* const* rows, void* const* y, const MedianStrip& strip) {
  using E = Elements<T>;
  const hn::ScalableTag<typename E::Lane> d;
  using V = hn::Vec<decltype(d)>;
  const void *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3];
  const void *r4 = kOutputs > 2 ? rows[4] : nullptr, *r5 = kOutputs > 2 ? rows[5] : nullptr;
  void *y0 = y[0], *y1 = y[1], *y2 = kOutputs > 2 ? y[2] : nullptr, *y3 = kOutputs > 2 ? y[3] : nullptr;
  const index_t step = strip.step, ahead = kOutputs * strip.next;
  each_vector(strip.lanes, static_cast<index_t>(hn::Lanes(d)), [&](index_t i) HWY_ATTR {
    const auto prefetch = [&](const void* row) {
      __builtin_prefetch(static_cast<const std::byte*>(row) + i * index_t{sizeof(T)} + ahead, 0, 3);
    };
    if constexpr (!E::kFloat) {
      prefetch(r2);
      prefetch(r3);
      if constexpr (kOutputs > 2) prefetch(r4), prefetch(r5);
    }
    Nine<V> n0, n1, n2, n3;
    const auto add = [&]<std::size_t kColumn>(std::integral_constant<std::size_t, kColumn>) HWY_ATTR {
      const index_t at = i + index_t{kColumn} * step;
      V less = E::load(d, r1, at), greater = E::load(d, r2, at);
      const V first = E::load(d, r0, at), third = greater;
      sort_two(less, greater);
      n0.template add<kColumn>(first, less, greater);
      const V fourth = E::load(d, r3, at);
      n1.template add<kColumn>(fourth, less, greater);
      if constexpr (kOutputs > 2) {
        V low = fourth, high = E::load(d, r4, at);
        sort_two(low, high);
        n2.template add<kColumn>(third, low, high);
        const V sixth = E::load(d, r5, at);
        n3.template add<kColumn>(sixth, low, high);
      }
    };
    add(std::integral_constant<std::size_t, 0>());
    add(std::integral_constant<std::size_t, 1>());
    add(std::integral_constant<std::size_t, 2>());
    E::store(d, n0.median(), y0, i);
    E::store(d, n1.median(), y1, i);
    if constexpr (kOutputs > 2) {
      E::store(d, n2.median(), y2, i);
      E::store(d, n3.median(), y3, i);
    }
  });
}

template <auto& kPairs, class V, std::size_t... kAt>
HWY_INLINE void exchange_all(V* v, std::index_sequence<kAt...>) {
  (sort_two(v[kPairs[kAt].a], v[kPairs[kAt].b]), ...);
}

template <auto& kPairs, class V>
HWY_INLINE void sort_by(V* v) {
  exchange_all<kPairs>(v, std::make_index_sequence<kPairs.size()>());
}

template <int m, int n>
inline constexpr Merge<m, n> kMerge{};

template <int m, int n, class V, std::size_t... kAt>
HWY_INLINE void merge_by(V* v, std::index_sequence<kAt...>) {
  (sort_two(v[kMerge<m, n>.list.at[kAt].a], v[kMerge<m, n>.list.at[kAt].b]), ...);
}

// Sorted lists of m and n; afterwards rank r is v[kMerge<m, n>.order[r]].
template <int m, int n, class V>
HWY_INLINE void merge(V* v) {
  merge_by<m, n>(v, std::make_index_sequence<static_cast<std::size_t>(kMerge<m, n>.list.size)>());
}

// Elements `kFirst` ... of the merged lists.
template <int m, int n, int kFirst, class V, std::size_t... kAt>
HWY_INLINE void take(const V* v, V* to, std::index_sequence<kAt...>) {
  ((to[kAt] = v[kMerge<m, n>.order[kFirst + kAt]]), ...);
}

// Rank 5 of six and five sorted ones: the least of the maxima of all ways to take six first ones.
template <class V>
HWY_INLINE V sixth_of(const V* a, const V* b) {
  const V first = hn::Min(hn::Max(a[4], b[0]), hn::Max(a[3], b[1]));
  const V second = hn::Min(hn::Max(a[2], b[2]), hn::Max(a[1], b[3]));
  return hn::Min(hn::Min(first, second), hn::Min(a[5], hn::Max(a[0], b[4])));
}

constexpr index_t kColumnRows = 4;

// Two rows of outputs of 5x5 taps. The four rows that they share are sorted column by column, then columns beside each
// other are merged, and their pairs.
template <class T>
void two_of_25(const void* const* rows, void* const* y, const MedianStrip& strip) {
  using E = Elements<T>;
  using Lane = typename E::Lane;
  const hn::ScalableTag<Lane> d;
  using V = hn::Vec<decltype(d)>;
  const index_t width = static_cast<index_t>(hn::Lanes(d)), step = strip.step;
  const index_t row = strip.pitch / index_t{sizeof(T)};
  Lane* const columns = reinterpret_cast<Lane*>(strip.scratch) + kLiveRows * row;
  Lane* const pairs = columns + kColumnRows * row;
  const void *r0 = rows[0], *r1 = rows[1], *r2 = rows[2], *r3 = rows[3], *r4 = rows[4], *r5 = rows[5];
  each_vector(strip.lanes + 4 * step, width, [&](index_t i) HWY_ATTR {
    V v[4] = {E::load(d, r1, i), E::load(d, r2, i), E::load(d, r3, i), E::load(d, r4, i)};
    sort_by<kSortFour>(v);
    for (index_t k = 0; k < 4; ++k) hn::StoreU(v[k], d, columns + k * row + i);
  });
  for (index_t i = 0; i < strip.lanes + 2 * step; i += width) {
    V v[8];
    for (index_t k = 0; k < 4; ++k) {
      v[k] = hn::LoadU(d, columns + k * row + i);
      v[k + 4] = hn::LoadU(d, columns + k * row + i + step);
    }
    merge<4, 4>(v);
    V sorted[8];
    take<4, 4, 0>(v, sorted, std::make_index_sequence<8>());
    for (index_t k = 0; k < 8; ++k) hn::StoreU(sorted[k], d, pairs + k * row + i);
  }
  void *y0 = y[0], *y1 = y[1];
  each_vector(strip.lanes, width, [&](index_t i) HWY_ATTR {
    V v[16];
    for (index_t k = 0; k < 8; ++k) {
      v[k] = hn::LoadU(d, pairs + k * row + i);
      v[k + 8] = hn::LoadU(d, pairs + k * row + i + 2 * step);
    }
    merge<8, 8>(v);
    V some[14], six[6];  // the others have more than half of the taps below or above them
    take<8, 8, 3>(v, some, std::make_index_sequence<10>());
    for (index_t k = 0; k < 4; ++k) some[10 + k] = hn::LoadU(d, columns + k * row + i + 4 * step);
    merge<10, 4>(some);
    take<10, 4, 4>(some, six, std::make_index_sequence<6>());
    const auto with_row = [&](const void* from) HWY_ATTR {
      V five[5];
      for (index_t k = 0; k < 5; ++k) five[k] = hn::LoadU(d, static_cast<const Lane*>(from) + i + k * step);
      sort_by<kSortFive>(five);
      return sixth_of(six, five);
    };
    E::store(d, with_row(r0), y0, i);
    E::store(d, with_row(r5), y1, i);
  });
}

template <class T, index_t kSize>
std::uint64_t medians(const MedianStrip& strip) {
  KeyRows<T> keys(strip, kSize);
  const void* rows[kLiveRows];
  const auto find = [&](index_t o, index_t n) HWY_ATTR {
    for (index_t r = 0; r < n; ++r) rows[r] = keys.at(o + r);
  };
  const auto two = [&](void* const* y) HWY_ATTR {
    if constexpr (kSize == 3)
      nine<T, 2>(rows, y, strip);
    else
      two_of_25<T>(rows, y, strip);
  };
  if (strip.outputs == 1) {  // the second row of outputs becomes the first one again
    find(0, kSize);
    rows[kSize] = rows[0];
    void* const y[2] = {strip.y[0], strip.y[0]};
    two(y);
    return keys.has_nan(0, kSize) ? 1 : 0;
  }
  index_t o = 0;
  if constexpr (kSize == 3 && ORIEL_AVX512) {  // others have no registers for four rows
    for (; o + 4 <= strip.outputs; o += 4) {
      find(o, 6);
      nine<T, 4>(rows, strip.y + o, strip);
    }
  }
  for (; o < strip.outputs; o += 2) {
    const index_t first = std::min(o, strip.outputs - 2);
    find(first, kSize + 1);
    two(strip.y + first);
  }
  std::uint64_t special = 0;
  if constexpr (Elements<T>::kFloat) {
    for (o = 0; o < strip.outputs; o += 2) {
      const index_t first = std::min(o, strip.outputs - 2);
      if (keys.has_nan(first, first + kSize + 1)) special |= std::uint64_t{1} << (o / 2);
    }
  }
  return special;
}

}  // namespace

MedianKernel median_kernels(Dtype dtype, index_t size) {
  return visit(dtype, [&]<class T>() -> MedianKernel {
    if constexpr (std::is_same_v<T, bool8> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, double> ||
                  std::is_same_v<T, std::uint64_t>)
      return nullptr;
    else
      return size == 3 ? &medians<T, 3> : &medians<T, 5>;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(median_kernels);

struct MedianTable {
  MedianKernel (*of)(Dtype dtype, index_t size) = nullptr;
};
}  // namespace

MedianKernel median_kernel(Dtype dtype, index_t size) {
  static const PerTarget<MedianTable> tables{
      [](MedianTable& table, std::size_t which) { table.of = HWY_DISPATCH_TABLE(median_kernels)[which]; }};
  return tables.active().of(dtype, size);
}
}  // namespace oriel::cpu
#endif
