#include "cpu/valid_blocks/whole_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/runtime/parallel.h"
#include "cpu/tap_rows/tap_rows.h"
#include "cpu/valid_blocks/fill.h"
#include "cpu/valid_blocks/finish_kernels.h"
#include "cpu/valid_blocks/whole_kernels.h"

namespace oriel::cpu {
namespace {

constexpr index_t kTileSums = 4096;                 // of columns
constexpr index_t kMostTaps = index_t{1} << 20;     // of 32 bits: quotients of f64 are right
constexpr index_t kMostRows = index_t{1} << 15;     // 16 bits each are added in 32
constexpr index_t kMostShort = 256;                 // 8 bits in 16
constexpr index_t kMostDivisor = index_t{1} << 26;  // see kMostTaps
// Rows of windows that share them, which are added for each; of 64 bits.
constexpr index_t kMostShared = 64, kMostLongShared = 16;
constexpr index_t kGatheredBytes = index_t{1} << 18;

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_long(Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::u64; }

TapLane lane_of(const Problem& problem) {
  const index_t bytes = size_bytes(problem.dtype);
  if (bytes >= 4) return TapLane::i64;
  const index_t largest = bytes == 1 ? 255 : 65535;
  return problem.taps() <= highest_value<std::int32_t>() / largest ? TapLane::i32 : TapLane::i64;
}

TapFinish finish_of(const Problem& problem) {
  return problem.pool.op == Op::avg ? TapFinish::average : TapFinish::value;
}

ColumnLane column_lane(Dtype dtype, index_t rows) {
  if (size_bytes(dtype) >= 4) return ColumnLane::i64;
  if (size_bytes(dtype) == 2 || rows > kMostShort) return ColumnLane::i32;
  return dtype == Dtype::i8 ? ColumnLane::i16 : ColumnLane::u16;
}

// What all threads share.
struct Work {
  explicit Work(const Statistic& of)
      : job(of),
        plan(job),
        lane(lane_of(job.problem)),
        column(column_lane(job.problem.dtype, plan.across_taps)),
        kernels(whole_kernels(job.problem.dtype, column, lane, job.problem.result)),
        finish(finish_taps(finish_of(job.problem), lane, job.problem.result)) {
    store_fill(job.problem, fill.data());
    const Axis& along = plan.along;
    outputs = kTileSums / (along.stride * plan.lanes);
    if (!plan.dense_x)
      outputs = std::min(outputs, kGatheredBytes / (plan.across_taps * plan.in_bytes * along.stride * plan.lanes));
    outputs = std::clamp<index_t>(outputs, std::min(along.out, 4 * along.extent() / along.stride + 1), along.out);
    tiles = (along.out + outputs - 1) / outputs;
    columns = (outputs - 1) * along.stride + along.extent();
  }
  index_t items() const { return plan.layout.plane_count() * plan.rows * tiles; }

  const Statistic& job;
  const TapPlan plan;
  const TapLane lane;
  const ColumnLane column;
  const WholeKernels kernels;
  const FinishTaps finish;
  index_t outputs = 1, tiles = 1, columns = 1;  // of a tile
  alignas(8) std::array<std::byte, 8> fill{};
};

// One thread's sums.
class RowSums {
 public:
  explicit RowSums(const Work& work) : work_(work), plan_(work.plan) {
    const index_t sums = work.columns * plan_.lanes;
    rows_ = arena_.take_array<const void*>(plan_.across_taps);
    const int halves = is_long(work.job.problem.dtype) ? 2 : 1;
    for (int h = 0; h < halves; ++h) {
      columns_[h] = arena_.take(sums * size_bytes(work.column));
      folded_[h] = arena_.take(work.outputs * plan_.lanes * 8);
    }
    room_ = arena_.take(2 * (sums + (plan_.along.stride + 2) * plan_.lanes) * 8);
    valid_ = arena_.take(work.outputs * plan_.lanes * 8);
    if (!plan_.dense_x) gathered_ = arena_.take(plan_.across_taps * sums * plan_.in_bytes);
    if (!plan_.dense_y || plan_.past_caches) results_ = arena_.take(work.outputs * plan_.lanes * plan_.out_bytes);
  }

  void operator()(index_t item) {
    const index_t tile = item % work_.tiles;
    if (row_ != item / work_.tiles) find_rows(item / work_.tiles);
    outputs_ = {tile * work_.outputs, std::min(plan_.along.out, (tile + 1) * work_.outputs)};
    add_columns();
    add_along();
    store();
  }

 private:
  // The rows that the windows of a row of results have.
  void find_rows(index_t row) {
    row_ = row;
    const RowLayout& layout = plan_.layout;
    RowCoords coords{};
    for (int i = plan_.across.size() - 1; i >= 0; --i) {
      const index_t out = layout.axis[at(plan_.across[at(i)])].axis.out;
      coords[at(plan_.across[at(i)])] = row % out;
      row /= out;
    }
    rows_[0] = static_cast<const std::byte*>(work_.job.x.data) + layout.plane_offset(row, kX) * plan_.in_bytes;
    y_ = static_cast<std::byte*>(work_.job.y.data) +
         (layout.plane_offset(row, kY) + row_offset(layout, coords, kY)) * plan_.out_bytes;
    has_ = divisor_ = 1;
    for (const int a : plan_.across) {  // each row becomes as many as there are taps
      const PooledAxis& axis = layout.axis[at(a)];
      const index_t output = coords[at(a)];
      const Range taps = axis.axis.taps(output);
      for (index_t r = has_ - 1; r >= 0; --r) {
        const auto* from = static_cast<const std::byte*>(rows_[r]);
        for (index_t t = taps.end - 1; t >= taps.begin; --t)
          rows_[r * taps.size() + t - taps.begin] = from + axis.axis.at(output, t) * axis.pitch[kX] * plan_.in_bytes;
      }
      has_ *= taps.size();
      divisor_ *= axis.axis.divisor(output, work_.job.problem.pool.count_include_pad);
    }
  }

  void add_columns() {
    const Axis& along = plan_.along;
    const index_t begin = along.start(outputs_.begin), lanes = plan_.lanes;
    const Range all{begin, begin + (outputs_.size() - 1) * along.stride + along.extent()};
    const Range inputs = has_ == 0 ? Range{} : intersect({0, along.in}, all);
    const index_t bytes = size_bytes(work_.column) * lanes;
    const index_t before = inputs.empty() ? all.size() : inputs.begin - begin;
    for (int h = 0; h < 2 && columns_[h] != nullptr; ++h) {
      std::memset(columns_[h], 0, static_cast<std::size_t>(before * bytes));
      if (!inputs.empty())
        std::memset(columns_[h] + (inputs.end - begin) * bytes, 0,
                    static_cast<std::size_t>((all.end - inputs.end) * bytes));
    }
    if (inputs.empty()) return;
    ColumnRows r{.rows = rows_, .count = has_, .first = inputs.begin * lanes, .n = inputs.size() * lanes};
    r.sums = columns_[0] + before * bytes;
    if (columns_[1] != nullptr) r.high = columns_[1] + before * bytes;
    if (gathered_ == nullptr) return work_.kernels.columns(r);
    const void** rows = room_rows();
    for (index_t a = 0; a < has_; ++a) {
      std::byte* to = gathered_ + a * inputs.size() * lanes * plan_.in_bytes;
      const index_t offset = inputs.begin * plan_.along_pitch[kX] * plan_.in_bytes;
      gather_row(static_cast<const std::byte*>(rows_[a]) + offset, plan_.row_shape(kX, inputs.size()), to);
      rows[a] = to;
    }
    r.rows = rows;
    r.first = 0;
    work_.kernels.columns(r);
  }

  const void** room_rows() {
    if (gathered_rows_ == nullptr) gathered_rows_ = arena_.take_array<const void*>(plan_.across_taps);
    return gathered_rows_;
  }

  void add_along() {
    const Axis& along = plan_.along;
    AlongSums r{.outputs = outputs_.size(), .kernel = along.kernel, .stride = along.stride};
    r.dilation = along.dilation;
    r.lanes = plan_.lanes;
    r.room = room_;
    for (int h = 0; h < 2 && columns_[h] != nullptr; ++h) {
      r.sums = columns_[h];
      r.out = folded_[h];
      work_.kernels.along(r);
    }
  }

  void store() {
    const Range full = plan_.along.full();
    std::byte* const y = y_ + outputs_.begin * plan_.along_pitch[kY] * plan_.out_bytes;
    std::byte* const to = results_ != nullptr ? results_ : y;
    for (index_t o = outputs_.begin; o < outputs_.end;) {
      const index_t end = full.contains(o) ? std::min(full.end, outputs_.end) : o + 1;
      store_run({o, end}, to + (o - outputs_.begin) * plan_.lanes * plan_.out_bytes);
      o = end;
    }
    if (results_ == nullptr) return;
    if (plan_.dense_y) return writer_.write(results_, outputs_.size() * plan_.lanes * plan_.out_bytes, y);
    scatter_row(results_, plan_.row_shape(kY, outputs_.size()), y);
  }

  // Windows with as many taps as each other.
  void store_run(Range outputs, std::byte* to) {
    const Pool& pool = work_.job.problem.pool;
    const Axis& along = plan_.along;
    const index_t has = has_ * along.taps(outputs.begin).size(), n = outputs.size() * plan_.lanes;
    const index_t need = enough_of(pool, has);
    if (has < need) return fill_copies(to, work_.fill.data(), plan_.out_bytes, n);
    const bool average = pool.op == Op::avg;
    const index_t nominal = divisor_ * along.divisor(outputs.begin, pool.count_include_pad);
    const index_t first = (outputs.begin - outputs_.begin) * plan_.lanes;
    if (folded_[1] != nullptr) {
      const index_t divisor = !average ? 0 : pool.divisor != 0 ? pool.divisor : nominal;
      if (has == 0) return static_cast<void>(std::memset(to, 0, static_cast<std::size_t>(n * plan_.out_bytes)));
      return work_.kernels.finish({folded_[0] + first * 8, folded_[1] + first * 8, n, divisor, to});
    }
    const index_t bytes = size_bytes(work_.lane);
    if (valid_taps_ != has) set_valid(has);
    FinishRow r{.folded = folded_[0] + first * bytes, .valid = valid_, .n = n, .need = need};
    r.more = average && pool.count_include_pad ? nominal - has : 0;
    r.divisor = average ? pool.divisor : 0;
    r.fill = work_.fill.data();
    r.y = to;
    work_.finish(r);
  }

  void set_valid(index_t taps) {
    valid_taps_ = taps;
    std::array<std::byte, 8> number{};
    const auto narrow = static_cast<std::int32_t>(taps);
    if (work_.lane == TapLane::i32)
      std::memcpy(number.data(), &narrow, sizeof(narrow));
    else
      std::memcpy(number.data(), &taps, sizeof(taps));
    fill_copies(valid_, number.data(), size_bytes(work_.lane), work_.outputs * plan_.lanes);
  }

  const Work& work_;
  const TapPlan& plan_;
  Arena arena_;
  const void **rows_ = nullptr, **gathered_rows_ = nullptr;
  std::byte *columns_[2]{}, *folded_[2]{};  // the second: upper halves of 64-bit integers
  std::byte *room_ = nullptr, *valid_ = nullptr, *gathered_ = nullptr, *results_ = nullptr, *y_ = nullptr;
  index_t row_ = -1, has_ = 1, divisor_ = 1, valid_taps_ = -1;
  Range outputs_;
  LineWriter writer_;
};

}  // namespace

bool can_whole_sums(const Statistic& job) {
  const Problem& problem = job.problem;
  const Pool& pool = problem.pool;
  if (pool.op != Op::sum && pool.op != Op::avg) return false;
  if (is_floating(problem.dtype) || !job.plain() || !pool.footprint.empty() || !TapPlan::can(job)) return false;
  if (problem.taps() > kMostTaps || pool.divisor > kMostDivisor) return false;
  if (size_bytes(problem.dtype) == 2 && problem.taps() > kMostRows) return false;
  if (is_long(problem.dtype)) return problem.result == Dtype::f32 || problem.result == Dtype::f64;
  return finish_taps(finish_of(problem), lane_of(problem), problem.result) != nullptr;
}

// Windows that overlap share nothing across rows here.
bool whole_sums_pay(const Statistic& job) {
  const Problem& problem = job.problem;
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[at(a)];
    if (axis.kernel > (is_long(problem.dtype) ? kMostLongShared : kMostShared) * axis.stride) return false;
  }
  return true;
}

void run_whole_sums(const Statistic& job, int threads) {
  const Work work(job);
  const TapPlan& plan = work.plan;
  const index_t bytes = plan.across_taps * work.outputs * plan.along.stride * plan.lanes * plan.in_bytes;
  parallel_for(work.items(), bytes, threads, [&](index_t begin, index_t end) {
    RowSums sums(work);
    for (index_t item = begin; item < end; ++item) sums(item);
  });
}

}  // namespace oriel::cpu
