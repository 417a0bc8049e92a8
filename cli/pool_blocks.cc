#include "cli/pool_blocks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/blocks.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/window_options.h"
#include "io/hdf5.h"
#include "io/output_file.h"
#include "oriel/dist/local_pool.h"

namespace oriel::cli {
namespace {

constexpr index_t kDefaultMemory = index_t{1} << 30;
constexpr const char* kDefaultDataset = "/data";

bool is_npy(const std::string& path) { return path.ends_with(".npy") || path.ends_with(".NPY"); }

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What the process holds already: itself, its libraries, MPI.
index_t resident_bytes() {
  index_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::unique_ptr<io::VolumeIn> open_input(const PoolCommand& c, ReadWhole read_whole) {
  if (const auto hdf5 = io::split_hdf5_path(c.in)) return io::open_hdf5_volume(*hdf5, c.dtype);
  if (is_npy(c.in)) return io::open_npy_volume(c.in, c.dtype);
  if (c.memory > 0 || read_whole == nullptr) {
    throw UsageError("oriel pool",
                     fmt::format("IN: '{}' cannot be read in parts, as --memory and mpirun need; allowed: .npy, .h5, "
                                 ".hdf5",
                                 c.in));
  }
  return io::volume_of(read_whole(c.in, c.dtype));
}

// A file that results go to: made by rank 0 beside its target, written by all, named at the end.
class Output {
 public:
  // `format` as --format says; empty: the name tells.
  Output(const std::string& path, const std::string& format, Team& team) : path_(path), team_(team) {
    if (!format.empty() && format != "npy") {
      throw UsageError("oriel pool", fmt::format("--format: '{}' cannot be written in parts, as HDF5 inputs, --memory "
                                                 "and mpirun need; allowed: npy",
                                                 format));
    }
    if (format.empty()) hdf5_ = io::split_hdf5_path(path);
    if (hdf5_ && hdf5_->dataset.empty()) hdf5_->dataset = kDefaultDataset;
    if (path == "-" || (!hdf5_ && format.empty() && !is_npy(path))) {
      throw UsageError("oriel pool", fmt::format("OUT: '{}' cannot be written in parts, as HDF5 inputs, --memory and "
                                                 "mpirun need; allowed: .npy, .h5, .hdf5",
                                                 path));
    }
  }

  // Rank 0 makes the file, then all open it.
  void open(const io::VolumeSpec& spec) {
    const std::string file = hdf5_ ? hdf5_->file : path_;
    together(team_, [&] {
      if (team_.rank() != 0) return;
      const bool there = hdf5_ && std::filesystem::exists(file);
      if (there) io::check_hdf5_output(file, *hdf5_);
      file_ = std::make_unique<io::OutputFile>(file);
      if (file_->place().empty())
        throw Error(fmt::format("{}: a pipe or a device; allowed: a file, whose parts can be written", file));
      if (there) file_->begin_with(file);
      if (hdf5_)
        io::create_hdf5_volume(file_->place(), *hdf5_, spec, !there);
      else
        io::create_npy_volume(file_->place(), file, spec);
    });
    const std::string place = team_.from_first(file_ ? file_->place() : "");
    if (team_.rank() != 0) watched_ = std::make_unique<io::WatchedFile>(place);
    together(team_, [&] {
      volume_ =
          hdf5_ ? io::open_hdf5_output(place, *hdf5_, spec, team_.use_ranks()) : io::open_npy_output(place, file, spec);
    });
  }

  void write(const Extents& begin, const ConstTensor& from) { volume_->write(begin, from); }

  // All that was written is on the disk, under its temporary name.
  void finish() {
    together(team_, [&] { volume_->close(); });
    together(team_, [&] {
      if (file_) file_->finish();
    });
  }
  void commit() {
    together(team_, [&] {
      if (file_) file_->commit();
    });
  }
  std::string file() const { return hdf5_ ? hdf5_->file : path_; }

 private:
  std::string path_;
  Team& team_;
  std::optional<io::Hdf5Path> hdf5_;
  std::unique_ptr<io::OutputFile> file_;  // of rank 0
  std::unique_ptr<io::WatchedFile> watched_;
  std::unique_ptr<io::VolumeOut> volume_;
};

struct Seconds {
  double read = 0, pool = 0, write = 0;
};

// Everything that one call needs while it runs.
class Run {
 public:
  Run(const PoolCommand& c, Team& team, ReadWhole read_whole)
      : c_(c), team_(team), read_whole_(read_whole), out_(c.out, c.format, team) {
    if (!c.indices.empty()) indices_.emplace(c.indices, "", team);
    if (indices_ && indices_->file() == out_.file()) {
      throw UsageError("oriel pool",
                       fmt::format("--indices: '{}' is the file of OUT; allowed: another file", c.indices));
    }
  }

  void prepare() {
    together(team_, [&] {
      in_ = open_input(c_, read_whole_);
      problem_.emplace(resolve());
    });
    const dist::Partition inputs = dist::Partition::balanced(problem_->shape, Extents(problem_->shape.size(), 1));
    plan_.emplace(*problem_, inputs,
                  dist::Partition::balanced(problem_->output_shape, Extents(problem_->shape.size(), 1)));
    const Extents chunk = output_chunk(*problem_, in_->chunk);
    const index_t memory = c_.memory > 0 ? c_.memory : kDefaultMemory;
    // HDF5 holds a chunk of the input a few times while it takes off its filters.
    const index_t chunks = in_->chunk.empty() ? 0 : 3 * element_count(in_->chunk) * size_bytes(in_->dtype);
    const index_t held = team_.greatest(resident_bytes() + chunks);
    const BlockRules rules{.memory = memory,
                           .held = held,
                           .parts = team_.size(),
                           .indices = indices_.has_value(),
                           .order = in_->order,
                           .chunk = chunk};
    together(team_, [&] { blocks_.emplace(*plan_, rules); });
    const std::string name = to_string(*problem_);
    out_.open({problem_->dtype, problem_->output_shape, chunk, name, in_.get()});
    if (indices_) indices_->open({Dtype::i64, problem_->output_shape, chunk, name, nullptr});
    together(team_, [&] { allocate(); });
  }

  void pool(Progress& progress) {
    const index_t ranks = team_.size(), count = blocks_->count();
    const index_t begin = count * team_.rank() / ranks, end = count * (team_.rank() + 1) / ranks;
    const index_t rounds = ceil_div(count, ranks);
    for (index_t round = 0; round < rounds; ++round) {
      progress.set(
          fmt::format("block {} of {}: {} %", std::min(round * ranks + 1, count), count, 100 * round / rounds));
      together(team_, [&] {
        if (begin + round < end) make(blocks_->block(begin + round));
      });
    }
    progress.set("bringing it to the disk");
    Stopwatch watch(seconds_.write);
    out_.finish();
    if (indices_) indices_->finish();
    if (indices_) indices_->commit();
    out_.commit();
  }

  void report(Progress& progress) {
    if (team_.rank() != 0) return;
    const Problem& p = *problem_;
    if (c_.json) {
      std::string indices;
      if (indices_)
        indices = fmt::format(", \"indices\": {}, \"index_space\": \"{}\"", json_string(c_.indices),
                              c_.index_space == IndexSpace::tensor ? "tensor" : "plane");
      progress.say(fmt::format(
          "{{\"in\": {}, \"out\": {}, \"problem\": {}, \"dtype\": \"{}\", \"shape\": {}, \"axes\": {}, "
          "\"output_shape\": {}{}, "
          "\"ranks\": {}, \"blocks\": {}, \"memory\": {}, \"threads\": {}, \"seconds\": {{\"read\": {:.6f}, \"pool\": "
          "{:.6f}, \"write\": {:.6f}}}}}\n",
          json_string(c_.in), json_string(c_.out), json_string(to_string(p)), name(p.dtype), json_list(p.shape),
          json_list(pooled_axes(p)), json_list(p.output_shape), indices, team_.size(), blocks_->count(),
          c_.memory > 0 ? c_.memory : kDefaultMemory, threads(), seconds_.read, seconds_.pool, seconds_.write));
    } else if (!c_.quiet) {
      const std::string ranks = team_.size() == 1 ? "" : fmt::format(", {} ranks", team_.size());
      progress.say(fmt::format("{}: {} {}, {} -> {}: {} ({} block{}{}, {:.3g} ms)\n", c_.in, name(p.dtype),
                               to_string(p.shape), show_axes(p), c_.out, to_string(p.output_shape), blocks_->count(),
                               blocks_->count() == 1 ? "" : "s", ranks, seconds_.pool * 1e3));
    }
  }

 private:
  Problem resolve() const {
    try {
      return make_problem(c_.pool, in_->dtype, in_->shape);
    } catch (const Error& e) {
      throw UsageError("oriel pool", fmt::format("{}: {}", c_.in, e.what()));
    }
  }

  int threads() const { return c_.threads > 0 ? c_.threads : std::max(default_threads() / team_.local_size(), 1); }

  void allocate() {
    x_ = io::allocate(problem_->dtype, {blocks_->most_inputs()});
    y_ = io::allocate(problem_->dtype, {blocks_->most_outputs()});
    if (indices_) places_ = io::allocate(Dtype::i64, {blocks_->most_outputs()});
  }

  void make(const dist::Box& block) {
    if (block.empty()) return;
    const dist::Box needed = plan_->needs(block);
    const Tensor x(x_.view.data, problem_->dtype, needed.shape(), dense_pitch(needed.shape(), in_->order));
    const Tensor y(y_.view.data, problem_->dtype, block.shape());
    {
      Stopwatch watch(seconds_.read);
      in_->read(needed.begin, x);
    }
    dist::Operands operands;
    operands.x = x;
    operands.y = y;
    if (indices_) operands.places = Tensor(places_.view.data, Dtype::i64, block.shape());
    operands.space = IndexSpace::window;
    {
      Stopwatch watch(seconds_.pool);
      const Problem part = plan_->part(block);
      const Extents one(part.shape.size(), 1);
      // One rank's share of a division among one: it knows windows without any tap, too.
      dist::LocalPool pool(part, dist::Partition::balanced(part.shape, one),
                           dist::Partition::balanced(part.output_shape, one), 0);
      pool.interior(dist::Pass::forward, operands, {.threads = threads()});
      pool.finish(dist::Pass::forward, operands, {.threads = threads()});
      if (indices_) dist::globalise(*plan_, block, operands.places, c_.index_space);
    }
    Stopwatch watch(seconds_.write);
    out_.write(block.begin, y);
    if (indices_) indices_->write(block.begin, operands.places);
  }

  const PoolCommand& c_;
  Team& team_;
  ReadWhole read_whole_;
  std::unique_ptr<io::VolumeIn> in_;
  Output out_;
  std::optional<Output> indices_;
  std::optional<Problem> problem_;
  std::optional<dist::HaloPlan> plan_;
  std::optional<Blocks> blocks_;
  io::Buffer x_, y_, places_;
  Seconds seconds_;
};

}  // namespace

bool goes_in_blocks(const PoolCommand& c, const Team& team) {
  return c.memory > 0 || team.size() > 1 || io::split_hdf5_path(c.in) || io::split_hdf5_path(c.out) ||
         io::split_hdf5_path(c.indices);
}

int run_pool_in_blocks(const PoolCommand& c, Team& team, ReadWhole read_whole) {
  Progress progress("oriel pool", c.progress && team.rank() == 0);
  progress.set("reading " + c.in);
  Run run(c, team, read_whole);
  run.prepare();
  run.pool(progress);
  run.report(progress);
  return kExitDone;
}

}  // namespace oriel::cli
