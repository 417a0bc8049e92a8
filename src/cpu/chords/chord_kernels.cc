// Rows of keys and their maxima, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/chords/chord_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/chords/chord_kernels.h"
#include "cpu/element/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class X>
struct KeyOf {
  using type = std::conditional_t<sizeof(X) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(X) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(X) == 4, std::uint32_t, std::uint64_t>>>;
  static constexpr type kSign = static_cast<type>(type{1} << (8 * sizeof(type) - 1));
  static constexpr type kAll = static_cast<type>(~type{0});
  static constexpr bool kSigned = std::is_integral_v<X> && std::is_signed_v<X>;
};

// The bits of infinity.
template <class X>
constexpr typename KeyOf<X>::type infinity_bits() {
  if constexpr (std::is_same_v<X, half>)
    return 0x7c00;
  else if constexpr (std::is_same_v<X, bfloat16>)
    return 0x7f80;
  else
    return std::bit_cast<typename KeyOf<X>::type>(std::numeric_limits<X>::infinity());
}

// The key of a float: negative ones have all bits changed, others the sign.
template <class X, class D>
HWY_INLINE hn::Vec<D> float_key(D d, hn::Vec<D> bits, bool least, hn::Mask<D>& negative_zero) {
  using K = KeyOf<X>;
  const auto sign = hn::Set(d, K::kSign), all = hn::Set(d, K::kAll);
  negative_zero = hn::Eq(bits, sign);
  bits = hn::IfThenZeroElse(negative_zero, bits);
  const auto nan = hn::Gt(hn::AndNot(sign, bits), hn::Set(d, infinity_bits<X>()));
  const auto negative = hn::Ne(hn::And(bits, sign), hn::Zero(d));
  auto key = hn::Xor(bits, hn::IfThenElse(negative, all, sign));
  if (least) key = hn::Xor(key, all);
  return hn::IfThenElse(nan, all, key);
}

template <class X>
bool lift_keys(const void* x, index_t n, const KeyRule& rule, void* keys) {
  using K = KeyOf<X>;
  using U = typename K::type;
  const U* from = static_cast<const U*>(x);
  U* HWY_RESTRICT to = static_cast<U*>(keys);
  if constexpr (is_floating_v<X>) {
    bool found = false;
    cover<U>(n, [&](auto d, index_t i) HWY_ATTR {
      hn::Mask<decltype(d)> zero;
      hn::StoreU(float_key<X>(d, hn::LoadU(d, from + i), rule.least, zero), d, to + i);
      found |= !hn::AllFalse(d, zero);
    });
    return found;
  } else {
    const U flip = static_cast<U>((K::kSigned ? K::kSign : U{0}) ^ (rule.least ? K::kAll : U{0}));
    cover<U>(n, [&](auto d, index_t i) HWY_ATTR {
      auto v = hn::LoadU(d, from + i);
      if constexpr (std::is_same_v<X, bool8>) v = hn::Min(v, hn::Set(d, U{1}));
      hn::StoreU(hn::Xor(v, hn::Set(d, flip)), d, to + i);
    });
    return false;
  }
}

template <class X>
void lower_keys(const void* keys, index_t n, const KeyRule& rule, void* y) {
  using K = KeyOf<X>;
  using U = typename K::type;
  const U* HWY_RESTRICT from = static_cast<const U*>(keys);
  U* to = static_cast<U*>(y);
  const U reverse = rule.least ? K::kAll : U{0};
  const U flip = static_cast<U>((K::kSigned ? K::kSign : U{0}) ^ reverse);
  cover<U>(n, [&](auto d, index_t i) HWY_ATTR {
    auto v = hn::LoadU(d, from + i);
    if constexpr (is_floating_v<X>) {
      const auto sign = hn::Set(d, K::kSign);
      v = hn::Xor(v, hn::Set(d, reverse));
      const auto positive = hn::Ne(hn::And(v, sign), hn::Zero(d));
      hn::StoreU(hn::Xor(v, hn::IfThenElse(positive, sign, hn::Set(d, K::kAll))), d, to + i);
    } else {
      hn::StoreU(hn::Xor(v, hn::Set(d, flip)), d, to + i);
    }
  });
}

template <class U>
void double_keys(const void* from, index_t move, index_t n, void* out) {
  const U* x = static_cast<const U*>(from);
  U* HWY_RESTRICT to = static_cast<U*>(out);
  cover<U>(n, [&](auto d, index_t i)
                  HWY_ATTR { hn::StoreU(hn::Max(hn::LoadU(d, x + i), hn::LoadU(d, x + i + move)), d, to + i); });
}

// kVectors vectors of results.
template <int kVectors, class D>
HWY_INLINE void max_vectors(D d, const void* const* rows, index_t count, index_t i, hn::TFromD<D>* to) {
  using U = hn::TFromD<D>;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  hn::Vec<D> best[kVectors];
  const U* first = static_cast<const U*>(rows[0]) + i;
  for (int v = 0; v < kVectors; ++v) best[v] = hn::LoadU(d, first + v * lanes);
  for (index_t r = 1; r < count; ++r) {
    const U* x = static_cast<const U*>(rows[r]) + i;
    for (int v = 0; v < kVectors; ++v) best[v] = hn::Max(best[v], hn::LoadU(d, x + v * lanes));
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(best[v], d, to + i + v * lanes);
}

template <class U>
void max_keys(const void* const* rows, index_t count, index_t n, void* out) {
  U* to = static_cast<U*>(out);
  const hn::ScalableTag<U> d;
  const index_t some = 4 * static_cast<index_t>(hn::Lanes(d));
  if (kHasVectors<U> && n >= some) {
    return cover_from(some, n, [&](index_t i) HWY_ATTR { max_vectors<4>(d, rows, count, i, to); });
  }
  cover<U>(n, [&](auto few, index_t i) HWY_ATTR { max_vectors<1>(few, rows, count, i, to); });
}

ChordKernels key_kernels(Dtype dtype) {
  return visit(dtype, []<class X>() -> ChordKernels {
    using U = typename KeyOf<X>::type;
    return {&lift_keys<X>, &lower_keys<X>, &double_keys<U>, &max_keys<U>};
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(key_kernels);

template <class T>
T distance(T high, T low) {
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(high && !low);
  } else if constexpr (is_floating_v<T>) {
    return T(static_cast<double>(high) - static_cast<double>(low));
  } else {
    using U = std::make_unsigned_t<T>;
    const U d = static_cast<U>(static_cast<U>(high) - static_cast<U>(low));
    return d > static_cast<U>(highest_value<T>()) ? highest_value<T>() : static_cast<T>(d);
  }
}
}  // namespace

ChordKernels chord_kernels(Dtype dtype) {
  using Of = ChordKernels (*)(Dtype dtype);
  static const PerTarget<Of> all{[](Of& one, std::size_t which) { one = HWY_DISPATCH_TABLE(key_kernels)[which]; }};
  return all.active()(dtype);
}

void store_no_key(const KeyRule& rule, void* key) {
  visit(rule.dtype, [&]<class T>() {
    const T value = rule.least ? highest_value<T>() : lowest_value<T>();
    chord_kernels(rule.dtype).lift(&value, 1, rule, key);
  });
}

void subtract_elements(const void* high, const void* low, Dtype dtype, index_t n, void* y) {
  visit(dtype, [&]<class T>() {
    const T* a = static_cast<const T*>(high);
    const T* b = static_cast<const T*>(low);
    T* to = static_cast<T*>(y);
    for (index_t i = 0; i < n; ++i) to[i] = distance(a[i], b[i]);
  });
}
}  // namespace oriel::cpu
#endif
