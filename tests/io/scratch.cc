#include "scratch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace oriel::io {

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "oriel_io_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw Error("no folder for the test: " + name);
  folder_ = name;
}

Scratch::~Scratch() {
  std::error_code none;
  std::filesystem::remove_all(folder_, none);
}

std::vector<std::string> Scratch::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

void write_text(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string written(const std::function<void(const WriteBytes&)>& write) {
  std::string out;
  write([&](const void* from, std::size_t count) { out.append(static_cast<const char*>(from), count); });
  return out;
}

ReadBytes stream_of(std::string bytes, std::size_t piece) {
  return [bytes = std::move(bytes), piece, at = std::size_t{0}](void* to, std::size_t count) mutable {
    const std::size_t n = std::min({count, piece, bytes.size() - at});
    std::memcpy(to, bytes.data() + at, n);
    at += n;
    return n;
  };
}

Buffer counting(Dtype dtype, const Extents& shape) {
  Buffer out = allocate(dtype, shape);
  visit(dtype, [&]<class T>() {
    for (index_t i = 0; i < element_count(shape); ++i) {
      T value{};
      if constexpr (std::is_same_v<T, bool8>)
        value = bool8(i % 2 != 0);
      else if constexpr (is_floating_v<T>)
        value = static_cast<T>(static_cast<double>(i));
      else
        value = static_cast<T>(i);
      static_cast<T*>(out.view.data)[i] = value;
    }
  });
  return out;
}

std::string elements(const ConstTensor& t) {
  const Array whole = dense(t);
  return {static_cast<const char*>(whole.view.data),
          static_cast<std::size_t>(element_count(t.shape) * size_bytes(t.dtype))};
}

}  // namespace oriel::io
