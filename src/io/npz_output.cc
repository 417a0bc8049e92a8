#include "io/npz_output.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "io/file_identity.h"
#include "io/input_file.h"
#include "io/npy.h"
#include "io/npz.h"

namespace oriel::io {
namespace {

// What libzip reads the old archive from and writes the new one to.
class ArchiveBytes {
 public:
  ArchiveBytes(std::span<const std::byte> old, const WriteAt& write) : old_(old), write_(write) {
    zip_error_init(&error_);
  }
  ArchiveBytes(const ArchiveBytes&) = delete;
  ArchiveBytes& operator=(const ArchiveBytes&) = delete;
  ~ArchiveBytes() { zip_error_fini(&error_); }

  static zip_int64_t answer(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<ArchiveBytes*>(self)->answer(data, length, command);
  }
  /// What write threw, if it did.
  std::exception_ptr failure() const { return failure_; }

 private:
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE,
                                              ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE,
                                              ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
      case ZIP_SOURCE_OPEN:
        read_at_ = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return read(data, length);
      case ZIP_SOURCE_WRITE:
        return write(data, length);
      case ZIP_SOURCE_SEEK:
        return seek(read_at_, old_.size(), data, length);
      case ZIP_SOURCE_SEEK_WRITE:
        return seek(write_at_, write_end_, data, length);
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(read_at_);
      case ZIP_SOURCE_TELL_WRITE:
        return static_cast<zip_int64_t>(write_at_);
      case ZIP_SOURCE_STAT: {
        auto* const info = static_cast<zip_stat_t*>(data);
        zip_stat_init(info);
        info->size = old_.size();
        info->valid |= ZIP_STAT_SIZE;
        return sizeof *info;
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, length);
      case ZIP_SOURCE_BEGIN_WRITE:
        write_at_ = write_end_ = 0;
        return 0;
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_REMOVE:
      case ZIP_SOURCE_FREE:
        return 0;
      default:
        return fail(ZIP_ER_OPNOTSUPP);
    }
  }

  zip_int64_t fail(int code) {
    zip_error_set(&error_, code, 0);
    return -1;
  }

  zip_int64_t read(void* to, zip_uint64_t length) {
    const std::size_t count = std::min<std::size_t>(length, old_.size() - read_at_);
    if (count > 0) std::memcpy(to, old_.data() + read_at_, count);
    read_at_ += count;
    return static_cast<zip_int64_t>(count);
  }

  zip_int64_t write(const void* from, zip_uint64_t length) {
    try {
      write_(from, length, static_cast<std::int64_t>(write_at_));
    } catch (...) {
      failure_ = std::current_exception();
      return fail(ZIP_ER_WRITE);
    }
    write_at_ += length;
    write_end_ = std::max(write_end_, write_at_);
    return static_cast<zip_int64_t>(length);
  }

  zip_int64_t seek(std::size_t& at, std::size_t end, void* data, zip_uint64_t length) {
    const zip_int64_t to = zip_source_seek_compute_offset(at, end, data, length, &error_);
    if (to < 0) return -1;
    at = static_cast<std::size_t>(to);
    return 0;
  }

  std::span<const std::byte> old_;
  const WriteAt& write_;
  std::size_t read_at_ = 0, write_at_ = 0, write_end_ = 0;
  zip_error_t error_{};
  std::exception_ptr failure_;
};

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

[[noreturn]] void fail(const std::string& file, const char* what, zip_error_t* error) {
  throw Error(fmt::format("{}: {}: {}", file, what, zip_error_strerror(error)));
}

Archive open_archive(ArchiveBytes& bytes, int flags, const std::string& file) {
  zip_error_t error;
  zip_error_init(&error);
  const std::unique_ptr<zip_error_t, decltype(&zip_error_fini)> end(&error, &zip_error_fini);
  zip_source_t* const source = zip_source_function_create(&ArchiveBytes::answer, &bytes, &error);
  zip_t* const archive = source == nullptr ? nullptr : zip_open_from_source(source, flags, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    fail(file, "not an .npz archive that can be read", &error);
  }
  return Archive(archive);
}

// An array as the bytes of a .npy file, none of them copied.
struct Content {
  explicit Content(const ConstTensor& t) : header(npy_header(t.dtype, t.shape)), values(dense(t)) {
    const auto bytes = static_cast<zip_uint64_t>(element_count(t.shape) * size_bytes(t.dtype));
    fragments[0] = {reinterpret_cast<zip_uint8_t*>(header.data()), header.size()};
    fragments[1] = {static_cast<zip_uint8_t*>(const_cast<void*>(values.view.data)), bytes};
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  std::string header;
  Array values;
  zip_buffer_fragment_t fragments[2] = {};
};

// In the first place of its name; another of that name, which archives may have, goes.
void put(zip_t* archive, const NpzMember& member, const Content& content, const std::string& file) {
  const std::string name = member.name + ".npy";
  zip_int64_t at = -1;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* const there = zip_get_name(archive, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    if (there == nullptr || (there != name && there != member.name)) continue;
    if (at < 0)
      at = i;
    else
      zip_delete(archive, static_cast<zip_uint64_t>(i));
  }
  zip_source_t* const source = zip_source_buffer_fragment(archive, content.fragments, 2, 0);
  bool done = source != nullptr;
  if (done && at >= 0) done = zip_file_replace(archive, static_cast<zip_uint64_t>(at), source, 0) == 0;
  if (done && at < 0) done = (at = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8)) >= 0;
  if (!done) {
    zip_source_free(source);
    fail(file, "cannot write", zip_get_error(archive));
  }
  if (zip_file_rename(archive, static_cast<zip_uint64_t>(at), name.c_str(), ZIP_FL_ENC_UTF_8) != 0)
    fail(file, "cannot write", zip_get_error(archive));
  constexpr zip_uint16_t first_day = 0x21;  // 1 January 1980, as NumPy writes: times would change the bytes
  zip_file_set_dostime(archive, static_cast<zip_uint64_t>(at), 0, first_day, 0);
  zip_set_file_compression(archive, static_cast<zip_uint64_t>(at), ZIP_CM_STORE, 0);
}

}  // namespace

void merge_npz(const WriteAt& write, std::span<const std::byte> old, const std::vector<NpzMember>& members,
               const std::string& file) {
  ArchiveBytes bytes(old, write);
  std::vector<std::unique_ptr<Content>> contents;
  Archive archive = open_archive(bytes, old.empty() ? ZIP_TRUNCATE : 0, file);
  for (const NpzMember& member : members) {
    contents.push_back(std::make_unique<Content>(member.values));
    put(archive.get(), member, *contents.back(), file);
  }
  if (zip_close(archive.get()) != 0) {
    if (bytes.failure()) std::rethrow_exception(bytes.failure());
    fail(file, "cannot write", zip_get_error(archive.get()));
  }
  (void)archive.release();  // zip_close has freed it
}

void write_npz(const WriteBytes& write, const std::string& array, const std::string& file, const ConstTensor& t) {
  std::vector<std::byte> whole;
  const WriteAt keep = [&](const void* from, std::size_t count, std::int64_t at) {
    const auto begin = static_cast<std::size_t>(at);
    if (whole.size() < begin + count) whole.resize(begin + count);
    std::memcpy(whole.data() + begin, from, count);
  };
  merge_npz(keep, {}, {{npz_array_name(array), t}}, file);
  write(whole.data(), whole.size());
}

NpzOutput::NpzOutput(const std::string& path) : path_(path == "-" ? "standard output" : path), file_(path) {
  if (file_.place().empty() || state_of(file_.target()).size == 0) return;
  const MappedFile there = map_file(file_.target());
  const WriteAt nothing;
  ArchiveBytes bytes(there.bytes, nothing);
  open_archive(bytes, ZIP_RDONLY, path_);
}

void NpzOutput::add(const std::string& name, const ConstTensor& values) {
  members_.push_back({npz_array_name(name), values});
}

void NpzOutput::prepare() {
  if (file_.place().empty()) {
    write_npz(file_.writer(), members_.at(0).name, path_, members_.at(0).values);
    return file_.finish();
  }
  lock_.emplace(file_.target(), path_);
  MappedFile there;
  if (state_of(file_.target()).size > 0) there = map_file(file_.target());
  merge_npz([this](const void* from, std::size_t count, std::int64_t at) { file_.write_at(from, count, at); },
            there.bytes, members_, path_);
  file_.finish();
}

void NpzOutput::commit() {
  file_.commit();
  lock_.reset();
}

}  // namespace oriel::io
