#include "io/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

namespace oriel::io {
namespace {

using Clock = std::chrono::steady_clock;

enum class Locked : std::uint8_t { yes, no_locks_here, not_in_time };

// Tries again and again, as a lock that is waited for cannot be given up.
Locked lock(int descriptor, int kind, Clock::time_point end) {
  constexpr std::chrono::milliseconds shortest{2}, longest{50};
  for (auto pause = shortest;; pause = std::min(pause * 2, longest)) {
    if (::flock(descriptor, kind | LOCK_NB) == 0) return Locked::yes;
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Locked::no_locks_here;
    if (Clock::now() >= end) return Locked::not_in_time;
    std::this_thread::sleep_for(pause);
  }
}

// Who may not write to another user's lock file can still hold it.
int open_lock_file(const std::string& place) {
  const int descriptor = ::open(place.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor >= 0 || errno != EACCES) return descriptor;
  return ::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

}  // namespace

WriterLock::WriterLock(const std::string& target, const std::string& file, std::chrono::milliseconds longest) {
  const std::filesystem::path path = target;
  constexpr std::size_t longest_kept = 200;  // file names have at most 255 bytes
  place_ = (path.parent_path() / fmt::format(".{}.lock", path.filename().string().substr(0, longest_kept))).string();
  const Clock::time_point end = Clock::now() + longest;
  for (;;) {
    descriptor_ = open_lock_file(place_);
    if (descriptor_ < 0) throw Error(fmt::format("{}: cannot lock it by {}: {}", file, place_, std::strerror(errno)));
    const Locked got = lock(descriptor_, LOCK_EX, end);
    if (got == Locked::yes && is_ours()) break;
    if (got == Locked::no_locks_here) {
      ::unlink(place_.c_str());
      break;
    }
    ::close(descriptor_);  // its last holder has removed it, or the wait was too long
    descriptor_ = -1;
    if (got == Locked::not_in_time)
      throw NotInTime(fmt::format(
          "{}: another process has been writing to it for too long (it holds {}); it was not changed", file, place_));
  }
  watched_.emplace(place_);
}

bool WriterLock::is_ours() const {
  struct stat held {};
  struct stat named {};
  return ::fstat(descriptor_, &held) == 0 && ::stat(place_.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

WriterLock::~WriterLock() {
  if (is_ours()) ::unlink(place_.c_str());  // while it is held: who waits for it sees that it is gone
  watched_.reset();
  ::close(descriptor_);
}

NoWriters::NoWriters(const std::string& target, const std::string& file, std::chrono::milliseconds longest)
    : descriptor_(::open(target.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) return;  // nothing is there, or the copy will say why it cannot be read
  if (lock(descriptor_, LOCK_SH, Clock::now() + longest) != Locked::not_in_time) return;
  ::close(descriptor_);
  const char* const what = longest.count() == 0 ? "has it open for writing; allowed: once that has closed it"
                                                : "has had it open for writing for too long; it was not changed";
  throw NotInTime(fmt::format("{}: another program {}", file, what));
}

NoWriters::~NoWriters() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace oriel::io
