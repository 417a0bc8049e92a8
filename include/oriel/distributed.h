// Pooling of tensors that are divided among ranks. This part is pure arithmetic: which rank owns what and sends which
// box to which other rank. Any contiguous parts are allowed, empty ones too, and inputs and outputs may be divided
// differently. Notation: rank r owns the inputs X_r and the outputs Y_r; forward it needs the inputs N_r that its
// outputs read, backward the outputs M_r whose windows reach its inputs (the gather form of the adjoint).
#pragma once

#include <vector>

#include "oriel/problem.h"

namespace oriel::distributed {

/// An axis cut into contiguous parts: part p is [bound[p], bound[p + 1]).
class Cuts {
 public:
  /// Bounds from 0 to the extent, ascending; two equal ones make an empty part. Throws Error. Example: Cuts({0, 5, 5,
  /// 9}).
  ORIEL_API explicit Cuts(std::vector<index_t> bounds);
  /// `parts` parts whose sizes differ by one at most, the larger ones first. Throws Error unless n >= 0 and parts >= 1.
  ORIEL_API static Cuts balanced(index_t n, index_t parts);

  index_t extent() const { return bounds_.back(); }
  index_t parts() const { return static_cast<index_t>(bounds_.size()) - 1; }
  Range part(index_t p) const {
    return {bounds_[static_cast<std::size_t>(p)], bounds_[static_cast<std::size_t>(p) + 1]};
  }
  const std::vector<index_t>& bounds() const { return bounds_; }

  /// The part that holds element i, 0 <= i < extent().
  ORIEL_API index_t owner(index_t i) const;
  /// The parts between the first and the last that hold elements of `range`; empty for an empty range.
  ORIEL_API Range owners(Range range) const;

  friend bool operator==(const Cuts&, const Cuts&) = default;

 private:
  std::vector<index_t> bounds_;
};

/// Outputs divided so that each belongs to the owner of the input at its window's centre. Only inputs of windows that
/// cross a cut are sent then.
ORIEL_API Cuts centred_outputs(const Axis& axis, const Cuts& inputs);

/// A part of a tensor: [begin, end) along each axis.
struct Box {
  Extents begin;
  Extents end;

  Range along(int axis) const { return {begin[axis], end[axis]}; }
  /// Elements along each axis; 0 if the range is empty.
  ORIEL_API Extents shape() const;
  bool empty() const { return element_count() == 0; }
  ORIEL_API index_t element_count() const;
  friend bool operator==(const Box&, const Box&) = default;
};

ORIEL_API Box intersect(const Box& a, const Box& b);
/// `all` without `inner`, which it contains, as disjoint boxes: at most two for each axis, the first axis first. If
/// `inner` is empty, `all`. Example: around({{0}, {9}}, {{2}, {5}}) is {{0}, {2}} and {{5}, {9}}.
ORIEL_API std::vector<Box> around(const Box& all, const Box& inner);

/// A tensor divided by a grid of parts, one rank each; ranks are numbered in row-major order over the grid.
class Partition {
 public:
  /// One Cuts for each axis of the tensor. Throws Error for none, too many, or 2^63 ranks and more.
  ORIEL_API explicit Partition(std::vector<Cuts> cuts);
  /// Every axis balanced over the number of parts in `grid`. Throws Error.
  ORIEL_API static Partition balanced(const Extents& shape, const Extents& grid);

  int rank() const { return static_cast<int>(cuts_.size()); }
  const Cuts& along(int axis) const { return cuts_[static_cast<std::size_t>(axis)]; }
  ORIEL_API Extents shape() const;  ///< of the tensor
  ORIEL_API Extents grid() const;   ///< parts along each axis
  index_t ranks() const { return ranks_; }
  /// The coordinates of a rank in the grid, 0 <= r < ranks(), and the rank there.
  ORIEL_API Extents coordinates(index_t r) const;
  ORIEL_API index_t rank_at(const Extents& coordinates) const;
  /// The box that rank r owns.
  ORIEL_API Box part(index_t r) const;

 private:
  std::vector<Cuts> cuts_;
  index_t ranks_ = 1;
};

/// Outputs divided as centred_outputs does along pooled axes, and as the inputs along the others.
ORIEL_API Partition centred_outputs(const Problem& problem, const Partition& inputs);

/// A box that is sent between this rank and another one. Coordinates are those of the whole tensor.
struct Piece {
  index_t rank = 0;
  Box box;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// One rank's part of an exchange.
struct Exchange {
  Box owned;                   ///< of the tensor that is sent: X_r forward, Y_r backward
  Box made;                    ///< what the rank computes: Y_r forward, X_r backward
  Box needed;                  ///< the smallest box of the sent tensor that contains all that `made` reads: N_r, M_r
  Box interior;                ///< the part of `made` that reads only `owned`
  Box kept;                    ///< the part of `needed` that is owned
  std::vector<Piece> receive;  ///< parts of `needed` that others own and windows read, by rank, ascending
  std::vector<Piece> send;     ///< the parts of `owned` that others need, by rank in ascending order
};

/// Which rank sends what to which rank. Pure arithmetic: a rank's messages follow from the cuts alone, in time that
/// grows with their number and the logarithm of the number of parts.
class HaloPlan {
 public:
  /// Throws Error if a partition does not divide the problem's input or output, or the numbers of ranks differ.
  ORIEL_API HaloPlan(const Problem& problem, Partition inputs, Partition outputs);

  const Partition& inputs() const { return inputs_; }
  const Partition& outputs() const { return outputs_; }
  index_t ranks() const { return inputs_.ranks(); }

  /// Inputs are sent to the outputs that read them.
  ORIEL_API Exchange forward(index_t rank) const;
  /// Gradients of outputs (and their indices) are sent to the inputs that they contribute to.
  ORIEL_API Exchange backward(index_t rank) const;
  /// Inputs are sent to the owners of inputs in the same windows: for gradients of pools that need their input (Lp, NaN
  /// policy omit, maxima whose indices were not stored).
  ORIEL_API Exchange backward_inputs(index_t rank) const;

  /// Ranks that are alike: all passes have messages of the same sizes to and from ranks at the same distances in the
  /// grid.
  struct Kind {
    index_t rank = 0;   ///< one of them
    index_t count = 0;  ///< the number of such ranks
  };
  /// All ranks, grouped, without visiting each rank: if parts of an axis are alike, so are all ranks there. With
  /// `period`, ranks of a kind also have the same coordinates modulo it (whether a neighbour is on the same node
  /// depends on that). The time grows with the sum of the parts along each axis and the number of kinds. Throws Error
  /// if inputs and outputs have different grids, for a period with another number of axes or a value < 1.
  ORIEL_API std::vector<Kind> kinds(const Extents& period = {}) const;

  const Problem& problem() const { return problem_; }
  /// The smallest box of inputs that contains all that a box of outputs reads, and the outputs whose windows span any
  /// input of a box.
  ORIEL_API Box needs(const Box& outputs) const;
  ORIEL_API Box feeds(const Box& inputs) const;
  /// The part of a box of inputs that only outputs of `outputs` read.
  ORIEL_API Box fed_by(const Box& inputs, const Box& outputs) const;
  /// A box of outputs as a separate problem, whose input is needs(outputs). It computes the same bits as the whole.
  ORIEL_API Problem part(const Box& outputs) const;

 private:
  template <class Side>
  Exchange exchange(const Side& side, index_t rank) const;
  const Axis* axis_of(int tensor_axis) const;  // null if it is not pooled

  Problem problem_;
  Partition inputs_;
  Partition outputs_;
  std::vector<int> pooled_;  // by tensor axis: which of the problem's axes, or -1
};

}  // namespace oriel::distributed
