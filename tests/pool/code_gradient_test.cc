// Gradients from stored codes, where the problems are known to be taken: every way of gathering, and scattering. That
// the entry points give the same is in the conformance tests.
#include "cpu/code_gradient/gather.h"

#include <gtest/gtest.h>

#include "cpu/rewrite/recomputed_gradient.h"
#include "cpu/simd/targets.h"
#include "pool/conform.h"
#include "pool/fill.h"
#include "seeds.h"

namespace oriel::test {
namespace {

std::vector<std::uint8_t> codes_of(const Case& c) {
  std::vector<std::uint8_t> codes;
  for (index_t code : c.y.window) codes.push_back(code < 0 ? 255 : static_cast<std::uint8_t>(code));
  return codes;
}

// False if a code is refused.
bool run(const Case& c, const std::vector<std::uint8_t>& codes, Placed& dx, int threads) {
  const Problem& p = c.problem;
  const Placed dy(p.dtype, p.output_shape, Layout::dense, c.dy.data(), p.order);
  const Placed stored(Dtype::u8, p.output_shape, Layout::dense, codes.data(), p.order);
  const ConstTensor index = stored.view();
  const cpu::Gradient gradient{.problem = p, .index = &index, .dy = dy.view(), .dx = dx.view()};
  const bool gathers = cpu::can_gather_codes(gradient) && cpu::gathering_codes_pays(gradient);
  EXPECT_TRUE(gathers || cpu::can_scatter_codes(gradient));
  try {
    (gathers ? cpu::run_gathered_codes : cpu::run_scattered_codes)(gradient, threads);
  } catch (const Error&) {
    return false;
  }
  return true;
}

Case make_case(const char* name, Dtype dtype, std::mt19937_64& random) {
  Problem p = parse_problem(name);
  p.dtype = p.result = dtype;
  return {p, fill(dtype, element_count(p.shape), Data::integers, random),
          fill(dtype, element_count(p.output_shape), Data::reals, random)};
}

// What is expected of AVX-512 for f32.
struct Expected {
  const char* problem;
  std::optional<cpu::GatherWay> way;
};
void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.problem; }

class CodeGradient : public testing::TestWithParam<Expected> {
 protected:
  ~CodeGradient() override { cpu::set_target(""); }
};

TEST_P(CodeGradient, TakesTheWayThatIsTested) {
  const Problem p = parse_problem(GetParam().problem);
  const Placed dy(p.dtype, p.output_shape, Layout::dense, nullptr, p.order);
  const Placed codes(Dtype::u8, p.output_shape, Layout::dense, nullptr, p.order);
  const Placed dx(p.dtype, p.shape, Layout::dense, nullptr, p.order);
  const ConstTensor index = codes.view();
  const std::optional<cpu::GatherWay> way =
      cpu::gather_way({.problem = p, .index = &index, .dy = dy.view(), .dx = dx.view()});
  // Shorter vectors find fewer problems worth it, and shorter rows long enough.
  if (cpu::supported_targets()[0].starts_with("AVX3")) {
    EXPECT_EQ(way, GetParam().way);
  } else if (cpu::supported_targets()[0] == "AVX2") {
    EXPECT_TRUE(!way || way == GetParam().way || GetParam().way == cpu::GatherWay::whole);
  } else {
    EXPECT_NE(way, cpu::GatherWay::woven);
  }
}

TEST_P(CodeGradient, S9_StoredCodesGiveTheSameGradient) {
  std::mt19937_64 random(seeds()[0]);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::u64, Dtype::boolean}) {
    const Case c = make_case(GetParam().problem, dtype, random);
    for (const std::string& target : cpu::supported_targets()) {
      cpu::set_target(target);
      for (int threads : {1, 3}) {
        Placed dx(dtype, c.problem.shape, Layout::dense, nullptr, c.problem.order);
        EXPECT_TRUE(run(c, codes_of(c), dx, threads)) << target << " " << name(dtype);
        EXPECT_EQ(differs(c, target.c_str(), c.dx, dx, Layout::dense), "");
      }
    }
  }
}

TEST_P(CodeGradient, S9_FoundCodesGiveTheSameGradient) {
  std::mt19937_64 random(seeds()[0]);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::u8}) {
    for (Data data : {Data::integers, Data::specials}) {
      Problem p = parse_problem(GetParam().problem);
      p.dtype = p.result = dtype;
      const Case c{p, fill(dtype, element_count(p.shape), data, random),
                   fill(dtype, element_count(p.output_shape), Data::reals, random)};
      const Placed x(dtype, p.shape, Layout::dense, c.x.data(), p.order);
      const Placed dy(dtype, p.output_shape, Layout::dense, c.dy.data(), p.order);
      for (const std::string& target : cpu::supported_targets()) {
        cpu::set_target(target);
        for (int threads : {1, 3}) {
          Placed dx(dtype, p.shape, Layout::dense, nullptr, p.order);
          const ConstTensor x_view = x.view();
          const cpu::Gradient gradient{.problem = p, .x = &x_view, .dy = dy.view(), .dx = dx.view()};
          ASSERT_TRUE(cpu::can_recompute(gradient)) << target << " " << name(dtype);
          cpu::run_recomputed(gradient, threads);
          EXPECT_EQ(differs(c, target.c_str(), c.dx, dx, Layout::dense), "");
        }
      }
    }
  }
}

// Tensors that are too large to be compared with the reference here: `run_recomputed` is, above.
TEST(RecomputedGradient, ComesFirstForLargeTensorsOfSmallWindows) {
  const auto first = [](const char* name) {
    const Problem p = parse_problem(name);
    const ConstTensor x(nullptr, p.dtype, p.shape, dense_pitch(p.shape));
    const ConstTensor dy(nullptr, p.dtype, p.output_shape, dense_pitch(p.output_shape));
    return cpu::recomputing_pays_first(
        {.problem = p, .x = &x, .dy = dy, .dx = Tensor(nullptr, p.dtype, p.shape, dense_pitch(p.shape))});
  };
  const bool has_kernels = cpu::supported_targets()[0].starts_with("AVX3");
  for (const char* name : {"max:f32:16x64x112x112:k2x2", "max:f32:8x192x28x28:k3x3s1p1", "min:bf16:8x64x56x56:k2x2",
                           "max:f32:1x32x64x64x64:k2x2x2", "max:f32:8x112x112x64:k3s2p1:axes1,2"}) {
    EXPECT_EQ(first(name), has_kernels) << name;
  }
  const bool has_longer = has_kernels || cpu::supported_targets()[0] == "AVX2";
  for (const char* name : {"max:f32:8x64x112x112:k5x5s1p2", "min:f32:1x512x20x20:k5x5s1p2",
                           "max:f32:8x64x56x56:k4x4s2p1", "max:f32:1x40x40x512:k5s1p2:axes1,2"}) {
    EXPECT_EQ(first(name), has_longer) << name;
  }
  for (const char* name :
       {"max:f32:1x64x112x112:k3x3s2p1", "max:f32:8x128x56x56:k2x2", "max:f32:8x112x112x64:k2:axes1,2",
        "max:f32:1x1x4000000:k3s1p1:axes2", "max:f32:8x64x112x112:k2x2s1", "max:f32:8x64x112x112:k3x3s1d2",
        "max:i32:8x64x112x112:k3x3s1p1", "max:f64:8x64x112x112:k5x5s1p2", "max:f32:32x3x28x28:k4x4s2",
        "max:f32:1x3x28x28:k5x5s1p2", "max:f32:8x56x56x64:k4s2p1:axes1,2"}) {
    EXPECT_FALSE(first(name)) << name;
  }
}

// One code at a time is of no tap: of none of the window, or of one that lies in the padding.
TEST_P(CodeGradient, S9_CodesOfNoTapAreRefused) {
#ifdef ORIEL_SANITIZED  // of which each gradient takes ten times as long
  constexpr index_t kTries = 4, kWithAllCodes = 1;
#else
  constexpr index_t kTries = 24, kWithAllCodes = 2;
#endif
  std::mt19937_64 random(seeds()[0]);
  for (Dtype dtype : {Dtype::f32, Dtype::i32}) {
    const Case c = make_case(GetParam().problem, dtype, random);
    const Problem& p = c.problem;
    Placed dx(dtype, p.shape, Layout::dense, nullptr, p.order);
    const index_t outputs = element_count(p.output_shape), tries = std::min(outputs, kTries);
    for (index_t i = 0; i < tries; ++i) {
      const index_t o = i < kTries / 3 ? i : static_cast<index_t>(random() % static_cast<std::uint64_t>(outputs));
      index_t rest = o;
      Extents place = Extents::filled(p.output_shape.size(), 0);
      for (int d = p.output_shape.size() - 1; d >= 0; --d) {
        place[d] = rest % p.output_shape[d];
        rest /= p.output_shape[d];
      }
      std::vector<std::uint8_t> codes = codes_of(c);
      // Of codes beyond all taps: most outputs see some of them, 255 among them.
      const index_t step = i < kWithAllCodes ? 1 : 51;
      for (index_t code = 0; code < 256; code += code <= p.taps() ? 1 : std::clamp<index_t>(255 - code, 1, step)) {
        bool exists = code < p.taps() || code == 255;
        for (index_t a = p.pooled - 1, digits = code; a >= 0 && code < p.taps(); --a) {
          const Axis& axis = p.axis[static_cast<std::size_t>(a)];
          exists &= axis.taps(place[p.axes[static_cast<std::size_t>(a)]]).contains(digits % axis.kernel);
          digits /= axis.kernel;
        }
        codes[static_cast<std::size_t>(o)] = static_cast<std::uint8_t>(code);
        EXPECT_EQ(run(c, codes, dx, 1), exists) << name(dtype) << " output " << o << " code " << code;
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, CodeGradient,
                         testing::Values(Expected{"max:f32:3x2x40x52:k3x3s2p1", cpu::GatherWay::woven},
                                         Expected{"max:f32:3x2x40x57:k3x3s2", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x3x33x63:k4x4s2p1", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x3x33x64:k4x4s2", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x3x34x32:k2x2s2", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x3x34x35:k2x2s2p1:ceil", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x3x18x28:k3x3s1p1", cpu::GatherWay::woven},
                                         Expected{"max:bf16:2x3x18x17:k5x5s1p2", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x3x18x30:k2x2s1", cpu::GatherWay::woven},
                                         Expected{"max:bf16:1x2x6x7x18:k3x3x3s1p1", cpu::GatherWay::woven},
                                         Expected{"max:f32:2x2x5x40:k2x1s1x1", cpu::GatherWay::along},
                                         Expected{"max:f32:3x2x20x33:k3x3s3", cpu::GatherWay::along},
                                         Expected{"max:bf16:3x2x20x40:k3x3s2d2p2", cpu::GatherWay::along},
                                         Expected{"max:f32:3x2x9x40:k4x4s4", cpu::GatherWay::along},
                                         Expected{"max:f32:2x2x9x40:out5x30", cpu::GatherWay::along},
                                         Expected{"max:bf16:3x14x12x3:k4s2:axes1,2", cpu::GatherWay::along},
                                         Expected{"max:f32:7x5x14x14:k2x2s2", cpu::GatherWay::whole},
                                         Expected{"max:f32:7x5x14x14:k3x3s1p1", cpu::GatherWay::whole},
                                         Expected{"max:f32:7x5x7x7:k3x3s2p1", cpu::GatherWay::whole},
                                         Expected{"max:f32:3x4x8x6x4:k2x2x2", cpu::GatherWay::whole},
                                         Expected{"min:f32:5x3x9x9:k2x2s1p1", cpu::GatherWay::whole},
                                         Expected{"max:bf16:37x3x3x2:k2x2s1", cpu::GatherWay::whole},
                                         Expected{"max:f32:5x3x2x2:k2x2s2", cpu::GatherWay::whole},
                                         Expected{"max:f32:41x3:k2s1p1:axes1", cpu::GatherWay::whole},
                                         Expected{"max:f32:3x9x8x16:k3s2p1:axes1,2", cpu::GatherWay::lanes},
                                         Expected{"max:f32:2x9x8x37:k3s1p1:axes1,2", cpu::GatherWay::lanes},
                                         Expected{"max:f32:2x9x8x64:k2s2:axes1,2", cpu::GatherWay::lanes},
                                         Expected{"max:f32:2x5x6x5x20:k2s1p1:axes1,2,3", cpu::GatherWay::lanes},
                                         Expected{"max:f32:2x9x8x16:k5s1p2:axes1,2", cpu::GatherWay::lanes},
                                         // Scattered: the sums of narrow types are not, as they are rounded.
                                         Expected{"max:f32:2x3x18x17:k5x5s1p2", std::nullopt},
                                         Expected{"max:f32:2x3x28x28:k4x4s2", std::nullopt},
                                         Expected{"max:f64:2x3x28x28:k3x3s2p1", std::nullopt},
                                         Expected{"max:f32:3x14x12x3:k4s2:axes1,2", std::nullopt},
                                         Expected{"max:f32:2x5x13x13:k13x13s1p6", std::nullopt},
                                         Expected{"max:f32:2x13x12x70:k9s1p4:axes1,2", std::nullopt},
                                         Expected{"max:f32:1x1x70x9:k9x9s1p4", std::nullopt},
                                         Expected{"max:f32:3x2x20x20:k15x15s2p7", std::nullopt},
                                         Expected{"max:f32:1x3x300:k51s3p20:axes2", std::nullopt}));

}  // namespace
}  // namespace oriel::test
