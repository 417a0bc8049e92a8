// Reductions of a user's: their functions of rows under the signatures of the engine's kernels.
#include "cpu/recipe/recipe.h"

namespace oriel::cpu {
namespace {

void lift_user(const void* x, index_t pitch, index_t lane_pitch, index_t n, index_t lanes, RowOut out,
               const LiftParams& params) {
  params.user->lift(x, {.n = n, .lanes = lanes, .pitch = pitch, .lane_pitch = lane_pitch}, out.value);
}

// Each run of results that count alike is one call.
void lower_user(RowIn row, index_t, index_t lanes, const LowerParams& params, void* y, index_t pitch,
                index_t lane_pitch) {
  const detail::ErasedReduction& user = *params.user;
  const index_t out_bytes = size_bytes(user.output);
  for (const RowRun* run = params.runs; run != params.runs + params.run_count; ++run) {
    const auto* const from = static_cast<const std::byte*>(row.value) + run->begin * lanes * user.accumulator_bytes;
    user.lower(from, {.taps = params.taps * run->taps, .padded = params.divisor_of(*run)},
               static_cast<std::byte*>(y) + run->begin * pitch * out_bytes,
               {.n = run->end - run->begin, .lanes = lanes, .pitch = pitch, .lane_pitch = lane_pitch});
  }
}

}  // namespace

RowReduction user_recipe(const detail::ErasedReduction& user) {
  RowReduction r;
  r.in_bytes = size_bytes(user.input);
  r.value_bytes = user.accumulator_bytes;
  r.out_bytes = size_bytes(user.output);
  r.identity = user.identity;
  r.fold = {user.fold_rows, user.fold_left, nullptr};
  r.lift = &lift_user;
  r.lower = &lower_user;
  r.lift_params.user = r.user = &user;
  return r;
}

}  // namespace oriel::cpu
