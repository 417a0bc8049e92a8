// The numbers of the C interface are those of the C++ enumerations; if one of these moves, this does not compile.
#pragma once

#include "oriel/c.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::c {

template <class E>
constexpr bool is_number(E enumerator, int number) {
  return static_cast<int>(enumerator) == number;
}

static_assert(is_number(Dtype::f64, ORIEL_F64) && is_number(Dtype::f32, ORIEL_F32));
static_assert(is_number(Dtype::f16, ORIEL_F16) && is_number(Dtype::bf16, ORIEL_BF16));
static_assert(is_number(Dtype::i8, ORIEL_I8) && is_number(Dtype::u8, ORIEL_U8));
static_assert(is_number(Dtype::i16, ORIEL_I16) && is_number(Dtype::u16, ORIEL_U16));
static_assert(is_number(Dtype::i32, ORIEL_I32) && is_number(Dtype::u32, ORIEL_U32));
static_assert(is_number(Dtype::i64, ORIEL_I64) && is_number(Dtype::u64, ORIEL_U64));
static_assert(is_number(Dtype::boolean, ORIEL_BOOL));

static_assert(is_number(Op::max, ORIEL_MAX) && is_number(Op::min, ORIEL_MIN) && is_number(Op::avg, ORIEL_AVG));
static_assert(is_number(Op::sum, ORIEL_SUM) && is_number(Op::lp, ORIEL_LP) && is_number(Op::count, ORIEL_COUNT));
static_assert(is_number(Op::any, ORIEL_ANY) && is_number(Op::all, ORIEL_ALL) && is_number(Op::range, ORIEL_RANGE));
static_assert(is_number(Op::midrange, ORIEL_MIDRANGE) && is_number(Op::first, ORIEL_FIRST));
static_assert(is_number(Op::centre, ORIEL_CENTRE) && is_number(Op::median, ORIEL_MEDIAN));
static_assert(is_number(Op::quantile, ORIEL_QUANTILE) && is_number(Op::mode, ORIEL_MODE));
static_assert(is_number(Op::nunique, ORIEL_NUNIQUE) && is_number(Op::var, ORIEL_VAR) && is_number(Op::std, ORIEL_STD));
static_assert(is_number(Op::rms, ORIEL_RMS) && is_number(Op::prod, ORIEL_PROD) && is_number(Op::geo, ORIEL_GEO));
static_assert(is_number(Op::harm, ORIEL_HARM) && is_number(Op::lse, ORIEL_LSE) && is_number(Op::soft, ORIEL_SOFT));
static_assert(is_number(WindowKind::uniform, ORIEL_UNIFORM) && is_number(WindowKind::adaptive, ORIEL_ADAPTIVE));
static_assert(is_number(WindowKind::global, ORIEL_GLOBAL));
static_assert(is_number(Padding::given, ORIEL_PADDING_GIVEN) && is_number(Padding::same_upper, ORIEL_SAME_UPPER));
static_assert(is_number(Padding::same_lower, ORIEL_SAME_LOWER));
static_assert(is_number(NanPolicy::propagate, ORIEL_NAN_PROPAGATE) && is_number(NanPolicy::omit, ORIEL_NAN_OMIT));
static_assert(is_number(IndexSpace::plane, ORIEL_PLANE) && is_number(IndexSpace::tensor, ORIEL_TENSOR));
static_assert(is_number(IndexSpace::window, ORIEL_WINDOW));
static_assert(is_number(Device::cpu, ORIEL_CPU) && is_number(Device::cuda, ORIEL_CUDA));
static_assert(is_number(Direction::forward, ORIEL_FORWARD) && is_number(Direction::backward, ORIEL_BACKWARD));
static_assert(kMaxRank == ORIEL_MAX_RANK && kMaxPooledAxes == ORIEL_MAX_POOLED);

}  // namespace oriel::c
