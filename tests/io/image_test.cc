#include "io/image.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "scratch.h"

namespace oriel::io {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string picture(const std::string& ending, const ConstTensor& t) {
  return written([&](const WriteBytes& w) { write_image(w, ending, "f" + ending, t); });
}

Extents shape_of(index_t channels) { return channels == 1 ? Extents{12, 16} : Extents{12, 16, channels}; }

TEST(Image, lossless_formats_come_back_exactly) {
  for (const char* ending : {".png", ".tif", ".tiff"})
    for (const Dtype dtype : {Dtype::u8, Dtype::u16})
      for (const index_t channels : {1, 2, 3, 4}) {
        const Buffer values = counting(dtype, shape_of(channels));
        const Array back = read_image(bytes_of(picture(ending, values.view)), "f");
        EXPECT_EQ(back.view.dtype, dtype) << ending << channels;
        EXPECT_EQ(back.view.shape, values.view.shape) << ending << channels;
        EXPECT_EQ(elements(back.view), elements(values.view)) << ending << channels;
      }
}

TEST(Image, webp_is_lossless_for_colours) {
  Buffer values = counting(Dtype::u8, {12, 16, 3});
  EXPECT_EQ(elements(read_image(bytes_of(picture(".webp", values.view)), "f").view), elements(values.view));
  Buffer alpha = counting(Dtype::u8, {12, 16, 4});
  auto* const bytes = static_cast<std::uint8_t*>(alpha.view.data);
  for (index_t i = 3; i < 12 * 16 * 4; i += 4) bytes[i] = 200;  // WebP drops the colour of what is invisible
  EXPECT_EQ(elements(read_image(bytes_of(picture(".webp", alpha.view)), "f").view), elements(alpha.view));
}

TEST(Image, threads_that_fail_do_not_disturb_others) {
  const Buffer values = counting(Dtype::u8, {12, 16, 3});
  const std::string good = picture(".png", values.view), jpeg = picture(".jpg", values.view);
  const std::string cut = jpeg.substr(0, jpeg.size() - 60), other = "no picture at all";
  std::atomic<int> good_fails{0}, bad_passes{0};
  const auto fails = [](const std::string& text) {
    try {
      read_image(bytes_of(text), "f");
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 100; ++n) {
        if (i % 3 == 0 && fails(good)) ++good_fails;
        if (i % 3 == 1 && !fails(cut)) ++bad_passes;
        if (i % 3 == 2 && !fails(other)) ++bad_passes;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good_fails, 0);
  EXPECT_EQ(bad_passes, 0);
}

TEST(Image, jpeg_is_near) {
  for (const index_t channels : {1, 3}) {
    const Buffer values = allocate(Dtype::u8, shape_of(channels));
    auto* const bytes = static_cast<std::uint8_t*>(values.view.data);
    for (index_t i = 0; i < element_count(values.view.shape); ++i) bytes[i] = static_cast<std::uint8_t>(40 + i / 16);
    const Array back = read_image(bytes_of(picture(".jpg", values.view)), "f");
    ASSERT_EQ(back.view.shape, values.view.shape);
    const std::string got = elements(back.view), wanted = elements(values.view);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(static_cast<unsigned char>(got[i]), static_cast<unsigned char>(wanted[i]), 6);
  }
}

TEST(Image, a_view_is_written_as_it_looks) {
  const Buffer values = counting(Dtype::u8, {3, 5});
  const ConstTensor turned(values.view.data, Dtype::u8, {5, 3}, {1, 5});
  EXPECT_EQ(elements(read_image(bytes_of(picture(".png", turned)), "f").view), elements(turned));
}

TEST(Image, the_colour_profile_and_resolution_are_kept) {
  const Buffer values = counting(Dtype::u8, {4, 4, 3});
  Picture picture{.pixels_per_mm_x = 10, .pixels_per_mm_y = 20, .icc_profile = {}};
  const std::string file = written([&](const WriteBytes& w) { write_image(w, ".png", "f.png", values.view, picture); });
  const Array back = read_image(bytes_of(file), "f.png");
  ASSERT_TRUE(back.picture.has_value());
  EXPECT_NEAR(back.picture->pixels_per_mm_x, 10, 0.01);
  EXPECT_NEAR(back.picture->pixels_per_mm_y, 20, 0.01);
}

TEST(BadImage, what_a_format_cannot_hold) {
  const auto refusal = [](const char* ending, Dtype dtype, const Extents& shape) {
    return error_of([&] { picture(ending, allocate(dtype, shape).view); });
  };
  EXPECT_EQ(refusal(".png", Dtype::f32, {4, 4}),
            "f.png: .png holds u8 or u16, but the result is f32; allowed for others: .npy, .npz");
  EXPECT_EQ(refusal(".jpg", Dtype::u16, {4, 4}),
            "f.jpg: .jpg holds u8, but the result is u16; allowed for others: .npy, .npz, .png, .tiff");
  EXPECT_EQ(refusal(".jpg", Dtype::u8, {4, 4, 4}),
            "f.jpg: JPEG has no alpha, but the result has 4 channels; allowed: .png, .tiff, .webp");
  EXPECT_NE(refusal(".png", Dtype::u8, {4, 4, 5}).find("HxWxC with C from 1 to 4, but the result has 4x4x5"),
            std::string::npos);
  EXPECT_NE(refusal(".png", Dtype::u8, {4}).find("but the result has 4"), std::string::npos);
  EXPECT_NE(refusal(".png", Dtype::u8, {0, 4}).find("sides from 1 to"), std::string::npos);
}

TEST(BadImage, truncated_files) {
  for (const char* ending : {".png", ".jpg", ".tif", ".webp"}) {
    const std::string file = picture(ending, counting(Dtype::u8, {64, 64, 3}).view);
    for (std::size_t part = 0; part < 20; ++part) {
      SCOPED_TRACE(std::string(ending) + " cut at " + std::to_string(part) + "/20");
      error_of([&] { read_image(bytes_of(file.substr(0, file.size() * part / 20)), "f"); });
    }
  }
}

TEST(BadImage, something_else) {
  EXPECT_EQ(error_of([&] { read_image(bytes_of("GIF89a no picture"), "f.png"); }),
            "f.png: not an image that Oriel reads; allowed: PNG, JPEG, TIFF, WebP, .npy, .npz");
}

}  // namespace
}  // namespace oriel::io
