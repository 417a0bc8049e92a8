#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/held_memory.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/pyramid_options.h"
#include "cli/quantities.h"
#include "cli/stopwatch.h"
#include "io/hdf5.h"
#include "io/output_folder.h"
#include "io/volume_formats.h"
#include "io/zarr/store.h"
#include "io/zarr/volume.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr index_t kDefaultMemory = index_t{1} << 30;

std::unique_ptr<io::VolumeIn> open_input(const PyramidCommand& c) {
  std::string path = c.in;
  if (const auto image = io::ome::read_multiscales(path)) path += "/" + image->levels[0].path;  // level 0 of a group
  if (const auto hdf5 = io::split_hdf5_path(path)) return io::open_hdf5_volume(*hdf5, c.dtype);
  if (const io::VolumeFormat* const format = io::volume_format_of(path)) return format->open(path, c.dtype);
  throw UsageError("oriel pyramid", fmt::format("IN: {} cannot be read in parts; allowed: {}", detail::quoted(c.in),
                                                io::volume_endings()));
}

// A file that is read by several threads: each has it open for itself, but one whose library or whose compression goes
// through it in order is shared.
class InputFile : public PyramidSource {
 public:
  InputFile(const PyramidCommand& c, const PyramidInput& input, std::unique_ptr<io::VolumeIn> first)
      : command_(c), turned_(input.turned), is_shared_(shares(c.in)) {
    free_.push_back(std::move(first));
  }

  void read(const Extents& begin, const Tensor& to) override {
    use([&](io::VolumeIn& in) {
      if (turned_)
        in.read(turn(begin), Tensor(to.data, to.dtype, turn(to.shape), turn(to.pitch)));
      else
        in.read(begin, to);
    });
  }
  bool is_uniform(const Extents& begin, const Extents& shape, void* element) override {
    bool uniform = false;
    use([&](io::VolumeIn& in) {
      uniform = turned_ ? in.is_uniform(turn(begin), turn(shape), element) : in.is_uniform(begin, shape, element);
    });
    return uniform;
  }

 private:
  static bool shares(const std::string& path) { return io::split_hdf5_path(path) || path.ends_with(".gz"); }

  static Extents turn(const Extents& extents) {
    Extents turned;
    for (int d = extents.size() - 1; d >= 0; --d) turned.push_back(extents[d]);
    return turned;
  }

  template <class Use>
  void use(const Use& use_it) {
    if (is_shared_) {
      const std::lock_guard lock(mutex_);
      return use_it(*free_.front());
    }
    std::unique_ptr<io::VolumeIn> in;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        in = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!in) in = open_input(command_);
    use_it(*in);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(in));
  }

  const PyramidCommand& command_;
  const bool turned_, is_shared_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<io::VolumeIn>> free_;
};

// The arrays of a group.
class OutputGroup : public PyramidSink {
 public:
  OutputGroup(const std::string& place, const std::string& path) : place_(place), path_(path) {}

  void add(const io::VolumeSpec& spec) {
    const std::string array = place_ + "/" + std::to_string(specs_.size());
    io::zarr::make_folder(array, path_);
    io::create_zarr_volume(array, path_, spec);
    specs_.push_back(spec);
    specs_.back().like = nullptr;
    arrays_.push_back(io::open_zarr_output(array, path_, spec));
  }
  // Whole chunks only: each is a file, or a part of a shard.
  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    arrays_[static_cast<std::size_t>(level)]->write(begin, chunk);
  }
  void write_uniform(int level, const Extents& begin, const Extents& shape, const void* element, Dtype dtype) override {
    const auto* const bytes = static_cast<const std::byte*>(element);
    if (std::all_of(bytes, bytes + size_bytes(dtype), [](std::byte b) { return b == std::byte{0}; }))
      arrays_[static_cast<std::size_t>(level)]->leave_out(begin, shape);
    else
      PyramidSink::write_uniform(level, begin, shape, element, dtype);
  }
  void complete() {
    for (std::size_t l = 0; l < arrays_.size(); ++l) {
      arrays_[l]->close();
      io::complete_zarr_volume(place_ + "/" + std::to_string(l), path_, specs_[l]);
    }
  }

 private:
  std::string place_, path_;
  std::vector<io::VolumeSpec> specs_;
  std::vector<std::unique_ptr<io::VolumeOut>> arrays_;
};

bool is_image(const std::string& path) { return io::ome::read_multiscales(path).has_value(); }

void check_output(const PyramidCommand& c) {
  namespace fs = std::filesystem;
  const std::string name = io::zarr::without_slashes(c.out);
  if (!name.ends_with(".zarr")) {
    throw UsageError("oriel pyramid",
                     fmt::format("OUT: {}; allowed: a name that ends in .zarr", detail::quoted(c.out)));
  }
  std::error_code none;
  const fs::path out = fs::weakly_canonical(name, none), in = fs::weakly_canonical(c.in, none);
  if (std::mismatch(out.begin(), out.end(), in.begin(), in.end()).first == out.end()) {
    throw UsageError("oriel pyramid", fmt::format("OUT: {} holds IN, {}; allowed: a folder without it",
                                                  detail::quoted(c.out), detail::quoted(c.in)));
  }
}

std::string method_name(const PyramidCommand& c) {
  return c.pool.op == Op::avg ? "mean" : std::string(name(c.pool.op));
}

io::ome::Multiscales describe(const PyramidCommand& c, const Pyramid& pyramid, const PyramidInput& input,
                              const PyramidPlan& plan) {
  io::ome::Multiscales image{.version = "0.5",
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

struct Report {
  const PyramidCommand& command;
  const PyramidPlan& plan;
  const io::ome::Multiscales& image;
  const PyramidReport& made;
  double build = 0, all = 0;
};

void say(Progress& progress, const Report& r) {
  const PyramidCommand& c = r.command;
  if (c.json) {
    Json levels = Json::array();
    for (std::size_t l = 0; l < r.plan.levels.size(); ++l) {
      levels.push_back({{"path", r.image.levels[l].path},
                        {"dtype", name(r.plan.levels[l].dtype)},
                        {"shape", json_of(r.plan.levels[l].shape)},
                        {"chunk", json_of(r.plan.chunks[l])},
                        {"scale", r.image.levels[l].scale},
                        {"translation", r.image.levels[l].translation}});
    }
    return progress.say(json_text({{"in", c.in},
                                   {"out", c.out},
                                   {"method", r.image.method},
                                   {"levels", levels},
                                   {"tile", json_of(r.plan.tile)},
                                   {"tiles", r.plan.tiles},
                                   {"tiles_read", r.made.tiles_read},
                                   {"tiles_uniform", r.made.tiles_uniform},
                                   {"chunks_written", r.made.chunks_written},
                                   {"chunks_uniform", r.made.chunks_uniform},
                                   {"buffers", r.made.peak_memory},
                                   {"peak_memory", peak_bytes()},
                                   {"threads", r.plan.threads},
                                   {"seconds", {{"levels", json_of(r.build)}, {"all", json_of(r.all)}}}}));
  }
  if (c.quiet) return;
  const PyramidLevel &base = r.plan.levels.front(), &last = r.plan.levels.back();
  progress.say(fmt::format("{}: {} {} -> {}: {} level{} by {}, the coarsest {} ({})\n", detail::printable(c.in),
                           name(base.dtype), to_string(base.shape), detail::printable(c.out), r.plan.levels.size() - 1,
                           r.plan.levels.size() == 2 ? "" : "s", r.image.method, to_string(last.shape),
                           spent("made", r.build, r.all)));
}

// What `build_pyramid` says of its progress, with the time that is left.
struct Watcher {
  Progress& progress;
  Stopwatch watch{};

  static void done(void* context, index_t tiles, index_t of) {
    auto& self = *static_cast<Watcher*>(context);
    const double seconds = self.watch.in_all();
    const double left = seconds * static_cast<double>(of - tiles) / static_cast<double>(tiles);
    self.progress.set(fmt::format("{} %, {} left", 100 * tiles / of, show_seconds(left)));
  }
};

}  // namespace

int run_pyramid(const PyramidCommand& c) {
  if (c.check) return check_pyramid(c);
  const Stopwatch watch;
  Progress progress("oriel pyramid", c.progress);
  check_output(c);
  keep_memory_low();
  std::unique_ptr<io::VolumeIn> in = open_input(c);
  const PyramidInput input = describe_input(c, *in);
  const Pyramid pyramid = make_pyramid(c, input);
  const Extents chunk = pyramid_chunk(c, input);
  pyramid_shard(c, input);  // before anything is made
  const index_t chunk_bytes = in->chunk.empty() ? 0 : element_count(in->chunk) * size_bytes(in->dtype);
  const index_t held = resident_bytes() + reserve_bytes(true, chunk_bytes);
  const index_t memory = c.memory > 0 ? c.memory : kDefaultMemory;
  PyramidOptions options{.threads = c.threads > 0 ? c.threads : default_threads(),
                         .with_base = true,
                         .chunks = {chunk},
                         .source_chunk = input.chunk,
                         .memory = {}};
  // Each thread decodes a chunk of IN and encodes one of a level: each is there as it is and compressed.
  const index_t coded = 2 * (chunk_bytes + element_count(chunk) * size_bytes(result_dtype(c.pool, input.dtype)));
  while (options.threads > 1 && held + options.threads * coded > memory / 2) --options.threads;
  options.memory = memory - held - options.threads * coded;
  if (options.memory <= 0) {
    throw Error(fmt::format("--memory: {} is too little; allowed: more than {}, which the program and {} thread{} take",
                            show_bytes(static_cast<double>(memory)),
                            show_bytes(static_cast<double>(memory - options.memory)), options.threads,
                            options.threads == 1 ? "" : "s"));
  }
  const PyramidPlan plan = plan_pyramid(pyramid, input.dtype, input.shape, options);
  const io::ome::Multiscales image = describe(c, pyramid, input, plan);

  io::OutputFolder out(c.out, "an OME-Zarr image", &is_image);
  OutputGroup group(out.place(), c.out);
  std::vector<std::string> axes;
  for (const io::ome::Axis& axis : input.axes) axes.push_back(axis.name);
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    group.add({.dtype = plan.levels[l].dtype,
               .shape = plan.levels[l].shape,
               .chunk = plan.chunks[l],
               .problem = {},
               .like = l == 0 ? in.get() : nullptr,
               .axes = axes,
               .codec = c.codec,
               .shard = pyramid_shard(c, input)});
  }
  InputFile source(c, input, std::move(in));
  Watcher watcher{progress};
  Stopwatch building;
  const PyramidReport made =
      build_pyramid(pyramid, input.dtype, input.shape, source, group, options, &Watcher::done, &watcher);
  const double build = building.in_all();
  progress.set("flushing it to the disk");
  group.complete();
  const std::string text = io::ome::to_group_json(image);
  io::zarr::write_file(out.place() + "/zarr.json", std::as_bytes(std::span(text)), c.out);
  out.commit();
  say(progress, {.command = c, .plan = plan, .image = image, .made = made, .build = build, .all = watch.in_all()});
  return kExitDone;
}

}  // namespace oriel::cli
