#include "cli/rank_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr index_t kMostRanks = 32, kMostInputs = 36;

int last_axis(const Problem& problem) { return problem.axes[static_cast<std::size_t>(problem.pooled) - 1]; }

std::string named(const char* one, const char* many, Range range) {
  if (range.empty()) return fmt::format("no {}", one);
  if (range.size() == 1) return fmt::format("{} {}", one, range.begin);
  return fmt::format("{} {} to {}", many, range.begin, range.end - 1);
}

}  // namespace

std::vector<RankRow> rank_rows(const Problem& problem, const std::vector<index_t>& bounds) {
  const int d = last_axis(problem);
  std::vector<distributed::Cuts> cuts;
  cuts.reserve(static_cast<std::size_t>(problem.shape.size()));
  for (int a = 0; a < problem.shape.size(); ++a)
    cuts.push_back(a == d ? distributed::Cuts(bounds) : distributed::Cuts({0, problem.shape[a]}));
  const distributed::Partition inputs(cuts);
  const distributed::HaloPlan plan(problem, inputs, distributed::centred_outputs(problem, inputs));
  if (plan.ranks() > kMostRanks || problem.shape[d] > kMostInputs) {
    throw Error(fmt::format("--ranks: draws at most {} inputs among {} ranks, but there are {} among {}", kMostInputs,
                            kMostRanks, problem.shape[d], plan.ranks()));
  }
  std::vector<RankRow> rows;
  for (index_t r = 0; r < plan.ranks(); ++r) {
    const distributed::Exchange e = plan.forward(r);
    RankRow row{r, e.owned.along(d), e.needed.along(d), e.made.along(d), {}};
    row.facts.push_back("makes " + named("output", "outputs", row.made));
    for (const distributed::Piece& p : e.receive)
      row.facts.push_back(fmt::format("receives {} from rank {}", named("input", "inputs", p.box.along(d)), p.rank));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string ranks_text(const Problem& problem, const std::vector<RankRow>& rows, bool ascii) {
  const int d = last_axis(problem);
  const char* const owned = ascii ? "#" : "■";
  const char* const halo = ascii ? "o" : "○";
  std::string text = fmt::format("\naxis {} divided among {} ranks\n\n  {:<12}", d, rows.size(), "input");
  for (index_t i = 0; i < problem.shape[d]; ++i) text += fmt::format("{:>3}", i);
  text += "\n";
  for (const RankRow& row : rows) {
    text += fmt::format("  {:<12}", fmt::format("rank {}", row.rank));
    for (index_t i = 0; i < problem.shape[d]; ++i)
      text += fmt::format("  {}", row.owned.contains(i) ? owned : row.needed.contains(i) ? halo : " ");
    text += fmt::format("   {}\n", fmt::join(row.facts, ", "));
  }
  return text + fmt::format("\n{} owned   {} halo: received from the rank that owns it\n", owned, halo);
}

std::vector<index_t> parse_ranks(const Problem& problem, const std::string& text) {
  std::vector<index_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    index_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next != end && *next != ',')) {
      throw Error(fmt::format("--ranks: {} is not understood; allowed: a number such as 4, or bounds such as 0,5,6,10",
                              detail::quoted(text)));
    }
    values.push_back(value);
    more = next != end;
    at = next + 1;
  }
  const index_t inputs = problem.shape[last_axis(problem)];
  if (values.size() == 1) return distributed::Cuts::balanced(inputs, values[0]).bounds();
  if (distributed::Cuts(values).extent() != inputs) {
    throw Error(
        fmt::format("--ranks: the last bound must be the number of inputs, {}, but is {}", inputs, values.back()));
  }
  return values;
}

}  // namespace oriel::cli
