// Masks over time, frames in order, quarter turns.
#include "apps/portrait/video/temporal.h"

#include <gtest/gtest.h>

#include <atomic>

#include "apps/portrait/image/turn.h"
#include "apps/portrait/video/frames.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

TEST(Smoother, what_does_not_move_is_averaged) {
  Smoother smoother({.keep = 0.75F});
  const Planes light(1, 4, 4, 0.5F);
  EXPECT_EQ(smoother.next(Planes(1, 4, 4, 1), light).values, Planes(1, 4, 4, 1).values);
  EXPECT_EQ(smoother.next(Planes(1, 4, 4, 0), light).values, Planes(1, 4, 4, 0.75F).values);
  EXPECT_EQ(smoother.next(Planes(1, 4, 4, 0), light).values, Planes(1, 4, 4, 0.5625F).values);
}

TEST(Smoother, flicker_becomes_less) {
  Smoother smoother({});
  const Planes light(1, 8, 8, 0.5F);
  float before = smoother.next(Planes(1, 8, 8, 0.5F), light).values[0], most = 0;
  for (int i = 0; i < 40; ++i) {
    const float now = smoother.next(Planes(1, 8, 8, i % 2 == 0 ? 0.4F : 0.6F), light).values[0];
    if (i > 10) most = std::max(most, std::abs(now - before));
    before = now;
  }
  EXPECT_LT(most, 0.2F / 3);  // the network's masks differ by 0.2
}

TEST(Smoother, what_moves_leaves_no_trace) {
  Smoother smoother({});
  Planes light(1, 20, 20), mask(1, 20, 20);
  for (index_t y = 5; y < 10; ++y)
    for (index_t x = 5; x < 10; ++x) light.row(0, y)[x] = mask.row(0, y)[x] = 1;
  smoother.next(mask, light);
  const Planes gone = smoother.next(Planes(1, 20, 20), Planes(1, 20, 20));
  for (index_t y = 5; y < 10; ++y)
    for (index_t x = 5; x < 10; ++x) EXPECT_EQ(gone.row(0, y)[x], 0) << y << " " << x;
  EXPECT_EQ(smoother.cuts(), 0);
}

TEST(Smoother, a_new_scene_and_a_new_size_start_anew) {
  Smoother smoother({});
  smoother.next(Planes(1, 4, 4, 1), Planes(1, 4, 4, 0.1F));
  EXPECT_EQ(smoother.next(Planes(1, 4, 4), Planes(1, 4, 4, 0.9F)).values, Planes(1, 4, 4).values);
  EXPECT_EQ(smoother.cuts(), 1);
  EXPECT_EQ(smoother.next(Planes(1, 3, 5, 1), Planes(1, 3, 5, 0.9F)).values, Planes(1, 3, 5, 1).values);
}

TEST(Smoother, options_are_checked) {
  EXPECT_EQ(error_of([] { Smoother({.keep = 1}); }), "--smooth: 1 is out of range; allowed: from 0 to below 1");
  EXPECT_EQ(error_of([] { Smoother({.cut = 0}); }), "--scene-cut: 0 is out of range; allowed: above 0, at most 1");
}

Frame numbered(int i) { return {Image(8, 8, 3), i}; }

TEST(Frames, come_out_in_order_and_few_are_held) {
  int begun = 0, ended = 0, most = 0;
  std::atomic<int> held{0};
  const auto read = [&](Frame& frame) {
    if (begun == 200) return false;
    frame = numbered(begun++);
    most = std::max(most, ++held);
    return true;
  };
  const auto segment = [](const Image& image) { return Planes(1, image.height, image.width, 1); };
  const auto write = [&](Frame&& frame) {
    EXPECT_EQ(frame.time, ended++);
    EXPECT_EQ(frame.image.channels, 4);
    --held;
  };
  const FrameCount count = run_frames(read, segment, {.no_person = NoPerson::background}, {}, write, 3);
  EXPECT_EQ(count.frames, 200);
  EXPECT_EQ(count.without_person, 0);
  EXPECT_LE(most, 3);
}

TEST(Frames, errors_come_out) {
  const auto endless = [](Frame& frame) {
    frame = numbered(0);
    return true;
  };
  const auto nobody = [](const Image&) { return Planes(1, 8, 8); };
  EXPECT_EQ(error_of([&] { run_frames(endless, nobody, {}, {}, [](Frame&&) {}); }),
            "frame 0: no person found; allowed: --no-person background or keep");
  const auto broken = [](const Image&) -> Planes { throw Error("the network fails"); };
  EXPECT_EQ(error_of([&] { run_frames(endless, broken, {}, {}, [](Frame&&) {}); }), "the network fails");
  const auto full = [](Frame&&) { throw Error("the disk is full"); };
  const Look look{.no_person = NoPerson::keep};
  EXPECT_EQ(error_of([&] { run_frames(endless, nobody, look, {}, full); }), "the disk is full");
}

TEST(Turn, quarters_add_up) {
  const Image image = noise_image(3, 5, 1);
  EXPECT_EQ(turned_clockwise(image, 0).bytes, image.bytes);
  Image once = turned_clockwise(image, 1);
  EXPECT_EQ(once.height, 5);
  EXPECT_EQ(once.row(0)[0], image.row(2)[0]);  // the bottom left corner comes to the top left
  EXPECT_EQ(turned_clockwise(once, 1).bytes, turned_clockwise(image, 2).bytes);
  EXPECT_EQ(turned_clockwise(turned_clockwise(once, 1), 1).bytes, turned_clockwise(image, 3).bytes);
  EXPECT_EQ(turned_clockwise(turned_clockwise(image, 3), 1).bytes, image.bytes);
}

}  // namespace
}  // namespace oriel::portrait
