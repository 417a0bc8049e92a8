#include "cli/chunk_search.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <tuple>
#include <vector>

#include "oriel/tensor.h"

namespace oriel::cli {
namespace {

constexpr index_t kMost = std::numeric_limits<index_t>::max() / 64;

index_t times(index_t a, index_t b) {
  index_t c = 0;
  return __builtin_mul_overflow(a, b, &c) ? kMost : std::min(c, kMost);
}

// One way to cut one axis, and what follows from it along that axis.
struct Cut {
  index_t size = 1, parts = 1;  // outputs of a part, parts
  index_t inputs = 0;           // that a part needs at most
  index_t reads = 0;            // of chunks, by all parts
  index_t most = 0;             // chunks that a part touches
  index_t shared = 0;           // chunks that a part and a later one touch, at most
  index_t all = 0;              // chunks that any part touches
};

class Axes {
 public:
  Axes(const distributed::HaloPlan& plan, const ChunkRules& rules) : plan_(plan), rules_(rules) {
    for (int d = 0; d < rank(); ++d) cuts_.push_back(cuts_of(d));
  }

  int rank() const { return plan_.problem().output_shape.size(); }

  // Calls f for each combination of cuts.
  void for_each(const std::function<void(const std::vector<const Cut*>&)>& f) const {
    std::vector<const Cut*> chosen(static_cast<std::size_t>(rank()));
    const std::function<void(std::size_t)> go = [&](std::size_t d) {
      if (d == chosen.size()) return f(chosen);
      for (const Cut& cut : cuts_[d]) {
        chosen[d] = &cut;
        go(d + 1);
      }
    };
    go(0);
  }

 private:
  // Few enough that all combinations can be looked at.
  std::size_t most_cuts() const {
    int divided = 0;
    for (int d = 0; d < rank(); ++d) divided += plan_.problem().output_shape[d] > 1 ? 1 : 0;
    constexpr std::array<std::size_t, 5> most = {1, 64, 64, 40, 16};
    return divided < 5 ? most[static_cast<std::size_t>(divided)] : divided < 7 ? 6 : 2;
  }

  // Parts that end where chunks do, whole axes, and parts of chunks, from large to small.
  std::vector<Cut> cuts_of(int d) const {
    const index_t out = plan_.problem().output_shape[d], in = std::max<index_t>(plan_.problem().shape[d], 1);
    const index_t chunk = rules_.chunk[d], chunks = ceil_div(in, chunk);
    std::vector<index_t> sizes = {std::max<index_t>(out, 1)};
    const auto outputs = [&](index_t n) {
      return static_cast<index_t>(
          static_cast<long double>(n * chunk) * static_cast<long double>(out) / static_cast<long double>(in) + 0.5L);
    };
    for (index_t n = chunks - 1; n >= 1; n = n > 16 ? n * 3 / 4 : n - 1) sizes.push_back(outputs(n));
    if (rules_.parts > 1) sizes.push_back(ceil_div(out, rules_.parts));
    for (index_t size = outputs(1) / 2; size >= 1; size /= 2) sizes.push_back(size);
    sizes.push_back(1);
    for (index_t& size : sizes) size = std::clamp<index_t>(size, 1, std::max<index_t>(out, 1));
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    const std::size_t most = std::max<std::size_t>(most_cuts(), 2), have = sizes.size();
    std::vector<Cut> cuts;
    for (std::size_t i = 0; i < std::min(most, have); ++i)
      cuts.push_back(cut_of(d, sizes[have <= most ? i : i * (have - 1) / (most - 1)]));
    return cuts;
  }

  Cut cut_of(int d, index_t size) const {
    constexpr index_t most_looked = 4096;
    const index_t out = plan_.problem().output_shape[d], chunk = rules_.chunk[d];
    Cut cut;
    cut.size = size;
    cut.parts = std::max<index_t>(ceil_div(out, size), 1);
    distributed::Box box{Extents::filled(rank(), 0), plan_.problem().output_shape};
    index_t seen = 0, looked = 0;  // chunks before `seen` were touched
    for (index_t o = 0; o < out && looked < most_looked; o += size, ++looked) {
      box.begin[d] = o;
      box.end[d] = std::min(o + size, out);
      const Range needed = plan_.needs(box).along(d);
      if (needed.empty()) continue;
      const index_t first = needed.begin / chunk, last = (needed.end - 1) / chunk + 1;
      cut.inputs = std::max(cut.inputs, needed.size());
      cut.reads += last - first;
      cut.most = std::max(cut.most, last - first);
      cut.shared = std::max(cut.shared, std::max<index_t>(seen - first, 0));
      cut.all += last - std::clamp(seen, first, last);
      seen = std::max(seen, last);
    }
    if (looked == most_looked) {  // the others are alike
      cut.reads = cut.reads * cut.parts / looked;
      cut.all = ceil_div(plan_.problem().shape[d], chunk);
    }
    return cut;
  }

  const distributed::HaloPlan& plan_;
  const ChunkRules& rules_;
  std::vector<std::vector<Cut>> cuts_;
};

// What a combination of cuts costs.
struct Cost {
  index_t bytes = 0;  // of a block's buffers
  index_t blocks = 1, reads = 1, chunks = 1;
  index_t kept = 0;  // chunks that must be kept until another block reads them, with one that is on its way
};

Cost cost_of(const std::vector<const Cut*>& cuts, const ChunkRules& rules, index_t element) {
  Cost cost;
  index_t inputs = 1, outputs = 1;
  for (const Cut* cut : cuts) {
    inputs = times(inputs, cut->inputs);
    outputs = times(outputs, cut->size);
    cost.blocks = times(cost.blocks, cut->parts);
    cost.reads = times(cost.reads, cut->reads);
    cost.chunks = times(cost.chunks, cut->all);
  }
  cost.bytes = std::min(times(inputs, element + rules.beside) + times(outputs, rules.each), kMost);
  // Blocks come with the last axis fastest: what two parts of an axis share waits while all of the later axes pass.
  for (std::size_t d = 0; d < cuts.size(); ++d) {
    index_t waiting = cuts[d]->shared;
    for (std::size_t e = 0; e < cuts.size(); ++e)
      if (e != d) waiting = times(waiting, e < d ? cuts[e]->most : cuts[e]->all);
    cost.kept = std::min(cost.kept + waiting, kMost);
  }
  if (cost.kept > 0) ++cost.kept;
  return cost;
}

}  // namespace

std::optional<ChunkChoice> choose_blocks(const distributed::HaloPlan& plan, const ChunkRules& rules) {
  const index_t element = size_bytes(plan.problem().dtype);
  const index_t chunk_bytes = times(element_count(rules.chunk), element);
  std::optional<ChunkChoice> best;
  using Rank = std::tuple<bool, index_t, index_t>;
  Rank best_rank;
  Axes(plan, rules).for_each([&](const std::vector<const Cut*>& cuts) {
    const Cost cost = cost_of(cuts, rules, element);
    if (with_scratch(cost.bytes) > rules.memory) return;
    const bool keeps = with_scratch(cost.bytes) + times(cost.kept, chunk_bytes) <= rules.memory;
    const index_t reads = keeps ? cost.chunks : cost.reads;
    const Rank rank{cost.blocks < rules.parts, reads, ceil_div(cost.blocks, rules.parts)};
    if (best && best_rank <= rank) return;
    best_rank = rank;
    best = ChunkChoice{.size = {}, .reads = reads, .chunks = cost.chunks, .kept = keeps ? cost.kept : 0};
    for (const Cut* cut : cuts) best->size.push_back(cut->size);
  });
  return best;
}

index_t memory_for_one_read(const distributed::HaloPlan& plan, const ChunkRules& rules) {
  const index_t element = size_bytes(plan.problem().dtype);
  const index_t chunk_bytes = times(element_count(rules.chunk), element);
  index_t least = kMost;
  Axes(plan, rules).for_each([&](const std::vector<const Cut*>& cuts) {
    const Cost cost = cost_of(cuts, rules, element);
    if (cost.blocks >= rules.parts || least == kMost)
      least = std::min(least, with_scratch(cost.bytes) + times(cost.kept, chunk_bytes));
  });
  return least;
}

}  // namespace oriel::cli
