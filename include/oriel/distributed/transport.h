// How the messages of a divided pool are sent, and a pool together with its transport.
#pragma once

#include <memory>
#include <vector>

#include "oriel/distributed/local_pool.h"

namespace oriel::distributed {

/// The messages of one pass of one rank, exchanged any number of times in this order: `prepare`, packing, `start`,
/// `progress` any number of times, `finish`, reading, `release`. Every step throws Error for a failure; the channel may
/// then only be destroyed.
class ORIEL_API Channel {
 public:
  virtual ~Channel();
  virtual void prepare() = 0;  ///< after it, messages to be sent may be written
  virtual void start() = 0;    ///< they have been written, and are sent
  virtual void progress() {}   ///< lets a transport work that only works during calls
  virtual void finish() = 0;   ///< after it, received messages may be read
  virtual void release() {}    ///< they have been
  /// Called before destruction if a pass was begun but not finished: its messages may still arrive, so their channel of
  /// communication must not be used again.
  virtual void abandon() {}
};

/// One rank's access to the others. A transport provides the memory of messages: the pool's (`LocalPool::allocate`) or
/// its own.
class ORIEL_API Transport {
 public:
  virtual ~Transport();
  /// The channel of a pass; `pool` outlives it. Every rank opens the same passes in the same order.
  virtual std::unique_ptr<Channel> open(Pass pass, LocalPool& pool) = 0;
  /// As Channel::abandon.
  virtual void abandon() {}
};

/// Ranks in one process: each on its own thread, or in turn on one thread, which then calls `start` of all of them
/// before `finish` of any. Messages are read where they were packed, without a copy. One group serves one pool.
class InProcess {
 public:
  /// `deadline`: seconds that a rank waits for others before it throws Error. Throws Error unless ranks >= 1.
  ORIEL_API explicit InProcess(index_t ranks, double deadline = 600);
  ORIEL_API ~InProcess();
  /// The transport of a rank; it may outlive this object.
  ORIEL_API std::unique_ptr<Transport> transport(index_t rank) const;

 private:
  struct Group;
  std::shared_ptr<Group> group_;
};

/// One rank's part of a divided pool that exchanges its messages itself. Every rank makes the same calls in the same
/// order. `start`, `interior` and `finish` of different passes may be interleaved; a pass that failed cannot be started
/// again. Only one thread may use it at a time.
///
/// Example: InProcess ranks(2); DistributedPool p(LocalPool(problem, inputs, outputs, r), ranks.transport(r));
/// p.forward(x, y);
class DistributedPool {
 public:
  /// Opens the channels of `passes`; if it is empty, those of forward and of the pool's gradient if it has one.
  ORIEL_API DistributedPool(LocalPool pool, std::unique_ptr<Transport> transport, const std::vector<Pass>& passes = {});
  ORIEL_API ~DistributedPool();
  ORIEL_API DistributedPool(DistributedPool&&) noexcept;
  ORIEL_API DistributedPool& operator=(DistributedPool&&) noexcept;

  ORIEL_API LocalPool& local();

  /// Checks the operands, which must stay valid until `finish`, and sends what others need. Throws Error; if it
  /// concerns the operands, nothing was sent.
  ORIEL_API void start(Pass pass, const Operands& operands, const Options& options = {});
  /// Computes what needs no message. If it is not called, `finish` does it.
  ORIEL_API void interior(Pass pass);
  /// Waits for the messages and computes the rest.
  ORIEL_API void finish(Pass pass);
  /// All three.
  ORIEL_API void run(Pass pass, const Operands& operands, const Options& options = {});

  /// y = this rank's outputs of the pool, x its inputs; if indices are given (max, min), also the index of each in the
  /// whole tensor (S10). The gradient needs IndexSpace::window.
  ORIEL_API void forward(const Operands& operands, const Options& options = {});
  /// dx = the gradient at this rank's inputs, dy that of its outputs: from the indices of forward if they are given,
  /// from x, which is sent too, if it is given, and otherwise from dy alone (sums and averages).
  ORIEL_API void backward(const Operands& operands, const Options& options = {});

  /// What all passes together have sent and received.
  ORIEL_API Traffic traffic() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oriel::distributed
