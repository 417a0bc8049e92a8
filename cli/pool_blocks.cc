#include "cli/pool_blocks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/beside_files.h"
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
#include "io/nifti/volume.h"
#include "io/tiff/volume.h"
#include "io/volume_formats.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr index_t kDefaultMemory = index_t{1} << 30;

bool any_path(const PoolCommand& c, bool (*is)(const std::string& path)) {
  return is(c.in) || is(c.out) || is(c.indices) || is(c.mask) || is(c.weights);
}

bool is_hdf5(const std::string& path) { return io::split_hdf5_path(path).has_value(); }

// Of a format that knows nothing but boxes.
bool is_boxes_only(const std::string& path) {
  const io::VolumeFormat* const format = io::volume_format_of(path);
  return is_hdf5(path) || (format != nullptr && !format->whole_too);
}

// An input of a format that is read whole in other cases.
bool is_read_in_boxes_only(const std::string& path) {
  const io::VolumeFormat* const format = io::volume_format_of(path);
  return format != nullptr && format->only_boxes != nullptr && format->only_boxes(path);
}

bool is_written_in_boxes(const std::string& path) {
  return is_hdf5(path) || (path != "-" && io::volume_format_of(path) != nullptr);
}

// A GeoTIFF whose result is a TIFF keeps its tags.
bool keeps_geotiff(const PoolCommand& c) {
  return c.format.empty() && (io::is_tiff_image(c.out) || io::is_tiff_volume(c.out)) && io::is_geotiff(c.in) &&
         (c.indices.empty() || is_written_in_boxes(c.indices));
}

// A result in NIfTI may be scaled as its input is. Masks and weights may leave windows without a value.
bool keeps_nifti_scaling(const PoolCommand& c) {
  return c.format.empty() && io::is_nifti(c.out) && c.mask.empty() && c.weights.empty();
}

// Whether a bound of memory makes the call go in blocks.
bool bound_asks_for_blocks(const PoolCommand& c) {
  const io::VolumeFormat* const format = io::volume_format_of(c.in);
  if (c.memory == 0 || format == nullptr) return false;
  const bool in_boxes = (c.format.empty() ? is_written_in_boxes(c.out) : c.format == "npy" && c.out != "-") &&
                        (c.indices.empty() || is_written_in_boxes(c.indices));
  return !format->images || in_boxes;
}

std::unique_ptr<io::VolumeIn> open_input(const PoolCommand& c, ReadWhole read_whole) {
  if (const auto hdf5 = io::split_hdf5_path(c.in)) return io::open_hdf5_volume(*hdf5, c.dtype);
  if (const io::VolumeFormat* const format = io::volume_format_of(c.in)) {
    if (format->images) bound_inputs(c);  // some are read whole nevertheless
    std::unique_ptr<io::VolumeIn> in = format->open(c.in, c.dtype);
    if (keeps_nifti_scaling(c)) io::keep_nifti_scaling(*in, c.pool);
    return in;
  }
  if (read_whole == nullptr) {
    throw UsageError("oriel pool", fmt::format("IN: '{}' cannot be read in parts, as mpirun needs; allowed: {}", c.in,
                                               io::volume_endings()));
  }
  bound_inputs(c);
  return io::volume_of(read_whole(c.in, c.dtype));
}

// Several quantiles are made one by one: their result has an axis before those that blocks are cut along.
Problem with_first_quantile(const Problem& all) {
  Problem one = all;
  if (all.pool.q.size() < 2) return one;
  one.pool.q.resize(1);
  one.output_shape = {};
  for (int d = 1; d < all.output_shape.size(); ++d) one.output_shape.push_back(all.output_shape[d]);
  return one;
}

// Of the largest chunk that is read, or compressed at the end: that has at least what a format chooses by itself.
index_t chunk_bytes_of(const PoolCommand& c, const io::VolumeIn& in, const Extents& written) {
  constexpr index_t chosen = index_t{1} << 20;
  const index_t read = in.chunk.empty() ? 0 : element_count(in.chunk) * size_bytes(in.dtype);
  return c.codec ? std::max({read, element_count(written) * size_bytes(Dtype::i64), chosen}) : read;
}

// Chunks that IN leaves out are left out of a result of the same dtype, too.
io::VolumeSpec with_fill(io::VolumeSpec spec, const io::VolumeIn& in) {
  if (spec.dtype == in.dtype) spec.fill = in.fill;
  return spec;
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
      all_.emplace(resolve());
      problem_.emplace(with_first_quantile(*all_));
    });
    const distributed::Partition inputs =
        distributed::Partition::balanced(problem_->shape, Extents::filled(problem_->shape.size(), 1));
    plan_.emplace(*problem_, inputs,
                  distributed::Partition::balanced(problem_->output_shape, Extents::filled(problem_->shape.size(), 1)));
    together(team_, [&] { open_what_is_beside(); });
    pooler_.emplace(*plan_, in_->order, indices_ ? std::optional(c_.index_space) : std::nullopt, beside_);
    const Extents chunk = output_chunk(*problem_, in_->chunk);
    const index_t memory = c_.memory > 0 ? c_.memory : kDefaultMemory;
    const index_t chunk_bytes = std::max(chunk_bytes_of(c_, *in_, chunk), beside_.chunk_bytes());
    const bool library = any_path(c_, &is_boxes_only);
    BlockRules rules{.memory = memory,
                     .held = team_.greatest(resident_bytes() + reserve_bytes(library, chunk_bytes)),
                     .parts = team_.size(),
                     .indices = indices_.has_value(),
                     .beside = beside_.element_bytes(),
                     .order = in_->order,
                     .chunk = chunk,
                     .input_chunk = in_->chunk};
    together(team_, [&] { blocks_.emplace(*plan_, rules); });
    const PoolMemory pool = pool_memory(memory - rules.held);
    rules.held += team_.greatest(pool.own);
    rules.memory = -team_.greatest(-std::min(memory, rules.held + pool.blocks));
    together(team_, [&] { blocks_.emplace(*plan_, rules); });
    keep_chunks();
    const std::string name = to_string(*all_);
    team_.expect(result_bytes() + out_.bytes_there() + (indices_ ? indices_->bytes_there() : 0));
    const Extents chunks = chunk.empty() || quantiles() == 1 ? chunk : beside_quantile(1, chunk);
    out_.open(with_fill({all_->result, all_->output_shape, chunks, name, in_.get(), {}, c_.codec}, *in_), false);
    together_ = indices_ && share_file(indices_->place(), out_.place());
    if (indices_) indices_->open({Dtype::i64, all_->output_shape, chunks, name, nullptr, {}, c_.codec}, together_);
    together(team_, [&] { buffers_ = pooler_->allocate(blocks_->most_inputs(), blocks_->most_outputs()); });
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
                   .problem = *all_,
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

  index_t result_bytes() const { return element_count(all_->output_shape) * pooler_->output_bytes(); }
  index_t block_bytes() const {
    return blocks_->most_inputs() * pooler_->input_bytes() + blocks_->most_outputs() * pooler_->output_bytes();
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

  // Refuses what the pool cannot have beside IN, before anything is made.
  void open_what_is_beside() {
    beside_ = open_beside(c_, *problem_, *in_, read_whole_);
    const distributed::LocalPool alone(*problem_, plan_->inputs(), plan_->outputs(), 0, beside_.shapes());
  }

  void read_beside(io::VolumeIn& volume, const io::Buffer& buffer, const ConstTensor& view,
                   const distributed::Box& block) {
    const Extents begin = pooler_->beside_of(volume.shape, block).begin;
    volume.read(begin, Tensor(buffer.view.data, view.dtype, view.shape, view.pitch));
    if (&volume == beside_.weights.get()) check_weights(c_.weights, problem_->pool, view, begin);
  }

  void make(const distributed::Box& block) {
    if (block.empty()) return;
    const distributed::Operands operands = pooler_->operands_of(block, buffers_);
    const Tensor x(buffers_.x.view.data, problem_->dtype, plan_->needs(block).shape(), operands.x.pitch);
    {
      const AddSeconds timed(seconds_.read);
      if (chunks_)
        chunks_->read(plan_->needs(block).begin, x);
      else
        in_->read(plan_->needs(block).begin, x);
      if (beside_.mask) read_beside(*beside_.mask, buffers_.mask, operands.mask, block);
      if (beside_.weights) read_beside(*beside_.weights, buffers_.weights, operands.weights, block);
    }
    for (index_t k = 0; k < quantiles(); ++k) {
      {
        const AddSeconds timed(seconds_.pool);
        const bool several = quantiles() > 1;
        pooler_->pool(block, operands, threads(),
                      several ? std::optional(all_->pool.q[static_cast<std::size_t>(k)]) : std::nullopt);
      }
      const AddSeconds timed(seconds_.write);
      write(out_, k, block, operands.y);
      if (indices_) write(*indices_, k, block, operands.indices);
    }
  }

  index_t quantiles() const { return std::max<index_t>(static_cast<index_t>(all_->pool.q.size()), 1); }

  static Extents beside_quantile(index_t k, const Extents& extents) {
    Extents longer = {k};
    for (const index_t n : extents) longer.push_back(n);
    return longer;
  }

  // What was made of a block: all of it, or that of one quantile.
  void write(BlockOutput& out, index_t k, const distributed::Box& block, const ConstTensor& made) const {
    if (quantiles() == 1) return out.write(block.begin, made);
    out.write(beside_quantile(k, block.begin), ConstTensor(made.data, made.dtype, beside_quantile(1, made.shape)));
  }

  const PoolCommand& c_;
  Team& team_;
  ReadWhole read_whole_;
  std::unique_ptr<io::VolumeIn> in_;
  BesideVolumes beside_;
  BlockOutput out_;
  std::optional<BlockOutput> indices_;
  bool together_ = false;           // both in one file
  std::optional<Problem> all_;      // with all quantiles
  std::optional<Problem> problem_;  // with the first
  std::optional<distributed::HaloPlan> plan_;
  std::optional<BlockPool> pooler_;
  std::optional<Blocks> blocks_;
  int most_threads_ = std::numeric_limits<int>::max();
  std::optional<io::ChunkCache> chunks_;
  index_t block_ = 0, end_ = 0;  // the block that is made, and the end of this rank's
  BlockBuffers buffers_;
  PoolSeconds seconds_;
  Stopwatch watch_;  // of the whole call
};

}  // namespace

bool goes_in_blocks(const PoolCommand& c, const Team& team) {
  return bound_asks_for_blocks(c) || team.size() > 1 || any_path(c, &is_boxes_only) || is_read_in_boxes_only(c.in) ||
         keeps_geotiff(c) || is_read_in_boxes_only(c.mask) || is_read_in_boxes_only(c.weights);
}

int run_pool_in_blocks(const PoolCommand& c, Team& team, ReadWhole read_whole) {
  check_codec(c);
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
