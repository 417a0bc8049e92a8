#include "oriel/pool.h"

#include <fmt/format.h>

#include <memory>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/pool_blocks.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "cli/window_options.h"
#include "io/array.h"
#include "io/output_file.h"

namespace oriel::cli {
namespace {

struct Seconds {
  double read = 0, pool = 0, write = 0;
};

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

Problem make_pool_problem(const PoolCommand& command, const io::Array& x) {
  Pool pool = command.pool;
  if (x.picture && pool.axes.empty()) pool.axes = {0, 1};
  try {
    return make_problem(pool, x.view.dtype, x.view.shape);
  } catch (const Error& e) {
    throw UsageError("oriel pool", e.what());
  }
}

std::string report_json(const PoolCommand& c, const Problem& p, const Seconds& s) {
  std::string indices;
  if (!c.indices.empty())
    indices = fmt::format(", \"indices\": {}, \"index_space\": \"{}\"", json_string(c.indices),
                          c.index_space == IndexSpace::tensor ? "tensor" : "plane");
  return fmt::format(
      "{{\"in\": {}, \"out\": {}, \"problem\": {}, \"dtype\": \"{}\", \"shape\": {}, \"axes\": {}, \"output_shape\": "
      "{}{}, "
      "\"target\": {}, "
      "\"threads\": {}, \"seconds\": {{\"read\": {:.6f}, \"pool\": {:.6f}, \"write\": {:.6f}}}}}\n",
      json_string(c.in), json_string(c.out), json_string(to_string(p)), name(p.dtype), json_list(p.shape),
      json_list(pooled_axes(p)), json_list(p.output_shape), indices, json_string(active_target()),
      c.threads > 0 ? c.threads : default_threads(), s.read, s.pool, s.write);
}

void report(Progress& progress, const PoolCommand& c, const Problem& p, const Seconds& s) {
  if (c.json) return progress.say(report_json(c, p, s));
  if (c.quiet || c.out == "-") return;
  progress.say(fmt::format("{}: {} {}, {} -> {}: {} ({:.3g} ms)\n", c.in, name(p.dtype), to_string(p.shape),
                           show_axes(p), c.out, to_string(p.output_shape), s.pool * 1e3));
}

}  // namespace

int run_pool(const PoolCommand& c) {
  Team alone;
  if (goes_in_blocks(c, alone)) return run_pool_in_blocks(c, alone, io::read_array);
  const std::string ending = ending_of(c.out, c.format);
  const std::string indices_ending = c.indices.empty() ? "" : ending_of(c.indices, "");
  Progress progress("oriel pool");
  Stopwatch watch;
  Seconds seconds;

  progress.set("reading " + c.in);
  const io::Array x = io::read_array(c.in, c.dtype);
  const Problem problem = make_pool_problem(c, x);
  seconds.read = watch.seconds();

  // Opened before the work: a folder that cannot be written is not worth waiting for.
  io::OutputFile out(io::split_npz_path(c.out).file);
  std::unique_ptr<io::OutputFile> indices_out;
  if (!c.indices.empty()) indices_out = std::make_unique<io::OutputFile>(io::split_npz_path(c.indices).file);

  progress.set("pooling " + to_string(problem));
  const io::Buffer y = io::allocate(problem.dtype, problem.output_shape);
  const Options options{.threads = c.threads};
  io::Buffer indices;
  if (indices_out) {
    indices = io::allocate(Dtype::i64, problem.output_shape);
    forward(problem.pool, x.view, y.view, indices.view, c.index_space, options);
  } else {
    forward(problem.pool, x.view, y.view, options);
  }
  seconds.pool = watch.seconds();

  progress.set("writing " + c.out);
  io::write_array(out.writer(), ending, c.out == "-" ? "standard output" : c.out, y.view, x.picture);
  if (indices_out) io::write_array(indices_out->writer(), indices_ending, c.indices, indices.view);
  out.finish();
  if (indices_out) indices_out->commit();
  out.commit();
  seconds.write = watch.seconds();
  report(progress, c, problem, seconds);
  return kExitDone;
}

}  // namespace oriel::cli
