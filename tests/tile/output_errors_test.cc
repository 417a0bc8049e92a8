// NKI's error page, continued: results, orders of writes, scopes, memory that nothing wrote.
#include "tile/errors.h"

namespace oriel::tile::test {
namespace {

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
  const auto filled = kernel_of({100}, [](nl::tensor, nl::tensor out) {  // the page's second mend
    nl::store(out, 0);
    for (auto i : nl::affine_range(100 / 128)) nl::store(out[{nl::ds(i, 1)}], 1);
  });
  EXPECT_EQ(agreed(filled, floats({100})).at(99), 0);
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

TEST(Errors, ParallelIterationsThatWriteOnePlaceOfATile) {  // the page's own snippet, with its two mends
  const auto kernel = [](bool own_place, bool ordered) {
    return kernel_of({4, 12}, [=](nl::tensor x, nl::tensor out) {
      auto a = nl::zeros({4, 4, 3});
      const auto body = [&](const nl::index& i) {
        const nl::subscript place = own_place ? nl::subscript(i) : nl::subscript(0);
        a[{nl::all, place, nl::all}] = nl::load(x) + nl::iota(i + nl::mgrid(4, 3)[0], nl::float32);
      };
      if (ordered)
        for (auto i : nl::sequential_range(4)) body(i);
      else
        for (auto i : nl::affine_range(4)) body(i);
      auto [p, f, g] = nl::mgrid(4, 4, 3);
      nl::store(out[{p, 3 * f + g}], nl::tensor(a));
    });
  };
  expect_failure(
      [&] {
        (void)kernel(false, false)(floats({4, 3}));
      },
      "err_unexpected_output_dependencies",
      {"element 0 of `t2`", "two iterations of a parallel loop", "sequential_range"});
  EXPECT_EQ(agreed(kernel(true, false), floats({4, 3})).at(11), 2 + 3);  // zeros before the loop are no conflict
  EXPECT_EQ(agreed(kernel(false, true), floats({4, 3})).at(0), 0 + 3);
  const auto nested = kernel_of({4, 3}, [](nl::tensor x, nl::tensor out) {  // an order around a parallel loop
    nl::store(out, 0);
    for (auto s : nl::sequential_range(2))
      for (auto i : nl::affine_range(3)) nl::store(out[{nl::ds(s + i, 1)}], nl::load(x[{nl::ds(i, 1)}]));
  });
  EXPECT_EQ(agreed(nested, floats({4, 3})).at(3), 0);
}

TEST(Errors, ControlFlowThatDependsOnAnIndexIsAMask) {  // `if j > 5` does not compile
  const auto kernel = kernel_of({2, 16}, [](nl::tensor x, nl::tensor out) {
    auto t = nl::load(x);
    for (auto j0 : nl::affine_range(4)) {
      auto [p, i1] = nl::mgrid(2, 4);
      const nl::index j = 4 * j0 + i1;
      auto y = nl::copy(t[{p, j}]);
      y[{p, i1}] = nl::add(t[{p, j}], nl::tensor(t[{p, j - 5}]), {.mask = j > 5});
      nl::store(out[{p, j}], y);
    }
  });
  const nki::array y = agreed(kernel, floats({2, 16}));
  ASSERT_EQ(y.size(), 32);
  for (index_t i = 0; i < 32; ++i) EXPECT_EQ(y.at(i), static_cast<double>(i % 16 > 5 ? i + i - 5 : i));
}

// What the page refuses when the kernel is compiled, C++ refuses: truth values of tiles and indices
// (err_ambiguous_tensor_truth_value, err_dynamic_control_flow_not_supported,
// err_control_flow_condition_depending_on_arange) and assignment to an index (err_cannot_assign_to_index).
template <class T>
concept has_not = requires(const T& t) {
  !t;
};
template <class T>
concept takes_elements = requires(T& t) {
  t[{nl::subscript(0), nl::subscript(5)}] = 1024;
};
static_assert(!std::is_constructible_v<bool, nl::tensor> && !has_not<nl::tensor>);
static_assert(!std::is_constructible_v<bool, nl::index> && !has_not<nl::index> && !has_not<nl::mask>);
static_assert(!takes_elements<nl::index>);

TEST(Errors, AnIndexIsAssignedToAsAnIota) {
  const auto kernel = kernel_of({1, 8}, [](nl::tensor, nl::tensor out) {
    auto y = nl::iota(nl::mgrid(1, 8)[1], nl::uint32);
    y[{0, nl::ds(5, 1)}] = nl::full({1}, 1024, {.dtype = nl::uint32});
    nl::store(out, y);
  });
  const nki::array y = agreed(kernel, floats({1, 1}));
  ASSERT_EQ(y.size(), 8);
  for (index_t i = 0; i < 8; ++i) EXPECT_EQ(y.at(i), i == 5 ? 1024 : static_cast<double>(i));
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
      "err_store_dst_shape_smaller_than_other_shape",
      {"Illegal assignment destination shape in 'store'", "shape [4, 4] of `h1` must be the value's, which is [4, 8]"});
  EXPECT_EQ(agreed(kernel(4), floats({4, 8})).at(15), 27);
  const auto assigned = [](bool to_the_larger) {
    return kernel_of({4, 8}, [=](nl::tensor x, nl::tensor out) {
      auto large = nl::load(x), small = nl::load(x[{nl::all, nl::ds(3, 1)}]);
      if (to_the_larger)
        large[{nl::all, nl::all}] = small;
      else
        small[{nl::all, nl::all}] = large;
      nl::store(out, large);
    });
  };
  expect_failure(
      [&] {
        (void)assigned(false)(floats({4, 8}));
      },
      "err_store_dst_shape_smaller_than_other_shape",
      {"in 'a = b': shape [4, 1] of `t3` must be the value's, which is [4, 8]"});
  EXPECT_EQ(agreed(assigned(true), floats({4, 8})).at(31), 27);  // a column is repeated
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
  const auto good = nki::jit("hoisted", [](nl::tensor x) {
    auto out = nl::ndarray({4, 4}, {.buffer = nl::shared_hbm});
    for (auto i : nl::affine_range(1)) nl::store(out[{nl::ds(4 * i, 4)}], nl::load(x));
    return out;
  });
  EXPECT_EQ(agreed(good, floats({4, 4})).at(15), 15);
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

TEST(Errors, ANameThatIsGivenToANewTileInALoop) {
  const auto kernel = [](bool in_place) {
    return kernel_of({2, 4}, [=](nl::tensor x, nl::tensor out) {
      auto data = nl::load(x);
      for (auto i : nl::sequential_range(4)) {
        auto tile = nl::iota(i + 0 * nl::mgrid(2, 4)[0], nl::float32);
        if (in_place)
          data[{nl::all, nl::all}] = data + tile;
        else
          data = data + tile;
      }
      nl::store(out, data);
    });
  };
  expect_failure([&] { (void)kernel(false)(floats({2, 4})); }, "err_local_variable_used_out_of_scope", {"inside"});
  EXPECT_EQ(agreed(kernel(true), floats({2, 4})).at(7), 7 + 0 + 1 + 2 + 3);
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

TEST(Errors, ATileOfAnIterationHasNothingOfTheOneBefore) {
  const auto kernel = [](index_t columns) {
    return kernel_of({2, 8}, [=](nl::tensor x, nl::tensor out) {
      auto [p, f] = nl::mgrid(2, 4);
      for (auto i : nl::affine_range(0, 8, 4)) {
        auto t = nl::load(x[{p, i + f}], {.mask = i + f < columns});
        nl::store(out[{p, i + f}], t);
      }
    });
  };
  expect_failure(
      [&] {
        (void)nki::simulate(kernel(7), nki::trn2)(floats({2, 8}));
      },
      "err_read_of_unwritten", {"element 3 of `t2`"});
  EXPECT_EQ(agreed(kernel(8), floats({2, 8})).at(15), 15);
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
  EXPECT_EQ(thrown_by([] { (void)nl::zeros({2, 2}); }).id, "err_nki_api_outside_of_nki_kernel");
  const nki::array x = floats({2, 6, 6});
  const auto nested = nki::jit("nested", [&](nl::tensor) {
    (void)tensor_avgpool_kernel(x, 3);
    return nl::ndarray({1}, {.buffer = nl::shared_hbm});
  });
  EXPECT_EQ(thrown_by([&] { nested(x); }).id, "err_nested_kernel_with_spmd_grid");
  const auto with_grid = nki::jit("with_grid", [](nl::tensor t) { return tensor_avgpool_kernel[{4, 4}](t, 3); });
  const Thrown refused = thrown_by([&] { with_grid(x); });
  EXPECT_EQ(refused.id, "err_nested_kernel_with_spmd_grid");
  EXPECT_NE(refused.text.find("`tensor_avgpool_kernel` must be called without"), std::string::npos) << refused.text;
  EXPECT_EQ(tensor_avgpool_kernel(x, 2).at(0), 3.5);  // the failure left nothing behind
  const auto inside = nki::jit("inside", [](nl::tensor t) { return tensor_avgpool_kernel(t, 3); });
  EXPECT_TRUE(same_bits(agreed(inside, x), tensor_avgpool_kernel(x, 3)));
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
