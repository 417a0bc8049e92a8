#include "cpu/states/lift_kernels.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "real_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/states/lift_kernels.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Plain loops, of which the compiler makes vectors of every width.
template <class T>
HWY_INLINE auto number_of(T v) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
    return static_cast<float>(v);
  else if constexpr (std::is_same_v<T, bool8>)
    return static_cast<std::uint8_t>(v.byte != 0 ? 1 : 0);
  else
    return v;
}

template <class A, class T>
HWY_INLINE A as(T v) {
  if constexpr (std::is_signed_v<T> && !is_floating_v<T>)
    return static_cast<A>(static_cast<std::int64_t>(v));
  else
    return static_cast<A>(number_of(v));
}

template <class T>
HWY_INLINE bool is_nan(T v) {
  if constexpr (std::is_same_v<T, half>)
    return (v.bits & 0x7fffU) > 0x7c00U;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return (v.bits & 0x7fffU) > 0x7f80U;
  else if constexpr (is_floating_v<T>)
    return v != v;
  else
    return false;
}

template <class T>
void find_nodata(const LiftRow& row, const LiftRule& rule) {
  const T* x = static_cast<const T*>(row.x);
  T nodata;
  std::memcpy(&nodata, rule.nodata.data(), sizeof(T));
  std::uint32_t* valid = row.valid;
  if (is_nan(nodata)) {
    for (index_t i = 0; i < row.n; ++i) valid[i] &= is_nan(x[i]) ? 0U : 1U;
  } else {
    const auto v = number_of(nodata);
    for (index_t i = 0; i < row.n; ++i) valid[i] &= number_of(x[i]) == v ? 0U : 1U;
  }
}

template <class W>
void find_zero_weights(const LiftRow& row) {
  const W* w = static_cast<const W*>(row.weights);
  for (index_t i = 0; i < row.n; ++i) row.valid[i] &= w[i] == 0 ? 0U : 1U;
}

template <class T>
void find_valid(const LiftRow& row, const LiftRule& rule) {
  std::uint32_t* valid = row.valid;
  if (rule.masked) {
    for (index_t i = 0; i < row.n; ++i) valid[i] = row.mask[i] != 0 ? 1U : 0U;
  } else {
    for (index_t i = 0; i < row.n; ++i) valid[i] = 1;
  }
  if (rule.has_nodata) find_nodata<T>(row, rule);
  if (rule.weighted) rule.wide_weights ? find_zero_weights<double>(row) : find_zero_weights<float>(row);
  if constexpr (is_floating_v<T>) {
    if (!rule.omits) return;
    const T* x = static_cast<const T*>(row.x);
    for (index_t i = 0; i < row.n; ++i) valid[i] &= is_nan(x[i]) ? 0U : 1U;
  }
}

// out[i] = of(i), or what changes nothing.
template <class A, class Of>
HWY_INLINE void put(A* HWY_RESTRICT out, const LiftRow& row, const LiftRule& rule, A absent, const Of& of) {
  if (rule.all_valid()) {
    for (index_t i = 0; i < row.n; ++i) out[i] = of(i);
    return;
  }
  const std::uint32_t* HWY_RESTRICT valid = row.valid;
  for (index_t i = 0; i < row.n; ++i) {
    const A v = of(i);
    out[i] = valid[i] != 0 ? v : absent;
  }
}

template <class A>
constexpr A absent_of(Join join) {
  if (join == Join::multiply_f64 || join == Join::multiply_u64) return A(1);
  return static_cast<A>(-0.0);
}

template <class A>
HWY_INLINE A magnitude(A v) {
  if constexpr (std::is_floating_point_v<A>)
    return std::fabs(v);
  else
    return v;
}

// |x| as it is kept in A.
template <class A, class T>
HWY_INLINE A absolute(T v) {
  if constexpr (is_floating_v<T>)
    return magnitude(as<A>(v));
  else if constexpr (std::is_signed_v<T>)
    return static_cast<A>(v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(static_cast<std::int64_t>(v))
                                : static_cast<std::uint64_t>(v));
  else
    return as<A>(v);
}

HWY_INLINE double weight_at(const LiftRow& row, const LiftRule& rule, index_t i) {
  return rule.wide_weights ? static_cast<const double*>(row.weights)[i]
                           : static_cast<double>(static_cast<const float*>(row.weights)[i]);
}

HWY_INLINE double logarithm(double x) {
  if (!(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  return x == 0 ? 0 : fixed_log(x);
}

template <class T, class A>
void lift_values(const LiftRow& row, const LiftRule& rule, const Group& group, Fields fields) {
  const T* HWY_RESTRICT x = static_cast<const T*>(row.x);
  A* out = fields.as<A>();
  const A absent = absent_of<A>(group.join);
  const auto by = [&](const auto& of) HWY_ATTR { put<A>(out, row, rule, absent, of); };
  switch (group.term) {
    case Term::value:
      return by([&](index_t i) HWY_ATTR { return as<A>(x[i]); });
    case Term::square:
      return by([&](index_t i) HWY_ATTR { return as<A>(x[i]) * as<A>(x[i]); });
    case Term::absolute:
      return by([&](index_t i) HWY_ATTR { return absolute<A>(x[i]); });
    default:  // only of real numbers
      break;
  }
  if constexpr (!is_floating_v<T> && sizeof(T) == 8 && std::is_same_v<A, std::uint64_t>) {
    if (group.term == Term::low) return by([&](index_t i) HWY_ATTR { return as<A>(x[i]) & 0xffffffffU; });
    if (group.term == Term::high) return by([&](index_t i) HWY_ATTR { return as<A>(x[i] >> 32); });
  }
  if constexpr (std::is_floating_point_v<A>) {
    switch (group.term) {
      case Term::power:
        if (rule.norm == 3) {
          return by([&](index_t i) HWY_ATTR {
            const auto v = static_cast<double>(absolute<A>(x[i]));
            return static_cast<A>(v * (v * v));  // as norm_power, but for vectors
          });
        }
        return by([&](index_t i) HWY_ATTR {
          return static_cast<A>(norm_power(static_cast<double>(absolute<A>(x[i])), rule.norm));
        });
      case Term::product:
        return by([&](index_t i) HWY_ATTR { return static_cast<A>(weight_at(row, rule, i) * as<double>(x[i])); });
      case Term::square_product:
        return by([&](index_t i) HWY_ATTR {
          return static_cast<A>(weight_at(row, rule, i) * (as<double>(x[i]) * as<double>(x[i])));
        });
      case Term::weight:
        return by([&](index_t i) HWY_ATTR { return static_cast<A>(weight_at(row, rule, i)); });
      case Term::logarithm:
        return by([&](index_t i) HWY_ATTR { return static_cast<A>(logarithm(as<double>(x[i]))); });
      case Term::reciprocal:
        return by([&](index_t i) HWY_ATTR { return static_cast<A>(1 / as<double>(x[i])); });
      default:
        break;
    }
  }
}

template <class T>
void lift_counts(const LiftRow& row, const LiftRule& rule, const Group& group, Fields fields) {
  const T* HWY_RESTRICT x = static_cast<const T*>(row.x);
  const auto by = [&](const auto& of) HWY_ATTR { put<std::uint32_t>(fields.as<std::uint32_t>(), row, rule, 0, of); };
  switch (group.term) {
    case Term::count:
      return by([](index_t) HWY_ATTR { return std::uint32_t{1}; });
    case Term::nonzero:
      return by([&](index_t i) HWY_ATTR { return number_of(x[i]) != 0 ? 1U : 0U; });
    case Term::zero:
      return by([&](index_t i) HWY_ATTR { return number_of(x[i]) == 0 ? 1U : 0U; });
    default:
      return lift_values<T, std::uint32_t>(row, rule, group, fields);
  }
}

template <class T>
void lift_states(const LiftRow& row, const LiftRule& rule, const Group& group, Fields fields) {
  const T* HWY_RESTRICT x = static_cast<const T*>(row.x);
  double *sum = fields.as<double>(0), *apart = fields.as<double>(1);
  put<double>(apart, row, rule, 0, [&](index_t i) HWY_ATTR { return as<double>(x[i]) - as<double>(x[i]); });
  if (group.term == Term::weighted_state) {
    put<double>(sum, row, rule, 0, [&](index_t i) HWY_ATTR { return weight_at(row, rule, i) * as<double>(x[i]); });
    put<double>(fields.as<double>(2), row, rule, 0, [&](index_t i) HWY_ATTR { return weight_at(row, rule, i); });
    return;
  }
  put<double>(sum, row, rule, 0, [&](index_t i) HWY_ATTR { return as<double>(x[i]); });
  if (group.join == Join::counted)
    put<double>(fields.as<double>(2), row, rule, 0, [](index_t) HWY_ATTR { return 1.0; });
}

template <class T>
void lift(const LiftRow& row, const LiftRule& rule) {
  if (!rule.all_valid()) find_valid<T>(row, rule);
  int first = 0;
  for (int g = 0; g < rule.groups; ++g) {
    const Group& group = rule.group[static_cast<std::size_t>(g)];
    const Fields fields(row.out, first);
    first += fields_of(group.join);
    switch (group.join) {
      case Join::add_u32:
        lift_counts<T>(row, rule, group, fields);
        break;
      case Join::add_u64:
      case Join::multiply_u64:
        if constexpr (!is_floating_v<T>) lift_values<T, std::uint64_t>(row, rule, group, fields);
        break;
      case Join::add_f32:
        if constexpr (is_floating_v<T>) lift_values<T, float>(row, rule, group, fields);
        break;
      case Join::add_f64:
      case Join::multiply_f64:
        lift_values<T, double>(row, rule, group, fields);
        break;
      case Join::moments:
      case Join::counted:
        lift_states<T>(row, rule, group, fields);
        break;
    }
  }
}

LiftTable lifts() {
  LiftTable table{};
#define ORIEL_DTYPE(name, type, accumulator) table[static_cast<std::size_t>(Dtype::name)] = &lift<type>;
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "cpu/simd/per_target.h"

namespace oriel::cpu {
namespace {

HWY_EXPORT(lifts);
void fill(LiftTable& table, std::size_t which) { table = HWY_DISPATCH_TABLE(lifts)[which](); }

}  // namespace

const LiftTable& lift_elements() {
  static const PerTarget<LiftTable> all{&fill};
  return all.active();
}

}  // namespace oriel::cpu
#endif
