// The calls of the system that video devices are used with.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace oriel::portrait {

/// Each returns what the system's call of that name returns, and sets errno. Tests have a device of their own.
struct DeviceCalls {
  std::function<int(const char* path, int flags)> open;
  std::function<int(int device)> close;
  std::function<int(int device, unsigned long request, void* argument)> ioctl;
  std::function<void*(int device, std::size_t length, std::int64_t offset)> mmap;  ///< shared, to read and write
  std::function<int(void* memory, std::size_t length)> munmap;
  std::function<int(int device, int milliseconds)> poll;  ///< until there is something to read; 0: the time is over
  std::function<ssize_t(int device, void* to, std::size_t count)> read;
  std::function<ssize_t(int device, const void* from, std::size_t count)> write;
};

/// Those of the kernel.
DeviceCalls system_calls();

/// An open device, closed at the end.
class DeviceHandle {
 public:
  /// Throws Error `path: no such device` and the like.
  DeviceHandle(const std::string& path, const DeviceCalls& calls, int flags);
  DeviceHandle(const DeviceHandle&) = delete;
  DeviceHandle& operator=(const DeviceHandle&) = delete;
  ~DeviceHandle();

  int number() const { return number_; }
  /// True if it succeeded; otherwise errno says why. Calls that a signal interrupted are repeated.
  bool ioctl(unsigned long request, void* argument) const;

 private:
  const DeviceCalls& calls_;
  int number_;
};

}  // namespace oriel::portrait
