// Times problems a sample at a time, when asked to, so that two builds can be timed in turns
// (scripts/compare_builds.py). Usage: oriel_timed_calls THREADS, with a line of input for each answer of one line: the
// name of a problem, which is then made ready ("ready"), or an empty line: the nanoseconds of a call of it, the mean
// over at least 2 ms.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "call.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kSampleNs = 2e6;

double nanoseconds(const oriel_bench::Call& call, long calls) {
  const auto start = Clock::now();
  for (long i = 0; i < calls; ++i) call.run();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(calls);
}

long calls_of_sample(const oriel_bench::Call& call) {
  call.run();
  for (long calls = 1;; calls *= 2) {
    if (nanoseconds(call, calls) * static_cast<double>(calls) >= kSampleNs) return calls;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const int threads = argc == 2 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::fputs("usage: oriel_timed_calls THREADS, at least 1\n", stderr);
    return 2;
  }
  std::unique_ptr<oriel_bench::Call> call;
  long calls = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty()) {
      call.reset();  // before the next takes its memory
      call = std::make_unique<oriel_bench::Call>(oriel::parse_problem(line), "", threads);
      calls = calls_of_sample(*call);
      std::cout << "ready" << std::endl;
    } else if (call) {
      call->run();  // its data comes back to the caches
      std::cout << nanoseconds(*call, calls) << std::endl;
    } else {
      std::fputs("oriel_timed_calls: an empty line came before the name of a problem\n", stderr);
      return 2;
    }
  }
  return 0;
} catch (const oriel::Error& error) {
  std::fprintf(stderr, "oriel_timed_calls: %s\n", error.what());
  return 1;
}
