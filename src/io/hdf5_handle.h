// HDF5's handles and errors, as C++ has them.
#pragma once

#define H5_USE_110_API  // what later versions call the same functions
#include <hdf5.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/array.h"

namespace oriel::io {

/// Throws Error: the file, what could not be done, and the innermost reason that HDF5 gives.
[[noreturn]] void fail_hdf5(const std::string& file, const std::string& what);

/// A handle that closes itself.
class Handle {
 public:
  Handle() = default;
  /// Throws as fail_hdf5 does when `id` says that a call failed.
  Handle(hid_t id, herr_t (*closer)(hid_t), const std::string& file, const std::string& what)
      : id_(id), close_(closer) {
    if (id < 0) fail_hdf5(file, what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { (void)close(); }
  hid_t get() const { return id_; }
  /// Whether it went well.
  bool close() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// The type that elements have in files and in memory (little-endian).
Handle hdf5_type(Dtype dtype);
/// The dtype of a dataset's type, in either byte order; nothing where Oriel has none for it.
std::optional<Dtype> dtype_of(hid_t type);
/// A type in words, e.g. `a compound`.
std::string words_of(hid_t type);

/// Copies the attributes of `from` that stand for themselves: none that refers to other objects, none that makes a
/// dataset a dimension scale, no `oriel_problem`.
void copy_attributes(hid_t from, hid_t to, const std::string& file);
/// The numbers of an attribute of at most `most`; empty if there is none, or of something else.
std::vector<double> read_numbers(hid_t object, const char* name, std::size_t most);
/// Adds numbers; none if there are none.
void write_numbers(hid_t object, const char* name, const std::vector<double>& numbers, const std::string& file);
/// Adds the labels of a dataset's dimensions.
void write_labels(hid_t dataset, const std::vector<std::string>& labels, const std::string& file);
/// Adds a text.
void write_attribute(hid_t object, const char* name, const std::string& text, const std::string& file);

}  // namespace oriel::io
