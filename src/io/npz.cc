#include "io/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "io/npy.h"
#include "quoted.h"

namespace oriel::io {
namespace {

constexpr std::string_view kNpyEnding = ".npy";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Close {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Entry = std::unique_ptr<zip_file_t, Close>;

// Text of a zip_error_t, whose memory ends with it.
std::string text_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Archive open_archive(zip_source_t* source, int flags, const std::string& file) {
  zip_error_t error;
  zip_error_init(&error);
  zip_t* const archive = source == nullptr ? nullptr : zip_open_from_source(source, flags, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    throw Error(fmt::format("{}: not an .npz archive that can be read: {}", file, text_of(error)));
  }
  zip_error_fini(&error);
  return Archive(archive);
}

std::string entry_name(zip_t* archive, zip_int64_t i) {
  const char* const text = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
  return text == nullptr ? "" : text;
}

// The names of an archive's arrays, as many as a line holds.
std::string list_arrays(zip_t* archive) {
  constexpr zip_int64_t listed = 10;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  std::string known;
  for (zip_int64_t i = 0; i < std::min(count, listed); ++i) {
    std::string name = entry_name(archive, i);
    if (name.ends_with(kNpyEnding)) name.resize(name.size() - kNpyEnding.size());
    known += (known.empty() ? "" : ", ") + detail::printable(name);
  }
  return count > listed ? known + ", …" : known;
}

// Which entry is the array: by name, with or without `.npy`; without a name the only one.
zip_int64_t find_entry(zip_t* archive, const std::string& array, const std::string& file) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count <= 0) throw Error(fmt::format("{}: the .npz archive holds no array", file));
  if (array.empty() && count == 1) return 0;
  if (array.empty())
    throw Error(fmt::format("{0}: which array is meant? Use {0}:NAME; allowed: {1}", file, list_arrays(archive)));
  for (zip_int64_t i = 0; i < count; ++i)
    if (const std::string name = entry_name(archive, i); name == array || name == array + std::string(kNpyEnding))
      return i;
  throw Error(fmt::format("{}: no array '{}'; there are: {}", file, array, list_arrays(archive)));
}

}  // namespace

Array read_npz(std::span<const std::byte> bytes, const std::string& array, const std::string& file,
               std::optional<Dtype> dtype) {
  zip_error_t error;
  zip_error_init(&error);
  const Archive archive =
      open_archive(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error), ZIP_RDONLY, file);
  const zip_int64_t index = find_entry(archive.get(), array, file);
  const std::string label = fmt::format("{}:{}", file, detail::printable(entry_name(archive.get(), index)));
  const Entry entry(zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(index), 0));
  if (!entry) throw Error(fmt::format("{}: cannot read: {}", label, zip_strerror(archive.get())));
  const ReadBytes read = [&](void* to, std::size_t count) {
    const zip_int64_t got = zip_fread(entry.get(), to, count);
    if (got < 0) throw Error(fmt::format("{}: cannot read: {}", label, zip_file_strerror(entry.get())));
    return static_cast<std::size_t>(got);
  };
  Array read_array = read_npy(read, label, dtype);
  read_array.part = npz_array_name(entry_name(archive.get(), index));
  return read_array;
}

std::string npz_array_name(std::string name) {
  if (name.ends_with(kNpyEnding)) name.resize(name.size() - kNpyEnding.size());
  return name.empty() ? "arr_0" : name;
}

}  // namespace oriel::io
