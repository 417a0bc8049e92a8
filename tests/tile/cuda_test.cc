// Emitted CUDA texts, compiled and run: the interpreter's bits, whatever the number and order of threads and blocks.
#include <gtest/gtest.h>

#include "tile/cuda_cases.h"
#include "tile/cuda_run.h"

namespace oriel::tile::test {
namespace {

std::vector<nki::array> new_results(const Program& program) {
  std::vector<nki::array> out;
  for (const int id : program.outputs) {
    out.emplace_back(program.tensor(id).dtype, program.tensor(id).shape);
    std::memset(out.back().data(), 0xcd, static_cast<std::size_t>(out.back().bytes()));
  }
  return out;
}

std::vector<nki::array> interpreted(const CudaCase& c) {
  const std::vector<nki::array> out = new_results(c.program);
  const std::vector<ConstTensor> inputs(c.inputs.begin(), c.inputs.end());
  const std::vector<Tensor> results(out.begin(), out.end());
  run(c.program, inputs, results, Backend::interpreter);
  return out;
}

std::vector<nki::array> launched(const CudaCase& c, const CudaEntry& entry, const CudaOrder& order) {
  const std::vector<nki::array> out = new_results(c.program);
  std::vector<void*> memory;
  const auto bring = [&](const nki::array& a) {
    memory.push_back(cuda_allocate(static_cast<std::size_t>(a.bytes())));
    cuda_copy_to(memory.back(), a.data(), static_cast<std::size_t>(a.bytes()));
  };
  for (const nki::array& x : c.inputs) bring(x);
  for (const nki::array& y : out) bring(y);
  const std::vector<std::byte> noise(entry.scratch_bytes, std::byte{0xff});  // NaN, so that it shows where it is read
  void* scratch = cuda_allocate(noise.size() + 1);
  if (!noise.empty()) cuda_copy_to(scratch, noise.data(), noise.size());
  entry.run(memory.data(), scratch, order);
  EXPECT_STREQ(cuda_finish(), "") << entry.name;
  for (std::size_t o = 0; o < out.size(); ++o)
    cuda_copy_from(out[o].data(), memory[c.inputs.size() + o], static_cast<std::size_t>(out[o].bytes()));
  for (void* m : memory) cuda_release(m);
  cuda_release(scratch);
  return out;
}

TEST(Cuda, EveryTextGivesTheInterpretersBits) {
  if (!cuda_device_exists())
    GTEST_SKIP() << "no GPU here: nvcc has compiled the emitted CUDA texts, but they were NOT run on a GPU";
  const std::vector<CudaCase> cases = cuda_cases();
  ASSERT_EQ(cuda_entry_count, static_cast<int>(cases.size()));
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const CudaEntry& entry = cuda_entries[c];
    ASSERT_EQ(cases[c].program.name, entry.name);
    const std::vector<nki::array> expected = interpreted(cases[c]);
    for (const CudaOrder& order : {CudaOrder{}, CudaOrder{4, false}, CudaOrder{3, true}}) {
      const std::vector<nki::array> y = launched(cases[c], entry, order);
      for (std::size_t o = 0; o < y.size(); ++o)
        ASSERT_TRUE(same_bits(y[o], expected[o])) << entry.name << " with " << order.threads << " threads\n"
                                                  << to_string(cases[c].program) << emit_cuda(cases[c].program).text;
    }
  }
}

}  // namespace
}  // namespace oriel::tile::test
