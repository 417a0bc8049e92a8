#include "cpu/sliding/sliding_folder.h"

#include <cstring>
#include <utility>

#include "cpu/exact/mend.h"
#include "cpu/recipe/kernels.h"
#include "cpu/recipe/recipe.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const SlidingTable& sliding_table() {
  static const PerTarget<SlidingTable> tables{&fill_long_extremum, &fill_long_sum};
  return tables.active();
}
namespace {

constexpr index_t kSumBlockRows = 64;  // of sums, which keep what they need from one block to the next
constexpr index_t kVectorBytes = 64;

constexpr index_t in_vectors(index_t bytes) { return (bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes; }

Lane lane_of(const Problem& problem, const RowReduction& plain) {
  if (plain.any_order) return native_lane(problem.dtype);
  if (is_floating(problem.dtype)) return problem.dtype == Dtype::f64 ? Lane::f64 : Lane::f32;
  return plain.value_bytes == 4 ? Lane::i32 : Lane::i64;
}

bool lifts_rows(const FoldJob& job) { return job.plain.lift != nullptr || !job.layout.has_dense_rows(kX); }

// The windows at all places that the outputs of a block span, those between them too.
index_t windows_of(index_t outputs, const Axis& across) { return (outputs - 1) * across.class_step() + 1; }

}  // namespace

bool folds_in_place(const FoldJob& job, const LongAxes& axes) {
  const bool watched = job.plain.any_order && is_floating(job.problem->dtype);
  if (job.layout.row_axis < 0 || axes.across.kernel > 1 || watched || lifts_rows(job)) return false;
  return job.layout.lanes.n * axes.along.dilation == 1 && halve_exactly(axes.along.kernel, axes.along.stride);
}

LongKernels long_kernels(const Problem& problem, const RowReduction& plain) {
  const Lane lane = lane_of(problem, plain);
  return plain.any_order ? sliding_table().extremum(problem.pool.op, lane) : sliding_table().sum(lane);
}

PlaceRows::PlaceRows(const FoldJob& job, const SlidingTile& tile, index_t row_bytes, index_t places, Arena& arena)
    : job_(job),
      how_(job.plain),
      tile_(tile),
      lifts_(lifts_rows(job)),
      row_bytes_(row_bytes),
      rows_(arena.take_array<const void*>(places)),
      identity_(arena.take(row_bytes)) {
  fill_copies(identity_, how_.identity.data(), how_.value_bytes, row_bytes / how_.value_bytes);
  if (!lifts_) return;
  lifted_slots_ = places;
  lifted_ = arena.take(lifted_slots_ * row_bytes_);
  lifted_key_ = arena.take_array<Lifted>(lifted_slots_);
}

void PlaceRows::forget() {
  for (index_t i = 0; i < lifted_slots_; ++i) lifted_key_[i] = Lifted{};
}

// Whether a row holds values that need the careful recipe; rows that are not dense are looked at element by element.
bool PlaceRows::scan_row(const std::byte* x, index_t pitch) const {
  const index_t lane_pitch = job_.layout.lanes.pitch[kX], in = tile_.tile().axis.in, lanes = tile_.tile().lanes;
  if ((lanes == 1 || lane_pitch == 1) && (in == 1 || pitch == lanes)) {
    return how_.scan(x, in * lanes, how_.scan_zeros);
  }
  for (index_t p = 0; p < in; ++p) {
    for (index_t l = 0; l < lanes; ++l) {
      if (how_.scan(x + (p * pitch + l * lane_pitch) * how_.in_bytes, 1, how_.scan_zeros)) return true;
    }
  }
  return false;
}

// A row of inputs as accumulators, kept until the rows of a block further.
const void* PlaceRows::lifted_row(index_t input, bool& special) {
  const index_t slot = input / tile_.axes().across.dilation % lifted_slots_;
  Lifted& key = lifted_key_[slot];
  std::byte* row = lifted_ + slot * row_bytes_;
  if (key.input != input) {
    const RowTile& tile = tile_.tile();
    const index_t pitch = tile.position_pitch(job_.layout, kX);
    const LiftRow lift = how_.lift != nullptr ? how_.lift : how_.gather;
    lift(tile_.x(input), pitch, job_.layout.lanes.pitch[kX], tile.axis.in, tile.lanes, {row, nullptr},
         how_.lift_params);
    key = {input, false};
    if (how_.scan != nullptr && how_.lift != nullptr) key.special = scan_row(tile_.x(input), pitch);
  }
  special = special || key.special;
  return row;
}

bool PlaceRows::gather(index_t first_place, index_t from, index_t count) {
  const Axis& axis = tile_.axes().across;
  bool special = false;
  for (index_t r = from; r < count; ++r) {
    const index_t input = axis.input_at(first_place + r * axis.dilation);
    rows_[r] = input < 0 ? identity_ : lifts_ ? lifted_row(input, special) : tile_.x(input);
  }
  return special;
}

LongFolder::LongFolder(const FoldJob& job, const Tiling& tiling, Arena& arena)
    : job_(job),
      how_(job.plain),
      tiling_(tiling),
      tile_(job, tiling, arena),
      careful_(job),
      kernels_(long_kernels(*job.problem, job.plain)),
      sum_(!job.plain.any_order),
      dense_y_(job.layout.has_dense_rows(kY)),
      direct_(how_.lower == nullptr && dense_y_),
      in_place_(folds_in_place(job, tile_.axes())),
      mends_(mends(job) && tile_.axes().across.classes() == 1),
      block_(block_outputs()),
      before_bytes_(in_vectors(tiling.before_elems * how_.value_bytes)),
      row_bytes_(
          in_vectors(before_bytes_ + (tiling.in_elems + tiling.after_elems) * how_.value_bytes + 2 * kVectorBytes)),
      inputs_(job, tile_, row_bytes_, windows_of(block_, tile_.axes().across) + tile_.axes().across.kernel - 1, arena),
      folded_(arena.take(block_ * row_bytes_)),
      out_(arena.take_array<void*>(windows_of(block_, tile_.axes().across))),
      quotients_(arena.take_array<LongQuotient>(tiling.out_elems)) {
  const index_t bytes = how_.value_bytes;
  const index_t most = tiling.in_elems + tiling.before_elems + tiling.after_elems;  // outputs at every place
  across_scratch_ = arena.take(long_scratch_bytes(tile_.axes().across.kernel, tiling.in_elems, bytes, sum_));
  result_ = arena.take((most + tiling.out_elems) * bytes + 2 * kVectorBytes);
  if (!tile_.has_row_axis()) return;
  const Axis& along = tile_.axes().along;
  const index_t move = along.dilation * job.layout.lanes.n;
  const index_t slide = slide_scratch_bytes(along.kernel, most, move, bytes, sum_);
  const bool steps = along.stride > 1 && move == 1;
  along_scratch_ = arena.take(slide + (steps ? stepping_scratch_bytes(along.kernel, most, bytes) : 0));
  if (along.stride > 1 && !steps) picked_ = arena.take(tiling.out_elems * bytes);
}

// Rows of outputs that are folded across together: those whose windows begin in a window's length (extrema), or as many
// as stay near (sums).
index_t LongFolder::block_outputs() const {
  const Axis& across = tile_.axes().across;
  const index_t windows = sum_ ? std::max(kSumBlockRows, 2 * across.kernel) : across.kernel;
  return std::clamp<index_t>(ceil_div(windows, across.class_step()), 1, std::max<index_t>(1, tiling_.band_rows));
}

// Absent taps before and after every row that is folded across.
void LongFolder::fill_margins() {
  const RowTile& tile = tile_.tile();
  const index_t bytes = how_.value_bytes, before = tile.before * tile.lanes, after = tile.after * tile.lanes;
  for (index_t i = 0; i < block_; ++i) {
    std::byte* row = folded_row(i);
    std::memcpy(row - before * bytes, inputs_.identity(), at(before * bytes));
    std::memcpy(row + tile.in_elems() * bytes, inputs_.identity(), at(after * bytes));
  }
}

void LongFolder::fold(const RowTask& task) {
  if (tile_.set(task.plane, task.tile)) fill_margins();
  each_class(tile_.axes().across, task.rows, [&](index_t first) {
    inputs_.forget();
    fold_class(task.rows, first);
  });
}

void LongFolder::fold_again(Range outputs) {
  if (outputs.empty()) return;
  if (mends_ && careful_.mend(tile_.plane(), tile_.number(), tiling_, outputs)) return;
  careful_.fold(tile_.plane(), tile_.number(), tiling_, outputs);
}

void LongFolder::fold_class(Range rows, index_t first) {
  const RowTile& tile = tile_.tile();
  const Axis& axis = tile_.axes().across;
  const index_t classes = axis.classes(), step = axis.class_step(), kernel = axis.kernel;
  const bool to_y = !tile_.has_row_axis() && direct_;
  const bool in_place = in_place_ && tile.before == 0 && tile.after == 0;
  index_t done = first;  // outputs that are known to be right
  index_t ready = 0, clock = 0;
  Range again{first, first};  // outputs of blocks one after the other with special values
  for (index_t o = first; o < rows.end;) {
    const index_t count = std::min(block_, ceil_div(rows.end - o, classes)), windows = windows_of(count, axis);
    LongRows b{.rows = inputs_.rows(), .out = out_, .windows = windows, .kernel = kernel, .n = tile.in_elems()};
    b.scratch = across_scratch_;
    b.watch_all = o + count * classes >= rows.end;
    b.clock = clock;
    b.ready = ready;
    const bool known = inputs_.gather(axis.start(o), std::max<index_t>(0, ready - 1), windows + kernel - 1);
    for (index_t w = 0; w < windows; ++w) out_[w] = nullptr;
    for (index_t i = 0; i < count; ++i) out_[i * step] = to_y ? tile_.y(o + i * classes) : folded_row(i);
    const bool special = (!in_place && kernels_.across(b)) || known;
    if (!to_y && (!special || mends_)) {
      for (index_t i = 0; i < count; ++i) {
        fold_along(in_place ? static_cast<const std::byte*>(inputs_.rows()[i * step]) : folded_row(i), o + i * classes);
      }
    }
    const index_t end = std::min(rows.end, o + count * classes);
    if (special) {
      again = {again.empty() ? done : again.begin, end};
    } else {
      fold_again(std::exchange(again, {rows.end, rows.end}));
    }
    done = special ? end : std::max(done, o);  // the next block may find what this one read last
    o += count * classes;
    if (sum_) {
      ready = std::max<index_t>(0, kernel - 1 - (step - 1));
      clock += count * step;
    }
  }
  fold_again(again);
}

// One row of outputs from a row that is folded across.
void LongFolder::fold_along(const std::byte* row, index_t output) {
  if (!tile_.has_row_axis()) return tile_.lower(row, output);
  const Axis& axis = tile_.tile().axis;
  const index_t bytes = how_.value_bytes, lanes = tile_.tile().lanes;
  LongRow r{.row = row + axis.start(0) * lanes * bytes, .kernel = axis.kernel, .move = axis.dilation * lanes};
  const bool steps = axis.stride > 1 && r.move == 1;
  r.n = steps ? axis.out : (axis.start(axis.out - 1) - axis.start(0) + 1) * lanes;
  r.step = steps ? axis.stride : 1;
  r.scratch = along_scratch_;
  const bool every = axis.stride == 1 || steps;  // else some of the results are nobody's
  const bool into_y = every && (direct_ || (!steps && sums_into_y(output, r)));
  r.out = into_y ? tile_.y(output) : result_;
  kernels_.along(r);
  if (into_y) return;
  if (every) return tile_.lower(result_, output);
  tile_.pick(result_, direct_ ? tile_.y(output) : picked_);
  if (!direct_) tile_.lower(picked_, output);
}

// Sums of floats that are their own results, or only to be divided: then the row's quotients.
bool LongFolder::sums_into_y(index_t output, LongRow& row) {
  const Dtype dtype = job_.problem->dtype;
  if (!sum_ || !dense_y_ || tile_.counts().some_empty() || (dtype != Dtype::f32 && dtype != Dtype::f64)) return false;
  const LowerParams p = tile_.params(output);
  if (p.taps == 0) return false;
  if (job_.problem->pool.op == Op::sum) return true;
  constexpr index_t kMostExact = index_t{1} << 24;  // a float holds all divisors up to here
  int number = 0;
  for (const RowRun& run : tile_.counts()) {
    const index_t divisor = p.divisor_of(run);
    if (divisor >= kMostExact) return false;
    quotients_[number++] = {run.end * tile_.tile().lanes, static_cast<double>(divisor)};
  }
  row.quotients = quotients_;
  row.quotient_count = number;
  return true;
}

}  // namespace oriel::cpu
