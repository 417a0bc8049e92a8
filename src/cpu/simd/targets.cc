// Compiled once per instruction set, so that each gives its own name.
#include "cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/targets.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// The dispatched code says its own name, so a forced target can be checked to be obeyed.
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

// What the conditions of the kernels let into this instruction set's, whatever it is called.
Kernels target_kernels() {
  return {.vector_bytes = HWY_TARGET == HWY_SCALAR ? 0 : static_cast<int>(HWY_MAX_BYTES),
          .planes = ORIEL_PLANES,
          .registers = ORIEL_AVX2,
          .bytes = ORIEL_AVX512_BYTES};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "oriel/types.h"
#include "quoted.h"

namespace oriel::cpu {
namespace {

HWY_EXPORT(target_name);
HWY_EXPORT(target_kernels);

struct Targets {
  std::vector<std::size_t> numbers;
  std::vector<std::string> names;
  std::vector<Kernels> kernels;
};

Targets find_targets() {
  Targets targets;
  // A lower bit is a better target.
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    hwy::ChosenTarget chosen;
    chosen.Update(rest & -rest);
    // A build for one target has tables of one entry.
    const std::size_t which = (HWY_TARGETS & (HWY_TARGETS - 1)) == 0 ? 0 : chosen.GetIndex();
    targets.numbers.push_back(which);
    targets.names.emplace_back(HWY_DISPATCH_TABLE(target_name)[which]());
    targets.kernels.push_back(HWY_DISPATCH_TABLE(target_kernels)[which]());
  }
  return targets;
}

const Targets& targets() {
  static const Targets all = find_targets();
  return all;
}

constexpr std::size_t kUnset = static_cast<std::size_t>(-1);
std::atomic<std::size_t> active{kUnset};

std::string lower_case(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::size_t find(std::string_view name, const char* what) {
  if (name.empty()) return 0;
  const std::vector<std::string>& names = targets().names;
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const std::string& n) { return lower_case(n) == lower_case(name); });
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw Error(fmt::format("{}: {} is no instruction set that runs here; allowed: {}", what, detail::quoted(name),
                          fmt::join(names, ", ")));
}

}  // namespace

std::vector<std::string> supported_targets() { return targets().names; }

std::span<const Kernels> supported_kernels() { return targets().kernels; }

std::string active_target() { return targets().names[active_number()]; }

void set_target(std::string_view name) { active = find(name, "set_target"); }

std::span<const std::size_t> dispatch_numbers() { return targets().numbers; }

std::size_t active_number() {
  const std::size_t number = active.load(std::memory_order_relaxed);
  if (number != kUnset) return number;
  const char* wanted = std::getenv("ORIEL_TARGET");
  const std::size_t first = find(wanted == nullptr ? "" : wanted, "ORIEL_TARGET");
  std::size_t unset = kUnset;
  return active.compare_exchange_strong(unset, first) ? first : unset;  // else set_target came first
}

}  // namespace oriel::cpu
#endif
