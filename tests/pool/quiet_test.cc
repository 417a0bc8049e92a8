// The library never prints, whatever a call asks for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "oriel/pool.h"

namespace oriel::test {
namespace {

// What `call` writes to the process's standard output and error.
template <class F>
long printed_by(F call) {
  std::fflush(nullptr);
  std::FILE* file = std::tmpfile();
  const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  call();
  std::fflush(nullptr);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  std::fseek(file, 0, SEEK_END);
  const long bytes = std::ftell(file);
  std::fclose(file);
  return bytes;
}

TEST(Quiet, NothingIsPrinted) {
  const std::vector<float> x(std::size_t{1} << 18, 1);
  std::vector<float> y(x.size() / 4);
  const auto calls = [&] {
    for (int threads : {1, 2, 7, 1000})
      forward({.windows = {.kernel = {2}, .axes = {2, 3}}},
              {.x = ConstTensor(x.data(), {1, 4, 256, 256}), .y = Tensor(y.data(), {1, 4, 128, 128})},
              {.threads = threads});
    try {
      forward({.windows = {.kernel = {0}}}, {.x = ConstTensor(x.data(), {4, 4}), .y = Tensor(y.data(), {2, 2})});
    } catch (const Error&) {
    }
  };
  EXPECT_EQ(printed_by(calls), 0);
  EXPECT_GT(printed_by([] { std::puts("seen"); }), 0) << "the check can fail";
}

}  // namespace
}  // namespace oriel::test
