#include "cli/beside_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/held_memory.h"
#include "cli/places.h"
#include "io/hdf5.h"
#include "io/volume_formats.h"
#include "oriel/tensor.h"
#include "quoted.h"
#include "statistic_rules.h"

namespace oriel::cli {
namespace {

// An array of a picture's height and width applies to all channels.
void add_channels(io::Array& array, int rank) {
  if (array.view.rank() + 1 != rank) return;
  array.view.shape.push_back(1);
  array.view.pitch.push_back(0);
}

io::Array read_whole_array(const PoolCommand& c, const std::string& path, bool is_picture, int rank, ReadWhole read) {
  bound_inputs(c);  // what was read so far is among what the program holds now
  io::Array array = read(path, std::nullopt);
  if (is_picture) add_channels(array, rank);
  return array;
}

std::unique_ptr<io::VolumeIn> open_one(const PoolCommand& c, const char* option, const std::string& path,
                                       const io::VolumeIn& in, ReadWhole read_whole) {
  if (path.empty()) return nullptr;
  std::unique_ptr<io::VolumeIn> volume;
  if (const auto hdf5 = io::split_hdf5_path(path)) {
    volume = io::open_hdf5_volume(*hdf5, std::nullopt);
  } else if (const io::VolumeFormat* const format = io::volume_format_of(path); format != nullptr && !in.picture) {
    volume = format->open(path, std::nullopt);
  } else if (read_whole == nullptr) {
    throw UsageError("oriel pool", fmt::format("{}: '{}' cannot be read in parts, as mpirun needs; allowed: {}", option,
                                               path, io::volume_endings()));
  } else {
    volume = io::volume_of(read_whole_array(c, path, in.picture.has_value(), in.shape.size(), read_whole));
  }
  check_beside_place(c, option, path, volume->part);
  return volume;
}

void check_shape(const char* option, const std::string& path, const io::VolumeIn& volume, const Problem& problem) {
  bool fits = volume.shape.size() == problem.shape.size();
  for (int d = 0; fits && d < volume.shape.size(); ++d) {
    const auto end = problem.axes.begin() + problem.pooled;
    const bool pooled = std::find(problem.axes.begin(), end, d) != end;
    fits = volume.shape[d] == problem.shape[d] || (volume.shape[d] == 1 && !pooled);
  }
  if (fits) return;
  throw Error(fmt::format("{}: {} must have the shape of IN, {}, or 1 along axes that are not pooled, but has {}",
                          option, detail::printable(path), to_string(problem.shape), to_string(volume.shape)));
}

void check_dtype(const char* option, const std::string& path, Dtype dtype, Dtype one, Dtype other) {
  if (dtype == one || dtype == other) return;
  throw Error(fmt::format("{}: {} must have dtype {} or {}, but has {}", option, detail::printable(path), name(one),
                          name(other), name(dtype)));
}

template <class T>
bool is_bad(const void* data, index_t offset, bool may_be_negative) {
  const T weight = static_cast<const T*>(data)[offset];
  return !std::isfinite(weight) || (weight < 0 && !may_be_negative);
}

}  // namespace

BesideArrays read_beside(const PoolCommand& c, const io::Array& x, ReadWhole read_whole) {
  BesideArrays beside;
  const auto read = [&](const char* option, const std::string& path) {
    if (path.empty()) return io::Array{};
    io::Array array = read_whole_array(c, path, x.picture.has_value(), x.view.rank(), read_whole);
    check_beside_place(c, option, path, array.part);
    return array;
  };
  beside.mask = read("--mask", c.mask);
  beside.weights = read("--weights", c.weights);
  return beside;
}

distributed::Beside BesideVolumes::shapes() const {
  distributed::Beside shapes;
  if (mask) shapes.mask = mask->shape;
  if (weights) {
    shapes.weights = weights->shape;
    shapes.weights_dtype = weights->dtype;
  }
  return shapes;
}

index_t BesideVolumes::element_bytes() const { return (mask ? 1 : 0) + (weights ? size_bytes(weights->dtype) : 0); }

index_t BesideVolumes::chunk_bytes() const {
  index_t most = 0;
  for (const io::VolumeIn* volume : {mask.get(), weights.get()}) {
    if (volume != nullptr && !volume->chunk.empty())
      most = std::max(most, element_count(volume->chunk) * size_bytes(volume->dtype));
  }
  return most;
}

BesideVolumes open_beside(const PoolCommand& c, const Problem& problem, const io::VolumeIn& in, ReadWhole read_whole) {
  BesideVolumes beside;
  if ((beside.mask = open_one(c, "--mask", c.mask, in, read_whole))) {
    check_dtype("--mask", c.mask, beside.mask->dtype, Dtype::boolean, Dtype::u8);
    check_shape("--mask", c.mask, *beside.mask, problem);
  }
  if ((beside.weights = open_one(c, "--weights", c.weights, in, read_whole))) {
    check_dtype("--weights", c.weights, beside.weights->dtype, Dtype::f32, Dtype::f64);
    check_shape("--weights", c.weights, *beside.weights, problem);
  }
  return beside;
}

void check_weights(const std::string& file, const Pool& pool, const ConstTensor& weights, const Extents& begin) {
  const bool may_be_negative = detail::family_of(pool.op) != detail::Family::rank && pool.op != Op::mode;
  const index_t count = element_count(weights.shape);
  const int rank = weights.rank();
  Extents at = Extents::filled(rank, 0);
  index_t offset = 0;
  for (index_t i = 0; i < count; ++i) {
    const bool bad = weights.dtype == Dtype::f32 ? is_bad<float>(weights.data, offset, may_be_negative)
                                                 : is_bad<double>(weights.data, offset, may_be_negative);
    if (bad) {
      std::string place;
      for (int d = 0; d < rank; ++d) place += fmt::format("{}{}", d > 0 ? ", " : "", begin[d] + at[d]);
      throw Error(fmt::format("--weights: {} must be finite{}, but that at ({}) is not", detail::printable(file),
                              may_be_negative ? "" : " and >= 0", place));
    }
    for (int d = rank - 1; d >= 0; --d) {
      offset += weights.pitch[d];
      if (++at[d] < weights.shape[d]) break;
      offset -= at[d] * weights.pitch[d];
      at[d] = 0;
    }
  }
}

}  // namespace oriel::cli
