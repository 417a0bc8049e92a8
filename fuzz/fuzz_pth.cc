// Any bytes as an archive of torch.save, and as the pickle in one.
#include "fuzz_weights.h"
#include "nn/weights/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  oriel::nn::read_whole(bytes);
  oriel::nn::expect_one_line([&] { oriel::nn::read_state_dict(bytes, "pickle"); });
  return 0;
}
