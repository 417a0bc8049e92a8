#include "cli/ranks_deadline.h"

#include <algorithm>

namespace oriel::cli {

double Waited::seconds() {
  seconds_ += std::min(watch_.seconds(), 1.0);
  return seconds_;
}

Watchdog::Watchdog(Expire expire) : expire_(expire), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<void> Watchdog::watch(double seconds, std::string what) {
  const std::lock_guard lock(mutex_);
  allowed_ = seconds;
  what_ = std::move(what);
  ++turn_;
  return {this, [](Watchdog* self) {
            const std::lock_guard held(self->mutex_);
            self->allowed_ = 0;
          }};
}

void Watchdog::run() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  Waited waited;
  for (int turn = 0; !done_; wake_.wait_for(lock, 500ms)) {
    if (turn != turn_) waited = Waited();
    turn = turn_;
    if (allowed_ > 0 && waited.seconds() > allowed_) expire_(what_);
  }
}

}  // namespace oriel::cli
