// The extrema of planes by element type. Included once per target.
#if defined(ORIEL_CPU_PLANES_PLANE_EXTREMUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANES_PLANE_EXTREMUM_INL_H
#undef ORIEL_CPU_PLANES_PLANE_EXTREMUM_INL_H
#else
#define ORIEL_CPU_PLANES_PLANE_EXTREMUM_INL_H
#endif

#include "cpu/planes/plane-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

template <class R>
PlaneKernel extremum_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return plane_kernel<PlainFold<R, float>>();
    case Dtype::f64:
      return plane_kernel<PlainFold<R, double>>();
    case Dtype::f16:
      return plane_kernel<KeyFold<R>>(kHalfInfinity);
    case Dtype::bf16:
      return plane_kernel<KeyFold<R>>(kBfloat16Infinity);
    case Dtype::u8:
      return plane_kernel<PlainFold<R, std::uint8_t>>();
    case Dtype::boolean:
      return plane_kernel<BoolFold<R>>();
    case Dtype::i8:
      return plane_kernel<PlainFold<R, std::int8_t>>();
    case Dtype::u16:
      return plane_kernel<PlainFold<R, std::uint16_t>>();
    case Dtype::i16:
      return plane_kernel<PlainFold<R, std::int16_t>>();
    case Dtype::u32:
      return plane_kernel<PlainFold<R, std::uint32_t>>();
    case Dtype::i32:
      return plane_kernel<PlainFold<R, std::int32_t>>();
    case Dtype::u64:
      return plane_kernel<PlainFold<R, std::uint64_t>>();
    case Dtype::i64:
      return plane_kernel<PlainFold<R, std::int64_t>>();
  }
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
