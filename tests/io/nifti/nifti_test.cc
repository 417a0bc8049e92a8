// Headers and extensions of NIfTI in both directions; gzip streams read at any places; what other parts can ask.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

#include "byte_order.h"
#include "io/nifti/geometry.h"
#include "io/nifti/gzip_in.h"
#include "io/nifti/header.h"
#include "io/nifti/volume.h"
#include "io/scratch.h"
#include "seeds.h"

namespace oriel::io::nifti {
namespace {

Header sample(int version) {
  Header h;
  h.version = version;
  h.dtype = Dtype::i16;
  h.shape = {5, 4, 3, 2};
  h.data = version == 1 ? 352 : 544;
  h.slope = 0.5;
  h.inter = -2;
  h.pixdim = {-1, 2, 2.5, 3, 1500, 1, 1, 1};
  h.xyzt_units = 2 + 16;
  h.toffset = 7;
  h.qform_code = 1;
  h.sform_code = 4;
  h.quatern = {0.5, -0.5, 0.25};
  h.qoffset = {1, 2, 3};
  h.srow = {{{2, 0, 0, -90}, {0, 2, 1, -126}, {0, 0, 2, -72}}};
  h.dim_info = 57;
  h.slice_end = 2;
  h.slice_code = 3;
  h.slice_duration = 0.125;
  h.cal_max = 100;
  h.cal_min = -1;
  h.intent_code = 1002;
  h.intent_p = {1, 2, 3};
  h.intent_name = "labels of 16 let";
  h.descrip = "described";
  h.aux_file = "colours.lut";
  return h;
}

void expect_same(const Header& a, const Header& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.slope, b.slope);
  EXPECT_EQ(a.inter, b.inter);
  EXPECT_EQ(a.pixdim, b.pixdim);
  EXPECT_EQ(a.xyzt_units, b.xyzt_units);
  EXPECT_EQ(a.toffset, b.toffset);
  EXPECT_EQ(a.qform_code, b.qform_code);
  EXPECT_EQ(a.sform_code, b.sform_code);
  EXPECT_EQ(a.quatern, b.quatern);
  EXPECT_EQ(a.qoffset, b.qoffset);
  EXPECT_EQ(a.srow, b.srow);
  EXPECT_EQ(a.dim_info, b.dim_info);
  EXPECT_EQ(a.slice_start, b.slice_start);
  EXPECT_EQ(a.slice_end, b.slice_end);
  EXPECT_EQ(a.slice_code, b.slice_code);
  EXPECT_EQ(a.slice_duration, b.slice_duration);
  EXPECT_EQ(a.cal_max, b.cal_max);
  EXPECT_EQ(a.cal_min, b.cal_min);
  EXPECT_EQ(a.intent_code, b.intent_code);
  EXPECT_EQ(a.intent_p, b.intent_p);
  EXPECT_EQ(a.intent_name, b.intent_name);
  EXPECT_EQ(a.descrip, b.descrip);
  EXPECT_EQ(a.aux_file, b.aux_file);
}

TEST(Nifti, HeadersInBothDirections) {
  for (const int version : {1, 2}) {
    const Header h = sample(version);
    const std::vector<std::byte> bytes = to_bytes(h);
    ASSERT_EQ(bytes.size(), version == 1 ? kHeader1 : kHeader2);
    const Header again = parse_header(bytes, "f");
    expect_same(again, h);
    EXPECT_EQ(again.swapped, detail::kBigEndian);
    EXPECT_FALSE(again.pair);
  }
}

TEST(Nifti, CutOffHeaders) {
  for (const int version : {1, 2}) {
    const std::vector<std::byte> bytes = to_bytes(sample(version));
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_THROW(parse_header(std::span(bytes).first(n), "f"), Error) << n;
  }
}

TEST(Nifti, Extensions) {
  const auto text = [](std::string_view t) {
    const auto bytes = std::as_bytes(std::span(t));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const std::vector<Extension> two{{.code = kComment, .content = text("a comment")}, {.code = 4, .content = text("")}};
  std::vector<std::byte> bytes = to_bytes(two);
  EXPECT_EQ(bytes.size(), 4U + 32 + 16);
  std::vector<Extension> again = parse_extensions(bytes, detail::kBigEndian);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].code, kComment);
  again[0].content.resize(9);  // filled up with zeros to 16 bytes
  EXPECT_EQ(again[0].content, two[0].content);
  EXPECT_EQ(again[1].code, 4);
  EXPECT_EQ(to_bytes(std::vector<Extension>{}), std::vector<std::byte>(4));
  EXPECT_TRUE(parse_extensions(std::vector<std::byte>(4), false).empty());
  // What is damaged, and what follows it, is left out.
  bytes[4 + 32] = std::byte{17};
  EXPECT_EQ(parse_extensions(bytes, detail::kBigEndian).size(), 1U);
  bytes[4 + 32] = std::byte{32};
  EXPECT_EQ(parse_extensions(bytes, detail::kBigEndian).size(), 1U);
  bytes[4] = std::byte{0};
  EXPECT_TRUE(parse_extensions(bytes, detail::kBigEndian).empty());
}

TEST(Nifti, UnreadableProblemLeavesNoPositions) {
  const Header h = pooled(sample(1), "no problem");
  EXPECT_EQ(h.sform_code, 0);
  EXPECT_EQ(h.qform_code, 0);
  EXPECT_EQ(h.pixdim[1], 1);
}

TEST(Nifti, SpaceOfAnInput) {
  const Scratch scratch;
  Header h = sample(2);
  const std::vector<std::byte> bytes = to_bytes(h);
  std::string file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  file.resize(static_cast<std::size_t>(h.data + 5 * 4 * 3 * 2 * 2));
  write_text(scratch.path("x.nii"), file);
  const auto in = open_nifti_volume(scratch.path("x.nii"), std::nullopt);
  const std::optional<NiftiSpace> space = nifti_space(*in);
  ASSERT_TRUE(space);
  EXPECT_EQ(space->spacing, (std::array<double, 4>{2, 2.5, 3, 1500}));
  EXPECT_EQ(space->space_unit, "millimeter");
  EXPECT_EQ(space->time_unit, "millisecond");
  EXPECT_EQ(space->time_offset, 7);
  EXPECT_EQ(space->affine, h.srow);
  EXPECT_FALSE(nifti_space(*volume_of({})));
}

std::string gzip_of(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(::deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}

// More than the states that are kept at first, so that each second one is given up.
TEST(Nifti, GzipAtAnyPlace) {
  constexpr std::size_t size = std::size_t{40} << 20, members = 3;
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; i += 3) text[i] = static_cast<char>(i * 2654435761U >> 24U);
  unsigned seed = 0;
  for (const unsigned fresh : seeds()) seed = fresh;
  for (const std::size_t parts : {std::size_t{1}, members}) {
    const Scratch scratch;
    std::string file;
    for (std::size_t i = 0; i < parts; ++i)
      file += gzip_of(text.substr(size * i / parts, size * (i + 1) / parts - size * i / parts));
    write_text(scratch.path("x.gz"), file);
    GzipIn in(scratch.path("x.gz"));
    std::mt19937 random(seed);
    std::string got(1 << 16, '\0');
    for (int i = 0; i < 40; ++i) {
      const std::size_t at = i == 0 ? size - 10 : random() % size, count = random() % got.size();
      const std::size_t there = std::min(count, size - at);
      ASSERT_EQ(in.read(got.data(), static_cast<index_t>(count), static_cast<index_t>(at)),
                static_cast<index_t>(there));
      ASSERT_EQ(got.compare(0, there, text, at, there), 0) << at;
      if (i == 0) {
        EXPECT_EQ(in.work(), static_cast<index_t>(size));
      }
    }
    // At most two of the distances between states for each, and as much again.
    EXPECT_LT(in.work(), static_cast<index_t>(size + 40 * (size / 8)));
    EXPECT_EQ(in.read(got.data(), 10, static_cast<index_t>(size)), 0);
    EXPECT_EQ(in.read(got.data(), 10, static_cast<index_t>(size) + 5), 0);
    in.check_end(static_cast<index_t>(size));
  }
}

// Windows that overlap make blocks that do: going back a little costs little.
TEST(Nifti, GzipBackByALittle) {
  constexpr index_t size = index_t{64} << 20, block = size / 8, overlap = 100000;
  const Scratch scratch;
  write_text(scratch.path("x.gz"), gzip_of(std::string(static_cast<std::size_t>(size), 'x')));
  GzipIn in(scratch.path("x.gz"));
  std::string got(static_cast<std::size_t>(block + overlap), '\0');
  for (index_t at = 0; at < size; at += block) {
    const index_t from = std::max<index_t>(at - overlap, 0), count = at + block - from;
    ASSERT_EQ(in.read(got.data(), count, from), count);
  }
  EXPECT_LT(in.work(), size + size / 2);
}

}  // namespace
}  // namespace oriel::io::nifti
