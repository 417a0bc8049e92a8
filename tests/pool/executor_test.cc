// Calls on threads of the program's own: the same bits, every task once, and clear errors.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "oriel/reduce.h"
#include "pool/conform.h"
#include "pool/random_problem.h"
#include "support.h"

namespace oriel::test {
namespace {

using Task = void (*)(void* state, std::int64_t i);

// Counts what it was asked for; every kind of executor calls the tasks in another way.
struct Calls {
  std::atomic<int> runs{0}, tasks{0};
};

void on_new_threads(void* context, std::int64_t tasks, Task task, void* state) {
  static_cast<Calls*>(context)->runs++;
  static_cast<Calls*>(context)->tasks += static_cast<int>(tasks);
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> next{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (std::int64_t i; (i = next++) < tasks;) task(state, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void backwards(void* context, std::int64_t tasks, Task task, void* state) {
  static_cast<Calls*>(context)->runs++;
  for (std::int64_t i = tasks; i-- > 0;) task(state, i);
}

void skip_one(void*, std::int64_t tasks, Task task, void* state) {
  for (std::int64_t i = 1; i < tasks; ++i) task(state, i);
}

void repeat_one(void*, std::int64_t tasks, Task task, void* state) {
  for (std::int64_t i = 0; i < tasks; ++i) task(state, i);
  task(state, 0);
}

void beyond(void*, std::int64_t tasks, Task task, void* state) {
  for (std::int64_t i = 1; i <= tasks; ++i) task(state, i);
}

class ExecutorTest : public testing::Test {
 protected:
  Executor with(decltype(Executor::run) run, int threads = 3) {
    return {.threads = threads, .run = run, .context = &calls_};
  }

  // Pools the same tensor by it, on at most so many threads.
  void pool(const Executor& executor, int threads = 0) {
    forward({.op = Op::max, .windows = {.kernel = {2}}}, {.x = {x_, {64, 64}}, .y = {y_, {32, 32}}},
            {.threads = threads, .executor = &executor});
  }

  Calls calls_;
  std::vector<float> x_ = std::vector<float>(64 * 64, 1), y_ = std::vector<float>(32 * 32);
};

TEST_F(ExecutorTest, S1_S10_TheSameBits) {
  std::mt19937_64 random(7);
  const Executor executors[] = {with(&on_new_threads), with(&backwards, 2), with(&backwards, 64)};
  for (int i = 0; i < 600; ++i) {
    const Problem p = random_problem(random, 300);
    const Data data = kAllData[random() % 4];
    const auto x = fill(p.dtype, element_count(p.shape), data, random);
    std::vector<std::byte> dy;
    if (p.pool.op != Op::lp || data != Data::specials) dy = fill(p.dtype, element_count(p.output_shape), data, random);
    const Layout in = kWritableLayouts[random() % 5], out = kWritableLayouts[random() % 5];
    const std::string wrong =
        check_all(Case(p, x, dy), in, out, {.threads = static_cast<int>(random() % 4), .executor = &executors[i % 3]});
    ASSERT_EQ(wrong, "") << "problem " << i;
  }
  EXPECT_GT(calls_.runs, 300);
}

TEST_F(ExecutorTest, RunsTheTasksAndNoMoreAtOnceThanAskedFor) {
  pool(with(&on_new_threads));
  EXPECT_EQ(y_, std::vector<float>(32 * 32, 1));
  EXPECT_EQ(calls_.runs, 1);
  EXPECT_GT(calls_.tasks, 3);  // so that threads which come late take less
  calls_.tasks = 0;
  pool(with(&on_new_threads), 2);  // of its three: no more tasks than may run at once
  EXPECT_EQ(calls_.tasks, 2);
  pool(with(&on_new_threads), 1);
  pool(with(&on_new_threads, 1));
  EXPECT_EQ(calls_.runs, 2);
}

TEST_F(ExecutorTest, TheNextCallIsOneTbbsAgain) {
  pool(with(&on_new_threads));
  forward({.op = Op::max, .windows = {.kernel = {2}}}, {.x = {x_, {64, 64}}, .y = {y_, {32, 32}}});
  EXPECT_EQ(calls_.runs, 1);
}

// A reduction that pools with the executor of the call that it belongs to.
struct Pools {
  using Input = float;
  using Accumulator = float;
  using Output = float;
  static inline const Executor* executor = nullptr;
  static float identity() { return 0; }
  static float lift(float x) { return x; }
  static float combine(float a, float b) { return std::max(a, b); }
  static float lower(float a, WindowCount) {
    std::vector<float> x(16, a), y(4);
    forward({.op = Op::max, .windows = {.kernel = {2}}}, {.x = {x, {4, 4}}, .y = {y, {2, 2}}}, {.executor = executor});
    return y[3];
  }
};

TEST_F(ExecutorTest, ACallWithinATaskRunsAlone) {
  const Executor executor = with(&on_new_threads);
  Pools::executor = &executor;
  forward<Pools>(Windows{.kernel = {2}}, {.x = {x_, {64, 64}}, .y = {y_, {32, 32}}}, {.executor = &executor});
  EXPECT_EQ(y_, std::vector<float>(32 * 32, 1));
  EXPECT_EQ(calls_.runs, 1);
}

TEST_F(ExecutorTest, SaysWhatAnExecutorDidWrong) {
  const auto error = [&](decltype(Executor::run) run, int threads = 3) {
    const Executor executor = with(run, threads);
    return error_of([&] { pool(executor); });
  };
  EXPECT_EQ(error(&skip_one), "executor: must have run 11 tasks when it returns, but has run 10");
  EXPECT_EQ(error(&repeat_one), "executor: must have run 11 tasks when it returns, but has run 12");
  EXPECT_EQ(error(&beyond), "executor: must run tasks 0 to 10, but ran 11");
  EXPECT_EQ(error(nullptr), "max_pool: executor must have a function run, but has none");
  EXPECT_EQ(error(&backwards, 0), "max_pool: executor must have at least 1 thread, but has 0");
}

// A reduction whose combination fails.
struct Fails {
  using Input = float;
  using Accumulator = float;
  using Output = float;
  static float identity() { return 0; }
  static float lift(float x) { return x; }
  static float combine(float, float) { throw std::runtime_error("no sum today"); }
  static float lower(float a, WindowCount) { return a; }
};

TEST_F(ExecutorTest, AnExceptionOfATaskReachesTheCaller) {
  const Executor executor = with(&on_new_threads);
  const auto call = [&] {
    forward<Fails>(Windows{.kernel = {2}}, {.x = {x_, {64, 64}}, .y = {y_, {32, 32}}}, {.executor = &executor});
  };
  EXPECT_THROW(call(), std::runtime_error);
  EXPECT_GT(calls_.runs, 0);
}

}  // namespace
}  // namespace oriel::test
