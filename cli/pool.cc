#include "oriel/pool.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/beside_files.h"
#include "cli/block_output.h"
#include "cli/held_memory.h"
#include "cli/options.h"
#include "cli/places.h"
#include "cli/pool_blocks.h"
#include "cli/pool_report.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "cli/window_options.h"
#include "io/files.h"
#include "io/npz_output.h"
#include "io/output_file.h"

namespace oriel::cli {
namespace {

// What tells the format of OUT: --format, else its name. A name that tells nothing is the command line's fault.
std::string ending_of(const std::string& path, const std::string& format) {
  if (!format.empty()) return "out." + format;
  if (path == "-") return "out.npy";
  try {
    io::format_of(path);
  } catch (const Error& e) {
    throw UsageError("oriel pool", e.what());
  }
  return path;
}

// A file that one call writes arrays to: an archive, whose other arrays stay, or all of the file.
class Target {
 public:
  explicit Target(const Place& place) {
    if (place.kind == Place::Kind::npz)
      npz_ = std::make_unique<io::NpzOutput>(place.file);
    else
      whole_ = std::make_unique<io::OutputFile>(place.file);
  }

  // `ending` tells the format; `values` must stay until prepare has returned.
  void put(const Place& place, const std::string& ending, const ConstTensor& values,
           const std::optional<io::Picture>& picture) {
    if (npz_) return npz_->add(place.part, values);
    io::write_array(whole_->writer(), ending, place.path == "-" ? "standard output" : place.path, values, picture);
  }
  // All is on the disk, but for its name.
  void prepare() { npz_ ? npz_->prepare() : whole_->finish(); }
  void commit() { npz_ ? npz_->commit() : whole_->commit(); }
  const std::string& name() const { return npz_ ? npz_->target() : whole_->target(); }

 private:
  std::unique_ptr<io::NpzOutput> npz_;
  std::unique_ptr<io::OutputFile> whole_;
};

// Both are whole before either has its name. Locks are taken in the order of names, so that no two calls wait for each
// other.
void name_files(Target& out, Target* indices) {
  const bool out_first = indices == nullptr || out.name() < indices->name();
  if (out_first) out.prepare();
  if (indices != nullptr) indices->prepare();
  if (!out_first) out.prepare();
  if (indices != nullptr) indices->commit();
  out.commit();
}

Problem make_pool_problem(const PoolCommand& command, const io::Array& x) {
  try {
    return make_problem(on_input(command.pool, x.picture.has_value()), x.view.dtype, x.view.shape);
  } catch (const Error& e) {
    throw UsageError("oriel pool", e.what());
  }
}

}  // namespace

int run_pool(const PoolCommand& c) {
  Team alone("oriel pool");
  if (goes_in_blocks(c, alone)) return run_pool_in_blocks(c, alone, io::read_array);
  check_codec(c);
  const std::string ending = ending_of(c.out, c.format);
  const std::string indices_ending = c.indices.empty() ? "" : ending_of(c.indices, "");
  Progress progress("oriel pool");
  Stopwatch watch;
  PoolSeconds seconds;

  bound_inputs(c);
  progress.set("reading " + c.in);
  const io::Array x = io::read_array(c.in, c.dtype);
  check_places(c, x.part);
  const Problem problem = make_pool_problem(c, x);
  const BesideArrays beside = read_beside(c, x, io::read_array);
  seconds.read = watch.seconds();
  check_whole(c, problem);

  // Opened before the work: a folder that cannot be written is not worth waiting for.
  const Place place = output_place(c.out, c.format);
  Target out(place);
  std::optional<Place> indices_place;
  if (!c.indices.empty()) indices_place = output_place(c.indices, "");
  std::optional<Target> other;
  if (indices_place && !share_file(*indices_place, place)) other.emplace(*indices_place);

  progress.set("pooling " + to_string(problem));
  const io::Buffer y = io::allocate(problem.result, problem.output_shape);
  const Options options{.threads = c.threads};
  io::Buffer indices;
  if (indices_place) {
    indices = io::allocate(Dtype::i64, problem.output_shape);
  }
  forward(problem.pool,
          {.x = x.view,
           .y = y.view,
           .indices = indices.view,
           .space = c.index_space,
           .mask = beside.mask.view,
           .weights = beside.weights.view},
          options);
  seconds.pool = watch.seconds();

  progress.set("writing " + c.out);
  out.put(place, ending, y.view, x.picture);
  if (indices_place) (other ? *other : out).put(*indices_place, indices_ending, indices.view, std::nullopt);
  name_files(out, other ? &*other : nullptr);
  seconds.write = watch.seconds();
  seconds.all = watch.in_all();
  say(progress, {.command = c,
                 .problem = problem,
                 .part = x.part,
                 .picture = x.picture,
                 .threads = c.threads > 0 ? c.threads : default_threads(),
                 .seconds = seconds});
  return kExitDone;
}

}  // namespace oriel::cli
