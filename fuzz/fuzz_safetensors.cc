// Any bytes as a safetensors file. Whatever is read must be readable in every element and survive being written;
// anything else is an oriel::Error of one line.
#include "fuzz_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  oriel::nn::read_whole(bytes);
  // The bytes as a header, so that its length need not be guessed.
  std::vector<std::byte> file(8 + size);
  const std::uint64_t length = size;
  std::memcpy(file.data(), &length, sizeof length);
  std::copy(bytes.begin(), bytes.end(), file.begin() + 8);
  oriel::nn::read_whole(file);
  return 0;
}
