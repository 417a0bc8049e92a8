#include "cpu/argmax/box_argmax.h"

#include "cpu/argmax/argmax.h"
#include "cpu/recipe/recipe.h"

namespace oriel::cpu {

PlaceWriter::PlaceWriter(const FoldJob& job, const PlaceCoords& size, Arena& arena)
    : job_(job),
      layout_(job.layout),
      size_(size),
      arena_(arena),
      plain_(*job.problem, layout_, size, IndexRule{layout_, job.space}.steps(), false, arena),
      indices_(job, size[static_cast<std::size_t>(layout_.pooled() - 1)], arena) {
  const index_t room = size[static_cast<std::size_t>(layout_.pooled() - 1)] * layout_.lanes.n * 8 + 128;
  value_ = arena.take(room);
  code_ = arena.take(room);
}

void PlaceWriter::run(index_t plane, const PlaceBox& box) {
  const index_t elem = size_bytes(job_.problem->dtype);
  const Pitches begin = layout_.plane_offsets(plane);
  const std::byte* x = static_cast<const std::byte*>(job_.x) + begin[kX] * elem;
  y_ = static_cast<std::byte*>(job_.y) + begin[kY] * elem;
  indices_.set_plane(begin);
  exact_in_use_ = !plain_.prepare(x, box);
  if (exact_in_use_) {
    if (!exact_) {
      exact_.emplace(*job_.problem, layout_, size_, IndexRule{layout_, job_.space}.steps(), true, arena_);
    }
    exact_->prepare(x, box);
  }
  const PlaceFolder& folder = exact_in_use_ ? *exact_ : plain_;
  each_row(box, layout_.pooled() - 1, [&](const PlaceCoords& o, index_t) { write_row(folder, o); });
}

void PlaceWriter::write_row(const PlaceFolder& folder, const PlaceCoords& o) {
  const PlaceKernels& k = folder.kernels();
  const index_t n = folder.row_elems(), outputs = n / layout_.lanes.n;
  std::byte* y = y_ + offset_of(layout_, o, kY) * size_bytes(job_.problem->dtype);
  const bool direct = k.in_place && is_dense_row(layout_, kY, outputs) && n * k.value_bytes >= k.vector_bytes;
  void* value = direct ? y : value_;
  const bool written =
      job_.index_dtype == Dtype::i64 && folder.fold_indexed(o, value, indices_.bases(), indices_.origin(o),
                                                            indices_.streams(), indices_.row<std::int64_t>(o));
  if (!written) folder.fold(o, value, code_);
  if (!direct) {
    lowering()({value_, nullptr, 0}, outputs, layout_.lanes.n, {}, y, layout_.axis.end()[-1].pitch[kY],
               layout_.lanes.pitch[kY]);
  }
  if (!written) indices_.write_lanes(k, o, code_, n);
}

// f16 and bf16 are folded as keys, or exactly as f32; other elements as they are.
LowerRow PlaceWriter::lowering() const {
  const Dtype dtype = job_.problem->dtype;
  if (dtype != Dtype::f16 && dtype != Dtype::bf16) return kernels().lower(Lower::copy, native_lane(dtype), dtype);
  return exact_in_use_ ? kernels().lower(Lower::arg_max, Lane::f32, dtype)
                       : kernels().lower(Lower::key, native_lane(dtype), dtype);
}

bool can_places(const FoldJob& job) {
  if (job.problem == nullptr || job.index == nullptr) return false;
  const PooledAxis& row = job.layout.axis.end()[-1];
  return is_dense_row(job.layout, kIndex, row.axis.out) && finds_places(*job.problem, job.layout);
}

void run_places(const FoldJob& job, int threads) {
  each_place_box(job, threads, [&](const PlaceCoords& size, Arena& arena) { return PlaceWriter(job, size, arena); });
}

}  // namespace oriel::cpu
