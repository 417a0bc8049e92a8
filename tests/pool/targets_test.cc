// The same bits on every instruction set, for every number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "pool/conform.h"
#include "pool/random_problem.h"
#include "seeds.h"

namespace oriel::test {
namespace {

// Everything that the entry points give for a problem, one after another.
std::vector<std::vector<std::byte>> everything(const Problem& p, const std::vector<std::byte>& x,
                                               const std::vector<std::byte>& dy, Layout layout, int threads) {
  const Options options{.threads = threads};
  const Placed in(p.dtype, p.shape, layout, x.data(), p.order),
      grad(p.dtype, p.output_shape, layout, dy.data(), p.order);
  Placed y(p.dtype, p.output_shape, layout, nullptr, p.order), dx(p.dtype, p.shape, layout, nullptr, p.order);
  std::vector<std::vector<std::byte>> out;
  forward(p.pool, {.x = in.view(), .y = y.view()}, options);
  out.push_back(y.dense());
  const bool picks = p.pool.op == Op::max || p.pool.op == Op::min;
  if (picks) {
    Placed indices(Dtype::i64, p.output_shape, layout, nullptr);
    forward(p.pool, {.x = in.view(), .y = y.view(), .indices = indices.view()}, options);
    out.push_back(y.dense());
    backward(p.pool, {.dy = grad.view(), .indices = indices.view(), .dx = dx.view()}, options);
    out.push_back(dx.dense());
    out.push_back(indices.dense());
    Placed codes(Dtype::i32, p.output_shape, layout, nullptr, p.order);
    forward(p.pool, {.x = in.view(), .y = y.view(), .indices = codes.view(), .space = IndexSpace::window}, options);
    out.push_back(codes.dense());
  }
  if (is_floating(p.dtype) || picks || p.pool.op == Op::sum) {
    backward(p.pool, {.x = in.view(), .dy = grad.view(), .dx = dx.view()}, options);
    out.push_back(dx.dense());
  }
  return out;
}

// The number of the first result that differs, or -1. Indices come as bytes of i64, codes of i32, the rest in the
// dtype.
int first_different(const Problem& p, const std::vector<std::vector<std::byte>>& a,
                    const std::vector<std::vector<std::byte>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool picks = p.pool.op == Op::max || p.pool.op == Op::min;
    const Dtype dtype = picks && i == 3 ? Dtype::i64 : picks && i == 4 ? Dtype::i32 : p.dtype;
    const index_t count = static_cast<index_t>(a[i].size()) / size_bytes(dtype);
    if (reference::first_difference(dtype, a[i].data(), b[i].data(), count) >= 0) return static_cast<int>(i);
  }
  return -1;
}

class RestoreTarget {
 public:
  ~RestoreTarget() { set_target(""); }
};

// Compares all targets, then threads 1, 2, 3, 7 on the best one, with the first target on one thread.
::testing::AssertionResult same_everywhere(const Problem& p, Data data, std::mt19937_64& random, Layout layout) {
  const RestoreTarget restore;
  const auto x = fill(p.dtype, element_count(p.shape), data, random);
  const auto dy = fill(p.dtype, element_count(p.output_shape), data, random);
  const std::vector<std::string> targets = supported_targets();
  set_target(targets.back());
  const auto expected = everything(p, x, dy, Layout::dense, 1);
  const auto check = [&](int threads) {
    const int wrong = first_different(p, expected, everything(p, x, dy, layout, threads));
    if (wrong < 0) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << to_string(p) << " (" << name(data) << ", " << name(layout) << "): result "
                                         << wrong << " differs on " << active_target() << " with " << threads
                                         << " threads from " << targets.back() << " with 1";
  };
  for (const std::string& target : targets) {
    set_target(target);
    if (auto result = check(1); !result) return result;
  }
  set_target("");
  for (int threads : {2, 3, 7})
    if (auto result = check(threads); !result) return result;
  return ::testing::AssertionSuccess();
}

TEST(Targets, AForcedTargetIsObeyed) {
  const RestoreTarget restore;
  const std::vector<std::string> targets = supported_targets();
  ASSERT_FALSE(targets.empty());
  for (const std::string& target : targets) {
    set_target(target);
    EXPECT_EQ(active_target(), target);
    std::string lower = target;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    set_target("");
    set_target(lower);
    EXPECT_EQ(active_target(), target);
  }
#if defined(__x86_64__) && !defined(HWY_COMPILE_ONLY_STATIC)  // a build for one target defines that
  EXPECT_TRUE(targets.back() == "SCALAR" || targets.back() == "EMU128") << targets.back();
  EXPECT_GT(targets.size(), 1U);
#endif
  EXPECT_THROW(set_target("AVX9"), Error);
}

TEST(Targets, S8_CasesGiveTheSameBits) {
  std::ifstream file(ORIEL_CASES);
  std::mt19937_64 random(1);
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    for (Dtype dtype :
         {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::u8, Dtype::i16, Dtype::i64, Dtype::boolean}) {
      Problem p = parse_problem(line);
      p.dtype = p.result = dtype;
      ++number;
      ASSERT_TRUE(same_everywhere(p, kAllData[number % 4], random, kWritableLayouts[number % 5]));
    }
  }
  EXPECT_GT(number, 500U);
}

TEST(Targets, S8_LargerProblemsGiveTheSameBits) {
  const char* names[] = {
      "max:f32:2x8x64x70:k3x3s2p1", "avg:f32:2x8x64x70:k3x3s1p1", "sum:f16:1x4x120x130:k7x7s3p2",
      "max:bf16:1x1x200x310:k2x2", "sum:f32:1x1x200x310:k31x31s1", "avg:f64:1x40x40x17:k5x5s2:order0,2,3,1",
      "sum:f32:1x1x40000:k9s2:axes2", "max:u8:3x5x90x101:k5x5s1p2", "lp2:f32:1x3x90x101:k5x5s2p2",
      "min:i32:90x64x10:k3s1:axes0", "avg:f32:64x3000:global:axes0", "sum:f32:5x40x41x42:out7x7",
      // Many small planes, more than a thread takes at a time:
      "max:f32:40x20x9x9:k3x3s2p1", "avg:f64:30x30x7x8:k2x2s1p1", "min:f16:90x30x12x9:k3x3s2:ceil",
      "lp3:f32:600x5x11:k4s3p1:axes2", "max:u8:50x9x4x6x7:k2x2x2s1", "sum:i16:70x9x13x11:k3x3s1p1",
      "max:f32:30x8x8x33:k2:axes1,2",
      // More rows over many lanes than are folded in one call:
      "max:f32:1x70x9x32:k3s2p1:axes1,2", "avg:f32:1x45x9x32:k3s1p1:axes1,2:exclude",
      "avg:bf16:1x40x9x600:k3s2p1:axes1,2", "min:f64:2x40x12x300:k3s1p1:axes1,2", "avg:f32:1x160x64:k4s2p1:axes1",
      "avg:f32:1x150x64:k3s1p1:axes1", "max:f16:3x40x11x72:k2s2p1:axes1,2"};
  std::mt19937_64 random(2);
  for (const char* name : names)
    for (Data data : {Data::reals, Data::specials})
      for (Layout layout : {Layout::dense, Layout::channels_last, Layout::backward_pitch})
        ASSERT_TRUE(same_everywhere(parse_problem(name), data, random, layout));
}

std::vector<std::byte> pooled(const Problem& p, const std::vector<std::byte>& x) {
  const Placed in(p.dtype, p.shape, Layout::dense, x.data());
  Placed y(p.dtype, p.output_shape, Layout::dense, nullptr);
  forward(p.pool, {.x = in.view(), .y = y.view()}, Options{.threads = 1});
  return y.dense();
}

// Calls f with a target and its results beside those of the last.
template <class F>
void on_each_target(const Problem& p, const std::vector<std::byte>& x, const F& f) {
  const RestoreTarget restore;
  const std::vector<std::string> targets = supported_targets();
  set_target(targets.back());
  const auto expected = pooled(p, x);
  for (const std::string& target : targets) {
    set_target(target);
    f(target,
      reference::first_difference(p.dtype, expected.data(), pooled(p, x).data(), element_count(p.output_shape)));
  }
}

// Calls use.operator()<T>() with the floating type of the name.
template <class Use>
void with_float(Dtype dtype, const Use& use) {
  ASSERT_TRUE(dtype == Dtype::f32 || dtype == Dtype::f64);
  dtype == Dtype::f32 ? use.template operator()<float>() : use.template operator()<double>();
}

// Lanes that end within a vector, and more of them than registers hold; rows of one call and of several.
const char* const kOfLanes[] = {
    "max:f32:1x5x7x20:k2:axes1,2",       "min:f64:1x7x6x19:k3s2p1:axes1,2",  "max:f32:1x4x5x145:k3s1p1:axes1,2",
    "max:f64:1x5x4x70:k3s2:axes1,2",     "min:f32:1x17x80:k4s2:axes1",       "max:f32:1x19x20:k3s1p1:axes1",
    "max:f32:1x9x6x17:k3x1:axes1,2",     "min:f32:1x5x9x16:k1x5s2:axes1,2",  "max:f32:1x6x9x20:k2:axes2,1",
    "min:f64:1x7x6x19:k3x2s3x2:axes2,1", "max:f32:1x7x6x20:k3x2s3x2:axes1,2"};

TEST(Targets, S3_ANaNAnywhereAmongLanesIsFound) {
  for (const char* name : kOfLanes) {
    const Problem p = parse_problem(name);
    with_float(p.dtype, [&]<class T>() {
      const index_t n = element_count(p.shape);
      for (index_t place = 0; place < n; place += 3) {
        std::vector<std::byte> x(static_cast<std::size_t>(n) * sizeof(T));
        T* values = reinterpret_cast<T*>(x.data());
        for (index_t i = 0; i < n; ++i) values[i] = static_cast<T>(static_cast<double>(i * 7 % 13) - 20);
        values[place] = static_cast<T>(std::numeric_limits<double>::quiet_NaN());
        on_each_target(p, x, [&](const std::string& target, index_t wrong) {
          ASSERT_LT(wrong, 0) << name << " on " << target << " with NaN at " << place;
        });
      }
    });
  }
}

TEST(Targets, S4_TheFirstOfZerosAmongLanesStays) {
  std::mt19937_64 random(3);
  for (const char* name : kOfLanes) {
    const Problem p = parse_problem(name);
    with_float(p.dtype, [&]<class T>() {
      const index_t n = element_count(p.shape);
      for (int round = 0; round < 20; ++round) {
        std::vector<std::byte> x(static_cast<std::size_t>(n) * sizeof(T));
        T* values = reinterpret_cast<T*>(x.data());
        const double rest = p.pool.op == Op::max ? -1 : 1, choices[] = {0.0, -0.0, rest, rest};
        for (index_t i = 0; i < n; ++i) values[i] = static_cast<T>(choices[random() % 4]);
        on_each_target(p, x, [&](const std::string& target, index_t wrong) {
          ASSERT_LT(wrong, 0) << name << " on " << target << ", round " << round;
        });
      }
    });
  }
}

TEST(Targets, S8_RandomProblemsGiveTheSameBits) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 800; ++i) {
      const Problem p = random_problem(random, 500);
      const Data data = kAllData[random() % 4];
      const Layout layout = kWritableLayouts[random() % 5];
      ASSERT_TRUE(same_everywhere(p, data, random, layout)) << "seed " << seed << " problem " << i;
    }
  }
}

}  // namespace
}  // namespace oriel::test
