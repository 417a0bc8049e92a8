#include "nn/weights_text.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <memory>

#include "byte_order.h"

namespace oriel::nn {
namespace {

template <class T>
void put(std::string& out, T value) {
  value = detail::little_endian(value);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What a local header and the central directory both say of an entry.
void put_entry(std::string& out, const std::string& name, const std::string& data, const std::string& stored,
               bool compressed) {
  put<std::uint16_t>(out, compressed ? 8 : 0);
  put<std::uint32_t>(out, 0x00210000);  // the first day that zip knows
  put<std::uint32_t>(out, static_cast<std::uint32_t>(
                              crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size()))));
  put<std::uint32_t>(out, static_cast<std::uint32_t>(stored.size()));
  put<std::uint32_t>(out, static_cast<std::uint32_t>(data.size()));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(name.size()));
  put<std::uint16_t>(out, 0);
}

// Without the two bytes before and the checksum after that zip leaves out.
std::string deflated(const std::string& data) {
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
           static_cast<uLong>(data.size()));
  return out.substr(2, size - 6);
}

}  // namespace

std::string safetensors(std::string_view header, std::string_view data) {
  std::string out;
  put<std::uint64_t>(out, header.size());
  return out.append(header).append(data);
}

Weights parse(const std::string& bytes) {
  const std::shared_ptr<std::byte[]> memory(new std::byte[bytes.size()]);
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  return Weights::parse({memory.get(), bytes.size()}, memory, "file");
}

std::string error_of_file(const std::string& bytes) {
  return error_of([&] { parse(bytes); });
}

std::string written(const Weights& weights) {
  std::string out;
  write_safetensors(weights,
                    [&](const void* from, std::size_t count) { out.append(static_cast<const char*>(from), count); });
  return out;
}

std::string zip(const Entries& entries, bool compressed) {
  std::string out, directory;
  for (const auto& [name, data] : entries) {
    const std::string stored = compressed ? deflated(data) : data;
    const auto at = static_cast<std::uint32_t>(out.size());
    out += "PK\3\4";
    put<std::uint16_t>(out, 20);
    put<std::uint16_t>(out, 0);
    put_entry(out, name, data, stored, compressed);
    out += name + stored;
    directory += "PK\1\2";
    put<std::uint16_t>(directory, 20);
    put<std::uint16_t>(directory, 20);
    put<std::uint16_t>(directory, 0);
    put_entry(directory, name, data, stored, compressed);
    directory.append(10, '\0');  // comment, disk, attributes
    put<std::uint32_t>(directory, at);
    directory += name;
  }
  const auto begin = static_cast<std::uint32_t>(out.size());
  out += directory + std::string("PK\5\6\0\0\0\0", 8);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entries.size()));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entries.size()));
  put<std::uint32_t>(out, static_cast<std::uint32_t>(directory.size()));
  put<std::uint32_t>(out, begin);
  put<std::uint16_t>(out, 0);
  return out;
}

}  // namespace oriel::nn
