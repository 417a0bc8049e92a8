// Problems of the C interface: made from names and structs, described, freed.
#include <memory>

#include "c/arguments.h"
#include "oriel/pool.h"

namespace oriel::c {
namespace {

constexpr const char* kMake = "oriel_problem_make";
constexpr const char* kDescribe = "oriel_problem_describe";

// The lists of a pool.
class Lists {
 public:
  explicit Lists(const oriel_pool& pool) : values_(pool.values) {
    if (values_ < 0 || values_ > kMaxPooledAxes) {
      refuse(kMake, "pool->values", "must be 1 or the number of pooled axes, at most " + std::to_string(kMaxPooledAxes),
             "is " + std::to_string(values_));
    }
  }

  Extents operator()(const char* field, const std::int64_t* list) const {
    if (list == nullptr) return {};
    const std::string argument = std::string("pool->") + field;
    if (values_ == 0) refuse(kMake, argument, "must be NULL or have pool->values >= 1", "values is 0");
    return list_of(kMake, argument, list, values_);
  }

 private:
  std::int32_t values_;
};

Windows windows_of(const oriel_pool& pool) {
  const Lists list(pool);
  Windows windows;
  windows.kind =
      enumerator(kMake, "pool->kind", pool.kind, WindowKind::global, "ORIEL_UNIFORM, ORIEL_ADAPTIVE, ORIEL_GLOBAL");
  windows.padding = enumerator(kMake, "pool->padding", pool.padding, Padding::same_lower,
                               "ORIEL_PADDING_GIVEN, ORIEL_SAME_UPPER, ORIEL_SAME_LOWER");
  windows.ceil_mode = flag_of_number(kMake, "pool->ceil_mode", pool.ceil_mode);
  windows.kernel = list("kernel", pool.kernel);
  windows.stride = list("stride", pool.stride);
  windows.pad_lo = list("pad_lo", pool.pad_lo);
  windows.pad_hi = list("pad_hi", pool.pad_hi);
  windows.dilation = list("dilation", pool.dilation);
  windows.output_size = list("output_size", pool.output_size);
  if (pool.pooled < 0 || pool.pooled > kMaxPooledAxes) {
    refuse(kMake, "pool->pooled", "must be 0 to " + std::to_string(kMaxPooledAxes),
           "is " + std::to_string(pool.pooled));
  }
  if (pool.pooled > 0) windows.axes = list_of(kMake, "pool->axes", pool.axes, pool.pooled);
  if (pool.pooled == 0 && pool.axes != nullptr)
    refuse(kMake, "pool->axes", "must be NULL or have pool->pooled >= 1", "pooled is 0");
  return windows;
}

Pool pool_of(const oriel_pool* given) {
  const oriel_pool from = read_struct(kMake, "pool", given);
  Pool pool;
  pool.op = enumerator(kMake, "pool->op", from.op, Op::lp, "ORIEL_MAX, ORIEL_MIN, ORIEL_AVG, ORIEL_SUM, ORIEL_LP");
  pool.windows = windows_of(from);
  pool.nan =
      enumerator(kMake, "pool->nan_policy", from.nan_policy, NanPolicy::omit, "ORIEL_NAN_PROPAGATE, ORIEL_NAN_OMIT");
  pool.count_include_pad = !flag_of_number(kMake, "pool->exclude", from.exclude);
  pool.divisor = from.divisor;
  if (from.norm != 0) pool.norm = from.norm;
  return pool;
}

void copy(const Extents& from, std::int64_t* to) { std::copy(from.begin(), from.end(), to); }

oriel_problem_info info_of(const Problem& p) {
  oriel_problem_info info{};
  info.op = static_cast<std::int32_t>(p.pool.op);
  info.dtype = static_cast<std::int32_t>(p.dtype);
  info.rank = p.shape.size();
  info.pooled = p.pooled;
  info.direction = static_cast<std::int32_t>(p.direction);
  info.index_dtype = p.codes ? ORIEL_U8 : p.indices ? ORIEL_I64 : -1;
  info.index_space = p.codes ? ORIEL_WINDOW : ORIEL_PLANE;
  info.result_dtype = static_cast<std::int32_t>(p.result);
  info.taps = p.taps();
  std::copy_n(p.axes.begin(), p.pooled, info.axes);
  copy(p.shape, info.shape);
  copy(p.output_shape, info.output_shape);
  copy(dense_pitch(p.shape, p.order), info.pitch);
  copy(dense_pitch(p.output_shape, p.order), info.output_pitch);
  return info;
}

}  // namespace
}  // namespace oriel::c

using namespace oriel::c;

oriel_status oriel_problem_parse(const char* name, oriel_problem** problem) {
  return guarded([&] {
    constexpr const char* kParse = "oriel_problem_parse";
    oriel_problem*& made = result_of(kParse, "problem", problem);
    if (name == nullptr) refuse(kParse, "name", "must not be NULL");
    made = std::make_unique<oriel_problem>(oriel_problem{oriel::parse_problem(name)}).release();
  });
}

oriel_status oriel_problem_make(const oriel_pool* pool, int32_t dtype, int32_t rank, const int64_t* shape,
                                oriel_problem** problem) {
  return guarded([&] {
    oriel_problem*& made = result_of(kMake, "problem", problem);
    const oriel::Pool asked = pool_of(pool);
    const oriel::Dtype type = dtype_of_number(kMake, "dtype", dtype);
    if (rank < 1 || rank > oriel::kMaxRank)
      refuse(kMake, "rank", "must be 1 to " + std::to_string(oriel::kMaxRank), "is " + std::to_string(rank));
    const oriel::Extents extents = list_of(kMake, "shape", shape, rank);
    made = std::make_unique<oriel_problem>(oriel_problem{oriel::make_problem(asked, type, extents)}).release();
  });
}

void oriel_problem_free(oriel_problem* problem) { delete problem; }

oriel_status oriel_problem_describe(const oriel_problem* problem, oriel_problem_info* info) {
  return guarded([&] { write_struct(kDescribe, "info", info_of(problem_of(kDescribe, problem)), info); });
}

oriel_status oriel_problem_name(const oriel_problem* problem, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    constexpr const char* kName = "oriel_problem_name";
    write_text(kName, oriel::to_string(problem_of(kName, problem)), text, capacity, length);
  });
}

oriel_status oriel_codes_pay(const oriel_problem* problem, int32_t* pay) {
  return guarded([&] {
    constexpr const char* kPay = "oriel_codes_pay";
    int32_t& answer = result_of(kPay, "pay", pay);
    answer = oriel::codes_pay(problem_of(kPay, problem)) ? 1 : 0;
  });
}
