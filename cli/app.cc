#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "cli/command_line.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/pyramid_flags.h"
#include "cli/quantities.h"
#include "cli/rank_rows.h"
#include "cli/statistic_flags.h"
#include "cli/window_options.h"
#include "oriel/pool.h"
#include "quoted.h"
#include "statistic_rules.h"

namespace oriel::cli {
namespace {

// The options of all subcommands as typed.
struct Typed {
  PoolCommand pool;
  WindowOptions window;
  std::string pool_dtype, pool_memory, pool_codec, pool_deadline, index_space = "plane";
  PyramidTyped pyramid;
  CheckCommand check;
  ExplainCommand explain;
  std::string explain_name, explain_output, explain_ranks;
  BenchCommand bench;
  std::vector<std::string> check_names, bench_names;
  std::string bench_device = "cpu";
  ScaleCommand scale;
  std::string scale_name, scale_grid, scale_network, scale_overhead, scale_memory;
  TileCommand tile;
  std::string tile_shape, tile_dtype = "f32";
  std::vector<std::string> tile_values;
  InfoCommand info;
  std::string completion_shell;
};

constexpr const char* kPoolExamples = R"(Examples:
  oriel pool photo.jpg small.png --op avg --kernel 4          every 4x4 block becomes its mean
  oriel pool x.npy y.npy --kernel 3 --stride 2 --padding 1 --axes -2,-1  as in ResNet, over the last two axes
  oriel pool x.npy y.npy --kernel 2 --ceil --indices where.npy
  oriel pool x.npy y.npy --op avg --kernel 3 --padding 0+1x2+3 --axes 0,1 --exclude-pad
  oriel pool volume.npz:t1 y.npy --op min --kernel 5x5x5 --padding same
  oriel pool x.npy y.npy --op avg --output-size 7 --axes 2,3  adaptive windows
  oriel pool labels.npy half.npy --op mode --kernel 2 --ignore 0       most frequent label of each block
  oriel pool dem.npy y.npy --op quantile --quantile 0.9 --kernel 8 --nodata -9999 --min-count 3
  oriel pool photo.png y.png --op median --footprint disk:2 --stride 1 --padding 2
  oriel pool v.h5:/data out.h5:/pooled --kernel 2x2x2 --memory 512MiB    larger than memory
  mpirun -n 4 oriel pool v.h5:/data out.h5:/pooled --kernel 2x2x2        by four ranks
  cat x.npy | oriel pool - - --kernel 2 > y.npy

All axes are pooled unless --axes names some; in an image, height and width. One number applies to all pooled axes,
3x5 has one for each. Files: .npy, .npz, FILE.npz:NAME, FILE.h5:/NAME, DIR.zarr, DIR.zarr/NAME, DIR.precomputed,
DIR.precomputed:KEY, .nii, .nii.gz, .png, .jpg, .tif, .webp; - is standard input or output. FILE.tif:2 is the second
image of a TIFF or an animated WebP, FILE.tif:all all of a TIFF as one volume. HDF5 files, Zarr arrays, NIfTI images,
precomputed and TIFF volumes, and .npy and TIFF files with --memory or under mpirun, are pooled in blocks, with the same
bits.
Other arrays in an archive or HDF5 file OUT are kept, also those that other programs write meanwhile; an array of the
same name is replaced. IN is replaced only with --replace-input.
NumPy itself has no bfloat16: --dtype bf16 reads and writes it as ml_dtypes does (descr <V2).)";

constexpr const char* kNameHelp = R"(
A problem's name is words joined by colons: op, dtype, shape, window, options. For example
  max:f32:8x64x112x112:k3x3s2p1   kernel 3, stride 2, padding 1
  avg:f16:1x3x64x64:k3x5p1x2:ceil:exclude
  sum:i32:100:k5s1p0+2            padding 0 before, 2 after
3x3 after 8x64x112x112 applies to the last two axes; one number, and global, to all axes unless axes2,3 names some.
Words: k3s2p1d1 global out7x7 same same_lower ceil exclude div9 omit axes1,2 order0,2,3,1 indices codes backward
  mask weights nodata0 min3 frac0.5 fill0 outf64 ignore0 ddof1 disk5 ball2 diamond1 octagon3x2 taps010111010.
Ops: max min avg sum lp1 lp2 lpinf count any all range midrange first centre median median_mean q0.9 q0.9linear rank2
  mode mode_first nunique var std rms prod geo harm lse1 soft. Dtypes: f64 f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool.)";

void add_window(CLI::App& pool, WindowOptions& w) {
  const char* const group = "Window";
  pool.add_option("--op", w.op, "reduction of each window")
      ->type_name("OP")
      ->check(CLI::IsMember(op_names()))
      ->group(group)
      ->default_str("max");
  std::vector<CLI::Option*> uniform{
      pool.add_option("-k,--kernel", w.kernel, "window size, e.g. 3 or 3x5")->type_name("K[xK...]"),
      pool.add_option("-s,--stride", w.stride, "step of the window (default: the kernel size)")->type_name("S[xS...]"),
      pool.add_option("-p,--padding", w.padding,
                      "1, 1x2, before+after as in 0+1x2+3, same, same_lower or valid (default)")
          ->type_name("P[xP...]"),
      pool.add_option("-d,--dilation", w.dilation, "distance between the taps of a window")->type_name("D[xD...]")};
  CLI::Option* const adaptive =
      pool.add_option("--output-size", w.output_size, "number of outputs, with adaptive windows")
          ->type_name("N[xN...]")
          ->group(group);
  CLI::Option* const global = pool.add_flag("--global", w.global, "one window over everything")->group(group);
  for (CLI::Option* option : uniform) option->group(group)->excludes(adaptive)->excludes(global);
  adaptive->excludes(global);
  pool.add_flag("--ceil", w.ceil, "round the output size up: a last window may be partial")->group(group);
  pool.add_option("--axes", w.axes, "pooled axes, e.g. -2,-1 (default: all; of an image, height and width)")
      ->type_name("A[,A...]")
      ->group(group);
  const char* const values = "Values";
  pool.add_flag("--exclude-pad", w.exclude_pad, "divide averages by the number of inputs, without padding")
      ->group(values);
  pool.add_option("--divisor", w.divisor, "divide averages by this number")->type_name("N")->group(values);
  pool.add_option("--norm", w.norm, "p of --op lp: a number >= 1, or inf (default: 2)")->type_name("P")->group(values);
  pool.add_option("--nan", w.nan, "propagate: a NaN makes its windows NaN; omit: NaNs are left out")
      ->type_name("RULE")
      ->check(CLI::IsMember({"propagate", "omit"}))
      ->group(values)
      ->capture_default_str();
}

void add_pool(CLI::App& app, Typed& t) {
  CLI::App& pool = *app.add_subcommand("pool", "Pool an array or an image and write the result to a file");
  PoolCommand& c = t.pool;
  pool.add_option("IN", c.in, "file to read, - for standard input")->type_name("")->required();
  pool.add_option("OUT", c.out, "file to write, - for standard output; written whole or not at all")
      ->type_name("")
      ->required();
  add_window(pool, t.window);
  add_statistics(pool, t.window.statistic);
  add_valid_taps(pool, t.window.statistic, c.mask, c.weights);
  pool.add_option(
          "--indices", c.indices,
          "also write the index of each maximum or minimum (int64); may be another array in OUT's archive or HDF5 file")
      ->type_name("FILE");
  pool.add_option("--index-space", t.index_space,
                  "what indices count: elements of the plane (as in PyTorch) or of the tensor (as in ONNX)")
      ->type_name("SPACE")
      ->check(CLI::IsMember({"plane", "tensor"}))
      ->capture_default_str();
  pool.add_option("--dtype", t.pool_dtype, "expected dtype of IN (required for bf16)")
      ->type_name("DTYPE")
      ->check(CLI::IsMember(dtype_names()));
  pool.add_option("--format", c.format, "format of OUT if its extension is unknown (default for -: npy)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"npy", "npz", "png", "jpg", "tif", "webp"}));
  pool.add_option(
          "--codec", t.pool_codec,
          "compress the chunks of an HDF5 or Zarr OUT: none, gzip:N, for Zarr also zstd:N, blosc:lz4:N (default: "
          "HDF5 none, Zarr zstd:1)")
      ->type_name("CODEC[:N]");
  pool.add_flag("--replace-input", c.replace_input, "allow OUT to be IN, which is replaced");
  pool.add_option("-t,--threads", c.threads, "number of threads (default: all)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  pool.add_option(
          "--memory", t.pool_memory,
          "memory of each process, e.g. 512MiB (default for volumes and ranks: 1GiB); they, .npy and .tif go in "
          "blocks, others must fit")
      ->type_name("BYTES");
  pool.add_option("--deadline", t.pool_deadline,
                  "under mpirun: stop if a rank makes the others wait longer than this in one step (default: 600s)")
      ->type_name("SECONDS");
  pool.add_flag("--progress", c.progress, "show progress on standard error even if that is not a terminal");
  pool.add_flag("--json", c.json, "print a report as JSON on standard output");
  pool.add_flag("-q,--quiet", c.quiet, "print nothing but errors");
  pool.footer(kPoolExamples);
}

void add_check(CLI::App& app, Typed& t) {
  CLI::App& check = *app.add_subcommand(
      "check", "Run problems on every instruction set, thread count and layout against the reference");
  check.add_option("NAME", t.check_names, "names of problems")->required();
  check.add_option("--seed", t.check.seed, "seed of the random inputs")->type_name("N")->capture_default_str();
  check.add_flag("--json", t.check.json, "print JSON");
  check.footer(std::string("Exit code 1 if anything differs. Example:\n  oriel check max:f32:2x3x16x16:k3x3s2p1 "
                           "avg:u8:100x90:k5s1:same\n") +
               kNameHelp);
}

void add_explain(CLI::App& app, Typed& t) {
  CLI::App& explain = *app.add_subcommand("explain", "Draw which inputs each output reads");
  ExplainCommand& c = t.explain;
  explain.add_option("NAME", t.explain_name, "name of a problem")->required();
  explain
      .add_option("--svg", c.svg,
                  "also write the drawing to this SVG file (-: to standard output, instead of the text)")
      ->type_name("FILE");
  explain.add_option("--output", t.explain_output, "output whose window is drawn in the plane, e.g. 0x3")
      ->type_name("O[xO]");
  explain.add_option("--mask", c.mask, "array of the input's shape (bool or u8): taps where it is 0 are not valid")
      ->type_name("FILE");
  explain
      .add_option(
          "--input", c.input,
          "array of the input's dtype and shape: taps that are nodata or NaN are not valid, and the result is printed")
      ->type_name("FILE");
  explain
      .add_option("--ranks", t.explain_ranks,
                  "also draw the last pooled axis divided among ranks: 4, or bounds such as 0,5,6,10")
      ->type_name("R");
  explain.add_flag("--full", c.full, "draw all outputs, however many there are");
  explain.add_flag("--ascii", c.ascii, "draw with ASCII characters");
  explain.add_flag("--json", c.json, "print the windows, or with --strategy the strategy, as JSON");
  explain.add_flag("--strategy", c.strategy,
                   "print how the problem is computed on dense tensors, and how many bytes and operations that takes");
  explain.footer(std::string("Examples:\n  oriel explain max:f32:7:k3s2\n  oriel explain max:f32:7:k3s2:ceil\n"
                             "  oriel explain avg:f32:1x1x6x7:k3x3s2p1 --output 0x3 --svg windows.svg\n") +
                 kNameHelp);
}

void add_bench(CLI::App& app, Typed& t) {
  CLI::App& bench = *app.add_subcommand("bench", "Time problems against a copy of the same bytes");
  BenchCommand& c = t.bench;
  bench.add_option("NAME", t.bench_names, "names of problems")->required();
  bench.add_option("--device", t.bench_device, "cpu, or cuda for the current CUDA device")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("DEVICE")
      ->capture_default_str();
  bench.add_option("-t,--threads", c.threads, "number of threads of the pool and the copy, on the CPU")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  bench.add_option("--repetitions", c.repetitions, "smallest number of samples")
      ->check(CLI::Range(3, 1000000))
      ->capture_default_str();
  bench.add_option("--seconds", c.seconds, "shortest measurement of each problem, in seconds")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  bench.add_flag("--json", c.json, "print JSON");
  bench.footer(std::string("Every result is verified before it is timed. Example:\n  oriel bench "
                           "max:f32:8x64x112x112:k2x2s2 max:f32:8x64x112x112:k3x3s2p1\n") +
               kNameHelp);
}

void add_scale(CLI::App& app, Typed& t) {
  CLI::App& scale =
      *app.add_subcommand("scale", "Count the messages of a pool on many ranks and predict its efficiency");
  ScaleCommand& c = t.scale;
  scale.add_option("NAME", t.scale_name, "name of a problem")->required();
  scale.add_option("--grid", t.scale_grid, "ranks along each axis of the tensor; leading 1s may be left out")
      ->type_name("RxR...")
      ->required();
  scale.add_flag("--balanced", c.balanced,
                 "divide the outputs evenly (default: each belongs to the rank of its window's centre)");
  const char* const cluster = "Cluster";
  scale
      .add_option("--network", t.scale_network, "latency and bandwidth of a node's network link (default: 2us,25GB/s)")
      ->type_name("SECONDS,BYTES/s")
      ->group(cluster);
  scale
      .add_option("--ranks-per-node", c.cluster.ranks_per_node,
                  "number of ranks on a node: a block of the grid that shares one link")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N")
      ->group(cluster)
      ->capture_default_str();
  scale.add_option("--memory-bandwidth", t.scale_memory, "memory bandwidth of a rank (default: 4GB/s)")
      ->type_name("BYTES/s")
      ->group(cluster);
  scale.add_option("--overhead", t.scale_overhead, "time that a message costs its sender (default: 0.4us)")
      ->type_name("SECONDS")
      ->group(cluster);
  scale.add_flag("--json", c.json, "print JSON");
  scale.footer(
      std::string("Counts are exact; times come from a model (distributed.md in share/doc/oriel). Example:\n"
                  "  oriel scale max:f32:1x32x1024x1024x1024:k3x3x3s2p1 --grid 64x64x64 --ranks-per-node 64\n") +
      kNameHelp);
}

void add_tile(CLI::App& app, Typed& t) {
  CLI::App& tile = *app.add_subcommand(
      "tile", "Show a kernel of the tile language for a machine: instructions, checks, costs, generated code");
  TileCommand& c = t.tile;
  tile.add_option("KERNEL", c.kernel, "name of a shipped kernel; list prints them")->required();
  tile.add_option("--shape", t.tile_shape, "shape of the input: planes x height x width")->type_name("PxHxW");
  tile.add_option("--dtype", t.tile_dtype, "dtype of the input")
      ->type_name("DTYPE")
      ->check(CLI::IsMember(dtype_names()))
      ->capture_default_str();
  tile.add_option("--machine", c.machine, "machine whose limits are checked")
      ->check(CLI::IsMember({"trn1", "trn2", "trn3", "native"}))
      ->capture_default_str();
  tile.add_option("--set", t.tile_values, "value of a parameter of the kernel, e.g. pool_size=2")->type_name("NAME=N");
  tile.add_option("--nki", c.nki, "NKI version of the generated code")
      ->check(CLI::IsMember({"0.1", "0.6"}))
      ->capture_default_str();
  tile.add_option("--only", c.only, "print only this part")
      ->check(CLI::IsMember({"ir", "checks", "report", "picture", "nki", "cuda"}));
  tile.footer(
      "Exit code 1 if the machine cannot run it. Examples:\n  oriel tile tensor_avgpool_kernel --shape 2x6x6 "
      "--set pool_size=2\n  oriel tile max_pool2d --shape 64x112x112 --set kernel=3 --set stride=2 --set "
      "padding=1 --machine trn1\n");
}

void add_rest(CLI::App& app, Typed& t) {
  CLI::App& info = *app.add_subcommand("info", "Show version, instruction sets, threads, types");
  info.add_flag("--json", t.info.json, "print JSON");
  info.footer("ORIEL_TARGET=AVX2 oriel info   forces an instruction set\n");
  add_completion(app, t.completion_shell);
}

std::vector<Problem> parse_names(const std::vector<std::string>& names) {
  std::vector<Problem> problems;
  problems.reserve(names.size());
  for (const std::string& text : names) problems.push_back(parse_problem(text));
  return problems;
}

PoolCommand finish_pool(Typed& t) {
  PoolCommand& c = t.pool;
  c.pool = make_pool(t.window);
  if (!t.pool_memory.empty()) c.memory = parse_bytes("--memory", t.pool_memory);
  if (!t.pool_codec.empty()) c.codec = io::parse_compression("--codec", t.pool_codec);
  if (!t.pool_deadline.empty()) c.deadline = parse_seconds("--deadline", t.pool_deadline);
  if (!(c.deadline > 0)) throw Error(fmt::format("--deadline: must be > 0 s, but is '{}'", t.pool_deadline));
  if (!t.pool_dtype.empty()) c.dtype = parse_dtype(t.pool_dtype);
  c.index_space = t.index_space == "tensor" ? IndexSpace::tensor : IndexSpace::plane;
  if (!c.indices.empty() && !detail::selects_tap(c.pool))
    throw Error(fmt::format("--indices: needs --op max, min, first, centre, median, quantile or mode, but the op is {}",
                            name(c.pool.op)));
  if (c.indices == "-") throw Error("--indices: cannot be a stream; allowed: a file");
  if (!c.indices.empty() && c.indices == c.out)
    throw Error(fmt::format("--indices: '{}' is OUT too; allowed: another file", c.out));
  if (c.json && c.out == "-") throw Error("--json: cannot be combined with OUT -, both are standard output");
  return c;
}

ExplainCommand finish_explain(Typed& t) {
  ExplainCommand& c = t.explain;
  c.problem = parse_problem(t.explain_name);
  if (!t.explain_ranks.empty()) c.ranks = parse_ranks(c.problem, t.explain_ranks);
  if (c.json && c.svg == "-") throw Error("--json: cannot be combined with --svg -, both are standard output");
  if (t.explain_output.empty()) return c;
  c.output = parse_numbers("--output", t.explain_output, 'x');
  const Problem& p = c.problem;
  if (c.output.size() != p.pooled)
    throw Error(fmt::format("--output: needs one number per pooled axis, {}, but has {}", p.pooled, c.output.size()));
  for (int a = 0; a < p.pooled; ++a)
    if (const index_t out = p.axis[static_cast<std::size_t>(a)].out; c.output[a] < 0 || c.output[a] >= out)
      throw Error(fmt::format("--output: {} along axis {}; allowed: 0 to {}", c.output[a],
                              p.axes[static_cast<std::size_t>(a)], out - 1));
  return c;
}

ScaleCommand finish_scale(Typed& t) {
  ScaleCommand& c = t.scale;
  c.problem = parse_problem(t.scale_name);
  const Extents typed = parse_numbers("--grid", t.scale_grid, 'x');
  const int rank = c.problem.shape.size();
  if (typed.size() > rank)
    throw Error(fmt::format("--grid: '{}' has {} numbers; allowed: at most one for each axis of {}", t.scale_grid,
                            typed.size(), to_string(c.problem.shape)));
  c.grid = Extents::filled(rank - typed.size(), 1);
  for (const index_t n : typed) {
    if (n < 1) throw Error(fmt::format("--grid: must be >= 1, but has {}", n));
    c.grid.push_back(n);
  }
  if (!t.scale_network.empty()) {
    const std::size_t comma = t.scale_network.find(',');
    if (comma == std::string::npos)
      throw Error(fmt::format("--network: {} is not understood; allowed: latency,bandwidth such as 2us,25GB/s",
                              detail::quoted(t.scale_network)));
    c.cluster.latency = parse_seconds("--network", t.scale_network.substr(0, comma));
    c.cluster.network = parse_bandwidth("--network", t.scale_network.substr(comma + 1));
  }
  if (!t.scale_overhead.empty()) c.cluster.overhead = parse_seconds("--overhead", t.scale_overhead);
  if (!t.scale_memory.empty()) c.cluster.memory = parse_bandwidth("--memory-bandwidth", t.scale_memory);
  return c;
}

TileCommand finish_tile(Typed& t) {
  TileCommand& c = t.tile;
  c.dtype = parse_dtype(t.tile_dtype);
  if (!t.tile_shape.empty()) c.shape = parse_numbers("--shape", t.tile_shape, 'x');
  for (const std::string& text : t.tile_values) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(fmt::format("--set: must be NAME=N, but is {}", detail::quoted(text)));
    const Extents value = parse_numbers("--set", text.substr(equals + 1), 'x');
    if (value.size() != 1 || value[0] < 0 || value[0] > std::numeric_limits<int>::max())
      throw Error(fmt::format("--set: must be one number >= 0, but is {}", detail::quoted(text)));
    c.values[text.substr(0, equals)] = static_cast<int>(value[0]);
  }
  return c;
}

// What CLI11 does not know: words of an option that may be numbers too.
std::string value_words(const std::string& name) {
  if (name == "--padding") return "same same_lower valid";
  return "";
}

// CLI11 says `--kernel excludes --global`.
std::string in_words(const CLI::ExcludesError& e) {
  constexpr std::string_view verb = " excludes ";
  const std::string text = e.what();
  const std::size_t at = text.find(verb);
  return fmt::format("{}: cannot be combined with {}; allowed: one of them", text.substr(0, at),
                     text.substr(at + verb.size()));
}

Command finish(const CLI::App& app, const std::string& command, Typed& t) {
  if (command == "pool") return finish_pool(t);
  if (command == "pyramid") return finish_pyramid(t.pyramid);
  if (command == "explain") return finish_explain(t);
  if (command == "scale") return finish_scale(t);
  if (command == "tile") return finish_tile(t);
  if (command == "check") {
    t.check.problems = parse_names(t.check_names);
    return t.check;
  }
  if (command == "bench") {
    t.bench.problems = parse_names(t.bench_names);
    t.bench.device = t.bench_device == "cuda" ? Device::cuda : Device::cpu;
    return t.bench;
  }
  if (command == "info") return t.info;
  return TextCommand{completion_script(app, t.completion_shell, value_words)};
}

void add_commands(CLI::App& app, Typed& t) {
  app.name("oriel");
  app.description(
      "Pooling of arrays and images: the max, min, mean, sum or norm of each position of a sliding window.");
  app.footer(
      "Start with: oriel pool --help, oriel explain max:f32:7:k3s2:ceil\nExit codes: 0 done, 1 failure or difference, "
      "2 bad command line. NO_COLOR is respected.\nGuides and rules: share/doc/oriel in the folder of the "
      "installation, for example semantics.md.\n");
  app.set_version_flag("-V,--version", version(), "Print the version");
  app.require_subcommand(1);
  add_pool(app, t);
  add_pyramid(app, t.pyramid);
  add_check(app, t);
  add_explain(app, t);
  add_bench(app, t);
  add_scale(app, t);
  add_tile(app, t);
  add_rest(app, t);
}

}  // namespace

Command parse_command(const std::vector<std::string>& arguments) {
  Typed typed;
  CLI::App app;
  add_commands(app, typed);
  std::string command = "oriel";
  try {
    if (arguments.empty()) return TextCommand{app.help()};
    std::vector<std::string> words(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
    typed.scale.by_old_name = words.back() == "plan";
    if (typed.scale.by_old_name) words.back() = "scale";
    check_subcommand(app, words.back());
    app.parse(std::move(words));
    const std::string chosen = app.get_subcommands().at(0)->get_name();
    command += " " + chosen;
    return finish(app, chosen, typed);
  } catch (const CLI::CallForVersion&) {
    return TextCommand{fmt::format("oriel {}\n", version())};
  } catch (const CLI::CallForHelp&) {
    return TextCommand{app.help()};  // of the subcommand where one was named
  } catch (const CLI::CallForAllHelp&) {
    return TextCommand{app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::ExcludesError& e) {
    throw UsageError(command + " pool", in_words(e));
  } catch (const CLI::Error& e) {
    const auto chosen = app.get_subcommands();
    if (!chosen.empty()) command = "oriel " + chosen[0]->get_name();
    throw UsageError(command, fmt::format("{} (see {} --help)", one_line(e.what()), command));
  } catch (const Error& e) {
    throw UsageError(command, e.what());
  }
}

}  // namespace oriel::cli
