// Sums and averages of planes of 8 and 16 bits, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/planes/plane_narrow.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/sums-inl.h"
#include "cpu/planes/plane-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

PlaneKernel plane_narrow([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  switch (dtype) {
    case Dtype::u8:
      return plane_kernel<NarrowSum<std::uint8_t>>();
    case Dtype::i8:
      return plane_kernel<NarrowSum<std::int8_t>>();
    case Dtype::u16:
      return plane_kernel<NarrowSum<std::uint16_t>>();
    case Dtype::i16:
      return plane_kernel<NarrowSum<std::int16_t>>();
    case Dtype::i32:
      return plane_kernel<WideSum>();
    case Dtype::f16:
      return plane_kernel<HalfSum<F16Bits>>();
    case Dtype::bf16:
      return plane_kernel<HalfSum<Bf16Bits>>();
    default:
      return {};
  }
#else
  return {};
#endif
}

PlaneKernel plane_bytes([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  if (dtype == Dtype::u8) return plane_kernel<ByteSum<std::uint8_t>>();
  if (dtype == Dtype::i8) return plane_kernel<ByteSum<std::int8_t>>();
#endif
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(plane_bytes);
HWY_EXPORT(plane_narrow);
}  // namespace
void fill_plane_narrow(PlaneTable& table, std::size_t which) {
  table.bytes = HWY_DISPATCH_TABLE(plane_bytes)[which];
  table.narrow = HWY_DISPATCH_TABLE(plane_narrow)[which];
}
}  // namespace oriel::cpu
#endif
