// 10,000 random programs: the CPU gives the interpreter's bits.
#include <gtest/gtest.h>

#include "tile/random_kernel.h"

namespace oriel::tile::test {
namespace {

TEST(RandomPrograms, TheCpuGivesTheInterpretersBits) {
  for (unsigned seed = 1; seed <= 10000; ++seed) {
    const RandomProgram r = random_program(seed);
    require(verify(r.program));
    ASSERT_TRUE(
        same_bits(result_of(r.program, r.inputs, Backend::cpu), result_of(r.program, r.inputs, Backend::interpreter)))
        << "seed " << seed << "\n"
        << to_string(r.program);
  }
}

TEST(RandomPrograms, TheyAreOfEveryKind) {
  std::array<int, 12> seen{};
  int grids = 0, masks = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const Program p = random_program(seed).program;
    grids += p.grid.empty() ? 0 : 1;
    for (const Instruction& i : p.instructions) {
      ++seen[static_cast<std::size_t>(i.opcode)];
      masks += i.mask.empty() ? 0 : 1;
    }
  }
  for (const Opcode opcode :
       {Opcode::dma_copy, Opcode::memset, Opcode::iota, Opcode::tensor_copy, Opcode::tensor_reduce,
        Opcode::tensor_scalar, Opcode::tensor_tensor, Opcode::select, Opcode::activation, Opcode::loop})
    EXPECT_GT(seen[static_cast<std::size_t>(opcode)], 20) << name(opcode);
  EXPECT_GT(grids, 20);
  EXPECT_GT(masks, 20);
}

}  // namespace
}  // namespace oriel::tile::test
