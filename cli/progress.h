// What a person at a terminal sees.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace oriel::cli {

/// True when the descriptor is a terminal and NO_COLOR does not forbid colours.
bool wants_colour(int descriptor);
/// Columns of the terminal; 100 if there is none.
int terminal_width(int descriptor);
/// Writes to standard output; throws Error when it cannot (a full disk).
void print(std::string_view text);

/// Says on stderr, when that is a terminal, what goes on: a line that appears after a second, counts the time, and is
/// gone at the end. With `everywhere`, where it is no terminal: a line each second in which something changed.
class Progress {
 public:
  explicit Progress(std::string command, bool everywhere = false);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// What is being done now, e.g. `pooling` or `3 of 12: max:f32:8x8:k2`.
  void set(std::string_view what);
  /// Prints on standard output; a line that is shown makes room.
  void say(std::string_view text);
  /// The same on standard error.
  void complain(std::string_view text);

 private:
  void run();
  void run_plain();
  void clear();  // with the lock held

  std::string command_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string what_;
  bool done_ = false;
  bool shown_ = false;
  std::thread thread_;
};

}  // namespace oriel::cli
