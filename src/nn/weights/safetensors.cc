// The safetensors format: a length, a JSON header, the tensors' bytes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "byte_order.h"
#include "nn/weights/formats.h"
#include "quoted.h"

namespace oriel::nn {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;

struct NamedType {
  std::string_view text;
  Dtype dtype;
};
constexpr NamedType kTypes[] = {
    {"F64", Dtype::f64}, {"F32", Dtype::f32}, {"F16", Dtype::f16},     {"BF16", Dtype::bf16}, {"I64", Dtype::i64},
    {"I32", Dtype::i32}, {"I16", Dtype::i16}, {"I8", Dtype::i8},       {"U64", Dtype::u64},   {"U32", Dtype::u32},
    {"U16", Dtype::u16}, {"U8", Dtype::u8},   {"BOOL", Dtype::boolean}};

struct Place {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
};

// Refuses what the tree of values would hide (keys given twice) and headers that nest.
struct Watch {
  const std::string& file;
  std::vector<std::set<std::string>> keys{};

  bool operator()(int depth, json::parse_event_t event, json& value) {
    if (depth > 4) throw Error(fmt::format("{}: the safetensors header is nested too deeply", file));
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw Error(fmt::format("{}: the safetensors header has the key {} twice", file,
                              detail::quoted(value.get_ref<const std::string&>(), 100)));
    return true;
  }
};

json parse_header(std::string_view text, const std::string& file) {
  if (text.empty() || text.front() != '{')
    throw Error(fmt::format("{}: the safetensors header does not begin with '{{'", file));
  json header;
  try {
    header = json::parse(text.begin(), text.end(), Watch{file});
  } catch (const json::exception& e) {
    throw Error(fmt::format("{}: the safetensors header is not JSON: {}", file, detail::shortened(e.what())));
  }
  if (!header.is_object()) throw Error(fmt::format("{}: the safetensors header is not an object", file));
  return header;
}

Dtype parse_type(const json& value, const std::string& what) {
  if (!value.is_string()) throw Error(fmt::format("{}: dtype is not a string", what));
  const auto& text = value.get_ref<const std::string&>();
  for (const NamedType& type : kTypes)
    if (type.text == text) return type.dtype;
  std::string known;
  for (const NamedType& type : kTypes) known += fmt::format("{}{}", known.empty() ? "" : ", ", type.text);
  throw Error(fmt::format("{}: dtype {}; allowed: {}", what, detail::quoted(text, 100), known));
}

std::uint64_t parse_count(const json& value, const std::string& what) {
  if (!value.is_number_unsigned()) throw Error(fmt::format("{}; allowed: integers from 0 to 2^63 - 1", what));
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<index_t>::max()))
    throw Error(fmt::format("{}; allowed: integers from 0 to 2^63 - 1", what));
  return number;
}

// One entry of the header; the bytes are relative to the data.
std::pair<ConstTensor, Place> parse_entry(const std::string& name, const json& entry, std::uint64_t data,
                                          const std::string& file) {
  const std::string what = fmt::format("{}: tensor {}", file, detail::quoted(name, 100));
  if (!entry.is_object()) throw Error(fmt::format("{}: its entry is not an object", what));
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key)) throw Error(fmt::format("{}: its entry has no {}", what, key));
  if (entry.size() != 3) throw Error(fmt::format("{}: its entry has more than dtype, shape and data_offsets", what));
  const Dtype dtype = parse_type(entry["dtype"], what);
  const json& extents = entry["shape"];
  if (!extents.is_array() || extents.size() > kMaxRank)
    throw Error(fmt::format("{}: shape must be a list of at most {} extents", what, kMaxRank));
  Extents shape;
  for (const json& extent : extents)
    shape.push_back(
        static_cast<index_t>(parse_count(extent, what + ": shape holds " + detail::shortened(extent.dump()))));
  const json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2)
    throw Error(fmt::format("{}: data_offsets must be two integers", what));
  Place place;
  place.begin = parse_count(offsets[0], what + ": data_offsets holds " + detail::shortened(offsets[0].dump()));
  place.end = parse_count(offsets[1], what + ": data_offsets holds " + detail::shortened(offsets[1].dump()));
  place.name = name;
  if (place.begin > place.end || place.end > data)
    throw Error(fmt::format("{}: data_offsets [{}, {}] are not within the {} bytes of data", what, place.begin,
                            place.end, data));
  index_t bytes = 0;
  if (__builtin_mul_overflow(count_of(shape, what), size_bytes(dtype), &bytes) ||
      place.end - place.begin != static_cast<std::uint64_t>(bytes))
    throw Error(fmt::format("{}: {} {} does not fill the {} bytes of its data_offsets", what, to_string(shape),
                            oriel::name(dtype), place.end - place.begin));
  return {ConstTensor(nullptr, dtype, shape), place};
}

// Every byte of the data belongs to one tensor.
void check_places(std::vector<Place> places, std::uint64_t data, const std::string& file) {
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t at = 0;
  for (const Place& place : places) {
    if (place.begin != at)
      throw Error(fmt::format("{}: tensor {} begins at byte {} of the data, {} byte {}", file,
                              detail::quoted(place.name, 100), place.begin,
                              place.begin < at ? "inside another one, which ends at" : "after a hole from", at));
    at = place.end;
  }
  if (at != data) throw Error(fmt::format("{}: {} bytes after the last tensor", file, data - at));
}

// A copy of a tensor whose elements cannot be read as they lie in the file: a mapped file may put them where none of
// their size can be, and they are little-endian.
Keep readable(ConstTensor& tensor, std::uint64_t bytes) {
  const auto size = static_cast<std::uintptr_t>(size_bytes(tensor.dtype));
  const bool swap = detail::kBigEndian && size > 1;
  if (!swap && reinterpret_cast<std::uintptr_t>(tensor.data) % size == 0) return nullptr;
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  if (bytes != 0) std::memcpy(copy.get(), tensor.data, bytes);
  if (swap) detail::reverse_bytes(copy.get(), static_cast<index_t>(bytes / size), static_cast<index_t>(size));
  tensor.data = copy.get();
  return copy;
}

void read_metadata(const json& entry, Weights& out, const std::string& file) {
  if (!entry.is_object()) throw Error(fmt::format("{}: __metadata__ is not an object", file));
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string())
      throw Error(
          fmt::format("{}: __metadata__ holds {}, whose value is not a string", file, detail::quoted(key, 100)));
    out.note(key, value.get<std::string>());
  }
}

std::string_view type_text(Dtype dtype) {
  return std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NamedType& t) { return t.dtype == dtype; })->text;
}

// A tensor's elements in C order.
void write_elements(const ConstTensor& t, const WriteBytes& write) {
  const auto size = static_cast<std::size_t>(size_bytes(t.dtype));
  const index_t count = element_count(t.shape);
  const auto* const data = static_cast<const std::byte*>(t.data);
  const bool swap = detail::kBigEndian && size > 1;
  if (!swap && t.pitch == dense_pitch(t.shape)) {
    if (count != 0) write(data, static_cast<std::size_t>(count) * size);
    return;
  }
  constexpr std::size_t kFlush = std::size_t{1} << 20;
  std::vector<std::byte> row;
  Extents at = Extents::filled(t.rank(), 0);
  for (index_t i = 0; i < count; ++i) {
    index_t offset = 0;
    for (int axis = 0; axis < t.rank(); ++axis) offset += at[axis] * t.pitch[axis];
    const std::byte* const element = data + offset * static_cast<index_t>(size);
    row.insert(row.end(), element, element + size);
    if (swap) std::reverse(row.end() - static_cast<std::ptrdiff_t>(size), row.end());
    if (row.size() >= kFlush) {
      write(row.data(), row.size());
      row.clear();
    }
    for (int axis = t.rank() - 1; axis >= 0 && ++at[axis] == t.shape[axis]; --axis) at[axis] = 0;
  }
  if (!row.empty()) write(row.data(), row.size());
}

}  // namespace

Weights read_safetensors(Bytes bytes, Keep memory, const std::string& file) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    throw Error(fmt::format("{}: {} bytes are too few for a safetensors header", file, bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof length);
  length = detail::little_endian(length);
  if (length > kMaxHeader)
    throw Error(
        fmt::format("{}: the safetensors header says {} bytes; at most {} are allowed", file, length, kMaxHeader));
  if (length > bytes.size() - sizeof length)
    throw Error(fmt::format("{}: the safetensors header says {} bytes, but only {} follow: the file is truncated", file,
                            length, bytes.size() - sizeof length));
  const json header = parse_header({reinterpret_cast<const char*>(bytes.data()) + sizeof length, length}, file);
  const Bytes data = bytes.subspan(sizeof length + length);

  Weights out;
  std::vector<Keep> kept{std::move(memory)};
  std::vector<Place> places;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      read_metadata(entry, out, file);
      continue;
    }
    auto [tensor, place] = parse_entry(name, entry, data.size(), file);
    tensor.data = data.data() + place.begin;
    if (Keep copy = readable(tensor, place.end - place.begin)) kept.push_back(std::move(copy));
    out.add(name, tensor);
    places.push_back(std::move(place));
  }
  check_places(std::move(places), data.size(), file);
  out.keep(std::make_shared<std::vector<Keep>>(std::move(kept)));
  out.call(file, "safetensors");
  return out;
}

void write_safetensors(const Weights& weights, const WriteBytes& write) {
  std::vector<std::pair<std::string, const ConstTensor*>> order;
  for (const auto& [name, tensor] : weights.tensors()) {
    if (name == "__metadata__") throw Error("write_safetensors: a tensor cannot have the name __metadata__");
    order.emplace_back(name, &tensor);
  }
  // Large elements first: every tensor is aligned although no byte may be left free between them.
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return size_bytes(a.second->dtype) > size_bytes(b.second->dtype);
  });
  json header = json::object();
  if (!weights.metadata().empty()) header["__metadata__"] = weights.metadata();
  index_t at = 0;
  for (const auto& [name, tensor] : order) {
    const index_t end = at + element_count(tensor->shape) * size_bytes(tensor->dtype);
    json shape = json::array();
    for (index_t extent : tensor->shape) shape.push_back(extent);
    header[name] = {{"dtype", type_text(tensor->dtype)}, {"shape", shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception& e) {
    throw Error(
        fmt::format("write_safetensors: a name or a metadata text is not UTF-8: {}", detail::shortened(e.what())));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = detail::little_endian<std::uint64_t>(text.size());
  write(&length, sizeof length);
  write(text.data(), text.size());
  for (const auto& [name, tensor] : order) write_elements(*tensor, write);
}

}  // namespace oriel::nn
