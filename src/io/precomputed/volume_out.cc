#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "byte_order.h"
#include "io/output_folder.h"
#include "io/precomputed/segmentation.h"
#include "io/precomputed/volume_in.h"
#include "io/precomputed/volume_out.h"
#include "io/scaling.h"
#include "io/zarr/store.h"
#include "quoted.h"

namespace oriel::io {
namespace precomputed {
namespace {

using zarr::Bytes;

void check(const std::string& path, const VolumeSpec& spec) {
  const int rank = spec.shape.size();
  if (type_name(spec.dtype).empty())
    throw Error(
        fmt::format("{}: a precomputed volume holds uint8 to uint64, int8 to int32 or float32, but the result "
                    "is {}; allowed for others: .npy, .npz, .zarr",
                    path, name(spec.dtype)));
  if (rank != kSpace && rank != kSpace + 1)
    throw Error(
        fmt::format("{}: a precomputed volume has the axes x, y, z and channels, but the result has {}; "
                    "allowed: 3 or 4",
                    path, rank));
}

// The result's voxels are as large as the stride. They lie where their windows do only if those are on the grid of such
// voxels, which begins at 0.
index_t scaled_offset(const std::string& path, int axis, index_t offset, const Scaling& s) {
  const long double at = static_cast<long double>(offset) + s.shift, place = std::round(at / s.step);
  if (place * s.step == at) return static_cast<index_t>(place);
  const double remainder = std::fmod(std::fmod(static_cast<double>(offset), s.step) + s.step, s.step);
  throw Error(
      fmt::format("{}: along {} the voxels of the result, as large as the stride {}, would begin at voxel {}, "
                  "not at a multiple of it; allowed: windows that do, for the voxel_offset {} those of kernel "
                  "{} with --padding {}+0, or .npy, .zarr",
                  path, "xyz"[axis], s.step, static_cast<double>(at), offset, s.step, remainder));
}

// What is taken over from a volume of the same format.
void take_over(Info& info, const std::string& path, const VolumeSpec& spec, const Info& like) {
  Scale& s = info.scale;
  const bool labels =
      info.dtype == Dtype::u8 || info.dtype == Dtype::u16 || info.dtype == Dtype::u32 || info.dtype == Dtype::u64;
  info.segmentation = like.segmentation && labels && info.channels == 1;
  if (like.scale.encoding == Encoding::compressed_segmentation &&
      (info.dtype == Dtype::u32 || info.dtype == Dtype::u64)) {
    s.encoding = like.scale.encoding;
    s.block = like.scale.block;
  }
  if (spec.shape.size() != like.shape().size())
    throw Error(fmt::format("{}: the result has {} axes, but the volume that it is made of has {}; allowed: as many",
                            path, spec.shape.size(), like.shape().size()));
  for (int d = 0; d < kSpace; ++d) {
    const Scaling scaling = scaling_of(spec.problem, d).value_or(Scaling{});
    s.resolution[static_cast<std::size_t>(d)] = like.scale.resolution[static_cast<std::size_t>(d)] * scaling.step;
    s.offset[d] = scaled_offset(path, d, like.scale.offset[d], scaling);
  }
}

// The same in every process.
Info info_of(const std::string& path, const VolumeSpec& spec) {
  check(path, spec);
  constexpr index_t default_side = 64;
  Info info;
  info.dtype = spec.dtype;
  info.channels = spec.shape.size() > kSpace ? spec.shape[kSpace] : 1;
  Scale& s = info.scale;
  for (int d = 0; d < kSpace; ++d) {
    s.size.push_back(spec.shape[d]);
    s.chunk.push_back(spec.chunk.empty() ? default_side : std::max<index_t>(spec.chunk[d], 1));
  }
  if (const auto* const like = dynamic_cast<const PrecomputedIn*>(spec.like)) take_over(info, path, spec, like->info());
  s.key = fmt::format("{}_{}_{}", s.resolution[0], s.resolution[1], s.resolution[2]);
  return info;
}

bool may_be_replaced(const std::string& folder) {
  try {
    const auto text = zarr::read_text_file(folder + "/info", kMostInfo);
    return text && is_one_scale(*text);
  } catch (const Error&) {
    return false;
  }
}

ChunkWriter::Grid grid_of(const Info& info, const Extents& shape) {
  ChunkWriter::Grid grid{.dtype = info.dtype, .shape = shape, .chunk = info.chunk(), .order = {}, .clipped = true};
  if (shape.size() > grid.chunk.size()) grid.chunk.push_back(1);  // one channel
  for (int d = shape.size(); d-- > 0;) grid.order.push_back(d);
  return grid;
}

}  // namespace

PrecomputedOut::PrecomputedOut(std::string folder, const std::string& parts, std::string name, Info info,
                               const Extents& shape)
    : name_(std::move(name)),
      info_(std::move(info)),
      folder_(std::move(folder)),
      chunks_(parts, name_, grid_of(info_, shape),
              [this](const Extents& at, Bytes elements) { write_chunk(at, elements); }) {}

// Chunks that are missing are zeros.
void PrecomputedOut::write_chunk(const Extents& at, Bytes& elements) const {
  if (zarr::is_zero(elements)) return;
  const Extents extents = chunks_.extents(at);
  if (info_.scale.encoding == Encoding::compressed_segmentation)
    elements = encode_segmentation(elements, extents, info_.scale.block, info_.dtype, name_);
  else if (detail::kBigEndian)
    detail::reverse_bytes(elements.data(), element_count(extents), size_bytes(info_.dtype));
  zarr::write_file(folder_ + "/" + info_.chunk_name(at), elements, name_);
}
}  // namespace precomputed

std::unique_ptr<Output> make_precomputed_output(const std::string& path) {
  const auto split = split_precomputed_path(path);
  if (split && !split->key.empty())
    throw Error(fmt::format("{}: a scale cannot be written into a volume; allowed: a folder, {}",
                            detail::printable(path), detail::printable(split->folder)));
  return std::make_unique<OutputFolder>(path, "a precomputed volume of one scale, without meshes and the like",
                                        &precomputed::may_be_replaced);
}

void create_precomputed_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  const std::string text = precomputed::to_json(precomputed::info_of(path, spec), spec.problem);
  zarr::write_file(place + "/info", std::as_bytes(std::span(text)), path);
  ChunkWriter::create(place, path);
}

std::unique_ptr<VolumeOut> open_precomputed_output(const std::string& place, const std::string& path,
                                                   const VolumeSpec& spec) {
  const precomputed::Info info = precomputed::info_of(path, spec);
  return std::make_unique<precomputed::PrecomputedOut>(place + "/" + info.scale.key, place, path, info, spec.shape);
}

void complete_precomputed_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  const precomputed::Info info = precomputed::info_of(path, spec);
  const precomputed::PrecomputedOut out(place + "/" + info.scale.key, place, path, info, spec.shape);
  out.complete();
}

}  // namespace oriel::io
