#include "oriel/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "support.h"

namespace oriel {
namespace {

using test::message;

static_assert(half(1.0).bits == 0x3c00 && half(-2.0).bits == 0xc000 && half(65520.0).bits == 0x7c00);
static_assert(half(5.9604644775390625e-8).bits == 1, "the least subnormal");
static_assert(half(2.98023223876953125e-8).bits == 0, "half of it is a tie to even");
static_assert(bfloat16(1.0).bits == 0x3f80 && static_cast<float>(bfloat16::from_bits(0xc000)) == -2.0F);
static_assert(dtype_v<float> == Dtype::f32 && dtype_v<const bool8> == Dtype::boolean);
static_assert(std::is_same_v<accumulator_t<half>, float> && std::is_same_v<accumulator_t<std::uint8_t>, std::int64_t>);
static_assert(is_floating_v<bfloat16> && !is_floating_v<std::int32_t>);

template <class T>
T pattern(unsigned bits) {
  return T::from_bits(static_cast<std::uint16_t>(bits));
}

bool is_nan(float v) { return v != v; }

// The value by the words of IEEE 754.
double value_of(half h) {
  const int exponent = h.bits >> 10 & 31, fraction = h.bits & 1023;
  const double sign = (h.bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

TEST(Half, EveryPatternWidensExactly) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float ours = pattern<half>(bits);
    const double exact = value_of(pattern<half>(bits));
    if (std::isnan(exact)) {
      ASSERT_TRUE(is_nan(ours)) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(ours), std::bit_cast<std::uint32_t>(static_cast<float>(exact))) << bits;
    }
  }
}

#ifdef __FLT16_MANT_DIG__  // the compiler has a half of its own: a second opinion
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
typedef __fp16 compiler_half;  // C++ has no _Float16 there
#else
__extension__ typedef _Float16 compiler_half;
#endif

TEST(Half, EveryPatternWidensAsTheCompilerDoes) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float ours = pattern<half>(bits);
    const float theirs = static_cast<float>(std::bit_cast<compiler_half>(static_cast<std::uint16_t>(bits)));
    if (is_nan(theirs)) {
      ASSERT_TRUE(is_nan(ours)) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(ours), std::bit_cast<std::uint32_t>(theirs)) << bits;
    }
  }
}

TEST(Half, S7_RandomDoublesRoundAsTheCompilerDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    // Any mantissa, exponents from far below the subnormals to far above infinity.
    const std::uint64_t exponent = 1023 - 40 + random() % 80;
    const double v = std::bit_cast<double>((random() & 0x800fffffffffffffULL) | (exponent << 52));
    ASSERT_EQ(half(v).bits, std::bit_cast<std::uint16_t>(static_cast<compiler_half>(v))) << v;
  }
}
#endif

TEST(Bfloat16, EveryPatternIsTheUpperHalfOfAFloat) {
  for (unsigned bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(pattern<bfloat16>(bits))), bits << 16);
}

template <class T>
class SixteenBits : public testing::Test {};
using SixteenBitTypes = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(SixteenBits, SixteenBitTypes);

TYPED_TEST(SixteenBits, EveryPatternReturns) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float wide = pattern<TypeParam>(bits);
    const TypeParam back(static_cast<double>(wide));
    if (is_nan(wide)) {
      ASSERT_TRUE(is_nan(back)) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

// Between each two neighbours: the middle goes to the even one, anything beside it to the nearer one. For both signs,
// subnormals and the step to infinity included.
TYPED_TEST(SixteenBits, S7_EveryMidpointRoundsToEven) {
  const unsigned infinity = highest_value<TypeParam>().bits;
  for (unsigned bits = 0; bits < infinity; ++bits) {
    const double low = static_cast<float>(pattern<TypeParam>(bits));
    double high = static_cast<float>(pattern<TypeParam>(bits + 1));
    if (bits + 1 == infinity) high = 2 * low - static_cast<float>(pattern<TypeParam>(bits - 1));
    const double middle = (low + high) / 2;
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    for (unsigned sign : {0U, 0x8000U}) {
      const double s = sign != 0 ? -1 : 1;
      ASSERT_EQ(TypeParam(s * middle).bits, even | sign) << bits;
      ASSERT_EQ(TypeParam(s * std::nextafter(middle, HUGE_VAL)).bits, (bits + 1) | sign) << bits;
      ASSERT_EQ(TypeParam(s * std::nextafter(middle, 0)).bits, bits | sign) << bits;
    }
  }
}

// No neighbour of the result is nearer.
TYPED_TEST(SixteenBits, S7_RandomDoublesRoundToTheNearest) {
  std::mt19937_64 random(2);
  const double largest = static_cast<float>(pattern<TypeParam>(highest_value<TypeParam>().bits - 1U));
  const double least = static_cast<float>(pattern<TypeParam>(1U));
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t exponent = 1023 - 140 + random() % 270;
    const double v = std::bit_cast<double>((random() & 0x800fffffffffffffULL) | (exponent << 52));
    if (std::fabs(v) >= largest || std::fabs(v) <= least) continue;  // the ends are in the midpoint test
    const TypeParam rounded(v);
    const double got = static_cast<float>(rounded);
    const double toward = static_cast<float>(pattern<TypeParam>(rounded.bits - 1U));
    const double away = static_cast<float>(pattern<TypeParam>(rounded.bits + 1U));
    ASSERT_LE(std::fabs(got - v), std::fabs(toward - v)) << v;
    ASSERT_LE(std::fabs(got - v), std::fabs(away - v)) << v;
  }
}

TEST(SixteenBits, SpecialValues) {
  EXPECT_EQ(half(-0.0).bits, 0x8000);
  EXPECT_EQ(half(HUGE_VAL).bits, 0x7c00);
  EXPECT_EQ(half(-1e300).bits, 0xfc00);
  EXPECT_EQ(half(1e-300).bits, 0);
  EXPECT_EQ(bfloat16(-1e-300).bits, 0x8000);
  EXPECT_EQ(bfloat16(1e300).bits, 0x7f80);
  EXPECT_TRUE(is_nan(half(std::nan(""))));
  EXPECT_TRUE(is_nan(bfloat16(-std::nan(""))));
}

TEST(Types, S6_LeastAndGreatestValues) {
  EXPECT_EQ(static_cast<float>(lowest_value<half>()), -HUGE_VALF);
  EXPECT_EQ(static_cast<float>(highest_value<bfloat16>()), HUGE_VALF);
  EXPECT_EQ(lowest_value<double>(), -HUGE_VAL);
  EXPECT_EQ(lowest_value<std::int8_t>(), -128);
  EXPECT_EQ(lowest_value<std::uint16_t>(), 0);
  EXPECT_EQ(highest_value<std::uint64_t>(), ~0ULL);
  EXPECT_FALSE(lowest_value<bool8>());
  EXPECT_TRUE(highest_value<bool8>());
}

TEST(Types, NamesReturn) {
  int dtypes = 0;
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::u8, Dtype::i16, Dtype::u16,
                      Dtype::i32, Dtype::u32, Dtype::i64, Dtype::u64, Dtype::boolean}) {
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    EXPECT_EQ(size_bytes(dtype), static_cast<index_t>(visit(dtype, []<class T>() { return sizeof(T); })));
    ++dtypes;
  }
  EXPECT_EQ(dtypes, 13);
  EXPECT_EQ(name(Dtype::boolean), "bool");
  for (Op op : {Op::max, Op::min, Op::avg, Op::sum, Op::lp}) EXPECT_EQ(parse_op(name(op)), op);
  EXPECT_TRUE(is_floating(Dtype::bf16));
  EXPECT_FALSE(is_floating(Dtype::boolean));
}

TEST(Types, ErrorsNameTheValueAndWhatIsAllowed) {
  EXPECT_EQ(message([] { parse_dtype("f31"); }),
            "dtype must be one of f64, f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, bool, but is 'f31'");
  EXPECT_EQ(message([] { parse_op("mux\n"); }),
            "op must be one of max, min, avg, sum, lp, count, any, all, range, midrange, first, centre, median, "
            "quantile, mode, "
            "nunique, var, std, rms, prod, geo, harm, lse, soft, but is 'mux?'");
  EXPECT_LE(message([] { parse_op(std::string(100000, 'x')); }).size(), 250U);
  EXPECT_EQ(message([] { name(static_cast<Dtype>(99)); }), "dtype: the value 99 is not an element type");
  EXPECT_EQ(message([] { name(static_cast<Op>(99)); }), "op: the value 99 is not a reduction");
  EXPECT_EQ(message([] { size_bytes(static_cast<Dtype>(77)); }), "dtype: the value 77 is not an element type");
}

TEST(Extents, HoldUpToSixteenValues) {
  Extents e{1, 2, 3};
  EXPECT_EQ(to_string(e), "1x2x3");
  EXPECT_EQ(to_string(Extents{}), "scalar");
  EXPECT_EQ(e.back(), 3);
  for (int i = 3; i < kMaxRank; ++i) e.push_back(i);
  EXPECT_EQ(e.size(), 16);
  EXPECT_EQ(message([&] { e.push_back(0); }), "extents: at most 16 axes are supported");
  EXPECT_EQ(Extents::filled(2, 7), (Extents{7, 7}));
  EXPECT_FALSE((Extents{1, 2} == Extents{1, 2, 0}));
}

}  // namespace
}  // namespace oriel
