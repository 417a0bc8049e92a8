// Codes and gradients of overlapping windows along rows, per instruction set: those that load some lanes alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/box_gradient/overlap_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/box_gradient/overlap_kernels.h"
#include "cpu/simd/interleave-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if ORIEL_AVX2

// Vectors that hold the taps of a vector of windows: one for each, or two for each pair.
template <int kK, int kS>
constexpr int kLoads = kS == 1 ? kK : (kK + 1) / 2 * 2;

// Where the load l of windows that begin at `begin` begins. An odd tap that has no pair is read with the one before.
template <int kK, int kS>
constexpr index_t place(index_t begin, int l, index_t lanes) {
  if (kS == 1) return begin + l;
  const int tap = l / 2 * 2 == kK - 1 ? kK - 2 : l / 2 * 2;
  return begin + tap + (l % 2) * lanes;
}

// A vector of windows from output o on, of which some taps do not exist, or which are fewer than lanes. The same in
// every row.
template <class T, int kK, int kS>
struct Border {
  using D = hn::ScalableTag<T>;
  using DI = hn::RebindToSigned<D>;
  using Code = hn::TFromD<DI>;
  static constexpr index_t kLanes = hn::MaxLanes(D());

  HWY_INLINE Border(const OverlapWindows& w, index_t o) {
    const DI di;
    const index_t begin = w.first + o * kS;
    needed = begin < 0 || begin + (kLanes - 1) * kS + kK > w.in || w.out - o < kLanes;
    for (int l = 0; l < kLoads<kK, kS>; ++l) {
      const index_t at = place<kK, kS>(begin, l, kLanes);
      there[l] = hn::AndNot(first_n(-at), first_n(w.in - at));
    }
    const auto first = hn::Sub(hn::Set(di, static_cast<Code>(-begin)), hn::ShiftLeft<kS - 1>(hn::Iota(di, 0)));
    missing = hn::Max(first, hn::Zero(di));
    windows = hn::RebindMask(di, first_n(w.out - o));
  }

  static HWY_INLINE hn::Mask<D> first_n(index_t n) {
    return hn::FirstN(D(), static_cast<std::size_t>(HWY_MIN(HWY_MAX(n, index_t{0}), kLanes)));
  }

  bool needed;
  hn::Mask<D> there[kLoads<kK, kS>];
  hn::Vec<DI> missing;  // first taps
  hn::Mask<DI> windows;
};

// The windows of a row whose width and step are kK and kS, in kRows rows of inputs, or 0 for any number.
template <class T, bool kMin, int kK, int kS, int kRows>
class Choice {
  using D = hn::ScalableTag<T>;
  using DI = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  using Code = hn::TFromD<DI>;
  using Edge = Border<T, kK, kS>;
  static constexpr index_t kLanes = hn::MaxLanes(D());

 public:
  HWY_INLINE Choice(const std::byte* x, const OverlapTap* taps, index_t count, const OverlapWindows& w)
      : x_(x), taps_(taps), count_(kRows > 0 ? kRows : count), w_(w) {
    for (int r = 0; r < kRows; ++r) {
      row_[r] = reinterpret_cast<const T*>(x + taps[r].offset);
      for (int t = 0; t < kK; ++t) code_[r * kK + t] = hn::Set(DI(), static_cast<Code>(taps[r].code + t));
    }
  }

  // Adds to `seen` all inputs: a NaN, if there is one, or both infinities, makes it a NaN.
  HWY_INLINE void run(const Edge& left, const Edge& right, Code* code, V& seen) {
    seen_ = seen;
    const index_t last = HWY_MAX(index_t{0}, w_.out - kLanes);
    for (index_t o = 0;; o = HWY_MIN(o + kLanes, last)) {
      const index_t begin = w_.first + o * kS;
      if (o == 0 && left.needed) {
        hn::StoreU(choose<true>(begin, left), DI(), code + o);
      } else if (o == last && right.needed) {
        hn::StoreU(choose<true>(begin, right), DI(), code + o);
      } else if (begin < 0 || begin + (kLanes - 1) * kS + kK > w_.in) {
        hn::StoreU(choose<true>(begin, Edge(w_, o)), DI(), code + o);  // a border as wide as a vector
      } else {
        hn::StoreU(choose<false>(begin, left), DI(), code + o);
      }
      if (o == last) break;
    }
    seen = seen_;
  }

 private:
  HWY_INLINE const T* row(index_t r) const {
    if constexpr (kRows > 0) return row_[r];
    return reinterpret_cast<const T*>(x_ + taps_[r].offset);
  }
  // The code of tap t of row r.
  HWY_INLINE VI code(index_t r, int t) const {
    if constexpr (kRows > 0) return code_[r * kK + t];
    return hn::Set(DI(), static_cast<Code>(taps_[r].code + t));
  }

  template <bool kBorder>
  HWY_INLINE VI choose(index_t begin, const Edge& edge) {
    V taps[kK];
    load<kBorder>(row(0), begin, edge, taps);
    prefetch(begin);
    V best = taps[0];
    VI chosen = code(0, 0);
    if constexpr (kBorder) chosen = hn::Add(chosen, edge.missing);
    for (int t = 1; t < kK; ++t) take(taps[t], code(0, t), best, chosen);
    for (index_t r = 1; r < count_; ++r) {
      load<kBorder>(row(r), begin, edge, taps);
      for (int t = 0; t < kK; ++t) take(taps[t], code(r, t), best, chosen);
    }
    if constexpr (kBorder) chosen = hn::IfThenElse(edge.windows, chosen, hn::Set(DI(), Code{-1}));
    return chosen;
  }

  // The hardware does not follow rows that are short and several at a time.
  HWY_INLINE void prefetch(index_t begin) const {
    constexpr index_t kAhead = 4096, kLine = 64;
    const char* soon = reinterpret_cast<const char*>(row(count_ - 1)) + begin * index_t{sizeof(T)} + kAhead;
    for (index_t i = 0; i < kS * kLanes * index_t{sizeof(T)}; i += kLine) __builtin_prefetch(soon + i);
    if constexpr (kS > 1) {
      const char* other = reinterpret_cast<const char*>(row(0)) + begin * index_t{sizeof(T)} + kAhead;
      for (index_t i = 0; i < kS * kLanes * index_t{sizeof(T)}; i += kLine) __builtin_prefetch(other + i);
    }
  }

  static HWY_INLINE void take(V v, VI code, V& best, VI& chosen) {
    const auto better = hn::RebindMask(DI(), kMin ? hn::Lt(v, best) : hn::Gt(v, best));
    best = kMin ? hn::Min(v, best) : hn::Max(v, best);
    chosen = hn::IfThenElse(better, code, chosen);
  }

  template <bool kBorder>
  HWY_INLINE void load(const T* x, index_t begin, const Edge& edge, V* taps) {
    const D d;
    constexpr int kVectors = kLoads<kK, kS>;
    V v[kVectors];
    for (int l = 0; l < kVectors; ++l) {
      const T* from = x + place<kK, kS>(begin, l, kLanes);
      if constexpr (kBorder) {
        constexpr T kWorst = kMin ? highest_value<T>() : lowest_value<T>();
        v[l] = hn::IfThenElse(edge.there[l], hn::MaskedLoad(edge.there[l], d, from), hn::Set(d, kWorst));
      } else {
        v[l] = hn::LoadU(d, from);
      }
      // Others hold the same elements, all but one.
      if (kS == 1 ? l == 0 || l == kVectors - 1 : l < 2 || l == kVectors - 1) seen_ = hn::Add(seen_, v[l]);
    }
    for (int t = 0; t < kK; ++t) {
      if constexpr (kS == 1) {
        taps[t] = v[t];
      } else {
        const V low = v[t / 2 * 2], high = v[t / 2 * 2 + 1];
        taps[t] = t % 2 == 0 && t < kK - 1 ? hn::ConcatEven(d, high, low) : hn::ConcatOdd(d, high, low);
      }
    }
  }

  const std::byte* x_;
  const OverlapTap* taps_;
  const index_t count_;
  const OverlapWindows& w_;
  V seen_;
  const T* row_[kRows + 1];
  VI code_[kRows * kK + 1];
};

template <class T, bool kMin, int kK, int kS>
HWY_INLINE bool choose_of(const std::byte* x, const OverlapList<OverlapTap>& taps, const OverlapWindows& w,
                          const OverlapRows& rows) {
  const hn::ScalableTag<T> d;
  using Code = hn::TFromD<hn::RebindToSigned<decltype(d)>>;
  auto seen = hn::Zero(d);
  using Edge = Border<T, kK, kS>;
  const Edge left(w, 0), right(w, HWY_MAX(index_t{0}, w.out - static_cast<index_t>(hn::Lanes(d))));
  for (index_t r = 0; r < taps.rows; ++r) {
    const OverlapTap* first = taps.all + taps.begin[r];
    const index_t count = taps.begin[r + 1] - taps.begin[r];
    Code* code = reinterpret_cast<Code*>(rows.code + r * rows.pitch);
    if (count == kK) {
      Choice<T, kMin, kK, kS, kK>(x, first, count, w).run(left, right, code, seen);
    } else {
      Choice<T, kMin, kK, kS, 0>(x, first, count, w).run(left, right, code, seen);
    }
  }
  return hn::AllFalse(d, hn::IsNaN(seen));
}

template <class T, bool kMin>
bool choose(const std::byte* x, const OverlapList<OverlapTap>& taps, const OverlapWindows& w, const OverlapRows& rows) {
  if (w.stride == 2 && w.kernel == 4) return choose_of<T, kMin, 4, 2>(x, taps, w, rows);
  if (w.stride == 2) return choose_of<T, kMin, 3, 2>(x, taps, w, rows);
  if (w.kernel == 2) return choose_of<T, kMin, 2, 1>(x, taps, w, rows);
  if (w.kernel == 3) return choose_of<T, kMin, 3, 1>(x, taps, w, rows);
  return choose_of<T, kMin, 5, 1>(x, taps, w, rows);
}

// A row of inputs in groups of kS vectors; input i is tap (i - first) % kS, and every kS-th one after it. kPhase is
// -first % kS, kReaders their number or 0 for any.
template <class T, int kK, int kS, int kPhase, int kReaders>
class Gathering {
  using D = hn::ScalableTag<T>;
  using DI = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  using Code = hn::TFromD<DI>;
  static constexpr index_t kLanes = hn::MaxLanes(D());
  // The outputs that tap kK - 1 and tap 0 of phase q read lie so far from the element of the phase.
  static constexpr int phase(int t) { return ((t - kPhase) % kS + kS) % kS; }
  static constexpr int ahead(int t) { return (phase(t) + kPhase - t) / kS; }
  // Most loads of 64 bytes span two lines: each vector is loaded once, and what lies between two of them is shifted.
  static constexpr bool kShifts = ORIEL_AVX512 && kReaders > 0;
  static constexpr int kFirst = kShifts ? HWY_MIN(ahead(kK - 1), ahead(kK - 2)) : 0;

 public:
  HWY_INLINE Gathering(const OverlapRows& rows, const OverlapReader* readers, index_t count, const OverlapWindows& w)
      : rows_(rows), readers_(readers), count_(count), w_(w), begin_(-w.first / kS) {
    for (int r = 0; r < kReaders; ++r) {
      code_[r] = code_of(readers[r]);
      dy_[r] = dy_of(readers[r]);
      for (int t = 0; t < kK; ++t) tap_[r * kK + t] = hn::Set(DI(), static_cast<Code>(readers[r].code + t));
    }
  }

  HWY_INLINE void run(bool stream, T* dx) {
    const D d;
    index_t i = 0;
    if constexpr (kShifts) {
      first_.start(code_[0] + kFirst, dy_[0] + kFirst);
      if constexpr (kReaders > 1) second_.start(code_[1] + kFirst, dy_[1] + kFirst);
      if constexpr (kReaders > 2) third_.start(code_[2] + kFirst, dy_[2] + kFirst);
    }
    for (; i + kS * kLanes <= w_.in; i += kS * kLanes) {
      V out[kS];
      sum(i / kS, out);
      for (int s = 0; s < kS; ++s) {
        if (stream) {
          hn::Stream(out[s], d, dx + i + s * kLanes);
        } else {
          hn::StoreU(out[s], d, dx + i + s * kLanes);
        }
      }
    }
    if (i == w_.in) return;
    V out[kS];
    sum(i / kS, out);
    for (int s = 0; s < kS && i < w_.in; ++s, i += kLanes) {
      if (i + kLanes > w_.in) {
        hn::BlendedStore(out[s], hn::FirstN(d, static_cast<std::size_t>(w_.in - i)), d, dx + i);
      } else if (stream) {
        hn::Stream(out[s], d, dx + i);
      } else {
        hn::StoreU(out[s], d, dx + i);
      }
    }
  }

 private:
  // The group from its element m of each phase on.
  HWY_INLINE void sum(index_t m, V* out) {
    const D d;
    V v[kS];
    for (int q = 0; q < kS; ++q) v[q] = hn::Zero(d);
    if constexpr (kShifts) {
      advance(first_, 0, m, v);
      if constexpr (kReaders > 1) advance(second_, 1, m, v);
      if constexpr (kReaders > 2) advance(third_, 2, m, v);
    } else if constexpr (kReaders > 0) {
      for (int r = 0; r < kReaders; ++r) add_reader(code_[r] + m, dy_[r] + m, tap_ + r * kK, v);
    } else {
      for (index_t r = 0; r < count_; ++r) {
        VI tap[kK];
        for (int t = 0; t < kK; ++t) tap[t] = hn::Set(DI(), static_cast<Code>(readers_[r].code + t));
        add_reader(code_of(readers_[r]) + m, dy_of(readers_[r]) + m, tap, v);
      }
    }
    weave<kS>(d, v, out);
  }

  // What is at hand of a reader. Not in arrays: compilers leave those that loops change in memory.
  struct Now {
    HWY_INLINE void start(const Code* c, const T* g) {
      code = hn::LoadU(DI(), c);
      dy = hn::LoadU(D(), g);
    }
    VI code;
    V dy;
  };

  HWY_INLINE void advance(Now& now, int r, index_t m, V* v) const {
    const VI code_next = hn::LoadU(DI(), code_[r] + m + kFirst + kLanes);
    const V dy_next = hn::LoadU(D(), dy_[r] + m + kFirst + kLanes);
    for (int t = kK - 1; t >= 0; --t) {  // outputs ascend
      const VI code = between(DI(), now.code, code_next, ahead(t) - kFirst);
      const V dy = between(D(), now.dy, dy_next, ahead(t) - kFirst);
      v[phase(t)] = add(v[phase(t)], code, tap_[r * kK + t], dy);
    }
    now.code = code_next;
    now.dy = dy_next;
  }

  static HWY_INLINE void add_reader(const Code* code, const T* dy, const VI* tap, V* v) {
    for (int t = kK - 1; t >= 0; --t) {  // outputs ascend
      const index_t o = ahead(t);
      v[phase(t)] = add(v[phase(t)], hn::LoadU(DI(), code + o), tap[t], hn::LoadU(D(), dy + o));
    }
  }

  static HWY_INLINE V add(V sum, VI code, VI tap, V dy) {
    return hn::IfThenElse(hn::RebindMask(D(), hn::Eq(code, tap)), hn::Add(sum, dy), sum);
  }

  // The vector that begins at lane `by` of a and goes on in b.
  template <class DV>
  static HWY_INLINE hn::Vec<DV> between(DV d, hn::Vec<DV> a, hn::Vec<DV> b, int by) {
#if ORIEL_AVX512
    const hn::RebindToUnsigned<DV> du;
    return by == 0 ? a : two_tables(d, a, hn::Iota(du, static_cast<hn::TFromD<decltype(du)>>(by)), b);
#else
    (void)d, (void)b, (void)by;
    return a;
#endif
  }

  const Code* code_of(const OverlapReader& r) const {
    return reinterpret_cast<const Code*>(rows_.code + r.row * rows_.pitch) + begin_;
  }
  const T* dy_of(const OverlapReader& r) const { return reinterpret_cast<const T*>(rows_.dy[r.row]) + begin_; }

  const OverlapRows& rows_;
  const OverlapReader* readers_;
  const index_t count_;
  const OverlapWindows& w_;
  const index_t begin_;  // the output whose tap kPhase is input 0
  // Of few readers, from that output on; stores do not make them be loaded again:
  const Code* code_[kReaders + 1];
  const T* dy_[kReaders + 1];
  VI tap_[kReaders * kK + 1];
  Now first_, second_, third_;
};

template <class T, int kK, int kS, int kPhase>
HWY_INLINE void gather_of(const OverlapRows& rows, const OverlapList<OverlapReader>& readers, const OverlapWindows& w,
                          bool stream, std::byte* out, const index_t* offsets) {
  constexpr index_t kLine = 64;
  for (index_t r = 0; r < readers.rows; ++r) {
    const OverlapReader* first = readers.all + readers.begin[r];
    const index_t count = readers.begin[r + 1] - readers.begin[r];
    T* dx = reinterpret_cast<T*>(out + offsets[r]);
    const bool past = stream && w.in * static_cast<index_t>(sizeof(T)) % kLine == 0 &&
                      reinterpret_cast<std::uintptr_t>(dx) % kLine == 0;
    switch (count) {
      case 1:
        Gathering<T, kK, kS, kPhase, 1>(rows, first, count, w).run(past, dx);
        break;
      case 2:
        Gathering<T, kK, kS, kPhase, 2>(rows, first, count, w).run(past, dx);
        break;
      case 3:
        Gathering<T, kK, kS, kPhase, 3>(rows, first, count, w).run(past, dx);
        break;
      default:
        Gathering<T, kK, kS, kPhase, 0>(rows, first, count, w).run(past, dx);
    }
  }
}

template <class T>
void gather(const OverlapRows& rows, const OverlapList<OverlapReader>& readers, const OverlapWindows& w, bool stream,
            std::byte* dx, const index_t* offsets) {
  if (w.stride == 2) {
    const bool even = w.first % 2 == 0;
    if (w.kernel == 4 && even) return gather_of<T, 4, 2, 0>(rows, readers, w, stream, dx, offsets);
    if (w.kernel == 4) return gather_of<T, 4, 2, 1>(rows, readers, w, stream, dx, offsets);
    if (even) return gather_of<T, 3, 2, 0>(rows, readers, w, stream, dx, offsets);
    return gather_of<T, 3, 2, 1>(rows, readers, w, stream, dx, offsets);
  }
  if (w.kernel == 2) return gather_of<T, 2, 1, 0>(rows, readers, w, stream, dx, offsets);
  if (w.kernel == 3) return gather_of<T, 3, 1, 0>(rows, readers, w, stream, dx, offsets);
  gather_of<T, 5, 1, 0>(rows, readers, w, stream, dx, offsets);
}

template <class T>
OverlapKernels kernels_of(Op op) {
  OverlapKernels k;
  k.choose = op == Op::min ? &choose<T, true> : &choose<T, false>;
  k.gather = &gather<T>;
  k.reach = 2 * static_cast<index_t>(hn::Lanes(hn::ScalableTag<T>())) + 8;
  return k;
}

OverlapKernels overlap(Op op, Dtype dtype) {
  if (op != Op::max && op != Op::min) return {};
  if (dtype == Dtype::f64) return kernels_of<double>(op);
  return dtype == Dtype::f32 ? kernels_of<float>(op) : OverlapKernels{};
}

#else

OverlapKernels overlap(Op, Dtype) { return {}; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {
HWY_EXPORT(overlap);
}
const OverlapTable& overlap_table() {
  static const PerTarget<OverlapTable> tables{
      [](OverlapTable& table, std::size_t which) { table.kernels = HWY_DISPATCH_TABLE(overlap)[which]; }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
