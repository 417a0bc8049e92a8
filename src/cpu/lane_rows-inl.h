// Rows of windows over positions of many lanes, in registers. Included once per target.
#if defined(ORIEL_CPU_LANE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_LANE_ROWS_INL_H
#undef ORIEL_CPU_LANE_ROWS_INL_H
#else
#define ORIEL_CPU_LANE_ROWS_INL_H
#endif

#include <utility>

#include "cpu/lane_rows.h"
#include "cpu/plane_taps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The fold across of a position, a vector at a time: kAcross elements above each other, of which the last kWatched are
// looked at.
template <class P, int kAcross, int kWatched>
class LaneColumn {
  using In = typename P::In;
  using D = PlaneTag<P>;
  using V = hn::Vec<D>;

 public:
  HWY_INLINE LaneColumn(const LaneRow& b, index_t lane) {
    for (int t = 0; t < kAcross; ++t) {
      rows_[t] = static_cast<const In*>(b.rows[t]) + lane;
      pitch_[t] = b.row_pitch[t];
    }
  }

  // Elements from number i of a position on.
  HWY_INLINE V at(index_t position, index_t i, Watch<P>& watch) const {
    const In* from[kAcross];
    find(position, from);
    return fold(from, i, watch);
  }

  // Where the elements of a position lie, and their fold from number i on.
  HWY_INLINE void find(index_t position, const In** from) const {
    for (int t = 0; t < kAcross; ++t) from[t] = rows_[t] + position * pitch_[t];
  }
  static HWY_INLINE V fold(const In* const* from, index_t i, Watch<P>& watch) {
    const D d;
    V v[kAcross];
    for (int t = 0; t < kAcross; ++t) {
      const V x = P::load(d, from[t] + i);
      if (t >= kAcross - kWatched) watch.see(x);
      v[t] = P::lift(d, x);
    }
    return fold_tree<typename P::Reduce, kAcross>(v);
  }

 private:
  const In* rows_[kAcross];
  index_t pitch_[kAcross];
};

HWY_INLINE bool is_inside(const LaneRow& b, index_t position) {
  return static_cast<std::uint64_t>(position) < static_cast<std::uint64_t>(b.in);
}

// Calls f with numbers of vectors, and the lane that they begin at, that cover all lanes; the last may overlap.
template <class P, class F>
HWY_INLINE void cover_lanes(index_t lanes, const F& f) {
  constexpr int kMost = ORIEL_AVX512 ? 4 : 2;  // the columns of three taps stay in registers
  const index_t vector = lanes_of(PlaneTag<P>());
  index_t lane = 0;
  for (; lane + kMost * vector <= lanes; lane += kMost * vector) f(lane, std::integral_constant<int, kMost>());
  for (; lane < lanes; lane += vector) {
    f(lane + vector <= lanes ? lane : lanes - vector, std::integral_constant<int, 1>());
  }
}

// A window of which some taps are absent.
template <class P, int kAcross, int kAlong>
HWY_INLINE void fold_lanes_cut(const LaneRow& b, const LaneColumn<P, kAcross, kAcross>& column, index_t first,
                               typename P::Out* HWY_RESTRICT y, Watch<P>& watch) {
  const PlaneTag<P> d;
  const auto by = divisor_of<P>(b);
  cover_by(d, b.lanes, [&](auto, index_t i) HWY_ATTR {
    const auto v = fold_taps<P, kAlong>(d, b.along, [&](int t) HWY_ATTR {
      const index_t position = first + t * b.dilation;
      return is_inside(b, position) ? column.at(position, i, watch) : hn::Set(d, P::identity());
    });
    P::store(d, P::lower(d, v, b, by, 0), y + i);
  });
}

// Windows one after the other, any step: a position's lanes are read as they lie.
template <class P, int kAcross, int kAlong>
HWY_INLINE Watch<P> fold_lanes_apart(const LaneRow& b, Watch<P> watch) {
  using Column = LaneColumn<P, kAcross, kAcross>;
  const PlaneTag<P> d;
  const index_t vector = lanes_of(d);
  const Column column(b, 0);
  const auto by = divisor_of<P>(b);
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y);
  index_t first = b.first;
  for (index_t o = 0; o < b.out; ++o, first += b.stride, y += b.y_pitch) {
    if (HWY_UNLIKELY(first < 0 || first + (b.along - 1) * b.dilation >= b.in)) {
      fold_lanes_cut<P, kAcross, kAlong>(b, column, first, y, watch);
      continue;
    }
    const typename P::In* from[kAlong > 0 ? kAlong : kMaxFold][kAcross];
    for (int t = 0; t < (kAlong > 0 ? kAlong : b.along); ++t) column.find(first + t * b.dilation, from[t]);
    cover_lanes<P>(b.lanes, [&](index_t lane, auto vectors) HWY_ATTR {
      for (index_t g = 0; g < decltype(vectors)::value; ++g) {
        const index_t i = lane + g * vector;
        const auto v =
            fold_taps<P, kAlong>(d, b.along, [&](int t) HWY_ATTR { return Column::fold(from[t], i, watch); });
        P::store(d, P::lower(d, v, b, by, 0), y + i);
      }
    });
  }
  return watch;
}

// Windows of a position's lanes that overlap: a column is folded once, and kept for the next windows in memory.
template <class P, int kAcross, int kAlong, int kStride, int kWatched>
HWY_INLINE Watch<P> fold_lanes_kept(const LaneRow& b, Watch<P> watch) {
  using V = hn::Vec<PlaneTag<P>>;
  constexpr int kKept = kAlong - kStride;
  static_assert(kKept == 1 || (kKept == 2 && kStride == 1));
  const PlaneTag<P> d;
  const index_t vector = lanes_of(d), last = b.lanes - vector;
  const LaneColumn<P, kAcross, kWatched> column(b, 0);
  const auto by = divisor_of<P>(b);
  typename P::Lane* kept[kKept];
  for (int t = 0; t < kKept; ++t) kept[t] = static_cast<typename P::Lane*>(b.scratch) + t * (last + 2 * vector);
  const auto load = [&](index_t position, index_t i) HWY_ATTR {
    return HWY_LIKELY(is_inside(b, position)) ? column.at(position, i, watch) : hn::Set(d, P::identity());
  };
  index_t first = b.first;
  for (int t = 0; t < kKept; ++t) {
    for (index_t k = 0; k < b.lanes; k += vector) hn::StoreU(load(first + t, k < last ? k : last), d, kept[t] + k);
  }
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y);
  for (index_t o = 0; o < b.out; ++o, first += kStride, y += b.y_pitch) {
    for (index_t k = 0; k < b.lanes; k += vector) {
      const index_t i = k < last ? k : last;  // the last vector of results overlaps the one before
      V taps[kAlong];
      for (int t = 0; t < kKept; ++t) taps[t] = hn::LoadU(d, kept[t] + k);
      for (int t = kKept; t < kAlong; ++t) taps[t] = load(first + t, i);
      hn::StoreU(taps[kAlong - 1], d, kept[0] + k);  // in the place of the oldest
      P::store(d, P::lower(d, fold_tree<typename P::Reduce, kAlong>(taps), b, by, 0), y + i);
    }
    if constexpr (kKept == 2) std::swap(kept[0], kept[1]);
  }
  return watch;
}

// The same of fewer lanes: kVectors vectors of them, from `lane` on, are kept in registers.
template <class P, int kAcross, int kAlong, int kStride, int kWatched, int kVectors>
HWY_INLINE Watch<P> fold_lanes_sharing(const LaneRow& b, index_t lane, Watch<P> watch) {
  using V = hn::Vec<PlaneTag<P>>;
  constexpr int kKept = kAlong - kStride;
  const PlaneTag<P> d;
  const index_t vector = lanes_of(d);
  const LaneColumn<P, kAcross, kWatched> column(b, lane);
  const auto by = divisor_of<P>(b);
  V taps[kVectors][kAlong];
  const auto load = [&](index_t position, int t) HWY_ATTR {
    if (HWY_LIKELY(is_inside(b, position))) {
      for (int g = 0; g < kVectors; ++g) taps[g][t] = column.at(position, g * vector, watch);
    } else {
      for (int g = 0; g < kVectors; ++g) taps[g][t] = hn::Set(d, P::identity());
    }
  };
  typename P::Out* HWY_RESTRICT y = static_cast<typename P::Out*>(b.y) + lane;
  index_t first = b.first;
  for (int t = 0; t < kKept; ++t) load(first + t, t);
  for (index_t o = 0; o < b.out; ++o, first += kStride, y += b.y_pitch) {
    for (int t = kKept; t < kAlong; ++t) load(first + t, t);
    for (int g = 0; g < kVectors; ++g) {
      const V v = fold_tree<typename P::Reduce, kAlong>(taps[g]);
      P::store(d, P::lower(d, v, b, by, 0), y + g * vector);
      for (int t = 0; t < kKept; ++t) taps[g][t] = taps[g][t + kStride];
    }
  }
  return watch;
}

template <class P, int kAcross, int kAlong>
HWY_NOINLINE bool fold_row_apart(const LaneRow& b) {
  return fold_lanes_apart<P, kAcross, kAlong>(b, Watch<P>()).found();
}

// Bytes of lanes whose columns are kept in registers; of more lanes a position is read at once.
inline constexpr index_t kMostShared = 512;

template <class P, int kAcross, int kAlong, int kStride, int kWatched>
HWY_NOINLINE bool fold_row_sharing(const LaneRow& b) {
  Watch<P> watch;
  if (b.lanes > kMostShared / static_cast<index_t>(sizeof(typename P::Lane))) {
    return fold_lanes_kept<P, kAcross, kAlong, kStride, kWatched>(b, watch).found();
  }
  cover_lanes<P>(b.lanes, [&](index_t lane, auto vectors) HWY_ATTR {
    watch = fold_lanes_sharing<P, kAcross, kAlong, kStride, kWatched, decltype(vectors)::value>(b, lane, watch);
  });
  return watch.found();
}

template <class P>
bool fold_lane_row(const LaneRow& row) {
  const LaneRow b = row;  // its own: results could overwrite another's, and it would be read for each
  if (b.across == 1) {
    bool found = false;
    with_taps<P>(b.along, [&](auto k) HWY_ATTR { found = fold_row_apart<P, 1, decltype(k)::value>(b); });
    return found;
  }
  if (b.along == 1) return b.across == 2 ? fold_row_apart<P, 2, 1>(b) : fold_row_apart<P, 3, 1>(b);
  if (b.along == 2) return b.across == 2 ? fold_row_apart<P, 2, 2>(b) : fold_row_apart<P, 3, 2>(b);
  if (b.stride == 1) {
    return P::kWatch && b.watched > 1 ? fold_row_sharing<P, 3, 3, 1, 3>(b) : fold_row_sharing<P, 3, 3, 1, 1>(b);
  }
  return P::kWatch && b.watched > 2 ? fold_row_sharing<P, 3, 3, 2, 3>(b) : fold_row_sharing<P, 3, 3, 2, 2>(b);
}

template <class P>
LaneRowKernel lane_row_kernel() {
  return {&fold_lane_row<P>, lanes_of(PlaneTag<P>())};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
