// Where the results of a pool are among its inputs, for files that say where their pixels are.
#pragma once

#include <optional>
#include <string>

namespace oriel::io {

/// What pooling does to an axis: output i lies in the input where i * step + shift is. Both count pixels from the edge
/// of the first one, so that an output pixel is a rectangle of `step` input pixels around the middle of its window.
struct Scaling {
  double step = 1, shift = 0;
};

/// The scaling of the axis `axis` of the result of a problem; `name` is that of the problem. None for names that are no
/// problem's.
std::optional<Scaling> scaling_of(const std::string& name, int axis);

/// The same for coordinates that count from the middle of the first element.
Scaling of_middles(Scaling scaling);
/// Of such coordinates: a result lies at the middle of its window; that of op `first` at its first tap (S22).
std::optional<Scaling> scaling_of_middles(const std::string& name, int axis);

}  // namespace oriel::io
