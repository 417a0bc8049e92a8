// Tensors that end, or begin, where memory does: whatever reads or writes beyond them ends the program. Sanitizers are
// built for one instruction set alone; this looks at all.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "cpu/simd/targets.h"
#include "oriel/pool.h"
#include "pool/statistic_case.h"
#include "seeds.h"

namespace oriel::test {
namespace {

enum class End { left, right };  // at which there is nothing

// Bytes with a page before and after them that may not be touched.
class Fenced {
 public:
  Fenced(index_t bytes, End end) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), n = static_cast<std::size_t>(bytes);
    const std::size_t room = (n + page - 1) / page * page;
    all_ = room + 2 * page;
    memory_ = mmap(nullptr, all_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory_, MAP_FAILED);
    std::byte* first = static_cast<std::byte*>(memory_) + page;
    EXPECT_EQ(room == 0 ? 0 : mprotect(first, room, PROT_READ | PROT_WRITE), 0);
    data_ = end == End::left ? first : first + room - n;
  }
  Fenced(const std::vector<std::byte>& elements, End end) : Fenced(static_cast<index_t>(elements.size()), end) {
    if (!elements.empty()) std::memcpy(data_, elements.data(), elements.size());
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { munmap(memory_, all_); }

  std::byte* data() const { return data_; }

 private:
  void* memory_;
  std::size_t all_;
  std::byte* data_;
};

void pool(const Problem& p, Data data, End end, std::mt19937_64& random) {
  const index_t inputs = element_count(p.shape), outputs = element_count(p.output_shape), bytes = size_bytes(p.dtype);
  const Fenced x(fill(p.dtype, inputs, data, random), end), dy(fill(p.dtype, outputs, data, random), end);
  const Fenced y(outputs * bytes, end), dx(inputs * bytes, end), places(outputs * 8, end);
  const auto tensor = [&](const Fenced& at, const Extents& shape) {
    return Tensor(at.data(), p.dtype, shape, dense_pitch(shape, p.order));
  };
  const Options options{.threads = 1};
  forward(p.pool, {.x = tensor(x, p.shape), .y = tensor(y, p.output_shape)}, options);
  const bool picks = p.pool.op == Op::max || p.pool.op == Op::min;
  if (picks) {
    const Tensor index(places.data(), Dtype::i64, p.output_shape);
    forward(p.pool, {.x = tensor(x, p.shape), .y = tensor(y, p.output_shape), .indices = index}, options);
    backward(p.pool, {.dy = tensor(dy, p.output_shape), .indices = index, .dx = tensor(dx, p.shape)}, options);
  }
  if (picks && p.taps() <= kMostByteCodes) {
    const Fenced bytes_of(outputs, end);
    const Tensor codes(bytes_of.data(), Dtype::u8, p.output_shape, dense_pitch(p.output_shape, p.order));
    forward(p.pool,
            {.x = tensor(x, p.shape), .y = tensor(y, p.output_shape), .indices = codes, .space = IndexSpace::window},
            options);
    backward(
        p.pool,
        {.dy = tensor(dy, p.output_shape), .indices = codes, .space = IndexSpace::window, .dx = tensor(dx, p.shape)},
        options);
  }
  if (is_floating(p.dtype) || picks || p.pool.op == Op::sum) {
    backward(p.pool, {.x = tensor(x, p.shape), .dy = tensor(dy, p.output_shape), .dx = tensor(dx, p.shape)}, options);
  }
}

TEST(Fence, NothingBeyondATensorIsTouched) {
  std::ifstream file(ORIEL_CASES);
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') names.push_back(line);
  ASSERT_GT(names.size(), 80U);
  unsigned number = 0;
  for (const std::string& target : cpu::supported_targets()) {
    cpu::set_target(target);
    for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::u8, Dtype::i16, Dtype::i32}) {
      for (const std::string& name : names) {
        Problem p = parse_problem(name);
        p.dtype = p.result = dtype;
        if (p.pool.op == Op::lp && p.pool.norm != 2) continue;  // slow, and of the same ways
        std::mt19937_64 random(++number);
        SCOPED_TRACE(name);
        for (End end : {End::left, End::right}) pool(p, number % 4 == 0 ? Data::specials : Data::reals, end, random);
      }
    }
  }
  cpu::set_target("");
}

// A pool over valid taps: values, indices if it selects taps, and its gradient.
void pool(const StatisticCase& c, End end, std::mt19937_64& random) {
  const Problem& p = c.problem;
  const index_t outputs = element_count(p.output_shape), elements = element_count(p.shape);
  const Fenced x(c.x, end), mask(static_cast<index_t>(c.mask.size()), end);
  const Fenced weights(static_cast<index_t>(c.weights.size() * sizeof(double)), end);
  if (!c.mask.empty()) std::memcpy(mask.data(), c.mask.data(), c.mask.size());
  if (!c.weights.empty()) std::memcpy(weights.data(), c.weights.data(), c.weights.size() * sizeof(double));
  const Fenced y(outputs * size_bytes(p.result), end), places(outputs * 8, end);
  const ConstTensor view(x.data(), p.dtype, p.shape);
  const ConstTensor m = c.mask.empty() ? ConstTensor() : ConstTensor(mask.data(), Dtype::u8, p.shape);
  const ConstTensor w = c.weights.empty() ? ConstTensor() : ConstTensor(weights.data(), Dtype::f64, p.shape);
  const Tensor result(y.data(), p.result, p.output_shape), index(places.data(), Dtype::i64, p.output_shape);
  const Options options{.threads = 1};
  forward(p.pool, {.x = view, .y = result, .mask = m, .weights = w}, options);
  if (detail::selects_tap(p.pool))
    forward(p.pool, {.x = view, .y = result, .indices = index, .mask = m, .weights = w}, options);
  if (!is_floating(p.dtype) || !is_floating(p.result) || !detail::has_gradient(p.pool)) return;
  if (!p.has_valid_taps() && c.mask.empty() && c.weights.empty()) return;
  const Fenced dy(fill(p.result, outputs, c.data, random), end), dx(elements * size_bytes(p.dtype), end);
  backward(p.pool,
           {.x = view,
            .dy = Tensor(dy.data(), p.result, p.output_shape),
            .dx = Tensor(dx.data(), p.dtype, p.shape),
            .mask = m,
            .weights = w},
           options);
}

TEST(Fence, S13_S20_NothingBeyondTensorsAndMasksIsTouched) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 600; ++i) {
      const StatisticCase c = random_statistic(random, i % 4 == 0 ? 3000 : 300);
      SCOPED_TRACE(c.text());
      for (const std::string& target : cpu::supported_targets()) {
        cpu::set_target(target);
        for (const End end : {End::left, End::right}) pool(c, end, random);
      }
    }
  }
  cpu::set_target("");
}

using FenceDeathTest = testing::Test;

TEST(FenceDeathTest, TheFencesStand) {
  EXPECT_DEATH(
      {
        Fenced at(5, End::right);
        (void)*static_cast<volatile std::byte*>(at.data() + 5);
      },
      "");
  EXPECT_DEATH(
      {
        Fenced at(5, End::left);
        (void)*static_cast<volatile std::byte*>(at.data() - 1);
      },
      "");
}

}  // namespace
}  // namespace oriel::test
