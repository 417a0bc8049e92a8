#include <gtest/gtest.h>

#include <cstring>

#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

using ::testing::Test;

// One tensor `a` of two floats, with something of its entry replaced.
std::string one(std::string_view dtype = "\"F32\"", std::string_view shape = "[2]",
                std::string_view offsets = "[0,8]") {
  std::string header = R"({"a":{"dtype":)";
  return header.append(dtype).append(",\"shape\":").append(shape).append(",\"data_offsets\":").append(offsets) + "}}";
}

void expect_refused(const std::string& bytes, std::string_view part) {
  const std::string text = error_of_file(bytes);
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("file: ")) << text;
}

const std::string kData("\0\0\x80\x3f\0\0\0\x40", 8);  // 1, 2

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const Weights w = parse(safetensors(
      R"({"__metadata__":{"made":"by a test"},"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"none":{"dtype":"F16","shape":[3,0],"data_offsets":[8,8]}}  )",
      kData + "\7"));
  ASSERT_EQ(w.tensors().size(), 3U);
  const ConstTensor& a = *w.find("a");
  EXPECT_EQ(a.shape, (Extents{1, 2}));
  EXPECT_EQ(a.dtype, Dtype::f32);
  EXPECT_EQ(static_cast<const float*>(a.data)[0], 1);
  EXPECT_EQ(static_cast<const float*>(a.data)[1], 2);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(w.find("b")->data), 7);
  EXPECT_EQ(w.metadata().at("made"), "by a test");
  EXPECT_EQ(w.format(), "safetensors");
  EXPECT_EQ(w.find("c"), nullptr);
}

TEST(Safetensors, MisalignedDataIsCopied) {
  for (int spaces = 0; spaces < 8; ++spaces) {
    const Weights w = parse(safetensors(one() + std::string(static_cast<std::size_t>(spaces), ' '), kData));
    const auto* const values = static_cast<const float*>(w.find("a")->data);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values) % sizeof(float), 0U);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], 2);
  }
}

TEST(Safetensors, RefusesBrokenHeaders) {
  expect_refused(std::string(8, '\0'), "does not begin with '{'");
  expect_refused(safetensors("[]", ""), "does not begin with '{'");
  expect_refused(safetensors("{", ""), "not JSON");
  expect_refused(safetensors("{}x", ""), "not JSON");
  expect_refused(safetensors("{\"a\":\"\xff\"}", ""), "not JSON");
  expect_refused(safetensors(R"({"a":{"dtype":"F32","dtype":"F32"}})", ""), "twice");
  expect_refused(safetensors(R"({"a":1,"a":1})", ""), "has the key 'a' twice");
  expect_refused(safetensors(R"({"a":[[[[[[1]]]]]]})", ""), "nested");
  expect_refused(safetensors(R"({"a":5})", ""), "tensor 'a': its entry is not an object");
  expect_refused(safetensors(R"({"a":{"dtype":"F32","shape":[]}})", ""), "has no data_offsets");
  expect_refused(safetensors(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})", "1234"), "more than");
  expect_refused(safetensors(R"({"__metadata__":{"x":1}})", ""), "'x', whose value is not a string");
  expect_refused(safetensors(R"({"__metadata__":[]})", ""), "not an object");
}

TEST(Safetensors, RefusesLyingLengths) {
  expect_refused("1234567", "not a file of weights");
  expect_refused(std::string("\x10\0\0\0\0\0\0\0", 8) + "{}",
                 "says 16 bytes, but only 2 follow: the file is truncated");
  expect_refused(std::string("\0\0\0\x7f\0\0\0\0", 8) + "{}", "at most 100000000");
  expect_refused(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8) + "{}", "at most 100000000");
}

TEST(Safetensors, RefusesBadEntries) {
  expect_refused(safetensors(one("\"F8_E4M3\""), kData), "dtype 'F8_E4M3'; allowed: F64, F32");
  expect_refused(safetensors(one("3"), kData), "dtype is not a string");
  expect_refused(safetensors(one("\"F32\"", "[-2]"), kData), "shape holds -2");
  expect_refused(safetensors(one("\"F32\"", "[2.0]"), kData), "shape holds 2.0");
  expect_refused(safetensors(one("\"F32\"", "2"), kData), "shape must be a list");
  expect_refused(safetensors(one("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]"), kData), "at most 16 extents");
  expect_refused(safetensors(one("\"F32\"", "[9223372036854775807,9]"), kData), "2^63");
  expect_refused(safetensors(one("\"F32\"", "[18446744073709551615]"), kData), "shape holds");
  expect_refused(safetensors(one("\"F32\"", "[4611686018427387904]", "[0,0]"), ""), "does not fill");
  expect_refused(safetensors(one("\"F32\"", "[3]"), kData), "does not fill the 8 bytes");
  expect_refused(safetensors(one("\"F32\"", "[2]", "[0]"), kData), "must be two integers");
  expect_refused(safetensors(one("\"F32\"", "[2]", "[8,0]"), kData), "not within the 8 bytes");
  expect_refused(safetensors(one("\"F32\"", "[2]", "[0,16]"), kData), "not within the 8 bytes");
  expect_refused(safetensors(one("\"F32\"", "[2]", "[0,-8]"), kData), "data_offsets holds -8");
}

TEST(Safetensors, EveryByteBelongsToOneTensor) {
  const auto two = [](std::string_view first, std::string_view second) {
    std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)";
    return header.append(first).append(R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)").append(second) + "}}";
  };
  EXPECT_EQ(parse(safetensors(two("[2,4]", "[0,2]"), "1234")).tensors().size(), 2U);
  expect_refused(safetensors(two("[0,2]", "[1,3]"), "123"), "inside another one");
  expect_refused(safetensors(two("[0,2]", "[0,2]"), "12"), "inside another one");
  expect_refused(safetensors(two("[0,2]", "[3,5]"), "12345"), "after a hole from byte 2");
  expect_refused(safetensors(two("[1,3]", "[3,5]"), "12345"), "after a hole from byte 0");
  expect_refused(safetensors(two("[0,2]", "[2,4]"), "12345"), "1 bytes after the last tensor");
  expect_refused(safetensors("{}", "1"), "1 bytes after the last tensor");
}

TEST(Safetensors, WritesWhatItReads) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const std::uint8_t bytes[] = {9, 8, 7};
  Weights w;
  w.add("turned", ConstTensor(values, Dtype::f32, {3, 2}, {1, 3}));  // the transpose of 2x3
  w.add("bytes", ConstTensor(bytes, {3}));
  w.add("number", ConstTensor(values, {}));
  w.note("key", "value \"quoted\"");
  const std::string file = written(w);
  EXPECT_EQ(file, written(w));
  const Weights again = parse(file);
  EXPECT_EQ(again.metadata(), w.metadata());
  ASSERT_EQ(again.tensors().size(), 3U);
  const float turned[] = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(std::memcmp(again.find("turned")->data, turned, sizeof turned), 0);
  EXPECT_EQ(std::memcmp(again.find("bytes")->data, bytes, 3), 0);
  EXPECT_EQ(again.find("number")->rank(), 0);
  EXPECT_EQ(written(again), file);
  w.add("__metadata__", ConstTensor(values, {1}));
  EXPECT_EQ(error_of([&] { written(w); }), "write_safetensors: a tensor cannot have the name __metadata__");
}

TEST(Weights, OtherFilesAreNamed) {
  expect_refused("", "not a file of weights");
  expect_refused("\x89PNG\r\n\x1a\n and so on", "allowed: safetensors, or what PyTorch 1.6 or later saves");
  expect_refused(std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15), "before version 1.6");
  expect_refused(std::string("\x80\x04}.", 4) + "12345678", "a bare pickle");
  std::string tar(512, 'x');
  tar.replace(257, 5, "ustar");
  expect_refused(tar, "a tar archive");
  EXPECT_NE(error_of([] { Weights::load("/no/such/file"); }).find("/no/such/file: cannot open"), std::string::npos);
  EXPECT_NE(error_of([] { Weights::load("/dev/null"); }).find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace oriel::nn
