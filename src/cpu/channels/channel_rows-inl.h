// Rows of windows over positions of many lanes, in registers. Included once per target.
#if defined(ORIEL_CPU_CHANNELS_CHANNEL_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_CHANNELS_CHANNEL_ROWS_INL_H
#undef ORIEL_CPU_CHANNELS_CHANNEL_ROWS_INL_H
#else
#define ORIEL_CPU_CHANNELS_CHANNEL_ROWS_INL_H
#endif

#include <utility>

#include "cpu/channels/channel_rows.h"
#include "cpu/element/taps-inl.h"
#include "hwy/cache_control.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Constructors that g++ makes by itself are not code for Arm's vectors.
template <class V, bool kTwo>
struct OneOrTwo {
  HWY_INLINE OneOrTwo() {}
  V even;
};
template <class V>
struct OneOrTwo<V, true> {
  HWY_INLINE OneOrTwo() {}
  V even, odd;
};

// Of lambdas: else they are inlined after arrays have been given places in memory.
#undef ORIEL_INLINED
#define ORIEL_INLINED HWY_ATTR __attribute__((always_inline))

// f of the constants 0 to n - 1: arrays with such indices stay in registers.
template <int kN, class F>
HWY_INLINE void unrolled(const F& f) {
  [&]<int... kI>(std::integer_sequence<int, kI...>) ORIEL_INLINED { (f(std::integral_constant<int, kI>()), ...); }
  (std::make_integer_sequence<int, kN>());
}

// P::lower of rows that divide all alike; of sums that are not rounded again one test and, by a product, no jump.
template <class P, class D, class B>
HWY_INLINE hn::Vec<D> lower_lanes(D d, hn::Vec<D> v, const LaneRows& b, const B& by) {
  if constexpr (P::kTree && std::is_same_v<typename P::In, typename P::Lane>) {
    if (HWY_LIKELY(b.lower == PlaneLower::multiply)) return hn::Mul(v, by);
    return b.lower == PlaneLower::divide ? hn::Div(v, by) : v;
  } else {
    return P::lower(d, v, b, by, 0);
  }
}

// Elements that lie side by side, as vectors of lanes: all in `even`, or those at odd places apart.
template <class P>
struct LaneParts : OneOrTwo<hn::Vec<PlaneTag<P>>, kSplits<P>> {
  using D = PlaneTag<P>;
  using V = hn::Vec<D>;

  HWY_INLINE LaneParts() {}
  static HWY_INLINE index_t size() { return (kSplits<P> ? 2 : 1) * lanes_of(D()); }
  static HWY_INLINE LaneParts absent(const LaneRows& b) {
    LaneParts v;
    v.even = hn::Set(D(), identity_of<P>(b));
    if constexpr (kSplits<P>) v.odd = v.even;
    return v;
  }
  static HWY_INLINE LaneParts of_elements(const typename P::In* p, bool watched, Watch<P>& watch) {
    const D d;
    LaneParts v;
    if constexpr (kSplits<P>) {
      P::split(d, hn::LoadU(hn::Repartition<typename P::In, D>(), p), v.even, v.odd);
    } else {
      V x = P::load(d, p);
      if (watched) watch.see(x);
      v.even = P::lift(d, x);
    }
    return v;
  }
  static HWY_INLINE LaneParts of_folded(const typename P::Lane* p) {
    LaneParts v;
    v.even = hn::LoadU(D(), p);
    if constexpr (kSplits<P>) v.odd = hn::LoadU(D(), p + lanes_of(D()));
    return v;
  }
  HWY_INLINE void store_folded(typename P::Lane* p) const {
    hn::StoreU(this->even, D(), p);
    if constexpr (kSplits<P>) hn::StoreU(this->odd, D(), p + lanes_of(D()));
  }
  template <class By>
  HWY_INLINE void store_lowered(const LaneRows& b, const By& by, typename P::Out* p) const {
    const D d;
    if constexpr (kSplits<P>) {
      const auto joined = P::join(d, lower_lanes<P>(d, this->even, b, by), lower_lanes<P>(d, this->odd, b, by));
      hn::StoreU(joined, hn::Repartition<typename P::Out, D>(), p);
    } else {
      P::store(d, lower_lanes<P>(d, this->even, b, by), p);
    }
  }
  static HWY_INLINE LaneParts combine(LaneParts a, LaneParts b) {
    a.even = P::Reduce::combine(a.even, b.even);
    if constexpr (kSplits<P>) a.odd = P::Reduce::combine(a.odd, b.odd);
    return a;
  }
};

// The fold of K taps in the tree of S8. Arrays of vectors stay in registers, arrays of LaneParts do not.
template <class P, int K>
HWY_INLINE LaneParts<P> fold_lane_tree(const hn::Vec<PlaneTag<P>>* even, const hn::Vec<PlaneTag<P>>* odd) {
  LaneParts<P> v;
  v.even = fold_tree<typename P::Reduce, K>(even);
  if constexpr (kSplits<P>) v.odd = fold_tree<typename P::Reduce, K>(odd);
  return v;
}

// `count` taps; K = 0: any number of them, where order does not matter.
template <class P, int K, class At>
HWY_INLINE LaneParts<P> fold_lane_taps(int count, const At& at) {
  if constexpr (K > 0) {
    hn::Vec<PlaneTag<P>> even[K], odd[K];
    for (int t = 0; t < K; ++t) {
      const LaneParts<P> v = at(t);
      even[t] = v.even;
      if constexpr (kSplits<P>) odd[t] = v.odd;
    }
    return fold_lane_tree<P, K>(even, odd);
  } else {
    LaneParts<P> acc = at(0);
    for (int t = 1; t < count; ++t) acc = LaneParts<P>::combine(acc, at(t));
    return acc;
  }
}

// Floats whose extrema are the first of equals: a processor's maximum of a zero and another is its second operand. So
// only zeros that were folded in another order than that of memory are looked at, and NaN in pairs.
template <class P>
inline constexpr bool kKeepsFirst = P::kWatch&& std::is_floating_point_v<typename P::Lane>;

// The first of the equal extrema of K taps, the last kWatched of which are looked at.
template <class P, int K, int kWatched, int kTurn, class At>
HWY_INLINE hn::Vec<PlaneTag<P>> fold_first_taps(Watch<P>& watch, const At& at) {
  hn::Vec<PlaneTag<P>> v[K];
  unrolled<K>([&](auto t) ORIEL_INLINED { v[K - 1 - t] = at(t); });
  unrolled<(kWatched + 1) / 2>([&](auto p) ORIEL_INLINED {
    constexpr int kFirst = 2 * p, kSecond = kFirst + 1 < kWatched ? kFirst + 1 : kFirst;
    watch.template see_nan<kTurn + p>(v[kFirst], v[kSecond]);
  });
  return fold_tree<typename P::Reduce, K>(v);
}

// The fold across of a position, some lanes at a time: kAcross elements above each other, of which the last kWatched
// are looked at.
template <class P, int kAcross, int kWatched>
class LaneColumn {
  using In = typename P::In;

 public:
  HWY_INLINE LaneColumn(const LaneRows& b, index_t row, index_t lane) {
    for (int t = 0; t < kAcross; ++t) {
      rows_[t] = static_cast<const In*>(b.rows[row * kAcross + t]) + lane;
      pitch_[t] = b.row_pitch[row * kAcross + t];
    }
  }

  // Elements from number i of a position on.
  template <int kTurn = 0>
  HWY_INLINE LaneParts<P> at(index_t position, index_t i, Watch<P>& watch) const {
    const In* from[kAcross];
    find(position, from);
    return fold<kTurn>(from, i, watch);
  }

  // Where the elements of a position lie, and their fold from number i on.
  HWY_INLINE void find(index_t position, const In** from) const {
    for (int t = 0; t < kAcross; ++t) from[t] = rows_[t] + position * pitch_[t];
  }
  template <int kTurn = 0>
  static HWY_INLINE LaneParts<P> fold(const In* const* from, index_t i, Watch<P>& watch) {
    if constexpr (kKeepsFirst<P>) {
      LaneParts<P> v;
      v.even = fold_first_taps<P, kAcross, kWatched, kTurn>(
          watch, [&](auto t) ORIEL_INLINED { return P::load(PlaneTag<P>(), from[t] + i); });
      watch.see_zero(v.even);
      return v;
    }
    return fold_lane_taps<P, kAcross>(kAcross, [&](int t) ORIEL_INLINED {
      return LaneParts<P>::of_elements(from[t] + i, t >= kAcross - kWatched, watch);
    });
  }

  // From the elements of a position to those of another, so many further on.
  HWY_INLINE void step(index_t positions, const In** from) const {
    for (int t = 0; t < kAcross; ++t) from[t] += positions * pitch_[t];
  }

  static HWY_INLINE void prefetch(const In* const* from, index_t i) {
    for (int t = 0; t < kAcross; ++t) hwy::Prefetch(from[t] + i);
  }
  HWY_INLINE void prefetch_position(index_t position, index_t lanes) const {
    const In* from[kAcross];
    find(position, from);
    for (index_t i = 0; i < lanes; i += 64 / static_cast<index_t>(sizeof(In))) prefetch(from, i);
  }

 private:
  const In* rows_[kAcross];
  index_t pitch_[kAcross];
};

HWY_INLINE bool is_inside(const LaneRows& b, index_t position) {
  return static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(b.in);
}

// Calls f with numbers of vectors, and the lane that they begin at, that cover all lanes; the last may overlap.
template <class P, class F>
HWY_INLINE void cover_lanes(index_t lanes, const F& f) {
  constexpr int kMost = (ORIEL_AVX512 ? 4 : 2) / (kSplits<P> ? 2 : 1);  // columns of three taps stay in registers
  const index_t vector = LaneParts<P>::size();
  index_t lane = 0;
  if constexpr (kMost > 1) {
    for (; lane + kMost * vector <= lanes; lane += kMost * vector) f(lane, std::integral_constant<int, kMost>());
  }
  for (; lane < lanes; lane += vector) {
    f(lane + vector <= lanes ? lane : lanes - vector, std::integral_constant<int, 1>());
  }
}

// A window of which some taps are absent.
template <class P, int kAcross, int kAlong>
HWY_INLINE void fold_lanes_cut(const LaneRows& b, const LaneColumn<P, kAcross, kAcross>& column, index_t first,
                               typename P::Out* HWY_RESTRICT y, Watch<P>& watch) {
  using Parts = LaneParts<P>;
  const auto by = divisor_of<P>(b);
  const index_t last = b.lanes - Parts::size();
  for (index_t k = 0; k < b.lanes; k += Parts::size()) {
    const index_t i = k < last ? k : last;  // the last results overlap those before
    const auto v = fold_lane_taps<P, kAlong>(b.along, [&](int t) HWY_ATTR {
      const index_t position = first + t * b.dilation;
      return is_inside(b, position) ? column.at(position, i, watch) : Parts::absent(b);
    });
    v.store_lowered(b, by, y + i);
  }
}

// A window's elements from number i on.
template <class P, int kAcross, int kAlong, bool kAlongFirst, int kTurn, class From>
HWY_INLINE LaneParts<P> fold_lane_window(const LaneRows& b, const From& from, index_t i, Watch<P>& watch) {
  if constexpr (kKeepsFirst<P> && kAlong > 0) {
    LaneParts<P> v;
    v.even = fold_first_taps<P, kAcross * kAlong, kAcross * kAlong, kTurn>(watch, [&](auto t) ORIEL_INLINED {
      constexpr int kRow = kAlongFirst ? t % kAcross : t / kAlong, kPlace = kAlongFirst ? t / kAcross : t % kAlong;
      return P::load(PlaneTag<P>(), from[kPlace][kRow] + i);
    });
    return v;
  } else {
    return fold_lane_taps<P, kAlong>(
        b.along, [&](int t) HWY_ATTR { return LaneColumn<P, kAcross, kAcross>::fold(from[t], i, watch); });
  }
}

// The outputs of a row whose windows have all their taps.
HWY_INLINE Range whole_windows(const LaneRows& b) {
  const index_t last = b.in - 1 - (b.along - 1) * b.dilation - b.first;  // where the last of them begins
  const index_t begin = b.first < 0 ? (b.stride - 1 - b.first) / b.stride : 0;
  const index_t end = last < 0 ? 0 : last / b.stride + 1;
  const index_t most = end < b.out ? end : b.out;
  return {begin < most ? begin : most, most};
}

// Windows one after the other, any step: a position's lanes are read as they lie.
template <class P, int kAcross, int kAlong, bool kAlongFirst>
HWY_INLINE Watch<P> fold_lanes_apart(const LaneRows& b, index_t row, Range whole, Watch<P> watch) {
  const LaneColumn<P, kAcross, kAcross> column(b, row, 0);
  const auto by = divisor_of<P>(b);
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y) + row * b.y_row_pitch;
  for (const Range& cut : {Range{0, whole.begin}, Range{whole.end, b.out}}) {
    for (index_t o = cut.begin; o < cut.end; ++o) {
      fold_lanes_cut<P, kAcross, kAlong>(b, column, b.first + o * b.stride, y + o * b.y_pitch, watch);
    }
  }
  constexpr int kPlaces = kAlong > 0 ? kAlong : kMaxFold;
  const int along = kAlong > 0 ? kAlong : b.along;
  const typename P::In* from[kPlaces][kAcross];
  for (int t = 0; t < along; ++t) column.find(b.first + whole.begin * b.stride + t * b.dilation, from[t]);
  y += whole.begin * b.y_pitch;
  for (index_t o = whole.begin; o < whole.end; ++o, y += b.y_pitch) {
    cover_lanes<P>(b.lanes, [&](index_t lane, auto vectors) HWY_ATTR {
      unrolled<decltype(vectors)::value>([&](auto g) ORIEL_INLINED {
        const index_t i = lane + g * LaneParts<P>::size();
        fold_lane_window<P, kAcross, kAlong, kAlongFirst, 2 * g>(b, from, i, watch).store_lowered(b, by, y + i);
      });
    });
    for (int t = 0; t < along; ++t) column.step(b.stride, from[t]);
  }
  return watch;
}

// Columns that are kept take the places of the oldest.
constexpr bool keeps_columns(int along, int stride) {
  return along - stride == 1 || (along - stride == 2 && stride == 1);
}

// Windows of a position's lanes that overlap: a column is folded once, and kept for the next windows in memory.
template <class P, int kAcross, int kAlong, int kStride, int kWatched>
HWY_INLINE Watch<P> fold_lanes_kept(const LaneRows& b, index_t row, Watch<P> watch) {
  using Parts = LaneParts<P>;
  constexpr int kKept = kAlong - kStride;
  static_assert(keeps_columns(kAlong, kStride));
  const index_t size = Parts::size(), last = b.lanes - size;
  const LaneColumn<P, kAcross, kWatched> column(b, row, 0);
  const auto by = divisor_of<P>(b);
  typename P::Lane* kept[kKept];
  for (int t = 0; t < kKept; ++t) kept[t] = static_cast<typename P::Lane*>(b.scratch) + t * (last + 2 * size);
  const auto load = [&](index_t position, index_t i, auto turn) ORIEL_INLINED {
    return HWY_LIKELY(is_inside(b, position)) ? column.template at<turn>(position, i, watch) : Parts::absent(b);
  };
  index_t first = b.first;
  unrolled<kKept>([&](auto t) ORIEL_INLINED {
    for (index_t k = 0; k < b.lanes; k += size) load(first + t, k < last ? k : last, t).store_folded(kept[t] + k);
  });
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y) + row * b.y_row_pitch;
  for (index_t o = 0; o < b.out; ++o, first += kStride, y += b.y_pitch) {
    if (kStride > 1 && b.far) {  // what the next window reads first; steps of one are foreseen by the hardware
      for (int t = 0; t < kStride; ++t) column.prefetch_position(first + kAlong + t, b.lanes);
    }
    const typename P::In* from[kStride][kAcross];
    bool inside[kStride];
    for (int t = 0; t < kStride; ++t) {
      column.find(first + kKept + t, from[t]);
      inside[t] = is_inside(b, first + kKept + t);
    }
    for (index_t k = 0; k < b.lanes; k += size) {
      const index_t i = k < last ? k : last;
      typename Parts::V even[kAlong], odd[kAlong];
      unrolled<kAlong>([&](auto t) ORIEL_INLINED {
        Parts v;
        if constexpr (t < kKept) {
          v = Parts::of_folded(kept[t] + k);
        } else {
          constexpr int kNew = t - kKept;
          v = HWY_LIKELY(inside[kNew]) ? column.template fold<t>(from[kNew], i, watch) : Parts::absent(b);
        }
        if constexpr (t == kAlong - 1) v.store_folded(kept[0] + k);  // in the place of the oldest
        even[t] = v.even;
        if constexpr (kSplits<P>) odd[t] = v.odd;
      });
      fold_lane_tree<P, kAlong>(even, odd).store_lowered(b, by, y + i);
    }
    if constexpr (kKept == 2) std::swap(kept[0], kept[1]);
  }
  return watch;
}

// The same of fewer lanes: kVectors times LaneParts of them, from `lane` on, are kept in registers.
template <class P, int kAcross, int kAlong, int kStride, int kWatched, int kVectors>
HWY_INLINE Watch<P> fold_lanes_sharing(const LaneRows& b, index_t row, index_t lane, Watch<P> watch) {
  using Parts = LaneParts<P>;
  constexpr int kKept = kAlong - kStride;
  const index_t size = Parts::size();
  const LaneColumn<P, kAcross, kWatched> column(b, row, lane);
  const auto by = divisor_of<P>(b);
  typename Parts::V even[kVectors][kAlong], odd[kVectors][kAlong];
  const auto load = [&](index_t position, auto t) ORIEL_INLINED {
    const bool inside = is_inside(b, position);
    unrolled<kVectors>([&](auto g) ORIEL_INLINED {
      const Parts v = HWY_LIKELY(inside) ? column.template at<g>(position, g * size, watch) : Parts::absent(b);
      even[g][t] = v.even;
      if constexpr (kSplits<P>) odd[g][t] = v.odd;
    });
  };
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y) + row * b.y_row_pitch + lane;
  index_t first = b.first;
  unrolled<kKept>([&](auto t) ORIEL_INLINED { load(first + t, t); });
  for (index_t o = 0; o < b.out; ++o, first += kStride, y += b.y_pitch) {
    unrolled<kStride>([&](auto t) ORIEL_INLINED {
      load(first + kKept + t, std::integral_constant<int, kKept + decltype(t)::value>());
    });
    unrolled<kVectors>([&](auto g) ORIEL_INLINED {
      fold_lane_tree<P, kAlong>(even[g], odd[g]).store_lowered(b, by, y + g * size);
      unrolled<kKept>([&](auto t) ORIEL_INLINED {
        even[g][t] = even[g][t + kStride];
        if constexpr (kSplits<P>) odd[g][t] = odd[g][t + kStride];
      });
    });
  }
  return watch;
}

template <class P, int kAcross, int kAlong, bool kAlongFirst = false>
HWY_NOINLINE bool fold_rows_apart(const LaneRows& b) {
  const Range whole = whole_windows(b);
  Watch<P> watch;
  for (index_t row = 0; row < b.count; ++row) {
    watch = fold_lanes_apart<P, kAcross, kAlong, kAlongFirst>(b, row, whole, watch);
  }
  return watch.found(b);
}

// Bytes of lanes whose columns are kept in registers; of more lanes a position is read at once: as memory lies, while
// some lanes of all positions, and then others, took twice as long with AVX2.
inline constexpr index_t kMostShared = ORIEL_AVX512 ? 512 : 64;
template <class P>
HWY_INLINE bool shares_in_registers(const LaneRows& b) {
  return b.lanes <= kMostShared / static_cast<index_t>(sizeof(typename P::In));
}

template <class P, int kAcross, int kAlong, int kStride, int kWatched>
HWY_NOINLINE bool fold_rows_sharing(const LaneRows& b) {
  Watch<P> watch;
  for (index_t row = 0; row < b.count; ++row) {
    if constexpr (keeps_columns(kAlong, kStride)) {
      if (!shares_in_registers<P>(b)) {
        watch = fold_lanes_kept<P, kAcross, kAlong, kStride, kWatched>(b, row, watch);
        continue;
      }
    }
    cover_lanes<P>(b.lanes, [&](index_t lane, auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      watch = fold_lanes_sharing<P, kAcross, kAlong, kStride, kWatched, kVectors>(b, row, lane, watch);
    });
  }
  return watch.found(b);
}

template <class P>
bool fold_lane_rows(const LaneRows& rows) {
  const LaneRows b = rows;  // its own: results could overwrite another's, and it would be read for each
  if (b.across == 1 && b.dilation == 1 && shares_in_registers<P>(b)) {
    if (b.along == 3 && b.stride == 1) return fold_rows_sharing<P, 1, 3, 1, 1>(b);
    if (b.along == 4 && b.stride == 2) return fold_rows_sharing<P, 1, 4, 2, 1>(b);
  }
  if (b.across == 1) {
    bool found = false;
    with_taps<P>(b.along, [&](auto k) HWY_ATTR { found = fold_rows_apart<P, 1, decltype(k)::value>(b); });
    return found;
  }
  if (b.along == 1) return b.across == 2 ? fold_rows_apart<P, 2, 1>(b) : fold_rows_apart<P, 3, 1>(b);
  if constexpr (kKeepsFirst<P>) {
    if (b.along == 2 && b.along_first) {
      return b.across == 2 ? fold_rows_apart<P, 2, 2, true>(b) : fold_rows_apart<P, 3, 2, true>(b);
    }
  }
  if (b.along == 2) return b.across == 2 ? fold_rows_apart<P, 2, 2>(b) : fold_rows_apart<P, 3, 2>(b);
  if (b.stride == 1) {
    return P::kWatch && b.watched > 1 ? fold_rows_sharing<P, 3, 3, 1, 3>(b) : fold_rows_sharing<P, 3, 3, 1, 1>(b);
  }
  return P::kWatch && b.watched > 2 ? fold_rows_sharing<P, 3, 3, 2, 3>(b) : fold_rows_sharing<P, 3, 3, 2, 2>(b);
}

template <class P>
LaneRowKernel lane_row_kernel(std::int16_t infinity = 0) {
  return {&fold_lane_rows<P>, LaneParts<P>::size(), infinity};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
