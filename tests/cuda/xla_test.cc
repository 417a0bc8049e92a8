// The handlers that XLA calls for CUDA devices (python/src/xla_cuda.cc), on the grid emulator, compared with the
// library on the CPU.
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/device_tensor.h"
#include "emulator/grid.h"
#include "pool/fill.h"
#include "python/src/pool_words.h"
#include "python/src/xla_call.h"
#include "python/xla_frame.h"

extern "C" oriel::python::xla_abi::Handler oriel_pool_cuda, oriel_pool_wrapped_cuda, oriel_pool_indices_cuda,
    oriel_pool_pick_cuda, oriel_pool_backward_linear_cuda, oriel_pool_backward_cuda;

namespace oriel::test {
namespace {

// A dense array on the device.
class Buffer {
 public:
  Buffer(Dtype dtype, const Extents& shape, const void* values = nullptr)
      : tensor_(dtype, shape, Layout::dense, values) {}
  const Tensor& get() const { return tensor_.view(); }
  std::vector<std::byte> bytes() { return tensor_.fetch().dense(); }

 private:
  DeviceTensor tensor_;
};

template <class T>
std::vector<T> as(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class CudaXla : public testing::Test {
 protected:
  void SetUp() override {
    grid::options() = {};
    grid::reset();
  }
  void TearDown() override {
    EXPECT_TRUE(grid::report().failures.empty()) << grid::report().failures[0];
    EXPECT_GT(grid::report().launches, 0U);
  }

  static std::vector<index_t> words(Op op) {
    return python::to_words(
        {.op = op, .windows = {.kernel = {3, 3}, .stride = {2, 2}, .pad_lo = {1, 1}, .axes = {-2, -1}}});
  }
  static void expect_done(const Answer& answer) { EXPECT_EQ(answer.message, ""); }
  // Calls a handler on an input, perhaps another, and a result.
  static Answer call(xla::Handler* handler, std::initializer_list<const Buffer*> inputs, const Buffer& result,
                     const std::vector<index_t>& words) {
    Frame frame;
    for (const Buffer* input : inputs) frame.input(input->get());
    return frame.result(result.get()).array("words", words).call(handler);
  }

  static std::vector<std::byte> random(Dtype dtype, const Extents& shape, unsigned seed) {
    std::mt19937_64 generator(seed);
    return fill(dtype, element_count(shape), Data::reals, generator);
  }

  const Extents in_{2, 3, 9, 10}, out_{2, 3, 5, 5};
  const Pool pool_ = python::from_words(words(Op::max));
};

TEST_F(CudaXla, IndicesOf32And64Bits) {
  const auto x = random(Dtype::f32, in_, 1);
  std::vector<float> y(150);
  std::vector<index_t> places(150);
  const ConstTensor in(x.data(), Dtype::f32, in_);
  forward(pool_, {.x = in, .y = Tensor(y.data(), out_), .indices = Tensor(places.data(), out_)});
  const std::vector<index_t> words = CudaXla::words(Op::max);
  Buffer from(Dtype::f32, in_, x.data());
  for (const Dtype dtype : {Dtype::i32, Dtype::i64}) {
    Buffer to(Dtype::f32, out_), indices(dtype, out_);
    Frame frame;
    frame.input(from.get()).result(to.get()).result(indices.get()).scalar("space", 0).array("words", words);
    expect_done(frame.call(&oriel_pool_indices_cuda));
    EXPECT_EQ(as<float>(to.bytes()), y);
    if (dtype == Dtype::i64) {
      EXPECT_EQ(as<index_t>(indices.bytes()), places);
    } else {
      EXPECT_EQ(as<std::int32_t>(indices.bytes()), std::vector<std::int32_t>(places.begin(), places.end()));
    }
  }
}

TEST_F(CudaXla, WithoutAStreamNothingIsDone) {
  const auto x = random(Dtype::f32, in_, 1);
  Buffer from(Dtype::f32, in_, x.data()), to(Dtype::f32, out_);
  Frame frame;
  frame.input(from.get()).result(to.get()).array("words", words(Op::max));
  const Answer answer = frame.call(&oriel_pool_cuda, [](xla::CallFrame& f) { f.context = nullptr; });
  EXPECT_EQ(answer.message, "oriel_pool_cuda: XLA must give a stream, but says: there is no stream");
  EXPECT_EQ(grid::report().launches, 0U);
  expect_done(frame.call(&oriel_pool_cuda));
}

TEST_F(CudaXla, PickedElementsAndTheirTranspose) {
  const std::vector<index_t> words = CudaXla::words(Op::max);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    const Extents one{1, 3, 9, 10};  // x stands for the whole batch of t
    const auto x = random(dtype, one, 2), t = random(dtype, in_, 3), dy = random(dtype, out_, 4);
    const auto size = static_cast<std::size_t>(size_bytes(dtype));
    std::vector<std::byte> values(150 * size), expected(150 * size), dx(540 * size);
    ConstTensor seen(x.data(), dtype, one);
    seen.shape = in_;
    seen.pitch[0] = 0;
    std::vector<index_t> places(150);
    forward(pool_, {.x = seen,
                    .y = Tensor(values.data(), dtype, out_),
                    .indices = Tensor(places.data(), out_),
                    .space = IndexSpace::tensor});
    for (std::size_t i = 0; i < 150; ++i) {
      std::memcpy(&expected[i * size], &t[static_cast<std::size_t>(places[i]) * size], size);
    }
    oriel::backward(pool_, {.x = seen, .dy = ConstTensor(dy.data(), dtype, out_), .dx = Tensor(dx.data(), dtype, in_)});

    Buffer on_x(dtype, one, x.data()), on_t(dtype, in_, t.data()), on_dy(dtype, out_, dy.data());
    Buffer picked(dtype, out_), gradient(dtype, in_);
    expect_done(call(&oriel_pool_pick_cuda, {&on_x, &on_t}, picked, words));
    EXPECT_EQ(picked.bytes(), expected);
    expect_done(call(&oriel_pool_backward_cuda, {&on_x, &on_dy}, gradient, words));
    EXPECT_EQ(gradient.bytes(), dx);
  }
}

TEST_F(CudaXla, SumsAndTheirTranspose) {
  const std::vector<index_t> words = CudaXla::words(Op::avg);
  const Pool pool = python::from_words(words);
  const auto x = random(Dtype::f32, in_, 5), dy = random(Dtype::f32, out_, 6);
  std::vector<float> y(150), dx(540);
  forward(pool, {.x = ConstTensor(x.data(), Dtype::f32, in_), .y = Tensor(y.data(), out_)});
  oriel::backward(pool, {.dy = ConstTensor(dy.data(), Dtype::f32, out_), .dx = Tensor(dx.data(), in_)});
  Buffer on_x(Dtype::f32, in_, x.data()), on_dy(Dtype::f32, out_, dy.data()), to(Dtype::f32, out_);
  Buffer gradient(Dtype::f32, in_);
  expect_done(call(&oriel_pool_cuda, {&on_x}, to, words));
  EXPECT_EQ(as<float>(to.bytes()), y);
  expect_done(call(&oriel_pool_backward_linear_cuda, {&on_dy}, gradient, words));
  EXPECT_EQ(as<float>(gradient.bytes()), dx);
}

TEST_F(CudaXla, IntegerSumsWrap) {
  const std::vector<index_t> words = CudaXla::words(Op::sum);
  const auto check = [&]<class T>(T first) {
    std::vector<T> x(540);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(first - static_cast<T>(i % 7));
    std::vector<std::int64_t> wide(x.begin(), x.end()), sums(150);
    forward(python::from_words(words), {.x = ConstTensor(wide.data(), in_), .y = Tensor(sums.data(), out_)});
    Buffer from(dtype_v<T>, in_, x.data()), to(dtype_v<T>, out_);
    expect_done(call(&oriel_pool_wrapped_cuda, {&from}, to, words));
    std::vector<T> expected;
    for (const std::int64_t sum : sums) expected.push_back(static_cast<T>(sum));
    EXPECT_EQ(as<T>(to.bytes()), expected);
  };
  check(std::int8_t{-120});
  check(std::uint16_t{65535});
  check(std::int32_t{2147483647});
  check(std::int64_t{9223372036854775807});
}

TEST_F(CudaXla, ErrorsHaveCudasText) {
  const std::vector<index_t> words = CudaXla::words(Op::max);
  const auto x = random(Dtype::f32, in_, 7);
  Buffer from(Dtype::f32, in_, x.data()), t(Dtype::f32, in_, x.data()), to(Dtype::f32, out_);
  grid::fail_next("cudaMallocAsync", cudaErrorMemoryAllocation);
  const Answer memory = call(&oriel_pool_pick_cuda, {&from, &t}, to, words);
  EXPECT_EQ(memory.message, "cuda: cudaMallocAsync failed: out of memory (cudaErrorMemoryAllocation)");
  grid::fail_next("cudaLaunchKernel", cudaErrorLaunchFailure);
  const Answer launch = call(&oriel_pool_cuda, {&from}, to, words);
  EXPECT_EQ(launch.message, "cuda: the launch of a kernel failed: unspecified launch failure (cudaErrorLaunchFailure)");
  expect_done(call(&oriel_pool_cuda, {&from}, to, words));
}

}  // namespace
}  // namespace oriel::test
