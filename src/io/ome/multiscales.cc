#include "io/ome/multiscales.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "io/zarr/json.h"
#include "io/zarr/metadata.h"
#include "io/zarr/store.h"
#include "quoted.h"

namespace oriel::io::ome {
namespace {

using Ordered = nlohmann::ordered_json;
using zarr::Json;
using zarr::member;
using zarr::refuse;

std::string optional_text(const Json& object, const char* key, const std::string& file) {
  const Json& value = member(object, key);
  return value.is_null() ? "" : zarr::text_of(object, key, file);
}

std::vector<double> numbers_of(const Json& object, const char* key, std::size_t count, const std::string& file) {
  const Json& values = member(object, key);
  if (values.is_null() && !member(object, "path").is_null())
    refuse(file, key, object, fmt::format("a list of {} numbers, not the path of an array of them", count));
  if (!values.is_array() || values.size() != count)
    refuse(file, key, values, fmt::format("a list of {} numbers, one for each axis", count));
  std::vector<double> numbers;
  for (const Json& value : values) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(file, key, values, "finite numbers");
    numbers.push_back(value.get<double>());
  }
  return numbers;
}

// Of OME-Zarr 0.4 and 0.5, in every list of them.
constexpr const char* kTransformations = "one scale, then at most one translation";

bool are_allowed(const std::vector<std::string>& types) {
  static const std::vector<std::string> all{"scale", "translation"};
  return !types.empty() && types.size() <= all.size() && std::equal(types.begin(), types.end(), all.begin());
}

// Scales multiply, and translations of later transformations are added: x -> scale * x + translation. Returns what is
// wrong with the list, if it can be applied all the same. `file` names the list's owner too.
std::string apply(const Json& transformations, Level& level, const std::string& file) {
  if (!transformations.is_null() && !transformations.is_array())
    refuse(file, "coordinateTransformations", transformations, kTransformations);
  std::vector<std::string> types;
  for (const Json& one : transformations) {
    const std::string type = zarr::text_of(one, "type", file + ": coordinateTransformations");
    types.push_back(type);
    if (type == "identity") continue;
    if (type != "scale" && type != "translation") refuse(file, "coordinateTransformations", one, kTransformations);
    const std::vector<double> numbers = numbers_of(one, type.c_str(), level.scale.size(), file);
    for (std::size_t d = 0; d < numbers.size(); ++d) {
      if (type == "scale") {
        level.scale[d] *= numbers[d];
        level.translation[d] *= numbers[d];
      } else {
        level.translation[d] += numbers[d];
      }
    }
  }
  if (are_allowed(types)) return "";
  return fmt::format("coordinateTransformations: {}; allowed: {}",
                     types.empty() ? "none" : fmt::format("{}", fmt::join(types, ", ")), kTransformations);
}

// `x -> scale * x + translation` of level `number`: its own transformations, then those of the image.
Level parse_level(const Json& image, std::size_t number, std::size_t rank, const std::string& file) {
  const std::string owner = fmt::format("datasets[{}]", number), place = file + ": " + owner;
  const Json& dataset = member(image, "datasets")[number];
  Level level{zarr::text_of(dataset, "path", place), std::vector<double>(rank, 1), std::vector<double>(rank, 0)};
  const auto note = [&](const std::string& who, const std::string& fault) {
    if (!fault.empty()) level.faults.push_back(who + ": " + fault);
  };
  note(owner, apply(member(dataset, "coordinateTransformations"), level, place));
  const Json& common = member(image, "coordinateTransformations");
  if (common.is_null()) return level;
  const std::string fault = apply(common, level, file + ": multiscales[0]");
  if (number == 0) note("multiscales[0]", fault);
  return level;
}

Axis axis_of(const Json& json, const std::string& file) {
  return {zarr::text_of(json, "name", file), optional_text(json, "type", file), optional_text(json, "unit", file)};
}

// `version`: that of the metadata; null: none.
Multiscales parse(const Json& attributes, const Json& version, const std::string& file) {
  const Json& list = member(attributes, "multiscales");
  if (!list.is_array() || list.empty()) refuse(file, "multiscales", list, "a list of images");
  const Json& json = list[0];
  Multiscales image;
  image.has_version = !version.is_null();
  if (image.has_version && version != "0.4" && version != "0.5") refuse(file, "version", version, "0.4, 0.5");
  image.version = image.has_version ? version.get<std::string>() : "0.4";
  image.name = optional_text(json, "name", file);
  image.method = optional_text(json, "type", file);
  image.labels = !member(attributes, "image-label").is_null();
  const Json& axes = member(json, "axes");
  if (!axes.is_array() || axes.size() > kMaxRank) refuse(file, "axes", axes, "a list of 2 to 5 axes");
  for (const Json& axis : axes) image.axes.push_back(axis_of(axis, file));
  check_axes(image.axes, file);
  const Json& datasets = member(json, "datasets");
  constexpr std::size_t most = 64;
  if (!datasets.is_array() || datasets.empty() || datasets.size() > most) {
    refuse(file, "datasets", datasets, fmt::format("a list of 1 to {} levels", most));
  }
  for (std::size_t l = 0; l < datasets.size(); ++l)
    image.levels.push_back(parse_level(json, l, image.axes.size(), file));
  return image;
}

Ordered multiscale_json(const Multiscales& image) {
  Ordered axes = Ordered::array(), datasets = Ordered::array();
  for (const Axis& axis : image.axes) {
    Ordered json{{"name", axis.name}};
    if (!axis.type.empty()) json["type"] = axis.type;
    if (!axis.unit.empty()) json["unit"] = axis.unit;
    axes.push_back(std::move(json));
  }
  for (const Level& level : image.levels) {
    datasets.push_back({{"path", level.path},
                        {"coordinateTransformations",
                         {Ordered{{"type", "scale"}, {"scale", level.scale}},
                          Ordered{{"type", "translation"}, {"translation", level.translation}}}}});
  }
  Ordered json{{"name", image.name}, {"axes", axes}, {"datasets", datasets}, {"type", image.method}};
  json["metadata"] = {{"description", image.description}, {"method", "oriel pyramid"}};
  return json;
}

int rank_of(const std::string& type) { return type == "time" ? 0 : type == "space" ? 2 : 1; }

}  // namespace

std::optional<Multiscales> read_multiscales(const std::string& folder) {
  const std::string file = folder + "/zarr.json", old = folder + "/.zattrs";
  if (const auto text = zarr::read_text_file(file, zarr::kMostMetadata)) {
    const Json json = zarr::parse_object(*text, file);
    const Json& ome = member(member(json, "attributes"), "ome");
    if (member(ome, "multiscales").is_null()) return std::nullopt;
    if (member(ome, "version").is_null()) refuse(file, "version", nullptr, "0.4, 0.5");
    return parse(ome, member(ome, "version"), file);
  }
  if (const auto text = zarr::read_text_file(old, zarr::kMostMetadata)) {
    const Json json = zarr::parse_object(*text, old);
    const Json& images = member(json, "multiscales");
    if (images.is_null()) return std::nullopt;
    return parse(json, images.is_array() && !images.empty() ? member(images[0], "version") : Json(), old);
  }
  return std::nullopt;
}

std::optional<LevelOf> level_of(const std::string& array) {
  const std::filesystem::path path(zarr::without_slashes(array));
  // A path of a level may itself have folders.
  std::filesystem::path group = path.parent_path();
  for (int above = 0; above < 3 && !group.empty(); ++above, group = group.parent_path()) {
    const std::optional<Multiscales> image = read_multiscales(group.string());
    if (!image) continue;
    for (std::size_t l = 0; l < image->levels.size(); ++l) {
      if (group / image->levels[l].path == path) return LevelOf{*image, l};
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::vector<Axis> usual_axes(int rank) {
  static const std::vector<Axis> all{
      {"t", "time", ""}, {"c", "channel", ""}, {"z", "space", ""}, {"y", "space", ""}, {"x", "space", ""}};
  const int count = std::min(rank, static_cast<int>(all.size()));
  std::vector<Axis> axes(all.end() - count, all.end());
  for (int d = count; d < rank; ++d) axes.insert(axes.begin(), {fmt::format("d{}", rank - d - 1), "", ""});
  return axes;
}

void check_axes(const std::vector<Axis>& axes, const std::string& path) {
  std::vector<std::string> names;
  std::size_t space = 0;
  bool ordered = true;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    space += axes[d].type == "space" ? 1 : 0;
    ordered = ordered && (d == 0 || rank_of(axes[d - 1].type) <= rank_of(axes[d].type));
    if (std::find(names.begin(), names.end(), axes[d].name) != names.end()) ordered = false;
    names.push_back(axes[d].name);
  }
  if (axes.size() < 2 || axes.size() > 5 || space < 2 || space > 3 || !ordered) {
    throw Error(
        fmt::format("{}: axes {}; allowed in OME-Zarr: 2 to 5 of different names, of time, channel and 2 or 3 of "
                    "space, in this order",
                    path, detail::printable(fmt::format("{}", fmt::join(names, ", ")))));
  }
}

void write_group(const std::string& place, const std::string& path, const Multiscales& image) {
  const auto write = [&](const char* file, const Ordered& json) {
    const std::string text = json.dump(2) + "\n";
    zarr::write_file(place + file, std::as_bytes(std::span(text)), path);
  };
  Ordered multiscale = multiscale_json(image);
  if (image.version == "0.4") {
    multiscale["version"] = image.version;
    Ordered attributes{{"multiscales", Ordered::array({multiscale})}};
    if (image.labels) attributes["image-label"] = Ordered{{"version", image.version}};
    write("/.zgroup", {{"zarr_format", 2}});
    return write("/.zattrs", attributes);
  }
  Ordered ome{{"version", image.version}, {"multiscales", Ordered::array({multiscale})}};
  if (image.labels) ome["image-label"] = Ordered{{"version", image.version}};
  write("/zarr.json", {{"zarr_format", 3}, {"node_type", "group"}, {"attributes", {{"ome", ome}}}});
}

std::string with_levels(const std::string& text, const Multiscales& image, const std::string& file) {
  zarr::parse_object(text, file);  // of limited depth
  Ordered root = Ordered::parse(text);
  root.erase("consolidated_metadata");
  const bool old = image.version == "0.4";
  Ordered& attributes = old ? root : root["attributes"]["ome"];
  Ordered& multiscale = attributes["multiscales"][0];
  Ordered made = multiscale_json(image);
  // Axes and level 0 may say more than Oriel knows.
  for (std::size_t d = 0; d < image.axes.size(); ++d) multiscale["axes"][d].update(made["axes"][d]);
  Ordered base = multiscale["datasets"][0];
  base.update(made["datasets"][0]);
  made["datasets"][0] = std::move(base);
  for (const char* const key : {"datasets", "type", "metadata"}) multiscale[key] = made[key];
  multiscale.erase("coordinateTransformations");  // which those of the levels include
  if (image.labels && !attributes.contains("image-label"))
    attributes["image-label"] = Ordered{{"version", image.version}};
  return root.dump(2) + "\n";
}

}  // namespace oriel::io::ome
