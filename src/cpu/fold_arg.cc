// The maximum together with its tap code, exact for NaN (S3: the last one wins) and ties (S4: the first tap wins).
// Minima come here with their order reversed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fold_arg.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/fold-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Candidates are compared by (value, code), which is associative and commutative: any order of folds gives one answer.
struct ArgMax {
  template <class D, class DI, class V, class VI>
  static HWY_INLINE void combine(D d, DI di, V& a, VI& code_a, V b, VI code_b) {
    const auto earlier = hn::RebindMask(d, hn::Lt(code_b, code_a));
    auto take = hn::Or(hn::Gt(b, a), hn::And(hn::Eq(a, b), earlier));
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const auto later = hn::RebindMask(d, hn::Gt(code_b, code_a));
      take = hn::Or(take, hn::And(hn::IsNaN(b), hn::Or(hn::Not(hn::IsNaN(a)), later)));
    }
    a = hn::IfThenElse(take, b, a);
    code_a = hn::IfThenElse(hn::RebindMask(di, take), code_b, code_a);
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
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  for (; i + lanes <= n; i += lanes) fold_arg_at(d, rows, count, i, out);
  if (i < n && n >= lanes) return fold_arg_at(d, rows, count, n - lanes, out);
  const hn::CappedTag<T, 1> d1;
  for (; i < n; ++i) fold_arg_at(d1, rows, count, i, out);
}

FoldKernels arg_max(Lane lane) {
  switch (lane) {
    case Lane::i32:
      return {&fold_arg<std::int32_t>, &fold_arg<std::int32_t>, nullptr};
    case Lane::i64:
      return {&fold_arg<std::int64_t>, &fold_arg<std::int64_t>, nullptr};
    case Lane::f32:
      return {&fold_arg<float>, &fold_arg<float>, nullptr};
    case Lane::f64:
      return {&fold_arg<double>, &fold_arg<double>, nullptr};
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
