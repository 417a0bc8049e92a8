// How work is divided among threads: every part once, whatever is known of the threads; waking them only for enough
// work.
#include "cpu/runtime/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "oriel/pool.h"

namespace oriel::test {
namespace {

using cpu::parallel_for;

// As the library ships, until the end of a test: the other tests of this program split everything.
class Parallel : public testing::Test {
 protected:
  void SetUp() override {
    cpu::task_bytes = 32 * 1024;
    cpu::worth_waking = std::chrono::microseconds(80);
  }
  void TearDown() override {
    cpu::task_bytes = task_bytes_;
    cpu::worth_waking = worth_waking_;
  }

 private:
  index_t task_bytes_ = cpu::task_bytes;
  std::chrono::nanoseconds worth_waking_ = cpu::worth_waking;
};

// How often each of [0, n) was done; `work` is done for each.
template <class Work>
std::vector<int> times_done(index_t n, index_t bytes, int threads, const Work& work) {
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(n));
  parallel_for(n, bytes, threads, [&](index_t begin, index_t end) {
    EXPECT_LE(0, begin);
    EXPECT_LT(begin, end);
    EXPECT_LE(end, n);
    for (index_t i = begin; i < end; ++i) {
      work();
      ++done[static_cast<std::size_t>(i)];
    }
  });
  return {done.begin(), done.end()};
}

void work_for(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST_F(Parallel, everyPartIsDoneOnce) {
  for (const index_t n : {1, 2, 3, 7, 64, 1000, 4097}) {
    for (const int threads : {0, 1, 2, 3, 1000}) {
      // The first call knows nothing, the next ones how long it took; close to each other they wake threads.
      for (int call = 0; call < 50; ++call) {
        const auto done = times_done(n, 1 << 16, threads, [] {});
        ASSERT_EQ(done, std::vector<int>(static_cast<std::size_t>(n), 1))
            << n << " on " << threads << ", call " << call;
      }
    }
  }
}

TEST_F(Parallel, everyPartIsDoneOnceByThreadsThatSleptOrAreAwake) {
  using std::chrono::microseconds;
  for (const auto work : {microseconds(1), microseconds(20)}) {
    for (const auto pause : {microseconds(0), microseconds(120), microseconds(5000)}) {
      for (int call = 0; call < 30; ++call) {
        work_for(pause);
        EXPECT_EQ(times_done(16, 1 << 16, 0, [&] { work_for(work); }), std::vector<int>(16, 1));
      }
    }
  }
}

// What a call alone takes is known after the first. A pause parts each from the next.
TEST_F(Parallel, nobodyIsWokenForLittle) {
  cpu::worth_waking = std::chrono::hours(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // what a test before this one has woken, sleeps again
  const std::thread::id caller = std::this_thread::get_id();
  for (int call = 0; call < 20; ++call) {
    int parts = 0;
    parallel_for(1000, 1 << 16, 0, [&](index_t begin, index_t end) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_EQ(end - begin, 1000);
      ++parts;
    });
    EXPECT_EQ(parts, 1) << "alone, work is not cut";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(Parallel, anotherThreadHelpsWithMuch) {
  if (cpu::default_threads() == 1) GTEST_SKIP() << "there is one processor";
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  for (int call = 0; call < 1000 && !helped; ++call) {
    parallel_for(64, 1 << 20, 0, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) work_for(std::chrono::microseconds(100));
      if (std::this_thread::get_id() != caller) helped = true;
    });
  }
  EXPECT_TRUE(helped);
}

TEST_F(Parallel, anExceptionReachesTheCallerAloneAndInCompany) {
  for (int call = 0; call < 20; ++call) {
    const auto fail = [](index_t begin, index_t) {
      work_for(std::chrono::microseconds(20));
      if (begin == 0) throw std::runtime_error("refused");
    };
    EXPECT_THROW(parallel_for(100, 1 << 16, 0, fail), std::runtime_error);
  }
}

// Calls that go on while threads come and go: the same bits as on one thread.
TEST_F(Parallel, theBitsOfOneThread) {
  for (const char* name :
       {"max:f32:1x64x28x28:k3x3s2p1", "avg:f32:4x14x14x256:k2s2:axes1,2", "avg:f32:1x256x14x14:k3x3s1p1",
        "sum:f32:1x64x13x13:k9x9s1p4", "avg:bf16:4x128x7x7:global:axes2,3", "max:u8:2x56x56x64:k2s2:axes1,2"}) {
    const Problem p = parse_problem(name);
    const auto bytes = [&](const Extents& shape) {
      return static_cast<std::size_t>(element_count(shape) * size_bytes(p.dtype));
    };
    std::vector<std::byte> x(bytes(p.shape)), y(bytes(p.output_shape)), alone(y.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::byte>(i * 2654435761U >> 13 & 0x3b);
    const ConstTensor in(x.data(), p.dtype, p.shape, dense_pitch(p.shape, p.order));
    const auto pool = [&](std::vector<std::byte>& out, int threads) {
      std::memset(out.data(), 0xff, out.size());
      forward(p.pool, {.x = in, .y = Tensor(out.data(), p.dtype, p.output_shape, dense_pitch(p.output_shape, p.order))},
              {.threads = threads});
    };
    pool(alone, 1);
    for (int call = 0; call < 200; ++call) {
      if (call % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pool(y, 0);
      ASSERT_TRUE(y == alone) << name << ", call " << call;
    }
  }
}

}  // namespace
}  // namespace oriel::test
