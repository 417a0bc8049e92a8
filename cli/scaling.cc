#include "cli/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace oriel::cli {
namespace {

using distributed::HaloPlan;
using distributed::LocalPool;
using distributed::Pass;

struct Candidate {
  Extents block;
  double surface = std::numeric_limits<double>::infinity();  // over volume
};

// Every way to write `ranks` as a product over the axes from `axis` on.
void search(const Extents& grid, const Extents& shape, index_t ranks, Extents& block, Candidate& best) {
  const int axis = block.size();
  if (axis == grid.size()) {
    if (ranks != 1) return;
    double surface = 0;
    for (int d = 0; d < grid.size(); ++d) {
      if (block[d] == grid[d]) continue;  // no cut to another node
      const double part = static_cast<double>(shape[d]) / static_cast<double>(grid[d]);
      surface += 1 / (static_cast<double>(block[d]) * part);
    }
    if (surface < best.surface) best = {block, surface};
    return;
  }
  for (index_t n = 1; n <= std::min(ranks, grid[axis]); ++n) {
    if (ranks % n != 0) continue;
    Extents longer = block;
    longer.push_back(n);
    search(grid, shape, ranks / n, longer, best);
  }
}

// What one rank does in a pass.
struct Work {
  double messages = 0, bytes_sent = 0, bytes_received = 0;
  double sent_off_node = 0, received_off_node = 0;  // bytes
  index_t place_in_node = 0;
  double moved = 0;         // bytes read and written to compute
  double moved_inside = 0;  // of it, without any message
};

Work work_of(LocalPool& pool, Pass pass, const Extents& node) {
  const HaloPlan& plan = pool.plan();
  Work w;
  const Extents here = plan.inputs().coordinates(pool.rank());
  const auto off_node = [&](index_t peer) {
    const Extents there = plan.inputs().coordinates(peer);
    for (int d = 0; d < node.size(); ++d)
      if (there[d] / node[d] != here[d] / node[d]) return true;
    return false;
  };
  for (int d = 0; d < node.size(); ++d) w.place_in_node = w.place_in_node * node[d] + here[d] % node[d];
  for (const distributed::Message& m : pool.buffers(pass).send) {
    w.messages += 1;
    w.bytes_sent += static_cast<double>(m.bytes);
    if (off_node(m.peer)) w.sent_off_node += static_cast<double>(m.bytes);
  }
  for (const distributed::Message& m : pool.buffers(pass).receive) {
    w.bytes_received += static_cast<double>(m.bytes);
    if (off_node(m.peer)) w.received_off_node += static_cast<double>(m.bytes);
  }
  const distributed::Exchange e = pass == Pass::forward ? plan.forward(pool.rank()) : plan.backward(pool.rank());
  const double element = static_cast<double>(size_bytes(plan.problem().dtype));
  const double made = static_cast<double>(e.made.element_count()),
               inside = static_cast<double>(e.interior.element_count());
  w.moved = element * (made + static_cast<double>(e.needed.element_count()));
  w.moved_inside = made > 0 ? w.moved * inside / made : 0;
  return w;
}

struct Times {
  double blocking = 0, overlapped = 0;
};

// `through`: bytes that a node sends or receives.
Times times_of(const Work& w, double through, const Cluster& c) {
  const double compute = w.moved / c.memory, inside = w.moved_inside / c.memory;
  const double pack = 2 * (w.bytes_sent + w.bytes_received) / c.memory;  // each byte is read and written
  const bool talks = w.bytes_sent + w.bytes_received > 0;
  const double travel = talks ? c.latency + w.messages * c.overhead + through / c.network : 0;
  return {compute + pack + travel, pack + std::max(inside, travel) + compute - inside};
}

// What goes through the link of a node amid others: its ranks are those that send, or receive, most at each place.
double busiest_link(const std::vector<Work>& all) {
  std::map<index_t, std::pair<double, double>> most;
  for (const Work& w : all) {
    auto& [sent, received] = most[w.place_in_node];
    sent = std::max(sent, w.sent_off_node);
    received = std::max(received, w.received_off_node);
  }
  double sent = 0, received = 0;
  for (const auto& [place, bytes] : most) {
    sent += bytes.first;
    received += bytes.second;
  }
  return std::max(sent, received);  // links go both ways at once
}

PassCost cost_of(const ScaleCommand& c, const HaloPlan& plan, const std::vector<HaloPlan::Kind>& kinds,
                 const Extents& node, Pass pass) {
  PassCost cost;
  cost.pass = pass;
  const double ranks = static_cast<double>(plan.ranks());
  double off_node = 0, owning = 0, most_moved = 0, moved = 0;
  std::vector<Work> works;
  for (const HaloPlan::Kind& kind : kinds) {
    LocalPool pool(c.problem, plan.inputs(), plan.outputs(), kind.rank);
    const Work w = works.emplace_back(work_of(pool, pass, node));
    const double count = static_cast<double>(kind.count);
    cost.messages.most = std::max(cost.messages.most, w.messages);
    cost.bytes.most = std::max(cost.bytes.most, w.bytes_sent);
    cost.total_messages += count * w.messages;
    cost.total_bytes += count * w.bytes_sent;
    off_node += count * w.sent_off_node;
    const distributed::Box& owned = pass == Pass::forward ? pool.inputs() : pool.outputs();
    if (!owned.empty()) {
      const double halo = w.bytes_received / static_cast<double>(owned.element_count() * size_bytes(c.problem.dtype));
      cost.halo.most = std::max(cost.halo.most, halo);
      cost.halo.mean += count * halo;
      owning += count;
    }
    most_moved = std::max(most_moved, w.moved);
    moved += count * w.moved;
  }
  const double through = busiest_link(works);
  for (const Work& w : works) {
    const Times t = times_of(w, through, c.cluster);
    cost.blocking = std::max(cost.blocking, t.blocking);
    cost.overlapped = std::max(cost.overlapped, t.overlapped);
  }
  cost.messages.mean = cost.total_messages / ranks;
  cost.bytes.mean = cost.total_bytes / ranks;
  cost.off_node = cost.total_bytes > 0 ? off_node / cost.total_bytes : 0;
  if (owning > 0) cost.halo.mean /= owning;
  if (moved > 0) cost.imbalance = most_moved * ranks / moved;
  const double elements =
      static_cast<double>(element_count(c.problem.shape)) + static_cast<double>(element_count(c.problem.output_shape));
  cost.ideal = elements * static_cast<double>(size_bytes(c.problem.dtype)) / c.cluster.memory / ranks;
  return cost;
}

}  // namespace

Extents node_block(const Extents& grid, const Extents& shape, index_t ranks) {
  Candidate best;
  Extents block;
  search(grid, shape, ranks, block, best);
  if (best.block.empty()) {
    throw Error(
        fmt::format("--ranks-per-node: {} ranks form no block of a grid of {}; allowed: a product of numbers that "
                    "are at most those of the grid",
                    ranks, to_string(grid)));
  }
  return best.block;
}

std::vector<PassCost> costs(const ScaleCommand& c) {
  const distributed::Partition inputs = distributed::Partition::balanced(c.problem.shape, c.grid);
  const HaloPlan plan(c.problem, inputs,
                      c.balanced ? distributed::Partition::balanced(c.problem.output_shape, c.grid)
                                 : distributed::centred_outputs(c.problem, inputs));
  const Extents node = node_block(c.grid, c.problem.shape, c.cluster.ranks_per_node);
  const std::vector<HaloPlan::Kind> kinds = plan.kinds(node);
  std::vector<PassCost> all = {cost_of(c, plan, kinds, node, Pass::forward)};
  const LocalPool first(c.problem, plan.inputs(), plan.outputs(), 0);
  if (first.has(first.gradient())) all.push_back(cost_of(c, plan, kinds, node, first.gradient()));
  return all;
}

}  // namespace oriel::cli
