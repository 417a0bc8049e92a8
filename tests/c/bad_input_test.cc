// What the C interface refuses: each call gives a status and a text, and never ends the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "c/status.h"
#include "oriel/c.h"

namespace {

struct FreeProblem {
  void operator()(oriel_problem* problem) const { oriel_problem_free(problem); }
};
using Handle = std::unique_ptr<oriel_problem, FreeProblem>;

Handle parse(const char* name) {
  oriel_problem* problem = nullptr;
  EXPECT_EQ(oriel_problem_parse(name, &problem), ORIEL_OK) << oriel_last_error();
  return Handle(problem);
}

// A status and the text that goes with it.
std::string refusal(oriel_status status) {
  EXPECT_EQ(status, ORIEL_INVALID);
  const std::string text = oriel_last_error();
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

// A 4x4 pool with its tensors, which a test spoils.
class CTest : public ::testing::Test {
 protected:
  CTest() {
    x.data = values.data();
    x.dtype = ORIEL_F32;
    x.rank = 2;
    x.shape = shape.data();
    y = x;
    y.data = results.data();
    y.shape = half.data();
    indices = y;
    indices.data = places.data();
    indices.dtype = ORIEL_I64;
    pool.kernel = two.data();
    pool.values = 1;
  }

  oriel_status forward() { return oriel_forward(problem.get(), &x, &y, &indices, ORIEL_PLANE, &run); }
  oriel_status make(oriel_problem** made) { return oriel_problem_make(&pool, ORIEL_F32, 2, shape.data(), made); }
  std::string refused_forward() { return refusal(forward()); }
  std::string refused_make() {
    oriel_problem* made = nullptr;
    const std::string text = refusal(make(&made));
    EXPECT_EQ(made, nullptr);
    return text;
  }

  std::array<int64_t, 2> shape{4, 4}, half{2, 2}, two{2, 2};
  std::array<float, 16> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::array<float, 4> results{};
  std::array<int64_t, 4> places{};
  oriel_tensor x = ORIEL_TENSOR_INIT, y = ORIEL_TENSOR_INIT, indices = ORIEL_TENSOR_INIT;
  oriel_pool pool = ORIEL_POOL_INIT;
  oriel_run run = ORIEL_RUN_INIT;
  Handle problem = parse("max:f32:4x4:k2");
};

TEST_F(CTest, ACallThatIsRight) {
  ASSERT_EQ(forward(), ORIEL_OK) << oriel_last_error();
  EXPECT_EQ(results, (std::array<float, 4>{6, 8, 14, 16}));
  EXPECT_EQ(places, (std::array<int64_t, 4>{5, 7, 13, 15}));
  oriel_problem* made = nullptr;
  ASSERT_EQ(make(&made), ORIEL_OK) << oriel_last_error();
  const Handle owned(made);
  std::array<char, 20> name{};
  std::size_t length = 0;
  ASSERT_EQ(oriel_problem_name(made, name.data(), name.size(), &length), ORIEL_OK);
  EXPECT_STREQ(name.data(), "max:f32:4x4:k2");
  EXPECT_EQ(length, std::strlen(name.data()));
}

TEST_F(CTest, AnExecutorRunsTheTasks) {
  const Handle large = parse("max:f32:64x64x64:k2:axes1,2");
  const std::array<int64_t, 3> in{64, 64, 64}, out{64, 32, 32};
  std::vector<float> from(64 * 64 * 64, 2), to(64 * 32 * 32);
  oriel_tensor source = ORIEL_TENSOR_INIT, result = ORIEL_TENSOR_INIT;
  source.data = from.data(), result.data = to.data();
  source.dtype = result.dtype = ORIEL_F32;
  source.rank = result.rank = 3;
  source.shape = in.data(), result.shape = out.data();
  std::int64_t ran = 0;
  run.executor = [](void* context, std::int64_t tasks, void (*task)(void* state, std::int64_t i), void* state) {
    for (std::int64_t i = 0; i < tasks; ++i, ++*static_cast<std::int64_t*>(context)) task(state, i);
  };
  run.executor_context = &ran;
  run.executor_threads = 4;
  ASSERT_EQ(oriel_forward(large.get(), &source, &result, nullptr, ORIEL_PLANE, &run), ORIEL_OK) << oriel_last_error();
  EXPECT_GT(ran, 1);
  EXPECT_EQ(to, std::vector<float>(to.size(), 2));
  // A program that was compiled before executors has a shorter struct.
  run.size = offsetof(oriel_run, executor);
  ran = 0;
  ASSERT_EQ(oriel_forward(large.get(), &source, &result, nullptr, ORIEL_PLANE, &run), ORIEL_OK) << oriel_last_error();
  EXPECT_EQ(ran, 0);
  run.size = sizeof run;
  run.executor_threads = 0;
  EXPECT_EQ(refusal(oriel_forward(large.get(), &source, &result, nullptr, ORIEL_PLANE, &run)),
            "max_pool: executor must have at least 1 thread, but has 0");
}

TEST_F(CTest, TheGradientGoesBackAndUnpoolingToo) {
  ASSERT_EQ(forward(), ORIEL_OK);
  std::array<float, 16> gradient{};
  oriel_tensor dx = x;
  dx.data = gradient.data();
  ASSERT_EQ(oriel_backward(problem.get(), nullptr, &y, &indices, ORIEL_PLANE, &dx, nullptr), ORIEL_OK);
  EXPECT_EQ(gradient, (std::array<float, 16>{0, 0, 0, 0, 0, 6, 0, 8, 0, 0, 0, 0, 0, 14, 0, 16}));
  const std::array<float, 16> wanted = gradient;
  gradient.fill(1);
  ASSERT_EQ(oriel_unpool(0, nullptr, &y, &indices, ORIEL_PLANE, &dx, &run), ORIEL_OK) << oriel_last_error();
  EXPECT_EQ(gradient, wanted);
}

TEST_F(CTest, NullPointers) {
  const oriel_problem* const p = problem.get();
  EXPECT_EQ(refusal(oriel_problem_parse("max:f32:4:k2", nullptr)), "oriel_problem_parse: problem must not be NULL");
  oriel_problem* made = nullptr;
  EXPECT_EQ(refusal(oriel_problem_parse(nullptr, &made)), "oriel_problem_parse: name must not be NULL");
  EXPECT_EQ(refusal(oriel_problem_make(nullptr, ORIEL_F32, 2, shape.data(), &made)),
            "oriel_problem_make: pool must not be NULL");
  EXPECT_EQ(refusal(oriel_problem_make(&pool, ORIEL_F32, 2, nullptr, &made)),
            "oriel_problem_make: shape must not be NULL");
  EXPECT_EQ(refusal(make(nullptr)), "oriel_problem_make: problem must not be NULL");
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(refusal(oriel_forward(nullptr, &x, &y, nullptr, 0, nullptr)), "oriel_forward: problem must not be NULL");
  EXPECT_EQ(refusal(oriel_forward(p, nullptr, &y, nullptr, 0, nullptr)), "oriel_forward: x must not be NULL");
  EXPECT_EQ(refusal(oriel_forward(p, &x, nullptr, nullptr, 0, nullptr)), "oriel_forward: y must not be NULL");
  EXPECT_EQ(refusal(oriel_backward(p, &x, nullptr, nullptr, 0, &x, nullptr)), "oriel_backward: dy must not be NULL");
  EXPECT_EQ(refusal(oriel_backward(p, &x, &y, nullptr, 0, nullptr, nullptr)), "oriel_backward: dx must not be NULL");
  EXPECT_EQ(refusal(oriel_backward(p, nullptr, &y, nullptr, 0, &x, nullptr)),
            "max_pool backward: x must be given, or indices");
  EXPECT_EQ(refusal(oriel_unpool(0, nullptr, &y, nullptr, 0, &x, nullptr)), "oriel_unpool: indices must not be NULL");
  EXPECT_EQ(refusal(oriel_unpool(1, nullptr, &y, &indices, 0, &x, nullptr)), "oriel_unpool: axes must not be NULL");
  EXPECT_EQ(refusal(oriel_problem_describe(p, nullptr)), "oriel_problem_describe: info must not be NULL");
  EXPECT_EQ(refusal(oriel_problem_name(nullptr, nullptr, 0, nullptr)), "oriel_problem_name: problem must not be NULL");
  EXPECT_EQ(refusal(oriel_problem_name(p, nullptr, 9, nullptr)),
            "oriel_problem_name: text must not be NULL, but capacity is 9");
  EXPECT_EQ(refusal(oriel_codes_pay(p, nullptr)), "oriel_codes_pay: pay must not be NULL");
  EXPECT_EQ(refusal(oriel_set_target(nullptr)), "oriel_set_target: name must not be NULL (\"\": the best)");
  EXPECT_EQ(refusal(oriel_tensor_from_dlpack(nullptr, &x)), "oriel_tensor_from_dlpack: from must not be NULL");
  oriel_problem_free(nullptr);
}

TEST_F(CTest, SizesOfStructs) {
  x.size = 0;
  EXPECT_EQ(refused_forward(), "oriel_forward: x->size must be the bytes of the struct, at least 48, but is 0");
  x.size = 40;
  EXPECT_EQ(refused_forward(), "oriel_forward: x->size must be the bytes of the struct, at least 48, but is 40");
  x.size = std::numeric_limits<std::size_t>::max();
  EXPECT_NE(refused_forward().find("but is 18446744073709551615"), std::string::npos);
  x.size = sizeof x;
  run.size = 8;
  EXPECT_EQ(refused_forward(), "oriel_forward: run->size must be the bytes of the struct, at least 24, but is 8");
  pool.size = 104;
  EXPECT_EQ(refused_make(), "oriel_problem_make: pool->size must be the bytes of the struct, at least 112, but is 104");
  oriel_problem_info info;
  info.size = 8;
  EXPECT_EQ(refusal(oriel_problem_describe(problem.get(), &info)),
            "oriel_problem_describe: info->size must be the bytes of the struct, at least 624, but is 8");
}

// A program that was compiled with a later version of the header.
template <class S>
struct Later {
  S known;
  std::array<int64_t, 2> unknown;
};

TEST_F(CTest, LaterStructs) {
  Later<oriel_tensor> later{x, {0, 0}};
  later.known.size = sizeof later;
  EXPECT_EQ(oriel_forward(problem.get(), &later.known, &y, nullptr, 0, nullptr), ORIEL_OK) << oriel_last_error();
  later.unknown[1] = 7;
  EXPECT_EQ(refusal(oriel_forward(problem.get(), &later.known, &y, nullptr, 0, nullptr)),
            "oriel_forward: x->size must be at most 48 if what lies behind is used: this library knows no more, but is "
            "64 and byte 56 is not 0");
  Later<oriel_problem_info> info;
  std::memset(static_cast<void*>(&info), 0xa5, sizeof info);
  info.known.size = sizeof info;
  ASSERT_EQ(oriel_problem_describe(problem.get(), &info.known), ORIEL_OK) << oriel_last_error();
  EXPECT_EQ(info.known.size, sizeof info);
  EXPECT_EQ(info.known.output_shape[1], 2);
  EXPECT_EQ(info.unknown, (std::array<int64_t, 2>{0, 0}));
}

TEST_F(CTest, UnknownNumbers) {
  struct Row {
    int32_t* field;
    int32_t value;
    const char* text;
  };
  const Row tensors[] = {{&x.dtype, 13, "x->dtype must be 0 to 12"},
                         {&x.dtype, -1, "x->dtype must be 0 to 12"},
                         {&x.dtype, 256, "x->dtype must be 0 to 12"},
                         {&x.device, 2, "x->device must be 0 to 1"},
                         {&x.reserved, 1, "x->reserved must be 0"},
                         {&x.rank, 0, "x->rank must be 1 to 16, but is 0"},
                         {&x.rank, 17, "x->rank must be 1 to 16"},
                         {&x.rank, -2, "x->rank must be 1 to 16"},
                         {&indices.dtype, 99, "indices->dtype must be"},
                         {&run.reserved, 5, "run->reserved must be 0, but is 5"},
                         {&run.threads, -3, "max_pool: threads must be >= 0 (0: all), but is -3"}};
  for (const Row& row : tensors) {
    const int32_t before = std::exchange(*row.field, row.value);
    EXPECT_NE(refused_forward().find(row.text), std::string::npos) << oriel_last_error() << " for " << row.text;
    *row.field = before;
  }
  const Row pools[] = {{&pool.op, 5, "pool->op must be 0 to 4 (ORIEL_MAX, ORIEL_MIN"},
                       {&pool.kind, 3, "pool->kind must be 0 to 2"},
                       {&pool.padding, -1, "pool->padding must be 0 to 2"},
                       {&pool.nan_policy, 2, "pool->nan_policy must be 0 to 1"},
                       {&pool.ceil_mode, 2, "pool->ceil_mode must be 0 or 1, but is 2"},
                       {&pool.exclude, -1, "pool->exclude must be 0 or 1"},
                       {&pool.values, 9, "pool->values must be 1 or the number of pooled axes, at most 8, but is 9"},
                       {&pool.values, -1, "pool->values must be"},
                       {&pool.values, 0, "pool->kernel must be NULL or have pool->values >= 1"},
                       {&pool.pooled, 9, "pool->pooled must be 0 to 8"},
                       {&pool.pooled, 1, "pool->axes must not be NULL"}};
  for (const Row& row : pools) {
    const int32_t before = std::exchange(*row.field, row.value);
    EXPECT_NE(refused_make().find(row.text), std::string::npos) << oriel_last_error() << " for " << row.text;
    *row.field = before;
  }
  EXPECT_NE(refusal(oriel_forward(problem.get(), &x, &y, nullptr, 3, nullptr)).find("space must be 0 to 2"),
            std::string::npos);
  EXPECT_EQ(oriel_dtype_bytes(13), 0);
  EXPECT_EQ(oriel_dtype_name(-1), nullptr);
  EXPECT_NE(std::string(oriel_last_error()).find("oriel_dtype_name: dtype must be 0 to 12"), std::string::npos);
}

TEST_F(CTest, WhatTheLibraryRefuses) {
  y.shape = shape.data();
  EXPECT_EQ(refused_forward(), "max_pool: y must have shape 2x2, but has 4x4");
  y.shape = half.data();
  y.data = x.data;
  EXPECT_EQ(refused_forward(), "max_pool: x and y must not share memory, but they overlap");
  y.data = nullptr;
  EXPECT_EQ(refused_forward(), "max_pool: y must point to its 4 elements, but its data is null");
  y.data = reinterpret_cast<char*>(results.data()) + 1;
  EXPECT_EQ(refused_forward(), "oriel_forward: y->data must be a multiple of 4 bytes, as dtype f32 needs");
  y.data = results.data();
  const std::array<int64_t, 2> negative{4, -4}, far{std::numeric_limits<int64_t>::max(), 1};
  x.shape = negative.data();
  EXPECT_EQ(refused_forward(), "oriel_forward: x->shape must have extents >= 0, but axis 1 has -4");
  x.shape = shape.data();
  x.pitch = far.data();
  EXPECT_NE(refused_forward().find("must span less than 2^63 bytes"), std::string::npos);
  pool.norm = std::nan("");
  pool.op = ORIEL_LP;
  EXPECT_EQ(refused_make(), "lp_pool: norm must be >= 1, but is nan");
  oriel_problem* made = nullptr;
  EXPECT_NE(refusal(oriel_problem_parse("max:f99:4:k2", &made)).find("dtype must be one of"), std::string::npos);
  EXPECT_NE(refusal(oriel_set_target("AVX9")).find("AVX9"), std::string::npos);
}

TEST_F(CTest, DevicesThatAreNotServed) {
  if (oriel_has_cuda() != 0) GTEST_SKIP() << "this build serves CUDA devices";
  x.device = ORIEL_CUDA;
  EXPECT_EQ(forward(), ORIEL_NO_DEVICE);
  EXPECT_STREQ(oriel_last_error(), "oriel_forward: x is on a CUDA device, but this build runs on the CPU only");
}

TEST_F(CTest, TextsThatAreCutOff) {
  std::array<char, 8> text;
  std::size_t length = 0;
  text.fill('#');
  ASSERT_EQ(oriel_problem_name(problem.get(), text.data(), 6, &length), ORIEL_OK);
  EXPECT_EQ(length, 14U);
  EXPECT_STREQ(text.data(), "max:f");
  EXPECT_EQ(text[6], '#');
  ASSERT_EQ(oriel_active_target(nullptr, 0, &length), ORIEL_OK);
  EXPECT_GT(length, 2U);
  ASSERT_EQ(oriel_supported_targets(text.data(), text.size(), &length), ORIEL_OK);
  EXPECT_EQ(std::strlen(text.data()), std::min(length, text.size() - 1));  // one short name if there is one set
}

TEST_F(CTest, EachThreadHasItsError) {
  EXPECT_EQ(refusal(oriel_set_target("one")).find("'one'") == std::string::npos, false);
  std::string seen = "nothing", own;
  std::thread([&] {
    seen = oriel_last_error();
    (void)oriel_set_target("two");
    own = oriel_last_error();
  }).join();
  EXPECT_EQ(seen, "");
  EXPECT_NE(own.find("'two'"), std::string::npos);
  EXPECT_NE(std::string(oriel_last_error()).find("'one'"), std::string::npos);
  ASSERT_EQ(forward(), ORIEL_OK);
  EXPECT_NE(std::string(oriel_last_error()).find("'one'"), std::string::npos) << "a call that is right changes nothing";
}

oriel_dl_managed_tensor managed(float* data, std::array<int64_t, 2>& shape) {
  oriel_dl_managed_tensor m{};
  m.version = {1, 0};
  m.dl_tensor = {data, {1, 0}, 2, {2, 32, 1}, shape.data(), nullptr, 0};
  return m;
}

TEST_F(CTest, DlpackTensors) {
  oriel_dl_managed_tensor m = managed(values.data(), shape);
  oriel_tensor to = ORIEL_TENSOR_INIT;
  ASSERT_EQ(oriel_tensor_from_dlpack_managed(&m, 1, &to), ORIEL_OK) << oriel_last_error();
  ASSERT_EQ(oriel_forward(problem.get(), &to, &y, nullptr, ORIEL_PLANE, nullptr), ORIEL_OK) << oriel_last_error();
  EXPECT_EQ(results[3], 16);
  const auto refused = [&](int32_t written = 0) {
    const std::string text = refusal(oriel_tensor_from_dlpack_managed(&m, written, &to));
    return text.substr(text.find(':') + 2);
  };
  m.flags = 1;
  EXPECT_EQ(refused(1), "from must be writable, but is marked read-only");
  ASSERT_EQ(oriel_tensor_from_dlpack_managed(&m, 0, &to), ORIEL_OK) << oriel_last_error();
  m.version.major = 2;
  EXPECT_EQ(refused(), "from->version.major must be 1, but is 2");
  m.version.major = 1;
  m.dl_tensor.ndim = 0;
  EXPECT_EQ(refused(), "from->ndim must be 1 to 16, but is 0");
  m.dl_tensor.ndim = 2;
  m.dl_tensor.dtype = {2, 32, 4};
  EXPECT_NE(refused().find("has code 2, 32 bits, 4 lanes"), std::string::npos);
  m.dl_tensor.dtype = {5, 64, 1};
  EXPECT_NE(refused().find("has code 5, 64 bits, 1 lanes"), std::string::npos);
  m.dl_tensor.dtype = {2, 32, 1};
  m.dl_tensor.shape = nullptr;
  EXPECT_EQ(refused(), "from->shape must not be NULL");
  m.dl_tensor.shape = shape.data();
  to.size = 3;
  EXPECT_EQ(refused(), "to->size must be the bytes of the struct, at least 48, but is 3");
  to.size = sizeof to;
  m.dl_tensor.device.type = 10;
  EXPECT_EQ(oriel_tensor_from_dlpack_managed(&m, 0, &to), ORIEL_NO_DEVICE);
}

// What a call makes of an exception that is no Error.
TEST(CStatus, ExceptionsOfOthers) {
  using oriel::c::guarded;
  EXPECT_EQ(guarded([] { throw std::bad_alloc(); }), ORIEL_NO_MEMORY);
  EXPECT_STREQ(oriel::c::last_error(), "out of memory");
  EXPECT_EQ(guarded([] { throw std::runtime_error("a mistake of ours"); }), ORIEL_INTERNAL);
  EXPECT_STREQ(oriel::c::last_error(), "a mistake of ours");
  EXPECT_EQ(guarded([] { throw 7; }), ORIEL_INTERNAL);
  EXPECT_EQ(guarded([] { throw oriel::Error(std::string(5000, 'x')); }), ORIEL_INVALID);
  EXPECT_EQ(std::strlen(oriel::c::last_error()), 1023U) << "longer texts are cut off";
}

TEST(CLibrary, SaysWhatItIs) {
  EXPECT_EQ(oriel_abi(), uint32_t{ORIEL_C_ABI});
  EXPECT_STREQ(oriel_version(), ORIEL_EXPECTED_VERSION);
  EXPECT_GE(oriel_default_threads(), 1);
  EXPECT_EQ(oriel_dtype_bytes(ORIEL_BF16), 2);
  EXPECT_STREQ(oriel_dtype_name(ORIEL_BOOL), "bool");
}

}  // namespace
