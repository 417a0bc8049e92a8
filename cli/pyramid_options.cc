#include "cli/pyramid_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/window_options.h"
#include "io/hdf5.h"
#include "io/hdf5_levels.h"
#include "io/levels_formats.h"
#include "io/nifti/volume.h"
#include "io/precomputed/volume.h"
#include "io/tiff/space.h"
#include "quoted.h"
#include "statistic_name.h"
#include "statistic_rules.h"

namespace oriel::cli {
namespace {

constexpr index_t kPlaneChunk = 256;  // along each of two axes of space
constexpr index_t kSpaceChunk = 64;   // along each of three

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// One number for each axis, or one for all axes of space.
std::vector<double> reals(const char* option, const std::string& text, const PyramidInput& input, double other) {
  const std::vector<std::string> parts = split(text, ',');
  std::vector<double> given;
  for (const std::string& part : parts) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || !std::isfinite(value)) {
      throw Error(
          fmt::format("{}: {} is not understood; allowed: numbers such as 2,0.5,0.5", option, detail::quoted(text)));
    }
    given.push_back(value);
  }
  const std::size_t rank = input.axes.size();
  if (given.size() == 1 && rank > 1) {
    std::vector<double> all(rank, other);
    for (std::size_t d = 0; d < rank; ++d) {
      if (input.axes[d].type == "space") all[d] = given[0];
    }
    return all;
  }
  if (given.size() != rank) {
    throw Error(fmt::format("{}: {} has {} numbers; allowed: 1, for the axes of space, or {}, one for each axis",
                            option, detail::quoted(text), given.size(), rank));
  }
  return given;
}

io::ome::Axis named_axis(const std::string& name, const std::string& unit) {
  const bool space = name == "x" || name == "y" || name == "z";
  return {name, space ? "space" : name == "t" ? "time" : name == "c" ? "channel" : "", unit};
}

std::vector<io::ome::Axis> named_axes(const std::string& names, int rank) {
  std::vector<io::ome::Axis> axes;
  for (const char c : names) axes.push_back(named_axis(std::string(1, c), ""));
  if (static_cast<int>(axes.size()) != rank) {
    throw Error(fmt::format("--axes: {} names {} axes, but IN has {}; allowed: a letter for each, such as tczyx",
                            detail::quoted(names), axes.size(), rank));
  }
  return axes;
}

void look_up(const io::PrecomputedSpace& space, PyramidInput& input) {
  const std::size_t rank = input.axes.size(), axes = space.resolution.size();
  input.offset.assign(rank, 0);
  input.labels = space.segmentation;
  for (std::size_t d = rank - axes; d < rank; ++d) {  // z, y, x are the last
    const std::size_t from = rank - 1 - d;
    input.axes[d].unit = "nanometer";
    input.coordinates.scale[d] = space.resolution[from];
    input.offset[d] = space.offset[from];
  }
}

// Pages of no known kind are z, then c and t if the file does not name these; --axes comes before both.
void name_axes(const std::string& given, io::TiffSpace& space) {
  std::string free;
  for (const char name : {'t', 'c', 'z'})
    if (std::none_of(space.axes.begin(), space.axes.end(), [&](const auto& axis) { return axis.name == name; }))
      free += name;
  for (std::size_t d = space.axes.size(); d-- > 0;) {
    char& name = space.axes[d].name;
    if (given.size() == space.axes.size()) {
      name = given[d];
    } else if (name == 'i' && !free.empty()) {
      name = free.back();
      free.pop_back();
    }
  }
}

void look_up(const io::TiffSpace& space, PyramidInput& input) {
  input.nodata = space.nodata;
  for (std::size_t d = 0; d < input.axes.size(); ++d) {
    const io::TiffSpace::Axis& axis = space.axes[static_cast<std::size_t>(input.from[static_cast<int>(d)])];
    input.axes[d] = named_axis(std::string(1, axis.name), axis.unit);
    input.coordinates.scale[d] = axis.spacing;
  }
}

// What files say themselves.
void look_up(const PyramidCommand& c, const io::VolumeIn& in, PyramidInput& input) {
  const auto rank = static_cast<std::size_t>(input.shape.size());
  std::optional<io::ome::LevelOf> level = io::ome::level_of(c.in);
  if (const auto image = io::ome::read_multiscales(c.in)) level = io::ome::LevelOf{*image, 0};
  if (level && level->image.axes.size() == rank) {
    input.axes = level->image.axes;
    input.labels = level->image.labels && !is_floating(input.dtype);
    input.coordinates = {level->image.levels[level->level].scale, level->image.levels[level->level].translation};
    return;
  }
  if (const auto space = io::precomputed_space(in)) return look_up(*space, input);
  if (const std::vector<double> spacing = io::hdf5_spacing(in); !spacing.empty()) {
    for (std::size_t d = 0; d < spacing.size(); ++d) {
      const std::size_t axis = rank - spacing.size() + d;
      input.axes[axis].unit = "micrometer";
      input.coordinates.scale[axis] = spacing[d];
    }
    return;
  }
  const std::optional<io::NiftiSpace> space = io::nifti_space(in);
  if (!space || rank > space->spacing.size()) return;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::size_t from_last = rank - 1 - d;  // x is the last
    input.coordinates.scale[d] = space->spacing[from_last] > 0 ? space->spacing[from_last] : 1;
    input.axes[d] = from_last == 3 ? io::ome::Axis{"t", "time", space->time_unit}
                                   : io::ome::Axis{std::string(1, "xyz"[from_last]), "space", space->space_unit};
  }
}

Extents space_factors(const PyramidInput& input, index_t factor) {
  Extents step;
  for (const io::ome::Axis& axis : input.axes) step.push_back(axis.type == "space" ? factor : 1);
  return step;
}

// Extents for each axis, or one for the axes of space.
Extents extents_option(const char* option, const std::string& text, const PyramidInput& input) {
  const Extents given = parse_numbers(option, text, 'x');
  Extents all = given;
  if (given.size() == 1) {
    all = {};
    for (const io::ome::Axis& axis : input.axes) all.push_back(axis.type == "space" ? given[0] : 1);
  }
  if (all.size() != input.shape.size()) {
    throw Error(fmt::format("{}: {} has {} numbers; allowed: 1, for the axes of space, or {}, one for each axis",
                            option, detail::quoted(text), given.size(), input.shape.size()));
  }
  for (const index_t n : all) {
    if (n < 1) throw Error(fmt::format("{}: must be >= 1, but is {}", option, detail::quoted(text)));
  }
  return all;
}

// Axes that become smaller unless factors are given for each: those of space, or the last two.
Extents smaller_axes(const PyramidCommand& c, const PyramidInput& input) {
  const io::LevelsFormat* const format = pyramid_format(c.out);
  const bool planes_only = format != nullptr && format->planes_only;
  Extents axes;
  for (int d = 0; d < input.shape.size(); ++d) {
    if (input.axes[static_cast<std::size_t>(d)].type == "space" && (!planes_only || d + 2 >= input.shape.size()))
      axes.push_back(d);
  }
  return axes;
}

bool is_small(const Extents& axes, const Extents& shape, const Extents& chunk) {
  for (const index_t axis : axes) {
    const int d = static_cast<int>(axis);
    if (shape[d] > chunk[d]) return false;
  }
  return true;
}

// The factors that were named, the last of them again and again.
std::vector<Extents> given_factors(const PyramidCommand& c, const PyramidInput& input,
                                   const std::vector<Extents>& given, const Extents& chunk) {
  constexpr std::size_t most = 40;
  const std::size_t wanted = c.levels > 0 ? static_cast<std::size_t>(c.levels) : given.size() > 1 ? given.size() : most;
  const bool until_small = c.levels == 0 && given.size() < 2;
  const Extents axes = smaller_axes(c, input);
  Extents shape = input.shape;
  std::vector<Extents> factors;
  while (factors.size() < wanted && !(until_small && is_small(axes, shape, chunk))) {
    const Extents step = given[std::min(factors.size(), given.size() - 1)];
    if (step.size() != shape.size()) {
      throw Error(
          fmt::format("--factor: {} has {} numbers; allowed: 1, for the axes of space, or {}, one for each axis",
                      detail::quoted(c.factor), step.size(), shape.size()));
    }
    factors.push_back(step);
    for (int d = 0; d < shape.size(); ++d) {
      if (step[d] < 1) throw Error(fmt::format("--factor: must be >= 1, but is {}", detail::quoted(c.factor)));
      shape[d] = c.edge == Edge::trim ? shape[d] / step[d] : ceil_div(shape[d], step[d]);
    }
  }
  return factors;
}

// Where the first element is on a grid whose windows begin at coordinate 0, if IN has such coordinates or OUT's do;
// else empty.
Extents place_on_grid(const PyramidCommand& c, const PyramidInput& input, const std::vector<Extents>& factors) {
  const io::LevelsFormat* const format = pyramid_format(c.out);
  const bool by_translation = format != nullptr && format->global_grid;
  if (!by_translation && input.offset.empty()) return {};
  Extents origin;
  for (int d = 0; d < input.shape.size(); ++d) {
    const auto a = static_cast<std::size_t>(d);
    double all = 1;
    for (const Extents& factor : factors) all *= static_cast<double>(factor[d]);
    const double at = by_translation ? std::round(input.coordinates.translation[a] / input.coordinates.scale[a])
                                     : static_cast<double>(input.offset[a]);
    constexpr double most = 0x1p52;  // whole numbers beyond are refused, or no window is that large
    if (!(all < most)) return {};
    const double rest = std::fmod(at, all);
    origin.push_back(static_cast<index_t>(rest < 0 ? rest + all : rest));
  }
  return origin;
}

// The file's axis that each axis is.
Extents order_of_axes(const io::VolumeIn& in, const std::optional<io::TiffSpace>& tiff) {
  const int rank = in.shape.size();
  bool turned = rank > 1;
  for (int d = 0; d < rank; ++d) turned = turned && in.order[d] == rank - 1 - d;
  if (io::precomputed_space(in)) turned = true;  // x, y, z, whatever the order of their memory
  Extents from;
  for (int d = 0; d < rank; ++d) from.push_back(turned ? rank - 1 - d : d);
  if (!tiff) return from;
  // Files of ImageJ and of microscopes have z before channels, images have samples last.
  const auto place = [&](index_t axis) {
    const char name = tiff->axes[static_cast<std::size_t>(axis)].name;
    return name == 't' ? 0 : name == 'z' || name == 'y' || name == 'x' ? 2 : 1;
  };
  std::stable_sort(from.begin(), from.end(), [&](index_t x, index_t y) { return place(x) < place(y); });
  return from;
}

}  // namespace

const io::LevelsFormat* pyramid_format(const std::string& out) {
  if (io::hdf5_levels().is(out)) return &io::hdf5_levels();
  return io::levels_format_of(out);
}

PyramidInput describe_input(const PyramidCommand& c, io::VolumeIn& in) {
  PyramidInput input;
  input.dtype = in.dtype;
  const int rank = in.shape.size();
  std::optional<io::TiffSpace> tiff = io::tiff_space(in);
  if (tiff) name_axes(c.axes, *tiff);
  input.from = order_of_axes(in, tiff);
  for (int d = 0; d < rank; ++d) {
    const int from = static_cast<int>(input.from[d]);
    input.shape.push_back(in.shape[from]);
    if (!in.chunk.empty()) input.chunk.push_back(in.chunk[from]);
  }
  input.axes = io::ome::usual_axes(rank);
  input.coordinates = {std::vector<double>(static_cast<std::size_t>(rank), 1),
                       std::vector<double>(static_cast<std::size_t>(rank), 0)};
  if (tiff)
    look_up(*tiff, input);
  else
    look_up(c, in, input);
  if (!c.axes.empty() && !(tiff && tiff->axes.size() == c.axes.size())) input.axes = named_axes(c.axes, rank);
  io::ome::check_axes(input.axes, c.in);
  if (!c.spacing.empty()) input.coordinates.scale = reals("--spacing", c.spacing, input, 1);
  for (const double spacing : input.coordinates.scale) {
    if (!(spacing > 0)) throw Error(fmt::format("--spacing: must be > 0, but has {}", spacing));
  }
  for (std::size_t d = 0; d < input.offset.size(); ++d)
    input.coordinates.translation[d] = static_cast<double>(input.offset[d]) * input.coordinates.scale[d];
  if (!c.translation.empty()) input.coordinates.translation = reals("--translation", c.translation, input, 0);
  for (io::ome::Axis& axis : input.axes) {
    if (!c.unit.empty() && axis.type == "space") axis.unit = c.unit;
  }
  return input;
}

std::optional<Scalar> nodata_of(const std::string& text, Dtype dtype) {
  std::optional<Scalar> value = detail::read_scalar(text);
  if (!value) return value;
  // As text it may have fewer digits than the element.
  if (const double* const real = std::get_if<double>(&*value); real != nullptr && dtype == Dtype::f32)
    value = static_cast<double>(static_cast<float>(*real));
  return detail::is_representable(*value, dtype) ? value : std::nullopt;
}

Extents pyramid_chunk(const PyramidCommand& c, const PyramidInput& input) {
  if (!c.chunk.empty()) return extents_option("--chunk", c.chunk, input);
  if (c.in_place && !input.chunk.empty()) return input.chunk;
  const io::LevelsFormat* const format = pyramid_format(c.out);
  const auto space = std::count_if(input.axes.begin(), input.axes.end(),
                                   [](const io::ome::Axis& axis) { return axis.type == "space"; });
  const index_t whole_channels = format != nullptr ? format->whole_channels : 0;
  const index_t plane = format != nullptr ? format->plane_chunk : 0;
  Extents chunk;
  for (int d = 0; d < input.shape.size(); ++d) {
    const std::string& type = input.axes[static_cast<std::size_t>(d)].type;
    const index_t other =
        type == "channel" && input.shape[d] <= whole_channels ? std::max<index_t>(input.shape[d], 1) : 1;
    const index_t side = plane != 0 ? (d + 2 < input.shape.size() ? 1 : plane) : space == 2 ? kPlaneChunk : kSpaceChunk;
    chunk.push_back(type == "space" ? side : other);
  }
  return chunk;
}

Extents pyramid_shard(const PyramidCommand& c, const PyramidInput& input) {
  if (c.shard.empty()) return {};
  Extents shard = extents_option("--shard", c.shard, input);
  const Extents chunk = pyramid_chunk(c, input);
  for (int d = 0; d < shard.size(); ++d) {
    if (shard[d] % chunk[d] != 0) {
      throw Error(
          fmt::format("--shard: {} along axis {}; allowed: multiples of the chunk's {}", shard[d], d, chunk[d]));
    }
  }
  return shard;
}

Pyramid make_pyramid(const PyramidCommand& c, const PyramidInput& input) {
  Pyramid pyramid{.pool = c.pool, .edge = c.edge, .source = c.source};
  if (!c.origin.empty()) pyramid.origin = parse_numbers("--origin", c.origin, 'x');
  const Extents chunk = pyramid_chunk(c, input);
  std::vector<Extents> given;
  if (!c.factor.empty() && c.factor != "auto") {
    for (const std::string& step : split(c.factor, ',')) {
      const Extents numbers = parse_numbers("--factor", step, 'x');
      given.push_back(numbers.size() == 1 ? space_factors(input, numbers[0]) : numbers);
    }
  }
  if (given.empty()) {
    const Extents most = c.levels == 0 ? chunk : Extents::filled(input.shape.size(), 1);
    pyramid.factors = pyramid_factors(input.shape, input.coordinates.scale, smaller_axes(c, input), most);
    if (c.levels > 0 && pyramid.factors.size() > static_cast<std::size_t>(c.levels)) {
      pyramid.factors.resize(static_cast<std::size_t>(c.levels));
    }
  } else {
    pyramid.factors = given_factors(c, input, given, chunk);
  }
  if (c.origin.empty()) pyramid.origin = place_on_grid(c, input, pyramid.factors);
  if (pyramid.factors.empty()) {
    throw Error(fmt::format("--levels: IN, {}, fits into one chunk, {}; allowed: a number of levels, or smaller chunks",
                            to_string(input.shape), to_string(chunk)));
  }
  return pyramid;
}

}  // namespace oriel::cli
