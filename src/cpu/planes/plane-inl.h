// The fold of a band of rows of a plane, across them and then along them, for every instruction set. Included once per
// target.
#if defined(ORIEL_CPU_PLANES_PLANE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANES_PLANE_INL_H
#undef ORIEL_CPU_PLANES_PLANE_INL_H
#else
#define ORIEL_CPU_PLANES_PLANE_INL_H
#endif

#include <cstring>

#include "cpu/element/taps-inl.h"
#include "cpu/planes/along-inl.h"
#include "cpu/planes/plane_doubled-inl.h"
#include "cpu/planes/register_tile-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One row of outputs folded across its rows of inputs. Where kLast, all of them but the last are watched already.
template <class P, int K, bool kLast>
HWY_INLINE Watch<P> across_row(const PlaneBand& b, index_t row, typename P::Lane* HWY_RESTRICT out, Watch<P> watch) {
  using In = typename P::In;
  const PlaneTag<P> d;
  const index_t lanes = lanes_of(d), n = b.in_elems;
  const int count = K > 0 ? K : b.across;
  const In* rows[kMaxFold] = {};
  for (int t = 0; t < count; ++t) rows[t] = static_cast<const In*>(b.taps[row * b.across + t]);
  const auto seen = [&](auto v, int t) HWY_ATTR {
    if (!kLast || t == count - 1) watch.see(v);
    return P::lift(d, v);
  };
  const auto at = [&](index_t i) HWY_ATTR {
    hn::StoreU(fold_taps<P, K>(d, count, [&](int t) HWY_ATTR { return seen(P::load(d, rows[t] + i), t); }), d, out + i);
  };
  if (n >= lanes && P::kTree) {  // sums of two taps by AVX2 lose a twentieth with cover_from
    index_t i = 0;
    for (; i + lanes <= n; i += lanes) at(i);
    if (i < n) at(n - lanes);
  } else if (n >= lanes) {
    cover_from(lanes, n, at);
  } else {
    const auto v = fold_taps<P, K>(d, count, [&](int t) HWY_ATTR { return seen(P::load_some(d, rows[t], n), t); });
    store_part(d, v, out, n);
  }
  return watch;
}

// Two rows at once: their common taps are folded once. Of the first row's taps the last is new, or all.
template <class P, int K, bool kLast>
HWY_INLINE Watch<P> across_pair(const PlaneBand& b, index_t row, typename P::Lane* HWY_RESTRICT out,
                                typename P::Lane* HWY_RESTRICT out2, Watch<P> watch) {
  using In = typename P::In;
  const PlaneTag<P> d;
  const index_t lanes = lanes_of(d), n = b.in_elems;
  const int count = K > 0 ? K : b.across;
  const In* rows[kMaxFold + 1] = {};
  for (int t = 0; t < count; ++t) rows[t] = static_cast<const In*>(b.taps[row * b.across + t]);
  rows[count] = static_cast<const In*>(b.taps[(row + 1) * b.across + count - 1]);
  const auto load = [&](int t, index_t i) HWY_ATTR {
    auto v = P::load(d, rows[t] + i);
    if (!kLast || t >= count - 1) watch.see(v);
    return P::lift(d, v);
  };
  const auto at = [&](index_t i) HWY_ATTR {
    constexpr int kCommon = K > 0 ? K - 1 : 0;
    const auto common = fold_taps<P, kCommon>(d, count - 1, [&](int t) HWY_ATTR { return load(t + 1, i); });
    hn::StoreU(P::Reduce::combine(load(0, i), common), d, out + i);
    hn::StoreU(P::Reduce::combine(common, load(count, i)), d, out2 + i);
  };
  cover_from(lanes, n, at);
  return watch;
}

// A row that is a window across by itself: watched, and where kCopy, copied to `out`.
template <class P, bool kCopy>
HWY_NOINLINE Watch<P> lone_row(const typename P::In* x, index_t n, typename P::Lane* HWY_RESTRICT out, Watch<P> watch) {
  const PlaneTag<P> d;
  cover_from(lanes_of(d), n, [&](index_t i) HWY_ATTR {
    auto v = P::load(d, x + i);
    watch.see(v);
    if constexpr (kCopy) hn::StoreU(P::lift(d, v), d, out + i);
  });
  return watch;
}

template <class P, int K>
HWY_NOINLINE bool across_rows(const PlaneBand& b, index_t row, index_t rows) {
  using Lane = typename P::Lane;
  const index_t pitch = b.folded_pitch, end = row + rows;
  Lane* out = static_cast<Lane*>(b.folded);
  Watch<P> watch;
  if (b.across == 1 && b.in_elems >= lanes_of(PlaneTag<P>())) {
    for (; row < end; ++row, out += pitch) {
      prefetch_rows(b, row, b.ahead_bytes);
      watch = lone_row<P, true>(static_cast<const typename P::In*>(b.taps[row]), b.in_elems, out, watch);
    }
    return watch.found(b);
  }
  if constexpr (!P::kTree) {
    if (b.ascends && b.across > 1 && b.in_elems >= lanes_of(PlaneTag<P>())) {
      for (; row + 2 <= end; row += 2, out += 2 * pitch) {
        prefetch_rows(b, row, 2 * b.ahead_bytes);
        watch = row > 0 ? across_pair<P, K, true>(b, row, out, out + pitch, watch)
                        : across_pair<P, K, false>(b, row, out, out + pitch, watch);
      }
    }
  }
  for (; row < end; ++row, out += pitch) {
    prefetch_rows(b, row, b.ahead_bytes);
    watch =
        b.ascends && row > 0 ? across_row<P, K, true>(b, row, out, watch) : across_row<P, K, false>(b, row, out, watch);
  }
  return watch.found(b);
}

// Windows of two taps along that lie side by side, folded in registers as elements at even places and at odd ones.
template <class P, int K>
HWY_NOINLINE void fold_pairs(const PlaneBand& b) {
  using In = typename P::In;
  const PlaneTag<P> d;
  const int count = K > 0 ? K : b.across;
  const auto by = divisor_of<P>(b);
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y);
  for (index_t row = 0; row < b.rows; ++row, y += b.y_pitch) {
    prefetch_rows(b, row, b.ahead_bytes);
    const In* rows[kMaxFold] = {};
    for (int t = 0; t < count; ++t) rows[t] = static_cast<const In*>(b.taps[row * b.across + t]);
    const hn::Repartition<In, decltype(d)> dh;
    const auto folded = [&](index_t j, const auto& load) HWY_ATTR {
      using V = hn::Vec<decltype(d)>;
      V v;
      if constexpr (P::kTree) {
        V even[K], odd[K];
        for (int t = 0; t < K; ++t) P::split(d, load(rows[t] + 2 * j), even[t], odd[t]);
        v = P::Reduce::combine(fold_tree<typename P::Reduce, K>(even), fold_tree<typename P::Reduce, K>(odd));
      } else {
        v = fold_taps<P, K>(d, count, [&](int t) HWY_ATTR {
          V even, odd;
          P::split(d, load(rows[t] + 2 * j), even, odd);
          return P::Reduce::combine(even, odd);
        });
      }
      return P::lower(d, v, b, by, j);
    };
    cover_results(
        d, b.out_elems,
        [&](index_t j)
            HWY_ATTR { P::store(d, folded(j, [&](const In* p) HWY_ATTR { return hn::LoadU(dh, p); }), y + j); },
        [&](index_t j, index_t n) HWY_ATTR {
          const auto some = [&](const In* p) HWY_ATTR { return load_part(dh, p, 2 * n); };
          P::store_some(d, folded(j, some), y + j, n);
        });
  }
}

template <class P>
HWY_INLINE bool splits(const PlaneBand& b) {
  return kSplits<P> && b.along == 2 && b.stride == 2 && b.tap_pitch == 1 && b.lanes == 1 && b.begin == 0 &&
         2 * b.out_elems <= b.in_elems;
}

// Windows of two taps along that lie side by side, over several lanes, folded in registers: two vectors hold the taps
// of one of results.
template <class P, int K>
HWY_NOINLINE bool fold_lane_pairs(const PlaneBand& b) {
  Watch<P> watch;
#if ORIEL_AVX512
  using In = typename P::In;
  const PlaneTag<P> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const index_t lanes = lanes_of(d), step = lanes / b.lanes * b.lanes;
  const int count = K > 0 ? K : b.across;
  const auto by = divisor_of<P>(b);
  const auto* select = static_cast<const hn::TFromD<decltype(du)>*>(b.select) + b.stride * lanes;
  const auto first = hn::Load(du, select), second = hn::Load(du, select + lanes);
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y);
  for (index_t row = 0; row < b.rows; ++row, y += b.y_pitch) {
    prefetch_rows(b, row, b.ahead_bytes);
    const In* rows[kMaxFold] = {};
    for (int t = 0; t < count; ++t) rows[t] = static_cast<const In*>(b.taps[row * b.across + t]);
    const auto across = [&](const auto& load) HWY_ATTR {
      return fold_taps<P, K>(d, count, [&](int t) HWY_ATTR {
        auto v = load(rows[t]);
        watch.see(v);
        return P::lift(d, v);
      });
    };
    const auto put = [&](index_t j, auto low, auto high) HWY_ATTR {
      const auto v = P::Reduce::combine(two_tables(d, low, first, high), two_tables(d, low, second, high));
      const index_t left = b.out_elems - j;
      if (left >= lanes)
        P::store(d, P::lower(d, v, b, by, j), y + j);
      else
        P::store_some(d, P::lower(d, v, b, by, j), y + j, left < step ? left : step);
    };
    const auto at = [&](index_t i) HWY_ATTR { return across([&](const In* x) HWY_ATTR { return P::load(d, x + i); }); };
    const auto some = [&](index_t i) HWY_ATTR {
      const index_t left = b.in_elems - i, n = left < 0 ? 0 : left < lanes ? left : lanes;
      return across([&](const In* x) HWY_ATTR { return P::load_some(d, x + i, n); });
    };
    index_t j = 0;
    for (; 2 * (j + lanes) <= b.in_elems; j += step) put(j, at(2 * j), at(2 * j + lanes));
    for (; j < b.out_elems; j += step) put(j, some(2 * j), some(2 * j + lanes));
  }
#else
  (void)b;
#endif
  return watch.found(b);
}

template <class P>
HWY_INLINE bool pairs_lanes(const PlaneBand& b) {
  return kSelects<P> && b.along == 2 && b.stride == 2 && b.lanes > 1 && b.lanes <= lanes_of(PlaneTag<P>()) &&
         b.tap_pitch == b.lanes && b.begin == 0 && 2 * b.out_elems <= b.in_elems;
}

// Whether elements are folded along as they stand in x.
template <class P>
inline constexpr bool kFoldsInputs = false;
template <class R, class T, bool kLooks>
inline constexpr bool kFoldsInputs<PlainFold<R, T, LiftNone, kLooks>> = true;

// Elements that are read beyond the last tap of a row, at most.
template <class P>
HWY_INLINE index_t reach_of() {
  return (kMostSelected + 1) * lanes_of(PlaneTag<P>());
}

// Rows that are windows across by themselves, without padding, are folded along where they stand, if what follows them
// can be read. Returns how many.
template <class P, class Q>
HWY_INLINE index_t fold_lone(const PlaneBand& b, bool& found) {
  index_t row = 0;
  if constexpr (kFoldsInputs<P>) {
    using In = typename P::In;
    const index_t last = b.begin + (b.out_elems / b.lanes - 1) * b.stride * b.lanes + (b.along - 1) * b.tap_pitch;
    const bool whole = b.begin >= 0 && last + b.lanes <= b.in_elems && b.in_elems >= lanes_of(PlaneTag<P>());
    if (b.across != 1 || b.x_end == nullptr || !whole) return 0;
    Watch<P> watch;
    PlaneBand at = b;
    const index_t read = last + b.lanes + reach_of<P>();
    for (; row < b.rows && static_cast<const In*>(b.x_end) - static_cast<const In*>(b.taps[row]) >= read; ++row) {
      prefetch_rows(b, row, b.ahead_bytes);
      if constexpr (P::kWatch) {
        watch = lone_row<P, false>(static_cast<const In*>(b.taps[row]), b.in_elems, nullptr, watch);
      }
      at.folded = const_cast<void*>(b.taps[row]);
      at.y = static_cast<typename P::Out*>(b.y) + row * b.y_pitch;
      with_taps<P>(b.along,
                   [&](auto k) HWY_ATTR { along_rows<typename Shared<Q>::Along, decltype(k)::value>(at, 0, 1); });
    }
    found |= watch.found(b);
  }
  return row;
}

// P folds across, Q along: the same but for where elements come from.
template <class P, class Q>
bool fold_plane(const PlaneBand& b) {
  using Across = typename Shared<P>::Across;
  using Along = typename Shared<Q>::Along;
  if (fuses<P>(b)) return fold_fused<P>(b);
  if (doubles<P>(b)) return fold_doubled<P>(b);
  if constexpr (kSplits<P> && std::is_same_v<P, Q>) {
    if (splits<P>(b)) {
      with_taps<P>(b.across, [&](auto k) HWY_ATTR { fold_pairs<P, decltype(k)::value>(b); });
      return false;
    }
  }
  bool found = false;
  if (pairs_lanes<P>(b)) {
    with_taps<P>(b.across, [&](auto k) HWY_ATTR { found = fold_lane_pairs<P, decltype(k)::value>(b); });
    return found;
  }
  for (index_t row = fold_lone<P, Q>(b, found); row < b.rows; row += b.batch) {
    const index_t rows = b.batch < b.rows - row ? b.batch : b.rows - row;
    with_taps<P>(b.across, [&](auto k) HWY_ATTR { found |= across_rows<Across, decltype(k)::value>(b, row, rows); });
    with_taps<P>(b.along, [&](auto k) HWY_ATTR { along_rows<Along, decltype(k)::value>(b, row, rows); });
  }
  return found;
}

// Rows folded across alone, for another fold to read.
template <class P>
bool fold_across(const PlaneBand& b) {
  bool found = false;
  with_taps<P>(b.across, [&](auto k) HWY_ATTR {
    found = across_rows<typename Shared<P>::Across, decltype(k)::value>(b, 0, b.rows);
  });
  return found;
}

// Without permutations of whole vectors: which bytes of 16 are results. Else vector c of the tables says which lanes
// come from vector c of the windows. Of pairs two more follow: where in two vectors the first taps are, and the second.
template <class P>
void prepare_select(index_t stride, index_t lanes, void* select) {
  const PlaneTag<P> d;
  using U = hn::TFromD<hn::RebindToUnsigned<decltype(d)>>;
  const index_t n = lanes_of(d);
  if constexpr (!kSelects<P>) {
    std::uint8_t* bytes = static_cast<std::uint8_t*>(select);
    const index_t size = sizeof(U), results = positions_in_16_bytes(stride, lanes, size) * lanes;
    for (index_t i = 0; i < 16; ++i) {
      const index_t lane = i / size, from = lane / lanes * stride * lanes + lane % lanes;
      bytes[i] = static_cast<std::uint8_t>(lane < results ? from * size + i % size : 0);
    }
    return;
  }
  if (stride > kMostSelected) return;
  U* table = static_cast<U*>(select);
  for (index_t c = 0; c < stride; ++c) {
    for (index_t i = 0; i < n; ++i) {
      const index_t from = i / lanes * stride * lanes + i % lanes - c * n;
      const bool here = from >= 0 && from < n;
      table[c * n + i] = static_cast<U>(here ? (c == 0 ? from : n + from) : i);
    }
  }
  if (stride != 2 || lanes > n) return;
  for (index_t t = 0; t < 2; ++t) {
    for (index_t i = 0; i < n; ++i) {
      const index_t from = i / lanes * 2 * lanes + t * lanes + i % lanes;
      table[(2 + t) * n + i] = static_cast<U>(from < 2 * n ? from : 0);
    }
  }
}

// `infinity`: the bits of a 16-bit float's.
template <class P>
PlaneKernel plane_kernel(std::int16_t infinity = 0) {
  using Again = typename Shared<P>::Again;
  PlaneKernel k;
  const PlaneTag<P> d;
  k.infinity = infinity;
  k.fold = &fold_plane<P, P>;
  k.fold_across = &fold_across<P>;
  k.fold_again = &fold_plane<Again, P>;
  k.prepare = &prepare_select<LaneFold<Max, hn::TFromD<hn::RebindToUnsigned<decltype(d)>>>>;
  k.in_bytes = sizeof(typename P::In);
  k.lane_bytes = sizeof(typename P::Lane);
  k.vector = lanes_of(d);
  k.reach = reach_of<P>();
  PlaneLowering b;
  b.infinity = infinity;
  const typename P::In absent = absent_of<P>(b);
  const typename P::Lane identity = identity_of<P>(b);
  std::memcpy(k.absent.data(), &absent, sizeof absent);
  std::memcpy(k.identity.data(), &identity, sizeof identity);
  return k;
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
