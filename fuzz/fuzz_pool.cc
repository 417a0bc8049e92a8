// A small problem, by its name or drawn from the input's bytes, with elements drawn from them too: every instruction
// set gives the bits of the reference, whatever the layout and the number of threads.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "pool/conform.h"
#include "pool/random_problem.h"

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

Problem problem_of(const std::string& text, std::mt19937_64& random) {
  try {
    return parse_problem(text);
  } catch (const Error&) {
    return random_problem(random, 150);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::seed_seq seed(data, data + size);
  std::mt19937_64 random(seed);
  const Problem p = problem_of(text, random);
  if (!is_small(p)) return 0;
  const Data kind = kAllData[random() % 4];
  const auto x = fill(p.dtype, element_count(p.shape), kind, random);
  std::vector<std::byte> dy;
  if (p.pool.op != Op::lp) dy = fill(p.dtype, element_count(p.output_shape), kind, random);
  // Far from 2 the sums of Lp leave the range in which the reference's bound means something.
  if (p.pool.op == Op::lp && p.pool.norm > 4 && p.pool.norm < HUGE_VAL) return 0;
  const Case c(p, x, dy);
  const Layout in = kWritableLayouts[random() % 5], out = kWritableLayouts[random() % 5];
  const Options options{.threads = 1 + static_cast<int>(random() % 3)};
  for (const std::string& target : supported_targets()) {
    set_target(target);
    const std::string wrong = check_all(c, in, out, options);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "%s on %s with %s and %d threads\n", wrong.c_str(), target.c_str(), name(kind),
                 options.threads);
    std::abort();
  }
  return 0;
}
