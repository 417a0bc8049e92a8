#include "real_number.h"

#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cstdint>
#include <random>

namespace oriel::detail {
namespace {

// Both ways to read `text` give the same value, the same end and the same error.
void expect_same(const std::string& text) {
  constexpr double before = 42;
  double a = before, b = before;
  const auto by_library = std::from_chars(text.data(), text.data() + text.size(), a);
  const auto by_c = read_real_by_c(text, b);
  EXPECT_EQ(by_c.ec, by_library.ec) << text;
  EXPECT_EQ(by_c.ptr - text.data(), by_library.ptr - text.data()) << text;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(b), std::bit_cast<std::uint64_t>(a)) << text;
}

TEST(RealNumber, WithoutFromCharsTheSame) {
  for (const char* text : {"2",
                           "2.5",
                           "-2.5",
                           "+2.5",
                           " 2.5",
                           "2.5 ",
                           "2,5",
                           ".5",
                           "-.5",
                           "5.",
                           ".",
                           "-",
                           "",
                           "e5",
                           "1e5",
                           "1e",
                           "1e+",
                           "1e-3x",
                           "inf",
                           "-inf",
                           "INFINITY",
                           "infinit",
                           "nan",
                           "-nan",
                           "i",
                           "n",
                           "nothing",
                           "0x10",
                           "-0x1p3",
                           "0",
                           "-0",
                           "00012",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "1e-310",
                           "4.9e-324",
                           "2e-324",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "\t1",
                           "1\0",
                           "--1",
                           "1.2.3",
                           "123456789012345678901234567890"})
    expect_same(text);
}

TEST(RealNumber, WithoutFromCharsTheSameOfRandomNumbers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::array<char, 64> digits{};
    const double value = std::bit_cast<double>(random());
    std::snprintf(digits.data(), digits.size(), "%.*g", 1 + i % 20, value);
    expect_same(digits.data());
  }
}

TEST(RealNumber, NoLocaleChangesThePoint) {
  const std::string kept = std::setlocale(LC_NUMERIC, nullptr);
  bool any = false;
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"})
    any = any || std::setlocale(LC_NUMERIC, locale) != nullptr;
  double value = 0;
  EXPECT_EQ(read_real_by_c("2.5", value).ec, std::errc());
  EXPECT_EQ(value, 2.5);
  std::setlocale(LC_NUMERIC, kept.c_str());
  if (!any) GTEST_SKIP() << "no locale with a comma is installed: only the one in use was tried";
}

}  // namespace
}  // namespace oriel::detail
