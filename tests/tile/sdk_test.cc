// The examples that NKI's own tests run (SDK 2.26, general/nki/test), in C++, each against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

nki::array uniform(Dtype dtype, const Extents& shape, unsigned seed) {
  nki::array out(dtype, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> pick(0, 1);
  visit(dtype, [&]<class T>() {
    for (index_t i = 0; i < out.size(); ++i) out.data<T>()[i] = detail::element_of<T>(pick(random));
  });
  return out;
}

nl::tensor like(const nl::tensor& x) {
  return nl::ndarray({x.shape()[0], x.shape()[1]}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
}

TEST(Sdk, Mask) {  // test_nki_mask: the square of a corner
  const auto kernel = nki::jit("nki_mask", [](nl::tensor in_tensor) {
    auto out_tensor = nl::ndarray({64, 256}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});
    auto i_p = nl::arange(128)[{nl::all, nl::None}];
    auto i_f = nl::arange(512)[{nl::None, nl::all}];
    auto in_tile = nl::load(in_tensor[{i_p, i_f}]);
    auto out_tile = nl::square(in_tile, {.mask = (i_p < 64) & (i_f < 256)});
    nl::store(out_tensor[{i_p, i_f}], {.value = nl::tensor(out_tile[{i_p, i_f}]), .mask = (i_p < 64) & (i_f < 256)});
    return out_tensor;
  });
  const nki::array a = uniform(Dtype::f32, {128, 512}, 0);
  const nki::array b = agreed(kernel, a);
  ASSERT_EQ(b.shape(), (Extents{64, 256}));
  for (index_t i = 0; i < b.size(); ++i) {
    const float x = a.data<float>()[i / 256 * 512 + i % 256];
    ASSERT_EQ(b.data<float>()[i], x * x);
  }
}

TEST(Sdk, LoadAndStoreOfMatricesAndOfBatches) {  // test_nki_nl_load_store
  const auto whole = nki::jit("example_kernel", [](nl::tensor in_tensor) {
    auto out_tensor = like(in_tensor);
    nl::store(out_tensor, nl::load(in_tensor));
    return out_tensor;
  });
  const nki::array a = uniform(Dtype::f32, {128, 512}, 1);
  EXPECT_TRUE(same_bits(agreed(whole, a), a));
  const auto batches = nki::jit("example_load_store_b", [](nl::tensor in_tensor) {
    auto out_tensor = nl::ndarray({4, 128, 512}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});
    for (auto i_b : nl::affine_range(4)) {
      auto data_tile = nl::zeros({128, 512}, {.dtype = in_tensor.dtype()});
      auto [i_p, i_f] = nl::mgrid(128, 512);
      data_tile[{i_p, i_f}] = nl::load(in_tensor[{i_b, i_p, i_f}]);
      nl::store(out_tensor[{i_b, i_p, i_f}], {.value = nl::tensor(data_tile[{i_p, i_f}])});
    }
    return out_tensor;
  });
  const nki::array b = uniform(Dtype::f32, {4, 128, 512}, 2);
  EXPECT_TRUE(same_bits(agreed(batches, b), b));
}

TEST(Sdk, DynamicSlices) {  // test_nki_nl_dslice
  const auto kernel = nki::jit("example_kernel", [](nl::tensor in_tensor) {
    auto out_tensor = like(in_tensor);
    for (auto i : nl::affine_range(in_tensor.shape()[1] / 512)) {
      auto tile = nl::load(in_tensor[{nl::all, nl::ds(i * 512, 512)}]);
      nl::store(out_tensor[{nl::all, nl::ds(i * 512, 512)}], tile);
    }
    return out_tensor;
  });
  const nki::array a = uniform(Dtype::f32, {128, 4096}, 3);
  EXPECT_TRUE(same_bits(agreed(kernel, a), a));
}

TEST(Sdk, BroadcastOfAPartition) {  // test_nki_nl_broadcast
  const auto kernel = nki::jit("nl_broadcast", [](nl::tensor in_tensor) {
    auto out_tensor = nl::ndarray({128, 64}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});
    auto in_tile = nl::load(in_tensor, {.dtype = in_tensor.dtype()});
    auto out_tile = nl::broadcast_to(in_tile, {128, in_tensor.shape()[1]});
    nl::store(out_tensor, out_tile);
    return out_tensor;
  });
  const nki::array a = numbers(Dtype::i32, {1, 64});
  const nki::array b = agreed(kernel, a);
  ASSERT_EQ(b.size(), 128 * 64);
  for (index_t i = 0; i < b.size(); ++i) ASSERT_EQ(b.at(i), a.at(i % 64));
  EXPECT_NO_THROW(kernel.specialize(nki::trn2, a));
}

TEST(Sdk, BroadcastOfFreeAxes) {
  const auto kernel = nki::jit("columns", [](nl::tensor x) {
    auto out = nl::ndarray({3, 4, 5}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    nl::store(out, nl::broadcast_to(nl::load(x), {3, 4, 5}));
    return out;
  });
  const nki::array a = numbers(Dtype::bf16, {3, 1, 5});
  const nki::array b = agreed(kernel, a);
  ASSERT_EQ(b.size(), 60);
  for (index_t i = 0; i < 60; ++i) EXPECT_EQ(b.at(i), a.at(i / 20 * 5 + i % 5));
  const auto wrong = nki::jit("wrong", [](nl::tensor x) { return nl::broadcast_to(nl::load(x), {3, 2, 10}); });
  const Thrown thrown = thrown_by([&] { wrong(a); });
  EXPECT_EQ(thrown.id, "err_operand_shape_mismatch");
  EXPECT_NE(thrown.text.find("shape [3, 1, 5] is to become [3, 2, 10]"), std::string::npos) << thrown.text;
}

TEST(Sdk, SumsAndSquaresOfTiles) {  // test_nki_nl_add, test_nki_nl_mgrid, test_nki_memory_semantics
  const auto add = nki::jit("add", [](nl::tensor a, nl::tensor b) {
    auto c = like(a);
    nl::store(c, nl::add(nl::load(a), nl::load(b)));
    return c;
  });
  const nki::array a = uniform(Dtype::f32, {128, 512}, 4), b = uniform(Dtype::f32, {128, 512}, 5);
  const nki::array c = agreed(add, a, b);
  ASSERT_EQ(c.size(), a.size());
  for (index_t i = 0; i < c.size(); ++i) ASSERT_EQ(c.data<float>()[i], a.data<float>()[i] + b.data<float>()[i]);

  const auto number = nki::jit("number", [](nl::tensor x) {
    auto out = like(x);
    auto [i, j] = nl::mgrid(128, 512);
    nl::store(out[{i, j}], nl::add(nl::load(x[{i, j}]), 1.5));
    return out;
  });
  EXPECT_EQ(agreed(number, a).data<float>()[700], a.data<float>()[700] + 1.5F);

  const auto blocks = nki::jit("simple_demo_kernel", [](nl::tensor a_ptr) {  // the block axis after the partition axis
    auto [n_b, n, m] = a_ptr.shape<3>();
    auto a_loaded = nl::ndarray({n, n_b, m}, {.dtype = a_ptr.dtype()});
    auto squares = nl::ndarray({n, n_b, m}, {.dtype = a_ptr.dtype()});
    auto out_ptr = nl::ndarray({n_b, n, m}, {.dtype = a_ptr.dtype(), .buffer = nl::shared_hbm});
    for (auto i_b : nl::affine_range(n_b)) {
      a_loaded[{nl::all, i_b, nl::all}] = nl::load(a_ptr[{i_b}]);
      squares[{nl::all, i_b, nl::all}] = nl::square(nl::tensor(a_loaded[{nl::all, i_b, nl::all}]));
      nl::store(out_ptr[{i_b}], nl::tensor(squares[{nl::all, i_b, nl::all}]));
    }
    return out_ptr;
  });
  const nki::array x = uniform(Dtype::f32, {4, 128, 512}, 6);
  const nki::array y = agreed(blocks, x);
  ASSERT_EQ(y.shape(), x.shape());
  for (index_t i = 0; i < y.size(); ++i) ASSERT_EQ(y.data<float>()[i], x.data<float>()[i] * x.data<float>()[i]);
}

TEST(Sdk, TilesWithNumbersAndVectors) {  // test_nki_isa_tensor_scalar
  const auto kernel = nki::jit("nki_tensor_scalar", [](nl::tensor a, nl::tensor e, nl::tensor f) {
    auto b = like(a), d = like(a), g = like(e);
    nl::store(b, nl::load(a) - 1.0);
    nl::store(d, 1.0 - nl::load(a));
    nl::store(g, nl::load(e) * nl::load(f) + 2.5);  // a vector, repeated along the free axis
    return std::vector<nl::tensor>{b, d, g};
  });
  const nki::array a = uniform(Dtype::f32, {128, 512}, 7), e = uniform(Dtype::f32, {64, 1024}, 8),
                   f = uniform(Dtype::f32, {64, 1}, 9);
  const std::vector<nki::array> out = kernel(a, e, f);
  const std::vector<nki::array> slow = nki::simulate(kernel, nki::trn2)(a, e, f);
  for (std::size_t o = 0; o < 3; ++o) EXPECT_TRUE(same_bits(out[o], slow[o])) << o;
  for (index_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(out[0].data<float>()[i], a.data<float>()[i] - 1);
    ASSERT_EQ(out[1].data<float>()[i], 1 - a.data<float>()[i]);
    const float product = e.data<float>()[i] * f.data<float>()[i / 1024];
    ASSERT_EQ(out[2].data<float>()[i], product + 2.5F);
  }
}

TEST(Sdk, Scans) {  // test_nki_isa_tensor_tensor_scan: the second half begins where the first ended
  const auto kernel = nki::jit("nki_tensor_tensor_scan", [](nl::tensor a_tensor, nl::tensor b_tensor) {
    auto c_tensor = like(a_tensor);
    auto a = nl::load(a_tensor), b = nl::load(b_tensor);
    auto c = nl::ndarray({128, 1024}, {.dtype = nl::float32});
    const auto left = nl::slice{0, 512}, right = nl::slice{512, 1024};
    c[{nl::all, left}] = nisa::tensor_tensor_scan({.data0 = a[{nl::all, left}],
                                                   .data1 = b[{nl::all, left}],
                                                   .initial = 0,
                                                   .op0 = Alu::multiply,
                                                   .op1 = Alu::add});
    c[{nl::all, right}] = nisa::tensor_tensor_scan({.data0 = a[{nl::all, right}],
                                                    .data1 = b[{nl::all, right}],
                                                    .initial = nl::tensor(c[{nl::all, nl::ds(511, 1)}]),
                                                    .op0 = Alu::multiply,
                                                    .op1 = Alu::add});
    nl::store(c_tensor, c);
    return c_tensor;
  });
  const nki::array a = uniform(Dtype::f32, {128, 1024}, 10), b = uniform(Dtype::f32, {128, 1024}, 11);
  const nki::array c = agreed(kernel, a, b);
  ASSERT_EQ(c.shape(), a.shape());
  for (index_t p = 0; p < 128; ++p) {
    float before = 0;
    for (index_t i = p * 1024; i < (p + 1) * 1024; ++i) {
      before = a.data<float>()[i] * before;
      before = before + b.data<float>()[i];
      ASSERT_EQ(c.data<float>()[i], before);
    }
  }
}

TEST(Sdk, ScansRoundWhatTheyGiveAndNotWhatTheyPassOn) {
  const auto kernel = nki::jit("halves", [](nl::tensor x) {
    auto out = like(x);
    auto t = nl::load(x);
    nl::store(
        out,
        nisa::tensor_tensor_scan(
            {.data0 = nl::full({1, 4}, 1), .data1 = t, .op0 = Alu::multiply, .op1 = Alu::add, .dtype = nl::float16}));
    return out;
  });
  nki::array x(Dtype::f16, {1, 4});
  for (index_t i = 0; i < 4; ++i) x.data<half>()[i] = half(i == 0 ? 2048.0 : 0.5);
  const nki::array y = agreed(kernel, x);
  ASSERT_EQ(y.size(), 4);
  EXPECT_EQ(y.at(1), 2048);  // 2048.5 has no half
  EXPECT_EQ(y.at(3), 2050);  // 2049.5, to even; a sum of halves would stay at 2048
}

TEST(Sdk, TheEightLargest) {  // test_nki_isa_max8
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::i16}) {
    const auto kernel = nki::jit("nki_max8", [](nl::tensor x) {
      auto out = nl::ndarray({32, 8}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
      nl::store(out, nisa::max8(nl::load(x)));
      return out;
    });
    const nki::array x = dtype == Dtype::i16 ? numbers(dtype, {32, 128}) : uniform(dtype, {32, 128}, 12);
    const nki::array y = agreed(kernel, x);
    ASSERT_EQ(y.shape(), (Extents{32, 8}));
    for (index_t p = 0; p < 32; ++p) {
      std::vector<double> row;
      for (index_t i = 0; i < 128; ++i) row.push_back(x.at(p * 128 + i));
      std::sort(row.begin(), row.end(), std::greater<>());
      for (index_t k = 0; k < 8; ++k) ASSERT_EQ(y.at(p * 8 + k), row[static_cast<std::size_t>(k)]);
    }
  }
  const auto of = [](const Extents& shape) {
    const auto kernel = nki::jit("nki_max8", [](nl::tensor x) {
      auto out = nl::ndarray({2, 8}, {.buffer = nl::shared_hbm});
      nl::store(out, nisa::max8(nl::load(x)));
      return out;
    });
    return thrown_by([&] { (void)kernel(nki::array::arange(Dtype::f32, shape)); });
  };
  EXPECT_EQ(of({2, 7}).id, "err_max8_elements");
  EXPECT_NE(of({2, 2, 8193}).text.find("8 to 16384 elements, but has 16386"), std::string::npos);
  EXPECT_EQ(of({2, 2, 4}).id, "");
}

TEST(Sdk, SelectsAndTheirMaxima) {
  const auto kernel = nki::jit("select_reduce", [](nl::tensor x, bool reversed) {
    auto out = nl::ndarray({4, 6}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    auto most = nl::ndarray({4, 1}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    auto t = nl::load(x);
    auto [selected, maxima] =
        nisa::select_reduce({.predicate = nl::greater(t, 2), .on_true = t, .on_false = -5.0, .reverse_pred = reversed});
    nl::store(out, selected);
    nl::store(most, maxima);
    return std::vector<nl::tensor>{out, most};
  });
  const nki::array x = numbers(Dtype::f32, {4, 6});
  for (const bool reversed : {false, true}) {
    const std::vector<nki::array> y = kernel(x, reversed);
    for (index_t p = 0; p < 4; ++p) {
      double most = -5;
      for (index_t i = p * 6; i < p * 6 + 6; ++i) {
        const double expected = (x.at(i) > 2) != reversed ? x.at(i) : -5;
        EXPECT_EQ(y[0].at(i), expected);
        most = std::max(most, expected);
      }
      EXPECT_EQ(y[1].at(p), most);
    }
  }
}

TEST(Sdk, CopiesWithinHbm) {  // test_nki_isa_dma_copy: 256 rows, as no tile has a part in it
  const auto kernel = nki::jit("nki_dma_copy", [](nl::tensor a) {
    auto b = like(a);
    nisa::dma_copy({.dst = b, .src = a});
    return b;
  });
  const nki::array a = uniform(Dtype::f32, {256, 1}, 13);
  EXPECT_TRUE(same_bits(agreed(kernel, a), a));
  EXPECT_TRUE(same_bits(nki::simulate(kernel, nki::trn1)(a), a));
  const Report r = report(kernel.trace(a), nki::trn1);
  EXPECT_EQ(r.bytes_in, 1024);
  EXPECT_EQ(r.bytes_out, 1024);
}

TEST(Sdk, MemsetAndReduce) {  // test_nki_isa_memset, test_nki_isa_reduce
  const auto kernel = nki::jit("nki_reduce", [](nl::tensor a_tensor) {
    auto b_tensor = nl::ndarray({a_tensor.shape()[0], 1}, {.dtype = a_tensor.dtype(), .buffer = nl::shared_hbm});
    auto [i_p_b, i_f_b] = nl::mgrid(128, 1);
    nl::store(b_tensor[{i_p_b, i_f_b}],
              nl::sum(nl::load(a_tensor) + nl::zeros({128, 512}), {.axis = 1, .keepdims = true}));
    return b_tensor;
  });
  const nki::array a = uniform(Dtype::f32, {128, 512}, 14);
  const nki::array b = agreed(kernel, a);
  ASSERT_EQ(b.size(), 128);
  for (index_t p = 0; p < 128; ++p) {
    float total = 0;
    for (index_t i = 0; i < 512; ++i) total += a.data<float>()[p * 512 + i];
    EXPECT_EQ(b.data<float>()[p], total);
  }
}

TEST(Sdk, MaskedReductionsFoldLess) {
  const auto kernel = nki::jit("masked", [](nl::tensor x, int from) {
    auto out = nl::ndarray({3, 1}, {.buffer = nl::shared_hbm});
    auto [p, f] = nl::mgrid(3, 8);
    nl::store(out, nl::max(nl::load(x), {.axis = 1, .keepdims = true, .mask = (f >= from) & (f < from + 3)}));
    return out;
  });
  const nki::array x = numbers(Dtype::f32, {3, 8});
  for (const int from : {0, 2, 5}) {
    const nki::array y = agreed(kernel, x, from);
    ASSERT_EQ(y.size(), 3);
    for (index_t p = 0; p < 3; ++p) {
      const index_t at = p * 8 + from;
      EXPECT_EQ(y.at(p), std::max({x.at(at), x.at(at + 1), x.at(at + 2)}));
    }
  }
  EXPECT_EQ(thrown_by([&] { nki::simulate(kernel, nki::native)(x, 8); }).id, "err_read_of_unwritten");  // of nothing
  const auto mean =
      nki::jit("mean", [](nl::tensor t) { return nl::mean(nl::load(t), {.axis = 1, .mask = nl::mgrid(3, 8)[1] < 3}); });
  EXPECT_EQ(thrown_by([&] { mean(x); }).id, "err_unsupported_mask");
}

}  // namespace
}  // namespace oriel::tile::test
