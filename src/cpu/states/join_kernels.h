// Joins of rows of states, per instruction set.
#pragma once

#include "cpu/states/state.h"

namespace oriel::cpu {

/// out[i] = a[i] joined with b[i], for i below n rounded up to kRowStep. out may be a or b.
using JoinRows = void (*)(Fields a, Fields b, Fields out, index_t n, const JoinScale& scale);
using JoinTable = std::array<JoinRows, kJoins>;

const JoinTable& join_rows();

/// Whether the instruction set has fused multiplications and additions, without which quotients are divisions.
bool fuses();

/// What joins parts of na and nb taps, for sums whose products and squares can neither overflow nor be subnormal if
/// `bounded`.
JoinScale make_scale(index_t na, index_t nb, bool bounded);

}  // namespace oriel::cpu
