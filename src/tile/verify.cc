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
        add("err_unsupported_memory",
            fmt::format("an argument is immutable, but {} writes `{}`; return a new tensor in "
                        "shared_hbm",
                        name(i.opcode), program_.tensor(i.dst.tensor).name),
            i);
    }
    check_unwritten_tiles();
    if (found_.empty()) check_masked_bounds();
    if (found_.empty())
      for (const int output : program_.outputs) check_writes(output);
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
    if (!t.on_chip()) return;
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
                      "{}; the first index must be the first axis, and stand in dimension 0 only",
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

  // Iterations are told apart by the counters of unordered loops and of the grid.
  index_t stamp_of(const Values& counters) const {
    index_t stamp = 0;
    for (std::size_t c = 0; c < counters.size(); ++c) {
      const Counter& counter = program_.counters[c];
      if (!counter.ordered) stamp = stamp * (counter.last() + 2) + counters[c] + 1;
    }
    return stamp + 1;
  }

  void mark(index_t& stamp_there, index_t stamp, index_t flat, const Instruction& i) {
    if (stamp_there != 0 && stamp_there != stamp && found_.empty())
      add("err_unexpected_output_dependencies",
          fmt::format(
              "element {} of `{}` is written by two iterations of a parallel loop; use nl::sequential_range, or "
              "let each iteration write its own part",
              flat, program_.tensor(i.dst.tensor).name),
          i);
    stamp_there = stamp;
  }

  void check_writes(int output) {
    const TensorInfo& t = program_.tensor(output);
    std::vector<index_t> stamps(static_cast<std::size_t>(element_count(t.shape)), 0);
    const Instruction* last = nullptr;
    walk(program_, [&](std::size_t at, const Values& counters) {
      const Instruction& i = program_.instructions[at];
      if (i.dst.tensor != output || !found_.empty()) return;
      last = &i;
      const index_t stamp = stamp_of(counters);
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
        for (index_t k = 0; k < n; ++k, flat += stride) mark(stamps[static_cast<std::size_t>(flat)], stamp, flat, i);
      });
    });
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
};

}  // namespace

std::vector<Finding> verify(const Program& program) { return Verifier(program).run(); }

void require(const std::vector<Finding>& findings) {
  for (const Finding& f : findings)
    if (f.is_error) throw Failure(f.id, f.text, f.where);
}

}  // namespace oriel::tile
