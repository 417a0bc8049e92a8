#include "cpu/turned_way.h"

#include <algorithm>
#include <cstring>

#include "cpu/arena.h"
#include "cpu/column_folder.h"
#include "cpu/element_kernels.h"
#include "cpu/long_fold.h"
#include "cpu/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kScratchBytes = 256 * 1024;  // of planes side by side, inputs and outputs: a part of a second cache,
constexpr index_t kMostScratchBytes = 512 * 1024;  // if there are no fewer planes
constexpr index_t kFewestLanes = 16;
constexpr index_t kMostLanes = 256;
constexpr index_t kMostRowBytes = 64;       // longer rows fill vectors by themselves,
constexpr index_t kMostLongRowBytes = 128;  // but windows of more than eight taps gain more
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

index_t inputs_of(const RowLayout& layout) {
  index_t n = 1;
  for (const PooledAxis& a : layout.axis) n *= a.axis.in;
  return n;
}

index_t outputs_of(const RowLayout& layout) {
  index_t n = 1;
  for (const PooledAxis& a : layout.axis) n *= a.axis.out;
  return n;
}

// How many planes stand side by side: a multiple of 16, or 0.
index_t lanes_for(const FoldJob& job) {
  const index_t bytes = (inputs_of(job.layout) + outputs_of(job.layout)) * size_bytes(job.problem->dtype);
  const index_t fit = std::clamp<index_t>(kScratchBytes / bytes, kFewestLanes, kMostLanes);
  if (fit * bytes > kMostScratchBytes) return 0;
  return std::min(fit, job.layout.plane_count()) / kFewestLanes * kFewestLanes;
}

// The same fold of `lanes` planes side by side.
FoldJob turn(const FoldJob& job, index_t lanes) {
  FoldJob turned = job;
  turned.layout.planes = {};
  turned.layout.lanes = {lanes, {1, 1, 0, 0}};
  index_t in = lanes, out = lanes;
  for (int a = job.layout.pooled() - 1; a >= 0; --a) {
    PooledAxis& axis = turned.layout.axis[at(a)];
    axis.pitch = {in, out, 0, 0};
    in *= axis.axis.in;
    out *= axis.axis.out;
  }
  return turned;
}

// One thread's batches of planes.
class Turner {
 public:
  Turner(const FoldJob& job, index_t lanes, Arena& arena)
      : job_(job),
        turned_(turn(job, lanes)),
        run_(takes_columns(turned_) ? &run_columns : &run_long),
        transpose_(element_table().transpose),
        lanes_(lanes),
        bytes_(size_bytes(job.problem->dtype)),
        in_(inputs_of(job.layout)),
        out_(outputs_of(job.layout)),
        x_(arena.take(in_ * lanes * bytes_)),
        y_(arena.take(out_ * lanes * bytes_)),
        some_(arena.take(std::max(in_, out_) * lanes * bytes_)) {
    turned_.x = x_;
    turned_.y = y_;
  }

  void fold(Range planes) {
    const std::byte* x = static_cast<const std::byte*>(job_.x) + planes.begin * in_ * bytes_;
    std::byte* y = static_cast<std::byte*>(job_.y) + planes.begin * out_ * bytes_;
    const bool whole = planes.size() == lanes_;
    if (!whole) {  // zeros take the places of planes that are not there
      const index_t here = planes.size() * in_ * bytes_;
      std::memcpy(some_, x, at(here));
      std::memset(some_ + here, 0, at(lanes_ * in_ * bytes_ - here));
      x = some_;
    }
    transpose_(x, lanes_, in_, bytes_, x_);
    run_(turned_, 1);
    transpose_(y_, out_, lanes_, bytes_, whole ? y : some_);
    if (!whole) std::memcpy(y, some_, at(planes.size() * out_ * bytes_));
  }

 private:
  const FoldJob& job_;
  FoldJob turned_;
  void (*run_)(const FoldJob&, int);
  Transpose transpose_;
  index_t lanes_, bytes_, in_, out_;
  std::byte *x_, *y_, *some_;
};

}  // namespace

bool takes_turned(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.lanes.n != 1 || !layout.is_stack()) return false;
  const index_t lanes = lanes_for(job),
                row_bytes = layout.axis[layout.pooled() - 1].axis.in * size_bytes(job.problem->dtype);
  if (lanes < kFewestLanes || row_bytes > kMostLongRowBytes) return false;
  const FoldJob turned = turn(job, lanes);
  return (row_bytes <= kMostRowBytes && takes_columns(turned)) || takes_long(turned);
}

void run_turned(const FoldJob& job, int threads) {
  const index_t planes = job.layout.plane_count(), lanes = lanes_for(job);
  const index_t batches = (planes + lanes - 1) / lanes;
  const index_t bytes = lanes * inputs_of(job.layout) * size_bytes(job.problem->dtype);
  parallel_for(batches, bytes, threads, [&](index_t begin, index_t end) {
    static thread_local Arena arena;
    arena.reset();
    Turner turner(job, lanes, arena);
    for (index_t b = begin; b < end; ++b) turner.fold({b * lanes, std::min(planes, (b + 1) * lanes)});
  });
}

}  // namespace oriel::cpu
