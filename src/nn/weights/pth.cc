// Archives of torch.save: NAME/data.pkl, and a storage in each NAME/data/KEY.
#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <vector>

#include "byte_order.h"
#include "nn/weights/formats.h"
#include "nn/weights/pickle.h"
#include "quoted.h"

namespace oriel::nn {
namespace {

constexpr std::uint64_t kMaxPickle = 64'000'000;  // those of real networks have less than a megabyte

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Close {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

class Archive {
 public:
  Archive(Bytes bytes, const std::string& file) : file_(file) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    zip_t* const archive =
        source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    if (archive == nullptr) {
      const std::string text = zip_error_strerror(&error);
      zip_error_fini(&error);
      zip_source_free(source);
      throw Error(fmt::format("{}: not a zip archive that can be read: {}", file, text));
    }
    zip_error_fini(&error);
    archive_.reset(archive);
    list();
  }

  // The folder that everything is in, with its slash.
  std::string root() const {
    std::string found;
    for (const auto& [name, index] : entries_) {
      if (name.ends_with("/constants.pkl"))
        throw Error(fmt::format("{}: a TorchScript program; save its state_dict() instead", file_));
      if (!name.ends_with("/data.pkl")) continue;
      if (!found.empty()) throw Error(fmt::format("{}: more than one data.pkl in the archive", file_));
      found = name.substr(0, name.size() - 8);
    }
    if (found.empty())
      throw Error(fmt::format("{}: a zip archive without data.pkl: torch.save did not write it", file_));
    return found;
  }

  bool has(const std::string& name) const { return entries_.contains(name); }

  // An entry's bytes; libzip checks their CRC.
  std::shared_ptr<std::vector<std::byte>> read(const std::string& name, std::uint64_t most) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
      throw Error(fmt::format("{}: no entry {} in the archive", file_, detail::shortened(name)));
    zip_stat_t info;
    zip_stat_init(&info);
    constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive_.get(), found->second, 0, &info) != 0 || (info.valid & needed) != needed)
      fail(name, zip_strerror(archive_.get()));
    if (info.comp_method != ZIP_CM_STORE || info.size != info.comp_size)
      fail(name, "it is compressed or encrypted, which torch.save never does");
    if (info.size > most) fail(name, fmt::format("it has {} bytes, at most {} are expected", info.size, most));
    const std::unique_ptr<zip_file_t, Close> entry(zip_fopen_index(archive_.get(), found->second, 0));
    if (!entry) fail(name, zip_strerror(archive_.get()));
    auto out = std::make_shared<std::vector<std::byte>>(info.size);
    // One byte more than there is: the CRC is checked where the end is met.
    std::byte extra{};
    zip_uint64_t at = 0;
    for (;;) {
      const bool full = at == info.size;
      const zip_int64_t got = zip_fread(entry.get(), full ? &extra : out->data() + at, full ? 1 : info.size - at);
      if (got < 0) fail(name, zip_file_strerror(entry.get()));
      if (got == 0) break;
      if (full) fail(name, "it is longer than the archive says");
      at += static_cast<zip_uint64_t>(got);
    }
    if (at != info.size) fail(name, "it is shorter than the archive says");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& entry, std::string_view what) const {
    throw Error(fmt::format("{}: cannot read {}: {}", file_, detail::shortened(entry), what));
  }

  void list() {
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      const char* const name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      if (name == nullptr) continue;
      if (!entries_.emplace(name, static_cast<zip_uint64_t>(i)).second)
        throw Error(fmt::format("{}: the archive has {} twice", file_, detail::shortened(name)));
    }
  }

  const std::string& file_;
  std::unique_ptr<zip_t, Discard> archive_;
  std::map<std::string, zip_uint64_t> entries_;
};

// The last element that a tensor reaches lies in its storage.
void check_reach(const PickledTensor& t, const std::string& what) {
  if (count_of(t.shape, what) == 0) return;
  index_t last = t.offset;
  for (int axis = 0; axis < t.shape.size(); ++axis) {
    index_t reach = 0;
    if (__builtin_mul_overflow(t.shape[axis] - 1, t.pitch[axis], &reach) || __builtin_add_overflow(last, reach, &last))
      throw Error(fmt::format("{}: its offset and strides overflow", what));
  }
  if (last >= t.elements) throw Error(fmt::format("{}: reaches element {} of a storage of {}", what, last, t.elements));
}

// The order that the file says; without a word it is little.
bool is_big_endian(const Archive& archive, const std::string& root, const std::string& file) {
  if (!archive.has(root + "byteorder")) return false;
  const auto order = archive.read(root + "byteorder", 16);
  const std::string_view text(reinterpret_cast<const char*>(order->data()), order->size());
  if (text != "little" && text != "big")
    throw Error(fmt::format("{}: byte order {}; allowed: little, big", file, detail::quoted(text, 100)));
  return text == "big";
}

}  // namespace

bool is_zip(Bytes bytes) {
  return bytes.size() >= 4 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'} &&
         (bytes[2] == std::byte{3} || bytes[2] == std::byte{5}) &&
         bytes[3] == static_cast<std::byte>(std::to_integer<int>(bytes[2]) + 1);
}

Weights read_pth(Bytes bytes, const std::string& file) {
  const Archive archive(bytes, file);
  const std::string root = archive.root();
  const bool swap = is_big_endian(archive, root, file) != detail::kBigEndian;
  const auto pickle = archive.read(root + "data.pkl", kMaxPickle);

  Weights out;
  std::map<std::string, std::shared_ptr<std::vector<std::byte>>> storages;
  std::map<std::string, index_t> sizes;  // of the elements of a storage
  for (const auto& [name, t] : read_state_dict(*pickle, file)) {
    const std::string what = fmt::format("{}: tensor {}", file, detail::quoted(name, 100));
    check_reach(t, what);
    auto& storage = storages[t.storage];
    if (!storage) storage = archive.read(root + "data/" + t.storage, bytes.size());
    index_t size = 0;
    if (__builtin_mul_overflow(t.elements, size_bytes(t.dtype), &size) ||
        static_cast<std::uint64_t>(size) != storage->size())
      throw Error(fmt::format("{}: its storage says {} elements of {}, but data/{} has {} bytes", what, t.elements,
                              oriel::name(t.dtype), detail::shortened(t.storage), storage->size()));
    if (const auto [element, first] = sizes.emplace(t.storage, size_bytes(t.dtype)); first && swap)
      detail::reverse_bytes(storage->data(), t.elements, element->second);
    else if (swap && element->second != size_bytes(t.dtype))
      throw Error(fmt::format("{}: data/{} is of the other byte order, and has elements of {} and of {} bytes", what,
                              detail::shortened(t.storage), element->second, size_bytes(t.dtype)));
    const bool empty = count_of(t.shape, what) == 0;  // may begin anywhere
    out.add(name,
            ConstTensor(storage->data() + (empty ? 0 : t.offset * size_bytes(t.dtype)), t.dtype, t.shape, t.pitch));
  }
  out.keep(std::make_shared<decltype(storages)>(std::move(storages)));
  out.call(file, "pth");
  return out;
}

}  // namespace oriel::nn
