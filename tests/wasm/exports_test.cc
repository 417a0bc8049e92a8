// What the module for browsers and node exports: results, and a clear text for what it cannot carry out.
#include "apps/wasm/exports.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/axis_picture.h"
#include "cli/explain.h"
#include "oriel/pool.h"

namespace oriel {
namespace {

using Floats = std::vector<float>;
constexpr const char* kThirds = "max:f32:9:k3";

std::string result() { return {static_cast<const char*>(oriel_result(0)), oriel_result_bytes(0)}; }

template <class T>
std::vector<T> result_of(int which) {
  std::vector<T> values(oriel_result_bytes(which) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), oriel_result(which), oriel_result_bytes(which));
  return values;
}

template <class T>
std::byte* memory(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

struct Operands {
  Floats x = {}, dy = {};
  std::vector<std::int64_t> indices = {};
};

int pool(const char* name, Operands o) {
  return oriel_pool(name, memory(o.x), 4 * o.x.size(), memory(o.dy), 4 * o.dy.size(), memory(o.indices),
                    8 * o.indices.size());
}

void expect_refused(int status, const std::string& text) {
  EXPECT_EQ(status, 1) << text;
  EXPECT_EQ(result(), text);
  EXPECT_EQ(oriel_result_bytes(1), 0U);
}

TEST(WasmExports, ExplainsEveryNameAsTheCommandDoes) {
  std::ifstream file(ORIEL_WASM_NAMES);
  int count = 0;
  for (std::string name; std::getline(file, name); ++count) {
    const Problem problem = parse_problem(name);
    ASSERT_EQ(oriel_explain_json(name.c_str()), 0) << name << ": " << result();
    EXPECT_EQ(result(), cli::explain_json(problem));
    ASSERT_EQ(oriel_explain_svg(name.c_str(), 0, nullptr, 0), 0) << name << ": " << result();
    EXPECT_EQ(result(), cli::explain_svg(problem, cli::telling_outputs(problem), false));
    ASSERT_EQ(oriel_describe(name.c_str()), 0) << name << ": " << result();
    EXPECT_EQ(nlohmann::json::parse(result())["name"], to_string(problem));
  }
  EXPECT_GE(count, 12);
}

TEST(WasmExports, DescribesWhatAPoolTakesAndGives) {
  ASSERT_EQ(oriel_describe("min:i16:4x6:k2:codes:backward"), 0);
  EXPECT_EQ(nlohmann::json::parse(result()),
            nlohmann::json::parse(R"({"name": "min:i16:4x6:k2:codes:backward", "dtype": "i16", "shape": [4, 6],
                                      "output_shape": [2, 3], "backward": true, "index_dtype": "u8"})"));
  ASSERT_EQ(oriel_describe(kThirds), 0);
  EXPECT_TRUE(nlohmann::json::parse(result())["index_dtype"].is_null());
}

TEST(WasmExports, PoolsForwardAndBackward) {
  const Floats x = {1, 5, 2, 8, 8, 3};
  ASSERT_EQ(pool("max:f32:6:k3", {.x = x}), 0) << result();
  EXPECT_EQ(result_of<float>(0), (Floats{5, 8}));
  EXPECT_EQ(oriel_result_bytes(1), 0U);
  ASSERT_EQ(pool("max:f32:6:k3:indices", {.x = x}), 0) << result();
  EXPECT_EQ(result_of<float>(0), (Floats{5, 8}));
  const auto indices = result_of<std::int64_t>(1);
  EXPECT_EQ(indices, (std::vector<std::int64_t>{1, 3}));
  const Floats dy = {10, 20}, dx = {0, 10, 0, 20, 0, 0};
  ASSERT_EQ(pool("max:f32:6:k3:indices:backward", {.dy = dy, .indices = indices}), 0) << result();
  EXPECT_EQ(result_of<float>(0), dx);
  ASSERT_EQ(pool("max:f32:6:k3:backward", {.x = x, .dy = dy}), 0) << result();
  EXPECT_EQ(result_of<float>(0), dx);
  ASSERT_EQ(pool("sum:f32:6:k3:backward", {.dy = dy}), 0) << result();
  EXPECT_EQ(result_of<float>(0), (Floats{10, 10, 10, 20, 20, 20}));
  oriel_clear();
  EXPECT_EQ(oriel_result_bytes(0), 0U);
}

TEST(WasmExports, RefusesBadNames) {
  for (const auto explain : {oriel_explain_json, oriel_describe}) {
    expect_refused(explain("max:f32:9:k0"), "max_pool: kernel must be >= 1, but axis 0 has 0");
    for (const char* name : {"", ":", "max", "max:f32", "mix:f32:9:k3", "max:f99:9:k3", "max:f32:9:q3", "max:f32:-9:k3",
                             "max:f32:9:k3\xff", "max:f32:9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9x9:k3", "lpnan:f32:9:k3",
                             "max:f32:99999999999999999999:k3"}) {
      EXPECT_EQ(explain(name), 1) << name << " gave " << result();
      EXPECT_GT(result().size(), 10U) << name;
    }
  }
  expect_refused(oriel_explain_json("max:f32:2000000:k1"),
                 "explain: at most 1000000 windows of an axis are listed, but axis 0 has 2000000");
}

TEST(WasmExports, RefusesBadOperands) {
  const Floats nine(9), three(3);
  expect_refused(pool(kThirds, {.x = Floats(8)}), "pool: x must have 36 bytes for 9 of f32, but has 32");
  expect_refused(pool(kThirds, {}), "pool: x must be given for max:f32:9:k3, but is missing");
  expect_refused(pool(kThirds, {.x = nine, .dy = three}), "pool: dy must not be given for max:f32:9:k3, but is there");
  expect_refused(pool(kThirds, {.x = nine, .indices = {1, 2, 3}}),
                 "pool: indices must not be given for max:f32:9:k3, but is there");
  expect_refused(pool("max:f32:9:k3:backward", {.dy = three}),
                 "pool: x must be given for max:f32:9:k3:backward, but is missing");
  expect_refused(pool("max:f32:9:k3:indices:backward", {.dy = three, .indices = {1, 2}}),
                 "pool: indices must have 24 bytes for 3 of i64, but has 16");
  expect_refused(pool("sum:f32:9:k3:backward", {.x = nine, .dy = three}),
                 "pool: x must not be given for sum:f32:9:k3:backward, but is there");
  for (const std::int64_t index : {std::int64_t{-2}, std::int64_t{9}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(pool("max:f32:9:k3:indices:backward", {.dy = three, .indices = {1, index, 7}}), 1);
    EXPECT_NE(result().find(std::to_string(index)), std::string::npos) << result();
  }
  expect_refused(pool("max:u8:65536x65536:k2", {.x = Floats(1)}),
                 "pool: x must have at most 2147483647 bytes, but has the shape 65536x65536 of u8");
  expect_refused(pool("max:f32:1x1:out65536x65536", {.x = Floats(1)}),
                 "pool: the result must have at most 2147483647 bytes, but has the shape 65536x65536 of f32");
}

TEST(WasmExports, RefusesOutputsThatAreNotThere) {
  const char* const name = "avg:f32:1x1x6x7:k3x3s2p1";
  const std::int32_t output[] = {0, 3, 0}, beyond[] = {0, 4}, negative[] = {-1, 0};
  ASSERT_EQ(oriel_explain_svg(name, 0, output, 2), 0) << result();
  EXPECT_NE(result().find("output 0x3: axis 2 down, axis 3 across"), std::string::npos);
  expect_refused(oriel_explain_svg(name, 0, output, 1),
                 "explain: output must have one number for each of 2 pooled axes, but has 1");
  expect_refused(oriel_explain_svg(name, 0, output, 3),
                 "explain: output must have one number for each of 2 pooled axes, but has 3");
  expect_refused(oriel_explain_svg(name, 0, beyond, 2), "explain: output must be 0 to 3 along axis 3, but is 4");
  expect_refused(oriel_explain_svg(name, 0, negative, 2), "explain: output must be 0 to 2 along axis 2, but is -1");
}

TEST(WasmExports, TellsTheVersion) {
  ASSERT_EQ(oriel_version(), 0);
  EXPECT_EQ(result(), ORIEL_EXPECTED_VERSION);
}

}  // namespace
}  // namespace oriel
