// Masks over time, frames in order, quarter turns.
#include "apps/portrait/video/temporal.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "apps/portrait/image/turn.h"
#include "apps/portrait/video/frames.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

// The colours of a grey scene.
Planes grey(index_t height, index_t width, float value = 0.5F) { return {3, height, width, value}; }

TEST(Smoother, what_does_not_move_is_averaged) {
  Smoother smoother({.keep = 0.75F});
  EXPECT_EQ(smoother.next(Planes(1, 4, 4, 1), grey(4, 4)).values, Planes(1, 4, 4, 1).values);
  EXPECT_EQ(smoother.moved().values, Planes(1, 4, 4, 1).values);
  EXPECT_EQ(smoother.next(Planes(1, 4, 4, 0), grey(4, 4)).values, Planes(1, 4, 4, 0.75F).values);
  EXPECT_EQ(smoother.next(Planes(1, 4, 4, 0), grey(4, 4)).values, Planes(1, 4, 4, 0.5625F).values);
  EXPECT_EQ(smoother.moved().values, Planes(1, 4, 4, 0).values);
}

TEST(Smoother, flicker_becomes_less) {
  Smoother smoother({});
  float before = smoother.next(Planes(1, 8, 8, 0.5F), grey(8, 8)).values[0], most = 0;
  for (int i = 0; i < 40; ++i) {
    const float now = smoother.next(Planes(1, 8, 8, i % 2 == 0 ? 0.4F : 0.6F), grey(8, 8)).values[0];
    if (i > 10) most = std::max(most, std::abs(now - before));
    before = now;
  }
  EXPECT_LT(most, 0.2F / 3);  // the network's masks differ by 0.2
}

TEST(Smoother, noise_is_not_motion) {
  for (const float amplitude : {0.002F, 0.004F, 0.01F}) {
    Smoother smoother({.keep = 0.75F});
    Planes mask;
    for (unsigned i = 0; i < 12; ++i) {
      Planes colours = noise(3, 20, 20, i + 1);
      for (float& value : colours.values) value = 0.5F + amplitude * (value - 0.5F);
      mask = smoother.next(Planes(1, 20, 20, i == 0 ? 1.0F : 0.0F), std::move(colours));
    }
    for (const float value : mask.values) EXPECT_NEAR(value, std::pow(0.75, 11), 0.02) << amplitude;
  }
}

TEST(Smoother, what_moves_leaves_no_trace) {
  for (const float contrast : {1.0F, 0.04F}) {  // also where the person hardly differs from what is behind
    Smoother smoother({});
    Planes colours = grey(20, 20), mask(1, 20, 20);
    for (index_t y = 5; y < 10; ++y)
      for (index_t x = 5; x < 10; ++x) {
        colours.row(2, y)[x] = 0.5F - contrast / 2;  // blue alone: hardly darker
        mask.row(0, y)[x] = 1;
      }
    smoother.next(mask, colours);
    const Planes gone = smoother.next(Planes(1, 20, 20), grey(20, 20));
    for (index_t y = 5; y < 10; ++y)
      for (index_t x = 5; x < 10; ++x) EXPECT_EQ(gone.row(0, y)[x], 0) << y << " " << x << " " << contrast;
    EXPECT_EQ(smoother.moved().row(0, 18)[18], 0);
    EXPECT_EQ(smoother.cuts(), 0);
  }
}

TEST(Smoother, a_camera_that_moves_is_motion_everywhere) {
  Smoother smoother({});
  Planes colours(3, 24, 24);
  const auto shifted = [&](index_t by) {
    for (index_t c = 0; c < 3; ++c)
      for (index_t y = 0; y < 24; ++y)
        for (index_t x = 0; x < 24; ++x) colours.row(c, y)[x] = (x + by) / 2 % 2 == 0 ? 0.4F : 0.6F;
    return colours;
  };
  smoother.next(Planes(1, 24, 24, 1), shifted(0));
  EXPECT_EQ(smoother.next(Planes(1, 24, 24), shifted(1)).values, Planes(1, 24, 24).values);
}

TEST(Smoother, a_new_scene_and_a_new_size_start_anew) {
  Smoother smoother({});
  smoother.next(Planes(1, 4, 4, 1), grey(4, 4, 0.1F));
  EXPECT_EQ(smoother.next(Planes(1, 4, 4), grey(4, 4, 0.9F)).values, Planes(1, 4, 4).values);
  EXPECT_EQ(smoother.cuts(), 1);
  EXPECT_EQ(smoother.moved().values, Planes(1, 4, 4, 1).values);
  EXPECT_EQ(smoother.next(Planes(1, 3, 5, 1), grey(3, 5, 0.9F)).values, Planes(1, 3, 5, 1).values);
}

TEST(StillGuide, has_less_noise_where_nothing_moves_and_the_frame_where_it_does) {
  StillGuide guide({.keep = 0.75F});
  Planes moved(1, 6, 10);
  for (index_t y = 0; y < 6; ++y)
    for (index_t x = 6; x < 10; ++x) moved.row(0, y)[x] = 1;
  Image first(18, 30, 3), second(18, 30, 3);
  std::fill(first.bytes.begin(), first.bytes.end(), std::uint8_t{100});
  std::fill(second.bytes.begin(), second.bytes.end(), std::uint8_t{120});
  EXPECT_EQ(guide.next(first, moved).bytes, first.bytes);
  const Image now = guide.next(second, moved);
  EXPECT_EQ(now.row(9)[3 * 5], 105);
  EXPECT_EQ(now.row(9)[3 * 25], 120);
  Image last;
  for (int i = 0; i < 30; ++i) last = guide.next(second, moved);
  EXPECT_EQ(last.bytes, second.bytes) << "no rounding keeps it from the frame";
  Image white(7, 5, 3);
  std::fill(white.bytes.begin(), white.bytes.end(), std::uint8_t{255});
  EXPECT_EQ(guide.next(white, Planes(1, 2, 3)).bytes, white.bytes) << "of another size";
}

TEST(StillGuide, follows_the_frame_however_much_is_kept) {
  StillGuide guide({.keep = 0.9999F});
  Image first(4, 4, 3), second(4, 4, 3);
  std::fill(first.bytes.begin(), first.bytes.end(), std::uint8_t{100});
  std::fill(second.bytes.begin(), second.bytes.end(), std::uint8_t{200});
  guide.next(first, Planes(1, 4, 4));
  Image now;
  for (int i = 0; i < 2000; ++i) now = guide.next(second, Planes(1, 4, 4));
  EXPECT_GE(now.bytes[0], 195);
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
