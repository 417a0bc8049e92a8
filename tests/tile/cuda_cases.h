// The programs whose CUDA texts are compiled and run: random ones, the shipped kernels, and one for each way that a
// program can lie on a grid.
#pragma once

#include "oriel/tile/kernels.h"
#include "tile/random_kernel.h"
#include "tile/tutorial.h"

namespace oriel::tile::test {

constexpr unsigned kCudaRandomPrograms = 300;

struct CudaCase {
  Program program;  // its name is unlike the others'
  std::vector<nki::array> inputs;
};

inline void add_case(std::vector<CudaCase>& cases, Program program, const std::string& name, unsigned seed = 1) {
  CudaCase out{std::move(program), {}};
  out.program.name = name;
  for (const int id : out.program.parameters) {
    const TensorInfo& t = out.program.tensor(id);
    out.inputs.push_back(numbers(t.dtype, t.shape, seed++));
  }
  cases.push_back(std::move(out));
}

// A kernel of one input of that shape and one result of another, which `body` writes.
template <class F>
Program program_of(const Extents& in, const Extents& out_shape, F body, const Values& grid = {}) {
  return record("k", "", {{Dtype::f32, in}}, grid, [&](const std::vector<nl::tensor>& x) {
    auto out = nl::ndarray(out_shape, {.buffer = nl::shared_hbm});
    body(x[0], out);
    return std::vector<nl::tensor>{out};
  });
}

inline void add_grids(std::vector<CudaCase>& cases) {
  // A load from another partition: a block has all of them.
  add_case(cases,
           program_of({8, 5}, {4, 5},
                      [](nl::tensor x, nl::tensor out) {
                        auto t = nl::load(x) * 2;
                        nl::store(out, nl::add(t[{nl::ds(4, 4)}], nl::tensor(t[{nl::ds(0, 4)}])));
                      }),
           "across_partitions");
  // A tensor in HBM that is written and read: one block, programs in turn.
  add_case(cases,
           program_of({6, 4}, {6, 4},
                      [](nl::tensor x, nl::tensor out) {
                        auto own = nl::ndarray({6, 4}, {.buffer = nl::hbm});
                        nl::store(own[{nl::ds(nl::program_id(0) * 3, 3)}],
                                  nl::load(x[{nl::ds(nl::program_id(0) * 3, 3)}]) * 2);
                        nl::store(out[{nl::ds(nl::program_id(0) * 3, 3)}],
                                  nl::load(own[{nl::ds(nl::program_id(0) * 3, 3)}]) + 1);
                      },
                      {2}),
           "hbm_of_its_own");
  // Partitions write the same row, in a loop that has an order.
  add_case(cases,
           program_of({3, 4}, {4, 4},
                      [](nl::tensor x, nl::tensor out) {
                        auto [p, f] = nl::mgrid(3, 4);
                        for (auto i : nl::sequential_range(2)) nl::store(out[{p + i, f}], nl::load(x) * 3);
                      }),
           "rows_written_twice");
}

inline void add_places(std::vector<CudaCase>& cases) {
  // Elements that share a place: the last one in order stays.
  add_case(cases,
           program_of({2, 6}, {2, 3},
                      [](nl::tensor x, nl::tensor out) {
                        auto [p, f, g] = nl::mgrid(2, 3, 2);
                        auto t = nl::load(x) * 1.5;
                        nl::store(out[{p, f + 0 * g}], nl::copy(t[{p, 2 * f + g}]));
                      }),
           "places_shared");
  // A tile that is carried through a loop, and another that shares memory with none of its life.
  add_case(cases,
           program_of({4, 12}, {4, 12},
                      [](nl::tensor x, nl::tensor out) {
                        auto total = nl::zeros({4, 3});
                        for (auto i : nl::sequential_range(4)) {
                          auto part = nl::load(x[{nl::all, nl::ds(3 * i, 3)}]) * 2;
                          auto twice = part + part;
                          total[{nl::all, nl::all}] = total + (twice - part);
                          nl::store(out[{nl::all, nl::ds(3 * i, 3)}], total * part);
                        }
                      }),
           "carried");
  // Tiles beyond shared memory; counters beyond 32 bits.
  add_case(cases,
           program_of({2, 9000}, {2, 9000},
                      [](nl::tensor x, nl::tensor out) {
                        auto t = nl::load(x) * 2;
                        nl::store(out, (t + nl::max(t, {.axis = 1, .keepdims = true})) * t);
                      }),
           "large_tiles");
  add_case(cases,
           program_of({2, 3}, {2, 3},
                      [](nl::tensor x, nl::tensor out) {
                        auto [p, f] = nl::mgrid(2, 3);
                        nl::store(out, nl::iota(p * 3000000000 + f - 7, nl::float32) + nl::load(x));
                      }),
           "wide_indices");
  add_case(cases,
           program_of({2, 3}, {2, 3},
                      [](nl::tensor x, nl::tensor out) {
                        auto t = nl::load(x).named("float");
                        auto u = (t * -0.0).named("a1"),
                             v = (u + std::numeric_limits<double>::infinity()).named("value");
                        nl::store(out, v - std::numeric_limits<double>::quiet_NaN() + t);
                      }),
           "names_of_the_language");
}

inline void add_instructions(std::vector<CudaCase>& cases) {
  add_case(cases,
           program_of({5, 12}, {5, 12},
                      [](nl::tensor x, nl::tensor out) {
                        auto a = nl::load(x), b = nl::square(a);
                        auto first = nisa::tensor_tensor_scan({.data0 = a[{nl::all, nl::ds(0, 6)}],
                                                               .data1 = b[{nl::all, nl::ds(0, 6)}],
                                                               .initial = 0.5,
                                                               .op0 = Alu::multiply,
                                                               .op1 = Alu::add});
                        auto c = nl::ndarray({5, 12});
                        c[{nl::all, nl::ds(0, 6)}] = first;
                        c[{nl::all, nl::ds(6, 6)}] =
                            nisa::tensor_tensor_scan({.data0 = a[{nl::all, nl::ds(6, 6)}],
                                                      .data1 = b[{nl::all, nl::ds(6, 6)}],
                                                      .initial = nl::tensor(c[{nl::all, nl::ds(5, 1)}]),
                                                      .op0 = Alu::less,
                                                      .op1 = Alu::max,
                                                      .dtype = nl::float32});
                        nl::store(out, c);
                      }),
           "scans");
  add_case(cases,
           program_of({5, 4, 9}, {5, 8},
                      [](nl::tensor x, nl::tensor out) {
                        auto t = nl::load(x);
                        nl::store(out, nisa::max8(nl::sqrt(t, {.dtype = nl::float16})));  // of negative ones NaN
                      }),
           "eight_largest");
  add_case(cases,
           program_of({4, 6}, {4, 1},
                      [](nl::tensor x, nl::tensor out) {
                        auto t = nl::load(x);
                        nl::store(
                            out,
                            nisa::select_reduce({.predicate = nl::greater(t, 2), .on_true = t, .on_false = -5}).second);
                      }),
           "select_reduces");
}

inline void add_masks_and_copies(std::vector<CudaCase>& cases) {
  add_case(cases,
           program_of({1, 6}, {7, 6},
                      [](nl::tensor x, nl::tensor out) {
                        nl::store(out, nl::broadcast_to(nl::load(x) * 3, {7, 6}));
                      }),
           "repeats_partitions");
  add_case(cases,
           program_of({6, 4}, {6, 4},
                      [](nl::tensor x, nl::tensor out) {
                        nisa::dma_copy({.dst = out, .src = x});
                        auto [p, f] = nl::mgrid(6, 4);
                        nl::store(out[{p, f}], {.value = nl::load(out) + 1, .mask = p < 3});
                      }),
           "hbm_to_hbm");
  add_case(cases,
           program_of({6, 8}, {6, 8},
                      [](nl::tensor x, nl::tensor out) {
                        for (auto i : nl::affine_range(2)) {
                          auto [p, f] = nl::mgrid(6, 4);
                          auto t = nl::load(x[{p, 4 * i + f}]);
                          auto y = nl::full({6, 4}, 7);
                          y[{p, f}] = nl::add(t, t, {.mask = (f + 2 * i >= 1) & (p + i < 5)});
                          y[{p, f}] = nl::where(nl::less(t, 0), t, 9, {.mask = (2 * f < 3) & (i < 1)});
                          nl::store(out[{p, 4 * i + f}], y);
                        }
                      }),
           "masked_arithmetic");
  add_case(cases,
           program_of({6, 3, 8}, {6, 3},
                      [](nl::tensor x, nl::tensor out) {
                        auto [p, g, f] = nl::mgrid(6, 3, 8);
                        auto y = nl::zeros({6, 3});
                        auto [q, h] = nl::mgrid(6, 3);
                        y[{q, h}] = nl::sum(nl::load(x), {.axis = 2, .mask = (f >= 2) & (f < 7) & (g < 2) & (p > 0)});
                        nl::store(out, y);
                      }),
           "masked_sums");
}

inline void add_shipped(std::vector<CudaCase>& cases) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const std::string suffix = "_" + std::string(name(dtype));
    for (const ShippedKernel& k : shipped_kernels()) {
      const bool many = k.name != "tensor_avgpool_kernel" && dtype == Dtype::f32;
      const nki::meta x{dtype, k.rank == 4 ? Extents{3, 6, 7, 6} : Extents{many ? 130 : 5, 9, 8}};
      std::map<std::string, int> values = {{"pool_size", 3}, {"output", 3}, {"kernel", 3}, {"stride", 2}};
      if (k.name.substr(0, 3) != "max" || k.rank == 3) values["padding"] = 1;
      if (k.name == "max_pool2d_backward") values["stride"] = 3;
      add_case(cases, k.trace(x, values), std::string(k.name) + suffix, 3);
    }
  }
}

inline std::vector<CudaCase> cuda_cases() {
  std::vector<CudaCase> cases;
  add_grids(cases);
  add_places(cases);
  add_instructions(cases);
  add_masks_and_copies(cases);
  add_shipped(cases);
  for (unsigned seed = 1; seed <= kCudaRandomPrograms; ++seed) {
    RandomProgram r = random_program(seed);
    r.program.name = "random_" + std::to_string(seed);
    cases.push_back({std::move(r.program), std::move(r.inputs)});
  }
  return cases;
}

}  // namespace oriel::tile::test
