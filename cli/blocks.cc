#include "cli/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "cli/chunk_search.h"
#include "oriel/tensor.h"

namespace oriel::cli {
namespace {

// Sizes are searched before the grid of blocks is made.
class Search {
 public:
  Search(const distributed::HaloPlan& plan, const BlockRules& rules) : plan_(plan), rules_(rules) {
    const Problem& p = plan.problem();
    size_ = p.output_shape;
    for (int d = 0; d < size_.size(); ++d) {
      inputs_.push_back(most_needed(d, size_[d]));
      size_[d] = std::max<index_t>(size_[d], 1);
    }
  }

  // The largest blocks that fit, cut along the outermost axes of the file, where boxes are few runs.
  Extents find() {
    for (const index_t axis : rules_.order) {
      const int d = static_cast<int>(axis);
      if (size_[d] > 1 && (!fits() || count() < rules_.parts)) cut(d);
    }
    if (!fits()) {
      constexpr index_t mib = index_t{1} << 20;
      throw Error(
          fmt::format("--memory: {} MiB do not suffice: one result needs {} inputs at once, {} bytes, and the "
                      "program itself {} MiB; allowed: at least {}MiB",
                      rules_.memory / mib, product(inputs_), bytes(), rules_.held / mib,
                      (rules_.held + with_scratch(bytes())) / mib + 2));
    }
    return size_;
  }

 private:
  void cut(int d) {
    const index_t n = plan_.problem().output_shape[d];
    const index_t others = count();  // along the axes that are cut already
    index_t low = 1, high = n;       // the largest size that fits, or 1
    while (low < high) {
      const index_t middle = low + (high - low + 1) / 2;
      set(d, middle);
      if (fits())
        low = middle;
      else
        high = middle - 1;
    }
    // As many blocks along the axis as give each rank the same number.
    const index_t step = rules_.parts / std::gcd(rules_.parts, others);
    const index_t blocks = ceil_div(ceil_div(n, low), step) * step;
    index_t even = std::max<index_t>(ceil_div(n, blocks), 1);
    const index_t chunk = rules_.chunk.empty() ? 1 : rules_.chunk[d];
    if (even >= 2 * chunk) even = even / chunk * chunk;
    set(d, even);
  }

  void set(int d, index_t size) {
    size_[d] = size;
    inputs_[d] = most_needed(d, size);
  }

  index_t most_needed(int d, index_t size) const {
    const Extents& outputs = plan_.problem().output_shape;
    index_t most = 0;
    distributed::Box box{Extents::filled(outputs.size(), 0), outputs};
    for (index_t o = 0; o < outputs[d]; o += size) {
      box.begin[d] = o;
      box.end[d] = std::min(o + size, outputs[d]);
      most = std::max(most, plan_.needs(box).along(d).size());
      if (o / size > kMostLooked) break;  // later ones are alike; buffers are of the size that all ask for
    }
    return most;
  }

  static index_t product(const Extents& sizes) {
    index_t all = 1;
    for (const index_t n : sizes)
      if (__builtin_mul_overflow(all, n, &all)) return std::numeric_limits<index_t>::max() / 64;
    return all;
  }

  index_t bytes() const {
    const index_t element = size_bytes(plan_.problem().dtype) + rules_.beside;
    const index_t inputs = product(inputs_), outputs = product(size_);
    constexpr index_t most = std::numeric_limits<index_t>::max() / 64;
    if (inputs > most || outputs > most) return most;
    const index_t result = size_bytes(plan_.problem().result);
    return inputs * element + outputs * (result + (rules_.indices ? index_t{8} : 0));
  }
  bool fits() const { return with_scratch(bytes()) <= rules_.memory - rules_.held; }

  index_t count() const {
    index_t all = 1;
    for (int d = 0; d < size_.size(); ++d)
      all *= std::max<index_t>(ceil_div(plan_.problem().output_shape[d], size_[d]), 1);
    return all;
  }

  static constexpr index_t kMostLooked = 4096;

  const distributed::HaloPlan& plan_;
  const BlockRules& rules_;
  Extents size_, inputs_;
};

ChunkRules chunk_rules(const distributed::HaloPlan& plan, const BlockRules& rules) {
  return {.memory = rules.memory - rules.held,
          .parts = rules.parts,
          .each = size_bytes(plan.problem().result) + (rules.indices ? index_t{8} : 0),
          .chunk = rules.input_chunk,
          .beside = rules.beside};
}

distributed::Partition grid_of(const distributed::HaloPlan& plan, const BlockRules& rules, ChunkReads& chunks) {
  Extents size;
  if (!rules.input_chunk.empty()) {
    if (const auto choice = choose_blocks(plan, chunk_rules(plan, rules))) {
      size = choice->size;
      chunks.chunks = choice->chunks;
      chunks.reads = choice->reads;
      chunks.slots = choice->kept;
    }
  }
  if (size.empty()) size = Search(plan, rules).find();
  const Extents& outputs = plan.problem().output_shape;
  std::vector<distributed::Cuts> cuts;
  for (int d = 0; d < outputs.size(); ++d) {
    std::vector<index_t> bounds = {0};
    for (index_t o = 0; o < outputs[d]; o += size[d]) bounds.push_back(std::min(o + size[d], outputs[d]));
    if (bounds.size() == 1) bounds.push_back(0);
    cuts.emplace_back(std::move(bounds));
  }
  return distributed::Partition(std::move(cuts));
}

}  // namespace

Blocks::Blocks(const distributed::HaloPlan& plan, const BlockRules& rules)
    : grid_(grid_of(plan, rules, chunk_reads_)), order_(rules.order) {
  most_outputs_ = most_inputs_ = 1;
  distributed::Box box{Extents::filled(grid_.rank(), 0), plan.problem().output_shape};
  for (int d = 0; d < grid_.rank(); ++d) {
    index_t outputs = 0, inputs = 0;
    const Range whole = box.along(d);
    for (index_t part = 0; part < grid_.along(d).parts(); ++part) {
      const Range range = grid_.along(d).part(part);
      box.begin[d] = range.begin;
      box.end[d] = range.end;
      outputs = std::max(outputs, range.size());
      inputs = std::max(inputs, plan.needs(box).along(d).size());
    }
    box.begin[d] = whole.begin;
    box.end[d] = whole.end;
    most_outputs_ *= outputs;
    most_inputs_ *= inputs;
  }
  if (chunk_reads_.chunks > 0) describe_chunks(plan, rules);
}

distributed::Box Blocks::block(index_t i) const {
  if (chunk_reads_.chunks > 0) return grid_.part(i);  // as next_use counts
  Extents place = Extents::filled(grid_.rank(), 0);
  for (int at = grid_.rank() - 1; at >= 0; --at) {
    const int d = static_cast<int>(order_[at]);
    place[d] = i % grid_.along(d).parts();
    i /= grid_.along(d).parts();
  }
  index_t number = 0;
  for (int d = 0; d < grid_.rank(); ++d) number = number * grid_.along(d).parts() + place[d];
  return grid_.part(number);
}

void Blocks::describe_chunks(const distributed::HaloPlan& plan, const BlockRules& rules) {
  const ChunkRules chunks = chunk_rules(plan, rules);
  if (chunk_reads_.reads > chunk_reads_.chunks) {  // some can be kept, if not all
    chunk_reads_.memory_for_one = rules.held + memory_for_one_read(plan, chunks);
    const index_t element = size_bytes(plan.problem().dtype);
    const index_t left =
        chunks.memory - with_scratch(most_inputs_ * (element + rules.beside) + most_outputs_ * chunks.each);
    const index_t slots = left / std::max<index_t>(element_count(chunks.chunk) * element, 1);
    chunk_reads_.slots = slots < 2 ? 0 : std::min(slots, chunk_reads_.chunks);
  }
  distributed::Box box{Extents::filled(grid_.rank(), 0), plan.problem().output_shape};
  for (int d = 0; d < grid_.rank(); ++d) {
    std::vector<Range> users(static_cast<std::size_t>(ceil_div(plan.problem().shape[d], chunks.chunk[d])));
    const Range whole = box.along(d);
    for (index_t part = 0; part < grid_.along(d).parts(); ++part) {
      const Range range = grid_.along(d).part(part);
      box.begin[d] = range.begin;
      box.end[d] = range.end;
      const Range needed = plan.needs(box).along(d);
      for (index_t c = needed.begin / chunks.chunk[d]; !needed.empty() && c * chunks.chunk[d] < needed.end; ++c) {
        Range& of_chunk = users[static_cast<std::size_t>(c)];
        if (of_chunk.empty()) of_chunk.begin = part;
        of_chunk.end = part + 1;
      }
    }
    box.begin[d] = whole.begin;
    box.end[d] = whole.end;
    users_.push_back(std::move(users));
  }
}

// Blocks are numbered with the last axis fastest, so the next one keeps as many of its leading places as it can.
index_t Blocks::next_use(const Extents& chunk, index_t block, index_t end) const {
  const int rank = grid_.rank();
  std::vector<Range> use;
  Extents place = Extents::filled(rank, 0);
  for (int d = rank - 1; d >= 0; --d) {
    place[d] = block % grid_.along(d).parts();
    block /= grid_.along(d).parts();
  }
  int within = 0;  // leading places of this block that are places of blocks that need the chunk
  for (int d = 0; d < rank; ++d) {
    use.push_back(users_[static_cast<std::size_t>(d)][static_cast<std::size_t>(chunk[d])]);
    if (use.back().empty()) return -1;
    if (within == d && use.back().contains(place[d])) ++within;
  }
  for (int d = std::min(within, rank - 1); d >= 0; --d) {
    const Range& range = use[static_cast<std::size_t>(d)];
    const index_t later = std::max(range.begin, place[d] + 1);
    if (later >= range.end) continue;
    index_t next = 0;
    for (int e = 0; e < rank; ++e)
      next = next * grid_.along(e).parts() + (e < d    ? place[e]
                                              : e == d ? later
                                                       : use[static_cast<std::size_t>(e)].begin);
    return next < end ? next : -1;
  }
  return -1;
}

Extents output_chunk(const Problem& problem, const Extents& chunk) {
  if (chunk.empty()) return {};
  constexpr index_t least = index_t{1} << 18;
  const Extents& out = problem.output_shape;
  Extents made;
  index_t bytes = size_bytes(problem.result);
  for (int d = 0; d < out.size(); ++d) {
    const index_t chunks = std::max<index_t>(ceil_div(problem.shape[d], chunk[d]), 1);
    made.push_back(std::clamp<index_t>(ceil_div(out[d], chunks), 1, std::max<index_t>(out[d], 1)));
    bytes *= made[d];
  }
  while (bytes < least) {  // the axis that is cut most often is cut half as often
    int widest = 0;
    for (int d = 1; d < out.size(); ++d)
      if (ceil_div(out[d], made[d]) > ceil_div(out[widest], made[widest])) widest = d;
    if (out[widest] <= made[widest]) break;
    const index_t grown = std::min(2 * made[widest], out[widest]);
    bytes = bytes / made[widest] * grown;
    made[widest] = grown;
  }
  return made;
}

}  // namespace oriel::cli
