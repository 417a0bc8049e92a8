// The header of a .npy file: a Python dict literal, read by a parser that knows only what numpy writes.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>

#include "io/npy.h"
#include "quoted.h"

namespace oriel::io {
namespace {

struct Descr {
  std::string_view code;  // without the byte order
  Dtype dtype;
};
constexpr std::array kDescrs = {
    Descr{"f8", Dtype::f64}, Descr{"f4", Dtype::f32}, Descr{"f2", Dtype::f16}, Descr{"i1", Dtype::i8},
    Descr{"u1", Dtype::u8},  Descr{"i2", Dtype::i16}, Descr{"u2", Dtype::u16}, Descr{"i4", Dtype::i32},
    Descr{"u4", Dtype::u32}, Descr{"i8", Dtype::i64}, Descr{"u8", Dtype::u64}, Descr{"b1", Dtype::boolean},
};
constexpr std::string_view kAllowedDescrs = "f8 f4 f2 i1 u1 i2 u2 i4 u4 i8 u8 b1, and V2 if bf16 is requested";

using detail::quoted;

// Reads the dict from left to right; every step either consumes a character or throws.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file, std::optional<Dtype> asked)
      : text_(text), file_(file), asked_(asked) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (at_ < text_.size()) fail(fmt::format("has {} after the dict; allowed: spaces", quoted(text_.substr(at_))));
    for (const auto& [seen, key] :
         {std::pair{has_descr_, "descr"}, {has_order_, "fortran_order"}, {has_shape_, "shape"}})
      if (!seen) fail(fmt::format("has no '{}'; needed: descr, fortran_order, shape", key));
    check_bytes();
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: the .npy header {}", file_, what));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  // What an error shows: up to where a value ends.
  std::string_view word_at(std::size_t begin) const {
    const std::string_view rest = text_.substr(begin);
    return rest.substr(0, rest.find_first_of(",) }:\n"));
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (accept(c)) return;
    const std::string found = at_ == text_.size() ? "the end" : quoted(text_.substr(at_, 1));
    fail(fmt::format("needs '{}' at byte {}, but has {}", c, at_, found));
  }

  std::string_view read_string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') expect('\'');
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\') ++at_;
    if (at_ == text_.size() || text_[at_] != quote) fail("has a string that does not end");
    return text_.substr(begin, at_++ - begin);
  }

  void read_entry() {
    const std::string_view key = read_string();
    expect(':');
    if (key == "descr") {
      once(has_descr_, key);
      read_descr();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      header_.fortran = read_bool();
    } else if (key == "shape") {
      once(has_shape_, key);
      read_shape();
    } else {
      fail(fmt::format("has the key {}; allowed: descr, fortran_order, shape", quoted(key)));
    }
  }

  void once(bool& seen, std::string_view key) const {
    if (seen) fail(fmt::format("has '{}' twice", key));
    seen = true;
  }

  bool read_bool() {
    skip_space();
    for (const auto& [word, value] : {std::pair{std::string_view("False"), false}, {std::string_view("True"), true}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail(fmt::format("has fortran_order {}; allowed: True, False", quoted(word_at(at_))));
  }

  void read_descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') fail("describes records; allowed: arrays of one number type");
    const std::string_view descr = read_string();
    const char order = descr.empty() ? '\0' : descr[0];
    const std::string_view code =
        order == '<' || order == '>' || order == '|' || order == '=' ? descr.substr(1) : descr;
    if (code == "O" || code == "O8")
      fail(fmt::format("has dtype {}, Python objects; allowed: {}", quoted(descr), kAllowedDescrs));
    header_.dtype = dtype_of_code(code, descr);
    const bool big = order == '>';
    header_.swapped = size_bytes(header_.dtype) > 1 && order != '|' && order != '=' && order != code[0] &&
                      big != (std::endian::native == std::endian::big);
    if (asked_ && header_.dtype != *asked_)
      throw Error(fmt::format("{}: the file holds {}, but {} was requested; allowed: {}", file_, name(header_.dtype),
                              name(*asked_), name(header_.dtype)));
  }

  Dtype dtype_of_code(std::string_view code, std::string_view descr) const {
    for (const Descr& d : kDescrs)
      if (d.code == code) return d.dtype;
    if (code == "V2" && asked_ == Dtype::bf16) return Dtype::bf16;
    if (code == "V2")
      fail(fmt::format("has dtype {}, which may be bf16; --dtype bf16 reads it as such", quoted(descr)));
    fail(fmt::format("has dtype {}; allowed: {}", quoted(descr), kAllowedDescrs));
  }

  index_t read_extent() {
    skip_space();
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '-')
      fail(fmt::format("has the extent {}; allowed: >= 0", quoted(word_at(at_))));
    index_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int digit = text_[at_] - '0';
      if (value > (std::numeric_limits<index_t>::max() - digit) / 10)
        fail(fmt::format("has the extent {}; allowed: 0 to 2^63 - 1", quoted(word_at(begin))));
      value = value * 10 + digit;
    }
    if (at_ == begin) fail(fmt::format("has {} instead of an extent; allowed: whole numbers", quoted(word_at(at_))));
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long of Python 2
    return value;
  }

  void read_shape() {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) expect(')');
      if (header_.shape.size() == kMaxRank)
        fail(fmt::format("has more than {} axes; allowed: at most {}", kMaxRank, kMaxRank));
      header_.shape.push_back(read_extent());
      comma = accept(',');
    }
    if (header_.shape.size() == 1 && !comma)
      fail("has a number in brackets as its shape; allowed: a tuple such as (3,)");
  }

  // The product is formed without zeros, so that numpy's own limit on empty arrays holds too.
  void check_bytes() const {
    index_t bytes = size_bytes(header_.dtype);
    for (const index_t n : header_.shape) {
      if (n == 0) continue;
      if (bytes > std::numeric_limits<index_t>::max() / n)
        fail(fmt::format("has the shape {} of {}; allowed: at most 2^63 - 1 bytes", to_string(header_.shape),
                         name(header_.dtype)));
      bytes *= n;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::optional<Dtype> asked_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

}  // namespace

std::size_t npy_header_bytes(std::span<const std::byte> prefix, const std::string& file) {
  constexpr std::string_view magic = "\x93NUMPY";
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(prefix[i]); };
  for (std::size_t i = 0; i < magic.size(); ++i) {
    if (i >= prefix.size() || byte(i) != static_cast<unsigned char>(magic[i]))
      throw Error(fmt::format("{}: not a .npy file: it does not begin with \\x93NUMPY", file));
  }
  if (prefix.size() < kNpyPrefix)
    throw Error(fmt::format("{}: the .npy file is cut off: it has {} bytes, no whole header", file, prefix.size()));
  const std::size_t major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0)
    throw Error(fmt::format("{}: .npy version {}.{}; allowed: 1.0, 2.0, 3.0", file, major, byte(7)));
  const std::size_t begin = major == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxNpyHeader)
    throw Error(fmt::format("{}: the .npy header has {} bytes; allowed: at most {}", file, length, kMaxNpyHeader));
  // Below kNpyPrefix the header would end inside the bytes that a stream has given already.
  if (begin + length < kNpyPrefix)
    throw Error(fmt::format("{}: the .npy header has {} bytes; needed: a dict", file, length));
  return begin + length;
}

NpyHeader parse_npy_header(std::string_view dict, const std::string& file, std::optional<Dtype> dtype) {
  return HeaderParser(dict, file, dtype).parse();
}

std::string npy_header(Dtype dtype, const Extents& shape) {
  std::string descr = "<V2";
  for (const Descr& d : kDescrs)
    if (d.dtype == dtype) descr = (size_bytes(dtype) == 1 ? "|" : "<") + std::string(d.code);
  std::string extents;
  for (const index_t n : shape) extents += fmt::format("{}, ", n);
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.pop_back();
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
  constexpr std::size_t prefix = 10, alignment = 64;
  const std::size_t total = (prefix + dict.size() + 1 + alignment - 1) / alignment * alignment;
  dict.resize(total - prefix - 1, ' ');
  dict += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dict.size() & 0xff);
  bytes += static_cast<char>(dict.size() >> 8);
  return bytes + dict;
}

}  // namespace oriel::io
