// Arrays on their way into an .npz archive, whose other arrays stay.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/output_file.h"
#include "io/writer_lock.h"
#include "oriel/tensor.h"

namespace oriel::io {

/// An array and its name in an archive.
struct NpzMember {
  std::string name;
  ConstTensor values;
};

/// Writes at a place of a file.
using WriteAt = std::function<void(const void* from, std::size_t count, std::int64_t at)>;

/// The bytes of the archive `old` (empty: none) with `members` in it, not compressed: those of the same name are
/// replaced, all others are as they were, compressed or not. Throws Error, which calls it `file`.
void merge_npz(const WriteAt& write, std::span<const std::byte> old, const std::vector<NpzMember>& members,
               const std::string& file);

/// An archive that arrays are brought into, by several processes at once if need be: each finds what the others wrote.
/// Example: NpzOutput out("a.npz"); out.add("pooled", y); out.prepare(); out.commit();
class NpzOutput {
 public:
  /// Throws Error when `path` is there and no archive, or cannot be written. `-` and devices are written directly, and
  /// take one array.
  explicit NpzOutput(const std::string& path);
  /// `values` must stay as they are until prepare has returned.
  void add(const std::string& name, const ConstTensor& values);
  /// Waits for other writers and brings the new archive to the disk, without giving it its name.
  void prepare();
  /// Gives it its name.
  void commit();
  const std::string& target() const { return file_.target(); }

 private:
  std::string path_;
  OutputFile file_;
  std::vector<NpzMember> members_;
  std::optional<WriterLock> lock_;  // from prepare to commit
};

}  // namespace oriel::io
