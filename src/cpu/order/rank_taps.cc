#include "cpu/order/rank_taps.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "cpu/gathered/gathered.h"
#include "cpu/gathered/sorted_taps.h"
#include "cpu/order/key.h"
#include "cpu/order/rank_plan.h"
#include "cpu/runtime/parallel.h"
#include "cpu/tap_rows/tap_rows.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr index_t kMostTaps = 128;                    // the networks of all windows at borders are made
constexpr index_t kScratchBytes = index_t{32} << 10;  // of keys: they stay in the first cache

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

QuantilePlace place_of(const Pool& pool, index_t k, index_t n) {
  if (pool.rank) {
    const index_t place = *pool.rank < 0 ? n + *pool.rank : *pool.rank;
    return {place, place, 0};
  }
  return place_of_quantile(pool.method, pool.op == Op::median ? 0.5 : pool.q[at(k)], n);
}

// Taps that are not valid stand below and above the others, so that the place among all is the same for every window:
// so many below.
index_t taps_below(const Pool& pool, index_t k, index_t taps, index_t valid) {
  return place_of(pool, k, taps).low - place_of(pool, k, valid).low;
}

// Rounding could make a place jump by two.
bool fits(const Pool& pool, index_t taps) {
  for (index_t k = 0; k < detail::quantile_count(pool); ++k) {
    index_t before = 0;
    for (index_t n = 1; n <= taps; ++n) {
      const index_t place = place_of(pool, k, n).low;
      if (place < before || place > before + 1) return false;
      before = place;
    }
  }
  return true;
}

std::array<std::byte, 8> fill_of(const Problem& problem) {
  const Pool& pool = problem.pool;
  std::array<std::byte, 8> fill{};
  Scalar value = std::int64_t{0};
  if (pool.fill)
    value = *pool.fill;
  else if (pool.nodata)
    value = *pool.nodata;
  else if (is_floating(problem.result))
    value = std::numeric_limits<double>::quiet_NaN();
  detail::store(value, problem.result, fill.data());
  return fill;
}

// One thread's windows.
class TapRanker {
 public:
  TapRanker(const TapPlan& plan, Arena& arena)
      : problem_(plan.job.problem),
        pool_(problem_.pool),
        kernels_(rank_table().of(problem_.dtype)),
        bytes_(plan.in_bytes),
        fill_(fill_of(problem_)),
        arena_(arena) {
    const index_t taps = problem_.taps(), vector = kRankVectorBytes / bytes_;
    lanes_ = std::clamp<index_t>(kScratchBytes / (2 * taps * bytes_) / vector, 1, 32) * vector;
    unwanted_ = unwanted_of(problem_);
    here_ = arena.take_array<const void*>(taps);
    masks_ = arena.take_array<const void*>(taps);
    for (index_t t = 0; t < taps; ++t) keys_.push_back(take_row());
    valid_ = take_row();
    nan_ = take_row();
    low_ = take_row();
    for (std::byte*& row : found_) row = take_row();
  }

  void operator()(const TapRun& run) {
    if (run.has == 0) return fill_copies(static_cast<std::byte*>(run.y), fill_.data(), bytes_, run.n);
    prepare(run.has);
    TapLanes lanes{.taps = here_, .masks = run.masks != nullptr ? masks_ : nullptr, .unwanted = unwanted_};
    for (index_t t = 0; t < problem_.taps(); ++t) {
      if (run.taps[t] == nullptr) continue;
      if (run.masks != nullptr) masks_[lanes.count] = run.masks[t];
      here_[lanes.count++] = run.taps[t];
    }
    lanes.omits = leaves_out_nan(problem_);
    lanes.keys = reinterpret_cast<void* const*>(keys_.data());
    lanes.valid = valid_;
    lanes.nan = nan_;
    for (lanes.first = 0; lanes.first < run.n; lanes.first += lanes_) {
      lanes.n = std::min(lanes_, run.n - lanes.first);
      const bool special = kernels_.gather(lanes);
      rank(lanes, special, static_cast<std::byte*>(run.y) + lanes.first * bytes_);
    }
  }

 private:
  std::byte* take_row() { return arena_.take(lanes_ * bytes_ + kRankVectorBytes); }

  // The network for windows of so many taps, and how many taps stand below.
  void prepare(index_t taps) {
    if (taps == taps_) return;
    taps_ = taps;
    const QuantilePlace place = place_of(pool_, 0, taps);
    two_ = !pool_.rank && (pool_.method == Quantile::midpoint || pool_.method == Quantile::linear);
    SelectionWindow window;
    window.height = taps;
    window.columns = {{0, 0}};
    window.ranks = {place.low};
    if (two_ && place.low + 1 < taps) window.ranks.push_back(place.low + 1);
    two_ = window.ranks.size() > 1;
    selection_ = selection_of(window);
    while (scratch_.size() < selection_->scratch) scratch_.push_back(take_row());
    rows_.assign(keys_.begin(), keys_.begin() + taps);
    rows_.insert(rows_.end(), scratch_.begin(), scratch_.begin() + selection_->scratch);
    below_.assign(at(taps + 1), 0);
    between_.assign(at(taps + 1), 0);
    shares_.assign(at(taps + 1), 0);
    for (index_t n = 1; n <= taps; ++n) {
      below_[at(n)] = static_cast<std::uint8_t>(taps_below(pool_, 0, taps, n));
      const QuantilePlace own = place_of(pool_, 0, n);
      const bool middle = pool_.method == Quantile::midpoint;
      between_[at(n)] = two_ && own.low != own.high && (middle || own.share != 0) ? ~std::uint32_t{0} : 0;
      shares_[at(n)] = own.share;
    }
    const double share = pool_.min_fraction * static_cast<double>(taps);
    need_ = std::max<index_t>(1, pool_.min_count);
    while (static_cast<double>(need_) < share) ++need_;
  }

  void rank(const TapLanes& lanes, bool special, std::byte* y) {
    visit(problem_.dtype, [&]<class T>() {
      using K = key_t<T>;
      const K* valid = reinterpret_cast<const K*>(valid_);
      if (special) {
        K* low = reinterpret_cast<K*>(low_);
        for (index_t i = 0; i < lanes.n; ++i) low[i] = static_cast<K>(below_[at(static_cast<index_t>(valid[i]))]);
        kernels_.pad(lanes, low_);
      }
      kernels_.exchange(*selection_, reinterpret_cast<const void* const*>(rows_.data()), lanes.n);
      const auto row = [&](std::size_t i) { return rows_[selection_->results[i].row]; };
      kernels_.store(row(0), lanes.n, found_[0]);
      if (two_) {
        kernels_.store(row(1), lanes.n, found_[1]);
        join(reinterpret_cast<T*>(found_[0]), reinterpret_cast<const T*>(found_[1]), valid, lanes.n);
      }
      std::memcpy(y, found_[0], at(lanes.n * bytes_));
      if (!special && taps_ >= need_) return;
      const K* nan = reinterpret_cast<const K*>(nan_);
      bool lacks = false, has_nan = false;
      for (index_t i = 0; i < lanes.n; ++i) {
        lacks |= static_cast<index_t>(valid[i]) < need_;
        has_nan |= nan[i] != 0;
      }
      for (index_t i = 0; i < lanes.n && (lacks || has_nan); ++i) {
        if (static_cast<index_t>(valid[i]) < need_)
          std::memcpy(y + i * bytes_, fill_.data(), at(bytes_));
        else if (nan[i] != 0)
          std::memcpy(y + i * bytes_, &nan[i], at(bytes_));
      }
    });
  }

  // Values between two sorted taps.
  template <class T>
  void join(T* low, const T* high, const key_t<T>* valid, index_t n) const {
    const bool middle = pool_.method == Quantile::midpoint;
    if constexpr (std::is_same_v<T, float>) {
      if (middle) {  // in doubles no sum is out of range; and no branch, as numbers of taps cannot be foretold
        for (index_t i = 0; i < n; ++i) {
          const double mean = (static_cast<double>(low[i]) + static_cast<double>(high[i])) / 2;
          const std::uint32_t own = std::bit_cast<std::uint32_t>(low[i]), use = between_[valid[i]];
          low[i] = std::bit_cast<float>(own ^ ((own ^ std::bit_cast<std::uint32_t>(static_cast<float>(mean))) & use));
        }
        return;
      }
    }
    for (index_t i = 0; i < n; ++i) {
      const auto count = static_cast<std::size_t>(valid[i]);
      if (between_[count] != 0) low[i] = between_taps(low[i], high[i], shares_[count], middle);
    }
  }

  const Problem& problem_;
  const Pool& pool_;
  const RankKernels kernels_;
  const index_t bytes_;
  const std::array<std::byte, 8> fill_;
  Arena& arena_;
  Unwanted unwanted_;
  index_t lanes_ = 0;
  const void** here_;
  const void** masks_;
  std::vector<std::byte*> keys_, scratch_;
  std::vector<const std::byte*> rows_;  // of the network
  std::byte *valid_, *nan_, *low_;
  std::array<std::byte*, 2> found_{};
  index_t taps_ = -1, need_ = 1;
  bool two_ = false;  // results lie between two taps
  std::shared_ptr<const Selection> selection_;
  std::vector<std::uint8_t> below_;     // taps that stand below, for each number of valid ones
  std::vector<std::uint32_t> between_;  // all bits if results lie between two of them
  std::vector<double> shares_;
};

}  // namespace

bool can_rank_taps(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  if (pool.op != Op::median && pool.op != Op::quantile) return false;
  if (detail::quantile_count(pool) > 1 || problem.result != problem.dtype) return false;
  if (pool.rank && job.mask != nullptr) return false;
  return problem.taps() <= kMostTaps && TapPlan::can(job) && fits(pool, problem.taps());
}

bool rank_taps_pays(const Statistic& job) { return job.problem.taps() > 1 && element_count(job.y.shape) >= 64; }

void run_rank_taps(const Statistic& job, int threads) {
  if (!can_rank_taps(job)) return run_gathered(job, threads);
  const TapPlan plan(job);
  parallel_for(plan.items(), plan.item_bytes() * 8, threads, [&](index_t begin, index_t end) {
    Arena arena;
    TapReader reader(plan, arena);
    TapRanker ranker(plan, arena);
    reader.each_run(begin, end, ranker);
  });
}

}  // namespace oriel::cpu
