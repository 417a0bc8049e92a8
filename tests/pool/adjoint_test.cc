// Backward is the adjoint of forward: <A x, y> = <x, A^T y>, exactly, on whole numbers.
#include <gtest/gtest.h>

#include <numeric>

#include "oriel/pool.h"
#include "pool/random_problem.h"
#include "seeds.h"

namespace oriel::test {
namespace {

std::vector<double> whole_numbers(index_t count, index_t unit, std::mt19937_64& random) {
  std::vector<double> out;
  for (index_t i = 0; i < count; ++i) out.push_back(static_cast<double>(unit * pick(random, -9, 9)));
  return out;
}

double inner_product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(Adjoint, S9_SumsAndAverages) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int made = 0;
    while (made < 1500) {
      Problem p = random_problem(random, 200);
      if (p.pool.op != Op::sum && p.pool.op != Op::avg) continue;
      // Numbers that every divisor up to 16 divides stay whole; larger windows are left to the sums.
      if (p.pool.op == Op::avg && p.taps() > 16) continue;
      ++made;
      const index_t unit = p.pool.op == Op::avg ? 720720 : 1;
      const auto x = whole_numbers(element_count(p.shape), unit, random);
      const auto dy = whole_numbers(element_count(p.output_shape), unit, random);
      std::vector<double> y(dy.size()), dx(x.size());
      forward(p.pool, {.x = ConstTensor(x.data(), p.shape), .y = Tensor(y.data(), p.output_shape)});
      backward(p.pool, {.x = ConstTensor(x.data(), p.shape),
                        .dy = ConstTensor(dy.data(), p.output_shape),
                        .dx = Tensor(dx.data(), p.shape)});
      ASSERT_EQ(inner_product(y, dy), inner_product(x, dx)) << to_string(p) << " seed " << seed;
    }
  }
}

TEST(Adjoint, S9_MaximaPickTheSameInputsBothWays) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int made = 0;
    while (made < 1000) {
      const Problem p = random_problem(random, 200);
      if (p.pool.op != Op::max && p.pool.op != Op::min) continue;
      if (p.axis[0].out == 0) continue;
      ++made;
      const auto x = whole_numbers(element_count(p.shape), 1, random);
      const auto dy = whole_numbers(element_count(p.output_shape), 1, random);
      std::vector<double> y(dy.size()), dx(x.size());
      forward(p.pool, {.x = ConstTensor(x.data(), p.shape), .y = Tensor(y.data(), p.output_shape)});
      for (double& v : y)
        if (std::isinf(v)) v = 0;  // a window without a tap picks nothing
      backward(p.pool, {.x = ConstTensor(x.data(), p.shape),
                        .dy = ConstTensor(dy.data(), p.output_shape),
                        .dx = Tensor(dx.data(), p.shape)});
      ASSERT_EQ(inner_product(y, dy), inner_product(x, dx)) << to_string(p) << " seed " << seed;
    }
  }
}

TEST(Adjoint, S9_EveryInputPatternOfASmallPool) {
  // The whole matrix, column by column, and its transpose, row by row.
  for (const char* text :
       {"avg:f64:6x7:k3x2s2x1p1x0:exclude", "sum:f64:9:k4s3p2+1:ceil", "avg:f64:7x5:out3x4", "sum:f64:12:k3s2d3p4"}) {
    const Problem p = parse_problem(text);
    const index_t inputs = element_count(p.shape), outputs = element_count(p.output_shape);
    for (index_t i = 0; i < inputs; ++i)
      for (index_t o = 0; o < outputs; ++o) {
        std::vector<double> x(static_cast<std::size_t>(inputs)), dy(static_cast<std::size_t>(outputs));
        std::vector<double> y(dy.size()), dx(x.size());
        x[static_cast<std::size_t>(i)] = 1;
        dy[static_cast<std::size_t>(o)] = 1;
        forward(p.pool, {.x = ConstTensor(x.data(), p.shape), .y = Tensor(y.data(), p.output_shape)});
        backward(p.pool, {.dy = ConstTensor(dy.data(), p.output_shape), .dx = Tensor(dx.data(), p.shape)});
        ASSERT_EQ(y[static_cast<std::size_t>(o)], dx[static_cast<std::size_t>(i)]) << text << ' ' << i << ' ' << o;
      }
  }
}

}  // namespace
}  // namespace oriel::test
