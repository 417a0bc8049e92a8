#include "io/chunk_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "scratch.h"

namespace oriel::io {
namespace {

// A file of chunks that counts how often each is read.
class Counted : public VolumeIn {
 public:
  Counted(const Extents& shape_, const Extents& chunk_)
      : whole_(counting(Dtype::i32, shape_)), array_(volume_of({whole_.view, whole_.memory, std::nullopt})) {
    dtype = Dtype::i32;
    shape = shape_;
    chunk = chunk_;
    order = array_->order;
  }
  void read(const Extents& begin, const Tensor& to) override {
    for_each_chunk(chunk, begin, to.shape,
                   [&](const Extents& c) { ++reads[std::vector<index_t>(c.begin(), c.end())]; });
    array_->read(begin, to);
  }
  // What a box of it holds.
  std::string box(const Extents& begin, const Extents& box_shape) {
    const Buffer to = allocate(dtype, box_shape);
    array_->read(begin, to.view);
    return elements(to.view);
  }

  std::map<std::vector<index_t>, int> reads;

 private:
  Buffer whole_;
  std::unique_ptr<VolumeIn> array_;
};

struct Box {
  Extents begin, shape;
};

// Reads boxes one after another, as blocks are, and compares them.
index_t read_boxes(Counted& volume, const std::vector<Box>& boxes, index_t slots) {
  index_t now = 0;
  const auto touches = [&](const Box& box, const Extents& chunk) {
    bool found = false;
    for_each_chunk(volume.chunk, box.begin, box.shape, [&](const Extents& c) { found = found || c == chunk; });
    return found;
  };
  ChunkCache cache(volume, slots, [&](const Extents& chunk) -> index_t {
    for (auto i = static_cast<std::size_t>(now) + 1; i < boxes.size(); ++i)
      if (touches(boxes[i], chunk)) return static_cast<index_t>(i);
    return -1;
  });
  for (const Box& box : boxes) {
    const Buffer to = allocate(volume.dtype, box.shape);
    cache.read(box.begin, to.view);
    EXPECT_EQ(elements(to.view), volume.box(box.begin, box.shape)) << "box " << now;
    ++now;
  }
  return cache.reads();
}

TEST(ChunkCache, a_chunk_that_two_boxes_share_is_read_once) {
  Counted volume({20, 10}, {4, 6});
  const std::vector<Box> boxes = {{{0, 0}, {9, 10}}, {{7, 0}, {9, 10}}, {{14, 0}, {6, 10}}};
  EXPECT_EQ(read_boxes(volume, boxes, 5), 10);
  EXPECT_EQ(volume.reads.size(), 10U);
  for (const auto& [chunk, times] : volume.reads) EXPECT_EQ(times, 1);
}

TEST(ChunkCache, what_does_not_fit_is_read_again_and_counted) {
  Counted volume({20, 10}, {4, 6});
  const std::vector<Box> boxes = {{{0, 0}, {9, 10}}, {{7, 0}, {9, 10}}, {{14, 0}, {6, 10}}};
  index_t before = 0;
  for (const index_t slots : {0, 1, 2, 3, 4}) {
    volume.reads.clear();
    const index_t counted = read_boxes(volume, boxes, slots);
    index_t happened = 0;
    for (const auto& [chunk, times] : volume.reads) happened += times;
    EXPECT_EQ(counted, happened) << slots;
    EXPECT_GE(counted, 10);
    EXPECT_TRUE(before == 0 || counted <= before) << slots;
    before = counted;
  }
}

TEST(ChunkCache, random_boxes_of_any_rank_have_the_right_values) {
  std::mt19937 random(7);
  const auto any = [&](index_t from, index_t to) { return std::uniform_int_distribution<index_t>(from, to)(random); };
  for (int round = 0; round < 60; ++round) {
    Extents shape, chunk;
    for (index_t d = any(1, 4); d > 0; --d) {
      shape.push_back(any(1, 9));
      chunk.push_back(any(1, shape.back()));
    }
    std::vector<Box> boxes;
    for (int i = 0; i < 8; ++i) {
      Box box;
      for (const index_t n : shape) {
        box.begin.push_back(any(0, n - 1));
        box.shape.push_back(any(1, n - box.begin.back()));
      }
      boxes.push_back(box);
    }
    Counted volume(shape, chunk);
    const index_t counted = read_boxes(volume, boxes, any(0, 6));
    index_t happened = 0;
    for (const auto& [at, times] : volume.reads) happened += times;
    EXPECT_EQ(counted, happened);
  }
}

}  // namespace
}  // namespace oriel::io
