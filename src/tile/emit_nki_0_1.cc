// NKI 0.1: load, store and functions of tiles, indexed by mgrid.
#include <fmt/format.h>

#include "tile/emit_nki_versions.h"
#include "tile/python_text.h"

namespace oriel::tile {
namespace {

std::string function_of(const Instruction& i) {
  const bool reduces = i.opcode == Opcode::tensor_reduce;
  switch (i.alu) {
    case Alu::add:
      return reduces ? "nl.sum" : "nl.add";
    case Alu::multiply:
      return reduces ? "nl.prod" : "nl.multiply";
    case Alu::max:
      return reduces ? "nl.max" : "nl.maximum";
    case Alu::min:
      return reduces ? "nl.min" : "nl.minimum";
    default:
      return "nl." + std::string(name(i.alu));
  }
}

std::string operator_of(Alu alu) {
  return alu == Alu::max ? "nl.maximum" : alu == Alu::min ? "nl.minimum" : "nl." + std::string(name(alu));
}

class Nki01Writer {
 public:
  explicit Nki01Writer(const Program& program) : program_(program), out_(program) {}

  std::string run() {
    out_.heading("0.1");
    for (const char* import : {"import neuronxcc.nki as nki", "import neuronxcc.nki.isa as nisa",
                               "import neuronxcc.nki.language as nl", "", "", "@nki.jit"})
      out_.line(import);
    std::string parameters;
    for (const int id : program_.parameters) parameters += (parameters.empty() ? "" : ", ") + program_.tensor(id).name;
    out_.line("def " + program_.name + "(" + parameters + "):");
    out_.indent();
    out_.make_hbm();
    for (std::size_t g = 0; g < program_.grid.size(); ++g)
      out_.line(
          fmt::format("{} = nl.program_id({})", program_.counters[static_cast<std::size_t>(program_.grid[g])].name, g));
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      out_.make_tiles(i);
      write(program_.instructions[i]);
    }
    out_.return_results();
    return out_.text();
  }

 private:
  // a0, a1 = nl.mgrid[0:2, 0:6]
  void grid(char letter, std::size_t axes, const Values& counts) {
    std::string names, spans;
    for (std::size_t a = 0; a < axes; ++a) {
      names += fmt::format("{}{}{}", a == 0 ? "" : ", ", letter, a);
      spans += fmt::format("{}0:{}", a == 0 ? "" : ", ", counts[a]);
    }
    out_.line(fmt::format("{}{} = nl.mgrid[{}{}]", names, axes == 1 ? "," : "", spans, axes == 1 ? "," : ""));
  }

  std::string index(const Along& along, char letter) const {
    std::string text;
    for (std::size_t a = 0; a < along.step.size(); ++a) {
      if (along.step[a] == 0) continue;
      if (!text.empty()) text += " + ";
      text += along.step[a] == 1 ? fmt::format("{}{}", letter, a) : fmt::format("{}*{}{}", along.step[a], letter, a);
    }
    if (text.empty()) return to_string(along.start, program_);
    return along.start == Affine() ? text : text + " + " + to_string(along.start, program_);
  }

  std::string operand(const Access& access, char letter = 'a') const {
    std::string text;
    for (const Along& along : access.along) text += (text.empty() ? "" : ", ") + index(along, letter);
    return program_.tensor(access.tensor).name + "[" + text + "]";
  }

  // A tile [P, 1] of a scan, as a whole column.
  std::string column(const Access& access) const {
    Access one = access;
    for (Along& along : one.along)
      for (std::size_t a = 1; a < along.step.size(); ++a) along.step[a] = 0;
    std::string text;
    for (std::size_t d = 0; d < one.along.size(); ++d) {
      const std::string start = index(one.along[d], 'c');
      text += (d == 0 ? "" : ", ") + (d == 1 ? "c1" + (start == "0" ? "" : " + " + start) : start);
    }
    return program_.tensor(access.tensor).name + "[" + text + "]";
  }

  std::string mask_text(const Instruction& i) const {
    std::string text;
    for (const Condition& c : i.mask) {
      text += text.empty() ? ", mask=" : " & ";
      text += "(";
      if (c.axis >= 0) text += fmt::format("{}*a{} + ", c.factor, c.axis);
      text += to_string(c.rest, program_) + " >= 0)";
    }
    return text;
  }

  void write(const Instruction& i) {
    if (i.opcode == Opcode::loop) {
      const Counter& c = program_.counters[static_cast<std::size_t>(i.counter)];
      out_.line(fmt::format("for {} in nl.{}({}, {}, {}):", c.name, c.ordered ? "sequential_range" : "affine_range",
                            c.begin, c.last() + 1, c.step));
      return out_.indent();
    }
    if (i.opcode == Opcode::end) return out_.outdent();
    grid('a', i.counts.size(), i.counts);
    if (i.opcode == Opcode::tensor_tensor_scan && i.src.size() > 2) grid('c', 2, {i.counts[0], 1});
    if (i.reduced > 0 && i.opcode != Opcode::max8)
      grid('b', i.counts.size() - static_cast<std::size_t>(i.reduced), i.counts);
    if (i.opcode == Opcode::device_print)
      return out_.line(fmt::format("nl.device_print({}, {})", python_string(i.text), operand(i.src[0])));
    const TensorInfo& t = program_.tensor(i.dst.tensor);
    const bool from_hbm = i.opcode == Opcode::dma_copy && !program_.tensor(i.src[0].tensor).on_chip();
    if (from_hbm && !t.on_chip())
      return out_.line(fmt::format("nisa.dma_copy(dst={}, src={}{})", operand(i.dst), operand(i.src[0]), mask_text(i)));
    if (i.opcode == Opcode::dma_copy && !t.on_chip())
      return out_.line(fmt::format("nl.store({}, value={}{})", operand(i.dst), operand(i.src[0]), mask_text(i)));
    if (i.opcode == Opcode::dma_copy && !from_hbm) return repeat(i);
    if (i.opcode == Opcode::max8) {
      out_.line(fmt::format("b0, b1 = nl.mgrid[0:{}, 0:8]", i.counts[0]));
      return out_.line(fmt::format("{}[b0, b1] = {}", t.name, value(i, python_dtype(t.dtype))));
    }
    out_.line(operand(i.dst, i.reduced > 0 ? 'b' : 'a') + " = " + value(i, python_dtype(t.dtype)));
  }

  // One partition to all of them.
  void repeat(const Instruction& i) {
    Values one = i.counts;
    if (i.src[0].along[0].step[0] == 0) one[0] = 1;
    grid('b', one.size(), one);
    out_.line(fmt::format("{} = nl.broadcast_to({}, shape=({}{}))", operand(i.dst), operand(i.src[0], 'b'),
                          python_list(i.counts), i.counts.size() == 1 ? "," : ""));
  }

  std::string value(const Instruction& i, const std::string& dtype) const {
    const std::string mask = i.opcode == Opcode::dma_copy ? "" : mask_text(i);
    const std::string first = i.src.empty() || i.src[0].tensor < 0 ? "" : operand(i.src[0]);
    switch (i.opcode) {
      case Opcode::dma_copy:
        return fmt::format("nl.load({}{}, dtype={})", first, mask_text(i), dtype);
      case Opcode::tensor_copy:
        return fmt::format("nl.copy({}{}, dtype={})", first, mask, dtype);
      case Opcode::memset:
        return fmt::format("nl.full(({}{}), {}, dtype={})", python_list(i.counts), i.counts.size() == 1 ? "," : "",
                           python_number(i.scalar), dtype);
      case Opcode::iota:
        return fmt::format("nisa.iota({}, dtype={})", index(i.src[0].along[0], 'a'), dtype);
      case Opcode::tensor_reduce: {
        Values axes;
        for (std::size_t a = i.counts.size() - static_cast<std::size_t>(i.reduced); a < i.counts.size(); ++a)
          axes.push_back(static_cast<index_t>(a));
        return fmt::format("{}({}, axis=[{}]{}, dtype={})", function_of(i), first, python_list(axes), mask, dtype);
      }
      case Opcode::tensor_scalar:
        return i.scalar_first
                   ? fmt::format("{}({}, {}{}, dtype={})", function_of(i), python_number(i.scalar), first, mask, dtype)
                   : fmt::format("{}({}, {}{}, dtype={})", function_of(i), first, python_number(i.scalar), mask, dtype);
      case Opcode::tensor_tensor:
        return fmt::format("{}({}, {}{}, dtype={})", function_of(i), first, operand(i.src[1]), mask, dtype);
      case Opcode::select:
        return fmt::format("nl.where({}, {}, {}{}, dtype={})", first, operand(i.src[1]), operand(i.src[2]), mask,
                           dtype);
      case Opcode::max8:
        return fmt::format("nisa.max8(src={}, dtype={})", first, dtype);
      case Opcode::tensor_tensor_scan:
        return fmt::format("nisa.tensor_tensor_scan({}, {}, initial={}, op0={}, op1={}, dtype={})", first,
                           operand(i.src[1]), i.src.size() > 2 ? column(i.src[2]) : python_number(i.scalar),
                           operator_of(i.alu), operator_of(i.alu1), dtype);
      default:
        return fmt::format("{}({}{}, dtype={})", function_of(i), first, mask, dtype);
    }
  }

  const Program& program_;
  PythonText out_;
};

}  // namespace

std::string emit_nki_0_1(const Program& program) { return Nki01Writer(program).run(); }

}  // namespace oriel::tile
