#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cli/stopwatch.h"
#include "oriel/types.h"
#include "quoted.h"

namespace oriel::cli {

bool wants_colour(int descriptor) {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && (no_colour == nullptr || *no_colour == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

int terminal_width(int descriptor) {
  constexpr int otherwise = 100, least = 40;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col < least ? least : size.ws_col;
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw Error(fmt::format("standard output: cannot write: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

Progress::Progress(std::string command, bool everywhere) : command_(std::move(command)) {
  if (::isatty(STDERR_FILENO) == 1)
    thread_ = std::thread([this] { run(); });
  else if (everywhere)
    thread_ = std::thread([this] { run_plain(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::set(std::string_view what) {
  const std::lock_guard lock(mutex_);
  what_ = detail::printable(what);
}

void Progress::say(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear();
  print(text);
}

void Progress::complain(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear();
  fmt::print(stderr, "{}: {}", command_, text);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

void Progress::run() {
  using namespace std::chrono_literals;
  const Stopwatch watch;
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, 1s, [this] { return done_; })) return;
  while (!done_) {
    fmt::print(stderr, "\r{}: {:.0f} s  {}\x1b[K", command_, watch.in_all(), what_);
    std::fflush(stderr);
    shown_ = true;
    wake_.wait_for(lock, 200ms, [this] { return done_; });
  }
  clear();
}

void Progress::run_plain() {
  using namespace std::chrono_literals;
  std::string said;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!what_.empty() && what_ != said) fmt::print(stderr, "{}: {}\n", command_, what_);
    std::fflush(stderr);
    said = what_;
    if (done_) return;  // a short call has said something too
    wake_.wait_for(lock, 1s, [this] { return done_; });
  }
  if (said.empty() && !what_.empty()) fmt::print(stderr, "{}: {}\n", command_, what_);  // over before it began to look
}

}  // namespace oriel::cli
