#include "nn/cuda/trial.h"

#include <algorithm>
#include <limits>

#include "nn/cuda/tiling.h"

namespace oriel::nn::cuda {
namespace {

constexpr index_t kMostWorkspace = index_t{1} << 30;
constexpr double kNever = std::numeric_limits<double>::infinity();

index_t bytes_of(index_t floats) { return floats * static_cast<index_t>(sizeof(float)); }

// Memory of zeros.
class Zeros {
 public:
  Zeros(index_t floats, const Stream& stream) : memory_(bytes_of(floats), "a trial") {
    if (floats > 0) memory_.clear(bytes_of(floats), stream.get());
  }
  float* data() const { return memory_.at(0); }

 private:
  DeviceMemory memory_;
};

// A convolution's operands.
class Tensors {
 public:
  Tensors(const cudnn::Shape& s, ConvolutionTile tile, bool pooled, const Stream& stream)
      : shape_(s),
        pooled_(pooled),
        x_(s.inputs * s.input_plane, stream),
        y_(s.outputs * s.output_plane, stream),
        maxima_(pooled ? s.outputs * pooled_plane() : 0, stream),
        // as many as Oriel's kernel reads, whose channels are padded
        weights_(s.inputs * 9 * tiles_of(s.outputs, tile.outputs()) * tile.outputs(), stream),
        bias_(s.outputs, stream) {}

  ConvolutionCall call() const {
    const Planes maxima{maxima_.data(), pooled_plane(), shape_.width / 2};
    return {{x_.data(), shape_.input_plane, shape_.width},
            {y_.data(), shape_.output_plane, shape_.width},
            pooled_ ? maxima : Planes{},
            weights_.data(),
            bias_.data(),
            static_cast<int>(shape_.inputs),
            static_cast<int>(shape_.outputs),
            static_cast<int>(shape_.height),
            static_cast<int>(shape_.width)};
  }

 private:
  // At multiples of 64 bytes, as a network's are.
  index_t pooled_plane() const { return tiles_of(shape_.height / 2 * (shape_.width / 2), 16) * 16; }

  const cudnn::Shape& shape_;
  bool pooled_;
  Zeros x_, y_, maxima_, weights_, bias_;
};

}  // namespace

Trial::Trial(std::shared_ptr<const cudnn::Library> library) : handle_(std::move(library), stream_.get()) {}

Choice Trial::choose(const cudnn::Shape& shape, ConvolutionTile tile, bool pooled) {
  for (const Known& known : known_)
    if (known.shape == shape && known.pooled == pooled) return known.choice;
  known_.push_back({shape, pooled, measure(shape, tile, pooled)});
  return known_.back().choice;
}

// The least of some runs of work(), after one that warms up; kNever where it gives up, which it says by false.
template <class Work>
double Trial::least_milliseconds(const Work& work) const {
  constexpr int kRuns = 3;
  const Event begin, end;
  double least = kNever;
  for (int run = 0; run <= kRuns; ++run) {
    begin.record(stream_);
    if (!work()) return kNever;
    end.record(stream_);
    const double taken = end.since(begin);
    if (run > 0) least = std::min(least, taken);
  }
  return least;
}

Choice Trial::measure(const cudnn::Shape& shape, ConvolutionTile tile, bool pooled) const {
  const Tensors tensors(shape, tile, pooled, stream_);
  const ConvolutionCall call = tensors.call();
  Choice best;
  best.milliseconds = least_milliseconds([&] {
    convolve(call, tile, stream_.get());
    return true;
  });
  for (const cudnn::Algorithm& algorithm : cudnn::Algorithm::all(handle_, shape)) {
    if (algorithm.workspace_bytes() > kMostWorkspace) continue;
    const DeviceMemory workspace(algorithm.workspace_bytes(), "a trial");
    const double taken = least_milliseconds([&] {
      if (algorithm.run(handle_, call, workspace.at(0)) != 0) return false;  // it does not take the shape after all
      if (pooled) pool({call.y, call.pooled, call.outputs, call.height, call.width}, stream_.get());
      return true;
    });
    stream_.wait();  // before the workspace goes
    if (taken < best.milliseconds) best = {algorithm, taken};
  }
  stream_.wait();
  return best;
}

Cudnn::Cudnn(bool asked) {
  if (!asked) {
    found = "Oriel's kernels alone, since nothing is to be timed";
    return;
  }
  try {
    library = cudnn::Library::load();
    trial.emplace(library);
    found = "cuDNN " + library->version();
  } catch (const Error& e) {
    library = nullptr;
    found = std::string("Oriel's kernels alone, without cuDNN: ") + e.what();
  }
}

}  // namespace oriel::nn::cuda
