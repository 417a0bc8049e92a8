#include "io/tiff/directory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "byte_order.h"

namespace oriel::io::tiff {
namespace {

constexpr index_t kUnit = 8;  // places of values and directories are multiples of it

index_t rounded_up(index_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

// Bytes of the number of fields, of a field, and of a place.
struct Sizes {
  index_t count, field, place;
};
Sizes sizes(bool big) { return big ? Sizes{8, 20, 8} : Sizes{2, 12, 4}; }

template <class T>
void append(std::vector<std::byte>& to, T value) {
  const std::size_t before = to.size();
  to.resize(before + sizeof value);
  std::memcpy(to.data() + before, &value, sizeof value);
}

void append_place(std::vector<std::byte>& to, std::uint64_t place, bool big) {
  if (big)
    append(to, place);
  else
    append(to, static_cast<std::uint32_t>(place));
}

}  // namespace

void Directory::add(std::uint32_t tag, TIFFDataType type, std::uint64_t count, std::span<const std::byte> values) {
  Field field{.tag = static_cast<std::uint16_t>(tag),
              .type = static_cast<std::uint16_t>(type),
              .count = count,
              .values = {values.begin(), values.end()},
              .places = {}};
  const auto at = std::lower_bound(fields_.begin(), fields_.end(), field.tag,
                                   [](const Field& other, std::uint16_t t) { return other.tag < t; });
  if (at != fields_.end() && at->tag == field.tag)
    *at = std::move(field);
  else
    fields_.insert(at, std::move(field));
}

void Directory::set(std::uint32_t tag, TIFFDataType type, std::uint32_t value) {
  const auto half = static_cast<std::uint16_t>(value);
  if (type == TIFF_SHORT)
    set_list(tag, type, std::span(&half, 1));
  else
    set_list(tag, type, std::span<const std::uint32_t>(&value, 1));
}

void Directory::set_text(std::uint32_t tag, const std::string& text) {
  set_list(tag, TIFF_ASCII, std::span(text.c_str(), text.size() + 1));
}

void Directory::set_rational(std::uint32_t tag, double value) {
  constexpr double most = std::numeric_limits<std::uint32_t>::max(), near = 1e-12;
  // The convergents of its continued fraction.
  double above = 1, before_above = 0, below = 0, before_below = 1, rest = std::clamp(value, 1 / most, most);
  for (;;) {
    const double whole = std::floor(rest), next_above = whole * above + before_above,
                 next_below = whole * below + before_below;
    if (next_above > most || next_below > most) break;
    before_above = std::exchange(above, next_above);
    before_below = std::exchange(below, next_below);
    if (rest == whole || std::abs(above - value * below) <= near * value * below) break;
    rest = 1 / (rest - whole);
  }
  const std::array quotient{static_cast<std::uint32_t>(above), static_cast<std::uint32_t>(below)};
  add(tag, TIFF_RATIONAL, 1, std::as_bytes(std::span(quotient)));
}

void Directory::set_places(std::uint32_t tag, TIFFDataType type, std::vector<std::uint64_t> places) {
  add(tag, type, places.size(), {});
  for (Field& field : fields_)
    if (field.tag == tag) field.places = std::move(places);
}

bool Directory::has(std::uint32_t tag) const {
  return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.tag == tag; });
}

index_t Directory::value_bytes(const Field& field, bool big) {
  return field.places.empty() ? static_cast<index_t>(field.values.size())
                              : static_cast<index_t>(field.places.size()) * sizes(big).place;
}

index_t Directory::bytes(bool big) const {
  const Sizes s = sizes(big);
  index_t all = rounded_up(s.count + static_cast<index_t>(fields_.size()) * s.field + s.place);
  for (const Field& field : fields_)
    if (const index_t bytes = value_bytes(field, big); bytes > s.place) all += rounded_up(bytes);
  return all;
}

std::vector<std::byte> Directory::made(bool big, std::uint64_t at, std::uint64_t next) const {
  const Sizes s = sizes(big);
  std::vector<std::byte> head, rest;
  const index_t head_bytes = rounded_up(s.count + static_cast<index_t>(fields_.size()) * s.field + s.place);
  if (big)
    append(head, static_cast<std::uint64_t>(fields_.size()));
  else
    append(head, static_cast<std::uint16_t>(fields_.size()));
  for (const Field& field : fields_) {
    const bool wide = big && !field.places.empty();
    append(head, field.tag);
    const TIFFDataType wide_type = field.type == TIFF_IFD ? TIFF_IFD8 : TIFF_LONG8;
    append(head, wide ? static_cast<std::uint16_t>(wide_type) : field.type);
    append_place(head, field.count, big);
    std::vector<std::byte> values = field.values;
    for (const std::uint64_t place : field.places) append_place(values, place, big);
    if (static_cast<index_t>(values.size()) <= s.place) {
      values.resize(static_cast<std::size_t>(s.place));
      head.insert(head.end(), values.begin(), values.end());
    } else {
      append_place(head, at + static_cast<std::uint64_t>(head_bytes) + rest.size(), big);
      values.resize(static_cast<std::size_t>(rounded_up(static_cast<index_t>(values.size()))));
      rest.insert(rest.end(), values.begin(), values.end());
    }
  }
  append_place(head, next, big);
  head.resize(static_cast<std::size_t>(head_bytes));
  head.insert(head.end(), rest.begin(), rest.end());
  return head;
}

index_t tiff_header_bytes(bool big) { return big ? 16 : 8; }

std::vector<std::byte> tiff_header(bool big, std::uint64_t first) {
  constexpr char order = detail::kBigEndian ? 'M' : 'I';
  constexpr std::uint16_t classic = 42, large = 43, place_bytes = 8;
  std::vector<std::byte> head;
  append(head, order);
  append(head, order);
  append(head, big ? large : classic);
  if (big) {
    append(head, place_bytes);
    append(head, std::uint16_t{0});
  }
  append_place(head, first, big);
  return head;
}

}  // namespace oriel::io::tiff
