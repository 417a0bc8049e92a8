// CUDA C++: a loop over elements for each instruction, shared by a block's threads, and a barrier after it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "oriel/tensor.h"
#include "oriel/tile/emit.h"
#include "oriel/tile/machine.h"
#include "tile/cuda_layout.h"
#include "tile/cuda_text.h"
#include "tile/element.h"
#include "tile/names.h"

namespace oriel::tile {
namespace {

constexpr std::string_view kIndent = "  ";

class CudaWriter {
 public:
  explicit CudaWriter(const Program& program) : layout_(cuda_layout(program)), program_(layout_.plan.program) {
    wide_ = needs_wide();
    name_ = names_.unique(program_.name);
    for (std::size_t c = 0; c < program_.counters.size(); ++c) {
      Counter& counter = layout_.plan.program.counters[c];
      counter.name = names_.unique(counter.name);
    }
    for (std::size_t a = 0; a < 16; ++a)
      for (const char* word : {"a", "begin", "end"}) (void)names_.unique(word + std::to_string(a));
    for (const TensorInfo& t : program_.tensors) tensors_.push_back(names_.unique(t.name));
  }

  CudaText run(const Program& given) {
    depth_ = 1;
    open_programs();
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) write(i);
    while (depth_ > 1) close();
    const std::string body = std::exchange(text_, "");
    depth_ = 0;
    heading(given);
    text_ += cuda_prelude();
    line("");
    open(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({})", layout_.threads, name_,
                     parameters(true)));
    line("using namespace oriel_tile;");
    line(fmt::format("using index = {};", wide_ ? "long long" : "int"));
    place_block(body);
    place_memory();
    text_ += body;
    close();
    launcher();
    return {text_, name_, layout_.blocks, layout_.threads, layout_.scratch_bytes()};
  }

 private:
  void line(const std::string& text) {
    for (int d = 0; d < depth_ && !text.empty(); ++d) text_ += kIndent;
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

  // Indices beyond 32 bits?
  bool needs_wide() const {
    const auto reach = [&](const Affine& a) {
      double most = std::abs(static_cast<double>(a.constant));
      for (const Term& t : a.terms) {
        const Counter& c = program_.counters[static_cast<std::size_t>(t.variable)];
        most += std::abs(static_cast<double>(t.factor)) *
                static_cast<double>(std::max(std::abs(c.begin), std::abs(c.begin + c.step * c.trips)));
      }
      return most;
    };
    double most = static_cast<double>(layout_.blocks);
    for (const TensorInfo& t : program_.tensors) most = std::max(most, static_cast<double>(element_count(t.shape)));
    for (const Instruction& i : program_.instructions) {
      for (const Condition& c : i.mask) most = std::max(most, reach(c.rest));
      for (const Access& src : i.src) {
        if (src.tensor >= 0) continue;
        double last = reach(src.along[0].start);
        for (std::size_t a = 0; a < i.counts.size(); ++a)
          last += std::abs(static_cast<double>(src.along[0].step[a] * i.counts[a]));
        most = std::max(most, last);
      }
    }
    return most > 1e9;
  }

  void heading(const Program& given) {
    std::string arguments;
    for (const int id : given.parameters) {
      const TensorInfo& t = given.tensor(id);
      arguments += fmt::format("{}{}[{}]", arguments.empty() ? "" : ", ", name(t.dtype), to_string(t.shape));
    }
    line(cuda_comment(fmt::format("{}({}{}{}) as CUDA C++: {} block{} of {} threads, {} bytes of scratch memory.",
                                  given.name, arguments, given.constants.empty() ? "" : "; ", given.constants,
                                  layout_.blocks, layout_.blocks == 1 ? "" : "s", layout_.threads,
                                  layout_.scratch_bytes())));
    line(layout_.by_partition ? "// A block has one partition; its threads share the elements of each instruction."
                              : "// A block has all partitions; its threads share the elements of each instruction.");
  }

  std::string parameters(bool with_types) const {
    std::string text;
    const auto add = [&](const std::string& type, const std::string& parameter) {
      text += (text.empty() ? "" : ", ") + (with_types ? type : "") + parameter;
    };
    for (const int id : program_.parameters)
      add(fmt::format("const {}* __restrict__ ", cuda_dtype(program_.tensor(id).dtype)),
          tensors_[static_cast<std::size_t>(id)]);
    for (const int id : program_.outputs)
      add(fmt::format("{}* ", cuda_dtype(program_.tensor(id).dtype)), tensors_[static_cast<std::size_t>(id)]);
    if (layout_.scratch_bytes() > 0) add("unsigned char* ", "scratch");
    return text;
  }

  void launcher() {
    line("");
    line("#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)");
    line(fmt::format("inline cudaError_t launch_{}({}, cudaStream_t stream) {{", name_, parameters(true)));
    line(fmt::format("  {}<<<{}, {}, 0, stream>>>({});", name_, layout_.blocks, layout_.threads, parameters(false)));
    line("  return cudaGetLastError();");
    line("}");
    line("#endif");
  }

  std::string counter_value(const Counter& c, const std::string& trip) const {
    std::string text = c.step == 1 ? trip : fmt::format("{} * ({})", c.step, trip);
    return c.begin == 0 ? text : fmt::format("{} + {}", c.begin, text);
  }

  // The partition, the iteration and the program that are this block's, where the body names them.
  void place_block(const std::string& body) {
    index_t before = 1;
    const auto place = [&](const std::string& variable, index_t extent, const auto& value_of) {
      std::string text = "static_cast<index>(blockIdx.x)";
      if (before > 1) text += fmt::format(" / {}", before);
      if (before * extent < layout_.blocks) text += fmt::format(" % {}", extent);
      before *= extent;
      if (body.find(variable) != std::string::npos)
        line(fmt::format("const index {} = {};", variable, value_of(extent == 1 ? "0" : text)));
    };
    const auto itself = [](const std::string& text) { return text; };
    if (layout_.by_partition) place("partition", layout_.partitions, itself);
    if (layout_.loop >= 0) {
      const Counter& c = counter_of(program_.instructions[static_cast<std::size_t>(layout_.loop)]);
      place(c.name, c.trips, [&](const std::string& trip) { return counter_value(c, trip); });
    }
    if (layout_.programs_in_turn) return;
    for (std::size_t g = program_.grid.size(); g-- > 0;) {
      const Counter& c = program_.counters[static_cast<std::size_t>(program_.grid[g])];
      place(c.name, c.trips, itself);
    }
  }

  void open_programs() {
    if (!layout_.programs_in_turn) return;
    for (const int g : program_.grid) {
      const Counter& c = program_.counters[static_cast<std::size_t>(g)];
      open(fmt::format("for (index {0} = 0; {0} < {1}; ++{0})", c.name, c.trips));
    }
  }

  void place_memory() {
    if (layout_.shared_bytes > 0)
      line(fmt::format("__shared__ __align__(16) unsigned char tiles[{}];", layout_.shared_bytes));
    if (layout_.tile_bytes > 0)
      line(fmt::format("unsigned char* tiles = scratch + {} + {}ULL * blockIdx.x;", layout_.hbm_bytes,
                       layout_.tile_bytes));
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const TensorInfo& info = program_.tensors[t];
      if (!layout_.plan.has_memory[t] || info.parameter >= 0 || info.output >= 0) continue;
      line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2} + {3});", cuda_dtype(info.dtype), tensors_[t],
                       info.on_chip() ? "tiles" : "scratch", layout_.offset[t]));
    }
  }

  const Counter& counter_of(const Instruction& i) const {
    return program_.counters[static_cast<std::size_t>(i.counter)];
  }

  void write(std::size_t at) {
    const Instruction& i = program_.instructions[at];
    if (i.opcode == Opcode::loop) {
      if (static_cast<int>(at) == layout_.loop) return;
      const Counter& c = counter_of(i);
      return open(fmt::format("for (index {0} = {1}; {0} <= {2}; {0} += {3})", c.name, c.begin, c.last(), c.step));
    }
    if (i.opcode == Opcode::end) {
      const bool outer = layout_.loop >= 0 && at + 1 == program_.instructions.size();
      return outer ? void() : close();
    }
    const int n = layout_.plan.chain[at];
    if (n == 0) return;
    const Instruction& last = program_.instructions[at + static_cast<std::size_t>(n) - 1];
    for (int c = 0; c < n; ++c)
      line(cuda_comment(to_string(program_, program_.instructions[at + static_cast<std::size_t>(c)])));
    now_ = &i;
    elements({&i, static_cast<std::size_t>(n)}, last);
    const std::size_t rest = at + static_cast<std::size_t>(n);
    const bool ends =
        rest == program_.instructions.size() || (layout_.loop >= 0 && rest + 1 == program_.instructions.size());
    if (!ends || layout_.programs_in_turn) line("__syncthreads();");
  }

  bool masked(std::size_t axis) const {
    for (const Condition& c : now_->mask)
      if (c.axis == static_cast<int>(axis) && c.factor != 0) return true;
    return false;
  }
  std::string begin_of(std::size_t a) const { return masked(a) ? fmt::format("begin{}", a) : "0"; }
  std::string end_of(std::size_t a) const {
    return masked(a) ? fmt::format("end{}", a) : std::to_string(now_->counts[a]);
  }
  std::string extent_of(std::size_t a) const {
    return masked(a) ? fmt::format("(end{0} - begin{0})", a) : std::to_string(now_->counts[a]);
  }

  // begin1, end1: the part of axis 1 that the mask leaves. Returns when anything is left, and this partition is in it.
  std::string trim_axes(bool by_partition) {
    std::string condition;
    const auto require = [&](const std::string& text) { condition += (condition.empty() ? "" : " && ") + text; };
    for (const Condition& c : now_->mask)
      if (c.axis < 0 || c.factor == 0) require(to_string(c.rest, program_) + " >= 0");
    for (std::size_t a = 0; a < now_->counts.size(); ++a) {
      const bool is_partition = by_partition && a == 0;
      if (masked(a)) {
        std::string begin = "index(0)", end = fmt::format("index({})", now_->counts[a]);
        for (const Condition& c : now_->mask) {
          if (c.axis != static_cast<int>(a) || c.factor == 0) continue;
          const auto divided = [&](const Affine& rest, index_t by) {
            const std::string text = fmt::format("index({})", to_string(rest, program_));
            return by == 1 ? text : fmt::format("floor_div({}, index({}))", text, by);
          };
          if (c.factor == 1)
            begin = fmt::format("larger({}, {})", begin, divided(index_t{-1} * c.rest, 1));
          else if (c.factor > 0)
            begin = fmt::format("larger({}, -{})", begin, divided(c.rest, c.factor));
          else if (c.factor == -1)
            end = fmt::format("smaller({}, {})", end, divided(c.rest + 1, 1));
          else
            end = fmt::format("smaller({}, {} + 1)", end, divided(c.rest, -c.factor));
        }
        line(fmt::format("const index begin{0} = {1}, end{0} = {2};", a, begin, end));
        require(is_partition ? fmt::format("partition >= begin{0} && partition < end{0}", a)
                             : fmt::format("begin{0} < end{0}", a));
      } else if (is_partition && now_->counts[0] < layout_.partitions) {
        require(fmt::format("partition < {}", now_->counts[0]));
      }
    }
    return condition;
  }

  // The flat index of an operand in its memory, of a tile in the partition's.
  std::string place(const Access& access) const {
    if (access.tensor < 0) {
      std::string text = to_string(access.along[0].start, program_);
      for (std::size_t a = 0; a < now_->counts.size(); ++a) add_term(text, access.along[0].step[a], a);
      return text;
    }
    const Pattern pattern = lower(program_, *now_, access);
    std::string text = to_string(pattern.offset, program_);
    const bool skips = layout_.by_partition && program_.tensor(access.tensor).on_chip();
    for (std::size_t a = skips ? 1 : 0; a < pattern.steps.size(); ++a) add_term(text, pattern.steps[a].stride, a);
    return text;
  }
  void add_term(std::string& text, index_t stride, std::size_t a) const {
    if (stride == 0 || now_->counts[a] == 1) return;
    const std::string axis = layout_.by_partition && a == 0 ? "partition" : fmt::format("a{}", a);
    const std::string term = stride == 1 ? axis : fmt::format("{}*{}", stride, axis);
    text = text == "0" ? term : text + " + " + term;
  }

  std::string raw(const Access& access) const {
    return fmt::format("{}[{}]", tensors_[static_cast<std::size_t>(access.tensor)], place(access));
  }
  std::string read(const Access& access) const {
    return program_.tensor(access.tensor).dtype == Dtype::f32 ? raw(access) : "widened(" + raw(access) + ")";
  }

  // The threads' loop over the elements that are kept, or where elements share a place, one thread's in their order.
  void elements(std::span<const Instruction> chain, const Instruction& last) {
    const bool by_partition = layout_.by_partition;
    const bool is_scan = now_->opcode == Opcode::tensor_tensor_scan;  // a thread has a partition
    const std::size_t kept = is_scan ? 1 : now_->counts.size() - static_cast<std::size_t>(now_->reduced);
    const bool has_mask = std::any_of(now_->mask.begin(), now_->mask.end(), [](const Condition&) { return true; });
    if (has_mask) open("");
    const std::string condition = trim_axes(by_partition);
    if (!condition.empty()) open("if (" + condition + ")");
    std::vector<std::size_t> axes;
    std::string total;
    for (std::size_t a = by_partition ? 1 : 0; a < kept; ++a) {
      if (now_->counts[a] == 1) continue;
      axes.push_back(a);
      total += (total.empty() ? "" : " * ") + extent_of(a);
    }
    if (now_->opcode == Opcode::device_print) {
      print(kept);
    } else if (axes.empty()) {
      open("if (threadIdx.x == 0)");
      body(chain, last);
      close();
    } else {
      const bool in_order =
          !is_injective(lower(program_, last, last.dst), last.counts, by_partition ? 1 : 0) || overwrites_itself();
      if (in_order) open("if (threadIdx.x == 0)");
      open(in_order ? fmt::format("for (index element = 0; element < {}; ++element)", total)
                    : fmt::format("for (index element = threadIdx.x; element < {}; element += blockDim.x)", total));
      for (std::size_t k = 0; k < axes.size(); ++k) {
        std::string after, text = "element";
        for (std::size_t j = k + 1; j < axes.size(); ++j) after += (after.empty() ? "" : " * ") + extent_of(axes[j]);
        if (!after.empty()) text += axes.size() - k > 2 ? " / (" + after + ")" : " / " + after;
        if (k > 0) text += " % " + extent_of(axes[k]);
        if (masked(axes[k])) text = fmt::format("begin{} + {}", axes[k], text);
        line(fmt::format("const index a{} = {};", axes[k], text));
      }
      body(chain, last);
      close();
      if (in_order) close();
    }
    if (!condition.empty()) close();
    if (has_mask) close();
  }

  // Reads other elements of what it writes.
  bool overwrites_itself() const {
    for (const Access& src : now_->src)
      if (src.tensor >= 0 && src.tensor == now_->dst.tensor && src.along != now_->dst.along) return true;
    return false;
  }

  // One element: read, computed, passed through the chain, written.
  void body(std::span<const Instruction> chain, const Instruction& last) {
    if (now_->opcode == Opcode::tensor_tensor_scan) return scan();
    if (now_->opcode == Opcode::max8) return eight_largest();
    const bool bits = std::all_of(chain.begin(), chain.end(), [&](const Instruction& i) {
      return (i.opcode == Opcode::dma_copy || i.opcode == Opcode::tensor_copy) && copies_bits(program_, i);
    });
    const std::string target =
        fmt::format("{}[{}]", tensors_[static_cast<std::size_t>(last.dst.tensor)], place(last.dst));
    if (bits) return line(target + " = " + raw(now_->src[0]) + ";");
    const std::string first = first_value();
    if (chain.size() == 1) return line(narrow(target, last, first));
    if (now_->opcode != Opcode::tensor_reduce) line(fmt::format("float value = {};", first));
    Dtype dtype = program_.tensor(now_->dst.tensor).dtype;
    for (const Instruction& i : chain.subspan(1)) {
      const std::string value = dtype == Dtype::f32 ? "value" : fmt::format("rounded<{}>(value)", cuda_dtype(dtype));
      const std::string next = computed(i, value, "");
      dtype = program_.tensor(i.dst.tensor).dtype;
      if (&i == &last) return line(narrow(target, last, next));
      if (next != "value") line(fmt::format("value = {};", next));
    }
  }

  void scan() {
    const Instruction& i = *now_;
    line(fmt::format("float value = {};", i.src.size() > 2 ? read(i.src[2]) : cuda_float(i.scalar)));
    open(fmt::format("for (index a1 = 0; a1 < {}; ++a1)", i.counts[1]));
    line(
        fmt::format("value = {};", cuda_applied(i.alu1, cuda_applied(i.alu, read(i.src[0]), "value"), read(i.src[1]))));
    line(narrow(raw(i.dst), i, "value"));
    close();
  }

  void eight_largest() {
    const Instruction& i = *now_;
    line("float top[8];");
    line(fmt::format("for (index k = 0; k < 8; ++k) top[k] = {};", cuda_identity(Alu::max)));
    const int depth = depth_;
    for (std::size_t a = 1; a < i.counts.size(); ++a) {
      line(fmt::format("for (index a{0} = 0; a{0} < {1}; ++a{0})", a, i.counts[a]));
      ++depth_;
    }
    line(fmt::format("insert8(top, {});", read(i.src[0])));
    depth_ = depth;
    const std::string to = fmt::format("{}[{} + k]", tensors_[static_cast<std::size_t>(i.dst.tensor)], place(i.dst));
    line("for (index k = 0; k < 8; ++k) " + narrow(to, i, "top[k]"));
  }

  std::string narrow(const std::string& target, const Instruction& last, const std::string& value) const {
    const Dtype dtype = program_.tensor(last.dst.tensor).dtype;
    if (dtype == Dtype::f32) return fmt::format("{} = {};", target, value);
    return fmt::format("{} = narrowed<{}>({});", target, cuda_dtype(dtype), value);
  }

  std::string computed(const Instruction& i, const std::string& x, const std::string& other) const {
    switch (i.opcode) {
      case Opcode::tensor_scalar:
        return i.scalar_first ? cuda_applied(i.alu, cuda_float(i.scalar), x)
                              : cuda_applied(i.alu, x, cuda_float(i.scalar));
      case Opcode::tensor_tensor:
      case Opcode::activation:
        return cuda_applied(i.alu, x, other);
      default:
        return x;
    }
  }

  // The first instruction's value; a fold's loops are written, and give `value`.
  std::string first_value() {
    const Instruction& i = *now_;
    switch (i.opcode) {
      case Opcode::memset:
        return cuda_float(i.scalar);
      case Opcode::iota:
        return fmt::format("static_cast<float>({})", place(i.src[0]));
      case Opcode::select:
        return fmt::format("{} != 0 ? {} : {}", read(i.src[0]), read(i.src[1]), read(i.src[2]));
      case Opcode::tensor_reduce:
        break;
      default:
        return computed(i, read(i.src[0]), i.src.size() > 1 ? read(i.src[1]) : "");
    }
    line(fmt::format("float value = {};", cuda_identity(i.alu)));
    const std::size_t kept = i.counts.size() - static_cast<std::size_t>(i.reduced);
    const int depth = depth_;
    for (std::size_t a = kept; a < i.counts.size(); ++a) {
      if (i.counts[a] == 1) continue;
      line(fmt::format("for (index a{0} = {1}; a{0} < {2}; ++a{0})", a, begin_of(a), end_of(a)));
      ++depth_;
    }
    line(fmt::format("value = {};", cuda_applied(i.alu, "value", read(i.src[0]))));
    depth_ = depth;
    return "value";
  }

  void print(std::size_t kept) {
    open("if (threadIdx.x == 0)");
    std::string format;
    for (const char c : now_->text) {
      if (c == '"' || c == '\\') format += '\\';
      format += c == '%' ? "%%" : c == '\n' ? "\\n" : std::string(1, c);
    }
    std::string shape;
    for (const index_t n : now_->counts) shape += (shape.empty() ? "" : "x") + std::to_string(n);
    line(fmt::format("printf(\"{} [{}]:\");", format, shape));
    const int depth = depth_;
    for (std::size_t a = 0; a < kept; ++a) {
      line(fmt::format("for (index a{0} = 0; a{0} < {1}; ++a{0})", a, now_->counts[a]));
      ++depth_;
    }
    line(fmt::format("printf(\" %g\", static_cast<double>({}));", read(now_->src[0])));
    depth_ = depth;
    line("printf(\"\\n\");");
    close();
  }

  CudaLayout layout_;
  const Program& program_;
  Names names_{cuda_words()};
  std::string name_, text_;
  std::vector<std::string> tensors_;
  const Instruction* now_ = nullptr;
  int depth_ = 0;
  bool wide_ = false;
};

}  // namespace

CudaText emit_cuda(const Program& program) {
  require(verify(program));
  return CudaWriter(program).run(program);
}

}  // namespace oriel::tile
