#include "cpu/histogram/histogram.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/gathered/sorted_taps.h"
#include "cpu/histogram/histogram_kernels.h"
#include "cpu/order/key.h"
#include "cpu/order/windows.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/targets.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr index_t kColumns = 1280;  // of a strip: their counts stay in the second cache
// Of fewer taps networks are quicker: 15x15 with vectors of 64 bytes took half as long. A fifth of them with masks, as
// those networks share nothing.
constexpr index_t kLeastTaps = 200, kLeastTapsOfLongVectors = 300;

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_byte(Dtype dtype) { return dtype == Dtype::u8 || dtype == Dtype::i8 || dtype == Dtype::boolean; }

index_t quantiles(const Pool& pool) { return detail::quantile_count(pool); }

QuantilePlace place_of(const Pool& pool, index_t k, index_t n) {
  if (pool.rank) {
    const index_t place = *pool.rank < 0 ? n + *pool.rank : *pool.rank;
    return {place, place, 0};
  }
  return place_of_quantile(pool.method, pool.op == Op::median ? 0.5 : pool.q[at(k)], n);
}

// Along a loop or an axis of x, what the mask's pitch is there.
index_t mask_pitch(const Statistic& job, int dimension) {
  return job.mask == nullptr || dimension < 0 ? 0 : job.mask->pitch[dimension];
}

// What all threads of a call share.
struct HistogramPlan {
  HistogramPlan(const Statistic& statistic, const RankLayout& rows, int threads);

  int dimension(const RankAxis& axis) const { return axis.number < 0 ? -1 : job.problem.axes[at(axis.number)]; }

  const Statistic& job;
  const RankLayout& layout;
  const Pool& pool;
  bool two = false;  // results may lie between two taps
  index_t taps = 1;
  std::vector<std::vector<std::uint16_t>> ranks;  // of each wanted key, for every number of valid taps
  ByteRule rule;
  index_t strip = 1, strips = 1;  // of outputs along rows
  index_t band = 1, bands = 1;    // of rows of outputs
  index_t planes = 1;             // with lanes
};

HistogramPlan::HistogramPlan(const Statistic& statistic, const RankLayout& rows, int threads)
    : job(statistic), layout(rows), pool(statistic.problem.pool) {
  two = !pool.rank && (pool.method == Quantile::midpoint || pool.method == Quantile::linear);
  taps = job.problem.taps();
  for (index_t k = 0; k < quantiles(pool); ++k) {
    std::vector<std::uint16_t> low(at(taps + 1)), high(at(taps + 1));
    for (index_t n = 1; n <= taps; ++n) {
      const QuantilePlace place = place_of(pool, k, n);
      low[at(n)] = static_cast<std::uint16_t>(std::clamp<index_t>(place.low, 0, n - 1));
      high[at(n)] = static_cast<std::uint16_t>(std::clamp<index_t>(place.high, 0, n - 1));
    }
    ranks.push_back(std::move(low));
    if (two) ranks.push_back(std::move(high));
  }
  rule.boolean = job.problem.dtype == Dtype::boolean;
  rule.flip = job.problem.dtype == Dtype::i8 ? 0x80 : 0;
  rule.has_nodata = pool.nodata.has_value();
  if (rule.has_nodata) {
    std::uint8_t byte = 0;
    detail::store(*pool.nodata, job.problem.dtype, &byte);
    rule.nodata = rule.boolean ? byte != 0 : byte ^ rule.flip;
  }
  const Axis &a = rows.along.axis, &d = rows.down.axis;
  const index_t columns = std::max(kColumns, 5 * a.kernel);
  strips = ceil_div(a.out, std::max<index_t>(1, (columns - a.kernel) / a.stride));
  strip = ceil_div(a.out, strips);
  strips = ceil_div(a.out, strip);
  planes = rows.plane_count * rows.lanes.n;
  const index_t workers = threads > 0 ? threads : default_threads();
  const index_t wanted = workers == 1 ? 1 : ceil_div(4 * workers, planes * strips * rows.deep.axis.out);
  band = std::max(ceil_div(d.out, wanted), ceil_div(2 * d.kernel, d.stride));  // a band begins with all its rows
  bands = ceil_div(d.out, band);
}

// One thread's results.
class Histogram {
 public:
  Histogram(const HistogramPlan& plan, Arena& arena) : plan_(plan), kernels_(histogram_kernels()) {
    const Axis& a = plan.layout.along.axis;
    most_columns_ = std::min(a.in, (plan.strip - 1) * a.stride + a.kernel);
    counts_.coarse = arena.take_array<std::uint8_t>(most_columns_ * kBins);
    counts_.fine = arena.take_array<std::uint8_t>(most_columns_ * kBins * kBins);
    windows_ = arena.take_array<Range>(plan.strip);
    valid_ = arena.take_array<std::uint16_t>(plan.strip);
    rests_ = arena.take_array<std::uint16_t>(plan.strip);
    bins_ = arena.take_array<std::uint8_t>(plan.strip);
    for (const auto& table : plan.ranks) {
      ranks_.push_back(table.data());
      keys_.push_back(arena.take_array<std::uint8_t>(plan.strip));
    }
    const Pool& pool = plan.pool;
    Scalar fill = std::int64_t{0};
    if (pool.fill)
      fill = *pool.fill;
    else if (pool.nodata)
      fill = *pool.nodata;
    detail::store(fill, plan.job.problem.dtype, &fill_);
  }

  void run(index_t plane, index_t slice, index_t band, index_t strip) {
    move_to(plane, slice);
    set_strip(strip);
    const Axis& d = plan_.layout.down.axis;
    const bool whole = plan_.job.mask == nullptr && !plan_.rule.has_nodata;
    Range rows;
    for (index_t o = band * plan_.band; o < std::min(d.out, (band + 1) * plan_.band); ++o) {
      rows = count(rows, o, o == band * plan_.band);
      if (counts_.columns == 0)
        std::fill_n(valid_, outputs_.size(), std::uint16_t{0});
      else
        kernels_.find({counts_, windows_, sliding_, whole, outputs_.size(), ranks_.data(),
                       static_cast<index_t>(ranks_.size()), keys_.data(), valid_, bins_, rests_});
      visit(plan_.job.problem.dtype, [&]<class T>() {
        if constexpr (sizeof(T) == 1) write<T>(o, rows.size());
      });
    }
  }

 private:
  void move_to(index_t plane, index_t slice) {
    const RankLayout& layout = plan_.layout;
    x_ = y_ = mask_ = 0;
    const auto move = [&](const RankLoop& loop) {
      const index_t here = plane % loop.n;
      plane /= loop.n;
      x_ += here * loop.x;
      y_ += here * loop.y;
      mask_ += here * mask_pitch(plan_.job, loop.axis);
    };
    move(layout.lanes);
    for (int i = layout.plane_dims - 1; i >= 0; --i) move(layout.planes[at(i)]);
    deep_.clear();
    const Axis& z = layout.deep.axis;
    const Range taps = z.taps(slice);
    for (index_t t = taps.begin; t < taps.end; ++t) deep_.push_back(z.at(slice, t));
    y_ += slice * layout.deep.y;
  }

  void set_strip(index_t strip) {
    const Axis& a = plan_.layout.along.axis;
    outputs_ = {strip * plan_.strip, std::min(a.out, (strip + 1) * plan_.strip)};
    const Range columns = a.needs(outputs_);
    first_column_ = columns.begin;
    counts_.columns = columns.size();
    index_t last = 0;
    for (index_t o = outputs_.begin; o < outputs_.end; ++o) {
      const Range taps = a.taps(o);
      Range& window = windows_[o - outputs_.begin];
      window = {last, last};  // none
      if (taps.empty()) continue;
      window = {a.at(o, taps.begin) - columns.begin, a.at(o, taps.end - 1) + 1 - columns.begin};
      last = window.end;
    }
    find_sliding();
  }

  // The longest run: others are at borders.
  void find_sliding() {
    sliding_ = {};
    index_t begin = 1;
    for (index_t i = 1; i < outputs_.size(); ++i) {
      const Range &before = windows_[i - 1], &window = windows_[i];
      if (before.empty() || window.begin != before.begin + 1 || window.end != before.end + 1) begin = i + 1;
      if (i + 1 - begin > sliding_.size()) sliding_ = {begin, i + 1};
    }
  }

  CountedRow row(index_t deep, index_t down) const {
    const RankLayout& layout = plan_.layout;
    const Statistic& job = plan_.job;
    CountedRow r{.pitch = layout.along.x};
    r.x = static_cast<const std::uint8_t*>(job.x.data) + x_ + deep * layout.deep.x + down * layout.down.x +
          first_column_ * layout.along.x;
    if (job.mask == nullptr) return r;
    r.mask_pitch = mask_pitch(job, plan_.dimension(layout.along));
    r.mask = static_cast<const std::uint8_t*>(job.mask->data) + mask_ +
             deep * mask_pitch(job, plan_.dimension(layout.deep)) +
             down * mask_pitch(job, plan_.dimension(layout.down)) + first_column_ * r.mask_pitch;
    return r;
  }

  // Makes columns have the rows of output o, from those that they have.
  Range count(Range had, index_t o, bool first) {
    const Axis& d = plan_.layout.down.axis;
    const Range taps = d.taps(o);
    Range rows{had.end, had.end};
    if (!taps.empty()) rows = {d.at(o, taps.begin), d.at(o, taps.end - 1) + 1};
    if (first || rows.begin >= had.end) {
      std::memset(counts_.coarse, 0, at(counts_.columns * kBins));
      std::memset(counts_.fine, 0, at(counts_.columns * kBins * kBins));
      had = {rows.begin, rows.begin};
    }
    for (const index_t deep : deep_) {
      index_t out = had.begin, in = had.end;
      for (; out < rows.begin && in < rows.end; ++out, ++in)
        kernels_.replace(row(deep, out), row(deep, in), plan_.rule, counts_);
      for (; out < rows.begin; ++out) kernels_.leave(row(deep, out), plan_.rule, counts_);
      for (; in < rows.end; ++in) kernels_.enter(row(deep, in), plan_.rule, counts_);
    }
    return rows;
  }

  template <class T>
  void write(index_t o, index_t rows) const {
    const RankLayout& layout = plan_.layout;
    const Pool& pool = plan_.pool;
    const Axis& a = layout.along.axis;
    const bool plain = plan_.job.plain() && pool.min_count <= 1 && pool.min_fraction == 0;
    const index_t lead = quantiles(pool) > 1 ? plan_.job.y.pitch[0] : 0;
    for (index_t k = 0; k < quantiles(pool); ++k) {
      T* to = static_cast<T*>(plan_.job.y.data) + y_ + k * lead + o * layout.down.y + outputs_.begin * layout.along.y;
      const std::uint8_t* low = keys_[at(plan_.two ? 2 * k : k)];
      const std::uint8_t* high = keys_[at(plan_.two ? 2 * k + 1 : k)];
      if (plain && !plan_.two && std::all_of(valid_, valid_ + outputs_.size(), [](std::uint16_t n) { return n > 0; })) {
        if (layout.along.y == 1)
          std::transform(low, low + outputs_.size(), to, value_of<T>);
        else
          for (index_t i = 0; i < outputs_.size(); ++i) to[i * layout.along.y] = value_of<T>(low[i]);
        continue;
      }
      for (index_t i = 0; i < outputs_.size(); ++i, to += layout.along.y) {
        const index_t n = valid_[i];
        bool enough = n >= std::max<index_t>(1, pool.min_count);
        if (!plain && enough) {
          const index_t exist = rows * static_cast<index_t>(deep_.size()) * a.taps(outputs_.begin + i).size();
          enough = static_cast<double>(n) >= pool.min_fraction * static_cast<double>(exist);
        }
        if (!enough)
          std::memcpy(to, &fill_, 1);
        else if (plan_.two)
          *to = between<T>(low[i], high[i], k, n);
        else
          *to = value_of<T>(low[i]);
      }
    }
  }

  template <class T>
  T between(std::uint8_t low, std::uint8_t high, index_t k, index_t n) const {
    const QuantilePlace place = place_of(plan_.pool, k, n);
    const bool middle = plan_.pool.method == Quantile::midpoint;
    if (place.low == place.high || (!middle && place.share == 0)) return value_of<T>(low);
    return between_taps(value_of<T>(low), value_of<T>(high), place.share, middle);
  }

  const HistogramPlan& plan_;
  const HistogramKernels& kernels_;
  index_t most_columns_ = 0;
  ColumnCounts counts_;
  Range* windows_;
  std::uint16_t *valid_, *rests_;
  std::uint8_t* bins_;
  std::vector<const std::uint16_t*> ranks_;
  std::vector<std::uint8_t*> keys_;
  std::uint8_t fill_ = 0;
  index_t x_ = 0, y_ = 0, mask_ = 0, first_column_ = 0;
  Range outputs_, sliding_;
  std::vector<index_t> deep_;  // slices of inputs
};

}  // namespace

bool can_histogram(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  if ((pool.op != Op::median && pool.op != Op::quantile) || !is_byte(problem.dtype)) return false;
  if (problem.result != problem.dtype || job.weights != nullptr || job.index != nullptr) return false;
  if (!pool.footprint.empty() || (pool.rank && job.mask != nullptr) || problem.taps() > kMostWindowTaps) return false;
  const auto layout = rank_layout(job);
  return layout && layout->along.axis.dilation == 1 && layout->down.axis.dilation == 1 &&
         layout->down.axis.kernel * layout->deep.axis.kernel <= kMostColumnTaps;
}

// Where windows hardly overlap, what columns count is of little use.
bool histogram_pays(const Statistic& job) {
  const auto layout = rank_layout(job);
  const bool long_vectors = supported_kernels()[active_number()].vector_bytes >= 64;
  const index_t least = !job.plain() ? kLeastTaps / 5 : long_vectors ? kLeastTapsOfLongVectors : kLeastTaps;
  const index_t taps = job.problem.taps();
  return taps >= least && element_count(job.y.shape) >= 64 &&
         16 * layout->along.axis.stride * layout->down.axis.stride <= taps;
}

void run_histogram(const Statistic& job, int threads) {
  const std::optional<RankLayout> layout = rank_layout(job);
  const HistogramPlan plan(job, *layout, threads);
  const index_t slices = layout->deep.axis.out, items = plan.planes * slices * plan.bands * plan.strips;
  const index_t task = plan.band * plan.strip * 64;  // bytes that a copy moves in this time
  parallel_for(items, task, threads, [&](index_t begin, index_t end) {
    Arena arena;
    Histogram histogram(plan, arena);
    for (index_t i = begin; i < end; ++i) {
      index_t rest = i;
      const auto next = [&](index_t n) {
        const index_t here = rest % n;
        rest /= n;
        return here;
      };
      const index_t strip = next(plan.strips), band = next(plan.bands), slice = next(slices);
      histogram.run(rest, slice, band, strip);
    }
  });
}

}  // namespace oriel::cpu
