// Prints random programs as lines of JSON: their texts for both generations, inputs, and what the interpreter says.
//   tile_emit_programs COUNT [FIRST SEED]
#include <cstdio>
#include <cstdlib>

#include "tile/random_kernel.h"

namespace {

using namespace oriel;
using namespace oriel::tile;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + "\"";
}

std::string json(const nki::array& x) {
  std::string shape, hex;
  for (const index_t n : x.shape()) shape += (shape.empty() ? "" : ",") + std::to_string(n);
  constexpr char kDigits[] = "0123456789abcdef";
  for (index_t i = 0; i < x.bytes(); ++i) {
    const auto byte = static_cast<unsigned>(x.data<std::byte>()[i]);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return "{\"dtype\":\"" + std::string(name(x.dtype())) + "\",\"shape\":[" + shape + "],\"hex\":\"" + hex + "\"}";
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned count = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  const unsigned first = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const test::RandomProgram r = test::random_program(seed);
    std::string grid;
    for (const int g : r.program.grid)
      grid += (grid.empty() ? "" : ",") + std::to_string(r.program.counters[static_cast<std::size_t>(g)].trips);
    std::string line = "{\"seed\":" + std::to_string(seed) + ",\"grid\":[" + grid + "],\"inputs\":[";
    for (std::size_t i = 0; i < r.inputs.size(); ++i) line += (i == 0 ? "" : ",") + json(r.inputs[i]);
    line += "]";
    for (const auto& [key, version] : {std::pair{"v0_1", nki::nki_version::v0_1}, {"v0_6", nki::nki_version::v0_6}}) {
      const Program own = for_version(r.program, version);
      line += ",\"" + std::string(key) + "\":{\"text\":" + quoted(emit_nki(r.program, version)) +
              ",\"result\":" + json(test::result_of(own, r.inputs, Backend::interpreter)) + "}";
    }
    std::puts((line + "}").c_str());
  }
  return 0;
}
