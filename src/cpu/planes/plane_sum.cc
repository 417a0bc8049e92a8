// Sums, averages and norms of planes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/planes/plane_sum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/planes/plane-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

struct LiftAbsolute {
  template <class D, class V>
  static HWY_INLINE V of(D, V v) {
    return hn::Abs(v);
  }
};
struct LiftSquare {
  template <class D, class V>
  static HWY_INLINE V of(D, V v) {
    return hn::Mul(v, v);
  }
};

template <class T>
PlaneKernel sum_of(Lift lift) {
  if (lift == Lift::absolute) return plane_kernel<PlainFold<Sum, T, LiftAbsolute>>();
  if (lift == Lift::square) return plane_kernel<PlainFold<Sum, T, LiftSquare>>();
  return plane_kernel<PlainFold<Sum, T, LiftNone>>();
}

PlaneKernel plane_sum([[maybe_unused]] Lift lift, [[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  if (dtype == Dtype::f32) return sum_of<float>(lift);
  if (dtype == Dtype::f64) return sum_of<double>(lift);
#endif
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(plane_sum);
}
void fill_plane_sum(PlaneTable& table, std::size_t which) { table.sum = HWY_DISPATCH_TABLE(plane_sum)[which]; }
}  // namespace oriel::cpu
#endif
