// A network's blocks and times beside those of other engines, on the same weights and image: the report of the project
// that the U-Net comes from, made again.
#pragma once

#include <string>
#include <vector>

#include "oriel/nn/unet.h"

namespace oriel::portrait {

struct CompareOptions {
  std::string weights;                                      ///< a file; empty: random ones
  std::vector<index_t> widths = {64, 128, 256, 512, 1024};  ///< of random weights
  std::uint64_t seed = 1;                                   ///< of random weights and of the image
  index_t height = 512;
  index_t width = 512;
  int threads = 2;  ///< of every engine
  nn::Arithmetic arithmetic = nn::Arithmetic::fp32;
  nn::UNetLayout layout = nn::UNetLayout::pick;
  Device device = Device::cpu;      ///< of Oriel, and of PyTorch where it has that one
  int runs = 5;                     ///< timed ones, the engines taking turns; 0: no times
  std::vector<std::string> others;  ///< timed beside PyTorch: `onnxruntime`, `openvino`
  std::string python = "python3";   ///< the interpreter with torch
  std::string script;               ///< reference.py; empty: the one that this program was built with
};

/// A block's value beside PyTorch's.
struct BlockDifference {
  std::string block;
  Extents shape{};
  double mean = 0;     ///< of the absolute differences
  double most = 0;     ///< the greatest of them
  double largest = 0;  ///< the greatest magnitude of PyTorch's values
  index_t copies = 0;  ///< of activations, counted by the engine
  double relative() const { return largest > 0 ? most / largest : most; }
};

struct EngineTimes {
  std::string engine;           ///< with its version
  std::vector<double> seconds;  ///< of each run, in the order of the turns
  double median() const;
};

struct Comparison {
  std::string weights;
  nn::UNetDescription description;
  nn::Arithmetic arithmetic = nn::Arithmetic::fp32;
  Device device = Device::cpu;
  index_t height = 0;
  index_t width = 0;
  int threads = 0;
  std::vector<BlockDifference> blocks;
  std::vector<EngineTimes> times;  ///< Oriel, PyTorch, others
  std::string library;             ///< that carries Oriel's convolutions out, or why there is none
  nn::UNetMemory memory;
  std::vector<nn::UNetStep> steps;
  std::vector<double> step_milliseconds;  ///< of each step inside a run, medians over the runs; empty without runs
  double prepare_seconds = 0;
};

/// Weights of the source's network with He's initialisation and batch norms whose statistics are not those of a new
/// network. The same arguments give the same weights.
nn::Weights random_weights(const std::vector<index_t>& widths, std::uint64_t seed);

/// Runs Oriel in this process and the others in processes of Python, on one image of uniform random values. Throws
/// Error when a file cannot be read, or Python lacks a package, naming it.
Comparison compare(const CompareOptions& options);

/// As text: differences and copies per block, times, layers, memory.
std::string text_of(const Comparison& comparison);
/// One JSON object.
std::string json_of(const Comparison& comparison);

}  // namespace oriel::portrait
