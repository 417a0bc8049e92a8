// Gradients of extrema from stored codes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/code_gradient/gather_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/code_gradient/gather_kernels.h"
#include "cpu/element/fold-inl.h"
#include "cpu/element/narrow-inl.h"
#include "cpu/simd/interleave-inl.h"
#include "hwy/cache_control.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using SumTag = hn::CappedTag<accumulator_t<T>, kMostCodeLanes>;
template <class D>
using CodeTag = hn::Rebind<Code, D>;

// The lanes of D whose code is the wanted one.
template <class D>
HWY_INLINE hn::Mask<D> chosen(D d, hn::Vec<CodeTag<D>> code, hn::Vec<CodeTag<D>> wanted) {
  const CodeTag<D> d8;
  const auto equal = hn::Eq(code, wanted);
#if ORIEL_AVX512
  (void)d, (void)d8;
  return hn::Mask<D>{static_cast<decltype(hn::Mask<D>().raw)>(equal.raw)};
#else
  const hn::Rebind<std::int32_t, D> d32;
  const auto all = hn::PromoteTo(d32, hn::BitCast(hn::RebindToSigned<CodeTag<D>>(), hn::VecFromMask(d8, equal)));
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::MaskFromVec(hn::BitCast(d, hn::PromoteTo(hn::RebindToSigned<D>(), all)));
  } else {
    return hn::MaskFromVec(hn::BitCast(d, all));
  }
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> permute(D d, hn::Vec<D> v, hn::Vec<CodeTag<D>> from) {
  const auto lanes = hn::PromoteTo(hn::Rebind<std::uint32_t, D>(), from);
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::PromoteTo(hn::RebindToUnsigned<D>(), lanes)));
  } else {
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes));
  }
}

// The hardware does not follow rows that are short and several at a time.
template <class T>
HWY_INLINE void prefetch(const Code* code, const T* dy) {
  constexpr index_t kAhead = 4096;  // bytes of gradients
  __builtin_prefetch(dy + kAhead / static_cast<index_t>(sizeof(T)));
  __builtin_prefetch(code + kAhead / static_cast<index_t>(sizeof(T)));
}

// The sum with the chosen gradients, loaded from g.
template <class D, class T>
HWY_INLINE hn::Vec<D> add_chosen(D d, hn::Mask<D> mask, const T* g, hn::Vec<D> sum) {
#if ORIEL_AVX512
  return hn::IfThenElse(mask, hn::Add(sum, AsIs::load(d, g)), sum);  // one instruction
#else
  return hn::Add(sum, hn::IfThenElseZero(mask, AsIs::load(d, g)));  // sums begin at 0, so none is -0
#endif
}

// Element vectors of sums, rounded.
template <class T, class D>
HWY_INLINE void store(D d, hn::Vec<D> sum, bool stream, T* dx) {
  using E = typename Loaded<T>::type;
  const hn::Rebind<E, D> de;
  const auto rounded = rounded_to<T>(d, sum);
  if (stream) {
    stream_rounded(rounded, de, reinterpret_cast<E*>(dx));
  } else {
    hn::StoreU(rounded, de, reinterpret_cast<E*>(dx));
  }
}

template <class T, class D>
HWY_INLINE hn::Vec<D> add_term(D d, const CodeTerm& term, hn::Vec<CodeTag<D>> tap, const Code* codes, const T* dy,
                               hn::Vec<D> sum) {
  const CodeTag<D> d8;
  auto code = hn::LoadU(d8, codes + term.first);
  auto gradient = AsIs::load(d, dy + term.first);
  if (term.permuted) {
    const auto from = hn::Load(d8, term.from);
    code = hn::TableLookupBytes(code, from);
    gradient = permute(d, gradient, from);
  }
  const auto mask = chosen(d, code, hn::Add(hn::Load(d8, term.tap), tap));
  return hn::IfThenElse(mask, hn::Add(sum, gradient), sum);
}

// The vectors of a row; kSingle: it has one reader, and each vector one term.
template <bool kSingle, class T>
HWY_INLINE void gather_row(const GatheredRows& all, const CodeReader* first, const CodeReader* last, const Code* codes,
                           const T* dy, bool stream, T* dx) {
  const SumTag<T> d;
  const CodeTag<decltype(d)> d8;
  const index_t* const at = all.at;
  const index_t* const begins = all.vectors.begin;
  const CodeTerm* const terms = all.vectors.all;
  const index_t vectors = all.vectors.rows;
  if constexpr (kSingle) {
    const auto tap = hn::Set(d8, static_cast<Code>(first->tap));
    codes += first->code;
    dy += first->dy;
    for (index_t v = 0; v < vectors; ++v) {
      prefetch(codes + terms[v].first, dy + terms[v].first);
      store(d, add_term(d, terms[v], tap, codes, dy, hn::Zero(d)), stream, dx + at[v]);
    }
    return;
  }
  for (index_t v = 0; v < vectors; ++v) {
    const CodeTerm* const begin = terms + begins[v];
    const CodeTerm* const end = terms + begins[v + 1];
    auto sum = hn::Zero(d);
    for (const CodeReader* r = first; r != last; ++r) {
      const auto tap = hn::Set(d8, static_cast<Code>(r->tap));
      for (const CodeTerm* t = begin; t != end; ++t) sum = add_term(d, *t, tap, codes + r->code, dy + r->dy, sum);
    }
    store(d, sum, stream, dx + at[v]);
  }
}

template <class T>
void gather_along(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) {
  const T* dy = reinterpret_cast<const T*>(plane.dy);
  for (index_t row = rows.begin; row < rows.end; ++row) {
    T* dx = reinterpret_cast<T*>(plane.dx) + all.dx[row];
    const CodeReader* first = all.readers.all + all.readers.begin[row];
    const CodeReader* last = all.readers.all + all.readers.begin[row + 1];
    if (all.single && last == first + 1) {
      gather_row<true>(all, first, last, plane.code, dy, stream, dx);
    } else {
      gather_row<false>(all, first, last, plane.code, dy, stream, dx);
    }
  }
}

// Types whose kernels know numbers of readers: others cost more time to compile than they are worth.
template <class T>
constexpr bool kUnrolls = std::is_same_v<T, float>;

// A row of inputs in groups of kS vectors. kPhase is -first % kS, kReaders the number of readers, or 0 for any.
// `spills`: the vector that holds the row's end may be stored whole, as what follows the row is written later.
template <int kK, int kS, int kPhase, int kReaders, class T>
HWY_INLINE void weave_row(const GatheredRows& all, const CodeReader* readers, index_t count, const Code* codes,
                          const T* gradients, bool spills, bool stream, T* dx) {
  const SumTag<T> d;
  const CodeTag<decltype(d)> d8;
  using E = typename Loaded<T>::type;
  const hn::Rebind<E, decltype(d)> de;
  constexpr int kLeast = woven_ahead(kK - 1, kS, kPhase), kAheads = woven_aheads(kK, kS, kPhase);
  const index_t lanes = static_cast<index_t>(hn::Lanes(d)), in = all.windows.in, begin = -all.windows.first / kS;
  const Code* code[kReaders + 1];
  const T* dy[kReaders + 1];
  hn::Vec<CodeTag<decltype(d)>> tap[kReaders * kK + 1];
  for (int r = 0; r < kReaders; ++r) {
    code[r] = codes + readers[r].code + begin;
    dy[r] = gradients + readers[r].dy + begin;
    for (int t = 0; t < kK; ++t) tap[r * kK + t] = hn::Set(d8, static_cast<Code>(readers[r].tap + t));
  }
  const Code* never = all.never;
  for (index_t m = 0; m * kS < in; m += lanes) {
    hn::Vec<CodeTag<decltype(d)>> no[kAheads];
    for (int a = 0; a < kAheads; ++a, never += kMostCodeLanes) no[a] = hn::Load(d8, never);
    hn::Vec<decltype(d)> sum[kS], out[kS];
    for (int q = 0; q < kS; ++q) sum[q] = hn::Zero(d);
    const auto add = [&](int t, const Code* c, const T* g, hn::Vec<CodeTag<decltype(d)>> wanted) HWY_ATTR {
      const int q = woven_phase(t, kS, kPhase), ahead = woven_ahead(t, kS, kPhase);
      const auto mask = chosen(d, hn::LoadU(d8, c + m + ahead), hn::Or(wanted, no[ahead - kLeast]));
      sum[q] = add_chosen(d, mask, g + m + ahead, sum[q]);
    };
    for (int r = 0; r < kReaders; ++r) {
      for (int t = kK - 1; t >= 0; --t) add(t, code[r], dy[r], tap[r * kK + t]);  // outputs ascend
    }
    for (index_t r = 0; kReaders == 0 && r < count; ++r) {
      for (int t = kK - 1; t >= 0; --t) {
        add(t, codes + readers[r].code + begin, gradients + readers[r].dy + begin,
            hn::Set(d8, static_cast<Code>(readers[r].tap + t)));
      }
    }
    const CodeReader& last = readers[HWY_MAX(count, index_t{1}) - 1];
    prefetch(codes + last.code + begin + m, gradients + last.dy + begin + m);
    weave<kS>(d, sum, out);
    for (int s = 0; s < kS; ++s) {
      const index_t i = m * kS + s * lanes;
      if (i + lanes <= in || (spills && i < in)) {
        store(d, out[s], stream, dx + i);
      } else if (i < in) {
        const auto some = hn::FirstN(de, static_cast<std::size_t>(in - i));
        hn::BlendedStore(rounded_to<T>(d, out[s]), some, de, reinterpret_cast<E*>(dx + i));
      }
    }
  }
}

#if ORIEL_AVX2  // which load and store some lanes alone

template <int kK, int kS, int kPhase, class T>
HWY_INLINE void weave_rows(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) {
  const T* dy = reinterpret_cast<const T*>(plane.dy);
  for (index_t row = rows.begin; row < rows.end; ++row) {
    T* dx = reinterpret_cast<T*>(plane.dx) + all.dx[row];
    const CodeReader* readers = all.readers.all + all.readers.begin[row];
    const index_t count = all.readers.begin[row + 1] - all.readers.begin[row];
    const bool spills = row + 1 < rows.end && all.dx[row + 1] == all.dx[row] + all.windows.in;
    switch (kUnrolls<T> ? count : 0) {
      case 1:
        weave_row<kK, kS, kPhase, kUnrolls<T> ? 1 : 0>(all, readers, count, plane.code, dy, spills, stream, dx);
        break;
      case 2:
        weave_row<kK, kS, kPhase, kUnrolls<T> ? 2 : 0>(all, readers, count, plane.code, dy, spills, stream, dx);
        break;
      case 3:
        weave_row<kK, kS, kPhase, kUnrolls<T> ? 3 : 0>(all, readers, count, plane.code, dy, spills, stream, dx);
        break;
      default:
        weave_row<kK, kS, kPhase, 0>(all, readers, count, plane.code, dy, spills, stream, dx);
    }
  }
}

template <class T>
void gather_woven(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) {
  const OverlapWindows& w = all.windows;
  if (w.stride == 2) {
    const bool even = w.first % 2 == 0;
    if (w.kernel == 2 && even) return weave_rows<2, 2, 0, T>(all, rows, plane, stream);
    if (w.kernel == 2) return weave_rows<2, 2, 1, T>(all, rows, plane, stream);
    if (w.kernel == 4 && even) return weave_rows<4, 2, 0, T>(all, rows, plane, stream);
    if (w.kernel == 4) return weave_rows<4, 2, 1, T>(all, rows, plane, stream);
    if (even) return weave_rows<3, 2, 0, T>(all, rows, plane, stream);
    return weave_rows<3, 2, 1, T>(all, rows, plane, stream);
  }
  if (w.kernel == 2) return weave_rows<2, 1, 0, T>(all, rows, plane, stream);
  if (w.kernel == 3) return weave_rows<3, 1, 0, T>(all, rows, plane, stream);
  weave_rows<5, 1, 0, T>(all, rows, plane, stream);
}

#endif

// Who reads a position's channels.
template <class T>
struct LaneTerms {
  const Code* code[kMostGatheredTaps];
  const T* dy[kMostGatheredTaps];
  Code tap[kMostGatheredTaps];
  int count = 0;
};

template <class T>
HWY_INLINE void sum_any(const LaneTerms<T>& terms, index_t lanes, bool stream, T* dx) {
  const SumTag<T> d;
  const CodeTag<decltype(d)> d8;
  cover_by(d, lanes, [&](auto, index_t l) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int t = 0; t < terms.count; ++t) {
      const auto mask = chosen(d, hn::LoadU(d8, terms.code[t] + l), hn::Set(d8, terms.tap[t]));
      sum = add_chosen(d, mask, terms.dy[t] + l, sum);
    }
    store(d, sum, stream, dx + l);
  });
}

// The channels of a position that kColumns outputs of kRows rows look at.
template <int kRows, int kColumns, class T>
HWY_INLINE void sum_lanes(const CodeReader* outer, const CodeReader* inner, const Code* codes, const T* gradients,
                          index_t lanes, bool stream, T* dx) {
  const SumTag<T> d;
  const CodeTag<decltype(d)> d8;
  const Code* code[kRows * kColumns];
  const T* dy[kRows * kColumns];
  hn::Vec<CodeTag<decltype(d)>> tap[kRows * kColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int q = 0; q < kColumns; ++q) {
      code[r * kColumns + q] = codes + outer[r].code + inner[q].code;
      dy[r * kColumns + q] = gradients + outer[r].dy + inner[q].dy;
      tap[r * kColumns + q] = hn::Set(d8, static_cast<Code>(outer[r].tap + inner[q].tap));
    }
  }
  cover_by(d, lanes, [&](auto, index_t l) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int t = 0; t < kRows * kColumns; ++t) {
      const auto mask = chosen(d, hn::LoadU(d8, code[t] + l), tap[t]);
      sum = add_chosen(d, mask, dy[t] + l, sum);
    }
    prefetch(code[kRows * kColumns - 1] + l, dy[kRows * kColumns - 1] + l);
    store(d, sum, stream, dx + l);
  });
}

// The positions of a row that kRows rows look at, or any number where it is 0.
template <int kRows, class T>
HWY_INLINE void lanes_row(const GatheredRows& all, const CodeReader* outer, index_t count, const Code* codes,
                          const T* dy, bool stream, T* dx) {
  LaneTerms<T> terms;
  const index_t *const begin = all.columns.begin, columns = all.columns.rows, pitch = all.column_pitch;
  const index_t lanes = all.lanes;
  for (index_t c = 0; c < columns; ++c, dx += pitch) {
    const CodeReader* inner = all.columns.all + begin[c];
    const index_t readers = begin[c + 1] - begin[c];
    if constexpr (kRows > 0) {
      if (readers == 1) {
        sum_lanes<kRows, 1>(outer, inner, codes, dy, lanes, stream, dx);
        continue;
      }
      if (readers == 2) {
        sum_lanes<kRows, 2>(outer, inner, codes, dy, lanes, stream, dx);
        continue;
      }
      if (readers == 3) {
        sum_lanes<kRows, 3>(outer, inner, codes, dy, lanes, stream, dx);
        continue;
      }
    }
    terms.count = 0;
    for (index_t r = 0; r < count; ++r) {
      for (index_t q = 0; q < readers; ++q) {
        terms.code[terms.count] = codes + outer[r].code + inner[q].code;
        terms.dy[terms.count] = dy + outer[r].dy + inner[q].dy;
        terms.tap[terms.count++] = static_cast<Code>(outer[r].tap + inner[q].tap);
      }
    }
    sum_any(terms, lanes, stream, dx);
  }
}

template <class T>
void gather_lanes(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) {
  const T* dy = reinterpret_cast<const T*>(plane.dy);
  for (index_t row = rows.begin; row < rows.end; ++row) {
    T* dx = reinterpret_cast<T*>(plane.dx) + all.dx[row];
    const CodeReader* outer = all.readers.all + all.readers.begin[row];
    const index_t count = all.readers.begin[row + 1] - all.readers.begin[row];
    switch (kUnrolls<T> ? count : 0) {
      case 1:
        lanes_row<kUnrolls<T> ? 1 : 0>(all, outer, count, plane.code, dy, stream, dx);
        break;
      case 2:
        lanes_row<kUnrolls<T> ? 2 : 0>(all, outer, count, plane.code, dy, stream, dx);
        break;
      case 3:
        lanes_row<kUnrolls<T> ? 3 : 0>(all, outer, count, plane.code, dy, stream, dx);
        break;
      default:
        lanes_row<0>(all, outer, count, plane.code, dy, stream, dx);
    }
  }
}

template <class T>
CodeGatherKernels kernels_of() {
  CodeGatherKernels k;
#if HWY_TARGET != HWY_SCALAR
  k.gather_along = &gather_along<T>;
  k.gather_lanes = &gather_lanes<T>;
#if ORIEL_AVX2
  k.gather_woven = &gather_woven<T>;
#endif
  k.lanes = static_cast<index_t>(hn::Lanes(SumTag<T>()));
#endif
  return k;
}

CodeGatherKernels code_gather_kernels(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return kernels_of<double>();
    case Dtype::f32:
      return kernels_of<float>();
    case Dtype::f16:
      if constexpr (!kHalfInHardware) return {};
      return kernels_of<half>();
    case Dtype::bf16:
      return kernels_of<bfloat16>();
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
HWY_EXPORT(code_gather_kernels);
}
const CodeGatherTable& code_gather_table() {
  static const PerTarget<CodeGatherTable> tables{[](CodeGatherTable& table, std::size_t which) {
    table.kernels = HWY_DISPATCH_TABLE(code_gather_kernels)[which];
  }};
  return tables.active();
}
}  // namespace oriel::cpu
#endif
