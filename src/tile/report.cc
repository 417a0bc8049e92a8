// What a program moves and computes: facts, and apart from them a model of the machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oriel/tensor.h"
#include "oriel/tile/machine.h"
#include "tile/liveness.h"
#include "tile/walk.h"

namespace oriel::tile {
namespace {

// Cycles of the vector engine for n elements a partition (isa docstrings of SDK 2.26).
double vector_cycles(const Program& program, const Instruction& i, double n) {
  const auto is_bf16 = [&](const Access& a) { return a.tensor >= 0 && program.tensor(a.tensor).dtype == Dtype::bf16; };
  const bool all_bf16 = is_bf16(i.dst) && std::all_of(i.src.begin(), i.src.end(), is_bf16);
  switch (i.opcode) {
    case Opcode::tensor_reduce:
      return all_bf16 && (i.alu == Alu::add || i.alu == Alu::max) ? n / 2 : n;
    case Opcode::tensor_tensor:
    case Opcode::select:
      return std::max(64.0, all_bf16 ? n : 2 * n);
    default:
      return std::max(64.0, n);
  }
}

}  // namespace

Report report(const Program& program, const nki::machine& machine) {
  Report r;
  constexpr double kDmaStart = 1.3;  // microseconds of one DMA
  double dma_bytes = 0;
  walk(program, [&](std::size_t at, const Values& counters) {
    const Instruction& i = program.instructions[at];
    if (i.opcode == Opcode::device_print) return;
    const Trimmed part = trim(i, counters);
    if (part.empty) return;
    index_t elements = 1;
    for (std::size_t a = 0; a < part.end.size(); ++a) elements *= part.end[a] - part.begin[a];
    const index_t partitions = part.end[0] - part.begin[0];
    if (i.opcode != Opcode::dma_copy) {
      ++r.compute;
      r.lanes = std::max(r.lanes, partitions);
      const index_t each = elements / partitions;
      r.vector_cycles += vector_cycles(program, i, static_cast<double>(each));
      return;
    }
    ++r.dma;
    const TensorInfo &from = program.tensor(i.src[0].tensor), &to = program.tensor(i.dst.tensor);
    const index_t bytes = elements * size_bytes(from.dtype);
    if (!from.on_chip()) r.bytes_in += bytes;
    if (!to.on_chip()) r.bytes_out += elements * size_bytes(to.dtype);
    r.dma_in += from.on_chip() ? 0 : 1;
    r.dma_out += to.on_chip() ? 0 : 1;
    dma_bytes += static_cast<double>(bytes);
  });
  const Peak peak = sbuf_peak(program);
  r.sbuf_peak = peak.bytes;
  for (const int t : peak.alive) r.alive.push_back(program.tensor(t).name);
  if (peak.bytes > 0) {
    const Instruction& i = program.instructions[peak.at];
    r.peak_at = std::string(name(i.opcode)) + " at " + to_string(i.where);
  }
  if (machine.vector_ghz > 0) {
    r.vector_us = r.vector_cycles / (machine.vector_ghz * 1e3);
    r.dma_us = std::max(dma_bytes / machine.dma_bytes_per_us, kDmaStart * (r.dma > 0 ? 1 : 0));
  }
  return r;
}

std::string to_string(const Report& r, const Program& program, const nki::machine& machine) {
  std::string text = program.name + "(";
  for (const int id : program.parameters) {
    const TensorInfo& t = program.tensor(id);
    text += fmt::format("{}{}[{}]", id == program.parameters[0] ? "" : ", ", name(t.dtype), to_string(t.shape));
  }
  text += fmt::format("{}{})  machine {}\n", program.constants.empty() ? "" : "; ", program.constants, machine.name);
  text += fmt::format("exact   hbm->sbuf {} B in {} dma   sbuf->hbm {} B in {} dma\n", r.bytes_in, r.dma_in,
                      r.bytes_out, r.dma_out);
  text += fmt::format("exact   instructions: dma {}, compute {}   lanes {}{}   sbuf peak {}{} B/partition\n", r.dma,
                      r.compute, r.lanes, machine.partitions > 0 ? fmt::format(" of {}", machine.partitions) : "",
                      r.sbuf_peak, machine.sbuf_bytes > 0 ? fmt::format(" of {}", machine.sbuf_bytes) : "");
  if (!r.peak_at.empty())
    text += fmt::format("exact   the peak is at {}; alive there: {}\n", r.peak_at, fmt::join(r.alive, ", "));
  if (machine.vector_ghz == 0) return text;
  text += fmt::format("model*  vector engine {:.0f} cycles = {:.1f} us   DMA at least {:.1f} us   bound: {}\n",
                      r.vector_cycles, r.vector_us, r.dma_us, r.dma_us >= r.vector_us ? "DMA" : "vector engine");
  text +=
      "        * cost formulas that AWS published up to SDK 2.26, and its DMA guide; no device has confirmed them\n"
      "        not modelled: an allocator's gaps, DMA's scratch memory, engines that wait for each other\n";
  return text;
}

}  // namespace oriel::tile
