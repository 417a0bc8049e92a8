// What a pool costs on many ranks: counts from the plan that runs, times from a model of a cluster.
#pragma once

#include <vector>

#include "cli/options.h"
#include "oriel/distributed/local_pool.h"

namespace oriel::cli {

/// A number of every rank: the greatest and the mean.
struct Spread {
  double most = 0;
  double mean = 0;
};

/// One pass on all ranks. Bytes and messages are those that LocalPool sends; efficiencies are the time that the rank
/// which takes longest would take with a share of the undivided work and no messages, over what it is predicted to
/// take.
struct PassCost {
  distributed::Pass pass = distributed::Pass::forward;
  Spread messages;      ///< sent
  Spread bytes;         ///< sent
  double off_node = 0;  ///< the part of all bytes that goes to other nodes
  double total_messages = 0, total_bytes = 0;
  Spread halo;            ///< bytes received over bytes owned, of ranks that own any
  double imbalance = 1;   ///< the greatest work of a rank over the mean
  double ideal = 0;       ///< seconds: the undivided work over the number of ranks
  double blocking = 0;    ///< seconds of the slowest rank: pack, exchange, compute
  double overlapped = 0;  ///< the same with the exchange hidden behind the interior
};

/// The block of the grid that the ranks of a node form: the one with least surface. Throws Error if `ranks` is no
/// product of numbers that the grid has room for.
Extents node_block(const Extents& grid, const Extents& shape, index_t ranks);

/// All passes of the pool: forward, and its gradient if it has one.
std::vector<PassCost> costs(const ScaleCommand& command);

}  // namespace oriel::cli
