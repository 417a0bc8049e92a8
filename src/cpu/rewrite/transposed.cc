#include "cpu/rewrite/transposed.h"

#include <algorithm>

#include "cpu/channels/channels.h"
#include "cpu/rewrite/transposed_batch.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/sliding/sliding.h"

namespace oriel::cpu {
namespace {

constexpr index_t kScratchBytes = 256 * 1024;  // of planes side by side, inputs and outputs: a part of a second cache,
constexpr index_t kMostScratchBytes = 512 * 1024;  // if there are no fewer planes
constexpr index_t kMostRowBytes = 64;              // longer rows fill vectors by themselves,
constexpr index_t kMostLongRowBytes = 128;         // but windows of more than eight taps gain more
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

index_t lanes_for(const FoldJob& job) {
  const index_t in = inputs_of(job.layout), out = outputs_of(job.layout);
  if (std::max(in, out) > kMostScratchBytes) return 0;
  const index_t bytes = (in + out) * size_bytes(job.problem->dtype);
  return batch_lanes(job.layout.plane_count(), bytes, kScratchBytes, kMostScratchBytes);
}

bool takes_columns(const FoldJob& job) { return can_columns(job) && columns_pay(job); }
bool takes_long(const FoldJob& job) { return can_long(job) && long_pays(job); }

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

}  // namespace

bool can_turned(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr || layout.lanes.n != 1 || !layout.is_stack()) return false;
  const index_t lanes = lanes_for(job);
  if (lanes == 0) return false;
  const FoldJob turned = turn(job, lanes);
  return takes_columns(turned) || takes_long(turned);
}

bool turned_pays(const FoldJob& job) {
  const PooledAxis& row = job.layout.axis[job.layout.pooled() - 1];
  const index_t row_bytes = row.axis.in * size_bytes(job.problem->dtype);
  return row_bytes <= (takes_columns(turn(job, lanes_for(job))) ? kMostRowBytes : kMostLongRowBytes);
}

void run_turned(const FoldJob& job, int threads) {
  const index_t planes = job.layout.plane_count(), lanes = lanes_for(job);
  const index_t in = inputs_of(job.layout), out = outputs_of(job.layout), bytes = size_bytes(job.problem->dtype);
  parallel_for((planes + lanes - 1) / lanes, lanes * in * bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    const TurnedBatch batch(lanes, std::max(in, out), bytes, arena);
    std::byte* x = arena.take(lanes * in * bytes);
    std::byte* y = arena.take(lanes * out * bytes);
    FoldJob turned = turn(job, lanes);
    turned.x = x;
    turned.y = y;
    const bool columns = takes_columns(turned);
    for (index_t b = begin; b < end; ++b) {
      const Range part = {b * lanes, std::min(planes, (b + 1) * lanes)};
      batch.turn(job.x, part, in, x);
      if (columns)
        run_columns(turned, 1);
      else
        run_long(turned, 1);
      batch.turn_back(y, part, out, job.y);
    }
  });
}

}  // namespace oriel::cpu
