// Calls on XLA's threads: the same results however XLA runs what is scheduled, also if it comes late or not at all.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "oriel/pool.h"
#include "python/src/pool_words.h"
#include "python/xla_frame.h"

extern "C" oriel::python::xla_abi::Handler oriel_pool;

namespace oriel::test {
namespace {

const Extents kIn = {64, 128, 128}, kOut = {64, 64, 64};  // enough work for many threads
const Pool kPool{.op = Op::max, .windows = {.kernel = {2, 2}, .axes = {-2, -1}}};

struct Scheduled {
  xla::Task* task;
  void* data;
};

std::vector<std::thread> threads;
std::vector<Scheduled> late;
int scheduled = 0;

void on_a_new_thread(xla::Task* task, void* data) {
  ++scheduled;
  threads.emplace_back(task, data);
}

void at_once(xla::Task* task, void* data) {
  ++scheduled;
  task(data);
}

void after_the_call(xla::Task* task, void* data) {
  ++scheduled;
  late.push_back({task, data});
}

class XlaThreads : public testing::Test {
 protected:
  XlaThreads() : x_(static_cast<std::size_t>(element_count(kIn))), y_(static_cast<std::size_t>(element_count(kOut))) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i * 5 % 7919);
    expected_ = y_;
    forward(kPool, {.x = ConstTensor(x_.data(), kIn), .y = Tensor(expected_.data(), kOut)});
    scheduled = 0;
  }

  // Pools by the handler on that many threads of XLA's, and is done with what was scheduled.
  void pool(int count, void (*schedule)(xla::Task*, void*), std::size_t table_size = xla::kSize<xla::Api>) {
    y_.assign(y_.size(), -1);
    Frame f;
    f.api.struct_size = table_size;
    f.context = {.stream = nullptr, .threads = count, .schedule = schedule};
    f.input(ConstTensor(x_.data(), kIn)).result(Tensor(y_.data(), kOut)).array("words", python::to_words(kPool));
    EXPECT_EQ(f.call(&oriel_pool).message, "");
    EXPECT_EQ(y_, expected_);
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    y_.assign(y_.size(), -1);
    for (const Scheduled& s : late) s.task(s.data);
    late.clear();
    EXPECT_EQ(y_, std::vector<float>(y_.size(), -1)) << "written after the call";
  }

  std::vector<float> x_, y_, expected_;
};

TEST_F(XlaThreads, HelpersAreAsManyAsXlaHasThreadsBesideTheCallers) {
  for (int i = 0; i < 10; ++i) pool(3, &on_a_new_thread);
  EXPECT_EQ(scheduled, 20);
}

TEST_F(XlaThreads, XlaMayRunHelpersAtOnceOrAfterTheCall) {
  pool(4, &at_once);
  EXPECT_EQ(scheduled, 3);
  pool(4, &after_the_call);
  EXPECT_EQ(scheduled, 6);
}

TEST_F(XlaThreads, ACallRunsAloneIfXlaHasOneThreadOrLendsNone) {
  pool(1, &on_a_new_thread);
  pool(0, &on_a_new_thread);
  EXPECT_EQ(scheduled, 0);
  pool(4, nullptr);
}

TEST_F(XlaThreads, AnOldTableOfFunctionsHasNone) {
  pool(4, &on_a_new_thread, offsetof(xla::Api, schedule_task));
  pool(4, &on_a_new_thread, offsetof(xla::Api, count_threads));
  EXPECT_EQ(scheduled, 0);
}

}  // namespace
}  // namespace oriel::test
