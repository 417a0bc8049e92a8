// CUDA C++: a loop over elements for each instruction, shared by a block's threads, and a barrier after it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oriel/tensor.h"
#include "oriel/tile/emit.h"
#include "oriel/tile/machine.h"
#include "tile/cuda_chain.h"
#include "tile/cuda_text.h"
#include "tile/unique_names.h"

namespace oriel::tile {
namespace {

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
    out_.set_depth(1);
    open_programs();
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) write(i);
    while (out_.depth() > 1) out_.close();
    const std::string body = out_.take();
    out_.set_depth(0);
    heading(given);
    out_.append(cuda_prelude());
    out_.line("");
    out_.open(fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({})", layout_.threads, name_,
                          parameters(true)));
    out_.line("using namespace oriel_tile;");
    out_.line(fmt::format("using index = {};", wide_ ? "long long" : "int"));
    place_block(body);
    place_memory();
    out_.append(body);
    out_.close();
    launcher();
    return {out_.take(), name_, layout_.blocks, layout_.threads, layout_.scratch_bytes()};
  }

 private:
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
    out_.line(cuda_comment(fmt::format("{}({}{}{}) as CUDA C++: {} block{} of {} threads, {} bytes of scratch memory.",
                                       given.name, arguments, given.constants.empty() ? "" : "; ", given.constants,
                                       layout_.blocks, layout_.blocks == 1 ? "" : "s", layout_.threads,
                                       layout_.scratch_bytes())));
    out_.line(layout_.by_partition
                  ? "// A block has one partition; its threads share the elements of each instruction."
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
    out_.line("");
    out_.line("#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)");
    out_.line(fmt::format("inline cudaError_t launch_{}({}, cudaStream_t stream) {{", name_, parameters(true)));
    out_.line(
        fmt::format("  {}<<<{}, {}, 0, stream>>>({});", name_, layout_.blocks, layout_.threads, parameters(false)));
    out_.line("  return cudaGetLastError();");
    out_.line("}");
    out_.line("#endif");
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
        out_.line(fmt::format("const index {} = {};", variable, value_of(extent == 1 ? "0" : text)));
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
      out_.open(fmt::format("for (index {0} = 0; {0} < {1}; ++{0})", c.name, c.trips));
    }
  }

  void place_memory() {
    if (layout_.shared_bytes > 0)
      out_.line(fmt::format("__shared__ __align__(16) unsigned char tiles[{}];", layout_.shared_bytes));
    if (layout_.tile_bytes > 0)
      out_.line(fmt::format("unsigned char* tiles = scratch + {} + {}ULL * blockIdx.x;", layout_.hbm_bytes,
                            layout_.tile_bytes));
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      const TensorInfo& info = program_.tensors[t];
      if (!layout_.plan.has_memory[t] || info.parameter >= 0 || info.output >= 0) continue;
      out_.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>({2} + {3});", cuda_dtype(info.dtype), tensors_[t],
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
      return out_.open(fmt::format("for (index {0} = {1}; {0} <= {2}; {0} += {3})", c.name, c.begin, c.last(), c.step));
    }
    if (i.opcode == Opcode::end) {
      const bool outer = layout_.loop >= 0 && at + 1 == program_.instructions.size();
      return outer ? void() : out_.close();
    }
    const int n = layout_.plan.chain[at];
    if (n == 0) return;
    for (int c = 0; c < n; ++c)
      out_.line(cuda_comment(to_string(program_, program_.instructions[at + static_cast<std::size_t>(c)])));
    CudaChain(subject_, {&i, static_cast<std::size_t>(n)}, out_).write();
    const std::size_t rest = at + static_cast<std::size_t>(n);
    const bool ends =
        rest == program_.instructions.size() || (layout_.loop >= 0 && rest + 1 == program_.instructions.size());
    if (!ends || layout_.programs_in_turn) out_.line("__syncthreads();");
  }

  CudaLayout layout_;
  const Program& program_;
  UniqueNames names_{cuda_words()};
  std::string name_;
  std::vector<std::string> tensors_;
  CudaSubject subject_{layout_, tensors_};
  CudaLines out_;
  bool wide_ = false;
};

}  // namespace

CudaText emit_cuda(const Program& program) {
  require(verify(program));
  return CudaWriter(program).run(program);
}

}  // namespace oriel::tile
