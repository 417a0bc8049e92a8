// Sums of elements where they lie, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/lifted/lifted_sum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/lifted/lifted_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

template <class X>
ElementKernels sum_elements_of(Lift lift, Lane to) {
  if constexpr (is_floating_v<X>) {
    using A = accumulator_t<X>;
    if (lift == Lift::absolute) return element_kernels<Sum, Magnitude, X, A>();
    if (lift == Lift::square) return element_kernels<Sum, Squared, X, A>();
    return element_kernels<Sum, AsIs, X, A>();
  } else if constexpr (sizeof(X) < 4) {
    if (lift == Lift::widen && to == Lane::i32) return element_kernels<Sum, AsIs, X, std::int32_t>();
  } else if (lift == Lift::widen) {
    return element_kernels<Sum, AsIs, X, std::int64_t>();
  }
  return {};
}

ElementKernels sum_elements(Lift lift, Dtype dtype, Lane to) {
  return visit(dtype, [&]<class X>() { return sum_elements_of<X>(lift, to); });
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(sum_elements);
}
void fill_sum_elements(ElementTable& table, std::size_t which) { table.sum = HWY_DISPATCH_TABLE(sum_elements)[which]; }
}  // namespace oriel::cpu
#endif
