// S13 to S20, family by family: each function writes the result of one window.
#pragma once

#include "reference/results.h"
#include "reference/taps.h"

namespace oriel::reference {

void write_sum(const Source& source, const Taps& taps, Results& results);
void write_variance(const Source& source, const Taps& taps, Results& results);  // var, std, rms
void write_smooth(const Source& source, const Taps& taps, Results& results);    // prod geo harm lse soft
void write_quantile(const Source& source, const Taps& taps, std::size_t quantile, Results& results);

/// The number of the tap whose value is the mode (S17).
std::size_t mode_of(const Pooling& pooling, const Taps& taps);

/// Values of these ops in long double, for their gradients.
long double mean_of(const Taps& taps);      // weighted, if there are weights
long double variance_of(const Taps& taps);  // about it, the sum of weights not divided out
long double weight_of(const Taps& taps);
long double smooth_value(const Pooling& pooling, const Taps& taps);
long double norm_of(const Pooling& pooling, const Taps& taps);

}  // namespace oriel::reference
