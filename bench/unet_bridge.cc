// A network on a CUDA device by C functions, for bench/unet_gpu.py, which has ctypes and no binding where only nvcc is.
// 0: done; else the error's text is in `error`.
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "oriel/nn/unet.h"

namespace {

struct Network {
  oriel::nn::Weights weights;  // views of the caller's memory, until it is prepared
  std::optional<oriel::nn::UNet> engine;
};

void copy_text(const std::string& text, char* to, int room) {
  if (room > 0) std::strncpy(to, text.c_str(), static_cast<std::size_t>(room) - 1);
}

template <class F>
int guarded(char* error, int room, F f) {
  try {
    f();
    return 0;
  } catch (const std::exception& e) {
    copy_text(e.what(), error, room);
    return 1;
  }
}

}  // namespace

#define ORIEL_SEEN extern "C" __attribute__((visibility("default")))

/// Called with each block's values, [channels][height][width].
using Show = void (*)(const char* block, const std::int64_t* shape, const float* values);

ORIEL_SEEN Network* oriel_unet_new();
ORIEL_SEEN void oriel_unet_delete(Network* network);
ORIEL_SEEN int oriel_unet_weight(Network* network, const char* key, const float* values, const std::int64_t* shape,
                                 int rank, char* error, int room);
ORIEL_SEEN int oriel_unet_prepare(Network* network, std::int64_t height, std::int64_t width, int trial,
                                  std::int64_t* memory, char* library, int library_room, char* error, int room);
ORIEL_SEEN int oriel_unet_run(Network* network, const float* image, float* logits, Show show, char* error, int room);

Network* oriel_unet_new() { return std::make_unique<Network>().release(); }
void oriel_unet_delete(Network* network) { delete network; }

int oriel_unet_weight(Network* network, const char* key, const float* values, const std::int64_t* shape, int rank,
                      char* error, int room) {
  return guarded(error, room, [&] {
    oriel::Extents extents;
    for (int axis = 0; axis < rank; ++axis) extents.push_back(shape[axis]);
    network->weights.add(key, oriel::ConstTensor(values, extents));
  });
}

/// memory: bytes of activations, their lower bound, bytes of weights. library: what may carry convolutions out.
int oriel_unet_prepare(Network* network, std::int64_t height, std::int64_t width, int trial, std::int64_t* memory,
                       char* library, int library_room, char* error, int room) {
  return guarded(error, room, [&] {
    network->engine.emplace(network->weights,
                            oriel::nn::UNetOptions{.trial = trial != 0, .device = oriel::Device::cuda});
    network->engine->prepare(height, width);
    const oriel::nn::UNetMemory used = network->engine->memory();
    memory[0] = used.activations;
    memory[1] = used.lower_bound;
    memory[2] = used.weights;
    copy_text(network->engine->library(), library, library_room);
  });
}

/// `show` may be null.
int oriel_unet_run(Network* network, const float* image, float* logits, Show show, char* error, int room) {
  return guarded(error, room, [&] {
    if (!network->engine) throw oriel::Error("unet: run before prepare");
    if (show == nullptr) return network->engine->run(image, logits);
    network->engine->run(image, logits,
                         [&](const std::string& block, const oriel::Extents& shape, std::span<const float> values) {
                           const std::int64_t extents[] = {shape[0], shape[1], shape[2]};
                           show(block.c_str(), extents, values.data());
                         });
  });
}
