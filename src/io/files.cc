#include "io/files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include "io/image.h"
#include "io/input_file.h"
#include "io/npy.h"
#include "io/npz.h"

namespace oriel::io {
namespace {

constexpr std::string_view kAllowedEndings = ".npy, .npz, .png, .jpg, .jpeg, .tif, .tiff, .webp";

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending;
}

bool is_picture_ending(std::string_view ending) {
  for (const char* known : {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"})
    if (ending == known) return true;
  return false;
}

std::optional<Format> format_of_ending(const std::string& file) {
  const std::string ending = ending_of(file);
  if (ending == ".npy") return Format::npy;
  if (ending == ".npz") return Format::npz;
  if (is_picture_ending(ending)) return Format::image;
  return std::nullopt;
}

// From the first bytes of a file; anything that is neither .npy nor zip is left to the image reader.
Format format_of_bytes(std::span<const std::byte> head) {
  const auto begins_with = [&](std::string_view magic) {
    return head.size() >= magic.size() && std::memcmp(head.data(), magic.data(), magic.size()) == 0;
  };
  if (begins_with("\x93NUMPY")) return Format::npy;
  if (begins_with("PK")) return Format::npz;
  return Format::image;
}

Array read_stream(const ReadBytes& stream, const InputPath& path, std::optional<Format> format,
                  std::optional<Dtype> dtype) {
  const std::string& file = path.file;
  static_assert(kFormatBytes >= kNpyPrefix);
  std::vector<std::byte> head = read_head(stream);
  if (head.empty()) throw Error(fmt::format("{}: empty; allowed: .npy, .npz or an image", file));
  if (!format) format = format_of_bytes(head);
  // What is neither is refused by its first bytes: a device or a program may give others without end.
  if (*format == Format::image) check_image_head(head, file);
  if (*format == Format::npz && format_of_bytes(head) != Format::npz)
    throw Error(fmt::format("{}: not an .npz archive that can be read: it does not begin with PK", file));
  const ReadBytes whole = put_back(std::move(head), stream);
  if (*format == Format::npy) return read_npy(whole, file, dtype);
  const std::vector<std::byte> bytes = read_all(whole, file);
  if (*format == Format::npz) return read_npz(bytes, path.array, file, dtype);
  return read_image(bytes, file, {.dtype = dtype, .page = path.page});
}

}  // namespace

NpzPath split_npz_path(const std::string& path) {
  constexpr std::string_view mark = ".npz:";
  const std::size_t at = path.rfind(mark);
  if (at == std::string::npos) return {path, ""};
  const std::size_t colon = at + mark.size() - 1;
  return {path.substr(0, colon), path.substr(colon + 1)};
}

Format format_of(const std::string& path) {
  if (const auto format = format_of_ending(split_npz_path(path).file)) return *format;
  const std::string ending = ending_of(path);
  throw Error(
      fmt::format("{}: {}; allowed: {}", path,
                  ending.empty() ? "the name has no extension" : fmt::format("the extension '{}' is unknown", ending),
                  kAllowedEndings));
}

InputPath split_input_path(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return {path, ""};
  const NpzPath npz = split_npz_path(path);
  if (!npz.name.empty()) return {npz.file, npz.name};
  const std::size_t colon = path.rfind(':');
  if (colon == std::string::npos || !is_picture_ending(ending_of(path.substr(0, colon)))) return {npz.file, ""};
  if (const std::string ending = ending_of(path.substr(0, colon));
      path.substr(colon) == kAllPages && (ending == ".tif" || ending == ".tiff"))
    return {.file = path.substr(0, colon), .array = "", .all_pages = true};
  int page = 0;
  const char* const end = path.data() + path.size();
  const auto [at, error] = std::from_chars(path.data() + colon + 1, end, page);
  if (error != std::errc() || at != end || page < 1)
    throw Error(fmt::format("{}: '{}' is not a page; allowed: numbers from 1 to {}", path, path.substr(colon + 1),
                            std::numeric_limits<int>::max()));
  return {path.substr(0, colon), "", page};
}

Array read_array(const std::string& path, std::optional<Dtype> dtype) {
  if (path == "-")
    return read_stream(read_descriptor(STDIN_FILENO, "standard input"), {"standard input", ""}, std::nullopt, dtype);
  const InputPath in = split_input_path(path);
  if (in.all_pages)
    throw Error(
        fmt::format("{}: all images of a TIFF are for IN, --mask and --weights of oriel pool only; allowed here: "
                    "one of them, as in FILE.tif:1",
                    path));
  std::optional<Format> format = format_of_ending(in.file);
  if (!is_regular(in.file)) return read_stream(open_stream(in.file), in, format, dtype);
  MappedFile file = map_file(in.file);
  if (!format) format = format_of_bytes(file.bytes);
  switch (*format) {
    case Format::npy:
      return read_npy(file.bytes, std::move(file.memory), path, dtype);
    case Format::npz:
      return read_npz(file.bytes, in.array, in.file, dtype);
    case Format::image:
      break;
  }
  return read_image(file.bytes, in.file, {.dtype = dtype, .page = in.page});
}

void write_array(const WriteBytes& write, const std::string& ending, const std::string& file, const ConstTensor& t,
                 const std::optional<Picture>& picture) {
  switch (format_of(ending)) {
    case Format::npy:
      return write_npy(write, t);
    case Format::npz:
      return write_npz(write, split_npz_path(ending).name, file, t);
    case Format::image:
      return write_image(write, ending_of(ending), file, t, picture);
  }
}

}  // namespace oriel::io
