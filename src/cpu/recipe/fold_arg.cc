// The maximum together with its tap code, exact for NaN (S3: the last one wins) and ties (S4: the first tap wins).
// Minima come here with their order reversed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/recipe/fold_arg.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include <cmath>
#include <type_traits>

#include "cpu/element/fold-inl.h"
#include "cpu/recipe/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Candidates are compared by (value, code), which is associative and commutative: any order of folds gives one answer.
struct ArgMax {
  template <class D, class DI, class V, class VI>
  static HWY_INLINE void combine(D d, DI di, V& a, VI& code_a, V b, VI code_b) {
    if constexpr (hn::MaxLanes(D()) == 1) return combine_one(a, code_a, b, code_b);
    const auto earlier = hn::RebindMask(d, hn::Lt(code_b, code_a));
    auto take = hn::Or(hn::Gt(b, a), hn::And(hn::Eq(a, b), earlier));
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const auto later = hn::RebindMask(d, hn::Gt(code_b, code_a));
      take = hn::Or(take, hn::And(hn::IsNaN(b), hn::Or(hn::Not(hn::IsNaN(a)), later)));
    }
    a = hn::IfThenElse(take, b, a);
    code_a = hn::IfThenElse(hn::RebindMask(di, take), code_b, code_a);
  }

  // g++ 12 for Arm makes a mask of one 64-bit integer, joined from others, 1 instead of -1.
  template <class V, class VI>
  static HWY_INLINE void combine_one(V& a, VI& code_a, V b, VI code_b) {
    const auto x = hn::GetLane(a), y = hn::GetLane(b);
    const auto code_x = hn::GetLane(code_a), code_y = hn::GetLane(code_b);
    bool take = y > x || (y == x && code_y < code_x);
    if constexpr (std::is_floating_point_v<decltype(hn::GetLane(a))>)
      take = take || (std::isnan(y) && (!std::isnan(x) || code_y > code_x));
    a = take ? b : a;
    code_a = take ? code_b : code_a;
  }
};

template <class D>
HWY_INLINE void fold_arg_at(D d, const RowIn* rows, int count, index_t i, RowOut out) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  using Code = hn::TFromD<decltype(di)>;
  auto value = hn::LoadU(d, static_cast<const T*>(rows[0].value) + i);
  auto code =
      hn::Add(hn::LoadU(di, static_cast<const Code*>(rows[0].extra) + i), hn::Set(di, static_cast<Code>(rows[0].step)));
  for (int t = 1; t < count; ++t) {
    const auto v = hn::LoadU(d, static_cast<const T*>(rows[t].value) + i);
    const auto c = hn::Add(hn::LoadU(di, static_cast<const Code*>(rows[t].extra) + i),
                           hn::Set(di, static_cast<Code>(rows[t].step)));
    ArgMax::combine(d, di, value, code, v, c);
  }
  hn::StoreU(value, d, static_cast<T*>(out.value) + i);
  hn::StoreU(code, di, static_cast<Code*>(out.extra) + i);
}

template <class T>
void fold_arg(const RowIn* rows, int count, index_t n, RowOut out) {
  cover<T>(n, [&](auto d, index_t i) HWY_ATTR { fold_arg_at(d, rows, count, i, out); });
}

// Output o of windows that step by 2; tap t is element 2 * o + t, and adds t * row.step to its code.
template <class T>
HWY_INLINE void fold_arg_window(RowIn row, int kernel, index_t o, RowOut out) {
  const hn::CappedTag<T, 1> d;
  const hn::RebindToSigned<decltype(d)> di;
  using Code = hn::TFromD<decltype(di)>;
  const T* x = static_cast<const T*>(row.value) + 2 * o;
  const Code* codes = static_cast<const Code*>(row.extra) + 2 * o;
  auto value = hn::LoadU(d, x);
  auto code = hn::LoadU(di, codes);
  for (int t = 1; t < kernel; ++t) {
    const auto c = hn::Add(hn::LoadU(di, codes + t), hn::Set(di, static_cast<Code>(t * row.step)));
    ArgMax::combine(d, di, value, code, hn::LoadU(d, x + t), c);
  }
  hn::StoreU(value, d, static_cast<T*>(out.value) + o);
  hn::StoreU(code, di, static_cast<Code*>(out.extra) + o);
}

// The same of a vector of outputs, whose even and odd taps are split on load.
template <class D>
HWY_INLINE void fold_arg_windows_at(D d, RowIn row, int kernel, index_t o, RowOut out) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  using Code = hn::TFromD<decltype(di)>;
  const T* x = static_cast<const T*>(row.value) + 2 * o;
  const Code* codes = static_cast<const Code*>(row.extra) + 2 * o;
  hn::Vec<D> value, even, odd;
  hn::Vec<decltype(di)> code, even_code, odd_code;
  hn::LoadInterleaved2(d, x, value, odd);
  hn::LoadInterleaved2(di, codes, code, odd_code);
  for (int t = 1; t < kernel; ++t) {
    if (t % 2 == 0) {
      hn::LoadInterleaved2(d, x + t, even, odd);
      hn::LoadInterleaved2(di, codes + t, even_code, odd_code);
    }
    const auto step = hn::Set(di, static_cast<Code>(t * row.step));
    ArgMax::combine(d, di, value, code, t % 2 == 0 ? even : odd, hn::Add(t % 2 == 0 ? even_code : odd_code, step));
  }
  hn::StoreU(value, d, static_cast<T*>(out.value) + o);
  hn::StoreU(code, di, static_cast<Code*>(out.extra) + o);
}

template <class T>
void fold_arg_windows(RowIn row, int kernel, index_t n, RowOut out, bool slack) {
  const index_t safe = kernel % 2 == 0 || slack ? n : n - 1;  // an odd kernel's last load reaches one element further
  cover<T>(safe, [&](auto d, index_t o) HWY_ATTR {
    if constexpr (hn::MaxLanes(decltype(d)()) > 1) {
      fold_arg_windows_at(d, row, kernel, o, out);
    } else {
      fold_arg_window<T>(row, kernel, o, out);
    }
  });
  if (safe < n) fold_arg_window<T>(row, kernel, safe, out);
}

template <class T>
FoldKernels arg_kernels() {
  return {&fold_arg<T>, &fold_arg<T>, &fold_arg_windows<T>};
}

FoldKernels arg_max(Lane lane) {
  switch (lane) {
    case Lane::i32:
      return arg_kernels<std::int32_t>();
    case Lane::i64:
      return arg_kernels<std::int64_t>();
    case Lane::f32:
      return arg_kernels<float>();
    case Lane::f64:
      return arg_kernels<double>();
    default:
      return {};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(arg_max);
}
void fill_arg(KernelTable& table, std::size_t which) { table.arg_max = HWY_DISPATCH_TABLE(arg_max)[which]; }
}  // namespace oriel::cpu
#endif
