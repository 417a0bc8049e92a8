// Outputs that are folders of files, and appear whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "io/output.h"
#include "io/unfinished.h"

namespace oriel::io {

/// A folder being written beside its target; `commit` makes it appear under its name in one step and removes what was
/// there. Symbolic links are followed, and slashes at the end of the path ignored. Throws Error naming the target.
/// Example: OutputFolder out("y.zarr", "a Zarr array", &is_array); write_files(out.place()); out.commit();
class OutputFolder : public Output {
 public:
  /// Whether what is at a path is of the format, and may be replaced.
  using IsFormat = bool (*)(const std::string& path);

  /// Only a folder for which `is_format` holds, or an empty one, is replaced; `format` is what errors call it.
  OutputFolder(const std::string& path, const char* format, IsFormat is_format);
  ~OutputFolder() override;

  const std::string& target() const override { return target_; }
  const std::string& place() const override { return temporary_; }
  void finish() override;
  void commit() override;
  /// A signal that ends the program then leaves what is here, for the next one to find.
  void keep_on_signal() { watched_.reset(); }

 private:
  [[noreturn]] void fail(const char* what) const;
  bool may_replace(const std::string& folder) const;
  [[noreturn]] void refuse_other() const;
  void replace();

  std::string path_;       // as given, for errors
  std::string target_;     // what appears
  std::string temporary_;  // beside it
  const char* format_;
  IsFormat is_format_;
  std::optional<WatchedFile> watched_;
};

}  // namespace oriel::io
