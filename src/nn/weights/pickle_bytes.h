// The bytes of a pickle, one operand after another.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>

#include "byte_order.h"
#include "nn/weights/formats.h"

namespace oriel::nn {

class PickleBytes {
 public:
  PickleBytes(Bytes bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::size_t at() const { return at_; }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: data.pkl is broken at byte {}: {}", file_, at_, what));
  }

  int byte() {
    if (at_ == bytes_.size()) fail("it ends without STOP");
    return std::to_integer<int>(bytes_[at_++]);
  }

  template <class T>
  T little() {
    T value{};
    if (bytes_.size() - at_ < sizeof value) fail("it ends inside an instruction");
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return detail::little_endian(value);
  }

  std::string_view take(std::size_t count) {
    if (bytes_.size() - at_ < count) fail("it ends inside a text");
    at_ += count;
    return {reinterpret_cast<const char*>(bytes_.data()) + at_ - count, count};
  }

  std::string_view line() {
    const std::size_t begin = at_;
    while (byte() != '\n') {
    }
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin - 1};
  }

  // Little-endian two's complement of up to 8 bytes; longer ones are no sizes.
  index_t long_integer() {
    const std::string_view bytes = take(static_cast<std::size_t>(byte()));
    if (bytes.size() > 8) fail("an integer has more than 64 bits");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    if (!bytes.empty() && bytes.size() < 8 && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0)
      value |= ~std::uint64_t{0} << (8 * bytes.size());
    return static_cast<index_t>(value);
  }

 private:
  Bytes bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace oriel::nn
