// What the environment variable ORIEL_TARGET says before the first call counts: seen in processes of their own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "oriel/pool.h"

namespace oriel::test {
namespace {

// Runs a check in a child whose ORIEL_TARGET is `value`; true when it returned true there.
template <class F>
bool holds_with(const std::string& value, F check) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("ORIEL_TARGET", value.c_str(), 1);
    bool good = false;
    try {
      good = check();
    } catch (const std::exception& e) {
      std::cerr << "ORIEL_TARGET=" << value << ": " << e.what() << std::endl;
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool pool_works() {
  const std::vector<float> x{1, 2, 3, 4};
  std::vector<float> y(2);
  forward({.windows = {.kernel = {2}}}, {.x = ConstTensor(x.data(), {4}), .y = Tensor(y.data(), {2})}, {.threads = 1});
  return y == std::vector<float>{2, 4};
}

bool refuses(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return std::string(e.what()).find("nonsense") != std::string::npos;
  }
  return false;
}

// No call of the library that picks a target comes before the children, so each of them picks anew.
TEST(ForcedTarget, TheEnvironmentIsObeyed) {
  const std::vector<std::string> targets = supported_targets();
  ASSERT_FALSE(targets.empty());
  for (const std::string& target : targets) {
    EXPECT_TRUE(holds_with(target, [&] { return active_target() == target && pool_works(); })) << target;
    EXPECT_TRUE(holds_with(target, [&] { return pool_works() && active_target() == target; })) << target;
  }
  EXPECT_TRUE(holds_with("", [&] { return active_target() == targets.front() && pool_works(); }));
  EXPECT_TRUE(holds_with("nonsense", [] { return refuses([] { active_target(); }) && refuses([] { pool_works(); }); }));
  EXPECT_FALSE(holds_with(targets.back(), [] { return active_target() == "nonsense"; })) << "the check can fail";
}

}  // namespace
}  // namespace oriel::test
