// Runs problems under `valgrind --tool=callgrind --instr-atstart=no`, which counts the instructions of one call of
// each, made after a first one, and dumps them under the problem's name. Usage: oriel_count_instructions NAME...
// A name may end with what its input holds: @nan and @zero, one NaN or negative zero among other numbers; @nans, every
// other number is a NaN; @zeros, nothing but zeros, every third negative; @falling, numbers that fall. @user: a sum
// that is a reduction of the caller's instead of the op.
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "call.h"

int main(int argc, char** argv) try {
  for (const std::string& name : std::vector<std::string>(argv + 1, argv + argc)) {
    const std::size_t end = std::min(name.find('@'), name.size());
    const oriel::Problem problem = oriel::parse_problem(name.substr(0, end));
    const oriel_bench::Call call(problem, std::string_view(name).substr(std::min(end + 1, name.size())), 1);
    call.run();
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    call.run();
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
  }
  std::puts(oriel::active_target().c_str());
  return 0;
} catch (const oriel::Error& error) {
  std::fprintf(stderr, "oriel_count_instructions: %s\n", error.what());
  return 1;
}
