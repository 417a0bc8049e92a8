#include "cpu/sum_gradient/share_tile.h"

#include <algorithm>

#include "cpu/sum_gradient/tap_tree.h"

namespace oriel::cpu {
namespace {

constexpr index_t kStageBytes = 4096;  // of results that are stored together

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Whether the rows of dx that are made one after the other follow each other in memory.
bool rows_are_joined(const RowLayout& layout, const Tiling& tiling) {
  if (!layout.has_dense_rows(kY) || tiling.tiles > 1) return false;
  index_t next = tiling.out_elems;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    if (a == layout.row_axis) continue;
    const PooledAxis& across = layout.axis[at(a)];
    if (across.axis.out > 1 && across.pitch[kY] != next) return false;
    next *= across.axis.out;
  }
  return true;
}

}  // namespace

ShareTile::ShareTile(const ShareJob& job, const Tiling& tiling, Arena& arena, Arena& tile_arena)
    : job_(job),
      tiling_(tiling),
      tile_arena_(tile_arena),
      bytes_(job.how.value_bytes),
      in_place_(job.same_dy && job.layout.has_dense_rows(kX)),
      raw_(arena.take(tiling.in_elems * bytes_ + kShareSlack)) {}

void ShareTile::set(index_t number) {
  if (number == number_) return;
  number_ = number;
  tile_ = tiling_.tile(number);
  tile_arena_.reset();
  const RowSpread spread(tile_.axis, tile_.lanes, tile_arena_);
  spread_ = spread.how;
  before_bytes_ = spread.before * tile_.lanes * bytes_;
  after_bytes_ = spread.after * tile_.lanes * bytes_;
  if (job_.divides) count_divisors();
}

void ShareTile::count_divisors() {
  along_ = nullptr;
  const index_t n = tile_.axis.in;
  const Pool& pool = job_.problem.pool;
  along_all_ = static_cast<double>(std::max<index_t>(1, pool.divisor));
  if (pool.divisor > 0 || job_.layout.row_axis < 0) return;
  const Axis& windows = job_.problem.axis[at(job_.layout.row_axis)];
  const auto divisor = [&](index_t o) {
    return std::max<index_t>(1, windows.divisor(tile_.in_begin + o, pool.count_include_pad));
  };
  const index_t middle = divisor(n / 2);
  along_all_ = static_cast<double>(middle);
  bool equal = true;
  for (index_t o = 0; o < n && equal; ++o) equal = divisor(o) == middle;
  if (equal) return;
  along_ = tile_arena_.take(tile_.in_elems() * bytes_ + kShareSlack);
  for (index_t o = 0; o < n; ++o) {
    const index_t value = divisor(o);
    for (index_t l = o * tile_.lanes; l < (o + 1) * tile_.lanes; ++l) {
      if (job_.how.value_bytes == 8)
        reinterpret_cast<double*>(along_)[l] = static_cast<double>(value);
      else
        reinterpret_cast<float*>(along_)[l] = static_cast<float>(value);
    }
  }
}

void ShareTile::share(const std::byte* dy, double across, std::byte* out) const {
  const index_t n = tile_.in_elems();
  std::byte* lifted = job_.divides ? raw_ : out;
  if (!in_place_) {
    job_.lift(dy, tile_.position_pitch(job_.layout, kX), job_.layout.lanes.pitch[kX], tile_.axis.in, tile_.lanes,
              {lifted, nullptr}, {});
  } else if (!job_.divides) {
    job_.store(dy, n * bytes_, false, out);
  }
  if (job_.divides && along_ != nullptr) {
    job_.kernels.divide_each(in_place_ ? dy : lifted, along_, across, n, !in_place_, out);
  } else if (job_.divides) {
    job_.kernels.divide(in_place_ ? dy : lifted, n, across * along_all_, !in_place_, out);
  }
}

ShareResults::ShareResults(const ShareJob& job, const Tiling& tiling, Arena& arena)
    : job_(job), bytes_(job.how.value_bytes), dense_(job.layout.has_dense_rows(kY)) {
  const index_t row_bytes = tiling.out_elems * bytes_;
  const index_t most = std::clamp<index_t>(kStageBytes / std::max<index_t>(1, row_bytes), 1, tiling.band_rows);
  most_rows_ = rows_are_joined(job.layout, tiling) ? most : 1;
  results_ = arena.take(most_rows_ * row_bytes + kShareSlack);
  if (job.x == nullptr) return;
  lifted_ = arena.take(most_rows_ * row_bytes);
  scaled_ = arena.take(most_rows_ * row_bytes);
}

void ShareResults::store(const RowTile& tile, index_t rows, std::byte* dx) const {
  const index_t n = rows * tile.out_elems(), lane_pitch = job_.layout.lanes.pitch[kY];
  const index_t pitch = dense_ ? tile.lanes : tile.position_pitch(job_.layout, kY);
  const std::byte* results = results_;
  if (job_.x != nullptr) {
    const void* x = static_cast<const std::byte*>(job_.x) + (dx - static_cast<std::byte*>(job_.dx));
    if (!job_.same_dx || !dense_) {
      job_.lift_x(x, pitch, lane_pitch, rows * tile.axis.out, tile.lanes, {lifted_, nullptr}, {});
      x = lifted_;
    }
    job_.kernels.scale(results_, x, n, job_.norm, job_.problem.pool.nan == NanPolicy::omit, scaled_);
    results = scaled_;
  }
  if (job_.same_dx && dense_) return job_.store(results, n * bytes_, job_.past_caches, dx);
  job_.how.lower({results, nullptr, 0}, rows * tile.axis.out, tile.lanes, {}, dx, pitch, lane_pitch);
}

}  // namespace oriel::cpu
