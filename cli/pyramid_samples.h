// Elements of a level compared with what every method would make of the elements below.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "io/volume.h"
#include "oriel/problem.h"
#include "oriel/types.h"
#include "oriel/window.h"

namespace oriel::cli {

/// What levels are made with; of several that fit, the first is named.
inline constexpr std::array<std::string_view, 15> kLevelMethods{
    "mean",
    "mean, cut off instead of rounded",
    "mean, halves rounded up",
    "first",
    "centre",
    "max",
    "min",
    "mode",
    "mode (0 ignored)",
    "median",
    "sum",
    "any",
    "all",
    "var",
    "std",
};

/// How many of the elements that were looked at are what each method makes.
struct MethodVotes {
  std::array<index_t, kLevelMethods.size()> fitting{};
  index_t seen = 0;
};

/// Elements of `level` at random places, and in its first and last corner, about `samples` of them, compared with what
/// they are of `below`, whose elements are `factor` times as many along each axis. The same places every time.
/// Elements of the value `nodata` are as NaN is.
MethodVotes sample_methods(io::VolumeIn& below, io::VolumeIn& level, const Extents& factor, index_t samples,
                           const std::optional<Scalar>& nodata = std::nullopt);

}  // namespace oriel::cli
