// A NIfTI file that is being read.
#pragma once

#include <vector>

#include "io/nifti/header.h"
#include "io/volume.h"

namespace oriel::io::nifti {

/// `path` in lower case, without `.gz`, and whether that was there.
struct Name {
  std::string lower;
  bool gz = false;
};
Name name_of(const std::string& path);

/// A file, compressed or not, read at places.
class Bytes {
 public:
  virtual ~Bytes() = default;
  /// The bytes that came, fewer only at the end.
  virtual index_t read(void* to, index_t count, index_t at) = 0;
  /// More than this are not in it.
  virtual index_t most_bytes() const = 0;
  /// At the end of what is needed: whether what was read is what was written, if the file says so. Throws Error.
  virtual void check_end(index_t) {}
};
/// Throws Error unless it is a regular file.
std::unique_ptr<Bytes> open_bytes(const std::string& path);

class NiftiIn : public VolumeIn {
 public:
  NiftiIn(const std::string& path, std::optional<Dtype> asked);
  void read(const Extents& begin, const Tensor& to) override;

  const Header& header() const { return header_; }
  /// Extensions of the file. Reads it from its beginning.
  std::vector<Extension> extensions();
  /// From now on elements are read as they are stored.
  void read_stored();
  /// Whether values are those that the header scales to.
  bool is_scaled() const { return scaled_; }

 private:
  void read_values(std::byte* to, index_t count, index_t at);

  std::string file_;  // that has the data
  Header header_;
  std::unique_ptr<Bytes> head_, data_;  // data_: null if head_ has the data
  bool scaled_ = false;
  std::vector<std::byte> stored_;  // before it is scaled
};

}  // namespace oriel::io::nifti
