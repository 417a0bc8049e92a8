// Maxima and minima of rows of windows over positions of many lanes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/channels/channel_rows_extremum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/channels/channel_rows-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Of other types "columns" folds rows into accumulators.
template <class R>
LaneRowKernel lane_extremum_of([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  switch (dtype) {
    case Dtype::f32:
      return lane_row_kernel<PlainFold<R, float>>();
    case Dtype::f64:
      return lane_row_kernel<PlainFold<R, double>>();
    case Dtype::f16:
      return lane_row_kernel<KeyFold<R>>(kHalfInfinity);
    case Dtype::bf16:
      return lane_row_kernel<KeyFold<R>>(kBfloat16Infinity);
    case Dtype::u8:
      return lane_row_kernel<PlainFold<R, std::uint8_t>>();
    case Dtype::i8:
      return lane_row_kernel<PlainFold<R, std::int8_t>>();
    case Dtype::i16:
      return lane_row_kernel<PlainFold<R, std::int16_t>>();
    case Dtype::i32:
      return lane_row_kernel<PlainFold<R, std::int32_t>>();
    default:
      return {};
  }
#else
  return {};
#endif
}

LaneRowKernel lane_max(Dtype dtype) { return lane_extremum_of<Max>(dtype); }
LaneRowKernel lane_min(Dtype dtype) { return lane_extremum_of<Min>(dtype); }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(lane_max);
HWY_EXPORT(lane_min);
}  // namespace
void fill_lane_rows_extremum(LaneRowTable& table, std::size_t which) {
  table.max = HWY_DISPATCH_TABLE(lane_max)[which];
  table.min = HWY_DISPATCH_TABLE(lane_min)[which];
}
}  // namespace oriel::cpu
#endif
