#include "fake_devices.h"

#include <linux/videodev2.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "apps/portrait/image/image_file.h"

namespace oriel::portrait {
namespace {

using Clock = std::chrono::steady_clock;

int fails(int error) {
  errno = error;
  return -1;
}

bool is_jpeg(std::uint32_t format) { return format == V4L2_PIX_FMT_MJPEG || format == V4L2_PIX_FMT_JPEG; }

}  // namespace

// An open device: its format, its buffers, its sensor.
struct FakeMachine::Driver {
  enum class State : std::uint8_t { user, queued, filled };
  struct Buffer {
    std::vector<std::uint8_t> memory;
    State state = State::user;
    v4l2_buffer answer{};
    int error = 0;
  };

  explicit Driver(FakeDevice& d) : device(d) {}

  int ioctl(unsigned long request, void* argument);
  int enumerate(unsigned long request, void* argument);
  int set_format(v4l2_format& f);
  int request_buffers(v4l2_requestbuffers& r);
  int queue(const v4l2_buffer& b);
  int dequeue(v4l2_buffer& b);
  void advance();
  void fill(FakeFrame frame);
  bool next(FakeFrame& frame);
  bool ready();

  FakeDevice& device;
  std::vector<Buffer> buffers;
  std::deque<std::size_t> queued, filled;
  std::size_t at = 0;  // in the script
  std::uint32_t number = 0;
  int gone = 0;  // the error of a device that is no longer there
  Clock::time_point due;
};

bool FakeMachine::Driver::next(FakeFrame& frame) {
  if (at == device.script.size() && device.repeats) at = 0;
  if (at >= device.script.size()) return false;
  frame = device.script[at++];
  return true;
}

// The sensor goes on, whether anybody looks or not.
void FakeMachine::Driver::advance() {
  if (!device.streaming || gone != 0) return;
  FakeFrame frame;
  if (device.interval.count() == 0) {
    if (queued.size() == buffers.size() && filled.empty() && next(frame)) fill(frame);
    return;
  }
  while (due <= Clock::now() && next(frame)) {
    due += device.interval;
    fill(frame);
  }
}

void FakeMachine::Driver::fill(FakeFrame frame) {
  if (frame.error == ENODEV) gone = ENODEV;
  if (gone != 0) return;
  ++device.sent;
  number += frame.skipped;
  const std::uint32_t mine = number++;
  if (queued.empty()) {
    device.no_room = true;
    return;
  }
  Buffer& buffer = buffers[queued.front()];
  const std::size_t count = std::min(frame.bytes.size(), buffer.memory.size());
  std::copy_n(frame.bytes.begin(), count, buffer.memory.begin());
  buffer.error = frame.error;
  buffer.answer = {};
  buffer.answer.index = static_cast<std::uint32_t>(queued.front());
  buffer.answer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  buffer.answer.memory = V4L2_MEMORY_MMAP;
  buffer.answer.bytesused = static_cast<std::uint32_t>(count);
  buffer.answer.flags = frame.flags | V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  buffer.answer.sequence = mine;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
  buffer.answer.timestamp.tv_sec = now / 1'000'000;
  buffer.answer.timestamp.tv_usec = now % 1'000'000;
  buffer.state = State::filled;
  filled.push_back(queued.front());
  queued.pop_front();
}

bool FakeMachine::Driver::ready() {
  advance();
  if (gone != 0 || !device.streaming) return true;  // the kernel's POLLERR
  return !filled.empty();
}

int FakeMachine::Driver::enumerate(unsigned long request, void* argument) {
  std::vector<std::uint32_t> formats;
  for (const FakeMode& m : device.modes)
    if (std::find(formats.begin(), formats.end(), m.format) == formats.end()) formats.push_back(m.format);
  if (request == VIDIOC_ENUM_FMT) {
    auto& f = *static_cast<v4l2_fmtdesc*>(argument);
    if (f.index >= formats.size()) return fails(EINVAL);
    f.pixelformat = formats[f.index];
    return 0;
  }
  const auto choose = [&](std::uint32_t index, std::uint32_t format, std::uint32_t width, std::uint32_t height) {
    for (const FakeMode& m : device.modes)
      if (m.format == format && (width == 0 || (m.width == width && m.height == height)) && index-- == 0) return &m;
    return static_cast<const FakeMode*>(nullptr);
  };
  if (request == VIDIOC_ENUM_FRAMESIZES) {
    auto& s = *static_cast<v4l2_frmsizeenum*>(argument);
    const FakeMode* const m = choose(s.index, s.pixel_format, 0, 0);
    if (m == nullptr || m->width == 0) return fails(EINVAL);
    s.type = V4L2_FRMSIZE_TYPE_DISCRETE;
    s.discrete = {m->width, m->height};
    return 0;
  }
  auto& i = *static_cast<v4l2_frmivalenum*>(argument);
  const FakeMode* const m = choose(i.index, i.pixel_format, i.width, i.height);
  if (m == nullptr) return fails(EINVAL);
  i.type = V4L2_FRMIVAL_TYPE_DISCRETE;
  i.discrete = {1, m->rate};
  return 0;
}

// As drivers do: no request for a size is an error, the nearest is set.
int FakeMachine::Driver::set_format(v4l2_format& f) {
  if (device.format_error != 0) return fails(device.format_error);
  v4l2_pix_format& p = f.fmt.pix;
  if (f.type == V4L2_BUF_TYPE_VIDEO_OUTPUT) {
    if (device.output_format != 0) p.pixelformat = device.output_format;
    device.set = {p.pixelformat, p.width, p.height, 0};
    return 0;
  }
  if (!buffers.empty()) return fails(EBUSY);
  FakeMode best = device.modes.at(0);
  const auto away = [&](const FakeMode& m) {
    const double pixels = std::abs(double(m.width) * m.height - double(p.width) * p.height);
    return pixels + (m.format == p.pixelformat ? 0 : 1e12);
  };
  for (const FakeMode& m : device.modes)
    if (away(m) < away(best)) best = m;
  if (best.width == 0) best = {p.pixelformat, p.width, p.height, 30};
  if (device.instead.format != 0) best = device.instead;
  device.set = best;
  p.pixelformat = best.format;
  p.width = best.width;
  p.height = best.height;
  const bool packed = best.format == V4L2_PIX_FMT_YUYV || best.format == V4L2_PIX_FMT_UYVY;
  p.bytesperline = is_jpeg(best.format) ? 0 : best.width * (packed ? 2 : 1) + device.more_pitch;
  p.sizeimage = is_jpeg(best.format) ? best.width * best.height * 2
                : packed             ? p.bytesperline * best.height
                                     : p.bytesperline * best.height * 3 / 2;
  return 0;
}

int FakeMachine::Driver::request_buffers(v4l2_requestbuffers& r) {
  if ((device.capabilities & V4L2_CAP_STREAMING) == 0) return fails(EINVAL);
  r.count = std::min(r.count, device.most_buffers);
  const bool packed = device.set.format == V4L2_PIX_FMT_YUYV || device.set.format == V4L2_PIX_FMT_UYVY;
  const std::size_t row = device.set.width * (packed ? 2 : 1) + device.more_pitch;
  buffers = std::vector<Buffer>(r.count);
  for (Buffer& b : buffers) b.memory.resize(2 * std::max<std::size_t>(row * device.set.height, 64));
  return 0;
}

int FakeMachine::Driver::queue(const v4l2_buffer& b) {
  if (gone != 0) return fails(gone);
  if (b.index >= buffers.size() || buffers[b.index].state != State::user) return fails(EINVAL);
  buffers[b.index].state = State::queued;
  queued.push_back(b.index);
  return 0;
}

int FakeMachine::Driver::dequeue(v4l2_buffer& b) {
  advance();
  if (gone != 0) return fails(gone);
  if (!device.streaming) return fails(EINVAL);
  if (filled.empty()) return fails(EAGAIN);
  Buffer& buffer = buffers[filled.front()];
  if (buffer.error != 0) {  // the buffer goes back to the driver
    buffer.state = State::queued;
    queued.push_back(filled.front());
    filled.pop_front();
    return fails(buffer.error);
  }
  b = buffer.answer;
  buffer.state = State::user;
  filled.pop_front();
  return 0;
}

int FakeMachine::Driver::ioctl(unsigned long request, void* argument) {
  if (gone != 0) return fails(gone);
  switch (request) {
    case VIDIOC_QUERYCAP: {
      if (device.capabilities == 0) return fails(ENOTTY);
      auto& c = *static_cast<v4l2_capability*>(argument);
      std::strncpy(reinterpret_cast<char*>(c.card), device.card.c_str(), sizeof c.card - 1);
      c.capabilities = V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE;  // of all devices of the hardware together
      c.device_caps = device.capabilities;
      return 0;
    }
    case VIDIOC_ENUM_FMT:
    case VIDIOC_ENUM_FRAMESIZES:
    case VIDIOC_ENUM_FRAMEINTERVALS:
      return enumerate(request, argument);
    case VIDIOC_G_FMT:
      return 0;
    case VIDIOC_S_FMT:
      return set_format(*static_cast<v4l2_format*>(argument));
    case VIDIOC_G_PARM:
    case VIDIOC_S_PARM: {
      if (device.set.rate == 0) return fails(ENOTTY);
      auto& p = *static_cast<v4l2_streamparm*>(argument);
      p.parm.capture.capability = V4L2_CAP_TIMEPERFRAME;
      p.parm.capture.timeperframe = {1, device.set.rate};
      return 0;
    }
    case VIDIOC_REQBUFS:
      return request_buffers(*static_cast<v4l2_requestbuffers*>(argument));
    case VIDIOC_QUERYBUF: {
      auto& b = *static_cast<v4l2_buffer*>(argument);
      if (b.index >= buffers.size()) return fails(EINVAL);
      b.length = static_cast<std::uint32_t>(buffers[b.index].memory.size());
      b.m.offset = b.index * 4096;
      return 0;
    }
    case VIDIOC_QBUF:
      return queue(*static_cast<v4l2_buffer*>(argument));
    case VIDIOC_DQBUF:
      return dequeue(*static_cast<v4l2_buffer*>(argument));
    case VIDIOC_STREAMON:
      if (device.start_error != 0) return fails(device.start_error);
      device.streaming = true;
      due = Clock::now() + device.interval;
      return 0;
    case VIDIOC_STREAMOFF:
      device.streaming = false;
      return 0;
    default:
      return fails(ENOTTY);
  }
}

FakeDevice& FakeMachine::add(const std::string& path) { return devices_[path]; }

FakeDevice& FakeMachine::add_camera(const std::string& path, const std::vector<FakeMode>& modes) {
  FakeDevice& device = add(path);
  device.capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  device.modes = modes;
  return device;
}

FakeDevice& FakeMachine::add_loopback(const std::string& path) {
  FakeDevice& device = add(path);
  device.card = "Fake Loopback";
  device.capabilities = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_READWRITE;
  return device;
}

int FakeMachine::open(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(path);
  if (found == devices_.end()) return fails(ENOENT);
  if (found->second.open_error != 0) return fails(found->second.open_error);
  ++found->second.opened;
  open_[next_] = std::make_shared<Driver>(found->second);
  return next_++;
}

int FakeMachine::ioctl(int device, unsigned long request, void* argument) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(device);
  return found == open_.end() ? fails(EBADF) : found->second->ioctl(request, argument);
}

int FakeMachine::poll(int device, int milliseconds) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      Driver& driver = *open_.at(device);
      const bool reads = (driver.device.capabilities & V4L2_CAP_STREAMING) == 0;
      if (reads || driver.ready()) return 1;
    }
    if (Clock::now() >= end) return 0;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

ssize_t FakeMachine::read(int device, void* to, std::size_t count) {
  const std::lock_guard lock(mutex_);
  Driver& driver = *open_.at(device);
  FakeFrame frame;
  if (!driver.next(frame)) return 0;
  if (frame.error != 0) return fails(frame.error);
  count = std::min(count, frame.bytes.size());
  std::memcpy(to, frame.bytes.data(), count);
  ++driver.device.sent;
  return static_cast<ssize_t>(count);
}

ssize_t FakeMachine::write(int device, const void* from, std::size_t count) {
  const std::lock_guard lock(mutex_);
  FakeDevice& to = open_.at(device)->device;
  const auto* const bytes = static_cast<const std::uint8_t*>(from);
  to.written.emplace_back(bytes, bytes + count);
  return static_cast<ssize_t>(count);
}

void* FakeMachine::map(int device, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  Driver& driver = *open_.at(device);
  ++driver.device.mapped;
  return driver.buffers.at(static_cast<std::size_t>(offset / 4096)).memory.data();
}

int FakeMachine::unmap(void* memory) {
  const std::lock_guard lock(mutex_);
  for (auto& [number, driver] : open_)
    for (const Driver::Buffer& buffer : driver->buffers)
      if (buffer.memory.data() == memory) {
        --driver->device.mapped;
        return 0;
      }
  return fails(EINVAL);
}

DeviceCalls FakeMachine::calls() {
  return {
      .open = [this](const char* path, int) { return open(path); },
      .close =
          [this](int device) {
            const std::lock_guard lock(mutex_);
            --open_.at(device)->device.opened;
            open_.erase(device);
            return 0;
          },
      .ioctl = [this](int device, unsigned long request, void* argument) { return ioctl(device, request, argument); },
      .mmap = [this](int device, std::size_t, std::int64_t offset) { return map(device, offset); },
      .munmap = [this](void* memory, std::size_t) { return unmap(memory); },
      .poll = [this](int device, int milliseconds) { return poll(device, milliseconds); },
      .read = [this](int device, void* to, std::size_t count) { return read(device, to, count); },
      .write = [this](int device, const void* from, std::size_t count) { return write(device, from, count); }};
}

std::vector<std::uint8_t> as_camera(const Image& image, std::uint32_t format, std::size_t more) {
  const auto width = static_cast<std::size_t>(image.width), height = static_cast<std::size_t>(image.height);
  const auto yuv = [&](std::size_t y, std::size_t x, int part) {  // Rec. 601
    const std::uint8_t* const p = image.bytes.data() + 3 * (y * width + x);
    const double luma = 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
    const double value = part == 0   ? 16 + luma * 219 / 255
                         : part == 1 ? 128 + (p[2] - luma) / 1.772 * 224 / 255
                                     : 128 + (p[0] - luma) / 1.402 * 224 / 255;
    return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
  };
  const bool yuyv = format == V4L2_PIX_FMT_YUYV, packed = yuyv || format == V4L2_PIX_FMT_UYVY;
  const bool nv12 = format == V4L2_PIX_FMT_NV12;
  const std::size_t pitch = (packed ? 2 : 1) * width + more;
  std::vector<std::uint8_t> out(packed ? pitch * height : pitch * height * 3 / 2, 77);
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) {
      const int part = 1 + static_cast<int>(x % 2);
      const std::size_t even = x / 2 * 2;
      if (packed) {
        out[y * pitch + 2 * x + (yuyv ? 0 : 1)] = yuv(y, x, 0);
        out[y * pitch + 2 * x + (yuyv ? 1 : 0)] = yuv(y, even, part);
        continue;
      }
      out[y * pitch + x] = yuv(y, x, 0);
      if (y % 2 != 0) continue;
      if (nv12)
        out[pitch * height + y / 2 * pitch + x] = yuv(y, even, part);
      else
        out[pitch * height + (part == 2 ? pitch / 2 * (height / 2) : 0) + y / 2 * (pitch / 2) + x / 2] =
            yuv(y, even, part);
    }
  return out;
}

std::vector<std::uint8_t> as_jpeg(const Image& image) {
  const std::vector<std::byte> bytes = encode_image(image, ".jpg", "frame.jpg", std::nullopt);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {first, first + bytes.size()};
}

}  // namespace oriel::portrait
