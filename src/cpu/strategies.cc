#include "cpu/strategies.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>

#include "cpu/argmax/argmax.h"
#include "cpu/box_gradient/box_gradient.h"
#include "cpu/channels/channels.h"
#include "cpu/chords/chords.h"
#include "cpu/code_gradient/gather.h"
#include "cpu/disjoint/blocks.h"
#include "cpu/disjoint/disjoint_gradient.h"
#include "cpu/disjoint/global.h"
#include "cpu/disjoint/split_window.h"
#include "cpu/gathered/gathered.h"
#include "cpu/histogram/histogram.h"
#include "cpu/indexed/found_indices.h"
#include "cpu/indexed/scatter.h"
#include "cpu/long/axes.h"
#include "cpu/long/search.h"
#include "cpu/masked/masked.h"
#include "cpu/moments/moments.h"
#include "cpu/order/rank_taps.h"
#include "cpu/planes/planes.h"
#include "cpu/rank/rank_rows.h"
#include "cpu/recipe/recipe.h"
#include "cpu/rewrite/mirrored_gradient.h"
#include "cpu/rewrite/recomputed_gradient.h"
#include "cpu/rewrite/transposed.h"
#include "cpu/rewrite/transposed_gradient.h"
#include "cpu/rows/rows.h"
#include "cpu/sliding/sliding.h"
#include "cpu/soft/soft.h"
#include "cpu/sum_gradient/adjoint_rows.h"
#include "cpu/sum_gradient/shares.h"
#include "cpu/valid_blocks/valid_blocks.h"
#include "cpu/valid_blocks/whole_sums.h"
#include "cpu/vote/vote.h"
#include "cpu/widened/widened_ranks.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "quoted.h"

namespace oriel::cpu {
namespace {

constexpr Strategy<FoldJob> kFolds[] = {
    {"search", &can_seek, &seeking_pays, &run_seek,
     "magnitudes and NaN left out, of 64 taps or more beside each other: each window is searched"},
    {"channels", &can_columns, &columns_pay, &run_columns, "16 lanes or more side by side fill vectors of every type"},
    {"split", &can_chunks, &chunks_pay, &run_chunks, "one window of thousands of taps is work for all threads"},
    {"global", &can_global, &always, &run_global,
     "one window over a whole plane: 7x7 and 56x56 took two to four times as long"},
    {"disjoint", &can_blocks, &blocks_pay, &run_blocks, "windows apart from each other: output by output is scalar"},
    {"masked", &can_stacks, &stacks_pay, &run_stacks,
     "many planes, rows of at most two vectors: 3x3 on 14x14 is 4 copies, as planes 7"},
    {"transposed", &can_turned, &turned_pays, &run_turned,
     "other short rows: 13x13 taps on 13x13 take half the time of sliding"},
    {"planes", &can_planes, &planes_pay, &run_planes,
     "dense rows, at most 8 taps: 112 wide 2x2 is 1.05 copies, rows 1.6"},
    {"running", &can_running, &running_pays, &run_running,
     "integer sums of long windows that overlap: 31x31 of bytes took 2.5 times as long with powers of two"},
    {"sliding", &can_long, &long_pays, &run_long,
     "windows of more than 8 taps that overlap: 31x31 took twice as long as rows"},
    {"axes", &always, &axes_pay, &run_axes,
     "more than 64 taps across rows, which share partial results: tap by tap took time n k"},
    {"rows", &always, &always, &run_rows, "any reduction, layout and window"},
};

constexpr Strategy<FoldJob> kArgmaxFolds[] = {
    {"registers", &can_codes, &always, &run_codes,
     "floats, 2 or 3 taps along rows, f32 to 5, or vectors of lanes: 3x3 s2 1.3 copies, in boxes 2.3"},
    {"search", &can_seek, &seeking_pays, &run_seek, "64 taps or more beside each other: each window is searched"},
    {"found", &can_find_indices, &finding_indices_pays_first, &run_found_indices,
     "windows that share no input, or change in size, of many taps: values first, then each is looked for; 7x7 planes "
     "took three times as long in boxes"},
    {"boxes", &can_places, &always, &run_places, "at most 8 taps along each of up to 3 axes"},
    {"found", &can_find_indices, &finding_indices_pays, &run_found_indices,
     "other windows that share no input, or change in size: 9x9 took twice as long as rows"},
    {"axes", &always, &axes_pay, &run_axes,
     "more than 64 taps across rows, which share partial results: tap by tap took time n k"},
    {"rows", &always, &always, &run_rows, "any layout and window"},
};

constexpr Strategy<Gradient> kSumGradients[] = {
    {"disjoint", &can_disjoint, &disjoint_fills_vectors, &run_disjoint,
     "windows that share no input, over dense rows or 8 lanes or more: dx is written once"},
    {"mirrored", &can_mirror, &mirror_pays, &run_mirror,
     "windows with stride 1: the gradient is itself a sum, over mirrored windows"},
    {"transposed", &can_turn, &turning_pays, &run_turned_gradient,
     "many small planes with short rows: planes are put side by side meanwhile"},
    {"adjoint_rows", &can_add_rows, &always, &run_added_rows,
     "each input adds the shares of at most eight windows that read it, row by row"},
    {"shares", &always, &always, &run_shares,
     "any window: a tensor of shares, one of each output, is folded over the adjoint axes"},
};

constexpr Strategy<Gradient> kExtremumGradients[] = {
    {"recomputed", &can_recompute, &recomputing_pays_first, &run_recomputed,
     "large tensors, 2 to 5 taps: codes are computed a few planes at a time, then used"},
    {"disjoint", &can_disjoint, &disjoint_fills_vectors, &run_disjoint,
     "windows that share no input, over dense rows or 8 lanes or more: dx is written once"},
    {"indices", &always, &finding_pays_in_gradient, &run_by_indices,
     "windows of more than 255 taps that share no input: of 20x20 half the time of planes side by side"},
    {"transposed", &can_turn, &turning_pays, &run_turned_gradient,
     "many small planes with short rows: planes are put side by side meanwhile"},
    {"boxes", &can_gather, &always, &run_gather,
     "floats, at most 8 taps along each of up to 3 axes: each input gathers from the windows whose extremum it is"},
    {"disjoint", &can_disjoint, &always, &run_disjoint, "other windows that share no input"},
    {"recomputed", &can_recompute, &always, &run_recomputed,
     "other windows of at most 255 taps: codes are computed, then used"},
    {"indices", &always, &always, &run_by_indices,
     "any window: indices are computed, and each output added to its input"},
};

constexpr Strategy<Gradient> kIndexedGradients[] = {
    {"gathered", &can_gather_codes, &gathering_codes_pays, &run_gathered_codes,
     "codes of one byte: each input gathers from the windows whose extremum it is"},
    {"scattered", &can_scatter_codes, &always, &run_scattered_codes,
     "codes of one byte: each output is added to its input"},
    {"widened", &has_codes, &always, &run_widened, "other codes: they are widened first"},
    {"boxes", &can_gather, &always, &run_gather,
     "floats, at most 8 taps along each of up to 3 axes: a box of inputs at a time gathers"},
    {"indices", &has_wide_indices, &always, &run_by_indices, "any window: each output is added to its input"},
};

constexpr Strategy<Statistic> kStatistics[] = {
    {"histogram", &can_histogram, &histogram_pays, &run_histogram,
     "medians and quantiles of bytes in large windows: columns are counted, 31x31 by a network took 4 times as long"},
    {"chords", &can_chords, &always, &run_chords,
     "extrema and their distance in windows of any shape that step by one: disk(5) took 5 times as long by networks"},
    {"whole_sums", &can_whole_sums, &whole_sums_pay, &run_whole_sums,
     "sums and averages of integers into another dtype: rows are added by columns, exactly; 16x16 by tap took twice as "
     "long"},
    {"valid_blocks", &can_valid_blocks, &valid_blocks_pay, &run_valid_blocks,
     "sums, averages, extrema and counts of few taps: one pass over rows; maxima of 2x2 with a mask took 60 times as "
     "long"},
    {"networks", &can_rank_rows, &rank_rows_pays, &run_rank_rows,
     "medians and quantiles without a mask: networks over rows, which share sorted columns: 3x3 of bytes took 300 "
     "times as long"},
    {"masked_networks", &can_rank_taps, &rank_taps_pays, &run_rank_taps,
     "the same with a mask, at most 128 taps: a network for the taps of windows beside each other"},
    {"widened_ranks", &can_widened_ranks, &widened_ranks_pay, &run_widened_ranks,
     "medians and quantiles of integers into f64: those of the integers, or means of two; 2x2 of bytes took 100 times "
     "as long"},
    {"vote", &can_vote, &always, &run_vote,
     "modes and numbers of distinct integers, at most 64 taps: sorted in vectors of windows; 2x2x2 took 80 times as "
     "long"},
    {"moments", &can_moments, &always, &run_moments,
     "sums, counts, variances and the like over box windows: rows of states are folded axis by axis"},
    {"exponentials", &can_soft, &always, &run_soft,
     "lse and soft over box windows: the exponentials of many windows at a time"},
    {"gathered", &always, &always, &run_gathered, "any op, mask, footprint and window: its valid taps are gathered"},
};

using Names = std::set<std::string, std::less<>>;
const Names kNone;
std::atomic<const Names*> forced{nullptr};
std::atomic<std::int64_t> forced_count{0};

template <class Job>
void add_names(std::span<const Strategy<Job>> table, std::vector<std::string>& all) {
  for (const Strategy<Job>& s : table) {
    if (std::find(all.begin(), all.end(), s.name) == all.end()) all.emplace_back(s.name);
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> all;
  for (const auto table : {folds(), argmax_folds()}) add_names(table, all);
  for (const auto table : {sum_gradients(), extremum_gradients(), indexed_gradients()}) add_names(table, all);
  add_names(statistics(), all);
  return all;
}

// Kept until the program ends: another thread may look at it.
const Names* names_in(std::string_view text, const char* what) {
  if (text.empty()) return &kNone;
  const std::vector<std::string> all = all_names();
  Names names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      throw Error(
          fmt::format("{}: {} is not a strategy; allowed: {}", what, detail::quoted(name), fmt::join(all, ", ")));
    }
    names.emplace(name);
  }
  static std::mutex mutex;
  static std::set<Names> kept;
  const std::lock_guard lock(mutex);
  return &*kept.insert(std::move(names)).first;
}

const Names& forced_names() {
  const Names* names = forced.load(std::memory_order_acquire);
  if (names == nullptr) {
    const char* wanted = std::getenv("ORIEL_STRATEGY");
    names = names_in(wanted == nullptr ? "" : wanted, "ORIEL_STRATEGY");
    const Names* unset = nullptr;
    if (!forced.compare_exchange_strong(unset, names)) names = unset;  // force_strategies came first
  }
  return *names;
}

template <class Job>
const Strategy<Job>& choose(std::span<const Strategy<Job>> table, const Job& job) {
  const auto chosen = [&]() -> const Strategy<Job>& {
    return *std::find_if(table.begin(), table.end(), [&](const auto& s) { return s.can(job) && s.pays(job); });
  };
  const Names& names = forced_names();
  if (names.empty()) return chosen();
  for (const Strategy<Job>& s : table) {
    if (!names.contains(s.name) || !s.can(job)) continue;
    ++forced_count;
    return s;
  }
  return chosen();
}

}  // namespace

std::span<const Strategy<FoldJob>> folds() { return kFolds; }
std::span<const Strategy<FoldJob>> argmax_folds() { return kArgmaxFolds; }
std::span<const Strategy<Gradient>> sum_gradients() { return kSumGradients; }
std::span<const Strategy<Gradient>> extremum_gradients() { return kExtremumGradients; }
std::span<const Strategy<Gradient>> indexed_gradients() { return kIndexedGradients; }
std::span<const Strategy<Statistic>> statistics() { return kStatistics; }

const Strategy<FoldJob>& strategy_of(const FoldJob& job) {
  return choose(job.index == nullptr ? folds() : argmax_folds(), job);
}

const Strategy<Gradient>& strategy_of(const Gradient& gradient) {
  if (gradient.index != nullptr) return choose(indexed_gradients(), gradient);
  return choose(finds_extrema(gradient.problem) ? extremum_gradients() : sum_gradients(), gradient);
}

const Strategy<Statistic>& strategy_of(const Statistic& job) { return choose(statistics(), job); }

void force_strategies(std::string_view names) { forced = names_in(names, "force_strategies"); }
std::int64_t forced_jobs() { return forced_count; }

}  // namespace oriel::cpu
