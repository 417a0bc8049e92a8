// What the kernels for stored codes go by: which outputs look at an input, in lists that planes share.
#pragma once

#include <vector>

#include "cpu/code_gradient/gather_kernels.h"
#include "cpu/code_gradient/shape.h"

namespace oriel::cpu {

class CodeLists {
 public:
  static constexpr index_t kKeep = index_t{1} << 25;  // bytes that a thread keeps

  /// Makes the lists of a shape, unless they are those that are there.
  void make(const CodeShape& shape);
  index_t bytes() const;

  const GatheredRows& rows() const { return rows_; }
  /// How far before the first and beyond the last output of a row its vectors may read.
  index_t before() const { return before_; }
  index_t after() const { return after_; }
  index_t input_rows() const { return static_cast<index_t>(dx_.size()); }

 private:
  struct Reader {  // an output that looks at an input, and its tap
    index_t output;
    index_t tap;
  };
  /// Readers of inputs, by input: those of input i are all[begin[i]] to all[begin[i + 1]].
  struct Readers {
    std::vector<index_t> begin;
    std::vector<Reader> all;
  };
  void list_axes();
  void list_rows();
  void list_columns();
  void list_elements();
  void list_vector(index_t first);
  void list_woven();

  CodeShape shape_;
  bool made_ = false;                              // for the shape, to the end
  std::array<index_t, kMaxPooledAxes> step_{};     // what a tap of an axis adds to a code
  std::array<Readers, kMaxPooledAxes> by_axis_{};  // outputs of an axis
  Readers elements_;                               // of a row of inputs, or of its positions
  GatheredRows rows_;
  std::vector<index_t> dx_, row_begin_, column_begin_, vector_begin_, at_;
  std::vector<CodeReader> row_all_, column_all_;
  std::vector<CodeTerm> vector_all_;
  std::vector<Code> never_;
  index_t before_ = 0, after_ = 0;
};

}  // namespace oriel::cpu
