#include "apps/portrait/runtime/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "io/input_file.h"
#include "oriel/types.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(fmt::format("{}: {}", file, why));
}

// The fields of one message of protocol buffers: a number, and a value or bytes.
class Fields {
 public:
  Fields(Bytes bytes, const std::string& file) : left_(bytes), file_(file) {}

  bool next() {
    if (left_.empty()) return false;
    const std::uint64_t key = varint();
    number = key >> 3;
    const auto type = key & 7;
    content = {};
    value = 0;
    if (number == 0) damaged();
    if (type == 0)
      value = varint();
    else if (type == 1 || type == 5)
      content = take(type == 1 ? 8 : 4);
    else if (type == 2)
      content = take(varint());
    else
      damaged();
    has_bytes = type == 2;
    return true;
  }

  // Of packed numbers, which have no keys.
  bool done() const { return left_.empty(); }
  std::uint64_t packed() { return varint(); }

  std::uint64_t number = 0, value = 0;
  Bytes content;
  bool has_bytes = false;

 private:
  [[noreturn]] void damaged() const {
    refuse(file_, "not an ONNX model, or damaged: a part of it does not end inside the file");
  }
  std::uint64_t varint() {
    std::uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(take(1)[0]);
      result |= (byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
    damaged();
  }
  Bytes take(std::uint64_t count) {
    if (count > left_.size()) damaged();
    const Bytes taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }

  Bytes left_;
  const std::string& file_;
};

// Bytes of an element of TensorProto.DataType; 0: not stored as raw bytes of whole elements.
std::uint64_t element_bytes(std::uint64_t type) {
  switch (type) {
    case 2:
    case 3:
    case 9:
      return 1;  // uint8, int8, bool
    case 4:
    case 5:
    case 10:
    case 16:
      return 2;  // uint16, int16, float16, bfloat16
    case 1:
    case 6:
    case 12:
      return 4;  // float, int32, uint32
    case 7:
    case 11:
    case 13:
      return 8;  // int64, double, uint64
    default:
      return 0;
  }
}

// Walks the messages of an ONNX model that can hold tensors.
class OnnxWalk {
 public:
  explicit OnnxWalk(const std::string& file) : file_(file) {}

  void model(Bytes bytes) {
    bool version = false, has_graph = false;
    for (Fields f(bytes, file_); f.next();) {
      version |= f.number == 1 && !f.has_bytes;
      if (!f.has_bytes) continue;
      if (f.number == 7) graph(f.content, 0);
      has_graph |= f.number == 7;
      if (f.number == 25) function(f.content);
      if (f.number == 20) refuse(file_, "it holds training information; allowed: models for inference");
    }
    if (!version || !has_graph) refuse(file_, "not an ONNX model: it has no version or no graph");
  }

 private:
  void graph(Bytes bytes, int depth) {
    constexpr int most = 32;
    if (depth > most) refuse(file_, fmt::format("its graphs are nested more than {} deep", most));
    for (Fields f(bytes, file_); f.next();) {
      if (!f.has_bytes) continue;
      if (f.number == 1) node(f.content, depth);
      if (f.number == 5) tensor(f.content);
      if (f.number == 15) sparse(f.content);
    }
  }
  void function(Bytes bytes) {
    for (Fields f(bytes, file_); f.next();)
      if (f.has_bytes && f.number == 7) node(f.content, 0);
  }
  void node(Bytes bytes, int depth) {
    for (Fields f(bytes, file_); f.next();)
      if (f.has_bytes && f.number == 5) attribute(f.content, depth);
  }
  void attribute(Bytes bytes, int depth) {
    for (Fields f(bytes, file_); f.next();) {
      if (!f.has_bytes) continue;
      if (f.number == 5 || f.number == 10) tensor(f.content);
      if (f.number == 6 || f.number == 11) graph(f.content, depth + 1);
      if (f.number == 22 || f.number == 23) sparse(f.content);
    }
  }
  void sparse(Bytes bytes) {
    for (Fields f(bytes, file_); f.next();)
      if (f.has_bytes && (f.number == 1 || f.number == 2)) tensor(f.content);
  }
  void tensor(Bytes bytes) {
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    std::uint64_t count = 1, type = 0;
    const auto extent = [&](std::uint64_t n) {
      if (n > most || (n > 0 && count > most / n)) refuse(file_, "a tensor in it has more than 2^40 elements");
      count *= n;
    };
    bool raw = false;
    std::uint64_t raw_bytes = 0;
    for (Fields f(bytes, file_); f.next();) {
      if (f.number == 13 || (f.number == 14 && f.value != 0))
        refuse(file_, "it keeps weights in another file (external data); allowed: models in one file");
      if (f.number == 1 && !f.has_bytes) extent(f.value);
      if (f.number == 1 && f.has_bytes)
        for (Fields packed(f.content, file_); !packed.done();) extent(packed.packed());
      if (f.number == 2) type = f.value;
      if (f.number == 9 && f.has_bytes) {
        raw = true;
        raw_bytes = f.content.size();
      }
    }
    const std::uint64_t each = element_bytes(type);
    if (raw && each > 0 && raw_bytes != count * each)
      refuse(file_, fmt::format("a tensor in it has {} bytes, but its shape needs {}", raw_bytes, count * each));
  }

  const std::string& file_;
};

}  // namespace

void check_onnx(Bytes bytes, const std::string& file) {
  if (bytes.empty()) refuse(file, "not an ONNX model: the file is empty");
  OnnxWalk(file).model(bytes);
}

void check_lite(Bytes bytes, const std::string& file) {
  constexpr std::size_t start = 8;  // the root table's place, then the format's name
  if (bytes.size() < start + 8 || std::memcmp(bytes.data() + 4, "TFL3", 4) != 0)
    refuse(file, "not a TensorFlow Lite model: it does not begin with that format's name, TFL3");
  std::uint32_t root = 0;
  for (int i = 3; i >= 0; --i) root = (root << 8) | std::to_integer<std::uint32_t>(bytes[static_cast<std::size_t>(i)]);
  if (root < start || root > bytes.size() - 4) refuse(file, "damaged: its first table is not inside the file");
}

void check_model_file(const std::string& file) {
  constexpr std::uintmax_t most = std::uintmax_t{4} << 30;
  std::error_code none;
  if (!std::filesystem::exists(file, none)) throw Error(fmt::format("{}: no such file", file));
  if (!std::filesystem::is_regular_file(file, none))
    throw Error(fmt::format("{}: not a regular file; allowed: a model's file", file));
  if (std::filesystem::file_size(file, none) > most) refuse(file, "larger than 4 GiB; allowed: smaller models");
  const io::MappedFile mapped = io::map_file(file);
  const bool onnx = std::filesystem::path(file).extension().string().size() == 5;  // else .tflite
  onnx ? check_onnx(mapped.bytes, file) : check_lite(mapped.bytes, file);
}

}  // namespace oriel::portrait
