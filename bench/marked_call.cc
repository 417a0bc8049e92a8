// oriel_marked_call NAME: a problem's first call, and a second one between two system calls (getppid), on one thread.
// scripts/arm_instructions.py counts what an emulator runs between them.
#include <unistd.h>

#include <cstdio>

#include "call.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: oriel_marked_call NAME\n");
    return 2;
  }
  const oriel_bench::Call call(oriel::parse_problem(argv[1]), "", 1);
  call.run();
  getppid();
  call.run();
  getppid();
  return 0;
} catch (const oriel::Error& error) {
  std::fprintf(stderr, "oriel_marked_call: %s\n", error.what());
  return 1;
}
