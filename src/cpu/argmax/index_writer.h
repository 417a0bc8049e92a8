// What indices count, and rows of codes written as indices (S10).
#pragma once

#include "cpu/argmax/boxes.h"
#include "cpu/argmax/register_kernels.h"
#include "cpu/plan/fold.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

/// An index is the origin of its output and what the taps add to it.
struct IndexRule {
  const RowLayout& layout;
  IndexSpace space;

  /// What one tap of each axis adds, from the last axis on.
  PlaceCoords steps() const;
  /// What the indices of the first lane of output o count from; `plane` is the index of the plane's first input.
  std::int64_t origin(index_t plane, const PlaceCoords& o) const;
  /// What the next output along a row adds to an origin, and the next lane.
  index_t output_step() const;
  index_t lane_step() const;
  /// What `outputs` outputs of a row and their lanes add to the origin of its first.
  void fill_bases(index_t outputs, std::int32_t* bases) const;
};

/// Writes the indices of a fold, in the type and the space that its caller asks for.
class IndexWriter {
 public:
  /// For rows of at most `outputs` outputs; bytes of any number. Takes its memory from `arena`, which must not be reset
  /// while this lives.
  IndexWriter(const FoldJob& job, index_t outputs, Arena& arena);

  /// From now on rows are those of a plane that begins there.
  void set_plane(const Pitches& begin);
  /// What the indices of the outputs from o on count from, and where they go.
  std::int64_t origin(const PlaceCoords& o) const { return rule_.origin(plane_[kFlat], o); }
  template <class Index>
  Index* row(const PlaceCoords& o) const {
    return static_cast<Index*>(job_.index) + plane_[kIndex] + offset_of(job_.layout, o, kIndex);
  }
  /// What each output of a row adds to its origin.
  const std::int32_t* bases() const { return bases_; }
  bool streams() const { return streams_; }  // indices go past the caches

  /// Writes n indices from o on, of the codes of PlaceFolder.
  void write_lanes(const PlaceKernels& kernels, const PlaceCoords& o, const void* codes, index_t n) const;
  /// Of codes of one byte, which number the taps of a window; i64 indices of at most kMostCodePlaces taps, and i32
  /// ones.
  void write_bytes(const CodeKernel& kernel, const PlaceCoords& o, const std::uint8_t* codes, index_t n) const;

 private:
  void list_places();

  const FoldJob& job_;
  const IndexRule rule_;
  const bool streams_;
  Pitches plane_{};
  std::array<std::int32_t, kMostPlaceAxes> steps_{};
  std::int32_t* bases_;
  std::array<std::int32_t, kMostCodePlaces> place_{};  // what each code of one byte adds
};

}  // namespace oriel::cpu
