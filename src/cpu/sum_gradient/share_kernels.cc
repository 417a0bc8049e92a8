// Kernels of backward sums, compiled once per instruction set. Rows have room behind them, so that whole vectors are
// written where a row is not a multiple of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/sum_gradient/share_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <bit>
#include <cmath>
#include <cstring>

#include "cpu/element/fold-inl.h"
#include "cpu/sum_gradient/share_kernels.h"
#include "hwy/cache_control.h"
#include "real_functions.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

template <class T>
constexpr index_t vector_lanes() {
  return static_cast<index_t>(hn::MaxLanes(hn::ScalableTag<T>()));
}

// Calls at(d, i) for whole vectors that cover n elements and perhaps more.
template <class T, class At>
HWY_INLINE void cover_roomy(index_t n, const At& at) {
  const hn::ScalableTag<T> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < n; i += step) at(d, i);
}

template <class T, class At>
HWY_INLINE void cover_row(index_t n, bool roomy, const At& at) {
  if (roomy)
    cover_roomy<T>(n, at);
  else
    cover<T>(n, at);
}

// -0 becomes 0.
template <class V>
HWY_INLINE V settled(V v) {
  const hn::DFromV<V> d;
  if constexpr (std::is_floating_point_v<hn::TFromD<decltype(d)>>) {
    return hn::Add(v, hn::Zero(d));
  } else {
    return v;
  }
}

template <class T>
void divide(const void* x, index_t n, double divisor, bool roomy, void* out) {
  if constexpr (std::is_floating_point_v<T>) {
    const T* in = static_cast<const T*>(x);
    T* to = static_cast<T*>(out);
    constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
    if ((std::bit_cast<std::uint64_t>(divisor) & kMantissa) == 0) {  // a power of two: the product is the quotient
      const T factor = static_cast<T>(1 / divisor);
      cover_row<T>(n, roomy, [&](auto d, index_t i) HWY_ATTR {
        hn::StoreU(settled(hn::Mul(hn::LoadU(d, in + i), hn::Set(d, factor))), d, to + i);
      });
    } else {
      const T by = static_cast<T>(divisor);
      cover_row<T>(n, roomy, [&](auto d, index_t i) HWY_ATTR {
        hn::StoreU(settled(hn::Div(hn::LoadU(d, in + i), hn::Set(d, by))), d, to + i);
      });
    }
  }
}

template <class T>
void divide_each(const void* x, const void* divisors, double factor, index_t n, bool roomy, void* out) {
  if constexpr (std::is_floating_point_v<T>) {
    const T* in = static_cast<const T*>(x);
    const T* by = static_cast<const T*>(divisors);
    T* to = static_cast<T*>(out);
    const T times = static_cast<T>(factor);
    cover_row<T>(n, roomy, [&](auto d, index_t i) HWY_ATTR {
      const auto divisor = hn::Mul(hn::LoadU(d, by + i), hn::Set(d, times));
      hn::StoreU(hn::Div(hn::LoadU(d, in + i), divisor), d, to + i);
    });
  }
}

struct Keep {
  template <class V>
  static HWY_INLINE V of(V v) {
    return v;
  }
};
struct Settle {
  template <class V>
  static HWY_INLINE V of(V v) {
    return settled(v);
  }
};

// Any tree, with a stack in memory.
template <class End, class T>
void add_any(const T* const* rows, int count, SumTree tree, index_t n, T* out) {
  cover_roomy<T>(n, [&](auto d, index_t i) HWY_ATTR {
    HWY_ALIGN T stack[kMostTreeLeaves * 64 / sizeof(T)];
    const index_t lanes = vector_lanes<T>();
    T* top = stack;
    auto v = hn::LoadU(d, rows[0] + i);
    for (int leaf = 1; leaf < count; ++leaf) {
      hn::Store(v, d, top);
      top += lanes;
      v = hn::LoadU(d, rows[leaf] + i);
      for (SumTree joins = tree >> (4 * leaf) & 15; joins > 0; --joins) {
        top -= lanes;
        v = hn::Add(hn::Load(d, top), v);
      }
    }
    hn::StoreU(End::of(v), d, out + i);
  });
}

template <class End, class T, int K>
HWY_INLINE void add_standard(const T* const* rows, index_t n, T* out) {
  cover_roomy<T>(n, [&](auto d, index_t i) HWY_ATTR {
    hn::Vec<decltype(d)> v[K];
    for (int t = 0; t < K; ++t) v[t] = hn::LoadU(d, rows[t] + i);
    hn::StoreU(End::of(fold_tree<Sum, K>(v)), d, out + i);
  });
}

template <class End, class T>
void add_rows(const T* const* rows, int count, SumTree tree, index_t n, T* out) {
  if (count == 1) return add_standard<End, T, 1>(rows, n, out);
  if (tree == kTree2) return add_standard<End, T, 2>(rows, n, out);
  if (tree == kTreeLeft3) return add_standard<End, T, 3>(rows, n, out);
  if (tree == kTree4) return add_standard<End, T, 4>(rows, n, out);
  if (tree == kTree5) return add_standard<End, T, 5>(rows, n, out);
  if (tree == kTree6) return add_standard<End, T, 6>(rows, n, out);
  if (tree == kTree7) return add_standard<End, T, 7>(rows, n, out);
  add_any<End>(rows, count, tree, n, out);
}

template <class T>
void add(const void* const* rows, int count, SumTree tree, index_t n, void* out) {
  const T* in[kMostTreeLeaves];
  for (int t = 0; t < count; ++t) in[t] = static_cast<const T*>(rows[t]);
  add_rows<Keep>(in, count, tree, n, static_cast<T*>(out));
}

template <class T>
HWY_INLINE void set_rows(const Spread& how, const SharedTaps& taps, const T* shares, const T** rows) {
  for (int t = 0; t < taps.count; ++t) rows[t] = shares + (taps.first + t * how.input_step) * how.lanes;
}

// A row that every input of one place of the period takes; what no output feeds stays -0.
template <class T>
const T* phase_row(const Spread& how, const SharedTaps& taps, const T* shares, index_t n, T* scratch) {
  const T* rows[kMostTreeLeaves];
  set_rows(how, taps, shares, rows);
  if (taps.count == 1) return rows[0];
  if (taps.count == 0) {
    cover_roomy<T>(n, [&](auto d, index_t i) HWY_ATTR { hn::StoreU(hn::Zero(d), d, scratch + i); });
  } else {
    add_rows<Keep>(rows, taps.count, taps.tree, n, scratch);
  }
  return scratch;
}

// out[s * q + r] = rows[r][q].
template <class T, int S>
HWY_INLINE void weave(const T* const* rows, index_t n, T* out) {
  if constexpr (vector_lanes<T>() > 1) {
    cover_roomy<T>(n, [&](auto d, index_t q) HWY_ATTR {
      hn::Vec<decltype(d)> v[S];
      for (int r = 0; r < S; ++r) v[r] = settled(hn::LoadU(d, rows[r] + q));
      if constexpr (S == 2) hn::StoreInterleaved2(v[0], v[1], d, out + S * q);
      if constexpr (S == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, out + S * q);
      if constexpr (S == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, out + S * q);
    });
  } else {
    for (index_t q = 0; q < n; ++q) {
      for (int r = 0; r < S; ++r) out[S * q + r] = rows[r][q] + T{0};
    }
  }
}

// The commonest weave, windows of three that step by two: one row taken as it is, one the sum of two.
template <class T>
HWY_INLINE void weave_pairs(const T* one, const T* a, const T* b, bool one_first, index_t n, T* out) {
  if constexpr (vector_lanes<T>() > 1) {
    cover_roomy<T>(n, [&](auto d, index_t q) HWY_ATTR {
      const auto v = settled(hn::LoadU(d, one + q));
      const auto w = settled(hn::Add(hn::LoadU(d, a + q), hn::LoadU(d, b + q)));
      hn::StoreInterleaved2(one_first ? v : w, one_first ? w : v, d, out + 2 * q);
    });
  } else {
    for (index_t q = 0; q < n; ++q) {
      out[2 * q + (one_first ? 0 : 1)] = one[q] + T{0};
      if constexpr (std::is_integral_v<T>) {  // modulo 2^64 (S7)
        using U = std::make_unsigned_t<T>;
        out[2 * q + (one_first ? 1 : 0)] = static_cast<T>(static_cast<U>(a[q]) + static_cast<U>(b[q]));
      } else {
        out[2 * q + (one_first ? 1 : 0)] = (a[q] + b[q]) + T{0};
      }
    }
  }
}

template <class T>
void weave_rows(const Spread& how, const T* shares, T* scratch, index_t scratch_pitch, T* out) {
  const index_t groups = (how.n + how.step - 1) / how.step;
  if (how.step == 2 && how.taps[0].count + how.taps[1].count == 3 && how.taps[0].count >= 1 && how.taps[1].count >= 1) {
    const bool one_first = how.taps[0].count == 1;
    const SharedTaps& one = how.taps[one_first ? 0 : 1];
    const SharedTaps& two = how.taps[one_first ? 1 : 0];
    return weave_pairs(shares + one.first, shares + two.first, shares + two.first + how.input_step, one_first, groups,
                       out);
  }
  const T* rows[4];
  for (index_t r = 0; r < how.step; ++r) {
    rows[r] =
        phase_row(how, how.taps[r], shares, groups, scratch + r * (scratch_pitch / static_cast<index_t>(sizeof(T))));
  }
  if (how.step == 2) return weave<T, 2>(rows, groups, out);
  if (how.step == 3) return weave<T, 3>(rows, groups, out);
  weave<T, 4>(rows, groups, out);
}

// The sums of one input of several lanes. What is written too far is written again by the next input.
template <class D, class T>
HWY_INLINE void add_lanes(D d, const T* const* rows, const SharedTaps& taps, index_t lanes, T* out) {
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  if (taps.count == 1) {
    for (index_t l = 0; l < lanes; l += step) hn::StoreU(settled(hn::LoadU(d, rows[0] + l)), d, out + l);
  } else if (taps.count == 0) {
    for (index_t l = 0; l < lanes; l += step) hn::StoreU(hn::Zero(d), d, out + l);
  } else if (taps.tree == kTree2) {
    for (index_t l = 0; l < lanes; l += step) {
      hn::StoreU(settled(hn::Add(hn::LoadU(d, rows[0] + l), hn::LoadU(d, rows[1] + l))), d, out + l);
    }
  } else if (taps.tree == kTreeLeft3) {
    for (index_t l = 0; l < lanes; l += step) {
      const auto pair = hn::Add(hn::LoadU(d, rows[0] + l), hn::LoadU(d, rows[1] + l));
      hn::StoreU(settled(hn::Add(pair, hn::LoadU(d, rows[2] + l))), d, out + l);
    }
  } else {
    add_any<Settle>(rows, taps.count, taps.tree, lanes, out);
  }
}

// taps(i): those of input i, its first output counted from the start of the row.
template <class T, class TapsOf>
HWY_INLINE void spread_lanes(const Spread& how, const T* shares, T* out, const TapsOf& taps_of) {
  const auto go = [&](auto d) HWY_ATTR {
    for (index_t i = 0; i < how.n; ++i) {
      const SharedTaps taps = taps_of(i);
      const T* rows[kMostTreeLeaves];
      set_rows(how, taps, shares, rows);
      add_lanes(d, rows, taps, how.lanes, out + i * how.lanes);
    }
  };
  if (how.lanes * static_cast<index_t>(sizeof(T)) <= 16)
    go(ShortTag<T>());
  else
    go(hn::ScalableTag<T>());
}

// Inputs that add the same shares, one run after the other.
template <class T>
void spread_runs(const Spread& how, const T* shares, T* out) {
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const std::int32_t* ends = how.places;
  for (index_t i = 0; i < how.n; ++ends) {
    const T* rows[kMostTreeLeaves] = {};
    T* const first = out + i;
    set_rows(how, how.taps[i], shares, rows);
    add_lanes(ShortTag<T>(), rows, how.taps[i], 1, first);
    const auto v = hn::Set(d, *first);
    const index_t end = *ends;
    for (; i < end; i += lanes) hn::StoreU(v, d, out + i);
    i = end;
  }
}

template <class DI>
HWY_INLINE hn::Vec<DI> load_places(DI d, const std::int32_t* from) {
  if constexpr (sizeof(hn::TFromD<DI>) == 4)
    return hn::LoadU(d, from);
  else
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::int32_t, DI>(), from));
}

// The shares at `places`, 0 where there is none.
template <class D, class T>
HWY_INLINE hn::Vec<D> gather_shares(D d, const T* shares, const std::int32_t* places) {
  const hn::RebindToSigned<D> di;
  const auto place = load_places(di, places);
  const auto none = hn::RebindMask(d, hn::Lt(place, hn::Zero(di)));
  return hn::IfThenZeroElse(none, hn::GatherIndex(d, shares, hn::Max(place, hn::Zero(di))));
}

template <class T>
void spread_pairs(const Spread& how, const T* shares, T* out) {
  cover_roomy<T>(how.n, [&](auto d, index_t i) HWY_ATTR {
    const std::int32_t* const places = how.places + i;
    const auto first = gather_shares(d, shares, places), second = gather_shares(d, shares, places + how.place_pitch);
    hn::StoreU(settled(hn::Add(first, second)), d, out + i);
  });
}

template <class T>
void repeat(const Spread& how, const T* shares, T* out) {
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  const T* in = shares + how.taps[0].first;
  for (index_t i = 0, next = how.head; i < how.n; i = next, next += how.step, ++in) {
    const auto v = settled(hn::Set(d, *in));
    const index_t end = HWY_MIN(next, how.n);
    for (index_t j = i; j < end; j += lanes) hn::StoreU(v, d, out + j);
  }
}

template <class T>
void spread(const Spread& how, const void* from, void* scratch, index_t scratch_pitch, void* to) {
  const T* shares = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  if (how.kind == Spread::Kind::same) {
    const T* rows[kMostTreeLeaves];
    set_rows(how, how.taps[0], shares, rows);
    add_rows<Settle>(rows, how.taps[0].count, how.taps[0].tree, how.n * how.lanes, out);
  } else if (how.kind == Spread::Kind::repeated) {
    repeat(how, shares, out);
  } else if (how.kind == Spread::Kind::runs) {
    spread_runs(how, shares, out);
  } else if (how.kind == Spread::Kind::pairs) {
    spread_pairs(how, shares, out);
  } else if (how.kind == Spread::Kind::listed) {
    spread_lanes(how, shares, out, [&](index_t i) HWY_ATTR { return how.taps[i]; });
  } else if (how.lanes == 1) {
    weave_rows(how, shares, static_cast<T*>(scratch), scratch_pitch, out);
  } else {
    index_t place = -1, group = 0;
    spread_lanes(how, shares, out, [&](index_t) HWY_ATTR {
      if (++place == how.step) place = 0, ++group;
      SharedTaps taps = how.taps[place];
      taps.first += group;
      return taps;
    });
  }
}

// The share of every tap of a root: 0 where the root is.
template <class T>
void root_shares(const void* dy, const void* y, index_t n, void* out) {
  if constexpr (std::is_floating_point_v<T>) {
    const T* in = static_cast<const T*>(dy);
    const T* by = static_cast<const T*>(y);
    T* to = static_cast<T*>(out);
    cover<T>(n, [&](auto d, index_t i) HWY_ATTR {
      const auto root = hn::LoadU(d, by + i), none = hn::Zero(d);
      hn::StoreU(hn::IfThenElse(hn::Eq(root, none), none, hn::Div(hn::LoadU(d, in + i), root)), d, to + i);
    });
  }
}

// Calls at(d, i) for the elements of a gradient and writes sum * at(x), or 0 for a NaN that is left out.
template <class T, class Slope>
HWY_INLINE void scale_by(const T* sums, const T* x, index_t n, bool omit, T* out, const Slope& slope) {
  cover<T>(n, [&](auto d, index_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    const auto g = settled(hn::Mul(hn::LoadU(d, sums + i), slope(d, v)));
    hn::StoreU(omit ? hn::IfThenZeroElse(hn::IsNaN(v), g) : g, d, out + i);
  });
}

// sums * d|x|^p/dx / p.
template <class T>
void scale(const void* sums, const void* x, index_t n, double p, bool omit, void* to) {
  if constexpr (std::is_floating_point_v<T>) {
    const T* sum = static_cast<const T*>(sums);
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(to);
    if (p == 0) return scale_by(sum, in, n, omit, out, [](auto d, auto) HWY_ATTR { return hn::Set(d, T{1}); });
    if (p == 2) return scale_by(sum, in, n, omit, out, [](auto, auto v) HWY_ATTR { return v; });
    if (p == 1) {
      return scale_by(sum, in, n, omit, out, [](auto d, auto v) HWY_ATTR {
        const auto sign = hn::IfThenElse(hn::Eq(v, hn::Zero(d)), hn::Zero(d), hn::CopySign(hn::Set(d, T{1}), v));
        return hn::IfThenElse(hn::IsNaN(v), v, sign);
      });
    }
    if (p == 3) return scale_by(sum, in, n, omit, out, [](auto, auto v) HWY_ATTR { return hn::Mul(v, hn::Abs(v)); });
    for (index_t i = 0; i < n; ++i) {
      const T v = in[i];
      const T slope = static_cast<T>(norm_power(static_cast<double>(std::fabs(v)), p - 1));
      const T g = sum[i] * (v > T{0} ? slope : v < T{0} ? -slope : v == T{0} ? T{0} : v);
      out[i] = omit && v != v ? T{0} : g + T{0};
    }
  }
}

template <class T>
ShareKernels share_kernels() {
  return {&divide<T>, &divide_each<T>, &root_shares<T>, &add<T>, &spread<T>, &scale<T>};
}

ShareKernels shares(Lane lane) {
  switch (lane) {
    case Lane::f32:
      return share_kernels<float>();
    case Lane::f64:
      return share_kernels<double>();
    default:
      return share_kernels<std::int64_t>();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(shares);
}
const ShareTable& share_table() {
  static const PerTarget<ShareTable> tables{
      [](ShareTable& table, std::size_t which) { table.shares = HWY_DISPATCH_TABLE(shares)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
