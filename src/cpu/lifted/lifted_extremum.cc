// max and min of elements where they lie, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/lifted/lifted_extremum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/lifted/lifted_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

template <class R>
ElementKernels extremum_elements_of(Dtype dtype) {
  return visit(dtype, []<class X>() -> ElementKernels {
    if constexpr (std::is_same_v<X, half> || std::is_same_v<X, bfloat16>)
      return element_kernels<R, OrderKey, X, std::int16_t, true>();
    else if constexpr (std::is_same_v<X, bool8>)
      return element_kernels<R, AsIs, std::uint8_t, std::uint8_t>();
    else
      return element_kernels<R, AsIs, X, X, is_floating_v<X>>();
  });
}

ElementKernels extremum_elements(Op op, Dtype dtype) {
  return op == Op::min ? extremum_elements_of<Min>(dtype) : extremum_elements_of<Max>(dtype);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(extremum_elements);
}
void fill_extremum_elements(ElementTable& table, std::size_t which) {
  table.extremum = HWY_DISPATCH_TABLE(extremum_elements)[which];
}
}  // namespace oriel::cpu
#endif
