#include "cli/block_output.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "io/zarr/volume.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr const char* kNpyName = "x.npy";  // a path whose format is the only one that --format may name

void check_codec_of(const std::string& path, const char* option, io::Compression::Kind kind) {
  using Kind = io::Compression::Kind;
  const bool hdf5 = io::split_hdf5_path(path).has_value();
  const std::string is = fmt::format("--codec: {} '{}' is ", option, detail::printable(path));
  if (hdf5 && kind != Kind::none && kind != Kind::gzip)
    throw UsageError("oriel pool", is + "an HDF5 file; allowed: none, gzip:0-9");
  if (!hdf5 && !io::is_zarr(path))
    throw UsageError("oriel pool", is + "no file whose chunks are compressed by choice; allowed: .h5, .hdf5, .zarr");
}

}  // namespace

void check_codec(const PoolCommand& c) {
  if (!c.codec) return;
  if (!c.format.empty())
    throw UsageError("oriel pool", fmt::format("--codec: --format '{}' has none; allowed: a name of OUT that ends in "
                                               ".h5, .hdf5, .zarr",
                                               c.format));
  check_codec_of(c.out, "OUT", c.codec->kind);
  if (io::split_hdf5_path(c.indices) || io::is_zarr(c.indices)) check_codec_of(c.indices, "--indices", c.codec->kind);
}

BlockOutput::BlockOutput(const std::string& path, const std::string& format, Team& team)
    : place_(output_place(path, format)), team_(team) {
  if (!format.empty() && format != "npy") {
    throw UsageError(
        "oriel pool",
        fmt::format("--format: '{}' cannot be written in parts, as HDF5, Zarr, NIfTI, precomputed and TIFF volumes, "
                    "--memory and mpirun need; allowed: npy",
                    format));
  }
  if (place_.kind == Place::Kind::hdf5) hdf5_ = io::Hdf5Path{place_.file, place_.part};
  if (!hdf5_) format_ = io::volume_format_of(format.empty() ? path : kNpyName);
  if (path == "-" || (!hdf5_ && format_ == nullptr)) {
    throw UsageError(
        "oriel pool",
        fmt::format("OUT: '{}' cannot be written in parts, as HDF5, Zarr, NIfTI, precomputed and TIFF volumes, "
                    "--memory and mpirun need; allowed: {}",
                    path, io::volume_endings()));
  }
}

void BlockOutput::create(const io::VolumeSpec& spec, bool alone) {
  const std::string& file = place_.file;
  before_ = hdf5_ && !alone ? io::state_of(file) : io::FileState{};
  if (before_.there()) io::check_hdf5_output(file, *hdf5_);
  std::unique_ptr<io::OutputFile> hdf5_file = hdf5_ ? std::make_unique<io::OutputFile>(file) : nullptr;
  io::OutputFile* const copy = hdf5_file.get();
  file_ = hdf5_ ? std::move(hdf5_file) : format_->make_output(file);
  if (file_->place().empty())
    throw Error(fmt::format("{}: a pipe or a device; allowed: a file, whose parts can be written", file));
  if (!hdf5_) return format_->create(file_->place(), file, spec);
  if (before_.there()) copy->begin_with(file);
  if (waits()) {
    raw_ = std::make_unique<io::OutputFile>(file);
    return io::create_npy_volume(raw_->place(), file, spec);
  }
  io::create_hdf5_volume(file_->place(), *hdf5_, spec, !before_.there());
}

void BlockOutput::open(const io::VolumeSpec& spec, bool alone) {
  spec_ = spec;
  if (waits() && spec_.chunk.empty()) spec_.chunk = io::default_chunk(spec.shape, spec.dtype);
  together(team_, [&] {
    if (team_.rank() == 0) create(spec_, alone);
  });
  const std::string place = team_.from_first(raw_ ? raw_->place() : file_ ? file_->place() : "");
  if (team_.rank() != 0) watched_ = std::make_unique<io::WatchedFile>(place);
  together(team_, [&] {
    const std::shared_ptr<void> watched = team_.watch("opening the output");
    volume_ = waits() ? io::open_npy_output(place, place_.file, spec_)
              : hdf5_ ? io::open_hdf5_output(place, *hdf5_, spec_, team_.use_ranks())
                      : format_->open_output(place, place_.file, spec_);
  });
}

void BlockOutput::finish() {
  together(team_, [&] {
    const std::shared_ptr<void> watched = team_.watch("closing the output");
    volume_->close();
  });
  together(team_, [&] {
    if (file_ && format_ != nullptr && format_->complete != nullptr)
      format_->complete(file_->place(), place_.file, spec_);
    if (raw_) compress();
  });
}

void BlockOutput::compress() {
  const auto values = io::open_npy_volume(raw_->place(), spec_.dtype);
  io::write_hdf5_volume(file_->place(), *hdf5_, spec_, !before_.there(), *values);
  raw_.reset();
}

// Rank 0 waits, and meets the other ranks all the while: they know that it does not hang.
void BlockOutput::wait_for_others() {
  constexpr std::chrono::milliseconds round{200};
  const auto end = std::chrono::steady_clock::now() + io::kLongestWait;
  for (index_t waits = 1; waits > 0;) {
    together(team_, [&] {
      waits = 0;
      if (!file_) return;
      try {
        if (!lock_) lock_.emplace(file_->target(), place_.file, round);
        still_.emplace(file_->target(), place_.file, round);
      } catch (const io::NotInTime&) {
        if (std::chrono::steady_clock::now() > end) throw;
        waits = 1;
      }
    });
    waits = team_.greatest(waits);
  }
}

void BlockOutput::prepare(const BlockOutput* guest) {
  if (hdf5_) wait_for_others();
  together(team_, [&] {
    if (!file_) return;
    if (hdf5_) bring_together(guest);
    file_->finish();
  });
}

void BlockOutput::bring_together(const BlockOutput* guest) {
  const io::FileState now = io::state_of(file_->target());
  if (now.there() && now != before_) {
    auto merged = std::make_unique<io::OutputFile>(place_.file);
    merged->begin_with(file_->target());
    io::add_hdf5_dataset(merged->place(), *hdf5_, file_->place());
    file_ = std::move(merged);
  }
  if (guest != nullptr) io::add_hdf5_dataset(file_->place(), *guest->hdf5_, guest->file_->place());
}

index_t BlockOutput::bytes_there() const {
  std::error_code none;
  const auto bytes = hdf5_ ? std::filesystem::file_size(hdf5_->file, none) : 0;
  return none ? 0 : static_cast<index_t>(bytes);
}

void BlockOutput::commit() {
  together(team_, [&] {
    if (file_) file_->commit();
    still_.reset();
    lock_.reset();
  });
}

}  // namespace oriel::cli
