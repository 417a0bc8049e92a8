// Outputs that are files put together from others.
#pragma once

#include <optional>
#include <string>

#include "io/output.h"
#include "io/unfinished.h"

namespace oriel::io {

/// A file that is put together in a folder beside its target, of files that several processes may write there: `commit`
/// makes what `whole` names appear under the target's name in one step, replacing what was there, and removes the
/// folder; without commit nothing remains. Symbolic links are followed. Throws Error naming the target.
/// Example: AssembledFile out("y.tif"); put_together(out.place(), AssembledFile::whole(out.place())); out.commit();
class AssembledFile : public Output {
 public:
  explicit AssembledFile(const std::string& path);
  ~AssembledFile() override;

  /// The file in the folder `place` that appears.
  static std::string whole(const std::string& place) { return place + "/whole"; }

  const std::string& target() const override { return target_; }
  const std::string& place() const override { return temporary_; }
  void finish() override;
  void commit() override;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;       // as given, for errors
  std::string target_;     // what appears
  std::string temporary_;  // a folder beside it
  std::optional<WatchedFile> watched_;
};

}  // namespace oriel::io
