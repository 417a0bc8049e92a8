// Every pass of a divided pool, all ranks in one process.
#pragma once

#include "distributed/divided.h"

namespace oriel::test {

/// All ranks of a partition in this process, taken in turns: empty, or what differs from the undivided call.
inline std::string check_in_turns(const Whole& whole, const distributed::Partition& inputs,
                                  const distributed::Partition& outputs, bool sparse) {
  const distributed::InProcess group(inputs.ranks(), 0.5);
  std::vector<distributed::DistributedPool> pools;
  std::vector<RankParts> parts;
  for (index_t r = 0; r < inputs.ranks(); ++r) {
    pools.emplace_back(distributed::LocalPool(whole.problem, inputs, outputs, r, whole.beside.shapes),
                       group.transport(r), passes_of(whole));
    parts.emplace_back(whole, pools.back().local(), sparse);
  }
  const auto one = [&](distributed::Pass pass, int space) -> std::string {
    for (std::size_t r = 0; r < pools.size(); ++r) {
      parts[r].spoil(pass);
      pools[r].start(pass, parts[r].operands(pass, space), {.threads = 1});
    }
    for (std::size_t r = 0; r < pools.size(); ++r) pools[r].finish(pass);
    for (std::size_t r = 0; r < pools.size(); ++r) {
      const std::string wrong = parts[r].judge(pass, space);
      if (!wrong.empty()) {
        return fmt::format("{} (space {}), rank {} of {}, inputs {} outputs {}: {}", distributed::name(pass), space, r,
                           to_string(whole.problem), text(inputs), text(outputs), wrong);
      }
    }
    return {};
  };
  std::string wrong = one(distributed::Pass::forward, -1);
  if (whole.picks()) {
    for (const IndexSpace space : {IndexSpace::plane, IndexSpace::tensor, IndexSpace::window}) {
      if (wrong.empty()) wrong = one(distributed::Pass::forward, static_cast<int>(space));
    }
  }
  for (int i = 1; i < distributed::kPasses; ++i) {
    if (whole.has[i] && wrong.empty()) wrong = one(static_cast<distributed::Pass>(i), -1);
  }
  return wrong;
}

}  // namespace oriel::test
