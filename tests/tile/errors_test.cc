// The error page of NKI (SDK 2.26, nki.errors), in C++: what fails there fails here with that code, a text that names
// the tile, the numbers and the mend, and this file's line; the mended program runs.
#include <gtest/gtest.h>

#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

// The call fails with that id, a text that holds all of `parts`, and a line of this file.
template <class F>
void expect_failure(const F& call, const std::string& id, std::vector<std::string> parts,
                    const Where& where = Where::current()) {
  const Thrown t = thrown_by(call);
  EXPECT_EQ(t.id, id) << t.text << " (line " << where.line_number << ")";
  parts.push_back("[errors_test.cc:");
  for (const std::string& part : parts)
    EXPECT_NE(t.text.find(part), std::string::npos)
        << part << " is not in: " << t.text << " (line " << where.line_number << ")";
}

nki::array floats(const Extents& shape) { return nki::array::arange(Dtype::f32, shape); }

// A kernel that returns a tensor of that shape and does what `body` says with the argument and it.
template <class F>
auto kernel_of(const Extents& shape, F body) {
  return nki::jit("failing", [=](nl::tensor x) {
    auto out = nl::ndarray(shape, {.buffer = nl::shared_hbm});
    body(x, out);
    return out;
  });
}

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
  expect_failure([&] { (void)kernel(4)(floats({8, 4})); }, "err_num_partition_mismatch", {"4 and 8"});
  EXPECT_EQ(agreed(kernel(8), floats({8, 4})).at(1), 2);
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
  const auto argument = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) {
    nl::store(out, nl::load(x));
    nl::store(x, nl::load(x));
  });
  expect_failure([&] { (void)argument(floats({2, 2})); }, "err_unsupported_memory", {"an argument is immutable"});
  const auto good = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) { nl::store(out, nl::load(x) + 1); });
  EXPECT_EQ(agreed(good, floats({2, 2})).at(3), 4);
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
}

TEST(Errors, TensorOutputNotWrittenTo) {
  const auto kernel = [](index_t n) {  // n // 128 iterations
    return kernel_of({n}, [=](nl::tensor x, nl::tensor out) {
      for (auto i : nl::affine_range(n / 128))
        nl::store(out[{nl::ds(128 * i, 128)}], nl::load(x[{nl::ds(128 * i, 128)}]));
    });
  };
  expect_failure([&] { (void)kernel(100)(floats({100})); }, "err_tensor_output_not_written_to",
                 {"100 of the 100 elements of output `out`", "number of iterations"});
  expect_failure([&] { (void)kernel(200)(floats({200})); }, "err_tensor_output_not_written_to",
                 {"72 of the 200", "the first at 128"});
  EXPECT_EQ(agreed(kernel(256), floats({256})).at(255), 255);
}

TEST(Errors, UnexpectedOutputDependencies) {
  const auto bad = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    for (auto i : nl::affine_range(2)) {
      auto t = nl::load(x) + nl::iota(i + nl::mgrid(4, 4)[0], nl::float32);
      nl::store(out, t);
    }
  });
  expect_failure(
      [&] {
        (void)bad(floats({4, 4}));
      },
      "err_unexpected_output_dependencies", {"two iterations of a parallel loop", "sequential_range"});
  const auto good = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    for (auto i : nl::sequential_range(2)) {
      auto t = nl::load(x) + nl::iota(i + nl::mgrid(4, 4)[0], nl::float32);
      nl::store(out, t);
    }
  });
  EXPECT_EQ(agreed(good, floats({4, 4})).at(15), 15 + 1 + 3);
}

TEST(Errors, StoreDstShapeSmallerThanOtherShape) {
  const auto kernel = [](index_t n) {
    return kernel_of({4, 4}, [=](nl::tensor x, nl::tensor out) {
      nl::store(out, nl::load(x[{nl::all, nl::ds(0, n)}]));
    });
  };
  expect_failure(
      [&] {
        (void)kernel(8)(floats({4, 8}));
      },
      "err_store_dst_shape_smaller_than_other_shape", {"shape [4, 4] of `h1` must be the value's, which is [4, 8]"});
  EXPECT_EQ(agreed(kernel(4), floats({4, 8})).at(15), 27);
}

TEST(Errors, SharedHbmMustBeInKernelLevel) {
  const auto bad = nki::jit("failing", [](nl::tensor x) {
    nl::tensor out;
    for (auto i : nl::affine_range(1)) {
      out = nl::ndarray({4, 4}, {.buffer = nl::shared_hbm});
      nl::store(out[{nl::ds(4 * i, 4)}], nl::load(x));
    }
    return out;
  });
  expect_failure([&] { (void)bad(floats({4, 4})); }, "err_shared_hbm_must_in_kernel_level", {"outermost level"});
}

TEST(Errors, LocalVariableUsedOutOfScope) {
  const auto bad = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    nl::tensor t;
    for (auto i : nl::affine_range(4)) t = nl::load(x[{nl::all, nl::ds(i, 1)}]);
    nl::store(out[{nl::all, nl::ds(0, 1)}], t);
  });
  expect_failure(
      [&] {
        (void)bad(floats({4, 4}));
      },
      "err_local_variable_used_out_of_scope", {"make it before the loop"});
  const auto good = kernel_of({4, 4}, [](nl::tensor x, nl::tensor out) {
    auto t = nl::ndarray({4, 4});
    for (auto i : nl::affine_range(4)) t[{nl::all, nl::ds(i, 1)}] = nl::load(x[{nl::all, nl::ds(i, 1)}]);
    nl::store(out, t);
  });
  EXPECT_EQ(agreed(good, floats({4, 4})).at(15), 15);
}

TEST(Errors, ReadsOfUnwrittenMemory) {
  const auto never = kernel_of({2, 2}, [](nl::tensor, nl::tensor out) { nl::store(out, nl::ndarray({2, 2})); });
  expect_failure([&] { (void)never(floats({2, 2})); }, "err_read_of_unwritten", {"which nothing ever writes"});
  const auto partly = kernel_of({2, 4}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(2, 4);
    auto t = nl::load(x[{p, f}], {.mask = f < 3});  // a mask does not mean zero
    nl::store(out, t + 1);
  });
  expect_failure(
      [&] {
        (void)nki::simulate(partly, nki::trn2)(floats({2, 4}));
      },
      "err_read_of_unwritten", {"element 3", "fill"});
  const auto good = kernel_of({2, 4}, [](nl::tensor x, nl::tensor out) {
    auto [p, f] = nl::mgrid(2, 3);
    auto t = nl::zeros({2, 4});
    t[{p, f}] = nl::load(x[{p, f}]);
    nl::store(out, t + 1);
  });
  EXPECT_EQ(agreed(good, floats({2, 4})).at(3), 1);
}

TEST(Errors, ThePartitionAxisIsNotStridedNorReduced) {
  const auto strided = kernel_of({2, 4}, [](nl::tensor x, nl::tensor out) {
    auto t = nl::load(x);
    nl::store(out, nl::copy(t[{nl::slice{0, 4, 2}}]));
  });
  expect_failure(
      [&] {
        (void)strided(floats({4, 4}));
      },
      "PSTEP", {"partition stride of `t2` must be 4", "[[8,2],[1,4]]"});
  const auto reduced =
      kernel_of({4}, [](nl::tensor x, nl::tensor out) { nl::store(out, nl::sum(nl::load(x), {.axis = 0})); });
  expect_failure([&] { (void)reduced(floats({4, 4})); }, "err_reduce_partition_axis", {"partition axis"});
  const auto good = kernel_of({2, 4}, [](nl::tensor x, nl::tensor out) {
    nl::store(out, nl::load(x[{nl::slice{0, 4, 2}}]));  // DMA may skip rows of HBM
  });
  EXPECT_EQ(agreed(good, floats({4, 4})).at(4), 8);
}

TEST(Errors, KernelsAreNotNestedAndFunctionsNeedOne) {
  EXPECT_EQ(thrown_by([] { (void)nl::zeros({2, 2}); }).id, "err_outside_kernel");
  const nki::array x = floats({2, 6, 6});
  const auto nested = nki::jit("nested", [&](nl::tensor) {
    (void)tensor_avgpool_kernel(x, 3);
    return nl::zeros({1}, {.buffer = nl::shared_hbm});
  });
  EXPECT_EQ(thrown_by([&] { nested(x); }).id, "err_nested_kernel");
  EXPECT_EQ(tensor_avgpool_kernel(x, 2).at(0), 3.5);  // the failure left nothing behind
}

TEST(Errors, OtherMistakes) {
  const auto left = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) {
    for (auto i : nl::affine_range(3)) {
      nl::store(out, nl::load(x));
      (void)i;
      break;
    }
  });
  expect_failure([&] { (void)left(floats({2, 2})); }, "err_loop_left", {"break"});
  const auto wide = kernel_of({2, 2}, [](nl::tensor x, nl::tensor out) {
    (void)nl::zeros({2, 2}, {.dtype = Dtype::f64});
    nl::store(out, nl::load(x));
  });
  expect_failure([&] { (void)wide(floats({2, 2})); }, "err_unsupported_dtype", {"f64"});
  const auto rank = kernel_of({2, 2}, [](nl::tensor x, nl::tensor) { (void)x.shape<3>(); });
  expect_failure([&] { (void)rank(floats({2, 2})); }, "err_rank", {"[2, 2]"});
  const auto many = kernel_of({2, 2}, [](nl::tensor x, nl::tensor) { (void)x[{0, 0, 0}]; });
  expect_failure([&] { (void)many(floats({2, 2})); }, "err_tensor_index_rank", {"at most 2"});
}

}  // namespace
}  // namespace oriel::tile::test
