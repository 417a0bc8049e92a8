// A program as NKI: rewritten for a version, then by that version's writer.
#include "oriel/tile/emit.h"
#include "tile/emit_nki_versions.h"
#include "tile/python_text.h"

namespace oriel::tile {
namespace {

Access whole(int id, std::size_t rank) {
  Access access{id, {}};
  for (std::size_t d = 0; d < rank; ++d) {
    Along along{0, Values(rank, 0)};
    along.step[d] = 1;
    access.along.push_back(std::move(along));
  }
  return access;
}

// 1 / operand `s` of a division, kept in f32, as an instruction before it.
Instruction reciprocal_of(Program& program, Instruction& division, std::size_t s, int depth) {
  Extents shape;
  for (const index_t n : division.counts) shape.push_back(n);
  const int id = static_cast<int>(program.tensors.size());
  program.tensors.push_back(
      {.name = "r" + std::to_string(id), .dtype = Dtype::f32, .shape = shape, .depth = depth, .where = division.where});
  Instruction first;
  first.opcode = Opcode::activation;
  first.alu = Alu::reciprocal;
  first.counts = division.counts;
  first.mask = division.mask;
  first.where = division.where;
  first.src.push_back(division.src[s]);
  first.dst = whole(id, division.counts.size());
  division.src[s] = first.dst;
  division.alu = Alu::multiply;
  return first;
}

}  // namespace

Program for_version(const Program& program, nki::nki_version version) {
  if (version == nki::nki_version::v0_1) return program;
  Program out = program;
  out.instructions.clear();
  int depth = 0;
  for (Instruction i : program.instructions) {
    if (i.opcode == Opcode::end) --depth;
    const bool divides = i.alu == Alu::divide;
    if (divides && i.opcode == Opcode::tensor_tensor)
      out.instructions.push_back(reciprocal_of(out, i, 1, depth));
    else if (divides && i.opcode == Opcode::tensor_scalar && i.scalar_first)
      out.instructions.push_back(reciprocal_of(out, i, 0, depth));
    else if (divides && i.opcode == Opcode::tensor_scalar) {
      i.alu = Alu::multiply;
      i.scalar = 1 / static_cast<float>(i.scalar);
    }
    if (i.opcode == Opcode::loop) ++depth;
    out.instructions.push_back(std::move(i));
  }
  return out;
}

std::string emit_nki(const Program& program, nki::nki_version version) {
  const Program own = with_python_names(for_version(program, version));
  return version == nki::nki_version::v0_1 ? emit_nki_0_1(own) : emit_nki_0_6(own);
}

}  // namespace oriel::tile
