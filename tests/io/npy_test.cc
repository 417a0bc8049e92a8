#include "io/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "io/files.h"
#include "io/input_file.h"
#include "scratch.h"

namespace oriel::io {
namespace {

constexpr Dtype kDtypes[] = {
#define ORIEL_DTYPE(name, type, accumulator) Dtype::name,
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
};

// A whole file around a dict, of version `major`.
std::string file_with(const std::string& dict, const std::string& data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>((dict.size() >> (8 * i)) & 0xff);
  return bytes + dict + data;
}

std::string dict_of(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

Array read_bytes(const std::string& bytes, std::optional<Dtype> dtype = std::nullopt) {
  return read_npy(stream_of(bytes, 1 << 20), "f.npy", dtype);
}

std::string refusal(const std::string& bytes, std::optional<Dtype> dtype = std::nullopt) {
  Scratch scratch;
  write_text(scratch.path("f.npy"), bytes);
  const std::string mapped = error_of([&] { read_npy(scratch.path("f.npy"), dtype); });
  const std::string streamed = error_of([&] { read_bytes(bytes, dtype); });
  // Both ways say the same of a file that both can see whole.
  if (bytes.size() > 64) {
    EXPECT_EQ(mapped.substr(mapped.find("f.npy")), streamed);
  }
  return streamed;
}

TEST(Npy, every_dtype_and_rank_comes_back) {
  Scratch scratch;
  for (const Dtype dtype : kDtypes)
    for (const Extents& shape : {Extents{}, {5}, {0, 3}, {2, 3, 4}, {1, 2, 1, 2, 1, 2, 1, 3}}) {
      const Buffer values = counting(dtype, shape);
      write_text(scratch.path("a.npy"), written([&](const WriteBytes& w) { write_npy(w, values.view); }));
      const Array back = read_npy(scratch.path("a.npy"), dtype);
      EXPECT_EQ(back.view.dtype, dtype);
      EXPECT_EQ(back.view.shape, shape);
      EXPECT_EQ(elements(back.view), elements(values.view));
    }
}

TEST(Npy, data_begins_at_a_multiple_of_64_and_is_mapped) {
  Scratch scratch;
  const Buffer values = counting(Dtype::f32, {100, 100});
  write_text(scratch.path("a.npy"), written([&](const WriteBytes& w) { write_npy(w, values.view); }));
  const Array back = read_npy(scratch.path("a.npy"));
  const std::size_t offset = npy_header(Dtype::f32, {100, 100}).size();
  EXPECT_EQ(offset % 64, 0U);
  EXPECT_EQ(static_cast<const std::byte*>(back.view.data) - static_cast<const std::byte*>(back.memory.get()),
            static_cast<std::ptrdiff_t>(offset));
}

TEST(Npy, fortran_order_is_a_view) {
  const std::string bytes =
      file_with(dict_of("<i4", "(2, 3)", "True"), std::string("\0\0\0\0\3\0\0\0\1\0\0\0\4\0\0\0\2\0\0\0\5\0\0\0", 24));
  const Array array = read_bytes(bytes);
  EXPECT_EQ(array.view.pitch, (Extents{1, 2}));
  EXPECT_EQ(elements(array.view), elements(counting(Dtype::i32, {2, 3}).view));
}

TEST(Npy, big_endian_is_turned_round) {
  EXPECT_EQ(elements(read_bytes(file_with(dict_of(">i4", "(2,)"), std::string("\0\0\0\0\0\0\0\1", 8))).view),
            elements(counting(Dtype::i32, {2}).view));
  EXPECT_EQ(elements(read_bytes(file_with(dict_of(">u2", "(3,)"), std::string("\0\0\0\1\0\2", 6))).view),
            elements(counting(Dtype::u16, {3}).view));
}

TEST(Npy, misaligned_data_is_copied) {
  const std::string data("\0\0\0\0\1\0\0\0", 8);
  for (int spaces = 0; spaces < 8; ++spaces) {
    Scratch scratch;
    write_text(scratch.path("a.npy"),
               file_with(dict_of("<i4", "(2,)") + std::string(static_cast<std::size_t>(spaces), ' '), data));
    const Array array = read_npy(scratch.path("a.npy"));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.view.data) % 4, 0U);
    EXPECT_EQ(elements(array.view), data);
  }
}

TEST(Npy, versions_1_to_3) {
  for (const int major : {1, 2, 3})
    EXPECT_EQ(read_bytes(file_with(dict_of("|u1", "(3,)"), "abc", major)).view.shape, (Extents{3}));
}

TEST(Npy, forms_of_the_dict_that_python_would_read) {
  for (const char* dict : {"{'shape':(3,),'fortran_order':False,'descr':'|u1'}",
                           "{ \"descr\" : \"u1\" , 'fortran_order' : True, 'shape' : ( 3 , ) }  \n",
                           "{'descr': '<u1', 'fortran_order': False, 'shape': (3L,), }"})
    EXPECT_EQ(elements(read_bytes(file_with(dict, "abc")).view), "abc") << dict;
}

TEST(Npy, bf16_must_be_asked_for) {
  const std::string bytes = file_with(dict_of("<V2", "(1,)"), "\x80\x3f");
  EXPECT_EQ(read_bytes(bytes, Dtype::bf16).view.dtype, Dtype::bf16);
  EXPECT_EQ(read_bytes(file_with(dict_of("|V2", "(1,)"), "\x80\x3f"), Dtype::bf16).view.dtype, Dtype::bf16);
  EXPECT_EQ(refusal(bytes), "f.npy: the .npy header has dtype '<V2', which may be bf16; --dtype bf16 reads it as such");
  EXPECT_EQ(refusal(file_with(dict_of("<f4", "(1,)"), "abcd"), Dtype::bf16),
            "f.npy: the file holds f32, but bf16 was requested; allowed: f32");
}

TEST(Npy, a_stream_in_single_bytes) {
  const Buffer values = counting(Dtype::u16, {300});
  const std::string bytes = written([&](const WriteBytes& w) { write_npy(w, values.view); });
  EXPECT_EQ(elements(read_npy(stream_of(bytes, 1), "s").view), elements(values.view));
}

TEST(Npy, a_stream_longer_than_its_first_buffer) {
  const Buffer values = counting(Dtype::u8, {9'000'000});
  const std::string bytes = written([&](const WriteBytes& w) { write_npy(w, values.view); });
  EXPECT_EQ(elements(read_npy(stream_of(bytes, 1 << 16), "s").view), elements(values.view));
}

TEST(BadNpy, every_truncation) {
  const std::string whole = file_with(dict_of("<i4", "(2, 3)"), std::string(24, 'x'));
  for (std::size_t n = 1; n < whole.size(); ++n) {
    const std::string text = error_of([&] { read_bytes(whole.substr(0, n)); });
    EXPECT_TRUE(text.find("cut off") != std::string::npos || text.find("not a .npy file") != std::string::npos)
        << n << ": " << text;
    Scratch scratch;
    write_text(scratch.path("f.npy"), whole.substr(0, n));
    error_of([&] { read_npy(scratch.path("f.npy")); });
  }
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            "f.npy: the .npy file is cut off: shape 2x3 of i32 needs 24 bytes of data, but there are 23");
  EXPECT_EQ(refusal(whole + "y"),
            "f.npy: the .npy file is too long: shape 2x3 of i32 needs 24 bytes of data, but there are more");
}

TEST(BadNpy, every_single_wrong_byte_of_a_header_is_read_or_refused) {
  const std::string whole = file_with(dict_of("<i4", "(2, 3)"), std::string(24, 'x'));
  for (std::size_t i = 0; i < whole.size() - 24; ++i)
    for (int b = 0; b < 256; ++b) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(b);
      try {
        EXPECT_LE(element_count(read_bytes(bytes).view.shape), 24);
      } catch (const Error& e) {
        EXPECT_EQ(std::strchr(e.what(), '\n'), nullptr) << e.what();
      }
    }
}

TEST(BadNpy, headers) {
  const std::pair<std::string, const char*> cases[] = {
      {dict_of("|O", "(1,)"), "has dtype '|O', Python objects"},
      {dict_of("<c8", "(1,)"), "has dtype '<c8'; allowed: f8 f4 f2"},
      {dict_of("<U5", "(1,)"), "has dtype '<U5'"},
      {dict_of("", "(1,)"), "has dtype ''"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "describes records"},
      {dict_of("<f4", "(-1,)"), "has the extent '-1'; allowed: >= 0"},
      {dict_of("<f4", "(9223372036854775808,)"), "allowed: 0 to 2^63 - 1"},
      {dict_of("<f4", "(4611686018427387904, 4)"), "allowed: at most 2^63 - 1 bytes"},
      {dict_of("<f4", "(0, 4611686018427387904, 4)"), "allowed: at most 2^63 - 1 bytes"},
      {dict_of("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "has more than 16 axes"},
      {dict_of("<f4", "(1.5,)"), "needs ')'"},
      {dict_of("<f4", "(1 2)"), "needs ')'"},
      {dict_of("<f4", "3"), "needs '('"},
      {dict_of("<f4", "(3)"), "allowed: a tuple such as (3,)"},
      {dict_of("<f4", "(1,)", "0"), "has fortran_order '0'; allowed: True, False"},
      {"{'descr': '<f4', 'fortran_order': False}", "has no 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "has 'descr' twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "has the key 'x'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} import os", "after the dict"},
      {"{'descr': '<f4", "has a string that does not end"},
      {"", "has 0 bytes; needed: a dict"},
      {"{", "has 1 bytes; needed: a dict"},
      {"  ", "needs '{' at byte 2, but has the end"},
      {"\xff\xfe", "needs '{' at byte 0, but has '?'"},
  };
  for (const auto& [dict, wanted] : cases) {
    const std::string text = refusal(file_with(dict, std::string(64, 'x')));
    EXPECT_EQ(text.rfind("f.npy: the .npy header ", 0), 0U) << text;
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  }
}

TEST(BadNpy, prefixes) {
  EXPECT_EQ(refusal("hello world, hello world"), "f.npy: not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x04\x00\x10\x00\x00\x00", 12)),
            "f.npy: .npy version 4.0; allowed: 1.0, 2.0, 3.0");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
            "f.npy: the .npy header has 4294967295 bytes; allowed: at most 1048576");
}

TEST(BadNpy, a_huge_claim_costs_no_memory) {
  // Far more is claimed than the 10 bytes that are there: both ways must see that before they allocate.
  const std::string text = refusal(file_with(dict_of("|u1", "(1073741824,)"), "0123456789"));
  EXPECT_NE(text.find("needs 1073741824 bytes of data, but there are 10"), std::string::npos) << text;
  const std::string file = file_with(dict_of("|u1", "(4611686018427387904,)"), "0123456789");  // 4 EiB
  EXPECT_NE(error_of([&] {
              read_npy(stream_of(file, 100), "s");
            }).find("s: shape 4611686018427387904 of u8 takes 4398046511104 MiB of memory; allowed: at most "),
            std::string::npos);
}

TEST(BadNpy, files) {
  Scratch scratch;
  EXPECT_NE(error_of([&] { read_array(scratch.path("none.npy")); }).find("none.npy: cannot open: No such file"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read_array(scratch.path("")); }).find("a folder; allowed: a file"), std::string::npos);
  write_text(scratch.path("empty.npy"), "");
  EXPECT_NE(error_of([&] { read_array(scratch.path("empty.npy")); }).find("the file is empty"), std::string::npos);
  EXPECT_NE(error_of([&] { format_of("x.tar"); }).find("x.tar: the extension '.tar' is unknown; allowed: .npy"),
            std::string::npos);
}

}  // namespace
}  // namespace oriel::io
