#include "cli/quantities.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "quoted.h"

namespace oriel::cli {
namespace {

using Unit = std::pair<std::string_view, double>;
constexpr Unit kBytes[] = {{"", 1},          {"B", 1},    {"kB", 1e3},         {"KiB", 1024}, {"MB", 1e6},
                           {"MiB", 1048576}, {"GB", 1e9}, {"GiB", 1073741824}, {"TB", 1e12},  {"TiB", 1099511627776}};
constexpr Unit kSeconds[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"", 1}};
constexpr Unit kBandwidths[] = {{"B/s", 1}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};

// A number and a unit; nothing if it is not one, negative or beyond 2^63.
std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(at, static_cast<std::size_t>(end - at));
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  for (const auto& [name, factor] : units)
    if (unit == name && value * factor < 9e18) return value * factor;
  return std::nullopt;
}

[[noreturn]] void fail(std::string_view option, std::string_view text, std::string_view allowed) {
  throw Error(fmt::format("{}: {} is not understood; allowed: {}", option, detail::quoted(text), allowed));
}

}  // namespace

index_t parse_bytes(std::string_view option, std::string_view text) {
  const std::optional<double> bytes = parse(text, kBytes);
  if (!bytes || *bytes < 1) fail(option, text, "bytes such as 512MiB, 1GiB, 2GB");
  return static_cast<index_t>(*bytes);
}

double parse_seconds(std::string_view option, std::string_view text) {
  const std::optional<double> seconds = parse(text, kSeconds);
  if (!seconds) fail(option, text, "a time such as 2us, 0.4us, 1ms");
  return *seconds;
}

double parse_bandwidth(std::string_view option, std::string_view text) {
  const std::optional<double> bytes = parse(text, kBandwidths);
  if (!bytes || *bytes <= 0) fail(option, text, "a bandwidth such as 25GB/s, 800MB/s");
  return *bytes;
}

std::string show_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string show_bytes(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.3g} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.3g} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.3g} MB", bytes / 1e6);
  return fmt::format("{:.3g} GB", bytes / 1e9);
}

std::string spent(std::string_view part, double seconds, double all) {
  return fmt::format("{} in {}, {} in all", part, show_seconds(seconds), show_seconds(all));
}

}  // namespace oriel::cli
