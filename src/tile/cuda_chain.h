// One instruction, or a chain of them that is one loop, as CUDA C++.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tile/cuda_layout.h"
#include "tile/cuda_lines.h"

namespace oriel::tile {

/// What a text is written about: a program's place on the device, and its tensors' names.
struct CudaSubject {
  const CudaLayout& layout;
  const std::vector<std::string>& names;  // by tensor
  const Program& program() const { return layout.plan.program; }
  const std::string& name(int tensor) const { return names[static_cast<std::size_t>(tensor)]; }
};

/// The operands of an instruction, and the part of its elements that the mask leaves, as expressions.
class CudaOperands {
 public:
  CudaOperands(const CudaSubject& subject, const Instruction& instruction) : subject_(subject), now_(&instruction) {}

  bool masked(std::size_t axis) const;
  std::string begin_of(std::size_t axis) const;
  std::string end_of(std::size_t axis) const;
  std::string extent_of(std::size_t axis) const;
  /// Of an axis that is masked: what begin_of and end_of name.
  std::string masked_begin(std::size_t axis) const;
  std::string masked_end(std::size_t axis) const;

  /// The flat index of an operand in its memory, of a tile in the partition's.
  std::string place(const Access& access) const;
  std::string raw(const Access& access) const;
  std::string read(const Access& access) const;
  /// `value` into the target, an element of what `last` writes.
  std::string narrow(const std::string& target, const Instruction& last, const std::string& value) const;

 private:
  void add_term(std::string& text, index_t stride, std::size_t axis) const;

  const CudaSubject& subject_;
  const Instruction* now_;
};

/// Writes a chain: the first of its instructions reads, each next one takes the value, the last one writes.
class CudaChain {
 public:
  CudaChain(const CudaSubject& subject, std::span<const Instruction> chain, CudaLines& out)
      : subject_(subject), chain_(chain), now_(&chain.front()), operands_(subject, chain.front()), out_(out) {}

  void write();

 private:
  std::string trim_axes(bool by_partition);
  void loop(const std::vector<std::size_t>& axes, const std::string& total);
  bool overwrites_itself() const;
  void element();
  void scan();
  void eight_largest();
  std::string first_value();
  void print(std::size_t kept);

  const CudaSubject& subject_;
  std::span<const Instruction> chain_;
  const Instruction* now_;  // the first of them
  CudaOperands operands_;
  CudaLines& out_;
};

}  // namespace oriel::tile
