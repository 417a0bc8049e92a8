// The error page of NKI (SDK 2.26, nki.errors), in C++: what fails there fails here with that code, a text that names
// the tile, the numbers and the mend, and this file's line; the mended program runs.
#include "tile/errors.h"

namespace oriel::tile::test {
namespace {

TEST(Errors, NumPartitionExceedArchLimit) {
  const auto bad = kernel_of({256, 8}, [](nl::tensor x, nl::tensor out) { nl::store(out, nl::load(x) + 1); });
  expect_failure(
      [&] {
        (void)nki::simulate(bad, nki::trn2)(floats({256, 8}));
      },
      "err_num_partition_exceed_arch_limit",
      {"number of partitions 256 exceed architecture limitation of 128.", "affine_range(0, 256, 128)"});
  const auto good = kernel_of({256, 8}, [](nl::tensor x, nl::tensor out) {
    for (auto p : nl::affine_range(0, 256, 128)) nl::store(out[{nl::ds(p, 128)}], nl::load(x[{nl::ds(p, 128)}]) + 1);
  });
  EXPECT_EQ(nki::simulate(good, nki::trn2)(floats({256, 8})).at(2047), 2048);
  EXPECT_EQ(bad(floats({256, 8})).at(2047), 2048);  // native has no such limit
}

TEST(Errors, TensorAccessOutOfBound) {
  const auto bad = kernel_of({128, 4096}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(128, 4096);
    nl::store(out, nl::load(x[{p, f}]));
  });
  expect_failure(
      [&] {
        (void)bad(floats({128, 4000}));
      },
      "err_tensor_access_out_of_bound",
      {"Out-of-bound access for tensor `in0` on dimension 1: index range [0, 4095] exceed dimension "
       "size of 4000",
       "mask it"});
  const auto good = kernel_of({128, 4000}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(128, 4096);
    auto t = nl::load(x[{p, f}], {.mask = f < 4000});
    nl::store(out[{p, f}], {.value = t, .mask = f < 4000});
  });
  EXPECT_EQ(agreed(good, floats({128, 4000})).at(511999), 511999);
}

TEST(Errors, OutOfBoundsOfTheLastOfSeveralTiles) {  // the page's snippet: 8 tiles of 512 for 4000 columns
  const auto kernel = [](bool masked) {
    return kernel_of({128, 4000}, [=](nl::tensor, nl::tensor out) {
      for (auto i : nl::affine_range((4000 + 512 - 1) / 512)) {
        auto [p, x] = nl::mgrid(128, 512);
        const nl::mask inside = i * 512 + x < 4000;
        nl::store(out[{p, i * 512 + x}], {.value = 0, .mask = masked ? inside : nl::mask()});
      }
    });
  };
  expect_failure(
      [&] {
        (void)kernel(false)(floats({1, 1}));
      },
      "err_tensor_access_out_of_bound",
      {"for tensor `out` on dimension 1: index range [0, 4095] exceed dimension size of 4000"});
  EXPECT_EQ(kernel(true)(floats({1, 1})).at(511999), 0);
}

TEST(Errors, OutOfBoundsInALoopAndBehindAMask) {
  const auto loop = kernel_of({4, 8}, [](nl::tensor x, nl::tensor out) {
    for (auto i : nl::affine_range(5))
      nl::store(out[{nl::all, nl::ds(2 * i, 2)}], nl::load(x[{nl::all, nl::ds(0, 2)}]));
  });
  expect_failure(
      [&] {
        (void)loop(floats({4, 8}));
      },
      "err_tensor_access_out_of_bound", {"`out` on dimension 1", "[0, 9]"});
  const auto masked = kernel_of({4, 8}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(4, 16);
    nl::store(out[{p, f}], {.value = nl::load(x[{p, f}], {.mask = f < 8}), .mask = f < 9});
  });
  expect_failure([&] { (void)masked(floats({4, 8})); }, "err_tensor_access_out_of_bound", {"[0, 8]"});
}

TEST(Errors, AnnotationShapeMismatch) {
  const auto kernel = [](index_t columns) {
    return kernel_of({128, 128}, [=](nl::tensor x, nl::tensor out) {
      auto data = nl::load(x).named("data").assert_shape({128, columns});
      nl::store(out, data);
    });
  };
  expect_failure(
      [&] {
        (void)kernel(512)(floats({128, 128}));
      },
      "err_annotation_shape_mismatch", {"shape of `data[128, 128]` does not match the expected shape of [128, 512]"});
  EXPECT_EQ(agreed(kernel(128), floats({128, 128})).at(7), 7);
}

TEST(Errors, NumPartitionMismatch) {
  const auto kernel = [](index_t rows) {
    return kernel_of({rows, 4}, [=](nl::tensor x, nl::tensor out) {
      nl::store(out, nl::load(x[{nl::ds(0, rows)}]) + nl::load(x[{nl::ds(0, 8)}]));
    });
  };
  expect_failure(
      [&] {
        (void)kernel(4)(floats({8, 4}));
      },
      "err_num_partition_mismatch",
      {"number of partitions (dimension 0 size of a tile) mismatch in parameters of 'add'", "4 and 8",
       "nl::broadcast_to"});
  EXPECT_EQ(agreed(kernel(8), floats({8, 4})).at(1), 2);
  const auto repeated = kernel_of({8, 4}, [](nl::tensor x, nl::tensor out) {  // the page's mend
    nl::store(out, nl::load(x) + nl::broadcast_to(nl::load(x[{nl::ds(1, 1)}]), {8, 4}));
  });
  EXPECT_EQ(agreed(repeated, floats({8, 4})).at(31), 31 + 7);
}

TEST(Errors, OperandShapeMismatch) {
  const auto kernel = [](index_t n) {
    return kernel_of({2, 6}, [=](nl::tensor x, nl::tensor out) {
      auto t = nl::load(x);
      nl::store(out, t + t[{nl::all, nl::ds(0, n)}]);
    });
  };
  expect_failure([&] { (void)kernel(4)(floats({2, 6})); }, "err_operand_shape_mismatch", {"[2, 6] and [2, 4]"});
  EXPECT_EQ(agreed(kernel(1), floats({2, 6})).at(5), 5);
}

TEST(Errors, UnsupportedMemory) {
  const auto twice = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) { nl::store(out, nl::load(nl::load(x))); });
  expect_failure(
      [&] {
        (void)twice(floats({2, 2}));
      },
      "err_unsupported_memory",
      {"Expected operand 'src' of 'load' to be in address space 'hbm', but got a tile in 'sbuf' instead"});
  const auto unloaded = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) { nl::store(out, x + 1); });
  expect_failure([&] { (void)unloaded(floats({2, 2})); }, "err_unsupported_memory", {"`in0` must be loaded first"});
  const auto direct = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) { nl::store(out, x); });
  expect_failure([&] { (void)direct(floats({2, 2})); }, "err_unsupported_memory", {"'value' of 'store'"});
  const auto tile = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) { nl::store(out, nisa::max8(x)); });
  expect_failure([&] { (void)tile(floats({2, 8})); }, "err_unsupported_memory", {"'src' of 'max8'", "loaded first"});
  const auto good = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) { nl::store(out, nl::load(x) + 1); });
  EXPECT_EQ(agreed(good, floats({2, 2})).at(3), 4);
}

TEST(Errors, CannotUpdateImmutableParameter) {
  const auto bad = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) {
    nl::store(out, nl::load(x));
    nl::store(x, nl::load(x) + 1);
  });
  expect_failure(
      [&] {
        (void)bad(floats({2, 2}));
      },
      "err_cannot_update_immutable_parameter", {"Cannot update immutable parameter", "`in0`", "shared_hbm"});
  const auto good = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) {  // a copy, which is changed
    nisa::dma_copy({.dst = out, .src = x});
    nl::store(out, nl::load(out) + 1);
  });
  EXPECT_EQ(agreed(good, floats({2, 2})).at(3), 4);
}

TEST(Errors, HbmTensorWithInitValueNotSupported) {
  const auto bad = nki::jit("failing", [](nl::tensor) { return nl::full({3, 4}, 1, {.buffer = nl::shared_hbm}); });
  expect_failure(
      [&] {
        (void)bad(floats({2, 2}));
      },
      "err_hbm_tensor_with_init_value_not_supported",
      {"Creating HBM tensor with init value is not supported", "nl::store"});
  const auto good = kernel_of({3, 4, 5}, [](nl::tensor, nl::tensor out) {
    for (int i = 0; i < 3; ++i) nl::store(out[{i, nl::all, nl::all}], 1.0);
  });
  EXPECT_EQ(agreed(good, floats({2, 2})).at(59), 1);
}

TEST(Errors, MixingBasicAndAdvancedIndexing) {
  const auto bad = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    auto i = nl::arange(4)[{nl::all, nl::None}];
    nl::store(out, nl::load(x[{i, nl::slice{0, 4}}]));
  });
  expect_failure(
      [&] {
        (void)bad(floats({4, 4}));
      },
      "err_unsupported_mixing_basic_advanced_tensor_indexing", {"mgrid"});
  const auto good = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    auto [i, j] = nl::mgrid(4, 4);
    nl::store(out, nl::load(x[{i, j}]));
  });
  EXPECT_EQ(agreed(good, floats({4, 4})).at(9), 9);
}

TEST(Errors, UnsupportedExpressionInMask) {
  const auto bad = kernel_of({4, 8}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(4, 8);
    nl::store(out[{p, f}], {.value = nl::load(x[{p, f}]), .mask = f % 4 < 2});
  });
  expect_failure(
      [&] {
        (void)bad(floats({4, 8}));
      },
      "err_unsupported_expression_in_mask", {"remainder by 4", "one axis more"});
  const auto good = kernel_of({4, 8}, [](nl::tensor x, nl::tensor out) {
    nl::store(out, nl::zeros({4, 8}));
    auto [p, f, r] = nl::mgrid(4, 2, 4);
    auto t = nl::load(x);
    nl::store(out[{p, 4 * f + r}], {.value = nl::copy(t[{p, 4 * f + r}]), .mask = r < 2});
  });
  const nki::array y = agreed(good, floats({4, 8}));
  ASSERT_EQ(y.size(), 32);
  for (index_t i = 0; i < 32; ++i) EXPECT_EQ(y.at(i), i % 4 < 2 ? static_cast<double>(i) : 0);
  const auto counters = kernel_of({8}, [](nl::tensor, nl::tensor out) {  // affine in the counters of loops
    nl::store(out, 0);
    for (auto i : nl::sequential_range(8))
      for (auto j : nl::sequential_range(8))
        nl::store(out[{nl::ds(i, 1)}], {.value = 1, .mask = 2 * i + 3 * j + 1 < 20});
  });
  EXPECT_EQ(agreed(counters, floats({1, 1})).at(7), 1);
  const auto none = kernel_of({8}, [](nl::tensor, nl::tensor out) {
    nl::store(out, 0);
    for (auto i : nl::sequential_range(8)) nl::store(out[{nl::ds(i, 1)}], {.value = 1, .mask = i < 4});
  });
  EXPECT_EQ(agreed(none, floats({1, 1})).at(3) + agreed(none, floats({1, 1})).at(4), 1);
}

TEST(Errors, MasksOfTwoAxesAndProductsOfIndices) {
  const auto triangle = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(4, 4);
    nl::store(out[{p, f}], {.value = nl::load(x[{p, f}]), .mask = p < f});
  });
  expect_failure([&] { (void)triangle(floats({4, 4})); }, "MASK", {"axes 0 and 1"});
  const auto square = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(4, 4);
    nl::store(out[{p, f * f}], nl::load(x));
  });
  expect_failure([&] { (void)square(floats({4, 4})); }, "err_unsupported_expression_in_index", {"product"});
}

TEST(Errors, OneDimensionalArange) {
  const auto bad = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    nl::store(out, nl::load(x[{nl::arange(4)[{nl::None}], 0}]));
  });
  expect_failure([&] { (void)bad(floats({4, 4})); }, "err_1d_arange_not_supported", {"nl::all once"});
  const auto good = kernel_of({4, 1}, [](nl::tensor x, nl::tensor out) {
    auto t = nl::load(x);
    nl::store(out, nl::square(t[{nl::arange(4)[{nl::all, nl::None}], 0}]));
  });
  EXPECT_EQ(agreed(good, floats({4, 4})).at(3), 144);
  const auto slices = kernel_of({4}, [](nl::tensor x, nl::tensor out) {
    auto t = nl::load(x);
    nl::store(out, nl::square(t[{nl::slice{0, 4}, 0}]));
  });
  EXPECT_EQ(agreed(slices, floats({4, 4})).at(3), 144);
}

}  // namespace
}  // namespace oriel::tile::test
