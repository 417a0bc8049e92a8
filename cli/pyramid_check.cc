#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/pyramid_options.h"
#include "cli/pyramid_samples.h"
#include "cli/pyramid_sheet.h"
#include "io/ome/multiscales.h"
#include "io/tiff/levels_in.h"
#include "io/zarr/volume.h"
#include "quoted.h"
#include "statistic_rules.h"

namespace oriel::cli {
namespace {

// What was found of a level.
struct Finding {
  std::string path;
  Dtype dtype = Dtype::f32;
  Extents shape, factor;
  std::string method;                           // that fits all samples, and of which level; empty: none
  bool first_fits = false, others_fit = false;  // all samples: constant windows are what several methods make
  index_t fitting = 0, samples = 0;             // of the method that fits most
  std::vector<std::string> faults;
};

struct Source {
  std::unique_ptr<io::VolumeIn> array;
  io::ome::Level level;
};

class LevelChecker {
 public:
  LevelChecker(const PyramidCommand& c, Progress& progress) : c_(c), progress_(progress), nodata_(c.pool.nodata) {
    if (auto tiff = io::open_tiff_levels(c.in))
      take(std::move(*tiff));
    else
      take_zarr();
    const Dtype dtype = sources_[0].array->dtype;
    if (nodata_ && !detail::is_representable(*nodata_, dtype)) {
      const auto text = std::visit([](auto value) { return fmt::format("{}", value); }, *nodata_);
      throw Error(fmt::format("--nodata: {} is not a value of {}, the dtype of level 0", text, name(dtype)));
    }
  }

  std::vector<Finding> check() {
    std::vector<Finding> findings;
    for (std::size_t l = 0; l < sources_.size(); ++l) {
      progress_.set(fmt::format("level {} of {}", l, sources_.size() - 1));
      findings.push_back(check_level(l));
    }
    return findings;
  }
  const io::ome::Multiscales& image() const { return image_; }
  /// The levels, which are then gone.
  SheetImage give() {
    SheetImage all{image_, {}};
    for (Source& source : sources_) all.levels.push_back(std::move(source.array));
    return all;
  }

 private:
  void take_zarr() {
    const auto image = io::ome::read_multiscales(c_.in);
    if (!image) {
      throw Error(
          fmt::format("{}: not an OME-Zarr image; allowed: a folder whose metadata have multiscales, 0.4 or "
                      "0.5, or a TIFF with levels",
                      detail::printable(c_.in)));
    }
    image_ = *image;
    for (const io::ome::Level& level : image_.levels) {
      sources_.push_back({io::open_zarr_volume(c_.in + "/" + level.path, std::nullopt), level});
      if (sources_.back().array->shape.size() != static_cast<int>(image_.axes.size())) {
        throw Error(fmt::format("{}/{}: {} axes, but the image has {}", detail::printable(c_.in),
                                detail::printable(level.path), sources_.back().array->shape.size(),
                                image_.axes.size()));
      }
    }
  }
  void take(io::TiffLevels tiff) {
    image_ = std::move(tiff.image);
    for (std::size_t l = 0; l < tiff.levels.size(); ++l)
      sources_.push_back({std::move(tiff.levels[l]), image_.levels[l]});
    if (!c_.pool.nodata) nodata_ = nodata_of(tiff.nodata, sources_[0].array->dtype);
  }

  Finding check_level(std::size_t l) {
    const Source& here = sources_[l];
    Finding f{.path = here.level.path,
              .dtype = here.array->dtype,
              .shape = here.array->shape,
              .factor = {},
              .method = {},
              .faults = here.level.faults};
    f.factor = Extents::filled(f.shape.size(), 1);
    if (l == 0) return f;
    bool known = true;
    for (int d = 0; d < f.shape.size(); ++d) known = find_factor(l, d, f) && known;
    const std::size_t shapes = f.faults.size();
    if (known) find_method(l, f);
    if (here.array->dtype != sources_[0].array->dtype && !changes_dtype(f)) {
      f.faults.insert(
          f.faults.begin() + static_cast<std::ptrdiff_t>(shapes),
          fmt::format("dtype: {}, but level 0 is of {}", name(here.array->dtype), name(sources_[0].array->dtype)));
    }
    if (!known) return f;
    if (!image_.version.empty()) check_translation(l, f);  // a TIFF has none
    return f;
  }

  // Results of some methods have a dtype of their own (S15).
  static bool changes_dtype(const Finding& f) {
    const auto is = [&](std::string_view method) { return f.method.starts_with(method); };
    return (f.dtype == Dtype::boolean && (is("any ") || is("all "))) ||
           (is_floating(f.dtype) && (is("var ") || is("std ")));
  }

  std::string axis_name(int d) const { return detail::printable(image_.axes[static_cast<std::size_t>(d)].name); }

  // The factor along an axis, by the scale or else by the shape; false: no factor makes such a level.
  bool find_factor(std::size_t l, int d, Finding& f) const {
    const auto axis = static_cast<std::size_t>(d);
    const index_t n = sources_[0].array->shape[d], have = f.shape[d];
    const double ratio = sources_[l].level.scale[axis] / sources_[0].level.scale[axis];
    const auto makes = [&](index_t factor) {
      return factor >= 1 && (ceil_div(n, factor) == have || n / factor == have);
    };
    const double whole = std::nearbyint(ratio);
    const bool is_whole = std::fabs(ratio - whole) <= 1e-9 * ratio && whole >= 1 && whole < 1e15;
    index_t factor = is_whole ? static_cast<index_t>(whole) : 0;
    if (!makes(factor)) {
      const double by_shape = static_cast<double>(n) / static_cast<double>(std::max<index_t>(have, 1));
      factor = static_cast<index_t>(std::nearbyint(by_shape));
      for (const index_t other : {factor - 1, factor + 1}) {
        if (!makes(factor) && makes(other)) factor = other;
      }
      if (!makes(factor)) {
        f.faults.push_back(fmt::format("shape: {} along {}: no factor makes that of {}", have, axis_name(d), n));
        return false;
      }
      f.faults.push_back(fmt::format("scale: {} along {}; it should be {}, {} times that of level 0",
                                     sources_[l].level.scale[axis], axis_name(d),
                                     sources_[0].level.scale[axis] * static_cast<double>(factor), factor));
    }
    f.factor[d] = factor;
    if (const index_t rest = n - have * factor; rest > 0) {
      f.faults.push_back(fmt::format("shape: {} along {}; it should be {}: the last {} of {} elements {} in no window",
                                     have, axis_name(d), ceil_div(n, factor), rest, n, rest == 1 ? "is" : "are"));
    }
    return true;
  }

  // The first method that fits all samples, of level 0 or else of the level before.
  void find_method(std::size_t l, Finding& f) {
    struct Candidate {
      std::string text;
      index_t fitting, seen;
    };
    std::optional<Candidate> best;
    const auto consider = [&](io::VolumeIn& below, const Extents& factor, const std::string& of) {
      const MethodVotes votes = sample_methods(below, *sources_[l].array, factor, c_.sample, nodata_);
      for (std::size_t m = 0; m < kLevelMethods.size(); ++m) {
        if (votes.fitting[m] < votes.seen) continue;
        (kLevelMethods[m] == "first" ? f.first_fits : f.others_fit) = true;
      }
      for (std::size_t m = 0; m < kLevelMethods.size(); ++m) {
        const double share = static_cast<double>(votes.fitting[m]) / static_cast<double>(votes.seen);
        if (!best || share > static_cast<double>(best->fitting) / static_cast<double>(best->seen)) {
          best = Candidate{std::string(kLevelMethods[m]) + " of " + of, votes.fitting[m], votes.seen};
        }
      }
    };
    consider(*sources_[0].array, f.factor, "level 0");
    if (l > 1 && best->fitting < best->seen) {
      Extents step;
      for (int d = 0; d < f.factor.size(); ++d) {
        const index_t n = sources_[l - 1].array->shape[d];
        step.push_back(std::max<index_t>(
            1, static_cast<index_t>(std::nearbyint(static_cast<double>(n) / static_cast<double>(f.shape[d])))));
        if (ceil_div(n, step[d]) != f.shape[d] && n / step[d] != f.shape[d]) return set_method(*best, f);
      }
      consider(*sources_[l - 1].array, step, "the level before");
    }
    set_method(*best, f);
  }

  template <class Candidate>
  static void set_method(const Candidate& best, Finding& f) {
    f.fitting = best.fitting;
    f.samples = best.seen;
    if (best.fitting == best.seen) {
      f.method = best.text;
    } else {
      f.faults.push_back(fmt::format("values: no method fits; the nearest, {}, fits {} of {} elements", best.text,
                                     best.fitting, best.seen));
    }
  }

  void check_translation(std::size_t l, Finding& f) const {
    for (int d = 0; d < f.factor.size(); ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const double scale = sources_[0].level.scale[axis];
      const double begin = sources_[0].level.translation[axis], is = sources_[l].level.translation[axis];
      const double middle = begin + scale * static_cast<double>(f.factor[d] - 1) / 2;
      const auto is_at = [&](double place) { return std::fabs(is - place) <= 1e-6 * std::fabs(scale); };
      if ((f.first_fits && is_at(begin)) || ((f.others_fit || !f.first_fits) && is_at(middle))) continue;
      const double should = f.first_fits && !f.others_fit ? begin : middle;
      f.faults.push_back(fmt::format("translation: {} along {}; it should be {}", is, axis_name(d), should));
    }
  }

  const PyramidCommand& c_;
  Progress& progress_;
  io::ome::Multiscales image_;
  std::vector<Source> sources_;
  std::optional<Scalar> nodata_;
};

Json to_json(const PyramidCommand& c, const io::ome::Multiscales& image, const std::vector<Finding>& findings,
             bool good) {
  Json levels = Json::array();
  for (const Finding& f : findings) {
    Json level{{"path", f.path}, {"dtype", name(f.dtype)}, {"shape", json_of(f.shape)}, {"factor", json_of(f.factor)}};
    if (f.samples > 0) {
      level["method"] = f.method.empty() ? Json(nullptr) : Json(f.method);
      level["fitting"] = f.fitting;
      level["samples"] = f.samples;
    }
    level["faults"] = f.faults;
    levels.push_back(std::move(level));
  }
  return {{"image", c.in},
          {"version", image.version.empty() ? Json(nullptr) : Json(image.version)},
          {"has_version", image.has_version},
          {"good", good},
          {"levels", levels}};
}

// What a sheet says of the levels.
std::vector<SheetNote> notes_of(const std::vector<Finding>& findings) {
  std::vector<SheetNote> notes;
  for (const Finding& f : findings) {
    if (f.faults.empty())
      notes.push_back({f.method, false});
    else
      notes.push_back({fmt::format("{}{}", f.faults[0],
                                   f.faults.size() == 1 ? "" : fmt::format(" (and {} more)", f.faults.size() - 1)),
                       true});
  }
  return notes;
}

}  // namespace

int check_pyramid(const PyramidCommand& c) {
  Progress progress("oriel pyramid", c.progress);
  LevelChecker checker(c, progress);
  const std::unique_ptr<io::OutputFile> sheet = open_sheet(c, checker.image().axes);
  const std::vector<Finding> findings = checker.check();
  const bool good = std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.faults.empty(); });
  if (checker.image().version.empty())
    draw_sheet(sheet.get(), c, checker.give(), notes_of(findings));
  else
    draw_sheet(sheet.get(), c, c.in, notes_of(findings));
  if (c.json) {
    progress.say(json_text(to_json(c, checker.image(), findings, good)));
  } else if (!c.quiet) {
    const std::string& version = checker.image().version;
    std::string text = fmt::format("{}: {}, {} level{} above level 0\n", detail::printable(c.in),
                                   version.empty() ? "TIFF" : "OME-Zarr " + version, findings.size() - 1,
                                   findings.size() == 2 ? "" : "s");
    if (!checker.image().has_version) text += "  version: none in the metadata; taken for 0.4\n";
    for (std::size_t l = 0; l < findings.size(); ++l) {
      const Finding& f = findings[l];
      text += fmt::format("level {}: {} {}", l, name(f.dtype), to_string(f.shape));
      if (l > 0) text += fmt::format(", factor {}", to_string(f.factor));
      if (!f.method.empty()) text += fmt::format(", {} ({} elements)", f.method, f.samples);
      text += f.faults.empty() ? (l > 0 ? ": good\n" : "\n") : "\n";
      for (const std::string& fault : f.faults) text += "  " + fault + "\n";
    }
    progress.say(text);
  }
  return good ? kExitDone : kExitFailure;
}

}  // namespace oriel::cli
