// Checks vectors.txt by the naive reference instead of the library: usage: reference_vectors FILE. Gradients of Lp
// pools but for p = 1 are left out, as the reference only bounds them.
#include <cstdio>
#include <cstring>

#include "reference/from_problem.h"
#include "vectors/file.h"

namespace {

using namespace oriel;
using namespace oriel::vectors;

// Elements in row-major order from those in the problem's memory order, or back.
enum class To { rows, memory };
std::vector<std::byte> reordered(const Problem& p, const Extents& shape, Dtype dtype,
                                 const std::vector<std::byte>& from, To to) {
  const Extents pitch = dense_pitch(shape, p.order);
  const auto bytes = static_cast<std::size_t>(size_bytes(dtype));
  std::vector<std::byte> out(from.size());
  Extents at = Extents::filled(shape.size(), 0);
  for (std::size_t row = 0; row < from.size() / bytes; ++row) {
    index_t place = 0;
    for (int a = 0; a < shape.size(); ++a) place += at[a] * pitch[a];
    const std::size_t memory = static_cast<std::size_t>(place);
    std::memcpy(out.data() + (to == To::rows ? row : memory) * bytes,
                from.data() + (to == To::rows ? memory : row) * bytes, bytes);
    for (int a = shape.size() - 1; a >= 0 && ++at[a] == shape[a]; --a) at[a] = 0;
  }
  return out;
}

std::vector<std::byte> input(const Vector& v, const Extents& shape, std::uint32_t seed) {
  const Elements elements = inputs(v.problem.dtype, element_count(shape), v.data, seed);
  return reordered(v.problem, shape, elements.dtype, elements.bytes, To::rows);
}

void add(const Vector& v, const Extents& shape, Dtype dtype, const std::vector<std::byte>& rows, Hash& hash) {
  hash.add({dtype, reordered(v.problem, shape, dtype, rows, To::memory)});
}

std::vector<std::byte> indices_of(const Vector& v, const reference::Outcome& y) {
  const std::vector<index_t>& values = v.space == IndexSpace::plane    ? y.plane
                                       : v.space == IndexSpace::tensor ? y.tensor
                                                                       : y.window;
  return visit(v.index_dtype, [&]<class T>() {
    std::vector<std::byte> out(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T>) {
        const T value = static_cast<T>(values[i]);  // of -1 in u8: 255
        std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
      }
    }
    return out;
  });
}

std::uint64_t hash_of(const Vector& v) {
  const Problem& p = v.problem;
  const reference::Pooling pooling = reference::from_problem(p);
  const std::vector<std::byte> x = input(v, p.shape, kSeedOfX);
  Hash hash;
  if (v.backward()) {
    const std::vector<std::byte> dy = input(v, p.output_shape, kSeedOfDy);
    add(v, p.shape, p.dtype, reference::backward(pooling, p.dtype, x.data(), dy.data()).bits, hash);
    return hash.value();
  }
  const reference::Outcome y = reference::forward(pooling, p.dtype, x.data());
  if (v.unpool) {
    add(v, p.shape, p.dtype, reference::unpool(pooling.shape, p.dtype, y.bits.data(), y.tensor).bits, hash);
    return hash.value();
  }
  add(v, p.output_shape, p.dtype, y.bits, hash);
  if (v.indexed()) add(v, p.output_shape, v.index_dtype, indices_of(v, y), hash);
  return hash.value();
}

// Whether the reference says what the bits of a line are.
bool is_exact(const std::string& line) {
  const Vector v = parse_vector(line.substr(0, line.find(' ')));
  return !v.backward() || v.problem.pool.op != Op::lp || v.problem.pool.norm == 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fputs("usage: reference_vectors FILE\n", stderr);
    return 2;
  }
  std::vector<std::string> lines = read_lines(argv[1]);
  const std::size_t left_out = std::erase_if(lines, [](const std::string& line) { return !is_exact(line); });
  const bool good = check_lines(lines, "the reference", hash_of);
  std::printf("%zu gradients of Lp pools were left out\n", left_out);
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "reference_vectors: %s\n", error.what());
  return 2;
}
