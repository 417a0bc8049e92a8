// Offsets and counts beyond 2^31, by device memory that is only reserved: tensors of more than 2^31 elements, whose
// last blocks run, and small ones whose planes, rows or columns are that far apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cuda/run.h"
#include "emulator/grid.h"
#include "oriel/pool.h"
#include "pool/fill.h"

namespace oriel::test {
namespace {

// Memory of the emulated device, which the host may look at.
class Reserved {
 public:
  Reserved(Dtype dtype, const Extents& shape, const Extents& pitch)
      : view_(nullptr, dtype, shape, pitch, Device::cuda) {
    const ByteSpan span = byte_span(view_);
    memory_ = grid::allocate(static_cast<std::size_t>(span.end - span.begin), "reserved");
    if (memory_ == nullptr) throw std::runtime_error("no address space");
    view_.data = static_cast<std::byte*>(memory_) - span.begin;
  }
  ~Reserved() { grid::release(memory_); }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  const Tensor& view() const { return view_; }
  std::byte* at(index_t offset) const { return static_cast<std::byte*>(view_.data) + offset * size_bytes(view_.dtype); }
  void put(index_t offset, const std::byte* elements, index_t count) const {
    const auto bytes = static_cast<std::size_t>(count * size_bytes(view_.dtype));
    std::memcpy(at(offset), elements, bytes);
    grid::mark_written(at(offset), bytes);
  }

 private:
  Tensor view_;
  void* memory_ = nullptr;
};

enum class Way { forward, indices, backward, from_indices, unpool };

struct Case {
  Way way;
  const char* problem;
  const char* kernel = "";  // of a forward
};

std::string name(const Case& c) {
  constexpr const char* kWays[] = {"forward_", "indices_", "backward_", "from_indices_", "unpool_"};
  std::string text = kWays[static_cast<int>(c.way)] + std::string(c.problem);
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return std::isalnum(letter) == 0; }, '_');
  return text;
}

// The tensors of a call, on either device. `index` names places of the whole tensor.
struct Sides {
  Tensor x, y, index;  // x: also dx; y: also dy
  Tensor kept;         // of a gradient: the pool's x
};

void call(Way way, const Problem& p, const Sides& s) {
  const bool sums = p.pool.op == Op::sum || p.pool.op == Op::avg;
  switch (way) {
    case Way::forward:
      return forward(p.pool, {.x = s.x, .y = s.y});
    case Way::indices:
      return forward(p.pool, {.x = s.x, .y = s.y, .indices = s.index, .space = IndexSpace::tensor});
    case Way::backward:
      return sums ? backward(p.pool, {.dy = s.y, .dx = s.x}) : backward(p.pool, {.x = s.kept, .dy = s.y, .dx = s.x});
    case Way::from_indices:
      return backward(p.pool, {.dy = s.y, .indices = s.index, .space = IndexSpace::tensor, .dx = s.x});
    case Way::unpool: {
      Extents axes;
      for (int a = 0; a < p.pooled; ++a) axes.push_back(p.axes[static_cast<std::size_t>(a)]);
      return unpool(axes, {.y = s.y, .indices = s.index, .space = IndexSpace::tensor, .x = s.x});
    }
  }
}

bool makes_y(Way way) { return way == Way::forward || way == Way::indices; }

// What the CPU makes of dense tensors: the elements of y, with its indices, or of dx.
struct Expected {
  std::vector<std::byte> x, y, dy, dx, index;

  Expected(Way way, const Problem& p) {
    std::mt19937_64 random(3);
    const auto element = static_cast<std::size_t>(size_bytes(p.dtype));
    const auto inputs = static_cast<std::size_t>(element_count(p.shape));
    const auto outputs = static_cast<std::size_t>(element_count(p.output_shape));
    x = fill(p.dtype, static_cast<index_t>(inputs), Data::reals, random);
    dy = fill(p.dtype, static_cast<index_t>(outputs), Data::reals, random);
    y.resize(outputs * element);
    dx.resize(inputs * element);
    index.resize(outputs * sizeof(index_t));
    Sides s{{x.data(), p.dtype, p.shape},
            {y.data(), p.dtype, p.output_shape},
            {index.data(), Dtype::i64, p.output_shape},
            {}};
    if (way != Way::forward && (p.pool.op == Op::max || p.pool.op == Op::min)) call(Way::indices, p, s);
    if (!makes_y(way)) {
      s.kept = s.x;
      s.x.data = dx.data();
      s.y.data = dy.data();
    }
    call(way, p, s);
  }
};

class CudaHuge : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    grid::options() = {};
    grid::reset();
  }
};

// The last planes of a dense tensor, along its first axis: those are known, and of the last blocks' results what is
// whole.
TEST_P(CudaHuge, LastPlanes) {
  const Case& c = GetParam();
  const Problem p = parse_problem(c.problem);
  const index_t planes = p.shape[0], plane = element_count(p.shape) / planes;
  const index_t out_plane = element_count(p.output_shape) / planes;
  ASSERT_GT(element_count(p.shape), index_t{1} << 31);
  const index_t known = (index_t{1} << 18) / plane + 16, first = planes - known;
  Extents shape = p.shape;
  shape[0] = known;
  const Problem tail = make_problem(p.pool, p.dtype, shape);
  const Expected expected(c.way, tail);

  const auto reserve = [](Dtype dtype, const Extents& of) { return Reserved(dtype, of, dense_pitch(of)); };
  const Reserved x = reserve(p.dtype, p.shape), kept = reserve(p.dtype, p.shape), y = reserve(p.dtype, p.output_shape);
  const Reserved index = reserve(Dtype::i64, p.output_shape);
  (makes_y(c.way) ? x : kept).put(first * plane, expected.x.data(), known * plane);
  if (!makes_y(c.way)) y.put(first * out_plane, expected.dy.data(), known * out_plane);
  std::vector<index_t> places(static_cast<std::size_t>(known * out_plane));
  std::memcpy(places.data(), expected.index.data(), expected.index.size());
  for (index_t& place : places) place += first * plane;
  if (c.way == Way::from_indices || c.way == Way::unpool) {
    index.put(first * out_plane, reinterpret_cast<const std::byte*>(places.data()), known * out_plane);
  }
  if (makes_y(c.way)) {
    const Tensor* const asked = c.way == Way::indices ? &index.view() : nullptr;
    EXPECT_STREQ(cuda::kernel_of(p, x.view(), y.view(), asked), c.kernel);
  }
  grid::options().last_share = static_cast<double>(known) / static_cast<double>(planes) / 2;
  call(c.way, p, {x.view(), y.view(), index.view(), kept.view()});
  EXPECT_TRUE(grid::report().failures.empty()) << grid::report().failures[0];

  const Reserved& made = makes_y(c.way) ? y : x;
  const index_t made_plane = makes_y(c.way) ? out_plane : plane;
  const auto bytes = static_cast<std::size_t>(made_plane * size_bytes(p.dtype));
  const std::vector<std::byte>& bits = makes_y(c.way) ? expected.y : expected.dx;
  index_t whole = 0;
  for (; whole < known; ++whole) {
    const index_t n = known - 1 - whole;
    const std::byte* at = made.at((first + n) * made_plane);
    if (!grid::all_written(at, bytes)) break;
    ASSERT_EQ(std::memcmp(at, bits.data() + static_cast<std::size_t>(n) * bytes, bytes), 0) << "plane " << first + n;
    if (c.way != Way::indices) continue;
    const auto* chosen = reinterpret_cast<const index_t*>(index.at((first + n) * out_plane));
    ASSERT_TRUE(std::equal(chosen, chosen + out_plane, places.data() + n * out_plane)) << "plane " << first + n;
  }
  EXPECT_GE(whole, known / 32) << "of " << known << " planes";
}

constexpr Case kHuge[] = {
    {Way::forward, "max:u8:1048600x64x64:k2:axes1,2", "strip"},
    {Way::forward, "avg:f32:720000x55x55:k3s2p1:axes1,2", "strip"},
    {Way::indices, "max:f16:600000x64x64:k3s1p1:axes1,2", "strip"},
    {Way::forward, "max:f32:600000x16x16x16:k2x2", "strip"},
    {Way::forward, "max:u8:100000x28x28x64:k3s1p1:axes1,2", "lanes"},
    {Way::indices, "max:f32:50000x28x28x64:k2s2:axes1,2", "lanes"},
    {Way::forward, "max:f32:600000x64x64:k31s1p15:axes1,2", "stream"},
    {Way::forward, "avg:f16:600000x64x64:k15s1p7:axes1,2", "stream"},
    {Way::forward, "avg:f32:400000x7x7x256:global:axes1,2", "lane columns"},
    {Way::indices, "max:f16:50000x56x56x64:out6:axes1,2", "lane columns"},
    {Way::forward, "avg:f32:50000000x7x7:global:axes1,2", "direct"},
    {Way::forward, "avg:f32:6000000x20x20:global:axes1,2", "staged"},
    {Way::indices, "max:f32:300000x16x24x24:k3s1p1:axes1,2,3", "staged"},
    {Way::forward, "sum:u8:2000000x56x56:out6:axes1,2", "staged"},
    {Way::forward, "lp2:f32:600000x64x64:k3s1p1:axes1,2", "gather"},
    {Way::forward, "lp1:u8:600000x64x64:k2:axes1,2", "gather"},
    // As many threads as do not fit 32-bit numbers: another kernel takes them.
    {Way::forward, "max:u8:2147483648x2x16:k2:axes1,2", "staged"},
    {Way::forward, "max:u8:2147483648x2x2x16:k2:axes1,2", "staged"},
    {Way::backward, "max:f32:600000x64x64:k2:axes1,2"},
    {Way::backward, "avg:f16:600000x64x64:k2:axes1,2"},
    {Way::backward, "max:f16:600000x64x64:k3s1p1:axes1,2"},
    {Way::backward, "max:f32:720000x55x55:k3s2p1:axes1,2"},
    {Way::backward, "avg:f32:600000x64x64:k3s2p1:axes1,2"},
    {Way::backward, "max:f16:100000x28x28x64:k2s2:axes1,2"},
    {Way::backward, "max:f32:100000x28x28x64:k3s2p1:axes1,2"},
    {Way::backward, "avg:f32:100000x28x28x64:k3s2p1:axes1,2"},
    {Way::backward, "avg:f32:400000x7x7x256:global:axes1,2"},
    {Way::backward, "avg:f32:500000x8x24x24:k3s1p1:axes1,2,3"},
    {Way::backward, "max:f32:500000x8x24x24:k3s1p1:axes1,2,3"},
    {Way::backward, "max:f32:600000x64x64:k5s1p2:axes1,2"},
    {Way::backward, "lp2:f32:600000x64x64:k3s1p1:axes1,2"},
    {Way::backward, "lpinf:f32:600000x64x64:k3s1p1:axes1,2"},
    {Way::from_indices, "max:f32:600000x64x64:k3s1p1:axes1,2"},
    {Way::unpool, "max:f32:600000x64x64:k2:axes1,2"},
};
INSTANTIATE_TEST_SUITE_P(Kernels, CudaHuge, testing::ValuesIn(kHuge), [](const auto& of) { return name(of.param); });

// A whole call whose places along one axis are 2^31 and more elements apart.
constexpr index_t kFar = (index_t{1} << 31) + 64;

Extents far_pitch(const Problem& p, const Extents& shape, int axis) {
  Extents pitch = dense_pitch(shape, p.order);
  pitch[axis] = kFar;
  return pitch;
}

template <class F>
void each_offset(const Tensor& t, F f) {
  for (index_t i = 0; i < element_count(t.shape); ++i) {
    index_t rest = i, offset = 0;
    for (int a = t.rank() - 1; a >= 0; --a) {
      offset += rest % t.shape[a] * t.pitch[a];
      rest /= t.shape[a];
    }
    f(i, offset);
  }
}

struct FarTensor : Reserved {
  FarTensor(const Problem& p, Dtype dtype, const Extents& shape, int axis)
      : Reserved(dtype, shape, far_pitch(p, shape, axis)) {}

  void fill(const std::vector<std::byte>& elements) const {
    const index_t bytes = size_bytes(view().dtype);
    each_offset(view(), [&](index_t i, index_t offset) { put(offset, elements.data() + i * bytes, 1); });
  }
  std::vector<std::byte> elements() const {
    std::vector<std::byte> out;
    const index_t bytes = size_bytes(view().dtype);
    each_offset(view(), [&](index_t, index_t offset) { out.insert(out.end(), at(offset), at(offset) + bytes); });
    return out;
  }
};

class CudaFar : public CudaHuge {
 protected:
  void check(const Case& c, int axis) {
    const Problem p = parse_problem(c.problem);
    const Expected expected(c.way, p);
    const FarTensor x(p, p.dtype, p.shape, axis), kept(p, p.dtype, p.shape, axis);
    const FarTensor y(p, p.dtype, p.output_shape, axis), index(p, Dtype::i64, p.output_shape, axis);
    if (makes_y(c.way)) {
      x.fill(expected.x);
    } else {
      kept.fill(expected.x);
      y.fill(expected.dy);
      index.fill(expected.index);
    }
    grid::reset();
    call(c.way, p, {x.view(), y.view(), index.view(), kept.view()});
    ASSERT_TRUE(grid::report().failures.empty()) << grid::report().failures[0];
    EXPECT_EQ((makes_y(c.way) ? y : x).elements(), makes_y(c.way) ? expected.y : expected.dx);
    if (c.way == Way::indices) {
      EXPECT_EQ(index.elements(), expected.index);
    }
  }
};

TEST_P(CudaFar, Pitches) {
  const int rank = parse_problem(GetParam().problem).shape.size();
  for (int axis = 0; axis < rank; ++axis) {
    SCOPED_TRACE("axis " + std::to_string(axis));
    check(GetParam(), axis);
  }
}

constexpr Case kFarApart[] = {
    {Way::forward, "max:f32:3x2x9x16:k2x2"},
    {Way::forward, "avg:u8:3x9x32:k3s2p1:axes1,2"},
    {Way::indices, "max:f16:3x9x16:k3s1p1:axes1,2"},
    {Way::forward, "sum:bf16:2x4x4x16:k2:axes1,2,3"},
    {Way::forward, "avg:f32:3x5x6x16:k3s2p1:axes1,2"},
    {Way::indices, "min:f16:3x5x6x16:k2s2:axes1,2"},
    {Way::forward, "max:f32:2x20x21:k15s1p7:axes1,2"},
    {Way::indices, "max:f32:3x5x7x16:out2:axes1,2"},
    {Way::forward, "avg:f64:3x5x7x16:global:axes1,2"},
    {Way::forward, "avg:f32:3x7x9:out2:axes1,2"},
    {Way::indices, "max:i16:2x4x5x6:k3s1p1:axes1,2,3"},
    {Way::forward, "lp2:f32:3x5x6:k3s1p1:axes1,2"},
    {Way::forward, "sum:i32:3x5x6:k3s1p2d2:axes1,2"},
    {Way::backward, "max:f32:3x6x8:k2:axes1,2"},
    {Way::backward, "avg:bf16:3x6x16:k2:axes1,2"},
    {Way::backward, "max:f16:3x9x16:k3s1p1:axes1,2"},
    {Way::backward, "avg:f32:3x9x16:k3s2p1:axes1,2"},
    {Way::backward, "max:f32:3x6x8x8:k2s2:axes1,2"},
    {Way::backward, "max:f32:3x6x8x8:k3s2p1:axes1,2"},
    {Way::backward, "avg:f16:3x6x8x8:k3s1p1:axes1,2"},
    {Way::backward, "avg:f32:3x5x7x16:out2:axes1,2"},
    {Way::backward, "sum:f32:2x4x5x6:k3s1p1:axes1,2,3"},
    {Way::backward, "max:f32:2x4x5x6:k3s1p1:axes1,2,3"},
    {Way::backward, "lp2:f32:3x5x6:k3s1p1:axes1,2"},
    {Way::from_indices, "max:f32:3x6x8:k3s1p1:axes1,2"},
    {Way::unpool, "max:f32:3x6x8:k2:axes1,2"},
};
INSTANTIATE_TEST_SUITE_P(Kernels, CudaFar, testing::ValuesIn(kFarApart), [](const auto& of) { return name(of.param); });

}  // namespace
}  // namespace oriel::test
