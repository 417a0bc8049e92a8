// Maxima of planes, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/planes/plane_max.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/planes/plane_extremum-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

PlaneKernel plane_max([[maybe_unused]] Dtype dtype) {
#if ORIEL_PLANES
  return extremum_of<Max>(dtype);
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
HWY_EXPORT(plane_max);
}
void fill_plane_max(PlaneTable& table, std::size_t which) { table.max = HWY_DISPATCH_TABLE(plane_max)[which]; }
}  // namespace oriel::cpu
#endif
