#include "io/memory_bound.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/image.h"
#include "io/npy.h"
#include "io/npz.h"
#include "scratch.h"

namespace oriel::io {
namespace {

class Bounded : public testing::Test {
 protected:
  Bounded() { set_memory_bound(mib_ * 3 / 2, "as the test says"); }
  ~Bounded() override { set_memory_bound(machine_memory() / 4 * 3, "three quarters of this machine's memory"); }

  static std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }

  const index_t mib_ = index_t{1} << 20;
};

TEST_F(Bounded, what_takes_more_is_refused_by_name_number_and_reason) {
  check_memory("f", "it", mib_ * 3 / 2);
  EXPECT_EQ(error_of([&] { check_memory("f", "it", mib_ * 3 / 2 + 1); }),
            "f: it takes 2 MiB of memory; allowed: at most 1 MiB, as the test says");
}

TEST_F(Bounded, streams_archives_and_pictures) {
  const Buffer large = counting(Dtype::u8, {1024, 1024, 2}), small = counting(Dtype::u8, {1000, 1000});
  const std::string npy = written([&](const WriteBytes& w) { write_npy(w, large.view); });
  EXPECT_EQ(error_of([&] { read_npy(stream_of(npy, 1000), "s"); }),
            "s: shape 1024x1024x2 of u8 takes 2 MiB of memory; allowed: at most 1 MiB, as the test says");
  EXPECT_EQ(elements(read_npy(bytes_of(npy), nullptr, "mapped").view), elements(large.view));  // takes none

  const std::string npz = written([&](const WriteBytes& w) { write_npz(w, "a", "f.npz", large.view); });
  EXPECT_NE(error_of([&] { read_npz(bytes_of(npz), "a", "f.npz"); }).find("a.npy: shape 1024x1024x2 of u8 takes 2 MiB"),
            std::string::npos);

  const std::string png = written([&](const WriteBytes& w) { write_image(w, ".png", "f.png", small.view); });
  EXPECT_NE(error_of([&] { read_image(bytes_of(png), "f.png"); }).find("f.png: the image of 1000x1000 pixels takes 2 "),
            std::string::npos);  // what libvips decodes, and a copy
}

TEST_F(Bounded, a_swapped_array_takes_its_copy_too) {
  std::string npy = written([&](const WriteBytes& w) { write_npy(w, counting(Dtype::u16, {1000, 500}).view); });
  EXPECT_EQ(read_npy(stream_of(npy, 1000), "s").view.shape, (Extents{1000, 500}));
  npy.replace(npy.find("<u2"), 3, ">u2");
  EXPECT_NE(error_of([&] { read_npy(stream_of(npy, 1000), "s"); }).find("takes 2 MiB"), std::string::npos);
}

TEST(MachineMemory, is_at_most_what_is_there) {
  EXPECT_GT(machine_memory(), index_t{1} << 24);
  EXPECT_LE(machine_memory(), index_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace oriel::io
