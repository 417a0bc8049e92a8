// Archives of torch.save, also those that torch would never write. weights_test.py reads torch's own.
#include <gtest/gtest.h>

#include <cstring>

#include "byte_order.h"
#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

template <class T>
std::string little(T value) {
  value = detail::little_endian(value);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string text(const std::string& value) { return "X" + little(static_cast<std::uint32_t>(value.size())) + value; }
std::string number(std::int32_t value) { return "J" + little(value); }
std::string tuple(const std::string& items) { return "(" + items + "t"; }
std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }

std::string storage(const std::string& key, int elements, const std::string& type = "FloatStorage") {
  return tuple(text("storage") + global("torch", type) + text(key) + text("cpu") + number(elements)) + "Q";
}

std::string tensor(const std::string& from, int offset, const std::string& shape, const std::string& pitch) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(from + number(offset) + tuple(shape) + tuple(pitch) + "\x89" + global("collections", "OrderedDict") +
               ")R") +
         "R";
}

std::string dict(const std::string& items) { return global("collections", "OrderedDict") + ")R(" + items + "u"; }
std::string pickle(const std::string& value) { return "\x80\x02" + value + "."; }

const std::string kFloats = little(1.0F) + little(2.0F) + little(3.0F) + little(4.0F);

std::string archive(const std::string& value, const Entries& more = {{"net/data/0", kFloats}}) {
  Entries entries{{"net/data.pkl", pickle(value)}};
  entries.insert(entries.end(), more.begin(), more.end());
  return zip(entries);
}

std::string one_tensor(int offset, const std::string& shape, const std::string& pitch, int elements = 4) {
  return dict(text("w") + tensor(storage("0", elements), offset, shape, pitch));
}

void expect_refused(const std::string& bytes, std::string_view part) {
  const std::string message = error_of_file(bytes);
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with("file: ")) << message;
}

std::vector<float> floats(const ConstTensor& tensor) {
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + element_count(tensor.shape)};
}

TEST(Pth, ReadsTensors) {
  const Weights w = parse(archive(dict(text("a") + tensor(storage("0", 4), 0, number(4), number(1)) + text("turned") +
                                       tensor(storage("0", 4), 0, number(2) + number(2), number(1) + number(2)) +
                                       text("tail") + tensor(storage("0", 4), 3, "", ""))));
  EXPECT_EQ(w.format(), "pth");
  ASSERT_EQ(w.tensors().size(), 3U);
  EXPECT_EQ(floats(*w.find("a")), (std::vector{1.0F, 2.0F, 3.0F, 4.0F}));
  EXPECT_EQ(w.find("turned")->pitch, (Extents{1, 2}));
  EXPECT_EQ(w.find("turned")->data, w.find("a")->data);  // one storage
  EXPECT_EQ(*static_cast<const float*>(w.find("tail")->data), 4);
}

TEST(Pth, ReadsWhatBigEndianMachinesWrote) {
  std::string big;
  for (std::size_t i = 0; i < kFloats.size(); ++i) big += kFloats[i / 4 * 4 + 3 - i % 4];
  const std::string value = dict(text("a") + tensor(storage("0", 4), 0, number(4), number(1)) + text("tail") +
                                 tensor(storage("0", 4), 3, "", ""));
  const Weights w = parse(archive(value, {{"net/byteorder", "big"}, {"net/data/0", big}}));
  EXPECT_EQ(floats(*w.find("a")), (std::vector{1.0F, 2.0F, 3.0F, 4.0F}));
  EXPECT_EQ(*static_cast<const float*>(w.find("tail")->data), 4);
  // The elements of a storage are turned once, so they have one size.
  const std::string two = dict(text("a") + tensor(storage("0", 4), 0, number(4), number(1)) + text("b") +
                               tensor(storage("0", 8, "HalfStorage"), 0, number(8), number(1)));
  const std::string other = detail::kBigEndian ? "little" : "big";
  expect_refused(archive(two, {{"net/byteorder", other}, {"net/data/0", big}}), "has elements of 4 and of 2 bytes");
}

TEST(Pth, LooksThroughNestingAndPrefix) {
  const std::string own = dict(text("module.w") + tensor(storage("0", 4), 0, number(4), number(1)));
  EXPECT_NE(parse(archive(own)).find("w"), nullptr);
  for (const char* key : {"state_dict", "model_state_dict", "model"}) {
    const std::string checkpoint =
        "}(" + text("epoch") + number(3) + text("loss") + "G12345678" + text(key) + own + "u";
    EXPECT_NE(parse(archive(checkpoint)).find("w"), nullptr) << key;
  }
  // Values beside the tensors, and one that does not have the prefix.
  const std::string mixed =
      dict(text("module.w") + tensor(storage("0", 4), 0, number(4), number(1)) + text("b") +
           tensor(storage("0", 4), 0, "", "") + text("mask_values") + "](" + number(0) + number(1) + "e");
  EXPECT_NE(parse(archive(mixed)).find("module.w"), nullptr);
}

TEST(Pth, NamesWhatItDoesNotCall) {
  for (const auto& [module, name] : {std::pair("posix", "system"),
                                     {"builtins", "eval"},
                                     {"torch", "load"},
                                     {"collections", "Counter"},
                                     {"torch._utils", "_rebuild_tensor"}}) {
    const std::string value = global(module, name) + "(" + text("echo") + "tR";
    expect_refused(archive(value), std::string("asks for ") + module + "." + name + ", which is not among");
  }
  expect_refused(archive(global("a\x1b[31m", "b")), "asks for a?[31m.b");
  expect_refused(archive(global("torch", "FloatStorage") + ")R"), "torch.FloatStorage is called");
  expect_refused(archive(global("torch", "float32") + ")R"), "torch.float32 is called");
}

TEST(Pth, NamesInstructionsThatItLacks) {
  for (const std::string& code : {std::string("i"), std::string("o"), std::string("\x93"), std::string("\x82\1"),
                                  std::string("P0\n"), std::string("\x8b"), std::string("\x95")})
    expect_refused(archive("}" + code), "has the instruction 0x");
  expect_refused(zip({{"net/data.pkl", "\x80\x04}."}}), "pickle protocol 4; allowed: 2");
}

TEST(Pth, RefusesBrokenPickles) {
  for (const std::string& value :
       {std::string("t"), std::string("u"), std::string("R"), std::string("Q"), std::string("K\1u"),
        std::string("(K\1u"), std::string("h\5"), std::string("K\1Q"), std::string(")Q"),
        std::string("\x8a\x09"
                    "12345678\x7f"),
        std::string("X\xff\xff\xff\xff"), std::string("ctorch"), std::string("}b"), std::string("(}}bb"),
        std::string("](K\1"), std::string("K\1K\1R"), std::string("\x85"), std::string("")})
    EXPECT_NE(error_of_file(archive(value)).find("file: "), std::string::npos);
  std::string whole = archive(one_tensor(0, number(4), number(1)));
  const std::string data = pickle(one_tensor(0, number(4), number(1)));
  for (std::size_t length = 0; length < data.size(); ++length)  // truncated anywhere
    error_of_file(zip({{"net/data.pkl", data.substr(0, length)}, {"net/data/0", kFloats}}));
  for (std::size_t length = 0; length < whole.size(); length += 7) error_of_file(whole.substr(0, length));
}

TEST(Pth, APickleMayReferToItself) {
  // A dictionary in itself, beside a tensor.
  const std::string value =
      "}q\1(" + text("self") + "h\1" + text("w") + tensor(storage("0", 4), 0, number(4), number(1)) + "u";
  EXPECT_NE(parse(archive(value)).find("w"), nullptr);
}

TEST(Pth, ChecksBounds) {
  expect_refused(archive(one_tensor(1, number(4), number(1))), "'w': reaches element 4 of a storage of 4");
  expect_refused(archive(one_tensor(0, number(2), number(4))), "reaches element 4");
  expect_refused(archive(one_tensor(0, number(4), number(1), 5)), "says 5 elements of f32, but data/0 has 16 bytes");
  expect_refused(archive(one_tensor(-1, number(4), number(1))), "offset is negative");
  expect_refused(archive(one_tensor(0, number(-4), number(1))), "no integer >= 0");
  expect_refused(archive(one_tensor(0, number(4), number(1) + number(1))), "one stride for each axis");
  const std::string vast = "\x8a\x08" + little(std::int64_t{1} << 62);
  expect_refused(archive(one_tensor(0, number(4), vast)), "overflow");
  expect_refused(archive(one_tensor(0, vast + vast, number(0) + number(0))), "2^63");
  EXPECT_EQ(parse(archive(one_tensor(9, number(0), number(1)))).find("w")->shape, (Extents{0}));  // empty, anywhere
}

TEST(Pth, ChecksTheArchive) {
  const std::string value = one_tensor(0, number(4), number(1));
  expect_refused(archive(value, {}), "no entry net/data/0");
  expect_refused(zip({{"net/other", ""}}), "without data.pkl");
  expect_refused(zip({{"a/data.pkl", pickle(value)}, {"b/data.pkl", pickle(value)}}), "more than one data.pkl");
  expect_refused(archive(value, {{"net/constants.pkl", ""}, {"net/data/0", kFloats}}), "TorchScript");
  expect_refused(archive(value, {{"net/byteorder", "middle"}, {"net/data/0", kFloats}}),
                 "byte order 'middle'; allowed: little, big");
  EXPECT_NE(parse(archive(value, {{"net/byteorder", "little"}, {"net/data/0", kFloats}})).find("w"), nullptr);
  expect_refused(zip({{"net/data.pkl", pickle(value)}, {"net/data/0", kFloats}}, true), "compressed");
  std::string torn = archive(value);
  torn[torn.find(kFloats)] ^= 1;  // the CRC notices
  expect_refused(torn, "cannot read net/data/0");
  expect_refused(archive("}"), "holds no tensors");
  expect_refused(archive("]"), "holds no dictionary");
  expect_refused(archive(tensor(storage("0", 4), 0, number(4), number(1))), "one tensor without a name");
  expect_refused(archive(dict(number(1) + tensor(storage("0", 4), 0, number(4), number(1)))), "name is not a string");
}

}  // namespace
}  // namespace oriel::nn
