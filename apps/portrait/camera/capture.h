// Frames of a V4L2 capture device as they come from it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "apps/portrait/camera/agreement.h"

namespace oriel::portrait {

using CameraClock = std::chrono::steady_clock;  ///< the kernel's monotonic one, by which drivers date frames

/// A frame in the device's memory.
struct RawFrame {
  const std::uint8_t* bytes = nullptr;
  std::size_t count = 0;
  CameraClock::time_point time;  ///< when it was taken, or at the latest when it came
  int buffer = -1;               ///< to be given back
};

/// What a wait for a frame ended with.
enum class Arrival : std::uint8_t { frame, none, end, unplugged };

/// A capture device that sends frames. One thread waits for frames; any may give them back.
class Capture {
 public:
  /// Agrees on a mode and starts. Throws Error: no such device, in use, not a camera, no format that is known.
  Capture(const std::string& path, const WantedMode& wanted, const DeviceCalls& calls);
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture();

  const CameraFormat& format() const { return format_; }
  const std::string& name() const { return name_; }  ///< as the driver calls it

  /// Waits at most so long. Of several frames that are there it takes the newest and gives the others back. Throws
  /// Error if the device fails.
  Arrival wait(RawFrame& frame, int milliseconds);
  void give_back(int buffer);

  /// Frames that were there too late to be taken, that the driver had no buffer for, and that came incomplete.
  index_t passed_over() const { return passed_over_; }
  index_t missed() const { return missed_; }
  index_t broken() const { return broken_; }

 private:
  struct Buffer {
    std::uint8_t* memory = nullptr;
    std::size_t length = 0;
  };

  void check_capabilities();
  void map_buffers();
  void make_buffers();
  void start();
  void release();
  Arrival take(RawFrame& frame);       // without waiting
  Arrival take_read(RawFrame& frame);  // from a device that has no buffers
  bool is_whole(std::size_t count) const;

  std::string path_, name_;
  const DeviceCalls& calls_;
  DeviceHandle device_;
  CameraFormat format_;
  bool streams_ = true;
  bool started_ = false;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<std::uint8_t>> own_;  // memory of buffers that are read into, and which of them are free
  std::vector<std::atomic<bool>> free_;
  std::int64_t last_number_ = -1;
  index_t passed_over_ = 0, missed_ = 0, broken_ = 0;
  int failures_ = 0;  // in a row
};

}  // namespace oriel::portrait
