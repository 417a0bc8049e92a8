// The listing of a program.
#include <fmt/format.h>

#include "oriel/tensor.h"
#include "oriel/tile/ir.h"

namespace oriel::tile {
namespace {

std::string_view space_name(Space space) {
  return space == Space::hbm ? "hbm" : space == Space::shared_hbm ? "shared_hbm" : "sbuf";
}

std::string shape_text(const TensorInfo& t) {
  std::string text = std::string(name(t.dtype)) + "[";
  for (int d = 0; d < t.shape.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(t.shape[d]);
  return text + "]";
}

std::string tensor_line(const TensorInfo& t) {
  std::string text =
      fmt::format("%{} = {} {} {}", t.name, t.parameter >= 0 ? "param" : "alloc", space_name(t.space), shape_text(t));
  if (t.on_chip() && !t.shape.empty())
    text += fmt::format(" ; {} B/partition",
                        element_count(t.shape) / std::max<index_t>(1, t.shape[0]) * size_bytes(t.dtype));
  return text + "\n";
}

// A whole tensor in its own order is just its name.
bool is_whole(const Program& program, const Instruction& i, const Access& access) {
  const TensorInfo& t = program.tensor(access.tensor);
  const std::size_t axes = access.along.front().step.size();
  if (axes != access.along.size()) return false;
  for (std::size_t d = 0; d < axes; ++d) {
    const Along& along = access.along[d];
    if (along.start != Affine() || i.counts[d] != t.shape[static_cast<int>(d)]) return false;
    for (std::size_t a = 0; a < axes; ++a)
      if (along.step[a] != (a == d ? 1 : 0)) return false;
  }
  return true;
}

std::string operand(const Program& program, const Instruction& i, const Access& access) {
  if (access.tensor < 0) {
    std::string text = to_string(access.along[0].start, program);
    for (std::size_t a = 0; a < i.counts.size(); ++a)
      if (access.along[0].step[a] != 0) text += fmt::format(" + {}*a{}", access.along[0].step[a], a);
    return text;
  }
  const std::string tensor = "%" + program.tensor(access.tensor).name;
  return is_whole(program, i, access) ? tensor : tensor + " @" + to_string(lower(program, i, access), program);
}

std::string mask_text(const Program& program, const Instruction& i) {
  std::string text;
  for (const Condition& c : i.mask) {
    text += text.empty() ? " mask " : " & ";
    if (c.axis >= 0) text += fmt::format("{}*a{} + ", c.factor, c.axis);
    text += to_string(c.rest, program) + " >= 0";
  }
  return text;
}

}  // namespace

std::string to_string(const Program& program, const Instruction& i) {
  if (i.opcode == Opcode::loop) {
    const Counter& c = program.counters[static_cast<std::size_t>(i.counter)];
    return fmt::format("{} {} = {}, {}, ... {} times", c.ordered ? "loop in order" : "loop", c.name, c.begin,
                       c.begin + c.step, c.trips);
  }
  if (i.opcode == Opcode::end) return "end";
  std::string text(name(i.opcode));
  if (i.opcode == Opcode::device_print) return text + " \"" + i.text + "\" " + operand(program, i, i.src[0]);
  const bool has_alu = i.opcode == Opcode::tensor_reduce || i.opcode == Opcode::tensor_scalar ||
                       i.opcode == Opcode::tensor_tensor || i.opcode == Opcode::activation ||
                       i.opcode == Opcode::tensor_tensor_scan;
  if (has_alu) text += " " + std::string(name(i.alu));
  if (i.opcode == Opcode::tensor_tensor_scan) text += " " + std::string(name(i.alu1));
  text += " " + operand(program, i, i.dst) + " <- ";
  if (i.opcode == Opcode::memset || (i.opcode == Opcode::tensor_scalar && i.scalar_first))
    text += fmt::format("{}{}", i.scalar, i.src.empty() ? "" : ", ");
  for (std::size_t s = 0; s < i.src.size(); ++s) text += (s == 0 ? "" : ", ") + operand(program, i, i.src[s]);
  const bool is_last =
      i.opcode == Opcode::tensor_scalar ? !i.scalar_first : i.opcode == Opcode::tensor_tensor_scan && i.src.size() == 2;
  if (is_last) text += fmt::format(", {}", i.scalar);
  if (i.opcode == Opcode::tensor_reduce) text += fmt::format(" n_red={}", i.reduced);
  return text + mask_text(program, i);
}

std::string to_string(const Program& program) {
  std::string text = "kernel " + program.name + "(" + program.constants + ")";
  for (std::size_t g = 0; g < program.grid.size(); ++g)
    text +=
        fmt::format("{}{}", g == 0 ? " grid " : "x", program.counters[static_cast<std::size_t>(program.grid[g])].trips);
  text += "\n";
  for (const TensorInfo& t : program.tensors) text += "  " + tensor_line(t);
  int depth = 0;
  for (const Instruction& i : program.instructions) {
    if (i.opcode == Opcode::end) --depth;
    text += std::string(2 + 2 * static_cast<std::size_t>(depth), ' ') + to_string(program, i) + "\n";
    if (i.opcode == Opcode::loop) ++depth;
  }
  for (const int output : program.outputs) text += "  return %" + program.tensor(output).name + "\n";
  return text;
}

}  // namespace oriel::tile
