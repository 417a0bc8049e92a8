#include "cpu/argmax/index_writer.h"

#include <algorithm>

#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Whether the indices of a fold are more than caches keep.
bool are_streamed(const FoldJob& job) {
  index_t bytes = 8 * job.layout.plane_count() * job.layout.lanes.n;
  for (const PooledAxis& p : job.layout.axis) bytes *= p.axis.out;
  return bytes >= stream_bytes;
}

}  // namespace

PlaceCoords IndexRule::steps() const {
  PlaceCoords step{};
  const int last = layout.pooled() - 1;
  index_t radix = 1;
  for (int a = last; a >= 0; --a) {
    const PooledAxis& p = layout.axis[at(a)];
    step[at(last - a)] = space == IndexSpace::window ? radix : p.axis.dilation * p.pitch[kFlat];
    radix *= p.axis.kernel;
  }
  return step;
}

std::int64_t IndexRule::origin(index_t plane, const PlaceCoords& o) const {
  if (space == IndexSpace::window) return 0;
  std::int64_t sum = plane;
  for (int a = 0; a < layout.pooled(); ++a) {
    sum += layout.axis[at(a)].axis.start(o[at(a)]) * layout.axis[at(a)].pitch[kFlat];
  }
  return sum;
}

index_t IndexRule::output_step() const {
  const PooledAxis& along = layout.axis.end()[-1];
  return space == IndexSpace::window ? 0 : along.axis.stride * along.pitch[kFlat];
}

index_t IndexRule::lane_step() const { return space == IndexSpace::window ? 0 : layout.lanes.pitch[kFlat]; }

void IndexRule::fill_bases(index_t outputs, std::int32_t* bases) const {
  const index_t lanes = layout.lanes.n;
  for (index_t p = 0; p < outputs; ++p) {
    for (index_t l = 0; l < lanes; ++l) {
      bases[p * lanes + l] = static_cast<std::int32_t>(p * output_step() + l * lane_step());
    }
  }
}

IndexWriter::IndexWriter(const FoldJob& job, index_t outputs, Arena& arena)
    : job_(job),
      rule_{job.layout, job.space},
      streams_(are_streamed(job)),
      bases_(arena.take_array<std::int32_t>(outputs * job.layout.lanes.n)) {
  const PlaceCoords steps = rule_.steps();
  std::transform(steps.begin(), steps.end(), steps_.begin(), [](index_t s) { return static_cast<std::int32_t>(s); });
  rule_.fill_bases(outputs, bases_);
  list_places();
}

void IndexWriter::list_places() {
  const index_t taps = std::min<index_t>(kMostCodePlaces, job_.problem->taps());
  for (index_t code = 0; code < taps; ++code) {
    index_t rest = code;
    for (int a = job_.layout.pooled() - 1; a >= 0; --a) {
      const index_t kernel = job_.layout.axis[at(a)].axis.kernel;
      place_[at(code)] += static_cast<std::int32_t>(rest % kernel) * steps_[at(job_.layout.pooled() - 1 - a)];
      rest /= kernel;
    }
  }
}

void IndexWriter::set_plane(const Pitches& begin) { plane_ = begin; }

void IndexWriter::write_lanes(const PlaceKernels& kernels, const PlaceCoords& o, const void* codes, index_t n) const {
  if (job_.index_dtype == Dtype::i64) {
    kernels.write(codes, bases_, n, origin(o), steps_.data(), row<std::int64_t>(o));
  } else if (job_.index_dtype == Dtype::i32) {
    kernels.write_i32(codes, n, steps_.data(), row<std::int32_t>(o));
  } else {
    kernels.write_u8(codes, n, steps_.data(), row<std::uint8_t>(o));
  }
}

void IndexWriter::write_bytes(const CodeKernel& kernel, const PlaceCoords& o, const std::uint8_t* codes,
                              index_t n) const {
  if (job_.index_dtype == Dtype::i32) {
    std::copy_n(codes, n, row<std::int32_t>(o));
    return;
  }
  // Indices of one call grow evenly: along lanes, or along a row without any.
  const index_t lanes = job_.layout.lanes.n;
  const bool one = lanes == 1 || job_.space == IndexSpace::window;
  std::int64_t* to = row<std::int64_t>(o);
  CodePlaces places{place_.data(), origin(o), lanes == 1 ? rule_.output_step() : rule_.lane_step(), streams_};
  for (index_t i = 0; i < n; i += one ? n : lanes, places.origin += rule_.output_step()) {
    kernel.places(codes + i, one ? n : lanes, places, to + i);
  }
}

}  // namespace oriel::cpu
