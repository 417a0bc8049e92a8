#include "cpu/ways.h"

#include <algorithm>

#include "cpu/place_way.h"

namespace oriel::cpu {
namespace {

constexpr Way kWays[] = {
    {"places", &takes_places, &run_places, "max and min with indices, at most 8 taps along each of up to 3 axes"},
    {"rows", [](const FoldJob&) { return true; }, &run_rows, "any reduction, layout and window"},
};

}  // namespace

std::span<const Way> ways() { return kWays; }

const Way& way_of(const FoldJob& job) {
  return *std::find_if(std::begin(kWays), std::end(kWays), [&](const Way& way) { return way.takes(job); });
}

}  // namespace oriel::cpu
