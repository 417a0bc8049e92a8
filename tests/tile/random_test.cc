// 10,000 random programs, and rows on every instruction set: the CPU gives the interpreter's bits.
#include <gtest/gtest.h>

#include "forced_target.h"
#include "oriel/tile/kernels.h"
#include "tile/random_kernel.h"
#include "tile/rows.h"
#include "tile/tutorial.h"

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

// Every 16-bit float widened; many floats rounded, also in place.
void check_conversions() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const auto same = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
  };
  std::vector<float> row(all.size());
  load_row(row.data(), all.data(), Dtype::f16, 0, 1, 65536);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(same(row[i], half::from_bits(all[i]))) << i;
  load_row(row.data(), all.data(), Dtype::bf16, 0, 1, 65536);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(same(row[i], bfloat16::from_bits(all[i]))) << i;
  std::mt19937 random(1);
  std::vector<std::uint16_t> out(all.size());
  for (int round = 0; round < 30; ++round) {
    for (float& x : row) {
      // All exponents; every other value lies on or beside a tie.
      std::uint32_t bits = static_cast<std::uint32_t>(random());
      if (bits & 1U) bits = (bits & 0xffffe000U) | (0xfffU + bits % 3);
      if (round % 2 == 1) bits = (bits & 0x87ffffffU) | 0x38000000U;  // near the range of halves
      x = std::bit_cast<float>(bits);
    }
    store_row(row.data(), out.data(), Dtype::f16, 0, 1, 65536);
    for (std::size_t i = 0; i < row.size(); ++i) ASSERT_EQ(out[i], half(row[i]).bits) << row[i];
    store_row(row.data(), out.data(), Dtype::bf16, 0, 1, 65536);
    for (std::size_t i = 0; i < row.size(); ++i) ASSERT_EQ(out[i], bfloat16(row[i]).bits) << row[i];
    std::vector<float> halves(row), bfloat16s(row);
    round_row(halves.data(), Dtype::f16, 65535, 3);
    round_row(bfloat16s.data(), Dtype::bf16, 65535, 3);
    for (std::size_t i = 0; i < 65535; ++i) {
      ASSERT_TRUE(same(halves[i], 3 * static_cast<float>(half(row[i])))) << row[i];
      ASSERT_TRUE(same(bfloat16s[i], 3 * static_cast<float>(bfloat16(row[i])))) << row[i];
    }
  }
}

// 16-bit patterns of all kinds, NaN and infinities among them, in rows that leave lanes over.
void check_folds() {
  std::mt19937 random(2);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    for (const index_t width : {2, 14, 34, 70, 112}) {
      nki::array x(dtype, {3, 4, width});
      for (index_t i = 0; i < x.bytes() / 2; ++i) x.data<std::uint16_t>()[i] = static_cast<std::uint16_t>(random());
      const kernels::Windows two{}, odd{.kernel = {2, 1}, .stride = {1, 1}};
      const auto maxima = nki::jit("max_pool2d", kernels::max_pool2d);
      ASSERT_EQ(agreed(tensor_avgpool_kernel, x, 2).size(), 6 * (width / 2)) << name(dtype) << " " << width;
      ASSERT_EQ(agreed(maxima, x, two).size(), 6 * (width / 2)) << name(dtype) << " " << width;
      ASSERT_EQ(agreed(maxima, x, odd).size(), 9 * width) << name(dtype) << " " << width;
    }
  }
}

TEST(Rows, EveryInstructionSetGivesTheInterpretersBits) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const std::int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    const oriel::test::ForcedTarget forced(target);
    check_conversions();
    check_folds();
    for (unsigned seed = 1; seed <= 300; ++seed) {
      const RandomProgram r = random_program(seed);
      ASSERT_TRUE(
          same_bits(result_of(r.program, r.inputs, Backend::cpu), result_of(r.program, r.inputs, Backend::interpreter)))
          << "seed " << seed;
    }
  }
}

TEST(RandomPrograms, TheyAreOfEveryKind) {
  std::array<int, 14> seen{};
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
        Opcode::tensor_scalar, Opcode::tensor_tensor, Opcode::select, Opcode::activation, Opcode::loop, Opcode::max8})
    EXPECT_GT(seen[static_cast<std::size_t>(opcode)], 20) << name(opcode);
  EXPECT_GT(grids, 20);
  EXPECT_GT(masks, 20);
}

}  // namespace
}  // namespace oriel::tile::test
