#include <gtest/gtest.h>

#include <random>

#include "oriel/problem.h"
#include "seeds.h"
#include "support.h"

namespace oriel {
namespace {

struct Name {
  const char* asked;
  const char* printed;  // null: the same
};

const Name kNames[] = {
    {"max:f32:8x64x112x112:k3x3s2p1", nullptr},
    {"max:f32:8x64x112x112:k3s2p1", nullptr},  // all four axes
    {"max:f32:8x64x112x112:k3x3x3x3s2p1", "max:f32:8x64x112x112:k3s2p1"},
    {"avg:f32:4x4x4:k2", nullptr},
    {"avg:f32:4x4x4:k2:axes0,1,2", "avg:f32:4x4x4:k2"},
    {"avg:f32:4x4x4:k2:axes-1", "avg:f32:4x4x4:k2:axes2"},
    {"max:f32:8x64x112x112:k2x2s2", "max:f32:8x64x112x112:k2x2"},
    {"max:f32:8x64x112x112:s2x2k2x2d1p0", "max:f32:8x64x112x112:k2x2"},
    {"max:f32:8x64x112x112:k3x5s2x2p1x2", "max:f32:8x64x112x112:k3x5s2p1x2"},
    {"max:f32:8x64x112x112:p1:k3x3:s2", "max:f32:8x64x112x112:k3x3s2p1"},
    {"max:f32:8x64x9x9:k3:axes2,3", "max:f32:8x64x9x9:k3x3"},
    {"max:f32:8x64x9x9:k3:axes-2,-1", "max:f32:8x64x9x9:k3x3"},
    {"max:f32:8x64x9x9:k3:axes3,2", nullptr},
    {"max:f32:8x64x9x9:k3:axes3", nullptr},
    {"max:f32:8x64x9x9:k3x3x3", nullptr},
    {"max:f32:8x64x9x9:k3:axes1,2,3", "max:f32:8x64x9x9:k3x3x3"},
    {"max:f32:8x64x9x9:k1000s2:axes1,2,3:p1000", "max:f32:8x64x9x9:k1000x1000x1000s2p1000"},
    {"max:f32:8x64x9x9:k3s1000:axes1,2,3", "max:f32:8x64x9x9:k3x3x3s1000"},
    {"max:f32:90x90x3:k3:axes0,1", nullptr},
    {"max:f32:9:k2p0+1", nullptr},
    {"max:f32:9x9:k2p0+1x1", nullptr},
    {"max:f32:9x9:k2p1+1x1+1", "max:f32:9x9:k2p1"},
    {"max:f32:9x9:k2p0", "max:f32:9x9:k2"},
    {"max:f32:9x9:k3d2s1", "max:f32:9x9:k3s1d2"},
    {"max:f16:9x9:global", nullptr},
    {"min:bf16:2x3x9:global:axes0", nullptr},
    {"avg:u8:2x3x9x9:out7x7", nullptr},
    {"avg:u8:2x3x9x9:out1", nullptr},
    {"avg:u8:2x3x9x9:out2x3x1x1", nullptr},
    {"max:f16:2x3x9x9:global", nullptr},
    {"max:f16:2x3x9x9:global:axes-2,-1", "max:f16:2x3x9x9:global:axes2,3"},
    {"avg:u8:2x3x9x9:out7x5", nullptr},
    {"avg:u8:2x3x9x9:out7:axes1,2,3", "avg:u8:2x3x9x9:out7x7x7"},
    {"sum:i64:9:k3:same", nullptr},
    {"sum:i64:9:k3:same_lower", nullptr},
    {"avg:f32:9:k3p1:ceil:exclude:omit", nullptr},
    {"avg:f32:9:omit:ceil:div9:k3p1", "avg:f32:9:k3p1:ceil:div9:omit"},
    {"lp2:f32:9:k3", nullptr},
    {"lp2.50:f32:9:k3", "lp2.5:f32:9:k3"},
    {"lpinf:f64:9:k3", nullptr},
    {"lp1e0:bool:9:k3", "lp1:bool:9:k3"},
    {"max:u16:4x5x6x7:k2x2:order0,2,3,1", nullptr},
    {"max:u16:4x5x6x7:k2x2:order0,1,2,3", "max:u16:4x5x6x7:k2x2"},
    {"max:f32:4x4:k2:backward", nullptr},
    {"min:f32:4x4:k2:backward:indices", "min:f32:4x4:k2:indices:backward"},
    {"max:f32:4x4:k2:backward:codes", "max:f32:4x4:k2:codes:backward"},
    {"max:f32:0x3x4:k2:axes2", nullptr},
    {"max:f32:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1:k1:axes0", nullptr},
};

TEST(ProblemName, Table) {
  for (const Name& name : kNames) {
    const Problem p = parse_problem(name.asked);
    EXPECT_EQ(to_string(p), name.printed == nullptr ? name.asked : name.printed);
  }
}

struct Wrong {
  const char* name;
  const char* message;
};

const Wrong kWrong[] = {
    {"",
     "problem name: expected an op: max, min, avg, sum, lp and its p, such as lp2 or lpinf, median, q0.9, mode, var, "
     "count or "
     "another, but the word is ''"},
    {"lp:f32:4:k2",
     "problem name: expected an op: max, min, avg, sum, lp and its p, such as lp2 or lpinf, median, q0.9, mode, var, "
     "count or "
     "another, but the word is 'lp'"},
    {"lp2x:f32:4:k2",
     "problem name: expected an op: max, min, avg, sum, lp and its p, such as lp2 or lpinf, median, q0.9, mode, var, "
     "count or "
     "another, but the word is 'lp2x'"},
    {"max", "problem name: must continue with a dtype, as in max:f32:8x64x112x112:k3x3s2p1, but ends"},
    {"max:f32", "problem name: must continue with a shape, as in max:f32:8x64x112x112:k3x3s2p1, but ends"},
    {"max:f33:4:k2",
     "dtype must be one of f64, f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, bool, but is 'f33'"},
    {"max:f32:4x:k2", "problem name: expected a shape such as 8x64x112x112, but the word is '4x'"},
    {"max:f32:-4:k2", "problem name: expected a shape such as 8x64x112x112, but the word is '-4'"},
    {"max:f32:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1:k1",
     "problem name: at most 16 values are supported, but the word is '1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1'"},
    {"max:f32:99999999999999999999:k1",
     "problem name: numbers must be at most 2^63 - 1, but the word is '99999999999999999999'"},
    {"max:f32:4:k2k3", "problem name: k is given twice"},
    {"max:f32:4:k2:p1:p1", "problem name: p is given twice"},
    {"max:f32:4:k2:ceil:ceil", "problem name: ceil is given twice"},
    {"max:f32:4:k2:same:same_lower", "problem name: same and same_lower exclude each other, but both are given"},
    {"max:f32:4:global:out2", "problem name: global and out exclude each other, but both are given"},
    {"avg:f32:4:k2:div0", "problem name: the divisor must be >= 1, but the word is 'div0'"},
    {"avg:f32:4:k2:div2:div2", "problem name: div is given twice"},
    {"max:f32:4:k2q3",
     "problem name: expected k, s, p or d and a number or numbers joined by x, such as k3s2p0+1d1, but the word is "
     "'k2q3'"},
    {"max:f32:4:k2:axes", "problem name: expected axes and numbers such as axes1,2, but the word is 'axes'"},
    {"max:f32:4x4:k2:order0", "tensor: the order of axes must name all 2, but names 1"},
    {"avg:f32:4:k2:indices",
     "problem name: indices are for max, min, first, centre, median, quantile and mode only, but the op is avg"},
    {"sum:f32:4:k2:codes", "problem name: codes are for max and min only, but the op is sum"},
    {"max:f32:256:global:codes", "problem name: codes are for windows of at most 255 taps, but these have 256"},
    {"max:f32:4:k2:codes:indices", "problem name: indices and codes exclude each other, but both are given"},
    {"max:f32:4x4x4x4:k2x2s1x1x1", "max_pool: kernel must have 1 value or one per pooled axis (3), but has 2"},
    {"max:f32:4:k2x2", "max_pool: kernel must have 1 value or one per pooled axis (1), but has 2"},
    {"max:f32:0x3x4x4:k2",
     "max_pool: pooled axes must have extent >= 1, but axis 0 has 0; no axes are named, so all 4 are pooled"},
    {"max:f32:4:k0", "max_pool: kernel must be >= 1, but axis 0 has 0"},
    {"max:f32:4:global:k2", "max_pool: kernel cannot be combined with a global window, but has the value 2"},
};

TEST(ProblemName, ErrorsNameTheWord) {
  for (const Wrong& wrong : kWrong) {
    EXPECT_EQ(test::message([&] { parse_problem(wrong.name); }), wrong.message) << wrong.name;
  }
}

// What two names must agree in to describe the same problem.
void expect_same(const Problem& a, const Problem& b, const std::string& name) {
  EXPECT_EQ(a.pool.op, b.pool.op) << name;
  EXPECT_EQ(a.pool.windows.kind, b.pool.windows.kind) << name;
  EXPECT_EQ(a.pool.windows.padding, b.pool.windows.padding) << name;
  EXPECT_EQ(a.pool.windows.ceil_mode, b.pool.windows.ceil_mode) << name;
  EXPECT_EQ(a.pool.count_include_pad, b.pool.count_include_pad) << name;
  EXPECT_EQ(a.pool.divisor, b.pool.divisor) << name;
  EXPECT_EQ(a.pool.norm, b.pool.norm) << name;
  EXPECT_EQ(a.pool.nan, b.pool.nan) << name;
  EXPECT_EQ(a.dtype, b.dtype) << name;
  EXPECT_EQ(a.shape, b.shape) << name;
  EXPECT_EQ(a.direction, b.direction) << name;
  EXPECT_EQ(a.indices, b.indices) << name;
  EXPECT_EQ(a.codes, b.codes) << name;
  EXPECT_EQ(a.pooled, b.pooled) << name;
  EXPECT_EQ(a.axes, b.axes) << name;
  EXPECT_EQ(a.axis, b.axis) << name;
  EXPECT_EQ(a.output_shape, b.output_shape) << name;
}

// A list of 0, 1 or `count` values of at most `most`.
Extents random_list(std::mt19937& random, int count, index_t least, index_t most) {
  const int sizes[] = {0, 1, count};
  Extents list;
  const int size = sizes[random() % 3];
  const bool equal = random() % 2 == 0;
  for (int i = 0; i < size; ++i)
    list.push_back(equal && i > 0 ? list[0]
                                  : least + static_cast<index_t>(random() % static_cast<unsigned>(most - least + 1)));
  return list;
}

Extents shuffled(std::mt19937& random, int count) {
  Extents order;
  for (int i = 0; i < count; ++i) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

Problem random_problem(std::mt19937& random) {
  const int rank = 1 + static_cast<int>(random() % 6);
  Extents shape;
  for (int a = 0; a < rank; ++a) shape.push_back(1 + static_cast<index_t>(random() % 9));
  Pool pool;
  pool.op = static_cast<Op>(random() % 5);
  pool.windows.kind = static_cast<WindowKind>(random() % 3);
  const int pooled = 1 + static_cast<int>(random() % static_cast<unsigned>(rank));
  if (random() % 2 == 0) {
    const Extents all = shuffled(random, rank);
    for (int i = 0; i < pooled; ++i) pool.windows.axes.push_back(all[i] - (random() % 2 == 0 ? rank : 0));
  }
  if (pool.windows.kind == WindowKind::uniform) {
    pool.windows.kernel = random_list(random, pooled, 1, 3);
    if (pool.windows.kernel.empty()) pool.windows.kernel = {2};
    pool.windows.stride = random_list(random, pooled, 1, 12);
    pool.windows.dilation = random_list(random, pooled, 1, 2);
    pool.windows.padding = static_cast<Padding>(random() % 3);
    if (pool.windows.padding == Padding::given) {
      pool.windows.pad_lo = random_list(random, pooled, 0, 2);
      pool.windows.pad_hi = random_list(random, pooled, 0, 20);
      pool.windows.ceil_mode = random() % 2 == 0;
    }
  } else if (pool.windows.kind == WindowKind::adaptive) {
    pool.windows.output_size = random_list(random, pooled, 1, 20);
    if (pool.windows.output_size.empty()) pool.windows.output_size = {3};
  }
  if (pool.op == Op::avg) {
    pool.count_include_pad = random() % 2 == 0;
    pool.divisor = static_cast<index_t>(random() % 3);
  }
  const double norms[] = {1, 2, 1.1, 2.5, 1e22, HUGE_VAL};
  if (pool.op == Op::lp) pool.norm = norms[random() % 6];
  pool.nan = static_cast<NanPolicy>(random() % 2);
  Problem p = make_problem(pool, static_cast<Dtype>(random() % 13), shape);
  if (random() % 2 == 0) p.order = shuffled(random, rank);
  p.direction = static_cast<Direction>(random() % 2);
  p.indices = (pool.op == Op::max || pool.op == Op::min) && random() % 2 == 0;
  p.codes = (pool.op == Op::max || pool.op == Op::min) && !p.indices && p.taps() <= kMostByteCodes && random() % 2 == 0;
  return p;
}

TEST(ProblemName, RandomProblemsReturn) {
  for (unsigned seed : seeds()) {
    std::mt19937 random(seed);
    int made = 0;
    while (made < 20000) {
      Problem p;
      try {
        p = random_problem(random);
      } catch (const Error&) {
        continue;  // a window that does not fit, or a list of a wrong length
      }
      ++made;
      const std::string name = to_string(p);
      const Problem q = parse_problem(name);
      expect_same(p, q, name);
      ASSERT_EQ(to_string(q), name);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace oriel
