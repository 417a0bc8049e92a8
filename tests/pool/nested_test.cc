// Calls within calls. A thread that waits for others in one call may come to make another, and a caller's reduction may
// call too: what the outer call holds stays its own, and a waiting thread is not lent to the caller's other tasks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "cpu/runtime/parallel.h"
#include "cpu/strategies.h"
#include "pool/nested_calls.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED  // which takes many times as long
constexpr unsigned kEach = 11;
constexpr int kRounds = 2;
#else
constexpr unsigned kEach = 2;
constexpr int kRounds = 10;
#endif

// Problems that reach what the small ones of cases.txt do not.
constexpr const char* kMore[] = {
    "max:f32:1x1x256x256:k13x13s1p6",    "max:f64:1x1x64x64:k9x9s1p4",  "max:u8:1x1x64x64:k13x13s1p6",
    "max:i32:1x1x64x64:k13x13s1p6",      "min:f16:1x1x64x64:k9x9s1p4",  "max:bf16:2x1x64x64:k13x13s1p6",
    "max:f32:1x1x3000:k101s1p50:axes2",  "max:f32:2x6000:global:axes1", "sum:f64:2x6000:global:axes1",
    "avg:f32:2x6000:global:axes1",       "max:f32:1x4x64x64:k3x3s2",    "sum:u8:1x1x64x64:k13x13s1p6",
    "max:f32:1x40x40x32:k3s2p1:axes1,2", "max:f32:170x20:k80x2s1:omit", "lp3:f64:170x20:k80x2s1",
    "max:f32:2x300:global:axes1:omit"};

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const char* name : kMore) all.push_back(parse_problem(name));
  std::ifstream file(ORIEL_CASES);
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || ++number % kEach != 0) continue;
    all.push_back(parse_problem(line));  // the dtype of a line is only a placeholder
    Problem by_turns = all.back();
    by_turns.dtype = static_cast<Dtype>(number / kEach % 13);
    all.push_back(by_turns);
  }
  return all;
}

std::vector<Call> calls_of(const Problem& p, unsigned number, Data data) {
  const Layout in = number % 3 == 0 ? kWritableLayouts[number / 3 % 5] : Layout::dense;
  const Layout out = number % 4 == 0 ? kWritableLayouts[number / 4 % 5] : Layout::dense;
  return CallMaker(p, data, number, in, out).all();
}

// Loops of every size are shared while this lives.
class Splits {
 public:
  Splits() {
    cpu::task_bytes = 1;
    cpu::worth_waking = {};
  }
  ~Splits() {
    cpu::while_waiting = nullptr;
    cpu::task_bytes = task_bytes_;
    cpu::worth_waking = worth_waking_;
  }
  Splits(const Splits&) = delete;
  Splits& operator=(const Splits&) = delete;

 private:
  index_t task_bytes_ = cpu::task_bytes;
  std::chrono::nanoseconds worth_waking_ = cpu::worth_waking;
};

// What waiting threads do in Nested: the other calls, and what was wrong with them.
struct Others {
  std::vector<const Call*> calls;
  std::atomic<long> made{0};
  std::mutex mutex;
  std::string wrong;

  static Others*& current() {
    static Others* others = nullptr;
    return others;
  }
  static void make() {
    static thread_local bool busy = false;
    if (busy) return;
    busy = true;
    Others& o = *current();
    for (const Call* call : o.calls) {
      ++o.made;
      if (const std::string wrong = call->wrong(); !wrong.empty()) {
        const std::lock_guard lock(o.mutex);
        o.wrong = wrong;
      }
    }
    busy = false;
  }
};

// A thread that waits makes the same call on other numbers, so in the same way, and one of another problem.
TEST(Nested, aCallKeepsItsBitsWhateverItsThreadDoesWhileItWaits) {
  const Splits splits;
  Others others;
  Others::current() = &others;
  std::set<std::string> ways;
  unsigned number = 0;
  int wrongs = 0;
  std::vector<Call> before = calls_of(parse_problem("max:f32:2x3x9x11:k3x3s2p1"), 1, Data::specials);
  for (const Problem& p : problems()) {
    ways.insert(explain(p).strategy);
    Problem indexed = p;
    indexed.indices = p.pool.op == Op::max || p.pool.op == Op::min;
    ways.insert(explain(indexed).strategy);
    ++number;
    const Data data = kAllData[number % 4];
    std::vector<Call> calls = calls_of(p, number, data);
    const std::vector<Call> twins = calls_of(p, number, number % 2 == 0 ? Data::specials : Data::reals);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      others.calls = {&twins[i], &before[i % before.size()]};
      others.wrong.clear();
      cpu::while_waiting = &Others::make;
      std::string wrong = calls[i].wrong();
      cpu::while_waiting = nullptr;
      if (wrong.empty() && !others.wrong.empty()) wrong = "while another waited, " + others.wrong;
      if (wrong.empty()) continue;
      ADD_FAILURE() << oriel::test::name(data) << ": " << wrong;
      if (++wrongs == 20) FAIL() << "too many";
    }
    before = std::move(calls);
  }
  EXPECT_GT(others.made, 4L * number) << "threads waited";
  for (const auto table : {cpu::folds(), cpu::argmax_folds()}) {
    for (const auto& strategy : table) {
      const std::string name(strategy.name);
      const bool everywhere = name != "registers" && name != "planes" && name != "masked";  // of some instruction sets
      EXPECT_TRUE(!everywhere || ways.contains(name)) << name;
    }
  }
}

// A sum whose lift calls the library itself.
struct Calling {
  using Input = float;
  using Accumulator = float;
  using Output = float;
  static float identity() { return 0; }
  static float lift(float x) {
    const std::vector<float> in(16, x);
    std::vector<float> out(4);
    forward<Summing>({.kernel = {2}, .stride = {2}},
                     {.x = ConstTensor(in.data(), {4, 4}), .y = Tensor(out.data(), {2, 2})}, {.threads = 1});
    EXPECT_EQ(out, std::vector<float>(4, 4 * x));
    return x;
  }
  static float combine(float a, float b) { return a + b; }
  static float lower(float a, WindowCount) { return a; }

  struct Summing {
    using Input = float;
    using Accumulator = float;
    using Output = float;
    static float identity() { return 0; }
    static float lift(float x) { return x; }
    static float combine(float a, float b) { return a + b; }
    static float lower(float a, WindowCount) { return a; }
  };
};

TEST(Nested, aReductionMayCall) {
  std::vector<float> x(30 * 40), right(14 * 19), y(right.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 101);
  const Windows windows{.kernel = {3}, .stride = {2}};
  const ConstTensor in(x.data(), {30, 40});
  forward<Calling::Summing>(windows, {.x = in, .y = Tensor(right.data(), {14, 19})});
  forward<Calling>(windows, {.x = in, .y = Tensor(y.data(), {14, 19})});
  EXPECT_EQ(y, right);
}

// Tasks of a caller's, as programs have them: a few at a time, so some threads help in loops while others have calls
// that are not begun.
TEST(Nested, tasksOfACallerHaveTheBitsOfOneThread) {
  const Splits splits;
  cpu::while_waiting = [] { std::this_thread::yield(); };
  const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
  std::vector<Call> calls;
  unsigned number = 0;
  for (const Problem& p : problems()) {
    if (++number > std::size(kMore) && number % 29 != 0) continue;
    for (Call& call : calls_of(p, number, number % 2 == 0 ? Data::specials : Data::reals))
      calls.push_back(std::move(call));
  }
  constexpr std::size_t kTasks = 8;
  static thread_local int depth = 0;
  // The thread sanitizer cannot see how oneTBB hands work over, so what happens before what is said here.
  std::atomic<int> wrongs{0}, lent{0}, handed{0};
  tbb::task_arena arena(4);
  for (std::size_t first = 0; first < kRounds * calls.size(); first += kTasks) {
    handed.store(1, std::memory_order_release);
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, kTasks, [&](std::size_t i) {
        (void)handed.load(std::memory_order_acquire);
        if (depth++ != 0) ++lent;
        const std::string wrong = calls[(first + i) * 7919 % calls.size()].wrong();
        if (!wrong.empty() && ++wrongs < 20) ADD_FAILURE() << wrong;
        --depth;
        handed.fetch_add(1, std::memory_order_release);
      });
    });
    (void)handed.load(std::memory_order_acquire);
  }
  EXPECT_EQ(wrongs, 0);
  EXPECT_EQ(lent, 0) << "a thread that waited for others in one call began another";
}

// A task of the caller's lies ready while a thread waits in a loop for what another does.
TEST(Nested, aThreadThatWaitsTakesNoOtherTask) {
  const Splits splits;
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  tbb::task_arena arena(3, 2);  // a place for each thread of this test, and one for oneTBB's
  std::atomic<int> begun{0};
  std::atomic<bool> ready{false}, taken{false}, over{false}, looping{false}, lent{false};
  const std::thread::id looper = std::this_thread::get_id();
  const auto until = [](std::chrono::milliseconds most, const auto& done) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return done();
  };
  using std::chrono::milliseconds;
  std::thread other([&] {
    until(milliseconds(60000), [&] { return begun == 2; });
    arena.execute([&] {
      tbb::task_group group;
      group.run([&] {
        if (looping && std::this_thread::get_id() == looper) lent = true;
        taken = true;
      });
      ready = true;
      until(milliseconds(60000), [&] { return over.load(); });
      group.wait();
    });
  });
  arena.execute([&] {
    looping = true;
    cpu::parallel_for(2, 1 << 20, 3, [&](index_t, index_t) {
      ++begun;
      until(milliseconds(60000), [&] { return begun == 2; });
      if (std::this_thread::get_id() == looper) return;  // and waits for the other
      until(milliseconds(60000), [&] { return ready.load(); });
      until(milliseconds(100), [&] { return taken.load(); });
    });
    looping = false;
    over = true;
  });
  other.join();
  EXPECT_EQ(begun, 2) << "one waited for another";
  EXPECT_TRUE(taken);
  EXPECT_FALSE(lent);
}

// A child has none of its parent's threads, and says so.
TEST(Nested, aForkedChildHasOneThread) {
  const Splits splits;
  const std::vector<Call> calls = calls_of(parse_problem("max:f32:4x8x20x30:k3x3s2p1"), 1, Data::specials);
  for (const Call& call : calls) EXPECT_EQ(call.wrong(), "");  // by all threads
  const int before = default_threads();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool right = default_threads() == 1;
    for (const Call& call : calls) right &= call.wrong().empty() && call.wrong({.threads = 2}).empty();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(default_threads(), before) << "the parent has them still";
}

}  // namespace
}  // namespace oriel::test
