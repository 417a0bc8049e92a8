#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "io/input_file.h"
#include "io/npy.h"
#include "io/placed_file.h"
#include "io/volume.h"

namespace oriel::io {
namespace {

class NpyIn : public VolumeIn {
 public:
  NpyIn(const std::string& path, std::optional<Dtype> asked) : file_(path, O_RDONLY, path) {
    std::vector<std::byte> head(kNpyPrefix);
    head.resize(static_cast<std::size_t>(file_.read(head.data(), static_cast<index_t>(kNpyPrefix), 0)));
    if (head.empty()) throw Error(fmt::format("{}: the file is empty", path));
    // read_npy says the same of a header that is wrong.
    const std::size_t bytes = npy_header_bytes(head, path);
    head.resize(bytes);
    const index_t got = file_.read(head.data(), static_cast<index_t>(bytes), 0);
    if (got < static_cast<index_t>(bytes))
      throw Error(
          fmt::format("{}: the .npy file is cut off: the header needs {} bytes, but there are {}", path, bytes, got));
    const std::size_t dict = std::to_integer<int>(head[6]) == 1 ? 10 : 12;
    const NpyHeader header =
        parse_npy_header({reinterpret_cast<const char*>(head.data()) + dict, bytes - dict}, path, asked);
    data_ = static_cast<index_t>(bytes);
    swapped_ = header.swapped;
    dtype = header.dtype;
    shape = header.shape;
    for (int a = 0; a < shape.size(); ++a) order.push_back(header.fortran ? shape.size() - 1 - a : a);
    const index_t needed = element_count(shape) * size_bytes(dtype), there = file_.size() - data_;
    if (there != needed)
      throw Error(fmt::format("{}: the .npy file is {}: shape {} of {} needs {} bytes of data, but there are {}", path,
                              there < needed ? "cut off" : "too long", to_string(shape), name(dtype), needed, there));
  }

  void read(const Extents& begin, const Tensor& to) override {
    const index_t size = size_bytes(dtype);
    auto* const first = static_cast<std::byte*>(to.data);
    for_each_run(shape, order, begin, to.shape, [&](index_t at, index_t in_box, index_t count) {
      std::byte* const run = first + in_box * size;
      if (file_.read(run, count * size, data_ + at * size) < count * size)
        throw Error(fmt::format("{}: the file became shorter while it was being read", file_.file()));
      for (index_t i = 0; swapped_ && i < count; ++i) std::reverse(run + i * size, run + (i + 1) * size);
    });
  }

 private:
  PlacedFile file_;
  index_t data_ = 0;  // where it begins
  bool swapped_ = false;
};

class NpyOut : public VolumeOut {
 public:
  NpyOut(const std::string& place, const std::string& file, const VolumeSpec& spec)
      : file_(place, O_WRONLY, file),
        shape_(spec.shape),
        data_(static_cast<index_t>(npy_header(spec.dtype, spec.shape).size())) {
    for (int a = 0; a < shape_.size(); ++a) order_.push_back(a);
  }

  void write(const Extents& begin, const ConstTensor& from) override {
    const index_t size = size_bytes(from.dtype);
    for_each_run(shape_, order_, begin, from.shape, [&](index_t at, index_t in_box, index_t count) {
      file_.write(static_cast<const std::byte*>(from.data) + in_box * size, count * size, data_ + at * size);
    });
  }
  void close() override { file_.close(); }

 private:
  PlacedFile file_;
  Extents shape_, order_;
  index_t data_;
};

}  // namespace

std::unique_ptr<VolumeIn> open_npy_volume(const std::string& path, std::optional<Dtype> dtype) {
  if (!is_regular(path))
    throw Error(fmt::format("{}: a pipe or a device; allowed: a file, whose parts can be read", path));
  return std::make_unique<NpyIn>(path, dtype);
}

void create_npy_volume(const std::string& place, const std::string& file, const VolumeSpec& spec) {
  const std::string header = npy_header(spec.dtype, spec.shape);
  PlacedFile out(place, O_WRONLY, file);
  out.write(header.data(), static_cast<index_t>(header.size()), 0);
  out.resize(static_cast<index_t>(header.size()) + element_count(spec.shape) * size_bytes(spec.dtype));
}

std::unique_ptr<VolumeOut> open_npy_output(const std::string& place, const std::string& file, const VolumeSpec& spec) {
  return std::make_unique<NpyOut>(place, file, spec);
}

}  // namespace oriel::io
