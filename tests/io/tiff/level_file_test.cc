// Levels as TIFFs: places of 64 bits, tiles, directories and files that are put together.
#include "io/tiff/level_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <numeric>

#include "io/assembled_file.h"
#include "io/scratch.h"
#include "io/tiff/directory.h"
#include "io/tiff/levels_out.h"
#include "io/tiff/volume.h"

namespace oriel::io::tiff {
namespace {

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

// Two planes of 0, 1, 2 … and their halves, which are elements of level 0 without every other row and column.
struct TwoLevels {
  static constexpr index_t kPlanes = 2, kRows = 40, kColumns = 50;

  explicit TwoLevels(bool ome_tiff) : ome(ome_tiff) {
    for (const index_t factor : {1, 2}) {
      const Extents shape = {ome ? kPlanes : 1, kRows / factor, kColumns / factor};
      VolumeSpec level;
      level.dtype = Dtype::i32;
      level.shape = shape;
      level.chunk = {1, 16, 32};
      spec.levels.push_back(level);
      spec.plan.push_back({Dtype::i32, shape, {1, factor, factor}, {0, 0, 0}});
      const auto scale = static_cast<double>(factor);
      spec.image.levels.push_back({"", {1, scale, scale}, {0, 0, 0}});
      values.emplace_back(static_cast<std::size_t>(element_count(shape)));
      std::iota(values.back().begin(), values.back().end(), static_cast<int>(factor));
    }
    spec.image.axes = {{ome ? "z" : "c", ome ? "space" : "channel", ""}, {"y", "space", ""}, {"x", "space", ""}};
    if (ome)
      prepare_ome_levels("y.ome.tif", spec);
    else
      prepare_levels("y.tif", spec);
  }

  // Into a folder, by two writers, as ranks are; a box crosses tiles. The last one is missing if `lacks`.
  void write(const std::string& folder, bool lacks = false) {
    create_levels(folder, "y.tif", spec);
    const auto first = open_levels(folder, "y.tif", spec), second = open_levels(folder, "y.tif", spec);
    for (std::size_t l = 0; l < values.size(); ++l) {
      const Extents& shape = spec.levels[l].shape;
      const ConstTensor all(values[l].data(), Dtype::i32, shape);
      ConstTensor upper = all, lower = all;
      upper.shape[1] = 10;
      lower.shape[1] -= 10;
      lower.data = values[l].data() + 10 * shape[2];
      first->write_part(static_cast<int>(l), {0, 0, 0}, upper);
      if (!lacks || l == 0) second->write_part(static_cast<int>(l), {0, 10, 0}, lower);
    }
    first->close();
    second->close();
  }

  bool ome;
  LevelsSpec spec;
  std::vector<std::vector<int>> values;
};

std::string elements_of(VolumeIn& in) {
  const Buffer all = allocate(in.dtype, in.shape);
  in.read(Extents::filled(in.shape.size(), 0), all.view);
  return elements(all.view);
}

std::string bytes_of(const std::vector<int>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int)};
}

TEST(LevelFile, PlacesOf32And64Bits) {
  for (const bool ome : {false, true}) {
    TwoLevels levels(ome);
    const Scratch scratch;
    const AssembledFile out(scratch.path("y.tif"));
    levels.write(out.place());
    complete_levels(out.place(), "y.tif", levels.spec);
    const std::string classic = read_text(AssembledFile::whole(out.place()));
    EXPECT_EQ(classic.substr(0, 4), std::string("II*\0", 4));
    std::vector<index_t> counts;
    for (const LevelPages& pages : levels.spec.tiff->pages) counts.push_back(pages.tiles());
    const SpooledTiles tiles(out.place(), "y.tif", counts);
    // One byte less than such a file has makes it a BigTIFF; as many do not.
    const auto size = static_cast<index_t>(classic.size());
    write_level_file(scratch.path("same.tif"), "y.tif", levels.spec, *levels.spec.tiff, tiles, size);
    EXPECT_EQ(read_text(scratch.path("same.tif")), classic);
    write_level_file(scratch.path("big.tif"), "y.tif", levels.spec, *levels.spec.tiff, tiles, size - 1);
    EXPECT_EQ(read_text(scratch.path("big.tif")).substr(0, 8), std::string("II+\0\10\0\0\0", 8));
    for (const char* const name : {"same.tif", "big.tif"}) {
      const auto all = open_tiff_volume(scratch.path(name) + ":all", std::nullopt);
      EXPECT_EQ(elements_of(*all), bytes_of(levels.values[0])) << name;
      if (ome) continue;
      EXPECT_EQ(elements_of(*open_tiff_image(scratch.path(name) + ":2", std::nullopt)), bytes_of(levels.values[1]));
    }
    if (!ome) continue;
    // The first plane's SubIFD.
    TIFF* const t = TIFFOpen(scratch.path("big.tif").c_str(), "r");
    ASSERT_NE(t, nullptr);
    std::uint16_t count = 0;
    const std::uint64_t* places = nullptr;
    ASSERT_EQ(TIFFGetField(t, TIFFTAG_SUBIFD, &count, &places), 1);
    ASSERT_EQ(count, 1);
    ASSERT_EQ(TIFFSetSubDirectory(t, places[0]), 1);
    std::uint32_t width = 0;
    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &width);
    EXPECT_EQ(width, 25U);
    std::vector<int> tile(16 * 32);
    EXPECT_EQ(TIFFReadEncodedTile(t, 0, tile.data(), 16 * 32 * 4), 16 * 32 * 4);
    EXPECT_EQ(std::vector<int>(tile.begin(), tile.begin() + 25),
              std::vector<int>(levels.values[1].begin(), levels.values[1].begin() + 25));
    TIFFClose(t);
  }
}

TEST(LevelFile, MissingAndDamagedTiles) {
  TwoLevels levels(true);
  const Scratch scratch;
  const AssembledFile out(scratch.path("y.tif"));
  levels.write(out.place());
  const std::vector<index_t> counts{levels.spec.tiff->pages[0].tiles(), levels.spec.tiff->pages[1].tiles()};
  // Before parts are put together, tiles that two writers have a part of are in no spool.
  EXPECT_NE(what_is_wrong([&] { SpooledTiles(out.place(), "y.tif", counts); }).find("was not written"),
            std::string::npos);
  {
    TileSpool again(out.place(), "y.tif");
    const std::vector<std::byte> some(4);
    again.put({0, 2}, some);
    again.put({0, 2}, some);
    again.close();
  }
  EXPECT_NE(what_is_wrong([&] { SpooledTiles(out.place(), "y.tif", counts); }).find("was written twice"),
            std::string::npos);
  const std::string spool = scratch.path("short");
  ::mkdir(spool.c_str(), 0777);
  write_text(spool + "/.spool.tiles", std::string(30, '\1'));
  EXPECT_EQ(what_is_wrong([&] { SpooledTiles(spool, "y.tif", counts); }),
            "y.tif: a temporary file of tiles is damaged");
}

TEST(LevelFile, AssembledFilesAppearWhole) {
  const Scratch scratch;
  write_text(scratch.path("y.tif"), "old");
  {
    const AssembledFile out(scratch.path("y.tif"));
    write_text(AssembledFile::whole(out.place()), "half");
  }
  EXPECT_EQ(read_text(scratch.path("y.tif")), "old");
  EXPECT_EQ(scratch.files().size(), 1U);
  AssembledFile out(scratch.path("y.tif"));
  EXPECT_THROW(out.commit(), Error);  // nothing was put together
  EXPECT_EQ(read_text(scratch.path("y.tif")), "old");
  write_text(AssembledFile::whole(out.place()), "new");
  out.commit();
  EXPECT_EQ(read_text(scratch.path("y.tif")), "new");
  EXPECT_EQ(scratch.files(), std::vector<std::string>{"y.tif"});
}

TEST(LevelFile, Rationals) {
  const auto of = [](double value) {
    Directory d;
    d.set_rational(TIFFTAG_XRESOLUTION, value);
    const std::vector<std::byte> bytes = d.made(false, 0, 0);
    std::array<std::uint32_t, 2> quotient{};
    std::memcpy(quotient.data(), bytes.data() + bytes.size() - sizeof quotient, sizeof quotient);
    return quotient;
  };
  using Quotient = std::array<std::uint32_t, 2>;
  EXPECT_EQ(of(1), (Quotient{1, 1}));
  EXPECT_EQ(of(0.1), (Quotient{1, 10}));
  EXPECT_EQ(of(1.0 / 3), (Quotient{1, 3}));
  EXPECT_EQ(of(72.5), (Quotient{145, 2}));
  EXPECT_EQ(of(1e12), (Quotient{4294967295U, 1}));
  EXPECT_EQ(of(1e-12), (Quotient{1, 4294967295U}));
  for (const double value : {3.14159265358979, 0.0003333719, 123456.789, 4e9, 1e-9}) {
    const Quotient q = of(value);
    EXPECT_NEAR(static_cast<double>(q[0]) / static_cast<double>(q[1]) / value, 1, 1e-9) << value;
  }
}

}  // namespace
}  // namespace oriel::io::tiff
