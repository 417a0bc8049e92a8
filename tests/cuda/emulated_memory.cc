// The emulated device by C functions, for package_test.py: it is a part of the same library as the module under test.
#include "emulator/grid.h"

#define ORIEL_SEEN extern "C" __attribute__((visibility("default")))

ORIEL_SEEN void* emulated_allocate(std::size_t bytes);
ORIEL_SEEN void emulated_free(void* p);
ORIEL_SEEN int emulated_copy(void* to, const void* from, std::size_t bytes, int to_device);
ORIEL_SEEN void* emulated_stream();
ORIEL_SEEN const char* emulated_failure();
ORIEL_SEEN void emulated_move(void* p, int device);

void* emulated_allocate(std::size_t bytes) { return grid::allocate(bytes, "stand-in array"); }
void emulated_free(void* p) { grid::release(p); }
int emulated_copy(void* to, const void* from, std::size_t bytes, int to_device) {
  return cudaMemcpy(to, from, bytes, to_device != 0 ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}
void* emulated_stream() { return grid::report().stream; }
const char* emulated_failure() {
  return grid::report().failures.empty() ? nullptr : grid::report().failures[0].c_str();
}
void emulated_move(void* p, int device) { grid::move_to_device(p, device); }
