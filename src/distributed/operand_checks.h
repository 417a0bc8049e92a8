// What the tensors of a divided pool must be; every error names the pass.
#pragma once

#include <string>

#include "oriel/distributed/local_pool.h"

namespace oriel::distributed {

[[noreturn]] void fail(const Problem& problem, Pass pass, std::string argument, std::string allowed, std::string value);

struct OperandChecks {
  const Problem& problem;
  Pass pass;
  index_t rank;
  Box inputs;  // that the rank owns

  void fits(const char* what, const ConstTensor& t, Dtype dtype, const Box& box) const;
  void fits_and_is_writable(const char* what, const Tensor& t, Dtype dtype, const Box& box) const;
  void apart(const char* a_name, const ConstTensor& a, const char* b_name, const ConstTensor& b) const;
  /// Mask and weights, once x has been checked. Weights are looked through, before anything is sent.
  void fit_beside(const Beside& beside, const Operands& operands) const;
  /// Neither may share memory with what is written.
  void beside_apart(const Operands& operands, const char* name, const ConstTensor& written) const;
};

/// Throws Error for a mask or weights that the problem cannot have.
void check_beside(const Problem& problem, const Beside& beside);

}  // namespace oriel::distributed
