// What each tap of one output is: read, beyond the input, not in the footprint, not valid.
#pragma once

#include <optional>
#include <string>

#include "cli/axis_picture.h"
#include "oriel/tensor.h"

namespace oriel::cli {

/// What `oriel explain` was given besides a name. A view that is not given has no memory.
struct Elements {
  ConstTensor x{};     // the input: then values that are nodata or NaN are known
  ConstTensor mask{};  // of the input's extents, or 1 along axes that are not pooled
  ConstTensor y{};     // the results
};

/// The taps of one window.
struct TapCounts {
  index_t taps = 0;              // of the footprint
  index_t existing = 0;          // those that are inputs
  std::optional<index_t> valid;  // of these; nothing if that is not known
};

class TapMarks {
 public:
  TapMarks(const Problem& problem, const Elements& elements);

  /// Whether a tap may be left out although it exists.
  bool may_leave_out() const;
  /// Whether it is known which taps are valid.
  bool knows_all() const;
  /// The mark of the place with these coordinates along the pooled axes. Elements are those of the first plane.
  Mark at(const Extents& output, const Extents& places) const;
  /// Nothing for windows of very many taps.
  std::optional<TapCounts> count(const Extents& output) const;
  /// Calls f(places, mark) for each tap of a window, in row-major order.
  template <class F>
  void each_tap(const Extents& output, F f) const {
    Extents taps = Extents::filled(problem_.pooled, 0), places = taps;
    for (;;) {
      for (int i = 0; i < problem_.pooled; ++i) places[i] = axis(i).at(output[i], taps[i]);
      f(places, at(output, places));
      int i = problem_.pooled - 1;
      while (i >= 0 && ++taps[i] == axis(i).width(output[i])) taps[i--] = 0;
      if (i < 0) return;
    }
  }
  /// The value of y at an output, of the first plane and of the k-th quantile; empty if it is not known.
  std::string result(const Extents& output, index_t k) const;

 private:
  const Axis& axis(int i) const { return problem_.axis[static_cast<std::size_t>(i)]; }
  bool in_footprint(const Extents& output, const Extents& places) const;
  bool is_valid(const Extents& places) const;

  const Problem& problem_;
  Elements elements_;  // those that have any
};

/// The drawing of a plane shows the last two pooled axes, the others at their window's middle tap: these places,
Extents places_of_slice(const Problem& problem, const Extents& output, index_t row, index_t column);
/// and the words for the others, `, axis 0 at 3`.
std::string slice_text(const Problem& problem, const Extents& output);

}  // namespace oriel::cli
