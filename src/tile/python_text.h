// What both generations' texts share: indentation, names, numbers, where tensors are made.
#pragma once

#include <string>
#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile {

class PythonText {
 public:
  explicit PythonText(const Program& program);

  void line(const std::string& text) { text_ += std::string(4 * indent_, ' ') + text + "\n"; }
  void indent() { ++indent_; }
  void outdent() { --indent_; }
  const std::string& text() const { return text_; }

  /// The comment above a kernel: what it was made for, in which language.
  void heading(const std::string& version);
  /// `t3 = nl.ndarray(…)` of each tensor that is made at instruction `at`; HBM ones are made first of all.
  void make_hbm();
  void make_tiles(std::size_t at);
  /// `return out` or `return out0, out1`.
  void return_results();

 private:
  void make(const TensorInfo& t);
  const Program& program_;
  std::vector<std::vector<int>> made_at_;  // by instruction
  std::string text_;
  std::size_t indent_ = 0;
};

/// The program with names that Python takes, each another one.
Program with_python_names(Program program);

std::string python_dtype(Dtype dtype);    // `nl.float16`
std::string python_number(double value);  // `0.25`, `float("-inf")`
std::string python_list(const Values& values);
std::string python_string(const std::string& text);

}  // namespace oriel::tile
