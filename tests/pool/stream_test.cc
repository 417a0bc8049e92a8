// Results that are written past the caches, and inputs that are read from beyond them, which only large ones are: with
// the thresholds at one byte, small ones have the bits that they have otherwise. Memory begins with lines of the
// caches, as kernels want it for this.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "cpu/simd/stream.h"
#include "cpu/simd/targets.h"
#include "oriel/pool.h"
#include "pool/fill.h"
#include "reference/reference.h"

namespace oriel::test {
namespace {

constexpr std::size_t kLine = 64;

// A dense tensor in the problem's memory order.
class Lines {
 public:
  Lines(Dtype dtype, const Extents& shape, const Extents& order, bool aligned = true)
      : offset_(aligned ? 0 : static_cast<std::size_t>(size_bytes(dtype))),
        bytes_(static_cast<std::size_t>(element_count(shape) * size_bytes(dtype))),
        memory_(std::aligned_alloc(kLine, (bytes_ + 2 * kLine) / kLine * kLine), &std::free),
        view_(begin(), dtype, shape, dense_pitch(shape, order)) {
    std::memset(memory_.get(), kUnset, bytes_ + kLine);
  }
  void set(const std::vector<std::byte>& elements) { std::memcpy(begin(), elements.data(), bytes_); }
  const Tensor& view() const { return view_; }
  bool operator==(const Lines& other) const { return std::memcmp(begin(), other.begin(), bytes_) == 0; }
  // -1: none. NaN are equal.
  index_t first_different(const Lines& other) const {
    return reference::first_difference(view_.dtype, begin(), other.begin(), element_count(view_.shape));
  }
  bool surroundings_survive() const {
    const auto* bytes = static_cast<const unsigned char*>(memory_.get());
    const auto unset = [](unsigned char c) { return c == kUnset; };
    return std::all_of(bytes, bytes + offset_, unset) &&
           std::all_of(bytes + offset_ + bytes_, bytes + bytes_ + kLine, unset);
  }

 private:
  static constexpr unsigned char kUnset = 0xa5;
  std::byte* begin() const { return static_cast<std::byte*>(memory_.get()) + offset_; }

  std::size_t offset_, bytes_;
  std::unique_ptr<void, decltype(&std::free)> memory_;
  Tensor view_;
};

class Stream : public testing::TestWithParam<const char*> {
 protected:
  ~Stream() override {
    cpu::stream_bytes = before_;
    cpu::far_bytes = far_before_;
    cpu::set_target("");
  }
  // With the instruction set in use.
  static void writes_the_same_bits();
  static void on_every_target(void (*check)()) {
    for (const std::string& target : cpu::supported_targets()) {
      SCOPED_TRACE(target);
      cpu::set_target(target);
      check();
    }
  }
  static void all(bool past_caches) { cpu::stream_bytes = cpu::far_bytes = past_caches ? 1 : index_t{1} << 60; }

 private:
  index_t before_ = cpu::stream_bytes;
  index_t far_before_ = cpu::far_bytes;
};

void Stream::writes_the_same_bits() {
  std::mt19937_64 random(3);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    Problem p = parse_problem(GetParam());
    p.dtype = p.result = dtype;
    Lines x(dtype, p.shape, p.order), dy(dtype, p.output_shape, p.order);
    x.set(fill(dtype, element_count(p.shape), Data::integers, random));
    dy.set(fill(dtype, element_count(p.output_shape), Data::reals, random));
    const bool picks = p.pool.op == Op::max;
    for (const Options& options : {Options{.threads = 1}, Options{.threads = 3}}) {
      Lines y(dtype, p.output_shape, p.order), places(Dtype::i64, p.output_shape, p.order), dx(dtype, p.shape, p.order);
      Lines y2 = Lines(dtype, p.output_shape, p.order), places2(Dtype::i64, p.output_shape, p.order);
      Lines dx2(dtype, p.shape, p.order), codes(Dtype::u8, p.output_shape, p.order), dx3(dtype, p.shape, p.order);
      all(false);
      backward(p, {.x = x.view(), .dy = dy.view(), .dx = dx.view()}, options);
      if (picks) forward(p, {.x = x.view(), .y = y.view(), .indices = places.view()}, options);
      all(true);
      backward(p, {.x = x.view(), .dy = dy.view(), .dx = dx2.view()}, options);
      EXPECT_TRUE(dx == dx2) << GetParam() << " " << name(dtype);
      Lines shifted(dtype, p.shape, p.order, false);
      backward(p, {.x = x.view(), .dy = dy.view(), .dx = shifted.view()}, options);
      EXPECT_TRUE(dx == shifted && shifted.surroundings_survive()) << GetParam() << " " << name(dtype) << " shifted";
      if (!picks) continue;
      forward(p, {.x = x.view(), .y = y2.view(), .indices = places2.view()}, options);
      EXPECT_TRUE(y == y2 && places == places2) << GetParam() << " " << name(dtype);
      forward(p, {.x = x.view(), .y = y2.view(), .indices = codes.view(), .space = IndexSpace::window}, options);
      backward(p, {.dy = dy.view(), .indices = codes.view(), .space = IndexSpace::window, .dx = dx3.view()}, options);
      EXPECT_TRUE(dx == dx3) << GetParam() << " " << name(dtype) << " by codes";
    }
  }
}

TEST_P(Stream, WritesTheSameBits) { on_every_target(&writes_the_same_bits); }

INSTANTIATE_TEST_SUITE_P(Problems, Stream,
                         testing::Values("avg:f32:2x3x32x64:k2x2", "sum:f32:2x3x12x96:k3x3", "avg:f32:1x2x16x128:k4x4",
                                         "avg:f32:3x5x22x22:k2x2", "sum:f32:2x3x37x39:k2x2", "avg:f32:1x3x70x300:k3x3",
                                         "avg:f32:3x2x31x64:k2x2:ceil", "avg:f32:2x5x7x64:k2x2s2p1",
                                         "avg:f32:2x12x14x32:k2:axes1,2", "sum:f32:2x12x12x64:k3:axes1,2",
                                         "avg:f32:2x13x16x48:k2:axes1,2", "avg:f32:2x12x13x32:k2s2:axes1,2",
                                         "avg:f32:2x6x4x6x32:k2:axes1,2,3", "max:f32:2x3x32x64:k2x2",
                                         "max:f32:2x3x32x64:k3x3s2p1", "max:f32:2x3x32x64:k3x3s1p1",
                                         "max:f32:2x12x14x32:k2:axes1,2", "max:f32:2x12x14x32:k3s2p1:axes1,2",
                                         "max:f32:4x40x8x8:k2x2"));

class Far : public Stream {
 protected:
  static void reads_the_same_bits();
};

void Far::reads_the_same_bits() {
  std::mt19937_64 random(5);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::u8}) {
    Problem p = parse_problem(GetParam());
    p.dtype = p.result = dtype;
    for (Data data : {Data::reals, Data::specials}) {
      Lines x(dtype, p.shape, p.order), y(dtype, p.output_shape, p.order);
      x.set(fill(dtype, element_count(p.shape), data, random));
      all(false);
      forward(p, {.x = x.view(), .y = y.view()}, {.threads = 1});
      all(true);
      for (int threads : {1, 2, 3, 8}) {
        Lines far(dtype, p.output_shape, p.order);
        forward(p, {.x = x.view(), .y = far.view()}, {.threads = threads});
        EXPECT_LT(y.first_different(far), 0) << GetParam() << " " << name(dtype) << " " << threads << " threads";
      }
    }
  }
}

TEST_P(Far, ReadsTheSameBits) { on_every_target(&reads_the_same_bits); }

INSTANTIATE_TEST_SUITE_P(Problems, Far,
                         testing::Values("max:f32:2x3x32x64:k2x2", "avg:f32:2x3x32x64:k3x3s2p1",
                                         "max:f32:1x40x16:k3x3s1p1:ceil", "max:f32:2x28x28:k3x3s3",
                                         "avg:f32:3x56x48:out7x7", "avg:f32:97x40:global",
                                         "sum:f32:2x61x130:global:axes1,2", "sum:f32:1x1040:global",
                                         "avg:f32:9x1100:global", "max:f32:77x31:global",
                                         "min:f32:2x19x37:global:axes1,2", "sum:f32:21x45x33:global",
                                         "avg:f32:2x9x37x64:global:axes1,2,3", "max:f32:5x11x23:k2x2x2",
                                         "min:f32:2x33x3100:k3x3s1p1:axes1,2"));

}  // namespace
}  // namespace oriel::test
