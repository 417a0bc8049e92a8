// One thread's part of a gradient whose inputs gather, box by box, from the windows whose extremum they are.
#pragma once

#include <optional>

#include "cpu/argmax/box_folder.h"
#include "cpu/box_gradient/gather_kernels.h"
#include "cpu/box_gradient/gather_terms.h"
#include "cpu/box_gradient/index_codes.h"
#include "cpu/box_gradient/overlap_box.h"

namespace oriel::cpu {

// What a call works on. Places come from x, or from `index` where x is null; pitches of dx are those of an operand that
// the layout knows by another name.
struct BoxGradientJob {
  const Problem& problem;
  RowLayout layout;
  const void* x;
  const std::int64_t* index;
  IndexSpace space;
  const void* dy;
  void* dx;
  Operand dx_pitch;
  index_t dense_dy_bytes;  // 0 where dy has gaps

  /// What one tap of each axis adds to a code, from the last axis on.
  PlaceCoords code_steps() const;
};

class BoxGatherer {
 public:
  static OverlapJob overlap_job(const BoxGradientJob& job) {
    return {job.problem, job.layout, job.dx_pitch, job.code_steps(), job.x != nullptr};
  }

  /// For boxes of at most `inputs` inputs. Takes its memory from `arena`, which must not be reset while this lives.
  BoxGatherer(const BoxGradientJob& job, const PlaceCoords& inputs, Arena& arena);

  /// Whether every index of a box of outputs is of its window.
  bool check(index_t plane, const PlaceBox& outputs);

  void run(index_t plane, const PlaceBox& inputs);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  void set_box(const PlaceBox& inputs);
  PlaceFolder& folder(bool exact);
  void codes_from_x();
  bool choose();
  bool codes_from_indices(bool check);
  void load_gradients();
  bool is_inside(const std::byte* dy) const;
  void write_row(const PlaceCoords& i, index_t number);
  void gather_row(const PlaceTerms* phases, index_t n, std::byte* out) const;
  OverlapRows overlap_rows() const { return {rows_.code(0), rows_.pitch(), gradient_}; }

  const BoxGradientJob& job_;
  const RowLayout& layout_;
  Arena& arena_;
  const index_t elem_;
  const Lane lane_;  // of accumulators
  const index_t bytes_;
  const GatherKernels k_;
  const int last_;
  const index_t lanes_;
  const bool stream_;       // dx goes past the caches
  const PlaceCoords most_;  // outputs of a box
  OverlapBox overlap_;
  RowReaders readers_;
  GatherTerms terms_;
  OutputRows rows_;
  std::optional<IndexCodes> indices_;
  std::optional<PlaceFolder> folder_, exact_;
  Pitches plane_{};  // where the plane begins
  PlaceBox inputs_{}, outputs_{};
  bool fed_ = false;                      // some window reads each row and column of the box
  index_t closed_rows_ = 0;               // rows whose margins hold no codes
  const std::byte** gradient_ = nullptr;  // where overlap kernels find the rows of gradients
  std::byte* result_ = nullptr;
  std::byte* phase_ = nullptr;
  std::byte* value_ = nullptr;  // a row of extrema, which nobody asks for
  std::byte* code_ = nullptr;   // a row of codes of another width
};

}  // namespace oriel::cpu
