// The emulator itself: every fault that it is there to find is found, and what it counts is right.
#include <cuda_pipeline_primitives.h>
#include <gtest/gtest.h>

#include <numeric>

#include "cuda/device/memory.cuh"
#include "emulator/grid.h"

namespace oriel::cuda {
namespace {

using grid::Order;

class Emulator : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override {
    grid::options() = {};
    grid::options().order = GetParam();
    grid::reset();
  }
  void TearDown() override {
    for (void* p : owned_) grid::release(p);
  }

  // `count` elements on the device; filled with 0, 1, 2, ... or, when `written` is false, with nothing.
  template <class T>
  T* make(std::size_t count, const char* name, bool written = true) {
    T* p = static_cast<T*>(grid::allocate(count * sizeof(T), name));
    owned_.push_back(p);
    if (written) {
      std::iota(p, p + count, T{});
      grid::mark_written(p, count * sizeof(T));
    }
    return p;
  }

  template <class... P, class... A>
  cudaError_t launch(void (*kernel)(P...), unsigned blocks, unsigned threads, std::size_t shared, A... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }

  static std::string found() { return grid::report().failures.empty() ? "" : grid::report().failures[0]; }
  static bool finds(const std::string& text) { return found().find(text) != std::string::npos; }

 private:
  std::vector<void*> owned_;
};

float* words() { return reinterpret_cast<float*>(dynamic_shared); }

__global__ void copy(const float* x, float* y, int n) {
  const int i = thread_number<int>();
  if (i < n) store(y + i, load(x + i));
}
__global__ void copy_vectors(const float* x, float* y) {
  const int i = 4 * thread_number<int>();
  store_pack<4>(y + i, load_pack<4>(x + i));
}
__global__ void copy_apart(const float* x, float* y) {  // every access of a warp takes 32 sectors
  const int i = thread_number<int>();
  store(y + i, load(x + 8 * i));
}
__global__ void reverse_block(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  words()[t] = load(x + t);
  __syncthreads();
  store(y + t, words()[n - 1 - t]);
}
__global__ void reverse_without_barrier(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  words()[t] = load(x + t);
  store(y + t, words()[n - 1 - t]);
}
// Two chunks through one place, or two; with and without the wait that they need.
template <bool kWaits, int kPlaces>
__global__ void double_by_copies(const float* x, float* y) {
  const int t = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
  const auto begin = [&](int chunk) {
    __pipeline_memcpy_async(words() + chunk % kPlaces * n + t, x + chunk * n + t, sizeof(float));
    __pipeline_commit();
  };
  begin(0);
  for (int chunk = 0; chunk < 2; ++chunk) {
    if (kWaits) __pipeline_wait_prior(0);
    __syncthreads();
    if (chunk == 0) begin(1);
    store(y + chunk * n + t, 2 * words()[chunk % kPlaces * n + (t + 1) % n]);
  }
  __pipeline_wait_prior(0);
}
__global__ void copy_misaligned(const float* x) {
  __pipeline_memcpy_async(words() + 1, x, 16);
  __pipeline_wait_prior(0);
}
__global__ void sum_warp(const float* x, float* y) {
  float v = load(x + threadIdx.x);
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffU, v, d);
  const float above = __shfl_up_sync(0xffffffffU, v, 1), below = __shfl_down_sync(0xffffffffU, v, 1);
  const unsigned even = __ballot_sync(0xffffffffU, threadIdx.x % 2 == 0);
  if (above == v && below == v && even == 0x55555555U) store(y + threadIdx.x, v);
}
__global__ void count_all(unsigned* counter) { atomicAdd(counter, 1U); }
__global__ void leave_early(float*) {
  if (threadIdx.x >= 7) __syncthreads();
}
__global__ void two_barriers(float*) {
  if (threadIdx.x % 2 == 0)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void part_of_a_warp(float* y) {
  if (threadIdx.x < 16) store(y + threadIdx.x, __shfl_sync(0xffffffffU, 1.0F, 0));
}
__global__ void write_shared_beyond(float*) { words()[blockDim.x] = 1; }
__global__ void write_twice(float* y) { store(y + threadIdx.x / 2, 1.0F); }

TEST_P(Emulator, RunsEveryThreadOnce) {
  const float* x = make<float>(1000, "x");
  float* y = make<float>(1000, "y", false);
  EXPECT_EQ(launch(&copy, 4, 256, 0, x, y, 1000), cudaSuccess);
  EXPECT_EQ(found(), "");
  EXPECT_TRUE(std::equal(x, x + 1000, y));
  EXPECT_TRUE(grid::all_written(y, 4000));
  EXPECT_EQ(grid::report().threads, 1024U);
  EXPECT_EQ(grid::report().rewritten, 0U);
}

TEST_P(Emulator, AsynchronousCopies) {
  const float* x = make<float>(128, "x");
  float* y = make<float>(128, "y", false);
  const auto is_right = [&](void (*kernel)(const float*, float*)) {
    EXPECT_EQ(launch(kernel, 1, 64, 512, x, y), cudaSuccess);
    for (int chunk = 0; chunk < 2; ++chunk)
      for (int i = 0; i < 64; ++i)
        if (y[64 * chunk + i] != 2 * x[64 * chunk + (i + 1) % 64]) return false;
    return true;
  };
  EXPECT_TRUE(is_right(&double_by_copies<true, 2>));
  EXPECT_EQ(found(), "");
  // Copies come late or at once, by the schedule, and each fault is seen in one of the two at least.
  if (GetParam() != Order::reverse) {
    EXPECT_FALSE(is_right(&double_by_copies<false, 2>)) << "nobody waited";
  }
  if (GetParam() != Order::forward) {
    EXPECT_FALSE(is_right(&double_by_copies<true, 1>)) << "the second chunk fell onto the first";
  }
  launch(&copy_misaligned, 1, 1, 64, x);
  EXPECT_TRUE(finds("misaligned asynchronous copy of 16 bytes")) << found();
}

TEST_P(Emulator, BarriersAndShuffles) {
  const float* x = make<float>(128, "x");
  float* y = make<float>(128, "y", false);
  launch(&reverse_block, 1, 128, 512, x, y);
  EXPECT_EQ(found(), "");
  for (int i = 0; i < 128; ++i) ASSERT_EQ(y[i], static_cast<float>(127 - i));
  EXPECT_EQ(grid::report().barriers, 1U);
  float* z = make<float>(64, "z", false);
  launch(&sum_warp, 1, 64, 0, x, z);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(z[3], 496.0F);
  EXPECT_EQ(z[40], 1520.0F);
  EXPECT_EQ(grid::report().shuffles, 16U);
  unsigned* counter = make<unsigned>(1, "counter");
  launch(&count_all, 3, 64, 0, counter);
  EXPECT_EQ(*counter, 192U);
  EXPECT_EQ(grid::report().atomics, 192U);
}

TEST_P(Emulator, FindsAnAccessOutOfBounds) {
  const float* x = make<float>(100, "x");
  float* y = make<float>(128, "y", false);
  launch(&copy, 1, 128, 0, x, y, 128);
  EXPECT_TRUE(finds("out of bounds: read of 4 bytes at 'x' + ")) << found();
  EXPECT_TRUE(finds("thread ")) << found();
  grid::reset();
  launch(&copy, 1, 128, 0, static_cast<const float*>(y), const_cast<float*>(x), 100);
  EXPECT_EQ(found(), "") << "100 elements fit";
  float outside[128];
  launch(&copy, 1, 128, 0, x, outside, 100);
  EXPECT_TRUE(finds("out of bounds: write of 4 bytes")) << found();
}

TEST_P(Emulator, FindsAnUnwrittenRead) {
  const float* x = make<float>(128, "x", false);
  launch(&copy, 1, 128, 0, x, make<float>(128, "y", false), 128);
  EXPECT_TRUE(finds("unwritten: read of 4 bytes at 'x' + ")) << found();
}

TEST_P(Emulator, FindsAMisalignedAccess) {
  const float* x = make<float>(130, "x");
  launch(&copy_vectors, 1, 32, 0, x + 1, make<float>(128, "y", false));
  EXPECT_TRUE(finds("misaligned read of 16 bytes at 'x' + ")) << found();
}

TEST_P(Emulator, FindsAWriteToAnInput) {
  float* x = make<float>(128, "x");
  grid::protect(x);
  launch(&copy, 1, 128, 0, make<float>(128, "y"), x, 128);
  EXPECT_TRUE(finds("write of 4 bytes to the input at 'x' + ")) << found();
}

TEST_P(Emulator, FindsADivergentBarrier) {
  launch(&leave_early, 1, 64, 0, nullptr);
  EXPECT_TRUE(finds("divergent barrier: ")) << found();
  EXPECT_TRUE(finds("57 threads")) << found();
  EXPECT_TRUE(finds("have left")) << found();
  grid::reset();
  launch(&two_barriers, 1, 64, 0, nullptr);
  EXPECT_TRUE(finds("divergent barrier: threads wait in line ")) << found();
}

TEST_P(Emulator, FindsLanesThatStayAway) {
  launch(&part_of_a_warp, 1, 32, 0, make<float>(32, "y", false));
  EXPECT_TRUE(finds("wait for their warp")) << found();
}

TEST_P(Emulator, FindsSharedMemoryBeyondTheBlocks) {
  launch(&write_shared_beyond, 1, 32, 128, nullptr);
  EXPECT_TRUE(finds("out of bounds: shared memory of 128 bytes was written at 128")) << found();
}

TEST_P(Emulator, CountsBytesStoredTwice) {
  launch(&write_twice, 1, 32, 0, make<float>(16, "y", false));
  EXPECT_EQ(grid::report().rewritten, 64U);
}

TEST_P(Emulator, CountsSectorsAndWidths) {
  grid::options().count = true;
  const float* x = make<float>(1024, "x");
  float* y = make<float>(1024, "y", false);
  launch(&copy, 1, 128, 0, x, y, 128);
  const grid::Report& r = grid::report();
  EXPECT_EQ(r.reads_by_width[2], 128U);
  EXPECT_EQ(r.read_sectors, 16U);
  EXPECT_EQ(r.distinct_read_sectors, 16U);
  EXPECT_EQ(r.write_sectors, 16U);
  grid::reset();
  launch(&copy_vectors, 1, 64, 0, x, y);
  EXPECT_EQ(r.reads_by_width[4], 64U);
  EXPECT_EQ(r.writes_by_width[4], 64U);
  EXPECT_EQ(r.read_sectors, 32U);
  EXPECT_EQ(r.write_sectors, 32U);
  grid::reset();
  launch(&copy_apart, 1, 64, 0, x, y);
  EXPECT_EQ(r.read_sectors, 64U);
  EXPECT_EQ(r.distinct_read_sectors, 64U);
  grid::reset();
  launch(&copy, 1, 128, 0, x, y, 128);
  launch(&copy, 1, 128, 0, x, y, 128);
  EXPECT_EQ(r.read_sectors, 32U);
  EXPECT_EQ(r.distinct_read_sectors, 16U) << "the second launch reads what the first one did";
}

TEST_P(Emulator, FailsAsTheRuntimeDoes) {
  EXPECT_EQ(launch(&count_all, 1, 2048, 0, nullptr), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(launch(&write_shared_beyond, 1, 32, 64 * 1024, nullptr), cudaErrorInvalidValue) << "more than 48 KB";
  EXPECT_EQ(cudaFuncSetAttribute(&write_shared_beyond, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 * 1024),
            cudaErrorInvalidValue);
  grid::fail_next("cudaMallocAsync", cudaErrorMemoryAllocation);
  void* p = nullptr;
  EXPECT_EQ(cudaMallocAsync(&p, 16, nullptr), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocAsync(&p, 16, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(p, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(this), cudaErrorInvalidValue);
}

INSTANTIATE_TEST_SUITE_P(Orders, Emulator, testing::Values(Order::forward, Order::reverse, Order::random),
                         [](const auto& of) {
                           return of.param == Order::forward   ? "forward"
                                  : of.param == Order::reverse ? "reverse"
                                                               : "random";
                         });

// A missing barrier shows: the order of threads, or what shared memory held before, changes the result.
TEST(EmulatorOrders, AMissingBarrierShows) {
  std::vector<std::vector<float>> results;
  for (const Order order : {Order::forward, Order::reverse}) {
    grid::options() = {.order = order};
    grid::reset();
    auto* x = static_cast<float*>(grid::allocate(512, "x"));
    auto* y = static_cast<float*>(grid::allocate(512, "y"));
    std::iota(x, x + 128, 0.0F);
    grid::mark_written(x, 512);
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = 512;
    cudaLaunchKernelEx(&config, &reverse_without_barrier, x, y);
    results.emplace_back(y, y + 128);
    grid::release(x);
    grid::release(y);
  }
  EXPECT_NE(std::memcmp(results[0].data(), results[1].data(), 512), 0);
}

}  // namespace
}  // namespace oriel::cuda
