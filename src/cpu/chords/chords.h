// A strategy for maxima, minima and their distance in windows of any shape that step by one: a footprint is cut into
// runs of taps along rows, chords. The maximum over any run is that of two runs of a power of two of taps.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_chords(const Statistic& job);
void run_chords(const Statistic& job, int threads);

}  // namespace oriel::cpu
