#include "cpu/recipe/recipe.h"

#include <cmath>

#include "cpu/exact/exact_kernels.h"
#include "cpu/recipe/kernels.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const KernelTable& kernels() {
  static const PerTarget<KernelTable> tables{&fill_extremum, &fill_sum, &fill_arg, &fill_convert, &fill_lower};
  return tables.active();
}

Lane native_lane(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return Lane::f64;
    case Dtype::f32:
      return Lane::f32;
    case Dtype::f16:
    case Dtype::bf16:
      return Lane::i16;  // as ordered keys
    case Dtype::i8:
      return Lane::i8;
    case Dtype::u8:
    case Dtype::boolean:
      return Lane::u8;
    case Dtype::i16:
      return Lane::i16;
    case Dtype::u16:
      return Lane::u16;
    case Dtype::i32:
      return Lane::i32;
    case Dtype::u32:
      return Lane::u32;
    case Dtype::i64:
      return Lane::i64;
    case Dtype::u64:
      return Lane::u64;
  }
  return Lane::u8;
}

namespace {

Lane float_lane(Dtype dtype) { return dtype == Dtype::f64 ? Lane::f64 : Lane::f32; }

// 32-bit sums are exact for narrow integers in windows that cannot overflow them.
Lane sum_lane(Dtype dtype, index_t taps) {
  if (is_floating(dtype)) return float_lane(dtype);
  const index_t bits = 8 * size_bytes(dtype);
  return bits <= 16 && taps <= (index_t{1} << (31 - bits)) - 1 ? Lane::i32 : Lane::i64;
}

template <class T>
void set_identity(RowReduction& r, T value) {
  r.value_bytes = sizeof(T);
  std::memcpy(r.identity.data(), &value, sizeof(T));
}

void set_sum_identity(RowReduction& r, Lane lane) {
  switch (lane) {
    case Lane::f64:
      return set_identity(r, -0.0);
    case Lane::f32:
      return set_identity(r, -0.0F);
    case Lane::i32:
      return set_identity(r, std::int32_t{0});
    default:
      return set_identity(r, std::int64_t{0});
  }
}

void set_extremum_identity(RowReduction& r, Op op, Dtype dtype) {
  visit(dtype, [&]<class T>() {
    const T value = op == Op::min ? highest_value<T>() : lowest_value<T>();
    set_identity(r, value);
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
      const auto bits = static_cast<std::int16_t>(value.bits);
      set_identity(r, static_cast<std::int16_t>(bits ^ ((bits >> 15) & 0x7fff)));
    }
  });
}

RowReduction start(const Problem& problem) {
  RowReduction r;
  r.in_bytes = r.out_bytes = size_bytes(problem.dtype);
  r.lift_params = {problem.pool.norm, false};
  r.count_include_pad = problem.pool.count_include_pad;
  r.divisor = problem.pool.divisor;
  r.norm = problem.pool.norm;
  return r;
}

bool is_infinity_norm(const Problem& problem) { return problem.pool.op == Op::lp && std::isinf(problem.pool.norm); }

RowReduction plain_extremum(const Problem& problem) {
  const KernelTable& k = kernels();
  const Dtype dtype = problem.dtype;
  RowReduction r = start(problem);
  r.any_order = true;
  r.counts = false;
  if (is_floating(dtype)) r.scan = k.scan(dtype);
  if (is_infinity_norm(problem)) {
    const Lane lane = is_floating(dtype) ? float_lane(dtype) : Lane::u64;
    r.fold = k.extremum(Op::max, lane);
    r.lift = k.lift(Lift::absolute, dtype, is_floating(dtype) ? lane : Lane::i64);
    r.lower = k.lower(Lower::floor_zero, lane, dtype);
    if (lane == Lane::f64)
      set_identity(r, lowest_value<double>());
    else if (lane == Lane::f32)
      set_identity(r, lowest_value<float>());
    else
      set_identity(r, std::uint64_t{0});
    return r;
  }
  const Lane lane = native_lane(dtype);
  r.scan_zeros = true;
  r.fold = k.extremum(problem.pool.op, lane);
  set_extremum_identity(r, problem.pool.op, dtype);
  if (dtype == Dtype::f16 || dtype == Dtype::bf16) {
    r.lift = k.lift(Lift::key, dtype, lane);
    r.lower = k.lower(Lower::key, lane, dtype);
    return r;
  }
  r.gather = k.lift(Lift::copy, dtype, lane);
  r.store = k.lower(Lower::copy, lane, dtype);
  if (dtype == Dtype::boolean) r.lower = r.store;  // makes every true byte 1
  return r;
}

RowReduction sum_recipe(const Problem& problem, bool omit) {
  const KernelTable& k = kernels();
  const Dtype dtype = problem.dtype;
  const Op op = problem.pool.op;
  RowReduction r = start(problem);
  Lane lane = sum_lane(dtype, problem.taps());
  Lift lift = Lift::widen;
  Lower lower = op == Op::avg ? Lower::average : Lower::round;
  if (op == Op::lp) {
    const double p = problem.pool.norm;
    if (!is_floating(dtype)) lane = p == 1 || p == 2 ? Lane::i64 : Lane::f64;
    lift = p == 1 ? Lift::absolute : p == 2 ? Lift::square : Lift::power;
    lower = Lower::root;
  }
  r.fold = omit ? k.missing_sum(lane) : k.sum(lane);
  r.lift = k.lift(lift, dtype, lane);
  r.lower = k.lower(lower, lane, dtype);
  set_sum_identity(r, lane);
  if (omit) {
    r.missing = r.lift_params.omit = true;
    r.extra_bytes = r.value_bytes;
  } else if (lift == Lift::widen && (dtype == Dtype::f32 || dtype == Dtype::f64)) {
    r.gather = r.lift;  // a dense row is a row of accumulators already
    r.lift = nullptr;
  }
  return r;
}

}  // namespace

RowReduction plain_recipe(const Problem& problem) {
  if (finds_extrema(problem)) return plain_extremum(problem);
  RowReduction r = sum_recipe(problem, false);
  if (problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype)) r.scan = kernels().scan(problem.dtype);
  return r;
}

RowReduction careful_recipe(const Problem& problem) {
  if (!finds_extrema(problem)) return sum_recipe(problem, true);
  const KernelTable& k = kernels();
  const Dtype dtype = problem.dtype;
  RowReduction r = start(problem);
  r.any_order = true;
  r.counts = false;
  r.lift_params.omit = problem.pool.nan == NanPolicy::omit;
  const bool wide = problem.taps() >= kAbsent<std::int32_t> || size_bytes(dtype) == 8 || dtype == Dtype::u32 ||
                    (is_infinity_norm(problem) && !is_floating(dtype));
  const bool floating = is_floating(dtype);
  const Lane lane = floating ? (wide ? Lane::f64 : Lane::f32) : (wide ? Lane::i64 : Lane::i32);
  const bool absolute = is_infinity_norm(problem), min = problem.pool.op == Op::min;
  r.fold = k.arg_max(lane);
  r.lift = k.lift(absolute ? Lift::arg_absolute : min ? Lift::arg_min : Lift::arg_max, dtype, lane);
  r.lower = k.lower(absolute ? Lower::arg_absolute : min ? Lower::arg_min : Lower::arg_max, lane, dtype);
  if (lane == Lane::f64)
    set_identity(r, lowest_value<double>());
  else if (lane == Lane::f32)
    set_identity(r, lowest_value<float>());
  else if (lane == Lane::i64)
    set_identity(r, lowest_value<std::int64_t>());
  else
    set_identity(r, lowest_value<std::int32_t>());
  r.extra_bytes = r.value_bytes;
  if (wide)
    std::memcpy(r.absent_extra.data(), &kAbsent<std::int64_t>, sizeof(std::int64_t));
  else
    std::memcpy(r.absent_extra.data(), &kAbsent<std::int32_t>, sizeof(std::int32_t));
  return r;
}

bool finds_extrema(const Problem& problem) {
  return problem.pool.op == Op::max || problem.pool.op == Op::min || is_infinity_norm(problem);
}

bool is_floating_extremum(const Problem& problem) { return finds_extrema(problem) && is_floating(problem.dtype); }

RowReduction exact_recipe(const Problem& problem, Nan nan) {
  if (!is_floating_extremum(problem)) return careful_recipe(problem);
  const KernelTable& k = kernels();
  const Dtype dtype = problem.dtype;
  const bool absolute = is_infinity_norm(problem), min = problem.pool.op == Op::min;
  const Lane lane = float_lane(dtype);
  RowReduction r = start(problem);
  int long_axes = 0;
  for (int a = 0; a < problem.pooled; ++a) long_axes += problem.axis[static_cast<std::size_t>(a)].kernel > 1 ? 1 : 0;
  r.any_order = absolute || long_axes <= 1;  // magnitudes have one zero
  r.counts = false;
  r.fold = exact_table().first(problem.pool.op, lane, nan);
  if (lane == Lane::f64)
    set_identity(r, min ? highest_value<double>() : lowest_value<double>());
  else
    set_identity(r, min ? highest_value<float>() : lowest_value<float>());
  if (problem.pool.nan == NanPolicy::omit) {
    const Extremum kind = absolute ? Extremum::magnitude : min ? Extremum::min : Extremum::max;
    r.lift = exact_table().numbers(kind, dtype, lane);
  } else if (absolute) {
    r.lift = k.lift(Lift::absolute, dtype, lane);
  } else if (size_bytes(dtype) == 2) {
    r.lift = k.lift(Lift::widen, dtype, lane);
  } else {
    r.gather = k.lift(Lift::copy, dtype, lane);
  }
  if (absolute)
    r.lower = k.lower(Lower::floor_zero, lane, dtype);
  else if (size_bytes(dtype) == 2)
    r.lower = k.lower(Lower::arg_max, lane, dtype);  // rounds nothing
  else
    r.store = k.lower(Lower::copy, lane, dtype);
  return r;
}

Dtype gradient_dtype(Dtype dtype) {
  if (is_floating(dtype)) return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  return dtype == Dtype::u64 ? Dtype::u64 : Dtype::i64;
}

RowReduction gradient_recipe(Dtype dtype) {
  const KernelTable& k = kernels();
  const Lane lane = is_floating(dtype) ? float_lane(dtype) : Lane::i64;
  RowReduction r;
  r.in_bytes = size_bytes(lane);
  r.out_bytes = size_bytes(dtype);
  r.fold = k.sum(lane);
  r.gather = k.lift(Lift::copy, gradient_dtype(dtype), lane);
  r.lower = k.lower(Lower::gradient, lane, dtype);
  r.counts = false;
  set_sum_identity(r, lane);
  return r;
}

}  // namespace oriel::cpu
