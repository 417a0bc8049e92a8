// Numbers with units, as typed.
#pragma once

#include <string>
#include <string_view>

#include "oriel/types.h"

namespace oriel::cli {

/// Bytes: 1000000, 512MiB, 1.5GB. Throws Error calling the text `option`, here and below.
index_t parse_bytes(std::string_view option, std::string_view text);
/// Seconds: 2us, 0.4us, 1ms, 0.
double parse_seconds(std::string_view option, std::string_view text);
/// Bytes a second: 25GB/s.
double parse_bandwidth(std::string_view option, std::string_view text);

/// A duration to read: `4.7 us`, `9.4 ms`.
std::string show_seconds(double seconds);
/// A number of bytes to read: `512 B`, `1.5 MB`.
std::string show_bytes(double bytes);
/// `pooled in 59.3 ms, 9.45 s in all`: what a part of the work took, and the whole of it.
std::string spent(std::string_view part, double seconds, double all);

}  // namespace oriel::cli
