#include "cpu/argmax/index_writer.h"

#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

PlaceCoords index_steps(const FoldJob& job) {
  PlaceCoords step{};
  const int last = job.layout.pooled() - 1;
  index_t radix = 1;
  for (int a = last; a >= 0; --a) {
    const PooledAxis& p = job.layout.axis[at(a)];
    step[at(last - a)] = job.space == IndexSpace::window ? radix : p.axis.dilation * p.pitch[kFlat];
    radix *= p.axis.kernel;
  }
  return step;
}

index_t index_bytes(const FoldJob& job) {
  index_t bytes = 8 * job.layout.plane_count() * job.layout.lanes.n;
  for (const PooledAxis& p : job.layout.axis) bytes *= p.axis.out;
  return bytes;
}

PlaceWriter::PlaceWriter(const FoldJob& job, const PlaceCoords& size, Arena& arena)
    : job_(job),
      layout_(job.layout),
      size_(size),
      arena_(arena),
      stream_(index_bytes(job) >= stream_bytes),
      plain_(*job.problem, layout_, size, index_steps(job), false, arena) {
  const index_t elems = size[at(last_)] * lanes_, room = elems * 8 + 128;
  value_ = arena.take(room);
  code_ = arena.take(room);
  base_ = arena.take_array<std::int32_t>(elems);
  const PlaceCoords step = index_steps(job);
  for (int a = 0; a <= last_; ++a) step_[at(a)] = static_cast<std::int32_t>(step[at(a)]);
}

void PlaceWriter::run(index_t plane, const PlaceBox& box) {
  const std::byte* x =
      static_cast<const std::byte*>(job_.x) + layout_.plane_offset(plane, kX) * size_bytes(job_.problem->dtype);
  y_ = layout_.plane_offset(plane, kY);
  index_ = layout_.plane_offset(plane, kIndex);
  origin_ = job_.space == IndexSpace::window ? 0 : layout_.plane_offset(plane, kFlat);
  PlaceFolder* folder = &plain_;
  exact_in_use_ = false;
  if (!plain_.prepare(x, box)) {
    if (!exact_) exact_.emplace(*job_.problem, layout_, size_, index_steps(job_), true, arena_);
    folder = &*exact_;
    folder->prepare(x, box);
    exact_in_use_ = true;
  }
  set_bases(*folder, box);
  PlaceCoords o{};
  index_t rows = 1;
  for (int a = 0; a < last_; ++a) rows *= box[at(a)].size();
  for (index_t r = 0; r < rows; ++r) {
    write_row(*folder, box, o);
    for (int a = last_ - 1; a >= 0 && ++o[at(a)] == box[at(a)].size(); --a) o[at(a)] = 0;
  }
}

// Where the first taps of a row's outputs stand, counted from the row.
void PlaceWriter::set_bases(const PlaceFolder& folder, const PlaceBox& box) {
  const Range along = box[at(last_)];
  if (along == bases_of_) return;
  bases_of_ = along;
  const Axis& axis = folder.axis(last_);
  for (index_t p = 0; p < along.size(); ++p) {
    const index_t place = (axis.start(p) + folder.in_begin(last_)) * layout_.axis[at(last_)].pitch[kFlat];
    for (index_t l = 0; l < lanes_; ++l) {
      const index_t base = job_.space == IndexSpace::window ? 0 : place + l * layout_.lanes.pitch[kFlat];
      base_[p * lanes_ + l] = static_cast<std::int32_t>(base);
    }
  }
}

void PlaceWriter::write_row(const PlaceFolder& folder, const PlaceBox& box, const PlaceCoords& o) {
  index_t y = y_, index = index_, origin = origin_;
  for (int a = 0; a <= last_; ++a) {
    const PooledAxis& p = layout_.axis[at(a)];
    const index_t output = box[at(a)].begin + o[at(a)];
    y += output * p.pitch[kY];
    index += output * p.pitch[kIndex];
    if (a < last_ && job_.space != IndexSpace::window) {
      origin += (folder.axis(a).start(o[at(a)]) + folder.in_begin(a)) * p.pitch[kFlat];
    }
  }
  const PlaceKernels& k = folder.kernels();
  const Dtype dtype = job_.problem->dtype;
  const index_t n = folder.row_elems(), out = box[at(last_)].size(), pitch = layout_.axis[at(last_)].pitch[kY];
  std::byte* to = static_cast<std::byte*>(job_.y) + y * size_bytes(dtype);
  const bool direct = k.in_place && (lanes_ == 1 || layout_.lanes.pitch[kY] == 1) && (out == 1 || pitch == lanes_) &&
                      n * k.value_bytes >= k.vector_bytes;
  std::byte* places = static_cast<std::byte*>(job_.index) + index * size_bytes(job_.index_dtype);
  std::int64_t* wide = reinterpret_cast<std::int64_t*>(places);
  const bool written =
      job_.index_dtype == Dtype::i64 && folder.fold_indexed(o, direct ? to : value_, base_, origin, stream_, wide);
  if (!written) folder.fold(o, direct ? to : value_, code_);
  if (!direct) {
    const Lower how = k.in_place ? Lower::copy : exact_in_use_ ? Lower::arg_max : Lower::key;
    const LowerRow lower = kernels().lower(how, lane_of(dtype), dtype);
    lower({value_, nullptr, 0}, out, lanes_, {}, to, pitch, layout_.lanes.pitch[kY]);
  }
  if (written) return;
  if (job_.index_dtype == Dtype::i64) return k.write(code_, base_, n, origin, step_.data(), wide);
  (job_.index_dtype == Dtype::u8 ? k.write_u8 : k.write_i32)(code_, n, step_.data(), places);
}

Lane PlaceWriter::lane_of(Dtype dtype) const {
  switch (dtype) {
    case Dtype::f64:
      return Lane::f64;
    case Dtype::f32:
      return Lane::f32;
    case Dtype::f16:
    case Dtype::bf16:
      return exact_in_use_ ? Lane::f32 : Lane::i16;
    case Dtype::i8:
      return Lane::i8;
    case Dtype::i16:
      return Lane::i16;
    case Dtype::u16:
      return Lane::u16;
    case Dtype::i32:
      return Lane::i32;
    case Dtype::u32:
      return Lane::u32;
    case Dtype::i64:
      return Lane::i64;
    case Dtype::u64:
      return Lane::u64;
    default:
      return Lane::u8;
  }
}

}  // namespace oriel::cpu
