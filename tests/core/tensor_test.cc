#include "oriel/tensor.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "support.h"

namespace oriel {
namespace {

constexpr index_t kHuge = std::numeric_limits<index_t>::max();

using test::message;

TEST(MemoryOrder, IsThatOfPitchesFromTheLargestOn) {
  EXPECT_EQ(memory_order({12, 4, 1}), Extents({0, 1, 2}));
  EXPECT_EQ(memory_order({1, -40, 4}), Extents({1, 2, 0}));
  EXPECT_EQ(memory_order({0, 5, 0, 5}), Extents({1, 3, 0, 2}));  // of equal ones the first is outermost
  EXPECT_EQ(memory_order({}), Extents{});
}

TEST(Tensor, DensePitches) {
  EXPECT_EQ(dense_pitch({2, 3, 4}), (Extents{12, 4, 1}));
  EXPECT_EQ(dense_pitch({2, 3, 4}, {2, 1, 0}), (Extents{1, 2, 6}));
  EXPECT_EQ(dense_pitch({8, 64, 7, 7}, {0, 2, 3, 1}), (Extents{64 * 49, 1, 448, 64}));
  EXPECT_EQ(dense_pitch({}), (Extents{}));
  EXPECT_EQ(dense_pitch({3, 0, 4}), (Extents{4, 4, 1}));
  EXPECT_EQ(message([] { dense_pitch({2, 3}, {0}); }), "tensor: the order of axes must name all 2, but names 1");
  EXPECT_EQ(message([] {
              dense_pitch({2, 3}, {0, 0});
            }),
            "tensor: the order of axes must name each of 0 to 1 once, but names 0");
  EXPECT_EQ(message([] {
              dense_pitch({2, 3}, {0, 2});
            }),
            "tensor: the order of axes must name each of 0 to 1 once, but names 2");
}

TEST(Tensor, S12_ElementCounts) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({5, 0, 7}), 0);
  EXPECT_EQ(element_count({kHuge}), kHuge);
  EXPECT_EQ(message([] {
              element_count({kHuge, 2});
            }),
            "tensor: must have at most 2^63 - 1 elements, but the shape is 9223372036854775807x2");
  EXPECT_EQ(message([] {
              element_count({0, kHuge, kHuge});
            }),
            "tensor: must have at most 2^63 - 1 elements, but the shape is 0x9223372036854775807x9223372036854775807");
  EXPECT_EQ(message([] { element_count({2, -1}); }), "tensor: extents must be >= 0, but axis 1 has -1");
}

TEST(Tensor, ByteSpans) {
  float x[24] = {};
  EXPECT_EQ(byte_span(ConstTensor(x, {2, 3, 4})).end, 96);
  EXPECT_EQ(byte_span(ConstTensor(&x[0], {0, 3})).end, 0);
  const ByteSpan reversed = byte_span({x + 23, Dtype::f32, {2, 12}, {-12, -1}});
  EXPECT_EQ(reversed.begin, -92);
  EXPECT_EQ(reversed.end, 4);
  const ByteSpan broadcast = byte_span({x, Dtype::f32, {1000, 3}, {0, 1}});
  EXPECT_EQ(broadcast.end, 12);
  EXPECT_EQ(byte_span({x, Dtype::f64, {1}, {kHuge}}).end, 8);
  EXPECT_EQ(message([&] {
              byte_span({x, Dtype::f64, {2}, {kHuge}});
            }),
            "tensor: must span less than 2^63 bytes, but axis 0 has 2 elements at a pitch of 9223372036854775807");
  EXPECT_EQ(message([&] {
              byte_span({x, Dtype::u8, {2, 2}, {kHuge, 1}});
            }).substr(0, 36),
            "tensor: must span less than 2^63 byt");
  EXPECT_EQ(message([&] {
              byte_span({x, Dtype::u8, {2, 2}, {1}});
            }),
            "tensor: must have one pitch per axis, but has 1 for a shape of rank 2");
}

TEST(Tensor, Overlaps) {
  float x[24] = {};
  const ConstTensor whole(x, {24}), head(&x[0], {12}), tail(x + 12, {12}), none(&x[0], {0});
  EXPECT_TRUE(may_overlap(whole, tail));
  EXPECT_TRUE(may_overlap(head, head));
  EXPECT_FALSE(may_overlap(head, tail));
  EXPECT_FALSE(may_overlap(tail, head));
  EXPECT_FALSE(may_overlap(whole, none));
  EXPECT_TRUE(may_overlap({x + 12, Dtype::f32, {13}, {-1}}, head));
  EXPECT_FALSE(may_overlap({x + 23, Dtype::f32, {12}, {-1}}, head));
  ConstTensor elsewhere = whole;
  elsewhere.device = Device::cuda;
  EXPECT_FALSE(may_overlap(whole, elsewhere));
}

// Judged by listing every offset: never silent about an overlap, and silent for dense, sliced and reversed views.
TEST(Tensor, SelfOverlaps) {
  std::mt19937 random(3);
  float x = 0;
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    Extents shape, pitch;
    std::multiset<index_t> offsets{0};
    const int rank = 1 + static_cast<int>(random() % 3);
    for (int a = 0; a < rank; ++a) {
      shape.push_back(1 + static_cast<index_t>(random() % 4));
      pitch.push_back(static_cast<index_t>(random() % 25) - 12);
      std::multiset<index_t> next;
      for (index_t o : offsets)
        for (index_t k = 0; k < shape[a]; ++k) next.insert(o + k * pitch[a]);
      offsets = next;
    }
    const bool overlaps = std::set<index_t>(offsets.begin(), offsets.end()).size() != offsets.size();
    const bool flagged = may_self_overlap({&x, Dtype::f32, shape, pitch});
    ASSERT_TRUE(flagged || !overlaps) << to_string(shape) << ' ' << to_string(pitch);
    found += overlaps ? 1 : 0;
  }
  EXPECT_GT(found, 1000);
  EXPECT_FALSE(may_self_overlap({&x, Dtype::f32, {8, 64, 7, 7}, {64 * 49, 1, 448, 64}}));
  EXPECT_FALSE(may_self_overlap({&x, Dtype::f32, {3, 4}, {-10, 2}}));
  EXPECT_FALSE(may_self_overlap({&x, Dtype::f32, {0, 4}, {0, 0}}));
  EXPECT_FALSE(may_self_overlap({&x, Dtype::f32, {1, 4}, {0, 1}}));
  EXPECT_TRUE(may_self_overlap({&x, Dtype::f32, {2, 4}, {0, 1}}));
  EXPECT_FALSE(may_self_overlap({&x, Dtype::u8, {2}, {std::numeric_limits<index_t>::min()}}));
}

TEST(Tensor, ViewsTakeTheirDtypeFromTheElements) {
  std::uint16_t x[6] = {};
  const Tensor t(x, {2, 3});
  EXPECT_EQ(t.dtype, Dtype::u16);
  EXPECT_EQ(t.pitch, (Extents{3, 1}));
  const ConstTensor c = t;
  EXPECT_EQ(c.data, x);
  EXPECT_EQ(c.rank(), 2);
}

}  // namespace
}  // namespace oriel
