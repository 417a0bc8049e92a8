// Whether stored codes are of taps that their windows have.
#pragma once

#include <vector>

#include "cpu/code_gradient/check_kernels.h"
#include "cpu/code_gradient/shape.h"

namespace oriel::cpu {

class CodeCheck {
 public:
  static constexpr index_t kKeep = index_t{1} << 25;  // bytes that a thread keeps

  /// Makes the limits of a shape, unless they are those that are there.
  void make(const CodeShape& shape);
  index_t bytes() const;

  index_t rows() const { return static_cast<index_t>(code_begin_.size()); }  // of outputs
  /// Whether the codes of rows of outputs are of taps that exist, or 255; `code` is where their plane begins.
  bool exist(const Code* code, Range rows) const;

 private:
  void set_limits();
  void set_bits();

  CodeShape shape_;
  bool made_ = false;                           // for the shape, to the end
  std::array<index_t, kMaxPooledAxes> step_{};  // what a tap of an axis adds to a code
  index_t taps_ = 1;
  std::vector<index_t> code_begin_;                                   // of rows of outputs,
  std::vector<std::array<index_t, kMaxPooledAxes>> output_;           // and where they are along the axes outside rows
  bool full_ = true;                                                  // every tap of every window exists
  index_t row_codes_ = 0;                                             // of a row of outputs
  bool joined_ = true;                                                // they are a run of memory,
  bool dense_ = true;                                                 // and so are those of a plane
  std::array<std::vector<std::uint8_t>, kMaxPooledAxes> low_, size_;  // see CodeLimits
  bool has_bits_ = false;
  CodeBits bits_{};
  std::vector<Code> row_bits_, column_bits_;
};

}  // namespace oriel::cpu
