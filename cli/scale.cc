#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/quantities.h"
#include "cli/scaling.h"
#include "cli/usage.h"

namespace oriel::cli {
namespace {

Json pass_json(const PassCost& p) {
  return {
      {"pass", name(p.pass)},
      {"messages",
       {{"total", json_of(p.total_messages)}, {"most", json_of(p.messages.most)}, {"mean", json_of(p.messages.mean)}}},
      {"bytes",
       {{"total", json_of(p.total_bytes)},
        {"most", json_of(p.bytes.most)},
        {"mean", json_of(p.bytes.mean)},
        {"off_node", json_of(p.off_node)}}},
      {"halo", {{"most", json_of(p.halo.most)}, {"mean", json_of(p.halo.mean)}}},
      {"imbalance", json_of(p.imbalance)},
      {"predicted",
       {{"ideal_seconds", json_of(p.ideal)},
        {"blocking_seconds", json_of(p.blocking)},
        {"overlapped_seconds", json_of(p.overlapped)},
        {"blocking_efficiency", json_of(p.ideal / p.blocking)},
        {"overlapped_efficiency", json_of(p.ideal / p.overlapped)}}}};
}

std::string pass_text(const PassCost& p) {
  return fmt::format(
      "\n{}\n  messages sent    {:.3g} a rank, {:.0f} at most; {:.4g} in all\n"
      "  bytes sent       {} a rank, {} at most; {} in all, {:.0f} % to other nodes\n"
      "  halo             {:.2g} % of what a rank owns, {:.2g} % at most\n"
      "  largest share    {:.3f} of the mean\n"
      "  predicted        {} without messages; {} blocking, efficiency {:.2f}; {} overlapped, {:.2f}\n",
      name(p.pass), p.messages.mean, p.messages.most, p.total_messages, show_bytes(p.bytes.mean),
      show_bytes(p.bytes.most), show_bytes(p.total_bytes), 100 * p.off_node, 100 * p.halo.mean, 100 * p.halo.most,
      p.imbalance, show_seconds(p.ideal), show_seconds(p.blocking), p.ideal / p.blocking, show_seconds(p.overlapped),
      p.ideal / p.overlapped);
}

}  // namespace

int run_scale(const ScaleCommand& c) {
  if (c.by_old_name)
    complain("oriel plan", "is now called oriel scale; the next release will not accept the old name", 0);
  const std::vector<PassCost> passes = costs(c);
  const index_t ranks = element_count(c.grid);
  const Extents node = node_block(c.grid, c.problem.shape, c.cluster.ranks_per_node);
  if (c.json) {
    Json list = Json::array();
    for (const PassCost& p : passes) list.push_back(pass_json(p));
    print(json_text({{"name", to_string(c.problem)},
                     {"ranks", ranks},
                     {"grid", json_of(c.grid)},
                     {"outputs", c.balanced ? "balanced" : "centred"},
                     {"node", json_of(node)},
                     {"cluster",
                      {{"latency", json_of(c.cluster.latency)},
                       {"network", json_of(c.cluster.network)},
                       {"ranks_per_node", c.cluster.ranks_per_node},
                       {"memory_bandwidth", json_of(c.cluster.memory)},
                       {"overhead", json_of(c.cluster.overhead)}}},
                     {"passes", std::move(list)}}));
    return kExitDone;
  }
  std::string text = fmt::format("{}\n{} -> {} on {} ranks, a grid of {}; outputs {}\n", to_string(c.problem),
                                 to_string(c.problem.shape), to_string(c.problem.output_shape), ranks,
                                 to_string(c.grid), c.balanced ? "in even parts" : "where their windows' centres are");
  for (const PassCost& p : passes) text += pass_text(p);
  text += fmt::format(
      "\nTimes are predicted, not measured. Assumed: {}/s of memory bandwidth for each rank; nodes of {} rank{} "
      "(blocks of {}) that send\n{}/s with a latency of {}; {} of overhead for each message.\n",
      show_bytes(c.cluster.memory), c.cluster.ranks_per_node, c.cluster.ranks_per_node == 1 ? "" : "s", to_string(node),
      show_bytes(c.cluster.network), show_seconds(c.cluster.latency), show_seconds(c.cluster.overhead));
  print(text);
  return kExitDone;
}

}  // namespace oriel::cli
