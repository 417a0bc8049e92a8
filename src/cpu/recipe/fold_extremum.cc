// max and min for every lane type, per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/recipe/fold_extremum.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "cpu/element/fold-inl.h"
#include "cpu/recipe/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

template <class R>
FoldKernels extremum_of(Lane lane) {
  switch (lane) {
    case Lane::u8:
      return fold_kernels<R, std::uint8_t>();
    case Lane::i8:
      return fold_kernels<R, std::int8_t>();
    case Lane::u16:
      return fold_kernels<R, std::uint16_t>();
    case Lane::i16:
      return fold_kernels<R, std::int16_t>();
    case Lane::u32:
      return fold_kernels<R, std::uint32_t>();
    case Lane::i32:
      return fold_kernels<R, std::int32_t>();
    case Lane::u64:
      return fold_kernels<R, std::uint64_t>();
    case Lane::i64:
      return fold_kernels<R, std::int64_t>();
    case Lane::f32:
      return fold_kernels<R, float>();
    case Lane::f64:
      return fold_kernels<R, double>();
  }
  return {};
}

FoldKernels extremum(Op op, Lane lane) { return op == Op::min ? extremum_of<Min>(lane) : extremum_of<Max>(lane); }

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::cpu {
namespace {
HWY_EXPORT(extremum);
}
void fill_extremum(KernelTable& table, std::size_t which) { table.extremum = HWY_DISPATCH_TABLE(extremum)[which]; }
}  // namespace oriel::cpu
#endif
