// Minima of planes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/planes/plane_min.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/planes/plane_extremum-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

PlaneKernel plane_min([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  return extremum_of<Min>(dtype);
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
HWY_EXPORT(plane_min);
}
void fill_plane_min(PlaneTable& table, std::size_t which) { table.min = HWY_DISPATCH_TABLE(plane_min)[which]; }
}  // namespace oriel::cpu
#endif
