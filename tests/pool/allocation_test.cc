// After its first call a problem allocates nothing: scratch memory belongs to the thread and is kept.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "oriel/pool.h"

namespace {
std::atomic<long> allocations{0};
}

// The C library lets a program put its own functions before these; everything that allocates comes through them.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}

namespace oriel::test {
namespace {

std::vector<double> memory(const Extents& shape) {  // room for any dtype; zeros are good values of all
  return std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0);
}

// Allocations of the third call of a problem on one thread.
long allocations_of(const Problem& p) {
  const auto x = memory(p.shape), dy = memory(p.output_shape);
  auto y = memory(p.output_shape), dx = memory(p.shape), indices = memory(p.output_shape);
  const Extents in = dense_pitch(p.shape, p.order), out = dense_pitch(p.output_shape, p.order);
  const ConstTensor x_view(x.data(), p.dtype, p.shape, in), dy_view(dy.data(), p.dtype, p.output_shape, out);
  const Tensor y_view(y.data(), p.dtype, p.output_shape, out), dx_view(dx.data(), p.dtype, p.shape, in);
  const Tensor index_view(indices.data(), Dtype::i64, p.output_shape, out);
  const Options one{.threads = 1};
  const auto call = [&] {
    if (p.direction == Direction::backward) return backward(p.pool, {.x = x_view, .dy = dy_view, .dx = dx_view}, one);
    if (p.indices) return forward(p.pool, {.x = x_view, .y = y_view, .indices = index_view}, one);
    forward(p.pool, {.x = x_view, .y = y_view}, one);
  };
  call();
  call();
  const long before = allocations;
  call();
  return allocations - before;
}

class Allocation : public testing::TestWithParam<const char*> {};

TEST_P(Allocation, NoneAfterTheFirstCall) { EXPECT_EQ(allocations_of(parse_problem(GetParam())), 0); }

INSTANTIATE_TEST_SUITE_P(
    Problems, Allocation,
    testing::Values("max:f32:2x8x56x56:k2x2", "max:f32:2x8x56x56:k3x3s2p1", "avg:f32:2x8x56x56:k3x3s1p1",
                    "max:f32:2x56x56x64:k3s2p1:axes1,2", "avg:f32:2x56x56x64:k3s2p1:axes1,2",
                    "max:u8:1x90x90x3:k3s2p1:axes1,2", "max:f16:2x8x56x56:k2x2", "avg:bf16:2x8x56x56:k3x3s2p1",
                    "max:f32:1x1x200x300:k31x31s1p15", "avg:f32:1x1x200x300:k31x31s1p15",
                    "max:f32:1x20000:k1001s1:axes1", "max:f32:2x4x16x20x24:k3x3x3s1p1", "avg:f32:2x4x16x20x24:k2x2x2",
                    "lp2:f32:2x8x56x56:k2x2", "max:f32:2x8x56x56:global:axes2,3", "avg:f32:2x8x56x56:out7x7:axes2,3",
                    "max:f32:64x14x14:k3s1p1:axes1,2", "avg:f32:1x64x14x14:k3x3s2p1:exclude",
                    "max:f32:1x70x13x13:k13x13s1p6", "avg:f32:1x70x7x7:k3x3s2", "max:f32:2x8x56x56:k3x3s2p1:indices",
                    "max:f32:2x56x56x64:k3s2p1:axes1,2:indices", "max:f32:2x8x56x56:k3x3s2p1:backward",
                    "max:f32:2x8x56x56:k2x2:backward", "max:f32:1x70x14x14:k2x2:backward",
                    "avg:f32:1x70x7x7:k3x3s1p1:backward", "avg:f32:2x8x56x56:k3x3s2p1:backward",
                    "avg:f32:2x8x56x56:k2x2:backward", "avg:f32:2x56x56x64:k3s1p1:axes1,2:backward",
                    "sum:f32:2x8x56x56:k3x3s1p1:backward"));

TEST(Allocation, AreCounted) {
  const long before = allocations;
  void* volatile memory = std::malloc(100);
  std::free(memory);
  EXPECT_EQ(allocations - before, 1) << "the check can fail";
}

}  // namespace
}  // namespace oriel::test
