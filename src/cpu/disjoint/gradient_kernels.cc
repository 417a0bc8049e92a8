// Gradients of windows apart, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/disjoint/gradient_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/disjoint/gradient_kernels.h"
#include "cpu/element/fold-inl.h"
#include "cpu/element/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The best of the taps of a vector of windows, and which tap it is.
template <bool kMin, class D>
class Search {
 public:
  using DI = hn::RebindToSigned<D>;
  using Code = hn::TFromD<DI>;
  using V = hn::Vec<D>;

  HWY_INLINE explicit Search(V first) : best_(first), code_(hn::Zero(DI())) {}

  // A NaN is better than anything before it.
  HWY_INLINE void see(V v, int tap) {
    const auto better = hn::Or(kMin ? hn::Lt(v, best_) : hn::Gt(v, best_), hn::IsNaN(v));
    best_ = hn::IfThenElse(better, v, best_);
    code_ = hn::IfThenElse(hn::RebindMask(DI(), better), hn::Set(DI(), static_cast<Code>(tap)), code_);
  }
  HWY_INLINE V share(int tap, V dy) const {
    return hn::IfThenElseZero(hn::RebindMask(D(), hn::Eq(code_, hn::Set(DI(), static_cast<Code>(tap)))), dy);
  }

 private:
  V best_;
  hn::Vec<DI> code_;
};

// A sum of one term: that of a negative zero is 0 (S9).
template <class D>
HWY_INLINE hn::Vec<D> sum_of_one(D d, const hn::TFromD<D>* dy) {
  return hn::Add(hn::LoadU(d, dy), hn::Zero(d));
}

template <int kStep, class D>
HWY_INLINE void load_steps(D d, const hn::TFromD<D>* x, hn::Vec<D>* v) {
  if constexpr (kStep == 1) v[0] = hn::LoadU(d, x);
  if constexpr (kStep == 2) hn::LoadInterleaved2(d, x, v[0], v[1]);
  if constexpr (kStep == 3) hn::LoadInterleaved3(d, x, v[0], v[1], v[2]);
  if constexpr (kStep == 4) hn::LoadInterleaved4(d, x, v[0], v[1], v[2], v[3]);
}

template <int kStep, class D>
HWY_INLINE void store_steps(D d, const hn::Vec<D>* v, hn::TFromD<D>* x) {
  if constexpr (kStep == 1) hn::StoreU(v[0], d, x);
  if constexpr (kStep == 2) hn::StoreInterleaved2(v[0], v[1], d, x);
  if constexpr (kStep == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, x);
  if constexpr (kStep == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, x);
}

// Element i of tap `tap` after `times` steps of a run, of x and of dx.
template <class T>
HWY_INLINE const T* input_at(const ApartTap& tap, const ApartRun& run, index_t times, index_t i) {
  return reinterpret_cast<const T*>(static_cast<const std::byte*>(tap.x) + times * run.x) + i;
}
template <class T>
HWY_INLINE T* gradient_at(const ApartTap& tap, const ApartRun& run, index_t times, index_t i) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(tap.dx) + times * run.dx) + i;
}
template <class T>
HWY_INLINE const T* terms_at(const T* dy, const ApartRun& run, index_t times) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(dy) + times * run.dy);
}

// The windows from window i on that fill a vector.
template <bool kMin, int kStep, class D>
HWY_INLINE void share_at(D d, const ApartTap* rows, int count, const hn::TFromD<D>* dy, const ApartRun& run,
                         index_t times, index_t i) {
  using T = hn::TFromD<D>;
  hn::Vec<D> v[kStep];
  load_steps<kStep>(d, input_at<T>(rows[0], run, times, i * kStep), v);
  Search<kMin, D> search(v[0]);
  for (int t = 1; t < kStep; ++t) search.see(v[t], t);
  for (int r = 1; r < count; ++r) {
    load_steps<kStep>(d, input_at<T>(rows[r], run, times, i * kStep), v);
    for (int t = 0; t < kStep; ++t) search.see(v[t], r * kStep + t);
  }
  const auto gradient = sum_of_one(d, dy + i);
  for (int r = 0; r < count; ++r) {
    for (int t = 0; t < kStep; ++t) v[t] = search.share(r * kStep + t, gradient);
    store_steps<kStep>(d, v, gradient_at<T>(rows[r], run, times, i * kStep));
  }
}

// One window.
template <bool kMin, class T>
HWY_INLINE void share_one(const ApartTap* rows, int count, int step, const T* dy, const ApartRun& run, index_t times,
                          index_t i) {
  const auto tap = [&](int c) { return *input_at<T>(rows[c / step], run, times, i * step + c % step); };
  T best = tap(0);
  int chosen = 0;
  for (int c = 1; c < count * step; ++c) {
    const T v = tap(c);
    if (!(kMin ? v < best : v > best) && v == v) continue;
    best = v;
    chosen = c;
  }
  for (int c = 0; c < count * step; ++c) {
    *gradient_at<T>(rows[c / step], run, times, i * step + c % step) = c == chosen ? dy[i] + T{0} : T{0};
  }
}

// Interleaving wants vectors that exist, so the last one overlaps the one before and writes the same again.
template <bool kMin, class T, int kStep>
HWY_INLINE void along_of(const ApartTap* rows, int count, const T* dy, index_t n, const ApartRun& run) {
  const hn::ScalableTag<T> d;
  const ShortTag<T> few;
  for (index_t times = 0; times < run.times; ++times) {
    const T* terms = terms_at(dy, run, times);
    const auto at = [&](auto tag, index_t i)
                        HWY_ATTR { share_at<kMin, kStep>(tag, rows, count, terms, run, times, i); };
    if (hn::MaxLanes(d) > 1 && n >= static_cast<index_t>(hn::Lanes(d))) {
      cover_by(d, n, at);
    } else if (hn::MaxLanes(d) > 1 && n >= static_cast<index_t>(hn::Lanes(few))) {
      cover_by(few, n, at);
    } else {
      for (index_t i = 0; i < n; ++i) share_one<kMin>(rows, count, kStep, terms, run, times, i);
    }
  }
}

template <bool kMin, class T>
void along(const ApartTap* rows, int count, int step, const void* dy, index_t n, const ApartRun& run) {
  const T* g = static_cast<const T*>(dy);
  if (step == 2) return along_of<kMin, T, 2>(rows, count, g, n, run);
  if (step == 3) return along_of<kMin, T, 3>(rows, count, g, n, run);
  along_of<kMin, T, 4>(rows, count, g, n, run);
}

template <bool kMin, class T>
void lanes(const ApartTap* taps, int count, const void* dy, index_t n, const ApartRun& run) {
  const T* g = static_cast<const T*>(dy);
  for (index_t times = 0; times < run.times; ++times) {
    const T* terms = terms_at(g, run, times);
    cover<T>(n, [&](auto d, index_t i) HWY_ATTR { share_at<kMin, 1>(d, taps, count, terms, run, times, i); });
  }
}

// What a window's taps get, as elements of T in vectors of the same number of lanes.
template <class T, class D>
HWY_INLINE auto share_of(D d, const T* dy, hn::Vec<D> divisor) {
  return rounded_to<T>(d, hn::Add(hn::Div(AsIs::load(d, dy), divisor), hn::Zero(d)));
}

// Each lane of v kStep times.
template <int kStep, class D>
HWY_INLINE void store_copies(D d, hn::Vec<D> v, hn::TFromD<D>* x) {
  if constexpr (kStep == 2 && sizeof(hn::TFromD<D>) == 2) {
    const hn::Rebind<std::uint32_t, D> d32;
    const auto wide = hn::PromoteTo(d32, v);
    hn::StoreU(hn::Or(wide, hn::ShiftLeft<16>(wide)), d32, reinterpret_cast<std::uint32_t*>(x));
  } else {
    const hn::Vec<D> all[4] = {v, v, v, v};
    store_steps<kStep>(d, all, x);
  }
}

template <int kStep, class T>
HWY_INLINE void spread(const ApartTap* rows, int count, const T* dy, index_t n, double divisor, const ApartRun& run) {
  using A = accumulator_t<T>;
  using E = typename Loaded<T>::type;
  const hn::ScalableTag<A> d;
  const hn::Rebind<E, decltype(d)> de;
  const auto by = hn::Set(d, static_cast<A>(divisor));
  for (index_t times = 0; times < run.times; ++times) {
    const T* terms = terms_at(dy, run, times);
    cover_by(d, n, [&](auto, index_t i) HWY_ATTR {
      const auto share = share_of(d, terms + i, by);
      for (int r = 0; r < count; ++r) store_copies<kStep>(de, share, gradient_at<E>(rows[r], run, times, i * kStep));
    });
  }
}

template <class T>
void spread_along(const ApartTap* rows, int count, int step, const void* dy, index_t n, double divisor,
                  const ApartRun& run) {
  const T* g = static_cast<const T*>(dy);
  if (step == 2) return spread<2>(rows, count, g, n, divisor, run);
  if (step == 3) return spread<3>(rows, count, g, n, divisor, run);
  spread<4>(rows, count, g, n, divisor, run);
}

template <class T>
void spread_lanes(const ApartTap* taps, int count, const void* dy, index_t n, double divisor, const ApartRun& run) {
  spread<1>(taps, count, static_cast<const T*>(dy), n, divisor, run);
}

template <class T, bool kStream>
HWY_INLINE void spread_positions_of(const ApartTap* rows, int count, int step, const T* dy, index_t windows,
                                    index_t lanes, double divisor, const ApartRun& run) {
  using A = accumulator_t<T>;
  using E = typename Loaded<T>::type;
  const hn::ScalableTag<A> d;
  const hn::Rebind<E, decltype(d)> de;
  const auto by = hn::Set(d, static_cast<A>(divisor));
  for (index_t times = 0; times < run.times; ++times) {
    const T* terms = terms_at(dy, run, times);
    for (index_t w = 0; w < windows; ++w, terms += lanes) {
      cover_by(d, lanes, [&](auto, index_t i) HWY_ATTR {
        const auto share = share_of(d, terms + i, by);
        for (int r = 0; r < count; ++r) {
          E* dx = gradient_at<E>(rows[r], run, times, w * step * lanes + i);
          for (int t = 0; t < step; ++t, dx += lanes) {
            if constexpr (kStream)
              stream_rounded(share, de, dx);
            else
              hn::StoreU(share, de, dx);
          }
        }
      });
    }
  }
}

template <class T>
void spread_positions(const ApartTap* rows, int count, int step, const void* dy, index_t windows, index_t lanes,
                      double divisor, bool stream, const ApartRun& run) {
  const T* g = static_cast<const T*>(dy);
  if (stream) return spread_positions_of<T, true>(rows, count, step, g, windows, lanes, divisor, run);
  spread_positions_of<T, false>(rows, count, step, g, windows, lanes, divisor, run);
}

template <class T>
ApartKernels kernels_of([[maybe_unused]] Op op) {
  ApartKernels k;
#if HWY_TARGET != HWY_SCALAR
  if (op == Op::sum || op == Op::avg) {
    k.spread_along = &spread_along<T>;
    k.spread_lanes = &spread_lanes<T>;
    k.spread_positions = &spread_positions<T>;
    k.vector = static_cast<index_t>(hn::Lanes(hn::ScalableTag<accumulator_t<T>>()));
  }
#endif
  if constexpr (std::is_same_v<T, accumulator_t<T>>) {
    if (op == Op::max) k.choose_along = &along<false, T>, k.choose_lanes = &lanes<false, T>;
    if (op == Op::min) k.choose_along = &along<true, T>, k.choose_lanes = &lanes<true, T>;
  }
  return k;
}

ApartKernels apart(Op op, Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return kernels_of<double>(op);
    case Dtype::f32:
      return kernels_of<float>(op);
    case Dtype::f16:
      if constexpr (!kHalfInHardware) return {};
      return kernels_of<half>(op);
    case Dtype::bf16:
      return kernels_of<bfloat16>(op);
    default:
      return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(apart);
}
const ApartTable& apart_table() {
  static const PerTarget<ApartTable> tables{
      [](ApartTable& table, std::size_t which) { table.kernels = HWY_DISPATCH_TABLE(apart)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
