// Any bytes as an archive that an array is brought into: it is there afterwards, and whatever could be read before
// still gives the same values; anything else is an oriel::Error.
#include <cstring>
#include <string>
#include <vector>

#include "io/npz.h"
#include "io/npz_output.h"

namespace {

using namespace oriel;

// The values of an array, or nothing if it cannot be read.
std::vector<std::byte> values_of(std::span<const std::byte> archive, const std::string& name) {
  try {
    const io::Array read = io::read_npz(archive, name, "archive");
    const io::Array array = io::dense(read.view);
    const auto* const begin = static_cast<const std::byte*>(array.view.data);
    return {begin, begin + element_count(array.view.shape) * size_bytes(array.view.dtype)};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span old(reinterpret_cast<const std::byte*>(data), size);
  const std::uint8_t values[] = {1, 2, 3};
  std::vector<std::byte> merged;
  const io::WriteAt keep = [&](const void* from, std::size_t count, std::int64_t at) {
    const auto begin = static_cast<std::size_t>(at);
    if (merged.size() < begin + count) merged.resize(begin + count);
    std::memcpy(merged.data() + begin, from, count);
  };
  const std::vector<std::byte> before = values_of(old, "keep");
  try {
    io::merge_npz(keep, old, {{"y", ConstTensor(values, Dtype::u8, {3})}}, "archive");
  } catch (const Error& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();  // one clear line
    return 0;
  }
  const std::vector<std::byte> after = values_of(merged, "y");
  if (after.size() != 3 || std::memcmp(after.data(), values, 3) != 0) __builtin_trap();
  if (!before.empty() && values_of(merged, "keep") != before) __builtin_trap();
  return 0;
}
