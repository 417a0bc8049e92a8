#include "cpu/lifted/lifted_rows.h"

#include <algorithm>

#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const ElementTable& element_table() {
  static const PerTarget<ElementTable> tables{&fill_extremum_elements, &fill_sum_elements};
  return tables.active();
}

ElementKernels element_kernels(const Problem& problem, const RowReduction& plain) {
  const ElementTable& k = element_table();
  const Pool& pool = problem.pool;
  const bool floating = is_floating(problem.dtype);
  if ((pool.nan == NanPolicy::omit && floating) || plain.extra_bytes != 0) return {};
  if (pool.op == Op::max || pool.op == Op::min) return k.extremum(pool.op, problem.dtype);
  if (pool.op == Op::lp) {
    if (!floating || (pool.norm != 1 && pool.norm != 2)) return {};
    return k.sum(pool.norm == 1 ? Lift::absolute : Lift::square, problem.dtype, Lane::f32);
  }
  return k.sum(Lift::widen, problem.dtype, plain.value_bytes == 4 ? Lane::i32 : Lane::i64);
}

std::byte* make_identity(const Problem& problem, index_t n, Arena& arena) {
  std::byte* row = arena.take(n * size_bytes(problem.dtype) + 128);
  const Op op = problem.pool.op;
  visit(problem.dtype, [&]<class T>() {
    T value{};
    if (op == Op::max) value = lowest_value<T>();
    if (op == Op::min) value = highest_value<T>();
    if constexpr (is_floating_v<T>) {
      if (op != Op::max && op != Op::min) value = T(-0.0);  // S8: the exact identity
    }
    std::fill_n(reinterpret_cast<T*>(row), n, value);
  });
  return row;
}

}  // namespace oriel::cpu
