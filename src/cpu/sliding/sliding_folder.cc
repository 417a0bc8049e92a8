#include "cpu/sliding/sliding_folder.h"

#include <cstring>

#include "cpu/exact/mend.h"
#include "cpu/recipe/kernels.h"
#include "cpu/simd/per_target.h"

namespace oriel::cpu {

const SlidingTable& sliding_table() {
  static const PerTarget<SlidingTable> tables{&fill_long_extremum, &fill_long_sum};
  return tables.active();
}
namespace {

constexpr index_t kSumBlockRows = 64;  // of sums, which keep what they need from one block to the next
constexpr index_t kVectorBytes = 64;

Lane lane_of(const Problem& problem, const RowReduction& plain) {
  const Dtype dtype = problem.dtype;
  if (!plain.any_order) {
    if (is_floating(dtype)) return dtype == Dtype::f64 ? Lane::f64 : Lane::f32;
    return plain.value_bytes == 4 ? Lane::i32 : Lane::i64;
  }
  switch (dtype) {
    case Dtype::f64:
      return Lane::f64;
    case Dtype::f32:
      return Lane::f32;
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::i16:
      return Lane::i16;
    case Dtype::u16:
      return Lane::u16;
    case Dtype::i8:
      return Lane::i8;
    case Dtype::u8:
    case Dtype::boolean:
      return Lane::u8;
    case Dtype::i32:
      return Lane::i32;
    case Dtype::u32:
      return Lane::u32;
    default:
      return Lane::i64;
  }
}

bool lifts_rows(const FoldJob& job, const LongAxes& axes) {
  const auto& lanes = job.layout.lanes;
  if (job.plain.lift != nullptr || (lanes.n > 1 && lanes.pitch[kX] != 1)) return true;
  return job.layout.row_axis >= 0 && axes.along.in > 1 && axes.along_pitch[kX] != lanes.n;
}

// Whether a row holds values that need the careful recipe; rows that are not dense are looked at element by element.
bool scan_row(const FoldJob& job, const RowTile& tile, const std::byte* x, index_t pitch) {
  const RowReduction& how = job.plain;
  const index_t lane_pitch = job.layout.lanes.pitch[kX], in = tile.axis.in, lanes = tile.lanes;
  if ((lanes == 1 || lane_pitch == 1) && (in == 1 || pitch == lanes)) return how.scan(x, in * lanes, how.scan_zeros);
  for (index_t p = 0; p < in; ++p) {
    for (index_t l = 0; l < lanes; ++l) {
      if (how.scan(x + (p * pitch + l * lane_pitch) * how.in_bytes, 1, how.scan_zeros)) return true;
    }
  }
  return false;
}

}  // namespace

bool folds_in_place(const FoldJob& job, const LongAxes& axes) {
  const bool watched = job.plain.any_order && is_floating(job.problem->dtype);
  if (job.layout.row_axis < 0 || axes.across.kernel > 1 || watched || lifts_rows(job, axes)) return false;
  return job.layout.lanes.n * axes.along.dilation == 1 && halve_exactly(axes.along.kernel, axes.along.stride);
}

LongKernels long_kernels(const Problem& problem, const RowReduction& plain) {
  const Lane lane = lane_of(problem, plain);
  return plain.any_order ? sliding_table().extremum(problem.pool.op, lane) : sliding_table().sum(lane);
}

LongAxes::LongAxes(const RowLayout& layout)
    : across(Axis::uniform(1, 1, 1, 0, 0)), along(Axis::uniform(1, 1, 1, 0, 0)) {
  for (int a = 0; a < layout.pooled(); ++a) {
    const PooledAxis& p = layout.axis[static_cast<std::size_t>(a)];
    if (a == layout.row_axis) {
      along = p.axis;
      along_pitch = p.pitch;
    } else {
      across = p.axis;
      across_pitch = p.pitch;
      across_number = a;
    }
  }
}

LongFolder::LongFolder(const FoldJob& job, const Tiling& tiling, Arena& arena)
    : job_(job),
      how_(job.plain),
      tiling_(tiling),
      axes_(job.layout),
      kernels_(long_kernels(*job.problem, job.plain)),
      sum_(!job.plain.any_order),
      dense_y_(job.layout.has_dense_rows(kY)),
      direct_(how_.lower == nullptr && dense_y_),
      lifts_(lifts_rows(job, axes_)),
      in_place_(folds_in_place(job, axes_)),
      mends_(mends(job) && axes_.across.classes() == 1),
      block_(block_outputs()) {
  const index_t bytes = how_.value_bytes, kernel = axes_.across.kernel;
  before_bytes_ = (tiling.before_elems * bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  const index_t elems = tiling.in_elems + tiling.after_elems;
  row_bytes_ = (before_bytes_ + elems * bytes + 3 * kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  const index_t windows = (block_ - 1) * axes_.across.class_step() + 1, places = windows + kernel - 1;
  identity_ = arena.take(row_bytes_);
  fill_copies(identity_, how_.identity.data(), bytes, row_bytes_ / bytes);
  folded_ = arena.take(block_ * row_bytes_);
  rows_ = arena.take_array<const void*>(places);
  out_ = arena.take_array<void*>(windows);
  across_scratch_ = arena.take(long_scratch_bytes(kernel, tiling.in_elems, bytes, sum_));
  if (lifts_) {
    lifted_slots_ = places;
    lifted_ = arena.take(lifted_slots_ * row_bytes_);
    lifted_key_ = arena.take_array<Lifted>(lifted_slots_);
  }
  if (job.layout.row_axis >= 0) {
    const index_t move = axes_.along.dilation * job.layout.lanes.n;
    const index_t most = tiling.in_elems + tiling.before_elems + tiling.after_elems;  // outputs at every place
    const index_t slide = slide_scratch_bytes(axes_.along.kernel, most, move, bytes, sum_);
    const bool steps = axes_.along.stride > 1 && move == 1;
    along_scratch_ = arena.take(slide + (steps ? stepping_scratch_bytes(axes_.along.kernel, most, bytes) : 0));
    if (axes_.along.stride > 1 && !steps) picked_ = arena.take(tiling.out_elems * bytes);
  }
  result_ = arena.take((tiling.in_elems + tiling.before_elems + tiling.after_elems + tiling.out_elems) * bytes +
                       2 * kVectorBytes);
  runs_ = arena.take_array<RowRun>(tiling.out_elems);
  quotients_ = arena.take_array<LongQuotient>(tiling.out_elems);
}

// Rows of outputs that are folded across together: those whose windows begin in a window's length (extrema), or as many
// as stay near (sums).
index_t LongFolder::block_outputs() const {
  const index_t step = axes_.across.class_step();
  const index_t windows = sum_ ? std::max(kSumBlockRows, 2 * axes_.across.kernel) : axes_.across.kernel;
  const index_t outputs = (windows + step - 1) / step;
  return std::clamp<index_t>(outputs, 1, std::max<index_t>(1, tiling_.band_rows));
}

void LongFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  const index_t bytes = how_.value_bytes, before = tile_.before * tile_.lanes, after = tile_.after * tile_.lanes;
  for (index_t i = 0; i < block_; ++i) {
    std::byte* row = folded_row(i);
    std::memcpy(row - before * bytes, identity_, at(before * bytes));
    std::memcpy(row + tile_.in_elems() * bytes, identity_, at(after * bytes));
  }
  if (how_.lower != nullptr && how_.counts) counts_.count(tile_.axis, how_, RunTaps::most, runs_);
}

// A row of inputs as accumulators, kept until the rows of a block further.
const void* LongFolder::lifted_row(index_t input, bool& special) {
  const index_t slot = input / axes_.across.dilation % lifted_slots_;
  Lifted& key = lifted_key_[slot];
  std::byte* row = lifted_ + slot * row_bytes_;
  if (key.input != input) {
    const RowLayout& layout = job_.layout;
    const std::byte* x = x_ + input * axes_.across_pitch[kX] * how_.in_bytes;
    const index_t pitch = tile_.position_pitch(layout, kX);
    const LiftRow lift = how_.lift != nullptr ? how_.lift : how_.gather;
    lift(x, pitch, layout.lanes.pitch[kX], tile_.axis.in, tile_.lanes, {row, nullptr}, how_.lift_params);
    key = {input, false};
    if (how_.scan != nullptr && how_.lift != nullptr) key.special = scan_row(job_, tile_, x, pitch);
  }
  special = special || key.special;
  return row;
}

// The rows [from, count) of those that begin at a place, in rows_. True when one is known to hold a special value.
bool LongFolder::gather(index_t first_place, index_t from, index_t count) {
  const Axis& axis = axes_.across;
  const index_t pitch = axes_.across_pitch[kX] * how_.in_bytes;
  bool special = false;
  for (index_t r = from; r < count; ++r) {
    const index_t input = axis.input_at(first_place + r * axis.dilation);
    rows_[r] = input < 0 ? identity_ : lifts_ ? lifted_row(input, special) : x_ + input * pitch;
  }
  return special;
}

void LongFolder::fold(index_t plane, index_t tile, Range rows, CarefulRows& careful) {
  set_tile(tile);
  plane_ = plane;
  x_ = static_cast<const std::byte*>(job_.x) + tile_.offset(job_.layout, plane, kX) * how_.in_bytes;
  y_ = static_cast<std::byte*>(job_.y) + tile_.offset(job_.layout, plane, kY) * how_.out_bytes;
  for (index_t c = 0; c < axes_.across.classes() && rows.begin + c < rows.end; ++c) {
    for (index_t i = 0; i < lifted_slots_; ++i) lifted_key_[i] = Lifted{};
    fold_class(rows, rows.begin + c, careful);
  }
}

// The outputs first, first + classes, … of a band, whose windows share taps.
void LongFolder::fold_class(Range rows, index_t first, CarefulRows& careful) {
  const Axis& axis = axes_.across;
  const index_t classes = axis.classes(), step = axis.class_step(), kernel = axis.kernel;
  index_t done = first;  // outputs that are known to be right
  index_t ready = 0, clock = 0;
  Range again{first, first};  // outputs of blocks one after the other with special values
  const auto fold_again = [&] {
    const bool mended = mends_ && !again.empty() && careful.mend(plane_, tile_number_, tiling_, again);
    if (!mended && !again.empty()) careful.fold(plane_, tile_number_, tiling_, again);
    again = {rows.end, rows.end};
  };
  for (index_t o = first; o < rows.end;) {
    const index_t count = std::min(block_, (rows.end - o + classes - 1) / classes);
    const index_t windows = (count - 1) * step + 1;
    const bool last = o + count * classes >= rows.end;
    LongRows b{.rows = rows_, .out = out_, .windows = windows, .kernel = kernel, .n = tile_.in_elems()};
    b.scratch = across_scratch_;
    b.watch_all = last;
    b.clock = clock;
    b.ready = ready;
    const bool known = gather(axis.start(o), std::max<index_t>(0, ready - 1), windows + kernel - 1);
    const bool to_y = job_.layout.row_axis < 0 && direct_;
    const bool in_place = in_place_ && tile_.before == 0 && tile_.after == 0;
    for (index_t w = 0; w < windows; ++w) out_[w] = nullptr;
    for (index_t i = 0; i < count; ++i) {
      out_[i * step] = to_y ? y_ + (o + i * classes) * axes_.across_pitch[kY] * how_.out_bytes : folded_row(i);
    }
    const bool special = (!in_place && kernels_.across(b)) || known;
    if (!to_y && (!special || mends_)) {
      for (index_t i = 0; i < count; ++i) {
        fold_along(in_place ? static_cast<const std::byte*>(rows_[i * step]) : folded_row(i), o + i * classes);
      }
    }
    const index_t end = std::min(rows.end, o + count * classes);
    if (!special) fold_again();
    if (special) again = {again.empty() ? done : again.begin, end};
    done = special ? end : std::max(done, o);  // the next block may find what this one read last
    o += count * classes;
    if (sum_) {
      ready = std::max<index_t>(0, kernel - 1 - (step - 1));
      clock += count * step;
    }
  }
  fold_again();
}

// One row of outputs from a row that is folded across.
void LongFolder::fold_along(const std::byte* row, index_t output) {
  if (job_.layout.row_axis < 0) return finish(row, output);
  const Axis& axis = tile_.axis;
  const index_t bytes = how_.value_bytes, lanes = tile_.lanes;
  std::byte* y = y_ + output * axes_.across_pitch[kY] * how_.out_bytes;
  LongRow r{.row = row + axis.start(0) * lanes * bytes, .kernel = axis.kernel, .move = axis.dilation * lanes};
  const bool steps = axis.stride > 1 && r.move == 1;
  r.n = steps ? axis.out : (axis.start(axis.out - 1) - axis.start(0) + 1) * lanes;
  r.step = steps ? axis.stride : 1;
  r.scratch = along_scratch_;
  const bool every = axis.stride == 1 || steps;  // else some of the results are nobody's
  const bool into_y = every && (direct_ || (!steps && sums_into_y(output, r)));
  r.out = into_y ? y : result_;
  kernels_.along(r);
  if (into_y) return;
  if (every) return finish(result_, output);
  copy_(result_, axis.stride, axis.out, lanes * bytes, direct_ ? y : picked_);
  if (!direct_) finish(picked_, output);
}

// Sums of floats that are their own results, or only to be divided: then the row's quotients.
bool LongFolder::sums_into_y(index_t output, LongRow& row) {
  const Dtype dtype = job_.problem->dtype;
  if (!sum_ || !dense_y_ || counts_.some_empty() || (dtype != Dtype::f32 && dtype != Dtype::f64)) return false;
  const LowerParams p = counts_.params(how_, axes_.across, output);
  if (p.taps == 0) return false;
  if (job_.problem->pool.op == Op::sum) return true;
  constexpr index_t kMostExact = index_t{1} << 24;  // a float holds all divisors up to here
  int number = 0;
  for (const RowRun& run : counts_) {
    const index_t divisor = p.divisor_of(run);
    if (divisor >= kMostExact) return false;
    quotients_[number++] = {run.end * tile_.lanes, static_cast<double>(divisor)};
  }
  row.quotients = quotients_;
  row.quotient_count = number;
  return true;
}

// A row of results from one of accumulators.
void LongFolder::finish(const void* row, index_t output) const {
  const index_t pitch = job_.layout.row_axis >= 0 ? axes_.along_pitch[kY] : tile_.lanes;
  const LowerRow lower = how_.lower != nullptr ? how_.lower : how_.store;
  lower({row, nullptr, 0}, tile_.axis.out, tile_.lanes, counts_.params(how_, axes_.across, output),
        y_ + output * axes_.across_pitch[kY] * how_.out_bytes, pitch, job_.layout.lanes.pitch[kY]);
}

}  // namespace oriel::cpu
