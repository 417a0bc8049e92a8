// Sums in the accumulator types, per instruction set, and sums that count left-out NaN beside them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/recipe/fold_sum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/fold-inl.h"
#include "cpu/recipe/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

FoldKernels sum(Lane lane) {
  switch (lane) {
    case Lane::i32:
      return fold_kernels<Sum, std::int32_t>();
    case Lane::i64:
      return fold_kernels<Sum, std::int64_t>();
    case Lane::f32:
      return fold_kernels<Sum, float>();
    case Lane::f64:
      return fold_kernels<Sum, double>();
    default:
      return {};
  }
}

// Runs a fold on the values, then on the extra values as a row of their own.
template <FoldRows kValues, FoldRows kExtras>
void fold_both(const RowIn* rows, int count, index_t n, RowOut out) {
  kValues(rows, count, n, out);
  constexpr int kBatch = 64;  // popcount of a 63-bit window size, or kMaxFold
  RowIn extras[kBatch];
  for (int t = 0; t < count; ++t) extras[t] = {rows[t].extra, nullptr, 0};
  kExtras(extras, count, n, {out.extra, nullptr});
}

template <class T, class Count>
void fold_windows_of_both(RowIn row, int kernel, index_t n, RowOut out, bool slack) {
  fold_windows<Sum, T>(row, kernel, n, out, slack);
  fold_windows<Sum, Count>({row.extra, nullptr, 0}, kernel, n, {out.extra, nullptr}, slack);
}

template <class T, class Count>
FoldKernels missing_sum_of() {
  return {&fold_both<&fold_rows<Sum, T>, &fold_rows<Sum, Count>>,
          &fold_both<&fold_left<Sum, T>, &fold_left<Sum, Count>>, &fold_windows_of_both<T, Count>};
}

FoldKernels missing_sum(Lane lane) {
  return lane == Lane::f64 ? missing_sum_of<double, std::int64_t>() : missing_sum_of<float, std::int32_t>();
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(sum);
HWY_EXPORT(missing_sum);
}  // namespace
void fill_sum(KernelTable& table, std::size_t which) {
  table.sum = HWY_DISPATCH_TABLE(sum)[which];
  table.missing_sum = HWY_DISPATCH_TABLE(missing_sum)[which];
}
}  // namespace oriel::cpu
#endif
