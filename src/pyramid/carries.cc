#include "pyramid/carries.h"

#include <algorithm>
#include <limits>

#include "element_copy.h"
#include "oriel/pool.h"
#include "pyramid/lower.h"
#include "pyramid/votes.h"
#include "statistic_rules.h"

namespace oriel::detail {
namespace {

bool has_options(const Pool& pool) {
  return pool.nodata || pool.min_count != 0 || pool.min_fraction != 0 || pool.nan != NanPolicy::propagate || pool.fill;
}

bool is_narrow_integer(Dtype dtype) { return !is_floating(dtype) && dtype != Dtype::boolean && size_bytes(dtype) <= 4; }

// The largest magnitude of an integer dtype of at most 4 bytes.
index_t largest(Dtype dtype) { return index_t{1} << (8 * size_bytes(dtype)); }

Pool with(Pool pool, const Windows& windows) {
  pool.windows = windows;
  return pool;
}

}  // namespace

Way way_of(const Pyramid& pyramid, Dtype dtype) {
  if (level_source(pyramid) == LevelSource::previous) return Way::previous;
  const Pool& pool = pyramid.pool;
  if (pool.result_dtype && *pool.result_dtype != dtype) return Way::direct;
  switch (pool.op) {
    case Op::max:
    case Op::min:
    case Op::any:
    case Op::all:
      return has_options(pool) ? Way::direct : Way::nested;
    case Op::first:
      return has_options(pool) ? Way::direct : Way::picked;
    case Op::avg:
      return is_floating(dtype) || is_narrow_integer(dtype) ? Way::sums : Way::direct;
    case Op::sum:
      return is_narrow_integer(dtype) ? Way::sums : Way::direct;
    case Op::mode:
      return can_count_votes(pool, dtype) ? Way::votes : Way::direct;
    default:
      return Way::direct;
  }
}

index_t carry_bytes(const Pyramid& pyramid, Way way) {
  if (way == Way::votes) return kVoteBytes;
  return way != Way::sums ? 0 : has_options(pyramid.pool) ? 16 : 8;
}

std::byte* Scratch::take(index_t bytes) {
  if (taken_ == blocks_.size()) blocks_.emplace_back();
  Block& block = blocks_[taken_++];
  if (block.bytes < bytes) {
    block.data.reset();  // first, so that both are never there at once
    block.data.reset(new std::byte[static_cast<std::size_t>(bytes)]);
    block.bytes = bytes;
  }
  return block.data.get();
}

Tensor Scratch::tensor(Dtype dtype, const Extents& shape) {
  return {take(element_count(shape) * size_bytes(dtype)), dtype, shape};
}

index_t Scratch::bytes() const {
  index_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.bytes;
  return bytes;
}

LevelMaker::LevelMaker(const Pyramid& pyramid, const Tiling& tiling)
    : pyramid_(pyramid),
      tiling_(tiling),
      way_(way_of(pyramid, tiling.levels()[0].dtype)),
      counted_(way_ == Way::sums && has_options(pyramid.pool)) {}

Dtype LevelMaker::value_dtype(int level) const {
  const auto at = static_cast<std::size_t>(level);
  const Dtype dtype = tiling_.levels()[0].dtype;
  if (level == 0) return dtype;
  if (way_ != Way::sums) return tiling_.levels()[at].dtype;
  if (is_floating(dtype)) return Dtype::f64;
  index_t bound = 0;
  const index_t taps = element_count(tiling_.levels()[at].factor);
  if (__builtin_mul_overflow(taps, largest(dtype), &bound)) {
    throw Error(Error::Fields{.function = "pyramid",
                              .argument = "factors",
                              .allowed = "must make windows whose sums are less than 2^63",
                              .value = "level " + std::to_string(level) + " has larger ones"});
  }
  return bound <= std::numeric_limits<std::int32_t>::max() ? Dtype::i32 : Dtype::i64;
}

Tensor LevelMaker::pooled(const Pool& pool, const Windows& windows, const ConstTensor& x, const Extents& shape,
                          Scratch& scratch, int threads) const {
  const Tensor y = scratch.tensor(result_dtype(pool, x.dtype), shape);
  forward(with(pool, windows), {.x = x, .y = y}, {.threads = threads});
  return y;
}

// Sums over windows of what is kept, and numbers of valid elements.
Carry LevelMaker::add_up(const Carry& carry, int from, const Windows& windows, int to, const Extents& shape,
                         Scratch& scratch, int threads) const {
  Pool sum{.op = Op::sum, .result_dtype = value_dtype(to)};
  Pool count{.op = Op::sum};
  const bool first = from == 0;
  if (first && counted_) {
    sum.nodata = pyramid_.pool.nodata;
    sum.nan = pyramid_.pool.nan;
    sum.fill = Scalar{0.0};
    if (!is_floating(carry.value.dtype)) sum.fill = Scalar{std::int64_t{0}};
    count = sum;
    count.op = Op::count;
    count.fill.reset();
    count.result_dtype.reset();
  }
  Carry next;
  next.value = pooled(sum, windows, carry.value, shape, scratch, threads);
  if (counted_) next.counts = pooled(count, windows, first ? carry.value : carry.counts, shape, scratch, threads);
  return next;
}

Tensor LevelMaker::lowered(const Carry& carry, int level, const LevelBox& box, Scratch& scratch) const {
  const Pool& pool = pyramid_.pool;
  const Dtype dtype = tiling_.levels()[static_cast<std::size_t>(level)].dtype;
  Lowering how{
      .divide = pool.op == Op::avg, .fill = {}, .min_count = pool.min_count, .min_fraction = pool.min_fraction};
  std::optional<Scalar> fill = pool.fill ? pool.fill : pool.nodata;
  if (!fill && is_floating(dtype)) fill = Scalar{std::numeric_limits<double>::quiet_NaN()};
  if (!fill) fill = Scalar{std::int64_t{0}};
  how.fill.resize(static_cast<std::size_t>(size_bytes(dtype)));
  store(*fill, dtype, how.fill.data());
  std::vector<std::vector<index_t>> taps;
  for (int d = 0; d < box.shape.size(); ++d) taps.push_back(tiling_.taps(box, level, d));
  const Tensor y = scratch.tensor(dtype, box.shape);
  lower(how, carry.value, carry.counts, taps, y);
  return y;
}

// The first element of each window, which the first window may lack.
Tensor LevelMaker::picked(const ConstTensor& x, const LevelBox& from, int level, const LevelBox& box,
                          Scratch& scratch) const {
  const Windows windows = tiling_.windows(from, 0, box, level);
  const PyramidLevel& here = tiling_.levels()[static_cast<std::size_t>(level)];
  const Tensor y = scratch.tensor(here.dtype, box.shape);
  // Along an axis whose first window lacks elements it begins with the box, the others a lead further.
  Extents lead = Extents::filled(box.shape.size(), 0);
  for (int i = 0; i < windows.axes.size(); ++i) lead[static_cast<int>(windows.axes[i])] = windows.pad_lo[i];
  const int corners = 1 << box.shape.size();
  for (int corner = 0; corner < corners; ++corner) {
    ConstTensor in = x;
    Tensor out = y;
    index_t at_in = 0, at_out = 0;
    bool there = true;
    for (int d = 0; d < box.shape.size(); ++d) {
      const bool border = lead[d] > 0;
      const bool rest = ((corner >> d) & 1) != 0;
      if (!border && !rest) there = false;  // axes without a lead have the rest only
      const index_t begin = rest && border ? 1 : 0;
      in.shape[d] = out.shape[d] = rest ? box.shape[d] - begin : 1;
      there = there && out.shape[d] > 0;
      in.pitch[d] = x.pitch[d] * here.factor[d];
      at_in += (begin * here.factor[d] - (begin > 0 ? lead[d] : 0)) * x.pitch[d];
      at_out += begin * y.pitch[d];
    }
    if (!there) continue;
    const index_t bytes = size_bytes(here.dtype);
    in.data = static_cast<const std::byte*>(x.data) + at_in * bytes;
    out.data = static_cast<std::byte*>(y.data) + at_out * bytes;
    copy_elements(in, out);
  }
  return y;
}

Carry LevelMaker::climb(const Carry& carry, int from, int last, const BoxOf& box_of, Scratch& scratch, int threads,
                        const Put& put) const {
  const Pool pool = level_pool(pyramid_);
  const LevelBox base = box_of(from);
  LevelBox before = base;
  Carry now = carry;
  if (way_ == Way::votes) {
    // Of all levels at once: they share the lists of what is counted.
    return climb_by_votes(pyramid_.pool, tiling_, carry, from, last, box_of, scratch, put);
  }
  for (int level = from + 1; level <= last; ++level) {
    const LevelBox box = box_of(level);
    if (box.empty()) return {};
    const Windows step = tiling_.windows(before, level - 1, box, level);
    switch (way_) {
      case Way::nested:
      case Way::previous:
        now.value = pooled(pool, step, now.value, box.shape, scratch, threads);
        put(level, box, now.value);
        break;
      case Way::sums:
        now = add_up(now, level - 1, step, level, box.shape, scratch, threads);
        put(level, box, lowered(now, level, box, scratch));
        break;
      case Way::picked:
        put(level, box, picked(carry.value, base, level, box, scratch));
        break;
      case Way::direct:
        put(level, box, pooled(pool, tiling_.windows(base, 0, box, level), carry.value, box.shape, scratch, threads));
        break;
      case Way::votes:
        break;
    }
    before = box;
  }
  return now;
}

}  // namespace oriel::detail
