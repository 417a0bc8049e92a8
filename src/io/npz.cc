#include "io/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <memory>

#include "io/npy.h"

namespace oriel::io {
namespace {

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

// A name from an archive may hold anything; an error is one line.
std::string shown(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return name;
}

// Which entry is the array: by name, with or without `.npy`; by default the first.
zip_int64_t find_entry(zip_t* archive, const std::string& array, const std::string& file) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count <= 0) throw Error(fmt::format("{}: the .npz archive holds no array", file));
  if (array.empty()) return 0;
  std::string known;
  constexpr zip_int64_t listed = 10;
  for (zip_int64_t i = 0; i < count; ++i) {
    std::string name = entry_name(archive, i);
    if (name == array || name == array + ".npy") return i;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (i < listed) known += (known.empty() ? "" : ", ") + shown(name);
  }
  throw Error(fmt::format("{}: no array '{}'; there are: {}{}", file, array, known, count > listed ? ", …" : ""));
}

}  // namespace

Array read_npz(std::span<const std::byte> bytes, const std::string& array, const std::string& file,
               std::optional<Dtype> dtype) {
  zip_error_t error;
  zip_error_init(&error);
  const Archive archive =
      open_archive(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error), ZIP_RDONLY, file);
  const zip_int64_t index = find_entry(archive.get(), array, file);
  const std::string label = fmt::format("{}:{}", file, shown(entry_name(archive.get(), index)));
  const Entry entry(zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(index), 0));
  if (!entry) throw Error(fmt::format("{}: cannot read: {}", label, zip_strerror(archive.get())));
  const ReadBytes read = [&](void* to, std::size_t count) {
    const zip_int64_t got = zip_fread(entry.get(), to, count);
    if (got < 0) throw Error(fmt::format("{}: cannot read: {}", label, zip_file_strerror(entry.get())));
    return static_cast<std::size_t>(got);
  };
  return read_npy(read, label, dtype);
}

void write_npz(const WriteBytes& write, const std::string& array, const std::string& file, const ConstTensor& t) {
  std::vector<std::byte> npy;
  npy.reserve(static_cast<std::size_t>(element_count(t.shape) * size_bytes(t.dtype)) + kNpyPrefix);
  write_npy(
      [&](const void* from, std::size_t count) {
        const auto* const begin = static_cast<const std::byte*>(from);
        npy.insert(npy.end(), begin, begin + count);
      },
      t);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const target = zip_source_buffer_create(nullptr, 0, 0, &error);
  Archive archive = open_archive(target, ZIP_TRUNCATE, file);
  zip_source_keep(target);  // the archive's end must not end the bytes
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> bytes(target, &zip_source_free);

  const std::string name = (array.empty() ? "arr_0" : array) + ".npy";
  zip_source_t* const content = zip_source_buffer(archive.get(), npy.data(), npy.size(), 0);
  const zip_int64_t index =
      content == nullptr ? -1 : zip_file_add(archive.get(), name.c_str(), content, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(content);
    throw Error(fmt::format("{}: cannot write: {}", file, zip_strerror(archive.get())));
  }
  zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  if (zip_close(archive.get()) != 0)
    throw Error(fmt::format("{}: cannot write: {}", file, zip_strerror(archive.get())));
  (void)archive.release();  // zip_close has freed it

  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_source_stat(target, &info) != 0 || zip_source_open(target) != 0)
    throw Error(fmt::format("{}: cannot write the archive", file));
  std::vector<std::byte> chunk(std::size_t{1} << 20);
  for (;;) {
    const zip_int64_t got = zip_source_read(target, chunk.data(), chunk.size());
    if (got < 0) throw Error(fmt::format("{}: cannot write the archive", file));
    if (got == 0) break;
    write(chunk.data(), static_cast<std::size_t>(got));
  }
  zip_source_close(target);
}

}  // namespace oriel::io
