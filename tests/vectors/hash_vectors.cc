// Checks vectors.txt: pools the inputs of each line by the library and compares the hash of the results.
// Usage: hash_vectors [--write | --targets] FILE; FILE `-` is the standard input. --write: makes the file anew, with
// the names of names.cc; --targets: on every instruction set that runs here, one after another. It needs nothing but
// the library, so that it can be built wherever that can.
#include <cstdio>
#include <fstream>

#include "vectors/file.h"
#include "vectors/head.h"
#include "vectors/names.h"

namespace {

using namespace oriel;
using namespace oriel::vectors;

// A tensor's memory and its view.
struct Memory {
  Memory(const Problem& problem, const Extents& shape, Elements held)
      : elements(std::move(held)),
        view(elements.bytes.data(), elements.dtype, shape, dense_pitch(shape, problem.order)) {}
  Memory(const Problem& problem, const Extents& shape, Dtype dtype)
      : Memory(problem, shape,
               {dtype, std::vector<std::byte>(static_cast<std::size_t>(element_count(shape) * size_bytes(dtype)),
                                              std::byte{0xa5})}) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Elements elements;
  Tensor view;
};

// The gradient of the pool, from indices if the name asks for them.
void add_gradient(const Vector& v, const Memory& x, const Memory& indices, Hash& hash) {
  const Problem& p = v.problem;
  const Memory dy(p, p.output_shape, inputs(p.dtype, element_count(p.output_shape), v.data, kSeedOfDy));
  const Memory dx(p, p.shape, p.dtype);
  if (v.indexed())
    backward(p, {.dy = dy.view, .indices = indices.view, .space = v.space, .dx = dx.view});
  else
    backward(p, {.x = x.view, .dy = dy.view, .dx = dx.view});
  hash.add(dx.elements);
}

std::uint64_t hash_of(const Vector& v) {
  const Problem& p = v.problem;
  Hash hash;
  const Memory x(p, p.shape, inputs(p.dtype, element_count(p.shape), v.data, kSeedOfX));
  const Memory y(p, p.output_shape, p.dtype), indices(p, p.output_shape, v.index_dtype);
  if (v.indexed())
    forward(p, {.x = x.view, .y = y.view, .indices = indices.view, .space = v.space});
  else if (!v.backward())
    forward(p, {.x = x.view, .y = y.view});
  if (v.backward()) {
    add_gradient(v, x, indices, hash);
  } else if (v.unpool) {
    const Memory back(p, p.shape, p.dtype);
    unpool(pooled_axes(p.pool, p.shape.size()),
           {.y = y.view, .indices = indices.view, .space = v.space, .x = back.view});
    hash.add(back.elements);
  } else {
    hash.add(y.elements);
    if (v.indexed()) hash.add(indices.elements);
  }
  return hash.value();
}

void write(const std::string& path) {
  const std::string beside = path + ".new";
  std::ofstream out(beside, std::ios::binary);
  out << kHead;
  for (const std::string& name : all_names()) out << line_of(name, hash_of(parse_vector(name))) << '\n';
  out.close();
  if (!out || std::rename(beside.c_str(), path.c_str()) != 0) throw Error("vectors: cannot write " + path);
}

bool check_on_each_target(const std::vector<std::string>& lines) {
  bool good = true;
  for (const std::string& target : supported_targets()) {
    set_target(target);
    good = check_lines(lines, target, hash_of) && good;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string option = words.size() == 2 ? words[0] : "";
  if (option == "--write") {
    write(words[1]);
    return 0;
  }
  if (option == "--targets") return check_on_each_target(read_lines(words[1])) ? 0 : 1;
  if (words.size() == 1 && !words[0].starts_with("--"))
    return check_lines(read_lines(words[0]), active_target(), hash_of) ? 0 : 1;
  std::fputs("usage: hash_vectors [--write | --targets] FILE\n", stderr);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "hash_vectors: %s\n", error.what());
  return 2;
}
