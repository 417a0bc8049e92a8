// Sums and averages of rows of windows over positions of many lanes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/channels/channel_rows_sum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/channels/channel_rows-inl.h"
#include "cpu/element/sums-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

LaneRowKernel lane_sum([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  switch (dtype) {
    case Dtype::f32:
      return lane_row_kernel<PlainFold<Sum, float>>();
    case Dtype::f64:
      return lane_row_kernel<PlainFold<Sum, double>>();
    case Dtype::f16:
      return lane_row_kernel<HalfSum<F16Bits>>();
    case Dtype::bf16:
      return lane_row_kernel<HalfSum<Bf16Bits>>();
    case Dtype::u8:
      return lane_row_kernel<NarrowSum<std::uint8_t>>();
    case Dtype::i8:
      return lane_row_kernel<NarrowSum<std::int8_t>>();
    case Dtype::u16:
      return lane_row_kernel<NarrowSum<std::uint16_t>>();
    case Dtype::i16:
      return lane_row_kernel<NarrowSum<std::int16_t>>();
    default:
      return {};
  }
#else
  return {};
#endif
}

LaneRowKernel lane_bytes([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  if (dtype == Dtype::u8) return lane_row_kernel<ByteSum<std::uint8_t>>();
  if (dtype == Dtype::i8) return lane_row_kernel<ByteSum<std::int8_t>>();
#endif
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(lane_bytes);
HWY_EXPORT(lane_sum);
}  // namespace
void fill_lane_rows_sum(LaneRowTable& table, std::size_t which) {
  table.bytes = HWY_DISPATCH_TABLE(lane_bytes)[which];
  table.sum = HWY_DISPATCH_TABLE(lane_sum)[which];
}
}  // namespace oriel::cpu
#endif
