#include "cli/pyramid_flags.h"

#include <fmt/format.h>

#include "cli/names.h"
#include "cli/pyramid_options.h"
#include "cli/quantities.h"
#include "cli/window_options.h"
#include "io/levels.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  oriel pyramid em.h5:/raw em.zarr --spacing 30,8,8 --unit nanometer    halves y and x until z is as coarse, then all
  oriel pyramid seg.zarr/0 seg_pyramid.zarr --labels --ignore 0         most frequent label, of background only if alone
  oriel pyramid t1.nii.gz t1.zarr --levels 3 --chunk 32                 spacing and unit are the file's
  oriel pyramid dem.npy dem.zarr --method max --nodata -9999 --factor 2 --levels 4
  oriel pyramid seg.h5:/ids seg.precomputed --labels --spacing 40,4,4 --unit nanometer      for neuroglancer
  oriel pyramid dem.tif cog.tif --method mean                           a cloud-optimised GeoTIFF, nodata left out
  oriel pyramid stack.ome.tif:all levels.ome.tif                        OME-TIFF: y and x of each plane become smaller
  oriel pyramid image.zarr --in-place                                   adds levels to an image that has level 0
  oriel pyramid --check image.zarr                                      what others made: which method, what is wrong
  oriel pyramid --check image.zarr --sheet image.png                    the same, with a picture of all levels

Level 0 is copied, every other level is the pool of level 0, read once: nothing is rounded twice, edges are kept, and
scale and translation say where the elements are. OUT, an OME-Zarr image, a precomputed volume, a cloud-optimised TIFF,
an OME-TIFF or an HDF5 file, appears whole or not at all.
)";

constexpr int kMostLevels = 40;

// What counts, and what wins.
void add_values(CLI::App& p, PyramidTyped& t) {
  StatisticOptions& s = t.statistic;
  p.add_option("--ignore", s.ignore, "of modes: a value that wins only if no other is there")->type_name("N");
  p.add_option("--ties", s.ties, "of modes: which of several most frequent values (default: lowest)")
      ->type_name("RULE")
      ->check(CLI::IsMember({"lowest", "highest", "first"}));
  p.add_option("--nodata", s.nodata,
               "elements of this value are left out, also by --check (default: IN's, if it is a TIFF that names one)")
      ->type_name("N");
  p.add_option(
       "--min-count", s.min_count,
       "with fewer valid elements in a window the result is --fill (default: 1 with nodata or --nan omit, else 0)")
      ->type_name("N");
  p.add_option("--fill", s.fill, "result of windows with too few valid elements (default: --nodata, or NaN, or 0)")
      ->type_name("N");
  p.add_option("--nan", t.nan, "propagate: a NaN makes its windows NaN; omit: NaNs are left out")
      ->type_name("RULE")
      ->check(CLI::IsMember({"propagate", "omit"}))
      ->capture_default_str();
}

// How elements lie in files.
void add_chunks(CLI::App& p, PyramidTyped& t) {
  PyramidCommand& c = t.command;
  p.add_option("--chunk", c.chunk,
               "extents of chunks (default: 64 along z, y and x; 256 along y and x of images; TIFF: tiles of 512x512)")
      ->type_name("N[xN...]");
  p.add_option("--shard", c.shard, "extents of shards, files of several chunks (default: none)")->type_name("N[xN...]");
  p.add_option("--codec", t.codec,
               "compression of chunks: none, gzip:N, zstd:N, blosc:NAME:N (default: zstd:1; TIFF, HDF5: gzip:1)")
      ->type_name("CODEC");
  p.add_option("--ome", c.version, "version of OME-Zarr: 0.5 (Zarr 3), 0.4 (Zarr 2)")
      ->type_name("VERSION")
      ->check(CLI::IsMember({"0.4", "0.5"}))
      ->capture_default_str();
}

// What is done with an image that is there, and how levels look.
void add_image(CLI::App& p, PyramidCommand& c) {
  p.add_flag("--in-place", c.in_place,
             "add levels to IN, an OME-Zarr image, instead of those that it has above level 0; no OUT");
  p.add_flag(
      "--check", c.check,
      "recompute elements of IN, an OME-Zarr image or a TIFF with levels, and say what is wrong with its levels");
  p.add_option("--sample", c.sample, "--check: elements of each level to recompute")
      ->type_name("N")
      ->check(CLI::Range(index_t{2}, index_t{1} << 40))
      ->capture_default_str();
  p.add_option("--sheet", c.sheet,
               "also draw the planes through the middle of every level, side by side at one physical scale")
      ->type_name("FILE.png");
  p.add_option("--sheet-up", c.sheet_up, "names of axes that increase upwards in the sheet, e.g. zy (default: none)")
      ->type_name("NAMES");
}

}  // namespace

void add_pyramid(CLI::App& app, PyramidTyped& t) {
  CLI::App& p = *app.add_subcommand(
      "pyramid", "Make the levels of resolution of a volume, as OME-Zarr, precomputed, TIFF or HDF5");
  PyramidCommand& c = t.command;
  t.app = &p;
  p.add_option("IN", c.in, "volume to read")->type_name("")->required();
  p.add_option(
       "OUT", c.out,
       "DIR.zarr, DIR.precomputed, FILE.tif (cloud-optimised), FILE.ome.tif or FILE.h5; written whole or not at all")
      ->type_name("");
  add_image(p, c);
  p.add_option("--method", t.method,
               "what a level's elements are of those below (default: mean; of labels mode, of booleans any)")
      ->type_name("METHOD")
      ->check(CLI::IsMember({"mean", "max", "min", "mode", "median", "first", "sum", "any", "all", "var", "std"}));
  p.add_flag("--labels", c.labels, "elements are numbers of segments: --method mode, and OME-Zarr's label metadata");
  p.add_option("--factor", c.factor,
               "of each level to the one before it: auto, 2, 1x2x2, or one for each level (1x2x2,2x2x2)")
      ->type_name("FACTORS");
  p.add_option("--levels", t.levels, "number of levels above level 0, or auto: until the coarsest fits into a chunk")
      ->type_name("N")
      ->capture_default_str();
  p.add_option("--edge", t.edge, "windows that the end cuts: partial: pooled as they are; trim: left out")
      ->type_name("RULE")
      ->check(CLI::IsMember({"partial", "trim"}))
      ->capture_default_str();
  p.add_option("--source", t.source, "what levels are pools of: base (level 0), previous (default of median)")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"base", "previous"}));
  p.add_option("--origin", c.origin, "place of the first element on a grid that windows start from")
      ->type_name("A[xA...]");
  add_values(p, t);
  p.add_option("--axes", c.axes, "names of IN's axes, a letter each, e.g. tczyx (default: IN's, or the last of tczyx)")
      ->type_name("NAMES");
  p.add_option("--spacing", c.spacing,
               "distance of neighbours along each axis, or one for z, y and x (default: IN's, or 1)")
      ->type_name("S[,S...]");
  p.add_option("--translation", c.translation, "place of the first element along each axis (default: IN's, or 0)")
      ->type_name("T[,T...]");
  p.add_option("--unit", c.unit, "of z, y and x, e.g. micrometer (default: IN's)")->type_name("UNIT");
  add_chunks(p, t);
  p.add_option("--dtype", t.dtype, "expected dtype of IN (required for bf16)")
      ->type_name("DTYPE")
      ->check(CLI::IsMember(dtype_names()));
  p.add_option("-t,--threads", c.threads, "number of threads (default: all)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  p.add_option("--memory", t.memory, "memory of each process, e.g. 512MiB (default: 1GiB)")->type_name("BYTES");
  p.add_option("--deadline", t.deadline,
               "under mpirun: stop if a rank makes the others wait longer than this in one step (default: 600s)")
      ->type_name("SECONDS");
  p.add_flag("--progress", c.progress, "show progress on standard error even if that is not a terminal");
  p.add_flag("--json", c.json, "print a report as JSON on standard output");
  p.add_flag("-q,--quiet", c.quiet, "print nothing but errors");
  p.footer(kExamples);
}

namespace {

bool is_given(const PyramidTyped& t, const char* option) { return t.app->get_option(option)->count() > 0; }

// Options that would do nothing.
void check_given(const PyramidTyped& t) {
  const PyramidCommand& c = t.command;
  if (c.check && !c.out.empty())
    throw Error(fmt::format("--check: writes nothing, but OUT is {}", detail::quoted(c.out)));
  if (c.in_place && c.check) throw Error("--in-place: cannot be combined with --check, which writes nothing");
  if (!c.check && is_given(t, "--sample")) throw Error("--sample: is for --check only");
  if (c.in_place && is_given(t, "--ome"))
    throw Error("--ome: cannot be combined with --in-place; IN keeps its version");
  if (const io::LevelsFormat* format = pyramid_format(c.out); is_given(t, "--ome") && format && !format->versions) {
    throw Error(fmt::format("--ome: is for OUT.zarr only, but OUT is {}", detail::quoted(c.out)));
  }
  if (!c.check) return;
  for (const char* option :
       {"--method", "--labels", "--factor",    "--levels", "--edge",  "--source",  "--origin",      "--ignore",
        "--ties",   "--fill",   "--min-count", "--nan",    "--axes",  "--spacing", "--translation", "--unit",
        "--chunk",  "--shard",  "--codec",     "--ome",    "--dtype", "--threads", "--memory",      "--deadline"}) {
    if (is_given(t, option)) {
      throw Error(
          fmt::format("{}: cannot be combined with --check, which finds out how levels were made; allowed: "
                      "--nodata, --sample, --sheet, --sheet-up, --json",
                      option));
    }
  }
}

}  // namespace

PyramidCommand finish_pyramid(PyramidTyped& t) {
  PyramidCommand& c = t.command;
  check_given(t);
  if (c.in_place && !c.out.empty()) {
    throw Error(fmt::format("--in-place: the levels are added to IN, but OUT is {}", detail::quoted(c.out)));
  }
  if (c.in_place) c.out = c.in;
  if (!c.check && c.out.empty()) throw Error("OUT is required");
  if (!c.sheet_up.empty() && c.sheet.empty()) throw Error("--sheet-up: is for --sheet only");
  if (c.labels && !t.method.empty() && t.method != "mode") {
    throw Error(fmt::format("--labels: cannot be combined with --method {}; allowed: mode", t.method));
  }
  c.usual_method = t.method.empty() && !c.labels;
  c.usual_min_count = t.statistic.min_count.empty();
  const std::string method = !t.method.empty() ? t.method : c.labels ? "mode" : "mean";
  c.pool.op = method == "mean" ? Op::avg : parse_op(method);
  if (t.nan == "omit") c.pool.nan = NanPolicy::omit;
  apply(t.statistic, c.pool);
  if (t.levels != "auto") {
    const Extents levels = parse_numbers("--levels", t.levels, ',');
    if (levels.size() != 1 || levels[0] < 1 || levels[0] > kMostLevels) {
      throw Error(fmt::format("--levels: {}; allowed: auto, 1 to {}", detail::quoted(t.levels), kMostLevels));
    }
    c.levels = static_cast<int>(levels[0]);
  }
  c.edge = t.edge == "trim" ? Edge::trim : Edge::partial;
  if (!t.source.empty()) c.source = t.source == "base" ? LevelSource::base : LevelSource::previous;
  if (!t.codec.empty()) c.codec = io::parse_compression("--codec", t.codec);
  if (!t.dtype.empty()) c.dtype = parse_dtype(t.dtype);
  if (!t.memory.empty()) c.memory = parse_bytes("--memory", t.memory);
  if (!t.deadline.empty()) c.deadline = parse_seconds("--deadline", t.deadline);
  if (!(c.deadline > 0)) throw Error(fmt::format("--deadline: must be > 0 s, but is {}", detail::quoted(t.deadline)));
  if (!c.shard.empty() && c.version == "0.4") throw Error("--shard: OME-Zarr 0.4 has none; allowed: --ome 0.5");
  return c;
}

}  // namespace oriel::cli
