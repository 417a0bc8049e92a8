// U-Nets: described by their weights, executed by a static plan.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oriel/nn/weights.h"

namespace oriel::nn {

/// The number format between layers. Batch norm is folded into the weights in double for both.
enum class Arithmetic : std::uint8_t {
  fp32,  ///< binary32 throughout
  bf16,  ///< activations and weights in bfloat16, sums in binary32; the input and the result stay binary32
};

/// `fp32` or `bf16`.
ORIEL_API std::string_view name(Arithmetic arithmetic);
/// The reverse; throws Error that names the allowed ones.
ORIEL_API Arithmetic parse_arithmetic(std::string_view text);
/// Whether this machine and build execute networks in `arithmetic` on `device`. On the CPU fp32 needs oneDNN in the
/// build, bf16 also a CPU with AVX-512 (with bfloat16 instructions it is faster); CUDA devices support fp32.
ORIEL_API bool supports(Arithmetic arithmetic, Device device = Device::cpu);

/// The memory layout of activations. Results depend on it only by rounding.
enum class UNetLayout : std::uint8_t {
  pick,           ///< channels last for bf16 if the CPU has AMX, which oneDNN 2 uses for them alone; else blocks
  blocks,         ///< [channels/16][height][width][16], 8 instead of 16 without AVX-512
  channels_last,  ///< [height][width][channels]; joined inputs are convolved one after the other, and added
};

struct UNetOptions {
  int threads = 0;  ///< largest number of threads; 0: all that the process may use
  Arithmetic arithmetic = Arithmetic::fp32;
  /// Whether prepare() times the algorithms of each layer and keeps the fastest; otherwise a fixed rule picks them, and
  /// two runs of a program have bit-identical results.
  bool trial = true;
  UNetLayout layout = UNetLayout::pick;
  /// Device::cuda: on the current CUDA device, `threads` and `layout` are then ignored, and `trial` also times the
  /// algorithms of cuDNN, if it is found.
  Device device = Device::cpu;
};

/// A U-Net, as described by its weights: `widths[0]` channels at full resolution, widths[l] at 1/2^l of it. Each level
/// is two 3x3 convolutions with batch norm and ReLU; down by 2x2 max pooling, up by a 2x2 transposed convolution, whose
/// output is joined with the output of the same level on the way down; a 1x1 convolution makes the result.
struct UNetDescription {
  int input_channels = 3;
  int classes = 1;               ///< channels of the result
  std::vector<index_t> widths;   ///< channels by level, the deepest last, e.g. 64 128 256 512 1024
  bool convolution_bias = true;  ///< of the 3x3 convolutions; the public U-Net has none
  bool skip_first = false;       ///< order of the joined channels: skip connection before up-sampled ones
  std::string key_names;         ///< naming scheme of the file's keys: `source` or `milesial`

  int levels() const { return static_cast<int>(widths.size()); }
  /// Heights and widths of images must be multiples of this number, 2^(levels-1).
  index_t multiple() const { return index_t{1} << (levels() - 1); }
  /// Trained parameters, batch norm's scale and shift included.
  ORIEL_API index_t parameters() const;
  /// Multiplications (each with an addition) for one image.
  ORIEL_API index_t multiplications(index_t height, index_t width) const;
};

/// Determines the network in a file by key names and shapes. Two sets of names are known: the source project's
/// (`down_1.double_conv.0.weight` …, up-sampled channels first) and that of the common public PyTorch U-Net
/// (`inc.double_conv.0.weight` …, skip first, convolutions without bias). Throws Error that names the keys that are
/// missing, left over, or of the wrong shape; networks that up-sample bilinearly are refused with an error of their
/// own.
ORIEL_API UNetDescription describe(const Weights& weights);

/// A step of a prepared network, for tables.
struct UNetStep {
  std::string block;        ///< `down_1` … , `up_1` … , `out`
  std::string layer;        ///< `conv1`, `conv2`, `pool`, `up`, `head`
  std::string algorithm;    ///< implementation, e.g. `winograd jit_wino_4x3:avx512_core`
  double milliseconds = 0;  ///< in the trial that picked it; 0 if nothing was timed
  index_t multiplications = 0;
};

/// Memory of a prepared network, in bytes.
struct UNetMemory {
  index_t activations = 0;  ///< the planned arena: all layers' outputs and the working memory of their algorithms
  index_t lower_bound = 0;  ///< most bytes in use at once: no plan can be smaller
  index_t weights = 0;      ///< weights in the layout that the algorithms read
  index_t peak() const { return activations + weights; }
};

/// Copies of activations that a run made in one block: in from the caller, out to the caller, and between layouts.
struct UNetCopies {
  std::string block;
  index_t copies = 0;
};

/// A network on the CPU or a CUDA device. Only one thread may use an engine at a time; engines made by another() can
/// run at the same time.
/// Example:
///   nn::UNet net = nn::UNet::load("portrait.safetensors", {.threads = 2});
///   net.prepare(256, 256);
///   net.run(image, logits);  // [3][256][256] -> [1][256][256]
class UNet {
 public:
  /// Loads weights and determines their network. Throws Error: see Weights::load and describe; also for options that
  /// this machine does not support.
  ORIEL_API static UNet load(const std::string& path, const UNetOptions& options = {});
  ORIEL_API explicit UNet(const Weights& weights, const UNetOptions& options = {});
  ORIEL_API UNet(UNet&&) noexcept;
  ORIEL_API UNet& operator=(UNet&&) noexcept;
  ORIEL_API ~UNet();

  ORIEL_API const UNetDescription& description() const;
  ORIEL_API const UNetOptions& options() const;
  /// The file's metadata, e.g. of how it was trained; empty for a .pth.
  ORIEL_API const std::map<std::string, std::string>& metadata() const;

  /// Plans the memory, picks each layer's algorithm and converts its weights, for images of height x width. A second
  /// call with the same size does nothing. Throws Error if a side is not a positive multiple of
  /// description().multiple().
  ORIEL_API void prepare(index_t height, index_t width);
  ORIEL_API index_t height() const;  ///< as prepared; 0 before
  ORIEL_API index_t width() const;

  /// Receives the values of each block, for comparisons: `values` is [channels][height][width] in C order, valid during
  /// the call.
  using Observer = std::function<void(const std::string& block, const Extents& shape, std::span<const float> values)>;

  /// image [input_channels][height][width] -> logits [classes][height][width], both dense binary32 in host memory; no
  /// sigmoid is applied. The result is complete when the call returns. Throws Error if nothing was prepared, or a CUDA
  /// call fails.
  ORIEL_API void run(const float* image, float* logits);
  ORIEL_API void run(const float* image, float* logits, const Observer& observer);
  /// run(), and the milliseconds of each of steps(); on a CUDA device measured with events on the engine's stream.
  ORIEL_API std::vector<double> time_steps(const float* image, float* logits);

  /// An engine with the same prepared network and weights, but separate memory for activations.
  ORIEL_API UNet another() const;

  ORIEL_API std::vector<UNetStep> steps() const;
  ORIEL_API UNetMemory memory() const;
  /// The library for convolutions, e.g. `oneDNN 2.6.3`; on a CUDA device one that may be used, e.g. `cuDNN 9.1.0`, or
  /// why there is none. Empty before prepare().
  ORIEL_API std::string library() const;
  /// The copies of the last run, one row for each block in order.
  ORIEL_API const std::vector<UNetCopies>& copies() const;

 private:
  struct State;
  explicit UNet(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace oriel::nn
