// Extrema with indices of one box of outputs after the other, whatever values they hold.
#pragma once

#include <optional>

#include "cpu/argmax/box_folder.h"
#include "cpu/argmax/index_writer.h"
#include "cpu/plan/fold.h"
#include "cpu/recipe/kernels.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {

/// One thread's part: folds boxes of at most `size` outputs and writes their results. Takes its memory from `arena`.
class PlaceWriter {
 public:
  PlaceWriter(const FoldJob& job, const PlaceCoords& size, Arena& arena);
  void run(index_t plane, const PlaceBox& box);

 private:
  void write_row(const PlaceFolder& folder, const PlaceCoords& o);
  LowerRow lowering() const;

  const FoldJob& job_;
  const RowLayout& layout_;
  const PlaceCoords size_;
  Arena& arena_;
  PlaceFolder plain_;
  std::optional<PlaceFolder> exact_;  // made when first needed: it seldom is
  bool exact_in_use_ = false;
  IndexWriter indices_;
  std::byte* value_ = nullptr;  // a row of bests, before it is lowered
  std::byte* code_ = nullptr;
  std::byte* y_ = nullptr;  // where the plane begins
};

/// Goes through all boxes of outputs with writers of boxes, one of a thread: make(size, arena) gives one.
template <class Make>
void each_place_box(const FoldJob& job, int threads, const Make& make) {
  const RowLayout& layout = job.layout;
  const index_t elem = size_bytes(job.problem->dtype);
  const PlaceCoords size = place_box_size(layout, elem, kBoxBytes, threads > 0 ? threads : default_threads());
  const PlaceBoxes boxes(layout, size, false);
  index_t box_bytes = layout.lanes.n * elem;
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[static_cast<std::size_t>(a)].axis;
    box_bytes *= std::min(axis.in, size[static_cast<std::size_t>(a)] * axis.stride);
  }
  parallel_for(boxes.count, box_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    auto writer = make(size, arena);
    for (index_t i = begin; i < end; ++i) writer.run(boxes.plane(i), boxes.box(i));
    finish_stream();
  });
}

}  // namespace oriel::cpu
