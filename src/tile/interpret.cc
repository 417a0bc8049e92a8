// What a program means: every element of every instruction in turn. Memory that nothing wrote is poison; what is
// computed of poison is poison, and none may reach HBM. Every address is checked. Slow and plain on purpose.
#include "tile/interpret.h"

#include <fmt/format.h>

#include <algorithm>

#include "oriel/tensor.h"
#include "tile/element.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

class Interpreter {
 public:
  Interpreter(const Program& program, const std::vector<void*>& memory, const Sink& print)
      : program_(program), print_(print), data_(memory), owned_(memory.size()), written_(memory.size()) {
    for (std::size_t t = 0; t < memory.size(); ++t) {
      const TensorInfo& info = program.tensors[t];
      const index_t n = element_count(info.shape);
      written_[t].assign(static_cast<std::size_t>(n), info.parameter >= 0);
      if (memory[t] == nullptr) {
        owned_[t].resize(static_cast<std::size_t>(n * size_bytes(info.dtype)));
        data_[t] = owned_[t].data();
      }
    }
  }

  void run() {
    const std::vector<std::vector<int>> made_in = tiles_of_loops();
    const auto visit = [&](std::size_t i, const Values& at) {
      counters_ = &at;
      now_ = &program_.instructions[i];
      step();
      counters_ = nullptr;  // they live in the walk
    };
    // A tile is fresh in every program of the grid, and in every iteration of the loop it is made in; HBM is shared.
    walk_grid(program_, [&](Values& counters) {
      for (std::size_t t = 0; t < data_.size(); ++t)
        if (program_.tensors[t].on_chip()) forget(static_cast<int>(t));
      walk_range(program_, 0, program_.instructions.size(), counters, visit, [&](std::size_t loop) {
        for (const int t : made_in[loop]) forget(t);
      });
    });
  }

 private:
  void forget(int tile) {
    std::vector<bool>& written = written_[static_cast<std::size_t>(tile)];
    written.assign(written.size(), false);
  }

  // The tiles that are made in the body of each loop.
  std::vector<std::vector<int>> tiles_of_loops() const {
    std::vector<std::vector<int>> out(program_.instructions.size());
    std::vector<std::size_t> open;
    std::vector<bool> seen(program_.tensors.size(), false);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      if (instruction.opcode == Opcode::end) open.pop_back();
      if (instruction.opcode == Opcode::loop) open.push_back(i);
      const auto use = [&](int t) {
        if (t < 0 || seen[static_cast<std::size_t>(t)]) return;
        seen[static_cast<std::size_t>(t)] = true;
        const auto depth = static_cast<std::size_t>(program_.tensor(t).depth);
        if (program_.tensor(t).on_chip() && depth > 0 && depth <= open.size()) out[open[depth - 1]].push_back(t);
      };
      for (const Access& src : instruction.src) use(src.tensor);
      use(instruction.dst.tensor);
    }
    return out;
  }

  // The place of an element in its tensor's memory, every index checked.
  std::size_t place(const Access& access, const Values& at) const {
    const TensorInfo& info = program_.tensor(access.tensor);
    index_t flat = 0;
    for (std::size_t d = 0; d < access.along.size(); ++d) {
      const Along& along = access.along[d];
      index_t i = along.start.at(*counters_);
      for (std::size_t a = 0; a < along.step.size(); ++a) i += along.step[a] * at[a];
      const index_t n = info.shape[static_cast<int>(d)];
      if (i < 0 || i >= n)
        throw Failure("err_tensor_access_out_of_bound",
                      fmt::format("Out-of-bound access for tensor `{}` on dimension {}: index {} exceed dimension size "
                                  "of {}",
                                  info.name, d, i, n),
                      now_->where);
      flat = flat * n + i;
    }
    return static_cast<std::size_t>(flat);
  }

  std::size_t readable(const Access& access, const Values& at) {
    const std::size_t i = place(access, at);
    if (written_[static_cast<std::size_t>(access.tensor)][i]) return i;
    poison_ = true;
    const bool leaves = now_->opcode == Opcode::device_print || !program_.tensor(now_->dst.tensor).on_chip();
    if (leaves)
      throw Failure(
          "err_read_of_unwritten",
          fmt::format("{} reads element {} of `{}`, which nothing has written, or which was computed of such; "
                      "fill the tile first, or mask this too",
                      name(now_->opcode), i, program_.tensor(access.tensor).name),
          now_->where);
    return i;
  }

  float read(const Access& access, const Values& at) {
    const std::size_t i = readable(access, at);
    return load_element(data_[static_cast<std::size_t>(access.tensor)], program_.tensor(access.tensor).dtype,
                        static_cast<index_t>(i));
  }

  void write(const Values& at, float value) {
    const std::size_t i = place(now_->dst, at);
    const std::size_t t = static_cast<std::size_t>(now_->dst.tensor);
    store_element(data_[t], program_.tensors[t].dtype, static_cast<index_t>(i), value);
    written_[t][i] = !poison_;
    poison_ = false;
  }

  void copy_bits(const Values& at) {
    const std::size_t from = readable(now_->src[0], at), to = place(now_->dst, at);
    const std::size_t d = static_cast<std::size_t>(now_->dst.tensor), s = static_cast<std::size_t>(now_->src[0].tensor);
    const std::size_t bytes = static_cast<std::size_t>(size_bytes(program_.tensors[d].dtype));
    std::memcpy(static_cast<std::byte*>(data_[d]) + to * bytes, static_cast<std::byte*>(data_[s]) + from * bytes,
                bytes);
    written_[d][to] = !poison_;
    poison_ = false;
  }

  float value(const Values& at) {
    const Instruction& i = *now_;
    const float s = static_cast<float>(i.scalar);
    switch (i.opcode) {
      case Opcode::memset:
        return s;
      case Opcode::iota: {
        index_t v = i.src[0].along[0].start.at(*counters_);
        for (std::size_t a = 0; a < at.size(); ++a) v += i.src[0].along[0].step[a] * at[a];
        return static_cast<float>(v);
      }
      case Opcode::tensor_scalar: {
        const float x = read(i.src[0], at);
        return i.scalar_first ? apply(i.alu, s, x) : apply(i.alu, x, s);
      }
      case Opcode::tensor_tensor:
        return apply(i.alu, read(i.src[0], at), read(i.src[1], at));
      case Opcode::select:
        return read(i.src[0], at) != 0 ? read(i.src[1], at) : read(i.src[2], at);
      case Opcode::activation:
        return apply(i.alu, read(i.src[0], at), 0);
      default:
        return read(i.src[0], at);
    }
  }

  void reduce(const Trimmed& part) {
    const std::size_t kept = now_->counts.size() - static_cast<std::size_t>(now_->reduced);
    const auto split = [&](const Values& v) { return v.begin() + static_cast<std::ptrdiff_t>(kept); };
    each_index(Values(part.begin.begin(), split(part.begin)), Values(part.end.begin(), split(part.end)),
               [&](const Values& out) {
                 float total = 0;
                 bool first = true;
                 each_index(Values(split(part.begin), part.begin.end()), Values(split(part.end), part.end.end()),
                            [&](const Values& tap) {
                              Values at = out;
                              at.insert(at.end(), tap.begin(), tap.end());
                              const float x = read(now_->src[0], at);
                              total = first ? x : apply(now_->alu, total, x);
                              first = false;
                            });
                 write(out, total);
               });
  }

  // State in f32; what is computed of poison is poison, and so is all that follows.
  void scan() {
    const Instruction& i = *now_;
    for (index_t p = 0; p < i.counts[0]; ++p) {
      float before = i.src.size() > 2 ? read(i.src[2], {p, 0}) : static_cast<float>(i.scalar);
      bool poisoned = poison_;
      for (index_t f = 0; f < i.counts[1]; ++f) {
        const float x = read(i.src[0], {p, f});
        before = apply(i.alu1, apply(i.alu, x, before), read(i.src[1], {p, f}));
        poisoned = poison_ = poison_ || poisoned;
        write({p, f}, before);
      }
    }
  }

  void eight_largest() {
    const Instruction& i = *now_;
    const std::size_t t = static_cast<std::size_t>(i.dst.tensor);
    for (index_t p = 0; p < i.counts[0]; ++p) {
      Values begin(i.counts.size(), 0), end = i.counts;
      begin[0] = p;
      end[0] = p + 1;
      std::vector<float> all;
      each_index(begin, end, [&](const Values& at) { all.push_back(read(i.src[0], at)); });
      std::stable_sort(all.begin(), all.end(),
                       [](float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); });
      for (std::size_t k = 0; k < 8; ++k) {
        const std::size_t to = place(i.dst, begin) + k;
        store_element(data_[t], program_.tensors[t].dtype, static_cast<index_t>(to), all[k]);
        written_[t][to] = !poison_;
      }
      poison_ = false;
    }
  }

  void step() {
    const Trimmed part = trim(*now_, *counters_);
    if (part.empty) return;
    if (now_->opcode == Opcode::device_print) {
      if (print_) print_(printed(now_->text, now_->counts, [&](const Values& at) { return read(now_->src[0], at); }));
      return;
    }
    if (now_->opcode == Opcode::tensor_reduce) return reduce(part);
    if (now_->opcode == Opcode::tensor_tensor_scan) return scan();
    if (now_->opcode == Opcode::max8) return eight_largest();
    const bool bits =
        (now_->opcode == Opcode::dma_copy || now_->opcode == Opcode::tensor_copy) && copies_bits(program_, *now_);
    each_index(part.begin, part.end, [&](const Values& at) {
      if (bits)
        copy_bits(at);
      else
        write(at, value(at));
    });
  }

  const Program& program_;
  const Sink& print_;
  std::vector<void*> data_;
  std::vector<std::vector<std::byte>> owned_;
  std::vector<std::vector<bool>> written_;
  const Instruction* now_ = nullptr;
  const Values* counters_ = nullptr;
  bool poison_ = false;  // something that the element at hand was computed of
};

}  // namespace

std::string printed(const std::string& text, const Values& counts, const std::function<float(const Values&)>& read) {
  std::string line = text + " ";
  for (std::size_t a = 0; a < counts.size(); ++a) line += fmt::format("{}{}", a == 0 ? "[" : "x", counts[a]);
  line += "]:";
  each_index(Values(counts.size(), 0), counts, [&](const Values& at) { line += fmt::format(" {}", read(at)); });
  return line;
}

void interpret(const Program& program, const std::vector<void*>& memory, const Sink& print) {
  Interpreter(program, memory, print).run();
}

}  // namespace oriel::tile
