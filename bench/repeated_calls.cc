// oriel_repeated_calls NAME COUNT: the first call of a problem and COUNT more, on one thread. What two numbers of calls
// take differs by those calls alone: how scripts/arm_instructions.py counts their instructions in an emulator.
#include <cstdio>
#include <cstdlib>

#include "call.h"

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: oriel_repeated_calls NAME COUNT\n");
    return 2;
  }
  const oriel_bench::Call call(oriel::parse_problem(argv[1]), "", 1);
  for (int i = std::atoi(argv[2]); i >= 0; --i) call.run();
  std::puts(oriel::active_target().c_str());
  return 0;
} catch (const oriel::Error& error) {
  std::fprintf(stderr, "oriel_repeated_calls: %s\n", error.what());
  return 1;
}
