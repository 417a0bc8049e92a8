#include "cli/names.h"

#include "oriel/types.h"

namespace oriel::cli {

std::vector<std::string> dtype_names() {
  return {
#define ORIEL_DTYPE(dtype, type, accumulator) std::string(name(Dtype::dtype)),
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
  };
}

std::vector<std::string> op_names() {
  return {
#define ORIEL_OP(op, family) std::string(name(Op::op)),
#include "oriel/ops.def"
#undef ORIEL_OP
  };
}

}  // namespace oriel::cli
