// One rank's share of the work of a pool whose tensors are divided among ranks. It knows no MPI and starts no
// communication: it packs what others need into buffers that everyone can see, and computes from those that came.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "oriel/distributed.h"
#include "oriel/pool.h"

namespace oriel::distributed {

/// What is computed, and so what travels: forward, inputs; backward of sums and averages, gradients of outputs;
/// backward of max and min whose indices were kept, those too; backward from the inputs (any pool), inputs as well.
enum class Pass : std::uint8_t { forward, backward, backward_indices, backward_inputs };
inline constexpr int kPasses = 4;
/// `forward`, `backward`, `backward_indices`, `backward_inputs`.
ORIEL_API std::string_view name(Pass pass);

/// One rank's parts of the tensors of a pass, by name: x, dx of the shape that the rank owns of the inputs; y, dy,
/// indices of what it owns of the outputs. Those that a pass does not use are left out. Any pitch.
struct Operands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor x{};                       ///< read by forward and backward_inputs
  Tensor y{};                            ///< written by forward
  ConstTensor dy{};                      ///< read by every backward pass
  Tensor indices{};                      ///< i64; written by forward of max and min, if given; read by backward_indices
  IndexSpace space = IndexSpace::plane;  ///< what indices count (S10), in the whole tensor; backward_indices needs
                                         ///< `window`
  Tensor dx{};                           ///< written by every backward pass
};

/// What travels between this rank and another one in one pass: one message, without a header.
struct Message {
  index_t peer = 0;
  std::byte* data = nullptr;  ///< `bytes` bytes, from a multiple of 64 on; a transport may place it elsewhere
  index_t bytes = 0;
};

/// The messages of a pass, by peer in ascending order; none is empty. Both sides know all sizes.
struct Buffers {
  std::vector<Message> send;
  std::vector<Message> receive;
};

/// What the messages of one pass amount to.
struct Traffic {
  index_t messages_sent = 0;
  index_t messages_received = 0;
  index_t bytes_sent = 0;
  index_t bytes_received = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// One rank's part of a divided pool. A pass is: `pack`, exchange of the messages of `buffers`, `finish`; `interior`,
/// any time between, computes what needs no message, so that it can hide the exchange. Results have the bits of the
/// undivided call. Memory is taken by the first pass of a kind and used again by the next ones. One thread at a time.
///
/// Example: LocalPool p(problem, inputs, outputs, rank); p.allocate(Pass::forward); p.pack(Pass::forward, {.x = x});
/// …send and receive p.buffers(Pass::forward)…; p.interior(Pass::forward, {.x = x, .y = y}); p.finish(same);
class LocalPool {
 public:
  /// Throws Error as HaloPlan does, and when the rank is none of the partition's.
  ORIEL_API LocalPool(const Problem& problem, Partition inputs, Partition outputs, index_t rank);
  ORIEL_API ~LocalPool();
  ORIEL_API LocalPool(LocalPool&&) noexcept;
  ORIEL_API LocalPool& operator=(LocalPool&&) noexcept;

  ORIEL_API const HaloPlan& plan() const;
  ORIEL_API index_t rank() const;
  ORIEL_API const Box& inputs() const;   ///< what the rank owns
  ORIEL_API const Box& outputs() const;  ///< what the rank computes

  /// Whether the pool has that pass: maxima and minima have indices, sums and averages (NaN policy propagate) need no
  /// inputs, integers have the gradients that `oriel::backward` gives them.
  ORIEL_API bool has(Pass pass) const;
  /// The pass that moves least for this pool's gradient.
  ORIEL_API Pass gradient() const;

  /// The messages of a pass. Throws Error when the pool has no such pass.
  ORIEL_API Buffers& buffers(Pass pass);
  ORIEL_API Traffic traffic(Pass pass);
  /// Gives every message of a pass that has no memory yet some of this object's own.
  ORIEL_API void allocate(Pass pass);
  /// Never gives memory back: a transport that failed may still use it.
  ORIEL_API void keep_memory();

  /// Throws Error, before anything is sent, for operands of a wrong shape, dtype or device, that share memory, or that
  /// are missing.
  ORIEL_API void check(Pass pass, const Operands& operands) const;
  /// Fills the messages to be sent. `operands` must have passed `check`, here and below.
  ORIEL_API void pack(Pass pass, const Operands& operands);
  /// Computes what needs no message. `progress`, unless null, is called now and then with `context`.
  ORIEL_API void interior(Pass pass, const Operands& operands, const Options& options = {},
                          void (*progress)(void* context) = nullptr, void* context = nullptr);
  /// Computes the rest from the messages that were received.
  ORIEL_API void finish(Pass pass, const Operands& operands, const Options& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Overwrites indices of a box of outputs that count taps of the window (IndexSpace::window) by those of another space;
/// coordinates are those of the whole tensor. `indices` is an i64 tensor of the box's shape. Throws Error.
ORIEL_API void globalise(const HaloPlan& plan, const Box& outputs, const Tensor& indices, IndexSpace space);

}  // namespace oriel::distributed
