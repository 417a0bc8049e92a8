#include "tile/plan.h"

#include <algorithm>

#include "tile/element.h"
#include "tile/serial.h"

namespace oriel::tile {
namespace {

// The access visits its whole tensor, axis by axis.
bool is_whole(const Program& program, const Access& access, const Values& counts) {
  const Extents& shape = program.tensor(access.tensor).shape;
  if (static_cast<int>(counts.size()) != shape.size()) return false;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    if (access.along[d].start != Affine() || counts[d] != shape[static_cast<int>(d)]) return false;
    for (std::size_t a = 0; a < counts.size(); ++a)
      if (access.along[d].step.size() != counts.size() || access.along[d].step[a] != (a == d ? 1 : 0)) return false;
  }
  return true;
}

struct Uses {
  int writes = 0, reads = 0;
  std::size_t first_write = 0, first_read = 0;
};

std::vector<Uses> count_uses(const Program& program) {
  std::vector<Uses> uses(program.tensors.size());
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    for (const Access& src : instruction.src) {
      if (src.tensor < 0) continue;
      Uses& u = uses[static_cast<std::size_t>(src.tensor)];
      if (u.reads++ == 0) u.first_read = i;
    }
    if (instruction.dst.tensor < 0) continue;
    Uses& u = uses[static_cast<std::size_t>(instruction.dst.tensor)];
    if (u.writes++ == 0) u.first_write = i;
  }
  return uses;
}

// The counters of the loops around each instruction.
std::vector<std::vector<int>> nests(const Program& program) {
  std::vector<std::vector<int>> out;
  std::vector<int> open;
  for (const Instruction& i : program.instructions) {
    if (i.opcode == Opcode::end) open.pop_back();
    out.push_back(open);
    if (i.opcode == Opcode::loop) open.push_back(i.counter);
  }
  return out;
}

// `read`, an access to the tile that `load` filled, as an access to what the load read.
Access through(const Instruction& load, const Access& read) {
  Access out{load.src[0].tensor, {}};
  for (const Along& outer : load.src[0].along) {
    Along along{outer.start, Values(read.along.front().step.size(), 0)};
    for (std::size_t d = 0; d < outer.step.size(); ++d) {
      along.start = along.start + outer.step[d] * read.along[d].start;
      for (std::size_t a = 0; a < along.step.size(); ++a) along.step[a] += outer.step[d] * read.along[d].step[a];
    }
    out.along.push_back(std::move(along));
  }
  return out;
}

void read_in_place(Program& program) {
  const std::vector<Uses> uses = count_uses(program);
  const std::vector<std::vector<int>> nest = nests(program);
  for (std::size_t w = 0; w < program.instructions.size(); ++w) {
    const Instruction load = program.instructions[w];
    if (load.opcode != Opcode::dma_copy || !load.mask.empty() || !program.tensor(load.dst.tensor).on_chip()) continue;
    const Uses& u = uses[static_cast<std::size_t>(load.dst.tensor)];
    const bool once = u.writes == 1 && (u.reads == 0 || u.first_read > w);
    if (!once || program.tensor(load.src[0].tensor).parameter < 0 || !copies_bits(program, load) ||
        !is_whole(program, load.dst, load.counts))
      continue;
    bool inside = true;  // every reader sees the counters that the load saw
    for (std::size_t i = w; i < program.instructions.size(); ++i)
      for (const Access& src : program.instructions[i].src)
        if (src.tensor == load.dst.tensor)
          inside =
              inside && nest[i].size() >= nest[w].size() && std::equal(nest[w].begin(), nest[w].end(), nest[i].begin());
    if (!inside) continue;
    for (Instruction& i : program.instructions)
      for (Access& src : i.src)
        if (src.tensor == load.dst.tensor) src = through(load, src);
    program.instructions[w].counts.clear();  // marks it as gone
  }
  std::erase_if(program.instructions, [](const Instruction& i) {
    return i.opcode != Opcode::loop && i.opcode != Opcode::end && i.counts.empty();
  });
}

bool is_elementwise(const Instruction& i) {
  return i.opcode == Opcode::tensor_scalar || i.opcode == Opcode::activation || i.opcode == Opcode::tensor_copy ||
         i.opcode == Opcode::dma_copy;
}

// A chain writes rows while later rows of what it reads are still to come.
bool may_write(const Instruction& first, const Access& dst) {
  for (const Access& src : first.src)
    if (src.tensor == dst.tensor && src.along != dst.along) return false;
  return true;
}

// The next instruction takes exactly what this one makes, and nobody else does.
bool passes_on(const Program& program, const std::vector<Uses>& uses, const Instruction& first, const Instruction& now,
               const Instruction& next) {
  if (!may_write(first, next.dst)) return false;
  if (is_serial(now) || !is_elementwise(next) || now.dst.tensor < 0 || !program.tensor(now.dst.tensor).on_chip())
    return false;
  if (!now.mask.empty() || !next.mask.empty() || next.src[0].tensor != now.dst.tensor) return false;
  const Uses& u = uses[static_cast<std::size_t>(now.dst.tensor)];
  if (u.reads != 1 || u.writes != 1) return false;
  const std::size_t kept = now.counts.size() - static_cast<std::size_t>(now.reduced);
  const Values counts(now.counts.begin(), now.counts.begin() + static_cast<std::ptrdiff_t>(kept));
  return counts == next.counts && is_whole(program, now.dst, counts) && is_whole(program, next.src[0], counts);
}

}  // namespace

Plan plan_of(const Program& program) {
  Plan plan{program, {}, std::vector<bool>(program.tensors.size(), false)};
  read_in_place(plan.program);
  const std::vector<Instruction>& list = plan.program.instructions;
  const std::vector<Uses> uses = count_uses(plan.program);
  plan.chain.assign(list.size(), 0);
  for (std::size_t i = 0; i < list.size();) {
    std::size_t n = 1;
    const bool computes =
        list[i].opcode != Opcode::loop && list[i].opcode != Opcode::end && list[i].opcode != Opcode::device_print;
    while (computes && i + n < list.size() && passes_on(plan.program, uses, list[i], list[i + n - 1], list[i + n])) ++n;
    plan.chain[i] = static_cast<int>(n);
    for (const Access& src : list[i].src)
      if (src.tensor >= 0) plan.has_memory[static_cast<std::size_t>(src.tensor)] = true;
    const int dst = list[i + n - 1].dst.tensor;
    if (dst >= 0) plan.has_memory[static_cast<std::size_t>(dst)] = true;
    i += n;
  }
  return plan;
}

}  // namespace oriel::tile
