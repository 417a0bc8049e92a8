// What makes a program meaningless on any machine.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "oriel/tensor.h"
#include "oriel/tile/machine.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

struct Bounds {
  index_t low = 0, high = 0;
};

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  std::vector<Finding> run() {
    for (const Instruction& i : program_.instructions) {
      if (i.opcode == Opcode::loop || i.opcode == Opcode::end) continue;
      check_operand(i, i.dst);
      for (const Access& src : i.src) check_operand(i, src);
      if (i.dst.tensor >= 0 && program_.tensor(i.dst.tensor).parameter >= 0)
        add("err_cannot_update_immutable_parameter",
            fmt::format("Cannot update immutable parameter: {} writes the argument `{}`; return a new tensor in "
                        "shared_hbm",
                        name(i.opcode), program_.tensor(i.dst.tensor).name),
            i);
    }
    check_unwritten_tiles();
    find_nests();
    if (found_.empty()) check_masked_bounds();
    if (found_.empty())
      for (std::size_t t = 0; t < program_.tensors.size() && found_.empty(); ++t)
        if (program_.tensors[t].output >= 0 || in_parallel_.contains(static_cast<int>(t)))
          check_writes(static_cast<int>(t));
    return std::move(found_);
  }

 private:
  void add(const std::string& id, const std::string& text, const Instruction& at) {
    found_.push_back({id, true, text, at.where});
  }

  // Over all counters and iteration axes, unmasked.
  Bounds bounds(const Instruction& i, const Along& along) const {
    Bounds b{along.start.constant, along.start.constant};
    const auto widen = [&](index_t first, index_t last) {
      b.low += std::min(first, last);
      b.high += std::max(first, last);
    };
    for (const Term& t : along.start.terms) {
      const Counter& c = program_.counters[static_cast<std::size_t>(t.variable)];
      widen(t.factor * c.begin, t.factor * c.last());
    }
    for (std::size_t a = 0; a < along.step.size(); ++a) widen(0, along.step[a] * (i.counts[a] - 1));
    return b;
  }

  void out_of_bounds(const Instruction& i, const TensorInfo& t, std::size_t d, const Bounds& b) {
    add("err_tensor_access_out_of_bound",
        fmt::format(
            "Out-of-bound access for tensor `{}` on dimension {}: index range [{}, {}] exceed dimension size of "
            "{}; shorten the index to end at {}, or mask it",
            t.name, d, b.low, b.high, t.shape[static_cast<int>(d)], t.shape[static_cast<int>(d)] - 1),
        i);
  }

  void check_operand(const Instruction& i, const Access& access) {
    if (access.tensor < 0) return;
    const TensorInfo& t = program_.tensor(access.tensor);
    for (std::size_t d = 0; d < access.along.size() && i.mask.empty(); ++d) {
      const Bounds b = bounds(i, access.along[d]);
      if (b.low < 0 || b.high >= t.shape[static_cast<int>(d)]) return out_of_bounds(i, t, d, b);
    }
    if (!t.on_chip() || i.opcode == Opcode::dma_copy) return;  // DMA may go to any partition
    bool contiguous = true;
    for (std::size_t d = 0; d < access.along.size(); ++d) {
      for (std::size_t a = 0; a < access.along[d].step.size(); ++a) {
        const bool one = i.counts[a] == 1;
        const index_t wanted = d == 0 && a == 0 ? 1 : 0;
        if ((d == 0 || a == 0) && access.along[d].step[a] != wanted && !one) contiguous = false;
      }
    }
    if (!contiguous)
      add("PSTEP",
          fmt::format("partition stride of `{}` must be {}, one partition after the other, but the pattern is "
                      "{}; the first index must be the first axis, and be in dimension 0 only",
                      t.name, element_count(t.shape) / t.shape[0], to_string(lower(program_, i, access), program_)),
          i);
  }

  void check_unwritten_tiles() {
    std::set<int> written(program_.parameters.begin(), program_.parameters.end());
    std::set<int> ever = written;
    for (const Instruction& i : program_.instructions) ever.insert(i.dst.tensor);
    for (const Instruction& i : program_.instructions) {
      for (const Access& src : i.src)
        if (src.tensor >= 0 && !ever.contains(src.tensor))
          add("err_read_of_unwritten",
              fmt::format("{} reads `{}`, which nothing ever writes; fill or load it first", name(i.opcode),
                          program_.tensor(src.tensor).name),
              i);
    }
  }

  // Masked instructions, exactly: each of their instances, trimmed.
  void check_masked_bounds() {
    walk(program_, [&](std::size_t at, const Values& counters) {
      const Instruction& i = program_.instructions[at];
      if (i.mask.empty() || !found_.empty()) return;
      const Trimmed part = trim(i, counters);
      if (part.empty) return;
      std::vector<const Access*> operands = {&i.dst};
      for (const Access& src : i.src) operands.push_back(&src);
      for (const Access* access : operands) {
        if (access->tensor < 0) continue;
        for (std::size_t d = 0; d < access->along.size(); ++d) {
          const Along& along = access->along[d];
          Bounds b{along.start.at(counters), along.start.at(counters)};
          for (std::size_t a = 0; a < along.step.size(); ++a) {
            b.low += std::min(along.step[a] * part.begin[a], along.step[a] * (part.end[a] - 1));
            b.high += std::max(along.step[a] * part.begin[a], along.step[a] * (part.end[a] - 1));
          }
          const TensorInfo& t = program_.tensor(access->tensor);
          if (b.low < 0 || b.high >= t.shape[static_cast<int>(d)]) return out_of_bounds(i, t, d, b);
        }
      }
    });
  }

  // Where a write is: the counters of the loops around it, the grid's first, and their values.
  struct Instance {
    const std::vector<int>* nest;
    Values counters;
  };

  // The loops around each instruction; tiles that were made before a parallel loop, and are written in it.
  void find_nests() {
    std::vector<int> open = program_.grid;
    for (const Instruction& i : program_.instructions) {
      if (i.opcode == Opcode::end) open.pop_back();
      nests_.push_back(open);
      if (i.opcode == Opcode::loop) open.push_back(i.counter);
      if (i.dst.tensor < 0 || !program_.tensor(i.dst.tensor).on_chip()) continue;
      for (std::size_t level = own_level(program_.tensor(i.dst.tensor)); level < open.size(); ++level)
        if (!program_.counters[static_cast<std::size_t>(open[level])].ordered) in_parallel_.insert(i.dst.tensor);
    }
  }

  // A tile is a new one in each iteration of the loops around the place where it is made.
  std::size_t own_level(const TensorInfo& t) const {
    return t.on_chip() ? program_.grid.size() + static_cast<std::size_t>(t.depth) : 0;
  }

  // Nothing says which of two writes comes first: the outermost loop that tells them apart is a parallel one.
  bool unordered(const Instance& a, const Instance& b, const TensorInfo& t) const {
    for (std::size_t level = 0; level < std::min(a.nest->size(), b.nest->size()); ++level) {
      const int counter = (*a.nest)[level];
      if (counter != (*b.nest)[level]) return false;  // two loops, one after the other
      if (a.counters[static_cast<std::size_t>(counter)] == b.counters[static_cast<std::size_t>(counter)]) continue;
      return level >= own_level(t) && !program_.counters[static_cast<std::size_t>(counter)].ordered;
    }
    return false;
  }

  void mark(index_t& stamp, const std::vector<Instance>& writers, index_t flat, const Instruction& i) {
    const auto now = static_cast<index_t>(writers.size());
    const TensorInfo& t = program_.tensor(i.dst.tensor);
    if (stamp != 0 && stamp != now && found_.empty() &&
        unordered(writers[static_cast<std::size_t>(stamp - 1)], writers.back(), t))
      add("err_unexpected_output_dependencies",
          fmt::format(
              "element {} of `{}` is written by two iterations of a parallel loop; use nl::sequential_range, or "
              "let each iteration write its own part",
              flat, t.name),
          i);
    stamp = now;
  }

  void check_writes(int output) {
    const TensorInfo& t = program_.tensor(output);
    std::vector<index_t> stamps(static_cast<std::size_t>(element_count(t.shape)), 0);  // the last writer, from 1 on
    std::vector<Instance> writers;
    const Instruction* last = nullptr;
    walk(program_, [&](std::size_t at, const Values& counters) {
      const Instruction& i = program_.instructions[at];
      if (i.dst.tensor != output || !found_.empty()) return;
      last = &i;
      writers.push_back({&nests_[at], counters});
      const Trimmed part = trim(i, counters);
      const Pattern pattern = lower(program_, i, i.dst);
      const index_t offset = pattern.offset.at(counters);
      if (part.empty) return;
      const std::size_t row = pattern.steps.size() - 1;  // rows in a tight loop: results have millions of elements
      const index_t stride = pattern.steps[row].stride, n = part.end[row] - part.begin[row];
      Values begin(part.begin.begin(), part.begin.begin() + static_cast<std::ptrdiff_t>(row + 1)), end = begin;
      for (std::size_t a = 0; a < row; ++a) end[a] = part.end[a];
      end[row] = begin[row] + 1;
      each_index(begin, end, [&](const Values& place) {
        index_t flat = offset;
        for (std::size_t a = 0; a <= row; ++a) flat += place[a] * pattern.steps[a].stride;
        for (index_t k = 0; k < n; ++k, flat += stride) mark(stamps[static_cast<std::size_t>(flat)], writers, flat, i);
      });
    });
    if (t.on_chip()) return;
    const auto missing = std::count(stamps.begin(), stamps.end(), index_t{0});
    if (missing == 0 || !found_.empty()) return;
    const auto first = std::find(stamps.begin(), stamps.end(), index_t{0}) - stamps.begin();
    found_.push_back({"err_tensor_output_not_written_to", true,
                      fmt::format("{} of the {} elements of output `{}` are not written, the first at {}; {}", missing,
                                  stamps.size(), t.name, first,
                                  last == nullptr ? "no nl::store reaches it (is a loop's number of iterations 0?)"
                                                  : "store to all of it"),
                      last == nullptr ? t.where : last->where});
  }

  const Program& program_;
  std::vector<Finding> found_;
  std::vector<std::vector<int>> nests_;
  std::set<int> in_parallel_;
};

}  // namespace

std::vector<Finding> verify(const Program& program) { return Verifier(program).run(); }

void require(const std::vector<Finding>& findings) {
  for (const Finding& f : findings)
    if (f.is_error) throw Failure(f.id, f.text, f.where);
}

}  // namespace oriel::tile
