// Any bytes as the `info` of a precomputed volume and as chunks of compressed_segmentation. What is read must be
// consistent; anything else is an oriel::Error of one line.
#include <cstring>
#include <span>
#include <string>

#include "io/precomputed/info.h"
#include "io/precomputed/segmentation.h"
#include "oriel/tensor.h"

namespace {

using namespace oriel;
using namespace oriel::io::precomputed;

template <class F>
void attempt(F read) {
  try {
    read();
  } catch (const Error& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();
  }
}

void use(const Info& info) {
  const Extents shape = info.shape(), chunk = info.chunk();
  if (shape.size() != chunk.size() || shape.size() < kSpace || element_count(chunk) <= 0) __builtin_trap();
  for (int d = 0; d < shape.size(); ++d)
    if (shape[d] < 0 || chunk[d] < 1) __builtin_trap();
  if (info.chunk_name(Extents::filled(shape.size(), 0)).empty()) __builtin_trap();
  if (to_json(parse_info(to_json(info, ""), "", "again"), "") != to_json(info, "")) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  attempt([&] { use(parse_info(text, "", "info")); });
  attempt([&] { use(parse_info(text, "8_8_40", "info")); });
  if (is_scales_only(text) && !is_volume_info(text)) __builtin_trap();
  if (is_one_scale(text) && !is_scales_only(text)) __builtin_trap();
  const Extents chunk{5, 4, 3, 2}, block{4, 2, 2};
  for (const Dtype dtype : {Dtype::u32, Dtype::u64}) {
    attempt([&] {
      const auto decoded = decode_segmentation(bytes, chunk, block, dtype, "chunk");
      const auto again = encode_segmentation(decoded, chunk, block, dtype, "chunk");
      if (decode_segmentation(again, chunk, block, dtype, "chunk") != decoded) __builtin_trap();
    });
  }
  return 0;
}
