#include "cpu/ways.h"

#include <algorithm>

#include "cpu/axes_way.h"
#include "cpu/block_folder.h"
#include "cpu/chunk_fold.h"
#include "cpu/code_way.h"
#include "cpu/column_folder.h"
#include "cpu/global_way.h"
#include "cpu/long_fold.h"
#include "cpu/place_way.h"
#include "cpu/plane_way.h"
#include "cpu/running_way.h"
#include "cpu/seek_way.h"
#include "cpu/stack_way.h"
#include "cpu/turned_way.h"

namespace oriel::cpu {
namespace {

constexpr Way kWays[] = {
    {"codes", &takes_codes, &run_codes,
     "indices of floats by AVX-512, 2 or 3 taps along rows, or vectors of lanes: 3x3 s2 1.3 copies, by places 2.3"},
    {"places", &takes_places, &run_places, "max and min with indices, at most 8 taps along each of up to 3 axes"},
    {"seek", &takes_seek, &run_seek, "indices, magnitudes and NaN left out, of 64 taps or more beside each other"},
    {"columns", &takes_columns, &run_columns, "16 lanes or more side by side fill vectors of every type"},
    {"chunks", &takes_chunks, &run_chunks, "one window of millions of taps is work for all threads"},
    {"global", &takes_global, &run_global,
     "one window over a whole plane: 7x7 and 56x56 took two to four times as long"},
    {"blocks", &takes_blocks, &run_blocks, "windows apart from each other: output by output is scalar"},
    {"stacks", &takes_stacks, &run_stacks,
     "many planes, rows of at most two vectors: 3x3 on 14x14 is 4 copies, as planes 7"},
    {"turned", &takes_turned, &run_turned, "other short rows: 13x13 taps on 13x13 take half the time of long"},
    {"planes", &takes_planes, &run_planes, "dense rows, at most 8 taps: 112 wide 2x2 is 1.05 copies, rows 1.6"},
    {"running", &takes_running, &run_running,
     "integer sums of long windows that overlap: 31x31 of bytes took 2.5 times as long by powers of two"},
    {"long", &takes_long, &run_long, "windows of more than 8 taps that overlap: 31x31 took twice as long by rows"},
    {"axes", &takes_axes, &run_axes, "more than 64 taps across rows, which share them: tap by tap took n k"},
    {"rows", [](const FoldJob&) { return true; }, &run_rows, "any reduction, layout and window"},
};

}  // namespace

std::span<const Way> ways() { return kWays; }

const Way& way_of(const FoldJob& job) {
  return *std::find_if(std::begin(kWays), std::end(kWays), [&](const Way& way) { return way.takes(job); });
}

}  // namespace oriel::cpu
