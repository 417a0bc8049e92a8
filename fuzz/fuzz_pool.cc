// A small problem, by its name or drawn from the input's bytes, with elements drawn from them too: every instruction
// set gives the bits of the reference, whatever the layout and the number of threads. Pools over valid taps have masks
// and weights drawn from the bytes as well.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "pool/conform.h"
#include "pool/random_problem.h"
#include "pool/statistic_case.h"

namespace {

using namespace oriel;
using namespace oriel::test;

// What the reference can work out in a moment.
bool is_small(const Problem& p) {
  index_t work = 1;
  for (index_t extent : p.shape)
    if (__builtin_mul_overflow(work, std::max<index_t>(extent, 1), &work) || work > 3000) return false;
  for (int i = 0; i < p.pooled; ++i) {
    const Axis& axis = p.axis[static_cast<std::size_t>(i)];
    if (axis.out > 2000 || axis.kernel > 2000 || axis.stride > 100000) return false;
  }
  work = p.taps();
  if (work > 5000) return false;
  for (index_t extent : p.output_shape)
    if (__builtin_mul_overflow(work, std::max<index_t>(extent, 1), &work) || work > 300000) return false;
  return true;
}

// The problem of a name; nothing if the text is none.
std::optional<Problem> named_problem(const std::string& text) {
  try {
    return parse_problem(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

[[noreturn]] void report(const std::string& wrong, const std::string& target, Data kind, const Options& options) {
  std::fprintf(stderr, "%s on %s with %s and %d threads\n", wrong.c_str(), target.c_str(), name(kind), options.threads);
  std::abort();
}

void check_plain(const Problem& p, std::mt19937_64& random) {
  const Data kind = kAllData[random() % 4];
  const auto x = fill(p.dtype, element_count(p.shape), kind, random);
  std::vector<std::byte> dy;
  if (p.pool.op != Op::lp) dy = fill(p.dtype, element_count(p.output_shape), kind, random);
  // Far from 2 the sums of Lp leave the range in which the reference's bound means something.
  if (p.pool.op == Op::lp && p.pool.norm > 4 && p.pool.norm < HUGE_VAL) return;
  const Case c(p, x, dy);
  const Layout in = kWritableLayouts[random() % 5], out = kWritableLayouts[random() % 5];
  const Options options{.threads = 1 + static_cast<int>(random() % 3)};
  for (const std::string& target : supported_targets()) {
    set_target(target);
    const std::string wrong = check_all(c, in, out, options);
    if (!wrong.empty()) report(wrong, target, kind, options);
  }
}

// What a name leaves open of a pool over valid taps.
StatisticCase case_of(const Problem& p, std::mt19937_64& random) {
  StatisticCase c;
  c.problem = p;
  c.data = kAllData[random() % 4];
  const auto count = static_cast<std::size_t>(element_count(p.shape));
  c.x = fill(p.dtype, element_count(p.shape), c.data, random);
  for (std::size_t i = 0; p.mask && i < count; ++i)
    c.mask.push_back(random() % 3 == 0 ? 0 : static_cast<std::uint8_t>(random()));
  for (std::size_t i = 0; p.weights && i < count; ++i) c.weights.push_back(static_cast<double>(random() % 5) / 2);
  return c;
}

// Whether the reference's bounds mean something, and the call takes such weights.
bool has_reference(const StatisticCase& c) {
  const Pool& pool = c.problem.pool;
  if (c.problem.taps() > 300) return false;
  if (pool.op == Op::lp && pool.norm != 1 && pool.norm != 2 && !std::isinf(pool.norm))
    return pool.norm <= 4 && c.data != Data::specials;
  if (pool.op == Op::lse) return pool.sharpness >= 0x1p-8 && pool.sharpness <= 256;
  const bool divides = pool.op == Op::avg && (pool.count_include_pad || pool.divisor != 0);
  return c.weights.empty() || (pool.ddof == 0 && !divides);
}

void check_statistic(const StatisticCase& c, std::mt19937_64& random) {
  if (!has_reference(c)) return;
  const Layout in = kWritableLayouts[random() % 5], out = kWritableLayouts[random() % 5];
  const Options options{.threads = 1 + static_cast<int>(random() % 3)};
  for (const std::string& target : supported_targets()) {
    set_target(target);
    std::mt19937_64 gradient = random;  // the same for every target
    std::string wrong = check_statistic_forward(c, in, out, options);
    if (wrong.empty()) wrong = check_statistic_backward(c, gradient, in, out, options);
    if (!wrong.empty()) report(wrong, target, c.data, options);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::seed_seq seed(data, data + size);
  std::mt19937_64 random(seed);
  if (const std::optional<Problem> p = named_problem(text)) {
    if (!is_small(*p)) return 0;
    if (p->has_valid_taps() || p->mask || p->weights)
      check_statistic(case_of(*p, random), random);
    else
      check_plain(*p, random);
  } else if (random() % 2 == 0) {
    check_plain(random_problem(random, 150), random);
  } else {
    check_statistic(random_statistic(random, 150), random);
  }
  return 0;
}
