// NKI 0.6: nki.isa instructions on access patterns. Loops are Python's, which that language unrolls, so masks become
// shorter patterns by plain integers.
#include <fmt/format.h>

#include <array>

#include "tile/emit_nki_versions.h"
#include "tile/python_text.h"

namespace oriel::tile {
namespace {

std::string op_of(Alu alu) {
  if (alu == Alu::max) return "nl.maximum";
  if (alu == Alu::min) return "nl.minimum";
  return "nl." + std::string(name(alu));
}

class Nki06Writer {
 public:
  explicit Nki06Writer(const Program& program) : program_(program), out_(program) {}

  std::string run() {
    out_.heading("0.6");
    for (const char* import : {"import nki", "import nki.isa as nisa", "import nki.language as nl", "", "", "@nki.jit"})
      out_.line(import);
    std::string parameters;
    for (const int id : program_.parameters) parameters += (parameters.empty() ? "" : ", ") + program_.tensor(id).name;
    out_.line("def " + program_.name + "(" + parameters + "):");
    out_.indent();
    out_.make_hbm();
    for (const int g : program_.grid) {  // 0.6 has no grid
      const Counter& c = program_.counters[static_cast<std::size_t>(g)];
      out_.line(fmt::format("for {} in range({}):", c.name, c.trips));
      out_.indent();
    }
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      out_.make_tiles(i);
      write(program_.instructions[i]);
    }
    for (std::size_t g = 0; g < program_.grid.size(); ++g) out_.outdent();
    out_.return_results();
    return out_.text();
  }

 private:
  bool masked(std::size_t axis) const {
    for (const Condition& c : now_->mask)
      if (c.axis == static_cast<int>(axis)) return true;
    return false;
  }

  // b0, e0: the part of axis 0 that the mask leaves.
  std::string trim_axes() {
    std::string condition;
    for (std::size_t a = 0; a < now_->counts.size(); ++a) {
      if (!masked(a)) continue;
      std::string begin = "0", end = std::to_string(now_->counts[a]);
      for (const Condition& c : now_->mask) {
        if (c.axis != static_cast<int>(a)) continue;
        const std::string rest = "(" + to_string(c.rest, program_) + ")";
        if (c.factor > 0)
          begin += fmt::format(", -({} // {})", rest, c.factor);
        else
          end += fmt::format(", {} // {} + 1", rest, -c.factor);
      }
      const auto pick = [](const char* f, const std::string& list) {
        return list.find(',') == std::string::npos ? list : std::string(f) + "(" + list + ")";
      };
      out_.line(fmt::format("b{0}, e{0} = {1}, {2}", a, pick("max", begin), pick("min", end)));
      condition += fmt::format("{}b{} < e{}", condition.empty() ? "" : " and ", a, a);
    }
    for (const Condition& c : now_->mask)
      if (c.axis < 0) condition += (condition.empty() ? "" : " and ") + to_string(c.rest, program_) + " >= 0";
    return condition;
  }

  // `row`: a variable of the text, for that partition of the pattern alone.
  std::string operand(const Access& access, const std::string& row = "") const {
    const TensorInfo& t = program_.tensor(access.tensor);
    const Pattern pattern = lower(program_, *now_, access);
    std::string steps, offset = to_string(pattern.offset, program_);
    bool whole = row.empty() && pattern.offset == Affine() && static_cast<int>(pattern.steps.size()) == t.shape.size();
    index_t dense = 1;
    for (std::size_t a = pattern.steps.size(); a-- > 0;) {
      const Step& s = pattern.steps[a];
      whole = whole && !masked(a) && s.count == t.shape[static_cast<int>(a)] && s.stride == dense;
      dense *= s.count;
    }
    if (whole) return t.name;
    for (std::size_t a = 0; a < pattern.steps.size(); ++a) {
      const Step& s = pattern.steps[a];
      const std::string count = a == 0 && !row.empty() ? "1"
                                : masked(a)            ? fmt::format("e{0} - b{0}", a)
                                                       : std::to_string(s.count);
      if (a == 0 && !row.empty() && s.stride != 0) offset += fmt::format(" + {}*{}", s.stride, row);
      steps += fmt::format("{}[{}, {}]", a == 0 ? "" : ", ", s.stride, count);
      if (masked(a) && s.stride != 0) offset += fmt::format(" + {}*b{}", s.stride, a);
    }
    return t.name + ".ap([" + steps + "]" + (offset == "0" ? "" : ", offset=" + offset) + ")";
  }

  void write(const Instruction& i) {
    now_ = &i;
    if (i.opcode == Opcode::loop) {
      const Counter& c = program_.counters[static_cast<std::size_t>(i.counter)];
      out_.line(fmt::format("for {} in range({}, {}, {}):", c.name, c.begin, c.last() + 1, c.step));
      return out_.indent();
    }
    if (i.opcode == Opcode::end) return out_.outdent();
    const std::string condition = trim_axes();
    if (!condition.empty()) {
      out_.line("if " + condition + ":");
      out_.indent();
    }
    instruction(i);
    if (!condition.empty()) out_.outdent();
  }

  void call(const std::string& text) { out_.line("nisa." + text); }

  void instruction(const Instruction& i) {
    const std::string dst = i.dst.tensor >= 0 && i.opcode != Opcode::max8 ? operand(i.dst) : "";
    switch (i.opcode) {
      case Opcode::dma_copy:
        if (repeats_partition(i)) {  // .ap() patterns of tiles go on from partition to partition
          out_.line(fmt::format("for row in range({}):", i.counts[0]));
          out_.indent();
          call(fmt::format("dma_copy(dst={}, src={})", operand(i.dst, "row"), operand(i.src[0], "row")));
          return out_.outdent();
        }
        [[fallthrough]];
      case Opcode::tensor_copy:
        return call(fmt::format("{}(dst={}, src={})", name(i.opcode), dst, operand(i.src[0])));
      case Opcode::memset:
        return call(fmt::format("memset(dst={}, value={})", dst, python_number(i.scalar)));
      case Opcode::iota:
        return call(iota(i, dst));
      case Opcode::tensor_reduce: {
        Values axes;
        for (std::size_t a = i.counts.size() - static_cast<std::size_t>(i.reduced); a < i.counts.size(); ++a)
          axes.push_back(static_cast<index_t>(a));
        return call(fmt::format("tensor_reduce(dst={}, op={}, data={}, axis=({}{}))", dst, op_of(i.alu),
                                operand(i.src[0]), python_list(axes), axes.size() == 1 ? "," : ""));
      }
      case Opcode::tensor_scalar:
        return call(fmt::format("tensor_scalar(dst={}, data={}, op0={}, operand0={}{})", dst, operand(i.src[0]),
                                op_of(i.alu), python_number(i.scalar), i.scalar_first ? ", reverse0=True" : ""));
      case Opcode::tensor_tensor:
        return call(fmt::format("tensor_tensor(dst={}, data1={}, data2={}, op={})", dst, operand(i.src[0]),
                                operand(i.src[1]), op_of(i.alu)));
      case Opcode::activation:
        if (i.alu == Alu::reciprocal) return call(fmt::format("reciprocal(dst={}, data={})", dst, operand(i.src[0])));
        return call(fmt::format("activation(dst={}, op={}, data={})", dst, op_of(i.alu), operand(i.src[0])));
      case Opcode::select:
        return select(i, dst);
      case Opcode::max8:
        return call(fmt::format("max8(dst={}, src={})", program_.tensor(i.dst.tensor).name, operand(i.src[0])));
      case Opcode::tensor_tensor_scan:
        return call(fmt::format("tensor_tensor_scan(dst={}, data0={}, data1={}, initial={}, op0={}, op1={})", dst,
                                operand(i.src[0]), operand(i.src[1]), initial(i), op_of(i.alu), op_of(i.alu1)));
      default:
        return out_.line(fmt::format("nl.device_print({}, {})", python_string(i.text), operand(i.src[0])));
    }
  }

  std::string iota(const Instruction& i, const std::string& dst) const {
    const Along& value = i.src[0].along[0];
    std::string pattern;
    for (std::size_t a = 1; a < i.counts.size(); ++a)
      pattern += fmt::format("{}[{}, {}]", a == 1 ? "" : ", ", value.step[a], i.counts[a]);
    return fmt::format("iota(dst={}, pattern=[{}], offset={}, channel_multiplier={})", dst, pattern,
                       to_string(value.start, program_), value.step[0]);
  }

  static bool repeats_partition(const Instruction& i) { return i.counts[0] > 1 && i.src[0].along[0].step[0] == 0; }

  std::string initial(const Instruction& i) const {
    if (i.src.size() == 2) return python_number(i.scalar);
    const TensorInfo& t = program_.tensor(i.src[2].tensor);
    const Pattern pattern = lower(program_, i, i.src[2]);
    const std::string offset = to_string(pattern.offset, program_);
    return fmt::format("{}.ap([[{}, {}], [1, 1]]{})", t.name, pattern.steps[0].stride, i.counts[0],
                       offset == "0" ? "" : ", offset=" + offset);
  }

  // A predicated copy overwrites one of two tiles, which are f32 as all arithmetic is; it takes three free axes at
  // most (SDK 2.33), so these tiles have one.
  void select(const Instruction& i, const std::string& dst) {
    const auto extent = [&](std::size_t a) {
      return masked(a) ? fmt::format("(e{0} - b{0})", a) : std::to_string(i.counts[a]);
    };
    std::string elements, axes;
    for (std::size_t a = i.counts.size(); a-- > 1;) {
      axes = fmt::format("[{}, {}]{}", elements.empty() ? "1" : elements, extent(a), axes.empty() ? "" : ", " + axes);
      elements += (elements.empty() ? "" : "*") + extent(a);
    }
    if (elements.empty()) elements = "1";
    const std::string shape = fmt::format("({}, {})", extent(0), elements);
    const std::string view =
        i.counts.size() == 2 ? ""
                             : fmt::format(".ap([[{}, {}]{}])", elements, extent(0), axes.empty() ? "" : ", " + axes);
    const auto make = [&](const char* tile, Dtype dtype) {
      out_.line(fmt::format("{} = nl.ndarray({}, dtype={}, buffer=nl.sbuf)", tile, shape, python_dtype(dtype)));
    };
    make("picked", Dtype::f32);
    make("other", Dtype::f32);
    make("flags", Dtype::u8);
    call(fmt::format("tensor_copy(dst=other{}, src={})", view, operand(i.src[2])));
    call(fmt::format("tensor_copy(dst=picked{}, src={})", view, operand(i.src[1])));
    call(fmt::format("tensor_scalar(dst=flags{}, data={}, op0=nl.not_equal, operand0=0)", view, operand(i.src[0])));
    call("tensor_copy_predicated(dst=other, src=picked, predicate=flags)");
    call(fmt::format("tensor_copy(dst={}, src=other{})", dst, view));
  }

  const Program& program_;
  PythonText out_;
  const Instruction* now_ = nullptr;
};

}  // namespace

std::string emit_nki_0_6(const Program& program) { return Nki06Writer(program).run(); }

}  // namespace oriel::tile
