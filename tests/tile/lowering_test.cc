// Affine indices become the access patterns that NKI's later tutorials write by hand.
#include <gtest/gtest.h>

#include "oriel/tile/kernels.h"
#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

std::vector<std::string> patterns(const Program& program, Opcode opcode) {
  std::vector<std::string> out;
  for (const Instruction& i : program.instructions) {
    if (i.opcode != opcode) continue;
    for (const Access& src : i.src) out.push_back(to_string(lower(program, i, src), program));
  }
  return out;
}

TEST(Lowering, TheTutorialsKernelGivesTheLaterTutorialsPattern) {
  // SDK 2.30 writes in_tile.ap([[HW, C], [pW, H/p], [p, W/p], [W, p], [1, p]]) for what 2.21 indexes with mgrid.
  struct Case {
    index_t c, h, w;
    int p;
  };
  for (const Case& k : {Case{2, 6, 6, 2}, Case{64, 112, 112, 2}, Case{7, 9, 12, 3}, Case{1, 10, 4, 2}}) {
    const Program program = tensor_avgpool_kernel.trace(nki::meta{Dtype::f32, {k.c, k.h, k.w}}, k.p);
    const auto pair = [](index_t stride, index_t count) {
      return "[" + std::to_string(stride) + "," + std::to_string(count) + "]";
    };
    const std::string golden = "[" + pair(k.h * k.w, k.c) + "," + pair(k.p * k.w, k.h / k.p) + "," +
                               pair(k.p, k.w / k.p) + "," + pair(k.w, k.p) + "," + pair(1, k.p) + "]";
    EXPECT_EQ(patterns(program, Opcode::tensor_reduce), std::vector<std::string>{golden});
  }
}

TEST(Lowering, TheTutorialsKernelIsFiveInstructionsOrFewer) {
  const Program program = tensor_avgpool_kernel.trace(nki::meta{Dtype::f16, {2, 6, 6}}, 2);
  EXPECT_EQ(to_string(program),
            "kernel tensor_avgpool_kernel(2)\n"
            "  %in0 = param hbm f16[2,6,6]\n"
            "  %out = alloc shared_hbm f16[2,3,3]\n"
            "  %t2 = alloc sbuf f16[2,6,6] ; 72 B/partition\n"
            "  %t3 = alloc sbuf f16[2,3,3] ; 18 B/partition\n"
            "  %t4 = alloc sbuf f16[2,3,3] ; 18 B/partition\n"
            "  dma_copy %t2 <- %in0\n"
            "  tensor_reduce add %t3 <- %t2 @[[36,2],[12,3],[2,3],[6,2],[1,2]] n_red=2\n"
            "  tensor_scalar divide %t4 <- %t3, 4\n"
            "  dma_copy %out <- %t4\n"
            "  return %out\n");
}

TEST(Lowering, EvenAndOddColumns) {  // NKI's index-case-1
  const auto kernel = nki::jit("even_odd", [](nl::tensor x) {
    auto [rows, columns] = x.shape<2>();
    auto even = nl::ndarray({rows, columns / 2}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    auto odd = nl::ndarray({rows, columns / 2}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    auto t = nl::load(x);
    auto [p, f] = nl::mgrid(rows, columns / 2);
    nl::store(even, nl::copy(t[{p, 2 * f}]));
    nl::store(odd, nl::copy(t[{p, 2 * f + 1}]));
    return std::vector<nl::tensor>{even, odd};
  });
  const nki::meta x{Dtype::f32, {4, 10}};
  EXPECT_EQ(patterns(kernel.trace(x), Opcode::tensor_copy),
            (std::vector<std::string>{"[[10,4],[2,5]]", "1 + [[10,4],[2,5]]"}));
  const std::vector<nki::array> out = kernel(nki::array::arange(Dtype::f32, {4, 10}));
  ASSERT_EQ(out.size(), 2U);
  for (index_t i = 0; i < 20; ++i) {
    EXPECT_EQ(out[0].at(i), 2 * static_cast<double>(i));
    EXPECT_EQ(out[1].at(i), 2 * static_cast<double>(i) + 1);
  }
}

TEST(Lowering, TransposeOfTwoFreeAxes) {  // NKI's transpose2d: F1:F2 to F2:F1
  const auto kernel = nki::jit("transpose2d", [](nl::tensor x) {
    auto [rows, f1, f2] = x.shape<3>();
    auto out = nl::ndarray({rows, f2, f1}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    auto t = nl::load(x);
    auto [p, i, j] = nl::mgrid(rows, f2, f1);
    nl::store(out, nl::copy(t[{p, j, i}]));
    return out;
  });
  EXPECT_EQ(patterns(kernel.trace(nki::meta{Dtype::f32, {2, 3, 5}}), Opcode::tensor_copy),
            std::vector<std::string>{"[[15,2],[1,5],[5,3]]"});
  const nki::array y = agreed(kernel, nki::array::arange(Dtype::f32, {2, 3, 5}));
  ASSERT_EQ(y.shape(), (Extents{2, 5, 3}));
  for (index_t p = 0; p < 2; ++p)
    for (index_t i = 0; i < 5; ++i)
      for (index_t j = 0; j < 3; ++j) EXPECT_EQ(y.at((p * 5 + i) * 3 + j), static_cast<double>(p * 15 + j * 5 + i));
}

TEST(Lowering, StridedWindowsOverlapWithoutACopy) {
  const auto kernel = nki::jit("windows", [](nl::tensor x) {
    auto out = nl::ndarray({2, 4, 4}, {.buffer = nl::shared_hbm});
    auto t = nl::load(x);
    auto [p, i, j, y, z] = nl::mgrid(2, 4, 4, 3, 3);
    nl::store(out, nl::max(t[{p, 2 * i + y, 2 * j + z}], {.axis = {3, 4}}));
    return out;
  });
  EXPECT_EQ(patterns(kernel.trace(nki::meta{Dtype::f32, {2, 9, 9}}), Opcode::tensor_reduce),
            std::vector<std::string>{"[[81,2],[18,4],[2,4],[9,3],[1,3]]"});
}

TEST(Lowering, HaloRowsOnPartitions) {  // nki-samples' contributed/maxpooling.py: rows on partitions, i_h + i_kh
  const auto kernel = nki::jit("halo", [](nl::tensor x) {
    auto out = nl::ndarray({6, 6}, {.buffer = nl::shared_hbm});
    auto [h, kh, w] = nl::mgrid(6, 3, 8);
    auto t = nl::load(x[{h + kh, w}]);
    auto [p, j, y, z] = nl::mgrid(6, 6, 3, 3);
    nl::store(out, nl::max(t[{p, y, j + z}], {.axis = {2, 3}}));
    return out;
  });
  const nki::array x = numbers(Dtype::f32, {8, 8});
  EXPECT_EQ(patterns(kernel.trace(x), Opcode::dma_copy)[0], "[[8,6],[8,3],[1,8]]");
  const nki::array y = agreed(kernel, x);
  ASSERT_EQ(y.size(), 36);
  for (index_t i = 0; i < 6; ++i) {
    for (index_t j = 0; j < 6; ++j) {
      double best = -100;
      for (index_t t = 0; t < 9; ++t) best = std::max(best, x.at((i + t / 3) * 8 + j + t % 3));
      EXPECT_EQ(y.at(i * 6 + j), best);
    }
  }
}

TEST(Lowering, SelectAndScatter) {  // nki-samples' select_and_scatter: windows (p, 2*ik + y, 2*x + z), tap by tap
  const auto kernel = nki::jit("max_pool2d_backward", kernels::max_pool2d_backward);
  const kernels::Windows w{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const Program program = kernel.trace(nki::meta{Dtype::f32, {64, 8, 8}}, nki::meta{Dtype::f32, {64, 4, 4}}, w);
  EXPECT_EQ(patterns(program, Opcode::tensor_reduce)[0], "[[90,64],[20,4],[2,4],[10,3],[1,3]]");  // 8 + 2 columns
  std::vector<std::string> sums;
  for (const Instruction& i : program.instructions)
    if (i.opcode == Opcode::tensor_tensor && i.alu == Alu::add)
      sums.push_back(to_string(lower(program, i, i.dst), program));
  std::vector<std::string> expected;
  for (int y = 0; y < 3; ++y)
    for (int z = 0; z < 3; ++z)
      expected.push_back((y + z == 0 ? "" : std::to_string(10 * y + z) + " + ") + "[[90,64],[20,4],[2,4]]");
  EXPECT_EQ(sums, expected);
}

TEST(Lowering, PartsOfPartsCompose) {
  const auto kernel = nki::jit("parts", [](nl::tensor x) {
    auto out = nl::ndarray({3, 2}, {.buffer = nl::shared_hbm});
    auto t = nl::load(x);
    nl::store(out, nl::copy(t[{nl::ds(1, 3), nl::slice{2, 9, 2}}][{nl::all, nl::ds(1, 2)}]));
    return out;
  });
  const Program program = kernel.trace(nki::meta{Dtype::f32, {5, 10}});
  EXPECT_EQ(patterns(program, Opcode::tensor_copy), std::vector<std::string>{"14 + [[10,3],[2,2]]"});
  const nki::array y = agreed(kernel, nki::array::arange(Dtype::f32, {5, 10}));
  ASSERT_EQ(y.size(), 6);
  for (index_t i = 0; i < 6; ++i) EXPECT_EQ(y.at(i), static_cast<double>((1 + i / 2) * 10 + 4 + 2 * (i % 2)));
}

}  // namespace
}  // namespace oriel::tile::test
