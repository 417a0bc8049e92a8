// One rank's share of the work of a pool whose tensors are divided among ranks. It does not use MPI and does not
// communicate: it packs what other ranks need into buffers, and computes from the buffers that were received.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "oriel/distributed.h"
#include "oriel/pool.h"

namespace oriel::distributed {

/// What is computed, and with it what is sent. forward: inputs, with mask and weights if there are any. backward, of
/// sums and averages: gradients of outputs. backward_indices, of max, min and others that select a tap, whose indices
/// were stored: gradients and indices. backward_inputs, of any pool: gradients and what forward sends.
enum class Pass : std::uint8_t { forward, backward, backward_indices, backward_inputs };
inline constexpr int kPasses = 4;
/// `forward`, `backward`, `backward_indices`, `backward_inputs`.
ORIEL_API std::string_view name(Pass pass);

/// The mask and the weights (S13) that every call of a pool has, as whole tensors: x's extents along the pooled axes,
/// and x's or 1 along the others. They are divided as x is; along axes where only x is longer than 1 every rank has
/// that one element.
struct Beside {
  Extents mask{};                    ///< the mask's shape; empty: there is none
  Extents weights{};                 ///< the weights' shape; empty: there are none
  Dtype weights_dtype = Dtype::f64;  ///< f32 or f64

  bool any() const { return !mask.empty() || !weights.empty(); }
  friend bool operator==(const Beside&, const Beside&) = default;
};

/// One rank's parts of the tensors of a pass, by name: x and dx have the shape of the rank's inputs; y, dy and indices
/// that of its outputs; mask and weights those of LocalPool::beside_shape. Leave out those that a pass does not use.
/// Pitches are arbitrary.
struct Operands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor x{};                       ///< read by forward and backward_inputs
  Tensor y{};                            ///< written by forward
  ConstTensor dy{};                      ///< read by every backward pass
  Tensor indices{};                      ///< i64; written by forward of ops that select a tap (S10), if given; read by
                                         ///< backward_indices
  IndexSpace space = IndexSpace::plane;  ///< what indices count (S10), in the whole tensor; backward_indices needs
                                         ///< `window`
  Tensor dx{};                           ///< written by every backward pass
  ConstTensor mask{};                    ///< bool or u8; read with x if the pool has a mask
  ConstTensor weights{};                 ///< read with x if the pool has weights
};

/// The message between this rank and another one in one pass, without a header.
struct Message {
  index_t peer = 0;
  std::byte* data = nullptr;  ///< `bytes` bytes, aligned to 64; a transport may set another address
  index_t bytes = 0;
};

/// The messages of a pass, by peer in ascending order; none is empty. Sender and receiver know all sizes.
struct Buffers {
  std::vector<Message> send;
  std::vector<Message> receive;
};

/// The number and size of the messages of one pass.
struct Traffic {
  index_t messages_sent = 0;
  index_t messages_received = 0;
  index_t bytes_sent = 0;
  index_t bytes_received = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// One rank's part of a divided pool. A pass is: `pack`, exchange of the messages of `buffers`, `finish`; `interior`,
/// at any time between, computes what needs no message while messages are on their way. Results are bit-identical to
/// the undivided call. The first pass of a kind allocates memory, which later ones reuse. Only one thread may use it at
/// a time.
///
/// Example: LocalPool p(problem, inputs, outputs, rank); p.allocate(Pass::forward); p.pack(Pass::forward, {.x = x});
/// …send and receive p.buffers(Pass::forward)…; p.interior(Pass::forward, {.x = x, .y = y}); p.finish(same);
class LocalPool {
 public:
  /// Throws Error as HaloPlan does, if the partition has no such rank, for a pool of several quantiles, and for a mask
  /// or weights that the pool cannot have.
  ORIEL_API LocalPool(const Problem& problem, Partition inputs, Partition outputs, index_t rank,
                      const Beside& beside = {});
  ORIEL_API ~LocalPool();
  ORIEL_API LocalPool(LocalPool&&) noexcept;
  ORIEL_API LocalPool& operator=(LocalPool&&) noexcept;

  ORIEL_API const HaloPlan& plan() const;
  ORIEL_API index_t rank() const;
  ORIEL_API const Box& inputs() const;   ///< the inputs that the rank owns
  ORIEL_API const Box& outputs() const;  ///< the outputs that the rank computes
  ORIEL_API const Beside& beside() const;
  /// The shape of the rank's part of a mask or of weights whose whole shape is `whole`.
  ORIEL_API Extents beside_shape(const Extents& whole) const;

  /// Whether the pool has that pass: only ops that select a tap have indices, only sums and averages (NaN policy
  /// propagate, without options of S13 to S20) need no inputs, integers have the gradients that `oriel::backward`
  /// supports.
  ORIEL_API bool has(Pass pass) const;
  /// Whether forward of this pool can give indices.
  ORIEL_API bool has_indices() const;
  /// The gradient pass of this pool that sends least.
  ORIEL_API Pass gradient() const;

  /// The messages of a pass. Throws Error if the pool has no such pass.
  ORIEL_API Buffers& buffers(Pass pass);
  ORIEL_API Traffic traffic(Pass pass);
  /// Allocates memory for every message of a pass that has none yet.
  ORIEL_API void allocate(Pass pass);
  /// Never frees the memory of messages: a transport that failed may still use it.
  ORIEL_API void keep_memory();

  /// Throws Error, before anything is sent, for operands of a wrong shape, dtype or device, that share memory, or that
  /// are missing.
  ORIEL_API void check(Pass pass, const Operands& operands) const;
  /// Fills the messages to be sent. `operands` must have passed `check`, also in the functions below.
  ORIEL_API void pack(Pass pass, const Operands& operands);
  /// Computes what needs no message. `progress`, unless null, is called repeatedly with `context` meanwhile.
  ORIEL_API void interior(Pass pass, const Operands& operands, const Options& options = {},
                          void (*progress)(void* context) = nullptr, void* context = nullptr);
  /// Computes the rest from the messages that were received.
  ORIEL_API void finish(Pass pass, const Operands& operands, const Options& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Converts indices of a box of outputs from taps of the window (IndexSpace::window) to another space, in the
/// coordinates of the whole tensor; `indices` is overwritten. `indices` is an i64 tensor of the box's shape. Throws
/// Error.
ORIEL_API void globalise(const HaloPlan& plan, const Box& outputs, const Tensor& indices, IndexSpace space);

}  // namespace oriel::distributed
