#include "apps/portrait/camera/device_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "oriel/types.h"

namespace oriel::portrait {
namespace {

std::string why_not_opened(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR:
      return "no such device";
    case EBUSY:
      return "another program is using it";
    case EACCES:
    case EPERM:
      return "no permission to use it; on most systems members of the group 'video' may";
    default:
      return fmt::format("cannot be opened: {}", std::strerror(error));
  }
}

}  // namespace

DeviceCalls system_calls() {
  return {.open = [](const char* path, int flags) { return ::open(path, flags | O_CLOEXEC); },
          .close = [](int device) { return ::close(device); },
          .ioctl = [](int device, unsigned long request, void* argument) { return ::ioctl(device, request, argument); },
          .mmap =
              [](int device, std::size_t length, std::int64_t offset) {
                return ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, device, offset);
              },
          .munmap = [](void* memory, std::size_t length) { return ::munmap(memory, length); },
          .poll =
              [](int device, int milliseconds) {
                pollfd one{.fd = device, .events = POLLIN, .revents = 0};
                return ::poll(&one, 1, milliseconds);
              },
          .read = [](int device, void* to, std::size_t count) { return ::read(device, to, count); },
          .write = [](int device, const void* from, std::size_t count) { return ::write(device, from, count); }};
}

DeviceHandle::DeviceHandle(const std::string& path, const DeviceCalls& calls, int flags)
    : calls_(calls), number_(calls.open(path.c_str(), flags)) {
  if (number_ < 0) throw Error(fmt::format("{}: {}", path, why_not_opened(errno)));
}

DeviceHandle::~DeviceHandle() { calls_.close(number_); }

bool DeviceHandle::ioctl(unsigned long request, void* argument) const {
  int result = 0;
  do {
    result = calls_.ioctl(number_, request, argument);
  } while (result < 0 && errno == EINTR);
  return result >= 0;
}

}  // namespace oriel::portrait
