// Extrema with indices of one box of outputs after the other, whatever values they hold.
#pragma once

#include <optional>

#include "cpu/argmax/box_folder.h"
#include "cpu/plan/fold.h"
#include "cpu/recipe/kernels.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {

/// What one tap adds to an index, from the last axis on.
PlaceCoords index_steps(const FoldJob& job);
/// Of all of them.
index_t index_bytes(const FoldJob& job);

/// One thread's part: folds boxes of at most `size` outputs and writes their results. Takes its memory from `arena`.
class PlaceWriter {
 public:
  PlaceWriter(const FoldJob& job, const PlaceCoords& size, Arena& arena);
  void run(index_t plane, const PlaceBox& box);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  void set_bases(const PlaceFolder& folder, const PlaceBox& box);
  void write_row(const PlaceFolder& folder, const PlaceBox& box, const PlaceCoords& o);
  Lane lane_of(Dtype dtype) const;

  const FoldJob& job_;
  const RowLayout& layout_;
  const PlaceCoords size_;
  Arena& arena_;
  const int last_ = layout_.pooled() - 1;
  const index_t lanes_ = layout_.lanes.n;
  const bool stream_;  // indices past the caches
  PlaceFolder plain_;
  std::optional<PlaceFolder> exact_;  // made when first needed: it seldom is
  bool exact_in_use_ = false;
  std::byte* value_ = nullptr;  // a row of bests, before it is lowered
  std::byte* code_ = nullptr;
  std::int32_t* base_ = nullptr;
  Range bases_of_{};
  index_t y_ = 0, index_ = 0, origin_ = 0;  // where the plane begins
  std::array<std::int32_t, kMostPlaceAxes> step_{};
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
