#include "io/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace oriel::io {

Buffer allocate(Dtype dtype, const Extents& shape) {
  constexpr std::size_t alignment = 64;
  const index_t count = element_count(shape);
  const index_t size = size_bytes(dtype);
  void* memory = nullptr;
  const bool fits = count <= std::numeric_limits<index_t>::max() / size;
  const std::size_t bytes = fits ? std::max<std::size_t>(static_cast<std::size_t>(count * size), 1) : 0;
  if (!fits || ::posix_memalign(&memory, alignment, bytes) != 0)
    throw Error(fmt::format("memory: {} elements of {} do not fit into this machine", count, name(dtype)));
  std::shared_ptr<void> owner(memory, std::free);
  return {Tensor(memory, dtype, shape), std::move(owner)};
}

void copy(const ConstTensor& from, const Tensor& to) {
  const index_t size = size_bytes(from.dtype);
  const index_t count = element_count(from.shape);
  const auto* source = static_cast<const std::byte*>(from.data);
  auto* target = static_cast<std::byte*>(to.data);
  Extents at = Extents::filled(from.rank(), 0);
  for (index_t i = 0; i < count; ++i) {
    std::memcpy(target, source, static_cast<std::size_t>(size));
    for (int a = from.rank() - 1; a >= 0; --a) {
      source += from.pitch[a] * size;
      target += to.pitch[a] * size;
      if (++at[a] < from.shape[a]) break;
      source -= from.pitch[a] * from.shape[a] * size;
      target -= to.pitch[a] * to.shape[a] * size;
      at[a] = 0;
    }
  }
}

Array dense(const ConstTensor& t) {
  if (t.pitch == dense_pitch(t.shape)) return {t, nullptr, std::nullopt};
  Buffer whole = allocate(t.dtype, t.shape);
  copy(t, whole.view);
  return {whole.view, whole.memory, std::nullopt};
}

}  // namespace oriel::io
