// Groups picked out of a row, of every size and step, on every instruction set.
#include <gtest/gtest.h>

#include <vector>

#include "cpu/simd/strided_copy.h"
#include "cpu/simd/targets.h"

namespace oriel::test {
namespace {

TEST(PickGroups, AnySizeStepAndNumber) {
  for (const std::string& target : cpu::supported_targets()) {
    cpu::set_target(target);
    for (index_t bytes = 1; bytes <= 40; ++bytes) {
      for (index_t step = 1; step <= 9; ++step) {
        for (index_t n = 0; n <= (bytes <= 5 ? 70 : 9); ++n) {
          // Nothing beyond the last group may be read: address sanitizers see it.
          std::vector<unsigned char> from(static_cast<std::size_t>(n == 0 ? 0 : ((n - 1) * step + 1) * bytes));
          for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 256);
          std::vector<unsigned char> to(static_cast<std::size_t>(n * bytes + 32), 0xa5);
          std::vector<unsigned char> expected = to;
          for (index_t i = 0; i < n; ++i) {
            std::copy_n(from.begin() + i * step * bytes, bytes, expected.begin() + i * bytes);
          }
          cpu::strided_copy()(from.data(), step, n, bytes, to.data());
          ASSERT_EQ(to, expected) << target << ": " << n << " groups of " << bytes << " bytes, step " << step;
        }
      }
    }
  }
  cpu::set_target("");
}

}  // namespace
}  // namespace oriel::test
