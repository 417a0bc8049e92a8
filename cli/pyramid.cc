#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/held_memory.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/pyramid_options.h"
#include "cli/pyramid_ranks.h"
#include "cli/pyramid_report.h"
#include "cli/pyramid_sheet.h"
#include "cli/pyramid_source.h"
#include "cli/quantities.h"
#include "cli/stopwatch.h"
#include "io/levels_formats.h"
#include "io/ome/added_levels.h"
#include "io/precomputed/volume.h"
#include "io/unfinished.h"
#include "io/zarr/store.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr index_t kDefaultMemory = index_t{1} << 30;

const io::LevelsFormat& output_format(const PyramidCommand& c) {
  namespace fs = std::filesystem;
  if (c.in_place) return io::ome::added_levels();
  const io::LevelsFormat* const format = pyramid_format(c.out);
  if (format == nullptr) {
    throw UsageError("oriel pyramid", fmt::format("OUT: {}; allowed: a name that ends in {}, .h5",
                                                  detail::quoted(c.out), io::levels_endings()));
  }
  std::error_code none;
  const auto precomputed = io::split_precomputed_path(c.in);
  const auto dataset = io::split_hdf5_path(c.in);
  const fs::path out = fs::weakly_canonical(io::zarr::without_slashes(c.out), none),
                 in = fs::weakly_canonical(precomputed ? precomputed->folder
                                           : dataset   ? dataset->file
                                                       : c.in,
                                           none);
  if (std::mismatch(out.begin(), out.end(), in.begin(), in.end()).first == out.end()) {
    throw UsageError("oriel pyramid", fmt::format("OUT: {} holds IN, {}; allowed: a folder without it",
                                                  detail::quoted(c.out), detail::quoted(c.in)));
  }
  return *format;
}

std::string method_name(const PyramidCommand& c) {
  return c.pool.op == Op::avg ? "mean" : std::string(name(c.pool.op));
}

io::ome::Multiscales describe(const PyramidCommand& c, const Pyramid& pyramid, const PyramidInput& input,
                              const PyramidPlan& plan) {
  io::ome::Multiscales image{.version = c.version,
                             .name = std::filesystem::path(io::zarr::without_slashes(c.out)).stem().string(),
                             .method = method_name(c),
                             .description = {},
                             .axes = input.axes,
                             .levels = {},
                             .labels = c.labels};
  const bool previous = pyramid.source == LevelSource::previous || (!pyramid.source && c.pool.op == Op::median);
  image.description =
      fmt::format("each level is the {} of {}", image.method, previous ? "the one before it" : "level 0");
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const LevelCoordinates at = level_coordinates(c.pool.op, plan.levels[l], input.coordinates);
    image.levels.push_back({std::to_string(l), at.scale, at.translation});
  }
  return image;
}

// A file in the output by which a rank tells the others that it has failed, so that they do not finish their parts
// first.
class FailureSign {
 public:
  /// `place`: of the output; one that is a file has no room for it.
  void set_place(const std::string& place) {
    std::error_code none;
    if (std::filesystem::is_directory(place, none)) file_ = place + "/.failed";
  }
  bool is_there() const {
    std::error_code none;
    return !file_.empty() && std::filesystem::exists(file_, none);
  }
  void leave() const {
    if (!file_.empty()) std::ofstream(file_, std::ios::app);
  }

 private:
  std::string file_;
};

// Why a rank ends whose own part is good.
constexpr const char* kOtherFailed = "another rank has failed";

// What `build_pyramid` says of its progress, with the time that is left.
struct Watcher {
  Progress& progress;
  const FailureSign* sign;  // null: there are no other ranks
  Stopwatch watch{};

  static void done(void* context, index_t tiles, index_t of) {
    auto& self = *static_cast<Watcher*>(context);
    if (self.sign != nullptr && tiles < of && self.sign->is_there()) throw Error(kOtherFailed);
    const double seconds = self.watch.in_all();
    const double left = seconds * static_cast<double>(of - tiles) / static_cast<double>(tiles);
    self.progress.set(fmt::format("{} %, {} left", 100 * tiles / of, show_seconds(left)));
  }
};

// The team as the library knows it.
class Ranks : public PyramidRanks {
 public:
  explicit Ranks(Team& team) : team_(team) {}
  int rank() const override { return team_.rank(); }
  int size() const override { return team_.size(); }
  void agree(const std::string& failure) override {
    const bool is_others = failure == kOtherFailed;  // which will say why
    if (!failure.empty() && !is_others) sign_.leave();
    team_.agree(is_others ? "" : failure);
  }
  void unite(void* bytes, index_t count) override { team_.unite(bytes, count); }
  FailureSign& sign() { return sign_; }

 private:
  Team& team_;
  FailureSign sign_;
};

// Everything that one call needs while it runs.
class PyramidRun {
 public:
  PyramidRun(PyramidCommand c, Team& team) : c_(std::move(c)), team_(team), ranks_(team) {}

  void prepare() {
    together(team_, [&] {
      format_ = &output_format(c_);
      states_ = input_states(c_);
      if (c_.in_place) look_at_image();
      in_ = open_pyramid_input(c_);
      input_ = describe_input(c_, *in_);
      choose_method();
      check_labels();
      choose_nodata();
      pyramid_ = make_pyramid(c_, input_);
      pyramid_shard(c_, input_);  // before anything is made
      if (team_.rank() == 0) sheet_ = open_sheet(c_, input_.axes);
    });
    const index_t held = team_.greatest(resident_bytes() + reserve_bytes(true, chunk_bytes()));
    const index_t threads = c_.threads > 0 ? c_.threads : std::max(default_threads() / team_.local_size(), 1);
    together(team_, [&] {
      set_options(held, static_cast<int>(threads));
      plan_ = plan_pyramid(pyramid_, input_.dtype, input_.shape, options_);
    });
    spec_.image = describe(c_, pyramid_, input_, plan_);
    if (image_) name_levels();
    for (std::size_t l = 0; l < plan_.levels.size(); ++l) spec_.levels.push_back(level_spec(l));
    spec_.plan = plan_.levels;
    together(team_, [&] {
      if (format_->prepare != nullptr) format_->prepare(c_.out, spec_);
    });
  }

  // Rank 0 makes the files, then all open them.
  void open() {
    together(team_, [&] {
      if (team_.rank() != 0) return;
      file_ = format_->make_output(c_.out);
      format_->create(file_->place(), c_.out, spec_);
    });
    const std::string place = team_.from_first(file_ ? file_->place() : "");
    if (team_.rank() != 0) watched_ = std::make_unique<io::WatchedFile>(place);
    together(team_, [&] { levels_ = format_->open(place, c_.out, spec_); });
    ranks_.sign().set_place(place);
    for (io::VolumeSpec& level : spec_.levels) level.like = nullptr;
  }

  void build(Progress& progress) {
    Watcher watcher{progress, team_.size() > 1 ? &ranks_.sign() : nullptr};
    Stopwatch watch;
    team_.expect(element_count(input_.shape) * size_bytes(input_.dtype) / team_.size() * 2);
    together(team_, [&] {
      PyramidFile source(c_, input_, std::move(in_));
      made_ = build_pyramid(pyramid_, input_.dtype, input_.shape, source, *levels_, options_, &Watcher::done, &watcher);
    });
    seconds_ = watch.in_all();
  }

  void finish(Progress& progress) {
    progress.set("flushing it to the disk");
    together(team_, [&] { levels_->close(); });
    together(team_, [&] {
      if (!file_) return;
      format_->complete(file_->place(), c_.out, spec_);
      if (input_states(c_) != states_)
        throw Error(fmt::format("{}: has been changed or removed while it was read; nothing was written",
                                detail::printable(c_.in)));
      file_->commit();
      draw_sheet(sheet_.get(), c_, c_.out);
    });
  }

  void report(Progress& progress) {
    const PyramidReport all{.tiles_read = team_.sum(made_.tiles_read),
                            .tiles_uniform = team_.sum(made_.tiles_uniform),
                            .chunks_written = team_.sum(made_.chunks_written),
                            .chunks_uniform = team_.sum(made_.chunks_uniform),
                            .peak_memory = team_.greatest(made_.peak_memory)};
    const index_t peak = team_.greatest(peak_bytes());
    if (team_.rank() != 0) return;
    say(progress, {.command = c_,
                   .plan = plan_,
                   .image = spec_.image,
                   .made = all,
                   .ranks = team_.size(),
                   .peak = peak,
                   .build = seconds_,
                   .all = watch_.in_all()});
  }

 private:
  index_t chunk_bytes() const { return in_->chunk.empty() ? 0 : element_count(in_->chunk) * size_bytes(in_->dtype); }

  // What IN says that it is.
  void choose_method() {
    if (!c_.usual_method) return;
    c_.labels = input_.labels;
    if (c_.labels) c_.pool.op = Op::mode;
    if (input_.dtype == Dtype::boolean) c_.pool.op = Op::any;
  }
  void check_labels() const {
    if (c_.labels && is_floating(input_.dtype))
      throw Error(fmt::format("--labels: IN is of {}; allowed: integers", name(input_.dtype)));
  }
  // The value of elements without data, by default IN's; levels have it too, if a window has no others.
  void choose_nodata() {
    if (c_.pool.nodata) {
      spec_.nodata = std::visit([](auto value) { return fmt::format("{}", value); }, *c_.pool.nodata);
    } else {
      spec_.nodata = input_.nodata;
      c_.pool.nodata = nodata_of(input_.nodata, input_.dtype);
    }
    const bool omits_nan = c_.pool.nan == NanPolicy::omit && is_floating(input_.dtype);
    if ((c_.pool.nodata || omits_nan) && c_.usual_min_count) c_.pool.min_count = 1;
  }

  // An image that is there keeps its version, and its level 0.
  void look_at_image() {
    image_ = io::ome::read_multiscales(io::zarr::without_slashes(c_.in));
    if (!image_) {
      throw Error(
          fmt::format("--in-place: {} is not an OME-Zarr image; allowed: a folder whose metadata have multiscales",
                      detail::quoted(c_.in)));
    }
    c_.version = image_->version;
    if (!c_.shard.empty() && c_.version == "0.4") throw Error("--shard: IN is OME-Zarr 0.4, which has none");
    if (team_.rank() == 0) io::ome::remove_unnamed(c_.in);  // before the levels get names
  }
  void name_levels() {
    std::vector<io::ome::Level>& levels = spec_.image.levels;
    levels.front().path = image_->levels.front().path;
    const std::vector<std::string> paths = io::ome::free_level_paths(c_.in, *image_, levels.size() - 1);
    for (std::size_t l = 1; l < levels.size(); ++l) levels[l].path = paths[l - 1];
  }

  // The same for all ranks.
  void set_options(index_t held, int threads) {
    const Extents chunk = pyramid_chunk(c_, input_);
    const index_t memory = c_.memory > 0 ? c_.memory : kDefaultMemory;
    // Each thread decodes a chunk of IN and encodes one of a level: each is there as it is and compressed.
    const index_t coded = 2 * (chunk_bytes() + element_count(chunk) * size_bytes(result_dtype(c_.pool, input_.dtype)));
    while (threads > 1 && held + threads * coded > memory / 2) --threads;
    options_ = {.threads = threads,
                .with_base = !c_.in_place,
                .chunks = {chunk},
                .source_chunk = input_.chunk,
                .memory = memory - held - threads * coded,
                .ranks = team_.size() > 1 ? &ranks_ : nullptr};
    if (options_.memory <= 0) {
      throw Error(
          fmt::format("--memory: {} is too little; allowed: more than {}, which the program and {} thread{} take",
                      show_bytes(static_cast<double>(memory)),
                      show_bytes(static_cast<double>(memory - options_.memory)), threads, threads == 1 ? "" : "s"));
    }
  }

  io::VolumeSpec level_spec(std::size_t level) const {
    io::VolumeSpec spec{.dtype = plan_.levels[level].dtype,
                        .shape = plan_.levels[level].shape,
                        .chunk = plan_.chunks[level],
                        .problem = {},
                        .like = level == 0 ? in_.get() : nullptr,
                        .axes = {},
                        .codec = c_.codec,
                        .shard = pyramid_shard(c_, input_),
                        .zarr_version = c_.version == "0.4" ? 2 : 3};
    if (spec.dtype == input_.dtype) spec.fill = in_->fill;
    for (const io::ome::Axis& axis : input_.axes) spec.axes.push_back(axis.name);
    return spec;
  }

  PyramidCommand c_;
  Team& team_;
  Ranks ranks_;
  const io::LevelsFormat* format_ = nullptr;
  std::unique_ptr<io::VolumeIn> in_;
  std::vector<io::FileState> states_;  // of IN, before it is read
  PyramidInput input_;
  Pyramid pyramid_;
  PyramidOptions options_;
  PyramidPlan plan_;
  std::optional<io::ome::Multiscales> image_;  // that levels are added to
  io::LevelsSpec spec_;
  std::unique_ptr<io::Output> file_;       // of rank 0
  std::unique_ptr<io::OutputFile> sheet_;  // of rank 0, if there is one
  std::unique_ptr<io::WatchedFile> watched_;
  std::unique_ptr<io::LevelsOut> levels_;
  PyramidReport made_;
  double seconds_ = 0;
  Stopwatch watch_;  // of the whole call
};

}  // namespace

int run_pyramid(const PyramidCommand& c) {
  Team alone("oriel pyramid");
  return c.check ? check_pyramid(c) : run_pyramid_by(c, alone);
}

int run_pyramid_by(const PyramidCommand& c, Team& team) {
  Progress progress("oriel pyramid", c.progress && team.rank() == 0);
  keep_memory_low();
  PyramidRun run(c, team);
  run.prepare();
  run.open();
  run.build(progress);
  run.finish(progress);
  run.report(progress);
  return kExitDone;
}

}  // namespace oriel::cli
