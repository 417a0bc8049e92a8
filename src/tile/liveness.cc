#include "tile/liveness.h"

#include <algorithm>

#include "oriel/tensor.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

struct Interval {
  std::size_t first = 0, last = 0;
  bool used = false;

  void use(std::size_t at) {
    first = used ? std::min(first, at) : at;
    last = used ? std::max(last, at) : at;
    used = true;
  }
};

}  // namespace

index_t partition_bytes(const TensorInfo& tile) {
  return element_count(tile.shape) / tile.shape[0] * size_bytes(tile.dtype);
}

Peak sbuf_peak(const Program& program) {
  std::vector<Interval> intervals(program.tensors.size());
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.dst.tensor >= 0) intervals[static_cast<std::size_t>(instruction.dst.tensor)].use(i);
    for (const Access& src : instruction.src)
      if (src.tensor >= 0) intervals[static_cast<std::size_t>(src.tensor)].use(i);
  }
  for (std::size_t i = program.instructions.size(); i-- > 0;) {  // inner loops first
    if (program.instructions[i].opcode != Opcode::loop) continue;
    const std::size_t end = after_loop(program, i) - 1;
    for (Interval& t : intervals)
      if (t.used && t.first < i && t.last > i && t.last < end) t.last = end;
  }
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
