#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/order/rank_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <limits>

#include "cpu/order/key.h"
#include "cpu/order/rank_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {  // other files have such names, too

// a and b become the lesser and the greater.
template <class V>
HWY_INLINE void sort_two(V& a, V& b) {
  const V lesser = hn::Min(a, b);
  b = hn::Max(a, b);
  a = lesser;
}

// One step of a network: its values stay in registers between its exchanges.
template <std::size_t kShape, class K>
HWY_INLINE void run_step(const Exchange& step, const void* const* rows, index_t lanes) {
  constexpr ExchangeShape kHow = kExchangeShapes[kShape];
  const hn::ScalableTag<K> d;
  const K* from[4] = {};
  K* to[4] = {};
  for (std::size_t w = 0; w < kHow.wires; ++w) {
    from[w] = static_cast<const K*>(rows[step.in[w]]) + step.shift[w];
    if (step.out[w] != kNoRow) to[w] = static_cast<K*>(const_cast<void*>(rows[step.out[w]]));
  }
  const index_t width = static_cast<index_t>(hn::Lanes(d)), n = lanes + step.extra;
  for (index_t i = 0; i < n; i += width) {
    hn::Vec<decltype(d)> v0 = hn::LoadU(d, from[0] + i), v1 = hn::LoadU(d, from[1] + i), v2 = v0, v3 = v0;
    if constexpr (kHow.wires > 2) v2 = hn::LoadU(d, from[2] + i);
    if constexpr (kHow.wires > 3) v3 = hn::LoadU(d, from[3] + i);
    sort_two(v0, v1);
    const auto then = [&]<int kA, int kB>() HWY_ATTR {
      auto& a = [&]() HWY_ATTR -> auto& {
        if constexpr (kA == 0)
          return v0;
        else if constexpr (kA == 1)
          return v1;
        else
          return v2;
      }
      ();
      auto& b = [&]() HWY_ATTR -> auto& {
        if constexpr (kB == 2)
          return v2;
        else
          return v3;
      }
      ();
      sort_two(a, b);
    };
    if constexpr (kHow.exchanges > 1) then.template operator()<kHow.then[0], kHow.then[1]>();
    if constexpr (kHow.exchanges > 2) then.template operator()<kHow.then[2], kHow.then[3]>();
    if (to[0] != nullptr) hn::StoreU(v0, d, to[0] + i);
    if (to[1] != nullptr) hn::StoreU(v1, d, to[1] + i);
    if constexpr (kHow.wires > 2)
      if (to[2] != nullptr) hn::StoreU(v2, d, to[2] + i);
    if constexpr (kHow.wires > 3)
      if (to[3] != nullptr) hn::StoreU(v3, d, to[3] + i);
  }
}

template <class K>
void exchange(const Selection& selection, const void* const* rows, index_t lanes) {
  for (const Exchange& step : selection.steps) {
    switch (step.shape) {
      case 0:
        run_step<0, K>(step, rows, lanes);
        break;
      case 1:
        run_step<1, K>(step, rows, lanes);
        break;
      case 2:
        run_step<2, K>(step, rows, lanes);
        break;
      case 3:
        run_step<3, K>(step, rows, lanes);
        break;
      case 4:
        run_step<4, K>(step, rows, lanes);
        break;
      case 5:
        run_step<5, K>(step, rows, lanes);
        break;
      case 6:
        run_step<6, K>(step, rows, lanes);
        break;
      case 7:
        run_step<7, K>(step, rows, lanes);
        break;
      case 8:
        run_step<8, K>(step, rows, lanes);
        break;
      case 9:
        run_step<9, K>(step, rows, lanes);
        break;
      case 10:
        run_step<10, K>(step, rows, lanes);
        break;
      case 11:
        run_step<11, K>(step, rows, lanes);
        break;
      case 12:
        run_step<12, K>(step, rows, lanes);
        break;
    }
  }
}

// The key of elements given as keys of their bits: key_of for vectors.
template <class T, class D, class V>
HWY_INLINE V keys_of(D d, V bits) {
  using K = hn::TFromD<D>;
  constexpr K kTop = static_cast<K>(std::uint64_t{1} << (sizeof(K) * 8 - 1));
  if constexpr (std::is_same_v<T, bool8>) {
    return hn::Min(bits, hn::Set(d, K(1)));
  } else if constexpr (is_floating_v<T>) {
    const hn::RebindToSigned<D> di;
    const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, bits)));
    const K other = std::is_signed_v<K> ? K(~kTop) : kTop;
    return std::is_signed_v<K> ? hn::Xor(bits, hn::And(negative, hn::Set(d, other)))
                               : hn::Xor(bits, hn::Or(negative, hn::Set(d, other)));
  } else if constexpr (std::is_signed_v<T> != std::is_signed_v<K>) {
    return hn::Xor(bits, hn::Set(d, kTop));
  } else {
    return bits;
  }
}

template <class T, class D, class V>
HWY_INLINE V bits_of(D d, V keys) {
  using K = hn::TFromD<D>;
  constexpr K kTop = static_cast<K>(std::uint64_t{1} << (sizeof(K) * 8 - 1));
  if constexpr (is_floating_v<T>) {
    const hn::RebindToSigned<D> di;
    const auto top = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, keys)));  // of keys of negative values: 0
    if constexpr (std::is_signed_v<K>) {
      return hn::Xor(keys, hn::And(top, hn::Set(d, K(~kTop))));
    } else {
      return hn::Xor(keys, hn::Or(hn::Not(top), hn::Set(d, kTop)));
    }
  } else if constexpr (std::is_same_v<T, bool8>) {
    return keys;
  } else {
    return keys_of<T>(d, keys);
  }
}

template <class T>
bool load(const void* x, index_t n, void* keys, const Unwanted& unwanted) {
  using K = key_t<T>;
  const hn::ScalableTag<K> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const auto* from = static_cast<const K*>(x);
  auto* to = static_cast<K*>(keys);
  const auto first = hn::Set(d, static_cast<K>(unwanted.keys[0]));
  const auto second = hn::Set(d, static_cast<K>(unwanted.keys[1]));
  const auto infinity = hn::Set(d, is_floating_v<T> ? static_cast<K>(key_of(highest_value<T>())) : K(0));
  const auto minus = hn::Set(d, is_floating_v<T> ? static_cast<K>(key_of(lowest_value<T>())) : K(0));
  auto found = hn::FirstN(d, 0);
  const auto one = [&](hn::Vec<decltype(d)> bits) HWY_ATTR {
    const auto k = keys_of<T>(d, bits);
    if constexpr (is_floating_v<T>) {
      if (unwanted.nan) found = hn::Or(found, hn::Or(hn::Gt(k, infinity), hn::Lt(k, minus)));
    }
    if (unwanted.value) found = hn::Or(found, hn::Or(hn::Eq(k, first), hn::Eq(k, second)));
    return k;
  };
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(one(hn::LoadU(d, from + i)), d, to + i);
  bool any = !hn::AllFalse(d, found);
  for (; i < n; ++i) {
    T value;
    std::memcpy(static_cast<void*>(&value), from + i, sizeof(T));
    const K k = key_of(value);
    if constexpr (is_floating_v<T>)
      any = any || (unwanted.nan && (k > key_of(highest_value<T>()) || k < key_of(lowest_value<T>())));
    any = any || (unwanted.value && (k == static_cast<K>(unwanted.keys[0]) || k == static_cast<K>(unwanted.keys[1])));
    to[i] = k;
  }
  return any;
}

template <class T>
void store(const void* keys, index_t n, void* y) {
  using K = key_t<T>;
  const hn::ScalableTag<K> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const auto* from = static_cast<const K*>(keys);
  auto* to = static_cast<K*>(y);
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(bits_of<T>(d, hn::LoadU(d, from + i)), d, to + i);
  for (; i < n; ++i) {
    const T value = value_of<T>(from[i]);
    std::memcpy(to + i, static_cast<const void*>(&value), sizeof(T));
  }
}

// The first n of the lanes that d has.
template <class D>
HWY_INLINE hn::Vec<D> load_some(D d, const hn::TFromD<D>* from, std::size_t n) {
  if (n >= hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN hn::TFromD<D> some[hn::MaxLanes(d)] = {};
  std::memcpy(some, from, n * sizeof(hn::TFromD<D>));
  return hn::Load(d, some);
}

// The taps of some windows beside each other, one after the other: `body(t, keys, bits, valid, nan)`.
template <class T, class D, class Body>
HWY_INLINE void each_tap(D d, const TapLanes& lanes, index_t i, std::size_t n, const Body& body) {
  using K = hn::TFromD<D>;
  const hn::Rebind<std::uint8_t, D> bytes;
  const auto first = hn::Set(d, static_cast<K>(lanes.unwanted.keys[0]));
  const auto second = hn::Set(d, static_cast<K>(lanes.unwanted.keys[1]));
  const auto all = hn::FirstN(d, hn::Lanes(d));
  for (index_t t = 0; t < lanes.count; ++t) {
    const auto bits = load_some(d, static_cast<const K*>(lanes.taps[t]) + lanes.first + i, n);
    const auto k = keys_of<T>(d, bits);
    auto valid = all;
    if (lanes.masks != nullptr) {
      const auto mask = load_some(bytes, static_cast<const std::uint8_t*>(lanes.masks[t]) + lanes.first + i, n);
      if constexpr (sizeof(K) == 1)
        valid = hn::Ne(mask, hn::Zero(bytes));
      else if constexpr (std::is_signed_v<K>)
        valid = hn::Ne(hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<std::int32_t, D>(), mask)), hn::Zero(d));
      else
        valid = hn::Ne(hn::PromoteTo(d, mask), hn::Zero(d));
    }
    if (lanes.unwanted.value) valid = hn::AndNot(hn::Or(hn::Eq(k, first), hn::Eq(k, second)), valid);
    auto nan = hn::Xor(all, all);
    if constexpr (is_floating_v<T>) {
      nan = hn::Or(hn::Gt(k, hn::Set(d, static_cast<K>(key_of(highest_value<T>())))),
                   hn::Lt(k, hn::Set(d, static_cast<K>(key_of(lowest_value<T>())))));
      if (lanes.omits) valid = hn::AndNot(nan, valid);
      nan = hn::And(nan, valid);
    }
    body(t, k, bits, valid, nan);
  }
}

template <class T>
bool gather(const TapLanes& lanes) {
  using K = key_t<T>;
  const hn::ScalableTag<K> d;
  const index_t width = static_cast<index_t>(hn::Lanes(d));
  auto everywhere = hn::FirstN(d, hn::Lanes(d));
  for (index_t i = 0; i < lanes.n; i += width) {
    const auto n = static_cast<std::size_t>(std::min(width, lanes.n - i));
    auto count = hn::Zero(d), last = hn::Zero(d);
    each_tap<T>(d, lanes, i, n, [&](index_t t, auto k, auto bits, auto valid, auto nan) HWY_ATTR {
      hn::StoreU(k, d, static_cast<K*>(lanes.keys[t]) + i);
      count = hn::Add(count, hn::IfThenElseZero(valid, hn::Set(d, K(1))));
      if constexpr (is_floating_v<T>)
        last = hn::IfThenElse(nan, bits, last);
      else
        (void)bits, (void)nan;
    });
    hn::StoreU(count, d, static_cast<K*>(lanes.valid) + i);
    hn::StoreU(last, d, static_cast<K*>(lanes.nan) + i);
    const auto plain = hn::And(hn::Eq(count, hn::Set(d, static_cast<K>(lanes.count))), hn::Eq(last, hn::Zero(d)));
    everywhere = hn::And(everywhere, hn::Or(plain, hn::Not(hn::FirstN(d, n))));
  }
  return !hn::AllTrue(d, everywhere);
}

template <class T>
void pad(const TapLanes& lanes, const void* low) {
  using K = key_t<T>;
  const hn::ScalableTag<K> d;
  const index_t width = static_cast<index_t>(hn::Lanes(d));
  const auto least = hn::Set(d, std::numeric_limits<K>::min()), most = hn::Set(d, std::numeric_limits<K>::max());
  const auto one = hn::Set(d, K(1));
  for (index_t i = 0; i < lanes.n; i += width) {
    const auto n = static_cast<std::size_t>(std::min(width, lanes.n - i));
    auto left = hn::LoadU(d, static_cast<const K*>(low) + i);
    each_tap<T>(d, lanes, i, n, [&](index_t t, auto k, auto, auto valid, auto) HWY_ATTR {
      const auto lowers = hn::AndNot(valid, hn::Ne(left, hn::Zero(d)));
      left = hn::Sub(left, hn::IfThenElseZero(lowers, one));
      const auto padded = hn::IfThenElse(valid, k, hn::IfThenElse(lowers, least, most));
      hn::StoreU(padded, d, static_cast<K*>(lanes.keys[t]) + i);
    });
  }
}

}  // namespace

RankKernels rank_kernels(Dtype dtype) {
  return visit(dtype, []<class T>() -> RankKernels {
    return {&exchange<key_t<T>>, &load<T>, &store<T>, &gather<T>, &pad<T>};
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(rank_kernels);
}
const RankTable& rank_table() {
  static const PerTarget<RankTable> tables{
      [](RankTable& table, std::size_t which) { table.of = HWY_DISPATCH_TABLE(rank_kernels)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
