// TIFF files that the writer makes, read again: whole, cut off and damaged; descriptions in both directions.
#include "io/tiff/volume.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "io/scratch.h"
#include "io/tiff/volume_in.h"
#include "io/tiff/writer.h"

namespace oriel::io::tiff {
namespace {

constexpr PageSpec kPage{.rows = 20, .columns = 37, .samples = 2, .dtype = Dtype::i16};
constexpr index_t kPages = 3;

// What an Error says; empty: none was thrown.
template <class F>
std::string what_is_wrong(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Pages of 0, 1, 2 …
void write_counting(const std::string& path) {
  Writer writer(path, path, kPage, kPages);
  for (index_t p = 0; p < kPages; ++p) {
    writer.add_page([](TIFF*) {},
                    [&](index_t row, index_t column, const Tensor& to) {
                      auto* value = static_cast<std::int16_t*>(to.data);
                      for (index_t r = 0; r < to.shape[0]; ++r)
                        for (index_t i = 0; i < to.shape[1] * to.shape[2]; ++i)
                          *value++ = static_cast<std::int16_t>(
                              ((p * kPage.rows + row + r) * kPage.columns + column) * kPage.samples + i);
                    });
  }
  writer.close();
}

std::unique_ptr<TiffIn> open_bytes(std::string_view bytes) {
  return std::make_unique<TiffIn>(std::make_unique<File>(memory_source(std::as_bytes(std::span(bytes))), "f.tif"), 0,
                                  std::nullopt);
}

std::string read_all_of(TiffIn& in) {
  const Buffer all = allocate(in.dtype, in.shape);
  in.read(Extents::filled(in.shape.size(), 0), all.view);
  return elements(all.view);
}

TEST(Tiff, WhatWasWritten) {
  const Scratch scratch;
  write_counting(scratch.path("x.tif"));
  const auto in = open_tiff_volume(scratch.path("x.tif:all"), std::nullopt);
  EXPECT_EQ(in->shape, (Extents{kPages, 20, 37, 2}));
  EXPECT_EQ(in->dtype, Dtype::i16);
  EXPECT_EQ(in->chunk, (Extents{1, 20, 37, 2}));
  const Buffer box = allocate(Dtype::i16, {2, 3, 4, 1});
  in->read({1, 16, 30, 1}, box.view);
  const auto* const values = static_cast<const std::int16_t*>(box.view.data);
  for (index_t p = 0, at = 0; p < 2; ++p)
    for (index_t r = 0; r < 3; ++r)
      for (index_t c = 0; c < 4; ++c, ++at) EXPECT_EQ(values[at], (((p + 1) * 20 + r + 16) * 37 + c + 30) * 2 + 1);
}

TEST(Tiff, FilesThatAreCutOffGiveAnErrorOrTheValues) {
  const Scratch scratch;
  write_counting(scratch.path("x.tif"));
  const std::string bytes = read_text(scratch.path("x.tif"));
  const std::string whole = read_all_of(*open_bytes(bytes));
  std::size_t errors = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    const std::string error = what_is_wrong([&] { EXPECT_EQ(read_all_of(*open_bytes(cut)), whole) << size; });
    if (error.empty()) continue;
    ++errors;
    EXPECT_EQ(error.rfind("f.tif: ", 0), 0U) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_GT(errors, bytes.size() / 2);
}

TEST(Tiff, DamagedBytesGiveAnErrorOrValues) {
  const Scratch scratch;
  write_counting(scratch.path("x.tif"));
  const std::string bytes = read_text(scratch.path("x.tif"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char mask : {'\x01', '\x80', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      const std::string error = what_is_wrong([&] {
        const auto in = open_bytes(damaged);
        constexpr index_t most = 1 << 20;
        if (element_count(in->shape) < most) read_all_of(*in);
      });
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
}

TEST(Tiff, DescriptionsBothDirections) {
  struct Case {
    Extents sizes;
    const char* names;
    Dtype dtype;
    const char* read;
  };
  const Case cases[] = {{{5}, "", Dtype::u8, "Z"},         {{5}, "C", Dtype::f32, "C"},
                        {{4, 5}, "", Dtype::u16, "CZ"},    {{4, 5}, "ZT", Dtype::f64, "ZT"},
                        {{2, 3, 4}, "", Dtype::i8, "TCZ"}, {{2, 3, 4}, "CZT", Dtype::i32, "CZT"},
                        {{2, 3}, "II", Dtype::u32, "CZ"},  {{2, 3}, "", Dtype::i64, "II"},
                        {{2, 3}, "TZ", Dtype::f16, "II"},  {{2, 2, 3, 4}, "", Dtype::u8, "IIII"}};
  for (const Case& c : cases) {
    for (const index_t samples : {index_t{1}, index_t{3}}) {
      const Layout page{.rows = 7, .columns = 6, .samples = samples, .dtype = c.dtype};
      const std::string text = describe_axes(c.sizes, c.names, page, "max:u8 <&\">");
      const Axes axes = find_axes(text, page, element_count(c.sizes), "f.tif");
      EXPECT_EQ(axes.sizes, c.sizes) << text;
      EXPECT_EQ(axes.names, c.read) << text;
      EXPECT_FALSE(axes.in_one_page);
      for (std::size_t p = 0; p < axes.pages.size(); ++p) EXPECT_EQ(axes.pages[p], static_cast<index_t>(p));
    }
  }
}

TEST(Tiff, PathsOfVolumesAndImages) {
  const Scratch scratch;
  for (const char* name : {"a.tif:all", "a.TIFF:all", "b/a.tiff:all"}) EXPECT_TRUE(is_tiff_volume(name)) << name;
  for (const char* name : {"a.tif", "a.tif:ALL", "a.png:all", "all", ":all", "a.tif:1"})
    EXPECT_FALSE(is_tiff_volume(name)) << name;
  for (const char* name : {"a.tif", "A.TIF", "a.tiff:12"}) EXPECT_TRUE(is_tiff_image(name)) << name;
  for (const char* name : {"a.tif:", "a.tif:all", "a.tif:1x", "a.webp:1"}) EXPECT_FALSE(is_tiff_image(name)) << name;
  write_text(scratch.path("x.tif:all"), "");
  EXPECT_FALSE(is_tiff_volume(scratch.path("x.tif:all")));
}

TEST(Tiff, RefusedTypesAndShapes) {
  const auto error = [](Dtype dtype, const Extents& shape) {
    VolumeSpec spec;
    spec.dtype = dtype;
    spec.shape = shape;
    return what_is_wrong([&] { check_tiff("y.tif", spec); });
  };
  EXPECT_EQ(error(Dtype::u8, {3, 4}), "");
  EXPECT_NE(error(Dtype::boolean, {3, 4}).find("the result is bool"), std::string::npos);
  EXPECT_NE(error(Dtype::bf16, {3, 4}).find("the result is bf16"), std::string::npos);
  EXPECT_NE(error(Dtype::u8, {3}).find("2 or more axes"), std::string::npos);
  EXPECT_NE(error(Dtype::u8, {3, 0}).find("sides from 1"), std::string::npos);
  EXPECT_NE(error(Dtype::u8, {index_t{1} << 31, 2}).find("sides from 1"), std::string::npos);
}

}  // namespace
}  // namespace oriel::io::tiff
