// What ends `oriel pool` under mpirun when a rank is stopped or hangs: the others do not wait for ever.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cli/stopwatch.h"

namespace oriel::cli {

/// How long a rank has waited. Time in which the rank itself was stopped (Ctrl-Z) counts a second at most.
class Waited {
 public:
  /// Call it at least once a second.
  double seconds();

 private:
  Stopwatch watch_;
  double seconds_ = 0;
};

/// Looks on from a thread of its own while this rank is inside calls of MPI or HDF5 that end only when all ranks take
/// part.
class Watchdog {
 public:
  /// What it calls when a wait is over its time; it must not return.
  using Expire = void (*)(const std::string& what);
  explicit Watchdog(Expire expire);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  /// Until the last copy of what it gives is gone, `what` (`closing the file`) may take so many seconds.
  std::shared_ptr<void> watch(double seconds, std::string what);

 private:
  void run();

  Expire expire_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  int turn_ = 0;        // counts the waits
  double allowed_ = 0;  // seconds; 0: nothing is watched
  std::string what_;
  std::thread thread_;
};

}  // namespace oriel::cli
