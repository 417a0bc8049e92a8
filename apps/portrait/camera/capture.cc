#include "apps/portrait/camera/capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/videodev2.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

namespace oriel::portrait {
namespace {

constexpr std::uint32_t kBuffers = 4;  // one is decoded, one is next, two the driver fills
constexpr int kMostFailures = 100;     // in a row, of a device that is there

CameraClock::time_point time_of(const v4l2_buffer& buffer) {
  const CameraClock::time_point now = CameraClock::now();
  if ((buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) != V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC) return now;
  const CameraClock::time_point said(std::chrono::seconds(buffer.timestamp.tv_sec) +
                                     std::chrono::microseconds(buffer.timestamp.tv_usec));
  return said <= now && now - said < std::chrono::seconds(10) ? said : now;
}

}  // namespace

Capture::Capture(const std::string& path, const WantedMode& wanted, const DeviceCalls& calls)
    : path_(path), calls_(calls), device_(path, calls, O_RDWR | O_NONBLOCK) {
  check_capabilities();
  format_ = agree(device_, path, name_, wanted);
  try {
    if (streams_)
      map_buffers();
    else
      make_buffers();
    start();
  } catch (...) {
    release();
    throw;
  }
}

Capture::~Capture() { release(); }

void Capture::check_capabilities() {
  const std::optional<DeviceIdentity> device = identity_of(device_);
  if (!device) throw Error(fmt::format("{}: not a video device", path_));
  name_ = device->name;
  const auto can = [&](std::uint32_t what) { return (device->capabilities & what) != 0; };
  if (!can(V4L2_CAP_VIDEO_CAPTURE)) {
    const char* const what = can(V4L2_CAP_VIDEO_CAPTURE_MPLANE) ? "its frames have several planes in memory"
                             : can(V4L2_CAP_VIDEO_OUTPUT)       ? "it is an output device"
                             : can(V4L2_CAP_META_CAPTURE)       ? "it has data about frames, not frames"
                                                                : "it sends no video";
    throw Error(fmt::format("{}: '{}' is not a camera that can be read: {}; oriel-portrait camera lists those that can",
                            path_, name_, what));
  }
  streams_ = can(V4L2_CAP_STREAMING);
  if (!streams_ && !can(V4L2_CAP_READWRITE))
    throw Error(fmt::format("{}: '{}' supports neither memory mapping nor read()", path_, name_));
}

void Capture::map_buffers() {
  v4l2_requestbuffers ask{};
  ask.count = kBuffers;
  ask.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  ask.memory = V4L2_MEMORY_MMAP;
  if (!device_.ioctl(VIDIOC_REQBUFS, &ask)) {
    if (errno == EBUSY) throw Error(fmt::format("{}: another program is using it", path_));
    throw Error(fmt::format("{}: cannot map its frames: {}", path_, std::strerror(errno)));
  }
  if (ask.count < 3) throw Error(fmt::format("{}: the driver has memory for {} frames; needed: 3", path_, ask.count));
  for (std::uint32_t i = 0; i < ask.count; ++i) {
    v4l2_buffer b{};
    b.index = i;
    b.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    b.memory = V4L2_MEMORY_MMAP;
    void* memory = MAP_FAILED;
    if (device_.ioctl(VIDIOC_QUERYBUF, &b)) memory = calls_.mmap(device_.number(), b.length, b.m.offset);
    if (memory == MAP_FAILED) throw Error(fmt::format("{}: cannot map its frames: {}", path_, std::strerror(errno)));
    buffers_.push_back({static_cast<std::uint8_t*>(memory), b.length});
  }
}

void Capture::make_buffers() {
  free_ = std::vector<std::atomic<bool>>(kBuffers);
  for (std::atomic<bool>& free : free_) {
    own_.emplace_back(std::max<std::size_t>(format_.frame_bytes, 1));
    buffers_.push_back({own_.back().data(), own_.back().size()});
    free = true;
  }
}

void Capture::start() {
  if (!streams_) return;
  for (std::size_t i = 0; i < buffers_.size(); ++i) give_back(static_cast<int>(i));
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  if (!device_.ioctl(VIDIOC_STREAMON, &type)) {
    const bool busy = errno == EBUSY, full = errno == ENOSPC;
    throw Error(fmt::format("{}: {}", path_,
                            busy   ? "another program is using it"
                            : full ? "the USB bus has no room for this mode; allowed: a smaller --size or --fps"
                                   : fmt::format("cannot start: {}", std::strerror(errno))));
  }
  started_ = true;
}

void Capture::release() {
  if (started_) {
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    device_.ioctl(VIDIOC_STREAMOFF, &type);
    started_ = false;
  }
  if (streams_)
    for (const Buffer& buffer : buffers_) calls_.munmap(buffer.memory, buffer.length);
  buffers_.clear();
}

void Capture::give_back(int buffer) {
  if (buffer < 0) return;
  if (!streams_) {
    free_[static_cast<std::size_t>(buffer)] = true;
    return;
  }
  v4l2_buffer b{};
  b.index = static_cast<std::uint32_t>(buffer);
  b.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  b.memory = V4L2_MEMORY_MMAP;
  device_.ioctl(VIDIOC_QBUF, &b);  // a device that is gone says so when the next frame is awaited
}

bool Capture::is_whole(std::size_t count) const { return format_.is_jpeg() ? count > 0 : count >= format_.frame_bytes; }

Arrival Capture::take(RawFrame& frame) {
  for (;;) {
    v4l2_buffer b{};
    b.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    b.memory = V4L2_MEMORY_MMAP;
    if (!device_.ioctl(VIDIOC_DQBUF, &b)) {
      if (errno == EAGAIN) return Arrival::none;
      if (errno == ENODEV || errno == ENXIO) return Arrival::unplugged;
      if (errno == EPIPE) return Arrival::end;
      if (++failures_ < kMostFailures && errno == EIO) return Arrival::none;  // a lost signal may come back
      throw Error(fmt::format("{}: cannot read a frame: {}", path_, std::strerror(errno)));
    }
    if (b.index >= buffers_.size()) throw Error(fmt::format("{}: the driver names buffer {}", path_, b.index));
    failures_ = 0;
    if (last_number_ >= 0 && b.sequence > last_number_ + 1) missed_ += b.sequence - last_number_ - 1;
    last_number_ = b.sequence;
    const Buffer& buffer = buffers_[b.index];
    const std::size_t count = std::min<std::size_t>(b.bytesused, buffer.length);
    const bool whole = (b.flags & V4L2_BUF_FLAG_ERROR) == 0 && is_whole(count);
    if ((b.flags & V4L2_BUF_FLAG_LAST) != 0 && count == 0) return Arrival::end;
    if (whole) {
      frame = {buffer.memory, count, time_of(b), static_cast<int>(b.index)};
      return Arrival::frame;
    }
    ++broken_;
    give_back(static_cast<int>(b.index));
  }
}

Arrival Capture::take_read(RawFrame& frame) {
  const auto free = std::find(free_.begin(), free_.end(), true);
  if (free == free_.end()) return Arrival::none;
  const auto index = static_cast<std::size_t>(free - free_.begin());
  const ssize_t count = calls_.read(device_.number(), buffers_[index].memory, buffers_[index].length);
  if (count == 0) return Arrival::end;
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return Arrival::none;
    if (errno == ENODEV || errno == ENXIO) return Arrival::unplugged;
    if (++failures_ < kMostFailures && errno == EIO) return Arrival::none;
    throw Error(fmt::format("{}: cannot read a frame: {}", path_, std::strerror(errno)));
  }
  failures_ = 0;
  if (!is_whole(static_cast<std::size_t>(count))) {
    ++broken_;
    return Arrival::none;
  }
  *free = false;
  frame = {buffers_[index].memory, static_cast<std::size_t>(count), CameraClock::now(), static_cast<int>(index)};
  return Arrival::frame;
}

Arrival Capture::wait(RawFrame& frame, int milliseconds) {
  const int ready = calls_.poll(device_.number(), milliseconds);
  if (ready == 0) return Arrival::none;
  if (ready < 0) {
    if (errno == EINTR || errno == EAGAIN) return Arrival::none;
    if (errno == ENODEV || errno == ENXIO) return Arrival::unplugged;
    throw Error(fmt::format("{}: cannot wait for a frame: {}", path_, std::strerror(errno)));
  }
  const auto one = [&](RawFrame& to) { return streams_ ? take(to) : take_read(to); };
  Arrival found = one(frame);
  if (found == Arrival::none) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // poll reports errors at once
  RawFrame next;
  while (found == Arrival::frame && one(next) == Arrival::frame) {  // an end is met again at the next wait
    give_back(frame.buffer);
    frame = next;
    ++passed_over_;
  }
  return found;
}

}  // namespace oriel::portrait
