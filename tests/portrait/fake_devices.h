// Video devices that behave as Linux's do, without a kernel: what a driver does with requests, buffers and time.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/portrait/camera/device_calls.h"
#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// A mode that a fake camera lists.
struct FakeMode {
  std::uint32_t format = 0, width = 0, height = 0, rate = 30;
};

/// What the sensor does next.
struct FakeFrame {
  std::vector<std::uint8_t> bytes{};
  std::uint32_t flags = 0;    ///< of the buffer
  std::uint32_t skipped = 0;  ///< frames lost before it
  int error = 0;              ///< instead of a frame; ENODEV stays
};

/// One device. Fields are set before it is opened.
struct FakeDevice {
  std::string card = "Fake Camera";
  std::uint32_t capabilities = 0;
  std::vector<FakeMode> modes{};
  int open_error = 0, format_error = 0, start_error = 0;
  FakeMode instead{};            ///< what S_FMT sets, whatever was asked, if it has a format
  std::uint32_t more_pitch = 0;  ///< bytes after each row
  std::uint32_t most_buffers = 8;
  std::deque<FakeFrame> script{};         ///< the frames
  bool repeats = false;                   ///< the script starts again at its end; otherwise the device is silent then
  std::chrono::microseconds interval{0};  ///< of the sensor; 0: a frame comes when all buffers are there to be filled

  // What happened.
  FakeMode set{};
  int opened = 0, mapped = 0, sent = 0;
  bool streaming = false, no_room = false;
  std::vector<std::vector<std::uint8_t>> written{};  ///< by a loopback device's writer
  std::uint32_t output_format = 0;
};

/// The devices of a machine, by their paths.
class FakeMachine {
 public:
  FakeDevice& add(const std::string& path);
  FakeDevice& add_camera(const std::string& path, const std::vector<FakeMode>& modes);
  FakeDevice& add_loopback(const std::string& path);
  DeviceCalls calls();

 private:
  struct Driver;
  int open(const std::string& path);
  int ioctl(int device, unsigned long request, void* argument);
  int poll(int device, int milliseconds);
  ssize_t read(int device, void* to, std::size_t count);
  ssize_t write(int device, const void* from, std::size_t count);
  void* map(int device, std::int64_t offset);
  int unmap(void* memory);

  std::mutex mutex_;
  std::map<std::string, FakeDevice> devices_;
  std::map<int, std::shared_ptr<Driver>> open_;
  int next_ = 1000;
};

/// The bytes of a picture in a camera's format (YUYV, UYVY, NV12, YU12; limited range, Rec. 601), `more` bytes after
/// each row of luma, by plain formulas. Sides are even.
std::vector<std::uint8_t> as_camera(const Image& image, std::uint32_t format, std::size_t more = 0);

/// Its bytes as JPEG.
std::vector<std::uint8_t> as_jpeg(const Image& image);

}  // namespace oriel::portrait
