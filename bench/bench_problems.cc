// Times forward pools by their names with Google Benchmark, next to a copy of as many bytes.
// Usage: oriel_bench [Google Benchmark's options] [NAME...]; without names, those of bench/suite.txt.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "oriel/pool.h"

namespace {

using oriel::Problem;

std::vector<std::string> read_suite() {
  std::vector<std::string> names;
  std::ifstream file(ORIEL_SUITE);
  for (std::string line; std::getline(file, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty() && line[0] != '[') names.push_back(line);
  }
  return names;
}

std::size_t bytes(const oriel::Extents& shape, oriel::Dtype dtype) {
  return static_cast<std::size_t>(oriel::element_count(shape) * oriel::size_bytes(dtype));
}

// Bytes whose values, as f32 or any other type, are finite and vary.
std::vector<std::byte> fill(std::size_t count) {
  std::vector<std::byte> memory(count);
  std::uint32_t state = 1;
  for (std::byte& b : memory) {
    state = state * 1664525U + 1013904223U;
    b = static_cast<std::byte>((state >> 24) & 0x3bU);
  }
  return memory;
}

// What was timed must have the bits of the least instruction set; `again` computes into `result`.
void verify(benchmark::State& state, const std::vector<std::byte>& timed, const std::vector<std::byte>& result,
            const std::function<void()>& again) {
  const std::string here = oriel::active_target(), other = oriel::supported_targets().back();
  if (here == other) {
    state.SetLabel("not verified: there is one instruction set");
    return;
  }
  oriel::set_target(other);
  again();
  oriel::set_target(here);
  if (timed != result) state.SkipWithError(("differs from " + other).c_str());
}

void time_pool(benchmark::State& state, const Problem& problem) {
  const auto x = fill(bytes(problem.shape, problem.dtype));
  auto y = fill(bytes(problem.output_shape, problem.dtype));
  const oriel::ConstTensor x_view(x.data(), problem.dtype, problem.shape,
                                  oriel::dense_pitch(problem.shape, problem.order));
  const oriel::Tensor y_view(y.data(), problem.dtype, problem.output_shape,
                             oriel::dense_pitch(problem.output_shape, problem.order));
  for (auto _ : state) {
    oriel::forward(problem.pool, {.x = x_view, .y = y_view}, {.threads = 1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.size() + y.size()));
  const std::vector<std::byte> timed = y;
  verify(state, timed, y, [&] { oriel::forward(problem.pool, {.x = x_view, .y = y_view}, {.threads = 1}); });
}

void time_copy(benchmark::State& state, std::size_t count) {
  const auto x = fill(count);
  auto y = fill(count);
  for (auto _ : state) {
    std::memcpy(y.data(), x.data(), count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * count));
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = read_suite();
  for (const std::string& name : names) {
    const Problem problem = oriel::parse_problem(name);
    if (problem.direction == oriel::Direction::backward || problem.indices || problem.codes)
      continue;  // `oriel bench` times those
    benchmark::RegisterBenchmark(name.c_str(), [problem](benchmark::State& state) { time_pool(state, problem); });
    const std::size_t moved = bytes(problem.shape, problem.dtype) + bytes(problem.output_shape, problem.dtype);
    benchmark::RegisterBenchmark(("copy for " + name).c_str(),
                                 [moved](benchmark::State& state) { time_copy(state, moved / 2); });
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const oriel::Error& error) {
  std::fprintf(stderr, "oriel_bench: %s\n", error.what());
  return 1;
}
