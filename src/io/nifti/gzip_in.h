// A file compressed by gzip, read at places.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "io/placed_file.h"

namespace oriel::io::nifti {

/// Goes forward from where it is, and back to the last of the states that it kept on its way: at most kMostStates of
/// about 40 KiB, evenly spread over what was read. Members of gzip one behind another are one stream, as gzip has it.
class GzipIn {
 public:
  static constexpr std::size_t kMostStates = 32;

  /// Throws Error naming the file.
  explicit GzipIn(const std::string& path);
  GzipIn(const GzipIn&) = delete;
  GzipIn& operator=(const GzipIn&) = delete;
  ~GzipIn();

  /// The bytes that came, fewer only at the end. Throws Error if the stream is damaged or cut off.
  index_t read(void* to, index_t count, index_t at);
  /// At the end of what is needed: checks the checksum if the stream ends here. Throws Error.
  void check_end(index_t at);
  /// More bytes than this cannot be in the stream.
  index_t most_bytes() const;
  /// Bytes that were decompressed so far, each as often as it was.
  index_t work() const { return work_; }

 private:
  // A state of zlib from which one can go on.
  struct State {
    index_t out = 0;  // bytes before it, in the stream
    index_t in = 0;   // and in the file
    z_stream z{};
    bool ended = false;
  };
  struct End {
    void operator()(State* state) const;
  };
  using StatePointer = std::unique_ptr<State, End>;

  StatePointer first_state();
  StatePointer copy_of(const State& state) const;
  void go_to(index_t at);
  void keep_state();
  index_t inflate_some(std::byte* to, index_t count);
  bool fill();
  bool next_member();
  [[noreturn]] void fail(const std::string& what) const;

  PlacedFile file_;
  std::vector<std::byte> in_;
  StatePointer now_;
  std::vector<StatePointer> kept_;  // by their place
  index_t apart_;                   // the least bytes between two of them
  index_t work_ = 0;
};

}  // namespace oriel::io::nifti
