#include "tile/liveness.h"

#include <algorithm>

#include "oriel/tensor.h"
#include "tile/walk.h"

namespace oriel::tile {

void Lifetime::use(std::size_t at) {
  first = used ? std::min(first, at) : at;
  last = used ? std::max(last, at) : at;
  used = true;
}

index_t partition_bytes(const TensorInfo& tile) {
  return element_count(tile.shape) / tile.shape[0] * size_bytes(tile.dtype);
}

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> out(program.tensors.size());
  std::vector<std::size_t> loops;  // that are open
  std::vector<std::size_t> ends(program.instructions.size());
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    if (program.instructions[i].opcode == Opcode::loop) loops.push_back(i);
    if (program.instructions[i].opcode != Opcode::end) continue;
    ends[loops.back()] = i;
    loops.pop_back();
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.opcode == Opcode::end) loops.pop_back();
    const auto use = [&](int id) {
      if (id < 0) return;
      Lifetime& t = out[static_cast<std::size_t>(id)];
      t.use(i);
      const auto depth = static_cast<std::size_t>(program.tensor(id).depth);
      if (depth >= loops.size()) return;
      t.use(loops[depth]);
      t.use(ends[loops[depth]]);
    };
    use(instruction.dst.tensor);
    for (const Access& src : instruction.src) use(src.tensor);
    if (instruction.opcode == Opcode::loop) loops.push_back(i);
  }
  return out;
}

Peak sbuf_peak(const Program& program) {
  const std::vector<Lifetime> intervals = lifetimes(program);
  // Bytes come and go at the ends of intervals.
  std::vector<index_t> change(program.instructions.size() + 1, 0);
  for (std::size_t t = 0; t < intervals.size(); ++t) {
    if (!intervals[t].used || !program.tensors[t].on_chip()) continue;
    change[intervals[t].first] += partition_bytes(program.tensors[t]);
    change[intervals[t].last + 1] -= partition_bytes(program.tensors[t]);
  }
  Peak peak;
  index_t now = 0;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    now += change[i];
    if (now > peak.bytes) peak = {now, i, {}};
  }
  for (std::size_t t = 0; t < intervals.size(); ++t)
    if (intervals[t].used && program.tensors[t].on_chip() && intervals[t].first <= peak.at &&
        peak.at <= intervals[t].last)
      peak.alive.push_back(static_cast<int>(t));
  return peak;
}

}  // namespace oriel::tile
