#include "cli/pool_blocks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/block_output.h"
#include "cli/block_pool.h"
#include "cli/blocks.h"
#include "cli/held_memory.h"
#include "cli/places.h"
#include "cli/pool_report.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "cli/window_options.h"
#include "io/chunk_cache.h"
#include "io/hdf5.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr index_t kDefaultMemory = index_t{1} << 30;

bool is_npy(const std::string& path) { return path.ends_with(".npy") || path.ends_with(".NPY"); }

std::unique_ptr<io::VolumeIn> open_input(const PoolCommand& c, ReadWhole read_whole) {
  if (const auto hdf5 = io::split_hdf5_path(c.in)) return io::open_hdf5_volume(*hdf5, c.dtype);
  if (is_npy(c.in)) return io::open_npy_volume(c.in, c.dtype);
  if (read_whole == nullptr) {
    throw UsageError("oriel pool",
                     fmt::format("IN: '{}' cannot be read in parts, as mpirun needs; allowed: .npy, .h5, .hdf5", c.in));
  }
  bound_inputs(c);
  return io::volume_of(read_whole(c.in, c.dtype));
}

// Everything that one call needs while it runs.
class Run {
 public:
  Run(const PoolCommand& c, Team& team, ReadWhole read_whole)
      : c_(c), team_(team), read_whole_(read_whole), out_(c.out, c.format, team) {
    if (!c.indices.empty()) indices_.emplace(c.indices, "", team);
  }

  void prepare() {
    together(team_, [&] {
      in_ = open_input(c_, read_whole_);
      check_places(c_, in_->part);
      problem_.emplace(resolve());
    });
    const distributed::Partition inputs =
        distributed::Partition::balanced(problem_->shape, Extents::filled(problem_->shape.size(), 1));
    plan_.emplace(*problem_, inputs,
                  distributed::Partition::balanced(problem_->output_shape, Extents::filled(problem_->shape.size(), 1)));
    pooler_.emplace(*plan_, in_->order, indices_ ? std::optional(c_.index_space) : std::nullopt);
    const Extents chunk = output_chunk(*problem_, in_->chunk);
    const index_t memory = c_.memory > 0 ? c_.memory : kDefaultMemory;
    const index_t chunk_bytes = in_->chunk.empty() ? 0 : element_count(in_->chunk) * size_bytes(in_->dtype);
    const bool hdf5 = io::split_hdf5_path(c_.in) || io::split_hdf5_path(c_.out) || io::split_hdf5_path(c_.indices);
    BlockRules rules{.memory = memory,
                     .held = team_.greatest(resident_bytes() + reserve_bytes(hdf5, chunk_bytes)),
                     .parts = team_.size(),
                     .indices = indices_.has_value(),
                     .order = in_->order,
                     .chunk = chunk,
                     .input_chunk = in_->chunk};
    together(team_, [&] { blocks_.emplace(*plan_, rules); });
    const PoolMemory pool = pool_memory(memory - rules.held);
    rules.held += team_.greatest(pool.own);
    rules.memory = -team_.greatest(-std::min(memory, rules.held + pool.blocks));
    together(team_, [&] { blocks_.emplace(*plan_, rules); });
    keep_chunks();
    const std::string name = to_string(*problem_);
    team_.expect(result_bytes() + out_.bytes_there() + (indices_ ? indices_->bytes_there() : 0));
    out_.open({problem_->result, problem_->output_shape, chunk, name, in_.get()}, false);
    together_ = indices_ && share_file(indices_->place(), out_.place());
    if (indices_) indices_->open({Dtype::i64, problem_->output_shape, chunk, name, nullptr}, together_);
    together(team_, [&] { allocate(); });
  }

  void pool(Progress& progress) {
    const index_t ranks = team_.size(), count = blocks_->count();
    const index_t begin = count * team_.rank() / ranks, end = count * (team_.rank() + 1) / ranks;
    const index_t rounds = ceil_div(count, ranks);
    team_.expect(block_bytes());
    warn_of_reads(progress);
    end_ = end;
    for (index_t round = 0; round < rounds; ++round) {
      progress.set(
          fmt::format("block {} of {}: {} %", std::min(round * ranks + 1, count), count, 100 * round / rounds));
      together(team_, [&] {
        block_ = begin + round;
        if (block_ < end) make(blocks_->block(block_));
      });
    }
    progress.set("flushing it to the disk");
    team_.expect(result_bytes() + out_.bytes_there() + (indices_ ? indices_->bytes_there() : 0));
    const AddSeconds timed(seconds_.write);
    out_.finish();
    if (indices_) indices_->finish();
    name_files();
  }

  void report(Progress& progress) {
    const index_t chunk_reads = chunks_ ? team_.sum(chunks_->reads()) : 0;
    if (team_.rank() != 0) return;
    BlocksReport how{.ranks = team_.size(),
                     .blocks = blocks_->count(),
                     .memory = c_.memory > 0 ? c_.memory : kDefaultMemory,
                     .chunks = {},
                     .chunk_reads = {}};
    if (chunks_) {
      how.chunks = blocks_->chunk_reads().chunks;
      how.chunk_reads = chunk_reads;
    }
    seconds_.all = watch_.in_all();
    say(progress, {.command = c_,
                   .problem = *problem_,
                   .part = in_->part,
                   .picture = in_->picture,
                   .threads = threads(),
                   .seconds = seconds_,
                   .blocks = how});
  }

 private:
  Problem resolve() const {
    try {
      return make_problem(on_input(c_.pool, in_->picture.has_value()), in_->dtype, in_->shape);
    } catch (const Error& e) {
      throw UsageError("oriel pool", fmt::format("{}: {}", c_.in, e.what()));
    }
  }

  // Both are whole before either has its name. Locks are taken in the order of names, so that no two calls wait for
  // each other.
  void name_files() {
    if (!indices_ || together_) {
      out_.prepare(indices_ ? &*indices_ : nullptr);
      return out_.commit();
    }
    const bool out_first = out_.target() < indices_->target();
    if (out_first) out_.prepare(nullptr);
    indices_->prepare(nullptr);
    if (!out_first) out_.prepare(nullptr);
    indices_->commit();
    out_.commit();
  }

  int threads() const {
    const int asked = c_.threads > 0 ? c_.threads : std::max(default_threads() / team_.local_size(), 1);
    return std::min(asked, most_threads_);
  }

  // What the pool takes for itself, and the most that a block may take beside it.
  struct PoolMemory {
    index_t own = 0, blocks = 0;
  };

  // Seen when it makes small parts of the first block, from `left` bytes: each thread has memory of its own for rows
  // and planes, more for larger blocks. Larger parts are tried as long as half of what is left will do; no more threads
  // are used than it does for.
  PoolMemory pool_memory(index_t left) {
    constexpr index_t least = index_t{1} << 18;  // stacks and the like
    constexpr index_t larger = 4, smallest_part = 64;
    distributed::Box one = blocks_->block(0);
    for (int d = 0; d < one.begin.size(); ++d) one.end[d] = std::min(one.end[d], one.begin[d] + 1);
    // Most of the reserve is for code that is not loaded yet; what this has loaded is no longer.
    const index_t code = std::max<index_t>(pooler_->trial_bytes(one, left / larger) - (index_t{2} << 20), 0);
    index_t thread = least, part = smallest_part;
    for (index_t next = smallest_part; next >= larger && (next == smallest_part || thread * larger <= left / 2);
         next /= larger) {
      part = next;
      distributed::Box some = blocks_->block(0);
      for (int d = 0; d < some.begin.size(); ++d)
        while (pooler_->bytes_of(some) > left / part && some.end[d] > some.begin[d] + 1)
          some.end[d] = some.begin[d] + (some.end[d] - some.begin[d]) / 2;
      thread = std::max(thread, pooler_->trial_bytes(some, left / part) * 3 / 2);  // larger blocks take more
    }
    if (code + thread > left / 4 * 3 && part < smallest_part) {  // that was too large; its memory is there already
      most_threads_ = 1;
      return {.own = code + thread / 3 * 2, .blocks = left / part};
    }
    most_threads_ = static_cast<int>(std::clamp<index_t>(left / 2 / thread, 1, threads()));
    return {.own = code + thread * threads(), .blocks = left / part * larger};
  }

  index_t result_bytes() const { return element_count(problem_->output_shape) * pooler_->output_bytes(); }
  index_t block_bytes() const {
    return blocks_->most_inputs() * size_bytes(problem_->dtype) + blocks_->most_outputs() * pooler_->output_bytes();
  }

  void keep_chunks() {
    const ChunkReads& reads = blocks_->chunk_reads();
    if (reads.chunks == 0) return;
    chunks_.emplace(*in_, reads.slots, [this](const Extents& chunk) { return blocks_->next_use(chunk, block_, end_); });
  }

  // A reader who waits long should know what would be quicker.
  void warn_of_reads(Progress& progress) const {
    const ChunkReads& reads = blocks_->chunk_reads();
    constexpr double worth_a_word = 1.25;
    const double each = static_cast<double>(reads.reads) / static_cast<double>(std::max<index_t>(reads.chunks, 1));
    if (team_.rank() != 0 || c_.quiet || each < worth_a_word) return;
    progress.complain(fmt::format(
        "{}: with so little memory its chunks are read and decoded up to {:.3g} times; with --memory {}MiB once\n",
        detail::printable(c_.in), each, ceil_div(reads.memory_for_one, index_t{1} << 20)));
  }

  void allocate() {
    x_ = io::allocate(problem_->dtype, {blocks_->most_inputs()});
    y_ = io::allocate(problem_->result, {blocks_->most_outputs()});
    if (indices_) places_ = io::allocate(Dtype::i64, {blocks_->most_outputs()});
  }

  void make(const distributed::Box& block) {
    if (block.empty()) return;
    const distributed::Operands operands = pooler_->operands_of(block, x_, y_, places_);
    const Tensor x(x_.view.data, problem_->dtype, plan_->needs(block).shape(), operands.x.pitch);
    {
      const AddSeconds timed(seconds_.read);
      if (chunks_)
        chunks_->read(plan_->needs(block).begin, x);
      else
        in_->read(plan_->needs(block).begin, x);
    }
    {
      const AddSeconds timed(seconds_.pool);
      pooler_->pool(block, operands, threads());
    }
    const AddSeconds timed(seconds_.write);
    out_.write(block.begin, operands.y);
    if (indices_) indices_->write(block.begin, operands.indices);
  }

  const PoolCommand& c_;
  Team& team_;
  ReadWhole read_whole_;
  std::unique_ptr<io::VolumeIn> in_;
  BlockOutput out_;
  std::optional<BlockOutput> indices_;
  bool together_ = false;  // both in one file
  std::optional<Problem> problem_;
  std::optional<distributed::HaloPlan> plan_;
  std::optional<BlockPool> pooler_;
  std::optional<Blocks> blocks_;
  int most_threads_ = std::numeric_limits<int>::max();
  std::optional<io::ChunkCache> chunks_;
  index_t block_ = 0, end_ = 0;  // the block that is made, and the end of this rank's
  io::Buffer x_, y_, places_;
  PoolSeconds seconds_;
  Stopwatch watch_;  // of the whole call
};

}  // namespace

bool goes_in_blocks(const PoolCommand& c, const Team& team) {
  return (c.memory > 0 && is_npy(c.in)) || team.size() > 1 || io::split_hdf5_path(c.in) || io::split_hdf5_path(c.out) ||
         io::split_hdf5_path(c.indices);
}

int run_pool_in_blocks(const PoolCommand& c, Team& team, ReadWhole read_whole) {
  if (!c.mask.empty() || !c.weights.empty()) {
    throw UsageError("oriel pool",
                     fmt::format("{}: is read whole, so it cannot be combined with --memory, HDF5 files or mpirun",
                                 c.mask.empty() ? "--weights" : "--mask"));
  }
  if (c.pool.q.size() > 1)
    throw UsageError("oriel pool", "--quantile: must be 1 value with --memory, HDF5 files or mpirun");
  keep_memory_low();
  Progress progress("oriel pool", c.progress && team.rank() == 0);
  progress.set("reading " + c.in);
  Run run(c, team, read_whole);
  run.prepare();
  run.pool(progress);
  run.report(progress);
  return kExitDone;
}

}  // namespace oriel::cli
