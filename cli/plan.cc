#include <fmt/format.h>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/quantities.h"
#include "cli/scaling.h"

namespace oriel::cli {
namespace {

std::string pass_json(const PassCost& p) {
  return fmt::format(
      "    {{\"pass\": \"{}\", \"messages\": {{\"total\": {:.0f}, \"most\": {:.0f}, \"mean\": {:.6g}}},\n"
      "     \"bytes\": {{\"total\": {:.0f}, \"most\": {:.0f}, \"mean\": {:.6g}, \"off_node\": {:.4f}}},\n"
      "     \"halo\": {{\"most\": {:.6g}, \"mean\": {:.6g}}}, \"imbalance\": {:.6g},\n"
      "     \"predicted\": {{\"ideal_seconds\": {:.6g}, \"blocking_seconds\": {:.6g}, \"overlapped_seconds\": {:.6g},\n"
      "       \"blocking_efficiency\": {:.4f}, \"overlapped_efficiency\": {:.4f}}}}}",
      name(p.pass), p.total_messages, p.messages.most, p.messages.mean, p.total_bytes, p.bytes.most, p.bytes.mean,
      p.off_node, p.halo.most, p.halo.mean, p.imbalance, p.ideal, p.blocking, p.overlapped, p.ideal / p.blocking,
      p.ideal / p.overlapped);
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

int run_plan(const PlanCommand& c) {
  const std::vector<PassCost> passes = costs(c);
  const index_t ranks = element_count(c.grid);
  const Extents node = node_block(c.grid, c.problem.shape, c.cluster.ranks_per_node);
  if (c.json) {
    std::string list;
    for (const PassCost& p : passes) list += (list.empty() ? "" : ",\n") + pass_json(p);
    print(fmt::format(
        "{{\"name\": {}, \"ranks\": {}, \"grid\": {}, \"outputs\": \"{}\", \"node\": {},\n  \"cluster\": "
        "{{\"latency\": "
        "{:g}, \"network\": {:g}, \"ranks_per_node\": {}, \"memory_bandwidth\": {:g}, \"overhead\": {:g}}},\n"
        "  \"passes\": [\n{}\n  ]}}\n",
        json_string(to_string(c.problem)), ranks, json_list(c.grid), c.balanced ? "balanced" : "centred",
        json_list(node), c.cluster.latency, c.cluster.network, c.cluster.ranks_per_node, c.cluster.memory,
        c.cluster.overhead, list));
    return kExitDone;
  }
  std::string text = fmt::format("{}\n{} -> {} on {} ranks, a grid of {}; outputs {}\n", to_string(c.problem),
                                 to_string(c.problem.shape), to_string(c.problem.output_shape), ranks,
                                 to_string(c.grid), c.balanced ? "in even parts" : "where their windows' centres are");
  for (const PassCost& p : passes) text += pass_text(p);
  text += fmt::format(
      "\nTimes are predicted, not measured: a rank moves {}/s of memory; nodes of {} rank{} (blocks of {}) send {}/s, "
      "{} late;\na message costs {}.\n",
      show_bytes(c.cluster.memory), c.cluster.ranks_per_node, c.cluster.ranks_per_node == 1 ? "" : "s", to_string(node),
      show_bytes(c.cluster.network), show_seconds(c.cluster.latency), show_seconds(c.cluster.overhead));
  print(text);
  return kExitDone;
}

}  // namespace oriel::cli
