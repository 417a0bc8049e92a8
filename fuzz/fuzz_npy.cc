// Any bytes as a .npy file: read from memory, from a stream and out of an archive. Whatever is read must be readable in
// every element and survive being written; anything else is an oriel::Error.
#include <algorithm>
#include <cstring>
#include <memory>

#include "io/npy.h"
#include "io/npz.h"

namespace {

using namespace oriel;

// Reads every element (the sanitizers watch), writes the array and reads that.
void use(const io::Array& array) {
  std::vector<std::byte> file;
  io::write_npy(
      [&](const void* from, std::size_t count) {
        const auto* const begin = static_cast<const std::byte*>(from);
        file.insert(file.end(), begin, begin + count);
      },
      array.view);
  const io::Array again = io::read_npy(file, nullptr, "again", array.view.dtype);
  if (again.view.shape != array.view.shape || again.view.dtype != array.view.dtype) __builtin_trap();
}

template <class F>
void attempt(F read) {
  try {
    use(read());
  } catch (const Error& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();  // one clear line
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  attempt([&] { return io::read_npy(bytes, nullptr, "memory"); });
  attempt([&] { return io::read_npy(bytes, nullptr, "memory", Dtype::bf16); });
  std::size_t at = 0;
  const io::ReadBytes stream = [&](void* to, std::size_t count) {
    const std::size_t n = std::min({count, size - at, std::size_t{7}});  // in small pieces, as pipes may
    std::memcpy(to, data + at, n);
    at += n;
    return n;
  };
  attempt([&] { return io::read_npy(stream, "stream"); });
  attempt([&] { return io::read_npz(bytes, "", "archive"); });
  attempt([&] {
    io::parse_npy_header({reinterpret_cast<const char*>(data), size}, "header");
    return io::Array{ConstTensor(data, Dtype::u8, {static_cast<index_t>(size)}), nullptr, std::nullopt};
  });
  return 0;
}
