// Sums and averages of small planes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/masked/masked_sum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/sums-inl.h"
#include "cpu/masked/masked-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

StackKernel stack_sum([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  switch (dtype) {
    case Dtype::f32:
      return stack_kernel<PlainFold<Sum, float>>();
    case Dtype::f64:
      return stack_kernel<PlainFold<Sum, double>>();
    case Dtype::f16:
      return stack_kernel<HalfSum<F16Bits>>();
    case Dtype::bf16:
      return stack_kernel<HalfSum<Bf16Bits>>();
    case Dtype::u8:
      return stack_kernel<NarrowSum<std::uint8_t>>();
    case Dtype::i8:
      return stack_kernel<NarrowSum<std::int8_t>>();
    default:
      break;
  }
#endif
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(stack_sum);
}
void fill_stack_sum(StackTable& table, std::size_t which) { table.sum = HWY_DISPATCH_TABLE(stack_sum)[which]; }
}  // namespace oriel::cpu
#endif
