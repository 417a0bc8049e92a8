#include "tile/cuda_layout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "oriel/tensor.h"
#include "tile/liveness.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

constexpr index_t kSharedBytes = 48 * 1024;  // of a block on every GPU, without asking for more
constexpr index_t kMostBlocks = 2147483647;

bool moves(const Instruction& i) { return i.opcode != Opcode::loop && i.opcode != Opcode::end; }

template <class F>
void each_operand(const Instruction& i, const F& visit) {
  for (const Access& src : i.src)
    if (src.tensor >= 0) visit(src);
  if (i.dst.tensor >= 0) visit(i.dst);
}

// Every tile is used partition by partition, so that no partition sees another one's elements.
bool partitions_are_apart(const Program& program) {
  bool apart = true;
  for (const Instruction& i : program.instructions) {
    apart = apart && i.opcode != Opcode::device_print;
    each_operand(i, [&](const Access& access) {
      if (!program.tensor(access.tensor).on_chip()) return;
      const Along& first = access.along[0];
      apart = apart && first.start == Affine() && (first.step[0] == 1 || i.counts[0] == 1);
    });
  }
  return apart;
}

// The loop that holds everything, when its iterations are independent: the first instruction, or -1.
int outer_loop(const Program& program) {
  const std::vector<Instruction>& list = program.instructions;
  if (list.empty() || list[0].opcode != Opcode::loop || after_loop(program, 0) != list.size()) return -1;
  bool apart = !program.counters[static_cast<std::size_t>(list[0].counter)].ordered;
  for (const Instruction& i : list)
    each_operand(i, [&](const Access& access) {
      const TensorInfo& t = program.tensor(access.tensor);
      apart = apart && (!t.on_chip() || t.depth > 0);
    });
  return apart ? 0 : -1;
}

bool reads_back(const Program& program) {
  for (const Instruction& i : program.instructions)
    for (const Access& src : i.src)
      if (src.tensor >= 0 && !program.tensor(src.tensor).on_chip() && program.tensor(src.tensor).parameter < 0)
        return true;
  return false;
}

index_t trips_of(const Program& program, int loop) {
  if (loop < 0) return 1;
  const Instruction& i = program.instructions[static_cast<std::size_t>(loop)];
  return program.counters[static_cast<std::size_t>(i.counter)].trips;
}

// No element of HBM is written by two blocks. (Of iterations and programs `verify` has found out.)
bool writes_are_apart(const Program& program) {
  std::vector<std::vector<int>> writer(program.tensors.size());
  bool apart = true;
  walk(program, [&](std::size_t at, const Values& counters) {
    const Instruction& i = program.instructions[at];
    if (!apart || i.dst.tensor < 0 || program.tensor(i.dst.tensor).on_chip()) return;
    std::vector<int>& seen = writer[static_cast<std::size_t>(i.dst.tensor)];
    seen.resize(static_cast<std::size_t>(element_count(program.tensor(i.dst.tensor).shape)));
    const Pattern pattern = lower(program, i, i.dst);
    const index_t offset = pattern.offset.at(counters);
    const Trimmed part = trim(i, counters);
    const auto kept = static_cast<std::ptrdiff_t>(pattern.steps.size());
    each_index(Values(part.begin.begin(), part.begin.begin() + kept), Values(part.end.begin(), part.end.begin() + kept),
               [&](const Values& place) {
                 index_t flat = offset;
                 for (std::size_t a = 0; a < place.size(); ++a) flat += place[a] * pattern.steps[a].stride;
                 int& stamp = seen[static_cast<std::size_t>(flat)];
                 apart = apart && (stamp == 0 || stamp == static_cast<int>(place[0]) + 1);
                 stamp = static_cast<int>(place[0]) + 1;
               });
  });
  return apart;
}

void place_tiles(CudaLayout& out) {
  const Program& program = out.plan.program;
  std::vector<Lifetime> life = lifetimes(program);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {  // what one chain uses is alive at once
    if (out.plan.chain[i] < 2) continue;
    const std::size_t last = i + static_cast<std::size_t>(out.plan.chain[i]) - 1;
    for (const Access& src : program.instructions[i].src)
      if (src.tensor >= 0) life[static_cast<std::size_t>(src.tensor)].use(last);
    life[static_cast<std::size_t>(program.instructions[last].dst.tensor)].use(i);
  }
  constexpr index_t kAlign = 16;
  out.offset.assign(program.tensors.size(), 0);
  std::vector<std::size_t> order, placed;
  index_t bytes = 0;
  const auto size_of = [&](std::size_t t) {
    const TensorInfo& info = program.tensors[t];
    const index_t n = element_count(info.shape) / (out.by_partition && info.on_chip() ? info.shape[0] : 1);
    return (n * size_bytes(info.dtype) + kAlign - 1) / kAlign * kAlign;
  };
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const TensorInfo& info = program.tensors[t];
    if (!out.plan.has_memory[t] || info.parameter >= 0 || info.output >= 0) continue;
    if (info.on_chip()) {
      order.push_back(t);
    } else {
      out.offset[t] = out.hbm_bytes;
      out.hbm_bytes += size_of(t);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return life[a].first < life[b].first; });
  for (const std::size_t t : order) {  // the lowest gap among those that are alive
    std::erase_if(placed, [&](std::size_t p) { return !life[p].overlaps(life[t]); });
    index_t at = 0;
    for (const std::size_t p : placed) {
      if (at + size_of(t) <= out.offset[p]) break;
      at = std::max(at, out.offset[p] + size_of(p));
    }
    out.offset[t] = at;
    bytes = std::max(bytes, at + size_of(t));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at,
                                   [&](index_t value, std::size_t p) { return value < out.offset[p]; }),
                  t);
  }
  (bytes <= kSharedBytes ? out.shared_bytes : out.tile_bytes) = bytes;
}

}  // namespace

bool is_injective(const Pattern& pattern, const Values& counts, std::size_t from) {
  std::vector<Step> steps;
  for (std::size_t a = from; a < pattern.steps.size(); ++a)
    if (counts[a] > 1) steps.push_back({std::abs(pattern.steps[a].stride), counts[a]});
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.stride < b.stride; });
  index_t span = 0;
  for (const Step& s : steps) {
    if (s.stride <= span) return false;
    span += s.stride * (s.count - 1);
  }
  return true;
}

CudaLayout cuda_layout(const Program& program) {
  CudaLayout out;
  out.plan = plan_of(program);
  const Program& own = out.plan.program;
  index_t programs = 1, most_partitions = 1, most_elements = 1;
  for (const int g : own.grid) programs *= own.counters[static_cast<std::size_t>(g)].trips;
  for (const Instruction& i : own.instructions)
    if (moves(i)) most_partitions = std::max(most_partitions, i.counts[0]);
  if (reads_back(own)) {
    out.programs_in_turn = true;
    programs = 1;
  } else {
    out.loop = outer_loop(own);
    out.by_partition = partitions_are_apart(own) && writes_are_apart(own);
  }
  if (out.by_partition) out.partitions = most_partitions;
  out.blocks = out.partitions * trips_of(own, out.loop) * programs;
  if (out.blocks > kMostBlocks)
    throw Error(program.name + ": a grid must have at most " + std::to_string(kMostBlocks) + " blocks, but needs " +
                std::to_string(out.blocks));
  for (const Instruction& i : own.instructions) {
    if (!moves(i)) continue;
    const auto kept = static_cast<std::ptrdiff_t>(i.counts.size()) - i.reduced;
    most_elements = std::max(most_elements, std::accumulate(i.counts.begin() + (out.by_partition ? 1 : 0),
                                                            i.counts.begin() + kept, index_t{1}, std::multiplies<>()));
  }
  out.threads = static_cast<int>(std::clamp<index_t>((most_elements + 31) / 32 * 32, 32, 256));
  place_tiles(out);
  return out;
}

}  // namespace oriel::tile
