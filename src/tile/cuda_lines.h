// A text of nested blocks, line by line.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace oriel::tile {

class CudaLines {
 public:
  explicit CudaLines(int depth = 0) : depth_(depth) {}

  void line(const std::string& text) {
    for (int d = 0; d < depth_ && !text.empty(); ++d) text_ += "  ";
    text_ += text + "\n";
  }
  void open(const std::string& text) {
    line(text.empty() ? "{" : text + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  /// The next lines stand below one that has no brace, until depth() is set back.
  void below(const std::string& text) {
    line(text);
    ++depth_;
  }
  int depth() const { return depth_; }
  void set_depth(int depth) { depth_ = depth; }

  void append(std::string_view text) { text_ += text; }
  std::string take() { return std::exchange(text_, ""); }

 private:
  std::string text_;
  int depth_;
};

}  // namespace oriel::tile
