// Random problems, elements and layouts against the reference.
#include <gtest/gtest.h>

#include "pool/conform.h"
#include "pool/random_problem.h"
#include "seeds.h"

namespace oriel::test {
namespace {

TEST(Random, S1_S10_ProblemsAgreeWithTheReference) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int wrongs = 0;
    for (int i = 0; i < 4000; ++i) {
      const Problem p = random_problem(random, 300);
      const Data data = kAllData[random() % 4];
      const auto x = fill(p.dtype, element_count(p.shape), data, random);
      std::vector<std::byte> dy;
      if (p.pool.op != Op::lp || data != Data::specials)
        dy = fill(p.dtype, element_count(p.output_shape), data, random);
      const Case c(p, x, dy);
      const Layout in = kWritableLayouts[random() % 5], out = kWritableLayouts[random() % 5];
      const std::string wrong = check_all(c, in, out, {.threads = 1 + static_cast<int>(random() % 3)});
      if (wrong.empty()) continue;
      ADD_FAILURE() << "seed " << seed << " problem " << i << " (" << name(data) << "): " << wrong;
      if (++wrongs == 20) FAIL() << "too many";
    }
  }
}

}  // namespace
}  // namespace oriel::test
