// What the program and its optional part agree on: a network of others, from a file of ONNX or TensorFlow Lite. The
// optional part (openvino.cc) is a shared library, which is loaded when such a file is named.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oriel/types.h"

namespace oriel::portrait {

/// An input or an output.
struct Port {
  std::string name;
  std::vector<index_t> shape;  ///< -1: any extent
  bool any_rank = false;       ///< not even the number of axes is known
  std::string made_by{};       ///< of an output: the operation that computes it, e.g. `Sigmoid`
};

/// Numbers of a tensor in C order.
struct Values {
  std::vector<index_t> shape;
  std::vector<float> values;
};

/// How a network runs.
struct NetworkOptions {
  int threads = 0;    ///< of one run; 0: all processors
  int at_once = 1;    ///< runs beside each other, each with one thread if they are more than 1
  bool half = false;  ///< bfloat16 if the CPU has it
};

/// One run at a time; several of them may run at once.
class NetworkRun {
 public:
  NetworkRun() = default;
  NetworkRun(const NetworkRun&) = delete;
  NetworkRun& operator=(const NetworkRun&) = delete;
  virtual ~NetworkRun() = default;
  /// Tensors for all inputs, in their order; gives those of the outputs that compile() was given. Throws
  /// std::runtime_error.
  virtual std::vector<Values> run(const std::vector<Values>& inputs) = 0;
};

/// A network from a file.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  /// The type of each operation.
  virtual std::vector<std::string> operations() const = 0;
  /// Prepares runs with inputs of these shapes (-1: it differs from run to run), which compute these outputs alone.
  /// Throws std::runtime_error.
  virtual void compile(const std::vector<std::vector<index_t>>& shapes, const std::vector<std::size_t>& outputs,
                       const NetworkOptions& options) = 0;
  /// After compile(); it must not outlive the network.
  virtual std::unique_ptr<NetworkRun> make_run() = 0;
};

/// The function that the optional part exports under the name below. Throws std::runtime_error.
using OpenNetwork = Network* (*)(const std::string& file);
inline constexpr const char* kOpenNetwork = "oriel_open_network";

}  // namespace oriel::portrait
