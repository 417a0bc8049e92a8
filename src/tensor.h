// What the library asks of tensors that it has checked.
#pragma once

#include "oriel/tensor.h"

namespace oriel::detail {

/// may_self_overlap of a tensor whose byte_span is known to fit.
bool elements_overlap(const ConstTensor& t);

}  // namespace oriel::detail
