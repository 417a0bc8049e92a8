#include "xla_kernels.h"

#include "cuda/device/launch.cuh"
#include "cuda/device/memory.cuh"

namespace oriel::python {
namespace {

using cuda::kBlock;
using cuda::load;
using cuda::store;

template <class Word>
__global__ void __launch_bounds__(256) pick_elements(const index_t* places, index_t n, const Word* from, Word* to) {
  const auto i = cuda::thread_number<index_t>();
  if (i >= n) return;
  const index_t place = load(places + i);
  store(to + i, place < 0 ? Word{} : load(from + place));
}

/// To must hold the values of From, or take their low bits.
template <class From, class To>
__global__ void __launch_bounds__(256) convert_elements(const From* from, index_t n, To* to) {
  const auto i = cuda::thread_number<index_t>();
  if (i < n) store(to + i, static_cast<To>(load(from + i)));
}

template <class From, class To>
void convert(const void* from, index_t n, void* to, void* stream) {
  cuda::launch(&convert_elements<From, To>, n, kBlock, 0, stream, static_cast<const From*>(from), n,
               static_cast<To*>(to));
}

template <class Word>
void pick(const index_t* places, index_t n, const void* from, void* to, void* stream) {
  cuda::launch(&pick_elements<Word>, n, kBlock, 0, stream, places, n, static_cast<const Word*>(from),
               static_cast<Word*>(to));
}

}  // namespace

void pick_on_device(const index_t* places, index_t n, const void* from, void* to, index_t bytes, void* stream) {
  switch (bytes) {
    case 1:
      return pick<std::uint8_t>(places, n, from, to, stream);
    case 2:
      return pick<std::uint16_t>(places, n, from, to, stream);
    case 4:
      return pick<std::uint32_t>(places, n, from, to, stream);
    default:
      return pick<std::uint64_t>(places, n, from, to, stream);
  }
}

void narrow_on_device(const index_t* from, index_t n, std::int32_t* to, void* stream) {
  convert<index_t, std::int32_t>(from, n, to, stream);
}

void widen_on_device(const void* from, Dtype dtype, index_t n, std::int64_t* to, void* stream) {
  switch (dtype) {
    case Dtype::i8:
      return convert<std::int8_t, std::int64_t>(from, n, to, stream);
    case Dtype::u8:
      return convert<std::uint8_t, std::int64_t>(from, n, to, stream);
    case Dtype::i16:
      return convert<std::int16_t, std::int64_t>(from, n, to, stream);
    case Dtype::u16:
      return convert<std::uint16_t, std::int64_t>(from, n, to, stream);
    case Dtype::i32:
      return convert<std::int32_t, std::int64_t>(from, n, to, stream);
    case Dtype::u32:
      return convert<std::uint32_t, std::int64_t>(from, n, to, stream);
    default:
      throw Error("pool: integers of 8 to 32 bits are widened, but these are " + std::string(name(dtype)));
  }
}

void wrap_on_device(const std::int64_t* from, index_t n, void* to, index_t bytes, void* stream) {
  switch (bytes) {
    case 1:
      return convert<std::int64_t, std::uint8_t>(from, n, to, stream);
    case 2:
      return convert<std::int64_t, std::uint16_t>(from, n, to, stream);
    default:
      return convert<std::int64_t, std::uint32_t>(from, n, to, stream);
  }
}

DeviceScratch::DeviceScratch(index_t bytes, void* stream) : stream_(stream) {
  if (bytes == 0) return;
  cuda::check(cudaMallocAsync(&data_, static_cast<std::size_t>(bytes), static_cast<cudaStream_t>(stream)),
              "cudaMallocAsync");
}

DeviceScratch::~DeviceScratch() {
  if (data_ != nullptr) cudaFreeAsync(data_, static_cast<cudaStream_t>(stream_));  // an error comes with the next call
}

}  // namespace oriel::python
