#include <cstdio>

#include "oriel/nn/unet.h"

int main() {
  try {
    oriel::nn::UNet::load("none.safetensors");
  } catch (const oriel::Error& e) {
    std::printf("%s\n", e.what());
  }
  return 0;
}
