#include <algorithm>

#include "byte_order.h"
#include "io/chunk_writer.h"
#include "io/zarr/json.h"
#include "io/zarr/sharded_out.h"
#include "io/zarr/store.h"
#include "io/zarr/types.h"
#include "io/zarr/volume.h"
#include "io/zarr/volume_in.h"

namespace oriel::io {
namespace zarr {
namespace {

std::vector<Codec> codecs_of(const VolumeSpec& spec) {
  const Compression c = spec.codec.value_or(Compression{.kind = Compression::Kind::zstd, .level = 1});
  const auto element = static_cast<std::size_t>(size_bytes(spec.dtype));
  switch (c.kind) {
    case Compression::Kind::none:
      return {};
    case Compression::Kind::gzip:
      return {{.kind = Codec::Kind::gzip, .level = c.level}};
    case Compression::Kind::zstd:
      return {{.kind = Codec::Kind::zstd, .level = c.level}};
    case Compression::Kind::blosc:
      break;
  }
  return {{.kind = Codec::Kind::blosc,
           .level = c.level,
           .compressor = c.compressor,
           .shuffle = element > 1 ? 1 : 0,
           .element = element}};
}

// The same in every process.
Metadata metadata_of(const VolumeSpec& spec) {
  Metadata m;
  m.version = spec.zarr_version;
  m.keys_begin_with_c = m.version == 3;
  m.dtype = spec.dtype;
  m.shape = spec.shape;
  m.grid = spec.chunk.empty() ? default_chunk(spec.shape, spec.dtype) : spec.chunk;
  for (int d = 0; d < m.grid.size(); ++d) {
    m.grid[d] = std::max<index_t>(m.grid[d], 1);
    m.order.push_back(d);
  }
  m.fill.assign(static_cast<std::size_t>(size_bytes(m.dtype)), std::byte{0});
  if (spec.fill.size() == m.fill.size() && !fill_json(spec.fill, m.dtype).is_null()) m.fill = spec.fill;
  m.codecs = codecs_of(spec);
  if (!spec.shard.empty()) {
    m.sharding.emplace();
    m.sharding->chunk = m.grid;
    m.grid = spec.shard;
  }
  if (const auto* const like = dynamic_cast<const ZarrIn*>(spec.like)) {
    m.attributes = like->attributes();
    if (like->metadata().shape.size() == m.shape.size()) m.dimension_names = like->metadata().dimension_names;
  }
  if (!spec.axes.empty()) m.dimension_names = Json(spec.axes).dump();
  return m;
}

class ZarrOut : public VolumeOut {
 public:
  ZarrOut(std::string place, std::string name, const VolumeSpec& spec)
      : place_(std::move(place)),
        name_(std::move(name)),
        metadata_(metadata_of(spec)),
        chunks_(place_, name_,
                {.dtype = metadata_.dtype,
                 .shape = metadata_.shape,
                 .chunk = metadata_.grid,
                 .order = metadata_.order,
                 .fill = metadata_.fill},
                [this](const Extents& at, Bytes elements) { write_chunk(metadata_.key(at), std::move(elements)); }) {}
  ZarrOut(const ZarrOut&) = delete;
  ZarrOut& operator=(const ZarrOut&) = delete;

  void write(const Extents& begin, const ConstTensor& from) override { chunks_.write(begin, from); }
  void close() override {}
  void complete() const { chunks_.complete(); }

 private:
  // Compresses a chunk, unless it has nothing but the fill value.
  void write_chunk(const std::string& key, Bytes bytes) const {
    if (is_filled(bytes, metadata_.fill)) return;
    if (detail::kBigEndian) {
      const index_t element = size_bytes(metadata_.dtype);
      detail::reverse_bytes(bytes.data(), metadata_.chunk_bytes() / element, element);
    }
    write_file(place_ + "/" + key, encode(metadata_.codecs, std::move(bytes), name_), name_);
  }

  std::string place_, name_;
  Metadata metadata_;
  ChunkWriter chunks_;
};

}  // namespace
}  // namespace zarr

void create_zarr_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  const zarr::Metadata metadata = zarr::metadata_of(spec);
  const auto write = [&](const char* file, const std::string& text) {
    zarr::write_file(place + file, std::as_bytes(std::span(text)), path);
  };
  if (metadata.version == 2) {
    write("/.zarray", zarr::to_zarray(metadata));
    write("/.zattrs", zarr::to_zattrs(metadata, spec.problem));
  } else {
    write("/zarr.json", zarr::to_zarr_json(metadata, spec.problem));
  }
  ChunkWriter::create(place, path);
}

std::vector<std::byte> zarr_fill(const VolumeSpec& spec) { return zarr::metadata_of(spec).fill; }

std::unique_ptr<VolumeOut> open_zarr_output(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  if (!spec.shard.empty()) return std::make_unique<zarr::ShardedOut>(place, path, zarr::metadata_of(spec));
  return std::make_unique<zarr::ZarrOut>(place, path, spec);
}

void complete_zarr_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  if (!spec.shard.empty()) return zarr::complete_shards(place, path, zarr::metadata_of(spec));
  const zarr::ZarrOut out(place, path, spec);
  out.complete();
}

}  // namespace oriel::io
