// Maxima and minima of small planes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/masked/masked_extremum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/masked/masked-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

#if ORIEL_PLANES
template <class R>
StackKernel stack_extremum_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return stack_kernel<PlainFold<R, float>>();
    case Dtype::f64:
      return stack_kernel<PlainFold<R, double>>();
    case Dtype::f16:
      return stack_kernel<KeyFold<R>>(kHalfInfinity);
    case Dtype::bf16:
      return stack_kernel<KeyFold<R>>(kBfloat16Infinity);
    case Dtype::u8:
      return stack_kernel<PlainFold<R, std::uint8_t>>();
    case Dtype::i8:
      return stack_kernel<PlainFold<R, std::int8_t>>();
    default:
      return {};
  }
}
#endif

StackKernel stack_extremum([[maybe_unused]] Op op, [[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  return op == Op::max ? stack_extremum_of<Max>(dtype) : stack_extremum_of<Min>(dtype);
#else
  return {};
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(stack_extremum);
}
void fill_stack_extremum(StackTable& table, std::size_t which) {
  table.extremum = HWY_DISPATCH_TABLE(stack_extremum)[which];
}
}  // namespace oriel::cpu
#endif
