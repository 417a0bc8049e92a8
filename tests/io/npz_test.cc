#include "io/npz.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/files.h"
#include "io/npz_output.h"
#include "scratch.h"

namespace oriel::io {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string archive(const std::string& name, const ConstTensor& t) {
  return written([&](const WriteBytes& w) { write_npz(w, name, "f.npz", t); });
}

TEST(Npz, an_array_comes_back_by_name_and_as_the_only_one) {
  const Buffer values = counting(Dtype::i16, {4, 5});
  const std::string file = archive("depth", values.view);
  for (const char* name : {"", "depth", "depth.npy"})
    EXPECT_EQ(elements(read_npz(bytes_of(file), name, "f.npz").view), elements(values.view)) << name;
}

TEST(Npz, the_default_name_is_that_of_numpy) {
  const Buffer values = counting(Dtype::u8, {3});
  EXPECT_EQ(elements(read_npz(bytes_of(archive("", values.view)), "arr_0", "f.npz").view), elements(values.view));
}

TEST(Npz, paths) {
  EXPECT_EQ(split_npz_path("a/b.npz:x").file, "a/b.npz");
  EXPECT_EQ(split_npz_path("a/b.npz:x").name, "x");
  EXPECT_EQ(split_npz_path("a.npz").file, "a.npz");
  EXPECT_EQ(split_npz_path("C:a.npy").file, "C:a.npy");
  EXPECT_EQ(format_of("a.npz:x"), Format::npz);
}

TEST(BadNpz, every_truncation_is_refused) {
  const std::string file = archive("a", counting(Dtype::u8, {3}).view);
  for (std::size_t n = 0; n < file.size(); ++n) error_of([&] { read_npz(bytes_of(file.substr(0, n)), "", "f.npz"); });
}

TEST(BadNpz, damaged_data_is_noticed) {
  const std::string file = archive("a", counting(Dtype::u8, {100}).view);
  std::string damaged = file;
  const std::size_t at = file.find("abc");  // the values 97, 98, 99
  ASSERT_NE(at, std::string::npos);
  damaged[at] = 'z';
  EXPECT_NE(error_of([&] { read_npz(bytes_of(damaged), "", "f.npz"); }).find("f.npz:a.npy: cannot read: CRC error"),
            std::string::npos);
}

TEST(BadNpz, texts) {
  const std::string file = archive("a", counting(Dtype::u8, {3}).view);
  EXPECT_EQ(error_of([&] { read_npz(bytes_of(file), "b", "f.npz"); }), "f.npz: no array 'b'; there are: a");
  std::string two;
  const Buffer values = counting(Dtype::u8, {3});
  merge_npz(
      [&](const void* from, std::size_t count, std::int64_t at) {
        two.resize(std::max(two.size(), static_cast<std::size_t>(at) + count));
        two.replace(static_cast<std::size_t>(at), count, static_cast<const char*>(from), count);
      },
      bytes_of(file), {{"b", values.view}}, "f.npz");
  EXPECT_EQ(error_of([&] { read_npz(bytes_of(two), "", "f.npz"); }),
            "f.npz: which array is meant? Use f.npz:NAME; allowed: a, b");
  EXPECT_NE(error_of([&] {
              read_npz(bytes_of("PK nothing"), "", "f.npz");
            }).find("f.npz: not an .npz archive that can be read: "),
            std::string::npos);
}

}  // namespace
}  // namespace oriel::io
