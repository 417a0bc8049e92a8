// A file that the results of `oriel pool` go to block by block.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/places.h"
#include "cli/team.h"
#include "io/file_identity.h"
#include "io/hdf5.h"
#include "io/output_file.h"
#include "io/volume_formats.h"
#include "io/writer_lock.h"

namespace oriel::cli {

/// Throws UsageError if --codec is none of those that OUT, and a file of indices that is compressed, can have.
void check_codec(const PoolCommand& c);

/// Made by rank 0 beside its target, written by all ranks, named at the end. An HDF5 file keeps its other datasets: it
/// is copied first, and if others have written to it since, what was made here is brought into what they wrote.
class BlockOutput {
 public:
  /// `format` as --format says; empty: the name tells.
  BlockOutput(const std::string& path, const std::string& format, Team& team);

  /// Rank 0 makes the file, then all open it. `alone`: without what is there, for what goes into another's file.
  void open(const io::VolumeSpec& spec, bool alone);
  void write(const Extents& begin, const ConstTensor& from) { volume_->write(begin, from); }
  /// All that the ranks wrote is in the file, under its temporary name.
  void finish();
  /// Waits for other writers of the file, brings in what they wrote, and `guest`'s dataset if there is one; all of it
  /// is then on the disk.
  void prepare(const BlockOutput* guest);
  /// Gives it its name.
  void commit();

  /// Bytes of the HDF5 file that is there already, whose other datasets are copied.
  index_t bytes_there() const;
  const Place& place() const { return place_; }
  /// What appears; of rank 0.
  std::string target() const { return file_ ? file_->target() : ""; }

 private:
  /// Ranks cannot write compressed chunks of one HDF5 file: what is written to is a file of elements then.
  bool waits() const { return hdf5_ && spec_.codec && spec_.codec->kind != io::Compression::Kind::none; }
  void create(const io::VolumeSpec& spec, bool alone);
  void compress();
  void wait_for_others();
  void bring_together(const BlockOutput* guest);

  Place place_;
  std::optional<io::Hdf5Path> hdf5_;
  const io::VolumeFormat* format_ = nullptr;  // if it is no HDF5 file
  io::VolumeSpec spec_;
  Team& team_;
  io::FileState before_;              // the target, when it was copied
  std::unique_ptr<io::Output> file_;  // of rank 0
  std::unique_ptr<io::Output> raw_;   // of rank 0: elements that wait to be compressed into an HDF5 file
  std::unique_ptr<io::WatchedFile> watched_;
  std::unique_ptr<io::VolumeOut> volume_;
  std::optional<io::WriterLock> lock_;  // from prepare to commit
  std::optional<io::NoWriters> still_;
};

}  // namespace oriel::cli
