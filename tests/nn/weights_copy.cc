// oriel_weights_copy IN OUT: reads a file of weights and writes it as safetensors. An error is a line, and status 1.
#include <cstdio>
#include <fstream>

#include "oriel/nn/weights.h"

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  const oriel::nn::Weights weights = oriel::nn::Weights::load(argv[1]);
  std::ofstream out(argv[2], std::ios::binary);
  oriel::nn::write_safetensors(weights, [&](const void* from, std::size_t count) {
    out.write(static_cast<const char*>(from), static_cast<std::streamsize>(count));
  });
  return out.flush() ? 0 : 1;
} catch (const oriel::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
