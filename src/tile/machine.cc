#include "oriel/tile/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "oriel/tensor.h"
#include "tile/liveness.h"

namespace oriel::tile {
namespace {

using nki::machine;
constexpr std::array<const machine*, 4> kMachines = {&nki::trn1, &nki::trn2, &nki::trn3, &nki::native};

class Checker {
 public:
  Checker(const Program& program, const machine& m) : program_(program), machine_(m) {}

  std::vector<Finding> run() {
    if (machine_.partitions == 0) return {};
    for (const TensorInfo& t : program_.tensors)
      if (t.on_chip()) check_partitions(t);
    for (const Instruction& i : program_.instructions) {
      if (i.opcode == Opcode::loop || i.opcode == Opcode::end) continue;
      check_operand(i, i.dst);
      for (const Access& src : i.src) check_operand(i, src);
      check_instruction_fits(i);
    }
    check_total_fits();
    return std::move(found_);
  }

 private:
  void add(std::string id, std::string text, const Place& where, bool is_error = true) {
    found_.push_back({std::move(id), is_error, std::move(text), where});
  }

  void check_partitions(const TensorInfo& t) {
    if (t.shape[0] <= machine_.partitions) return;
    add("err_num_partition_exceed_arch_limit",
        fmt::format("number of partitions {} exceed architecture limitation of {}. `{}` is {}; cut dimension 0 with "
                    "nl::affine_range(0, {}, {})",
                    t.shape[0], machine_.partitions, t.name, to_string(t.shape), t.shape[0], machine_.partitions),
        t.where);
  }

  void check_operand(const Instruction& i, const Access& access) {
    if (access.tensor < 0 || !program_.tensor(access.tensor).on_chip()) return;
    const TensorInfo& t = program_.tensor(access.tensor);
    const Pattern pattern = merged(program_, i, access);
    const int free_axes = static_cast<int>(pattern.steps.size()) - 1;
    if (free_axes > machine_.free_axes)
      add("AP5",
          fmt::format("the access pattern of `{}` must have at most {} free axes, but {} has {}; reduce one axis "
                      "first, in an instruction of its own",
                      t.name, machine_.free_axes, to_string(pattern, program_), free_axes),
          i.where);
    for (std::size_t a = 1; a < pattern.steps.size(); ++a) {
      const Step& s = pattern.steps[a];
      if (s.count <= machine_.count_limit && std::abs(s.stride) <= machine_.stride_limit) continue;
      add("AP16",
          fmt::format("a free axis of `{}` must have a count of at most {} and a stride of at most {} elements, "
                      "but one is [{},{}]; cut the tile into narrower ones",
                      t.name, machine_.count_limit, machine_.stride_limit, s.stride, s.count),
          i.where);
    }
    check_start(i, access, t);
  }

  // Patterns of more than 64 partitions start at 0, of more than 32 at a multiple of 64, others at one of 32.
  void check_start(const Instruction& i, const Access& access, const TensorInfo& t) {
    const index_t partitions = i.counts[0];
    const index_t multiple = partitions > 64 ? 128 : partitions > 32 ? 64 : 32;
    const Affine& start = access.along[0].start;
    bool aligned = start.constant % multiple == 0;
    for (const Term& term : start.terms) {
      const Counter& c = program_.counters[static_cast<std::size_t>(term.variable)];
      aligned = aligned && (term.factor * c.begin) % multiple == 0 &&
                (c.trips == 1 || (term.factor * c.step) % multiple == 0);
    }
    if (!aligned)
      add("PSTART",
          fmt::format("a pattern of {} partitions must start at a multiple of {}, but `{}` is used from "
                      "partition {} on; move the data to such a partition",
                      partitions, multiple, t.name, to_string(start, program_)),
          i.where);
  }

  void check_instruction_fits(const Instruction& i) {
    std::vector<int> tiles;
    const auto use = [&](int t) {
      if (t >= 0 && program_.tensor(t).on_chip() && std::find(tiles.begin(), tiles.end(), t) == tiles.end())
        tiles.push_back(t);
    };
    for (const Access& src : i.src) use(src.tensor);
    use(i.dst.tensor);
    index_t total = 0;
    std::string sum, largest_hint;
    for (const int t : tiles) {
      const index_t bytes = partition_bytes(program_.tensor(t));
      sum += fmt::format("{}{}", sum.empty() ? "" : " + ", bytes);
      total += bytes;
    }
    if (total == 0 || total <= machine_.sbuf_bytes) return;
    const TensorInfo& first = program_.tensor(tiles[0]);
    if (first.shape.size() > 1) {
      const index_t fits = first.shape[1] * machine_.sbuf_bytes / total;
      largest_hint = fmt::format("; at most about {} of the {} rows of `{}` fit: work on bands of rows", fits,
                                 first.shape[1], first.name);
    }
    add("SBUF1",
        fmt::format("{} must fit its tiles into SBUF, but needs {}{} B/partition, and {} has {}{}", name(i.opcode), sum,
                    tiles.size() > 1 ? fmt::format(" = {}", total) : "", machine_.name, machine_.sbuf_bytes,
                    largest_hint),
        i.where);
  }

  void check_total_fits() {
    const Peak peak = sbuf_peak(program_);
    if (peak.bytes <= machine_.sbuf_bytes) return;
    std::string names;
    for (const int t : peak.alive) names += (names.empty() ? "" : ", ") + program_.tensor(t).name;
    add("SBUF2",
        fmt::format("the tiles that are alive together ({}) need {} B/partition, and {} has {}: the compiler "
                    "would spill {} B/partition to HBM",
                    names, peak.bytes, machine_.name, machine_.sbuf_bytes, peak.bytes - machine_.sbuf_bytes),
        program_.instructions[peak.at].where, false);
  }

  const Program& program_;
  const machine& machine_;
  std::vector<Finding> found_;
};

}  // namespace

const nki::machine& nki::machine_named(std::string_view wanted) {
  for (const machine* m : kMachines)
    if (m->name == wanted) return *m;
  throw Error("machine: must be one of trn1, trn2, trn3, native, but is '" + std::string(wanted.substr(0, 40)) + "'");
}

std::vector<Finding> check(const Program& program, const nki::machine& machine) {
  return Checker(program, machine).run();
}

}  // namespace oriel::tile
