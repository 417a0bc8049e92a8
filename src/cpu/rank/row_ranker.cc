#include "cpu/rank/row_ranker.h"

#include <algorithm>
#include <cstring>

#include "cpu/gathered/sorted_taps.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

constexpr index_t kScratchBytes = index_t{32} << 10;  // rows of a network stay in the first cache
constexpr index_t kMostVectors = 64;                  // of a chunk
constexpr index_t kLeastVectors = 16;                 // the reading of a step takes as long as three

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_own_key(Dtype dtype) {
  return dtype == Dtype::u8 || dtype == Dtype::u16 || dtype == Dtype::u32 || dtype == Dtype::i64;
}

}  // namespace

RowRanker::RowRanker(const RankPlan& plan, Arena& arena)
    : plan_(plan), plane_(plan), copy_(strided_copy()), split_(split_phases()) {
  take_rows(arena);
  const RankLayout& layout = plan.layout;
  const Axis& along = layout.along.axis;
  const ConstTensor& x = plan.job.x;
  const ByteSpan span = byte_span(x);
  x_end_ = static_cast<const std::byte*>(x.data) + span.end;
  direct_x_ = is_own_key(x.dtype) && !plan.unwanted.value &&
              span.end - span.begin == element_count(x.shape) * plan.bytes;  // between rows may be what is not x's
  in_line_ = layout.along.y == layout.lanes.n && (layout.lanes.n == 1 || layout.lanes.y == 1) &&
             detail::quantile_count(plan.job.problem.pool) == 1;
  if (MedianRows::size_of(plan) > 0) medians_.emplace(plan, plane_, row_bytes_, in_line_, arena);
  splits_ = along.stride > 1 && layout.along.x == layout.lanes.n && (layout.lanes.n == 1 || layout.lanes.x == 1);
}

void RowRanker::take_rows(Arena& arena) {
  const RankLayout& layout = plan_.layout;
  const index_t vector = kRankVectorBytes / plan_.bytes;
  index_t scratch = 0, inputs = 1, reach = 0, outputs = 1;
  for (const RankNetwork* n : {&plan_.network, &plan_.rest}) {
    if (!n->selection) continue;
    scratch = std::max<index_t>(scratch, n->selection->scratch);
    inputs = std::max<index_t>(inputs, n->selection->inputs);
    reach = std::max<index_t>(reach, n->selection->reach);
    outputs = std::max(outputs, n->outputs);
  }
  row_count_ = layout.down.axis.kernel + outputs - 1;
  const index_t all = plan_.along.size() * plan_.lane_step, rows = scratch + inputs;
  const index_t share = MedianRows::size_of(plan_) > 0 ? 2 : 1;  // their kernels have hardly any scratch rows
  const index_t least = std::max(kLeastVectors * vector, 2 * reach);
  const index_t most = std::max(least, share * kMostVectors * vector);
  const index_t fitting = std::clamp(share * kScratchBytes / (rows * plan_.bytes) - reach, least, most);
  lanes_ = ceil_div(ceil_div(all, ceil_div(all, fitting)), vector) * vector;
  lanes_ = ceil_div(lanes_, plan_.lane_step) * plan_.lane_step;
  row_bytes_ = (lanes_ + reach + plan_.lane_step) * plan_.bytes + 3 * kRankVectorBytes;
  const auto take = [&] { return arena.take(row_bytes_); };
  phase_bytes_ = ceil_div(row_bytes_, kRankVectorBytes) * kRankVectorBytes;
  const auto phases = at(layout.along.axis.stride);
  keys_.resize(at(layout.deep.axis.kernel * row_count_) * phases);
  for (std::size_t i = 0; i < keys_.size(); i += phases) {
    std::byte* const first = arena.take(phase_bytes_ * layout.along.axis.stride);
    for (std::size_t p = 0; p < phases; ++p) keys_[i + p].own = first + static_cast<index_t>(p) * phase_bytes_;
  }
  for (index_t i = 0; i < scratch; ++i) scratch_.push_back(take());
  rows_.resize(at(rows));
  for (std::size_t i = 0; i < plan_.ranks.size(); ++i) found_.push_back(take());
  line_ = take();
}

void RowRanker::run(index_t plane, index_t slice, Range bands) {
  plane_.move_to(plane);
  const index_t positions = lanes_ / plan_.lane_step;
  for (index_t o = plan_.along.begin; o < plan_.along.end; o += positions)
    run_chunk(slice, bands, {o, std::min(o + positions, plan_.along.end)});
}

void RowRanker::run_chunk(index_t slice, Range bands, Range outputs) {
  const RankNetwork& whole = plan_.network;
  if (medians_ && medians_->is_direct(outputs.size())) {
    const index_t begin = plan_.down.begin + bands.begin * whole.outputs;
    return medians_->run(slice, {begin, std::min(begin + bands.size() * whole.outputs, plan_.down.end)}, outputs);
  }
  const Axis& down = plan_.layout.down.axis;
  const index_t rows = down.kernel + whole.outputs - 1, step = whole.outputs * down.stride;
  const index_t shared = down.dilation == 1 ? std::max<index_t>(0, rows - step) : 0;
  for (index_t band = bands.begin; band < bands.end; ++band) {
    const index_t first = plan_.down.begin + band * whole.outputs;
    const RankNetwork& network = first + whole.outputs <= plan_.down.end ? whole : plan_.rest;
    if (band > bands.begin && shared > 0) keep_shared_rows(whole);
    load(network, slice, first, band > bands.begin ? shared : 0, outputs);
    if (is_special(network))
      plane_.run_apart(slice, {first, first + network.outputs}, outputs);
    else
      select(network, slice, first, outputs);
  }
}

// The first rows of a band are the last ones of the band before it.
void RowRanker::keep_shared_rows(const RankNetwork& network) {
  const index_t phases = plan_.layout.along.axis.stride, step = network.outputs * plan_.layout.down.axis.stride;
  for (index_t deep = 0; deep < plan_.layout.deep.axis.kernel; ++deep) {
    KeyRow* const first = &key_row(deep, 0, 0);
    std::rotate(first, first + step * phases, first + row_count_ * phases);
  }
}

// The keys of the rows that the windows read, but for the first `known` ones.
void RowRanker::load(const RankNetwork& network, index_t slice, index_t first, index_t known, Range outputs) {
  const RankLayout& layout = plan_.layout;
  const Axis &a = layout.along.axis, &d = layout.down.axis, &z = layout.deep.axis;
  const index_t rows = d.kernel + network.outputs - 1;
  const index_t vector = kRankVectorBytes / plan_.bytes, wanted = outputs.size() * plan_.lane_step;
  const index_t lanes = wanted + network.selection->reach + vector - 1;
  const index_t positions = outputs.size() + ceil_div(network.selection->reach, plan_.lane_step);
  for (index_t deep = 0; deep < z.kernel; ++deep) {
    const index_t place_z = layout.deep.number < 0 ? 0 : z.at(slice, deep) * layout.deep.x;
    for (index_t r = known; r < rows; ++r) {
      const index_t row = r < d.kernel ? d.at(first, r) : d.at(first, d.kernel - 1) + (r - d.kernel + 1) * d.stride;
      const index_t place = plane_.x() + place_z + (layout.down.number < 0 ? 0 : row * layout.down.x);
      if (splits_) {
        split_row(place, network, outputs.begin, positions, &key_row(deep, r, 0));
        continue;
      }
      for (index_t phase = 0; phase < std::min(a.stride, a.extent()); ++phase) {
        const index_t begin = a.start(outputs.begin) + phase;
        const index_t n = std::min(positions, ceil_div(a.in - begin, a.stride));
        load_row(place + begin * layout.along.x, n, lanes, key_row(deep, r, phase));
      }
    }
  }
}

// The keys of all phases of a row whose elements are beside each other.
void RowRanker::split_row(index_t place, const RankNetwork& network, index_t output, index_t positions,
                          KeyRow* rows) const {
  const RankLayout& layout = plan_.layout;
  const Axis& a = layout.along.axis;
  const index_t lanes = layout.lanes.n, begin = a.start(output), bytes = plan_.bytes;
  const auto* from = static_cast<const std::byte*>(plan_.job.x.data) + (place + begin * layout.along.x) * bytes;
  PhaseRows split{.rows = &from, .step = a.stride, .lanes = lanes, .bytes = bytes, .pitch = phase_bytes_};
  split.inputs = std::min(positions * a.stride, a.in - begin);
  split.least = split.inputs / a.stride;
  split.used = std::min(a.stride, a.extent());
  split.ahead = network.outputs * layout.down.axis.stride * layout.down.x * bytes;
  split.to = rows[0].own;
  split_(split);
  for (index_t phase = 0; phase < split.used; ++phase) {
    KeyRow& row = rows[phase];
    row.keys = row.own;
    row.special = false;
    if (is_own_key(plan_.job.x.dtype) && !plan_.unwanted.value) continue;
    const index_t n = ceil_div(split.inputs - phase, a.stride);
    row.special = plan_.kernels.load(row.own, n * lanes, row.own, plan_.unwanted);
  }
}

// n positions, `stride` apart; the network reads `lanes` lanes, whatever is in the last ones.
void RowRanker::load_row(index_t place, index_t n, index_t lanes_read, KeyRow& row) const {
  const RankLayout& layout = plan_.layout;
  const index_t lanes = layout.lanes.n, step = layout.along.x * layout.along.axis.stride, bytes = plan_.bytes;
  const auto* from = static_cast<const std::byte*>(plan_.job.x.data) + place * bytes;
  const bool together = lanes == 1 || layout.lanes.x == 1;
  row.keys = row.own;
  row.special = false;
  if (together && step == lanes) {
    if (direct_x_ && lanes_read * bytes <= x_end_ - from)
      row.keys = from;
    else
      row.special = plan_.kernels.load(from, n * lanes, row.own, plan_.unwanted);
    return;
  }
  if (together && lanes == 1 && step > 1 && bytes * step < (index_t{1} << 20)) {
    copy_(from, step, n, bytes, row.own);
  } else {
    for (index_t p = 0; p < n; ++p)
      for (index_t l = 0; l < lanes; ++l)
        std::memcpy(row.own + (p * lanes + l) * bytes, from + (p * step + l * layout.lanes.x) * bytes, at(bytes));
  }
  if (!is_own_key(plan_.job.x.dtype) || plan_.unwanted.value)
    row.special = plan_.kernels.load(row.own, n * lanes, row.own, plan_.unwanted);
}

bool RowRanker::is_special(const RankNetwork& network) const {
  const RankLayout& layout = plan_.layout;
  const index_t phases = layout.along.axis.stride, n = (layout.down.axis.kernel + network.outputs - 1) * phases;
  for (index_t deep = 0; deep < layout.deep.axis.kernel; ++deep) {
    const auto first = keys_.begin() + deep * row_count_ * phases;
    if (std::any_of(first, first + n, [](const KeyRow& row) { return row.special; })) return true;
  }
  return false;
}

void RowRanker::select(const RankNetwork& network, index_t slice, index_t first, Range outputs) {
  const Selection& selection = *network.selection;
  const RankLayout& layout = plan_.layout;
  const index_t lanes = outputs.size() * plan_.lane_step;
  const index_t phases = layout.along.axis.stride, n = (layout.down.axis.kernel + network.outputs - 1) * phases;
  auto to = rows_.begin();
  for (index_t deep = 0; deep < layout.deep.axis.kernel; ++deep) {
    for (index_t i = 0; i < n; ++i) *to++ = keys_[at(deep * row_count_ * phases + i)].keys;
  }
  std::copy_n(scratch_.begin(), selection.scratch, to);
  const auto* rows = reinterpret_cast<const void* const*>(rows_.data());
  if (medians_)
    medians_->select(rows, network.outputs, lanes);
  else
    plan_.kernels.exchange(selection, rows, lanes);
  const std::size_t count = plan_.ranks.size();
  for (index_t r = 0; r < network.outputs; ++r) {
    const index_t place = plane_.y_of(slice, first + r, outputs);
    const bool direct = count == 1 && in_line_;
    auto* y = static_cast<std::byte*>(plan_.job.y.data) + place * plan_.bytes;
    for (std::size_t i = 0; i < count; ++i) {
      const SelectedRow& row = selection.results[at(r) * count + i];
      const std::byte* from = medians_ ? medians_->selected(r) : rows_[row.row] + row.shift * plan_.bytes;
      plan_.kernels.store(from, lanes, direct ? y : found_[i]);
    }
    if (!direct) write(place, outputs.size());
  }
}

const std::byte* RowRanker::row_of(index_t rank) const {
  const auto found = std::lower_bound(plan_.ranks.begin(), plan_.ranks.end(), rank);
  return found_[static_cast<std::size_t>(found - plan_.ranks.begin())];
}

// The results of one row from the sorted taps found.
void RowRanker::write(index_t place, index_t positions) {
  const Pool& pool = plan_.job.problem.pool;
  const index_t taps = plan_.taps, lead = plan_.job.y.rank() - plan_.job.x.rank();
  const bool one_rank = pool.rank || pool.op == Op::max || pool.op == Op::min;
  if (one_rank) return store(row_of(plan_.ranks[0]), place, positions);
  for (index_t k = 0; k < detail::quantile_count(pool); ++k) {
    const double q = pool.op == Op::median ? 0.5 : pool.q[at(k)];
    const QuantilePlace quantile = place_of_quantile(pool.method, q, taps);
    const index_t to = place + (lead > 0 ? k * plan_.job.y.pitch[0] : 0);
    const bool one = quantile.low == quantile.high || (pool.method == Quantile::linear && quantile.share == 0);
    if (one)
      store(row_of(quantile.low), to, positions);
    else
      store(between(quantile, positions * plan_.lane_step), to, positions);
  }
}

void RowRanker::store(const std::byte* row, index_t place, index_t positions) const {
  const RankLayout& layout = plan_.layout;
  const index_t lanes = layout.lanes.n, bytes = plan_.bytes, step = layout.along.y;
  auto* to = static_cast<std::byte*>(plan_.job.y.data) + place * bytes;
  if (step == lanes && (lanes == 1 || layout.lanes.y == 1)) {
    std::memcpy(to, row, at(positions * lanes * bytes));
    return;
  }
  for (index_t p = 0; p < positions; ++p)
    for (index_t l = 0; l < lanes; ++l)
      std::memcpy(to + (p * step + l * layout.lanes.y) * bytes, row + (p * lanes + l) * bytes, at(bytes));
}

// Values between two sorted taps, as gathered_rank.cc has them, in line_.
const std::byte* RowRanker::between(const QuantilePlace& quantile, index_t n) {
  const bool middle = plan_.job.problem.pool.method == Quantile::midpoint;
  visit(plan_.job.problem.dtype, [&]<class T>() {
    const T *low = reinterpret_cast<const T*>(row_of(quantile.low)),
            *high = reinterpret_cast<const T*>(row_of(quantile.high));
    T* to = reinterpret_cast<T*>(line_);
    for (index_t i = 0; i < n; ++i) to[i] = between_taps(low[i], high[i], quantile.share, middle);
  });
  return line_;
}

}  // namespace oriel::cpu
