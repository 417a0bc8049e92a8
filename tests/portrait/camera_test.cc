// Cameras: modes, frames, what drivers do to both, and the command from a camera to its output.
#include <linux/videodev2.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <thread>

#include "apps/portrait/camera/decoder.h"
#include "apps/portrait/camera/live.h"
#include "fake_devices.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

constexpr Colour kGreen{40, 200, 60}, kPerson{90, 40, 60};
constexpr const char* kPath = "/dev/video7";

std::vector<std::string> chosen(const std::vector<CameraMode>& modes, const WantedMode& wanted) {
  const std::optional<CameraMode> m = choose_mode(modes, wanted);
  if (!m) return {};
  return {format_name(m->format), std::to_string(m->width), std::to_string(m->height)};
}

using Words = std::vector<std::string>;

TEST(CameraModes, fast_enough_first_unless_a_size_is_asked_for) {
  const std::vector<CameraMode> usb2 = {{V4L2_PIX_FMT_YUYV, 640, 480, 30},
                                        {V4L2_PIX_FMT_YUYV, 1280, 720, 10},
                                        {V4L2_PIX_FMT_MJPEG, 640, 480, 30},
                                        {V4L2_PIX_FMT_MJPEG, 1280, 720, 30},
                                        {V4L2_PIX_FMT_MJPEG, 1920, 1080, 30}};
  EXPECT_EQ(chosen(usb2, {}), (Words{"MJPG", "1280", "720"}));
  EXPECT_EQ(chosen(usb2, {.rate = 5}), (Words{"YUYV", "1280", "720"}));  // no decoding
  EXPECT_EQ(chosen(usb2, {.width = 640, .height = 480}), (Words{"YUYV", "640", "480"}));
  EXPECT_EQ(chosen(usb2, {.width = 1920, .height = 1080}), (Words{"MJPG", "1920", "1080"}));
  const std::vector<CameraMode> slow = {{V4L2_PIX_FMT_YUYV, 640, 480, 30}, {V4L2_PIX_FMT_YUYV, 1280, 720, 10}};
  EXPECT_EQ(chosen(slow, {}), (Words{"YUYV", "640", "480"}));
  EXPECT_EQ(chosen(slow, {.width = 1280, .height = 720}), (Words{"YUYV", "1280", "720"}));
  const std::vector<CameraMode> ntsc = {{V4L2_PIX_FMT_YUYV, 640, 480, 30}, {V4L2_PIX_FMT_YUYV, 1280, 720, 29.97}};
  EXPECT_EQ(chosen(ntsc, {}), (Words{"YUYV", "1280", "720"}));
  EXPECT_EQ(chosen({}, {}), Words{});
}

// A camera of one mode whose script is given.
FakeDevice& add_camera(FakeMachine& machine, std::uint32_t format, std::uint32_t width, std::uint32_t height,
                       std::deque<FakeFrame> script = {}) {
  FakeDevice& camera = machine.add_camera(kPath, {{format, width, height, 30}});
  camera.script = std::move(script);
  return camera;
}

// The Error of opening the camera.
std::string refusal(FakeMachine& machine, const WantedMode& wanted = {}, const std::string& path = kPath) {
  const DeviceCalls calls = machine.calls();
  return error_of([&] { const Capture capture(path, wanted, calls); });
}

TEST(Capture, devices_that_cannot_be_used_are_one_line_each) {
  FakeMachine machine;
  EXPECT_EQ(refusal(machine), "/dev/video7: no such device");
  FakeDevice& camera = add_camera(machine, V4L2_PIX_FMT_YUYV, 64, 48);
  camera.open_error = EACCES;
  EXPECT_EQ(refusal(machine), "/dev/video7: no permission to use it; on most systems members of the group 'video' may");
  camera.open_error = EBUSY;
  EXPECT_EQ(refusal(machine), "/dev/video7: another program is using it");
  camera.open_error = 0;
  camera.format_error = EBUSY;
  EXPECT_EQ(refusal(machine), "/dev/video7: another program is using it");
  camera.format_error = EIO;
  EXPECT_EQ(refusal(machine), "/dev/video7: 'Fake Camera' refuses YUYV of 64x48: Input/output error");
  camera.format_error = 0;
  camera.start_error = ENOSPC;
  EXPECT_EQ(refusal(machine), "/dev/video7: the USB bus has no room for this mode; allowed: a smaller --size or --fps");
  camera.start_error = 0;
  camera.most_buffers = 2;
  EXPECT_EQ(refusal(machine), "/dev/video7: the driver has memory for 2 frames; needed: 3");
  camera.capabilities = V4L2_CAP_META_CAPTURE;
  EXPECT_NE(refusal(machine).find("is not a camera that can be read: it has data about frames, not frames"),
            std::string::npos);
  camera.capabilities = 0;
  EXPECT_EQ(refusal(machine), "/dev/video7: not a video device");
  machine.add_loopback("/dev/video9");
  EXPECT_NE(refusal(machine, {}, "/dev/video9").find("it is an output device"), std::string::npos);
  EXPECT_EQ(camera.opened, 0);
  EXPECT_EQ(camera.mapped, 0);
}

TEST(Capture, formats_that_are_not_known_are_named) {
  FakeMachine machine;
  FakeDevice& camera =
      machine.add_camera(kPath, {{V4L2_PIX_FMT_H264, 1280, 720, 30}, {V4L2_PIX_FMT_GREY, 640, 480, 30}});
  EXPECT_EQ(refusal(machine),
            "/dev/video7: 'Fake Camera' has the formats H264, GREY; allowed: a camera with one of "
            "NV12, YU12, YUYV, UYVY, MJPG, JPEG");
  camera.modes = {{V4L2_PIX_FMT_YUYV, 640, 480, 30}};
  camera.instead = {V4L2_PIX_FMT_GREY, 640, 480, 30};
  EXPECT_NE(refusal(machine).find("gives GREY of 640x480; allowed: one of NV12"), std::string::npos);
  camera.instead = {V4L2_PIX_FMT_YUYV, 0, 480, 30};
  EXPECT_NE(refusal(machine).find("gives YUYV of 0x480; allowed"), std::string::npos);
}

TEST(Capture, the_driver_decides_on_the_size) {
  FakeMachine machine;
  FakeDevice& camera = add_camera(machine, V4L2_PIX_FMT_YUYV, 640, 480);
  camera.instead = {V4L2_PIX_FMT_NV12, 352, 288, 15};
  camera.more_pitch = 32;
  const DeviceCalls calls = machine.calls();
  {
    const Capture capture(kPath, {.width = 640, .height = 480}, calls);
    EXPECT_EQ(capture.format().mode.width, 352);
    EXPECT_EQ(capture.format().mode.height, 288);
    EXPECT_EQ(capture.format().mode.rate, 15);
    EXPECT_EQ(capture.format().pitch, 384);
    EXPECT_EQ(capture.format().frame_bytes, 384U * 288 * 3 / 2);
    EXPECT_EQ(camera.mapped, 4);
    EXPECT_TRUE(camera.streaming);
  }
  EXPECT_EQ(camera.mapped, 0);
  EXPECT_EQ(camera.opened, 0);
  EXPECT_FALSE(camera.streaming);
}

// What waits end with, until the first that is not a frame or nothing.
struct Seen {
  index_t frames = 0;
  Arrival end = Arrival::none;
};
Seen drain(Capture& capture) {
  Seen seen;
  for (int quiet = 0; quiet < 3;) {
    RawFrame frame;
    const Arrival arrival = capture.wait(frame, 5);
    quiet = arrival == Arrival::none ? quiet + 1 : 0;
    if (arrival == Arrival::frame) {
      ++seen.frames;
      capture.give_back(frame.buffer);
    } else if (arrival != Arrival::none) {
      seen.end = arrival;
      break;
    }
  }
  return seen;
}

TEST(Capture, faulty_frames_are_counted_and_passed_over) {
  FakeMachine machine;
  const std::vector<std::uint8_t> whole(64 * 48 * 2, 128), part(64 * 48, 128);
  add_camera(machine, V4L2_PIX_FMT_YUYV, 64, 48,
             {{whole}, {part}, {whole, V4L2_BUF_FLAG_ERROR}, {{}}, {whole, 0, 5}, {.error = EIO}, {whole}});
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  const Seen seen = drain(capture);
  EXPECT_EQ(seen.frames, 3);
  EXPECT_EQ(capture.broken(), 3);
  EXPECT_GE(capture.missed(), 5);
  EXPECT_EQ(capture.passed_over(), 0);
  EXPECT_EQ(seen.end, Arrival::none);
}

TEST(Capture, ends_when_the_device_does) {
  const std::vector<std::uint8_t> whole(64 * 48 * 2, 128);
  for (const auto& [error, end] : {std::pair{ENODEV, Arrival::unplugged}, std::pair{EPIPE, Arrival::end}}) {
    FakeMachine machine;
    add_camera(machine, V4L2_PIX_FMT_YUYV, 64, 48, {{whole}, {whole}, {.error = error}});
    const DeviceCalls calls = machine.calls();
    Capture capture(kPath, {}, calls);
    const Seen seen = drain(capture);
    EXPECT_EQ(seen.frames, 2);
    EXPECT_EQ(seen.end, end);
  }
}

TEST(Capture, a_device_that_only_fails_is_an_error) {
  FakeMachine machine;
  FakeDevice& camera = add_camera(machine, V4L2_PIX_FMT_YUYV, 64, 48, {{.error = EIO}});
  camera.repeats = true;
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  const auto read = [&] {
    RawFrame frame;
    for (int i = 0; i < 150; ++i) EXPECT_EQ(capture.wait(frame, 5), Arrival::none) << i;
  };
  EXPECT_EQ(error_of(read), "/dev/video7: cannot read a frame: Input/output error");
}

TEST(Capture, of_several_frames_the_newest_is_taken) {
  FakeMachine machine;
  FakeDevice& camera = add_camera(machine, V4L2_PIX_FMT_YUYV, 64, 48);
  for (std::uint8_t i = 0; i < 10; ++i) camera.script.push_back({std::vector<std::uint8_t>(64 * 48 * 2, i)});
  camera.interval = std::chrono::milliseconds(2);
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  RawFrame frame;
  ASSERT_EQ(capture.wait(frame, 100), Arrival::frame);
  EXPECT_EQ(frame.bytes[0], 3);  // four buffers, none given back in between
  EXPECT_EQ(capture.passed_over(), 3);
  EXPECT_TRUE(camera.no_room);
}

TEST(Capture, devices_without_buffers_are_read) {
  FakeMachine machine;
  const std::vector<std::uint8_t> whole(64 * 48 * 2, 128), part(100, 128);
  FakeDevice& camera =
      add_camera(machine, V4L2_PIX_FMT_YUYV, 64, 48, {{whole}, {.error = EAGAIN}, {part}, {whole}, {.error = EAGAIN}});
  camera.capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_READWRITE;
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  const Seen seen = drain(capture);
  EXPECT_EQ(seen.frames, 2);
  EXPECT_EQ(seen.end, Arrival::end);
  EXPECT_EQ(capture.broken(), 1);
}

// A frame of a camera of that format, decoded.
Image decoded(const Image& image, std::uint32_t format, std::uint32_t more = 0) {
  FakeMachine machine;
  const bool jpeg = format == V4L2_PIX_FMT_MJPEG;
  FakeDevice& camera =
      add_camera(machine, format, static_cast<std::uint32_t>(image.width), static_cast<std::uint32_t>(image.height),
                 {{jpeg ? as_jpeg(image) : as_camera(image, format, more)}});
  camera.more_pitch = more;
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  CameraDecoder decoder(kPath, capture.format());
  RawFrame raw;
  Image out;
  EXPECT_EQ(capture.wait(raw, 100), Arrival::frame);
  EXPECT_TRUE(decoder.decode(raw, out));
  return out;
}

TEST(CameraDecoder, every_format_gives_the_same_picture) {
  const Scene scene = disc_scene(48, 64, 17, 8, kPerson, {50, 90, 110});
  const auto everywhere = [](std::size_t) { return true; };
  for (const std::uint32_t format : {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_UYVY, V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_YUV420})
    for (const std::uint32_t more : {0U, 16U}) {
      const Image image = decoded(scene.image, format, more);
      EXPECT_EQ(image.width, 64);
      EXPECT_LT(mean_difference(image, scene.image, everywhere), 3) << format_name(format) << " " << more;
    }
  EXPECT_LT(mean_difference(decoded(scene.image, V4L2_PIX_FMT_MJPEG), scene.image, everywhere), 3);
}

TEST(CameraDecoder, corrupt_JPEGs_are_dropped) {
  const Scene scene = disc_scene(48, 64, 17, 2, kPerson, kGreen);
  const std::vector<std::uint8_t> whole = as_jpeg(scene.image);
  std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + std::ssize(whole) / 2), noise(500, 0x5a);
  const std::vector<std::uint8_t> other = as_jpeg(disc_scene(32, 32, 9, 2, kPerson, kGreen).image);
  const CameraFormat format{
      .mode = {V4L2_PIX_FMT_MJPEG, 64, 48, 30}, .pitch = 0, .frame_bytes = 10000, .full_range = true};
  CameraDecoder decoder(kPath, format);
  Image image;
  const auto decode = [&](const std::vector<std::uint8_t>& b) {
    return decoder.decode({.bytes = b.data(), .count = b.size(), .time = {}}, image);
  };
  EXPECT_TRUE(decode(whole));
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(decode(cut));
  EXPECT_FALSE(decode(noise));
  EXPECT_FALSE(decode(other));
  EXPECT_TRUE(decode(whole));

  CameraDecoder tolerant(kPath, format);  // of a camera none of whose frames follows the standard
  int refused = 0;
  while (refused < 30 && !tolerant.decode({.bytes = cut.data(), .count = cut.size(), .time = {}}, image)) ++refused;
  EXPECT_EQ(refused, 10);
}

struct Collected final : FrameSink {
  std::vector<Image> images;
  void write(const Image& image) override { images.push_back(image); }
  void finish() override {}
};

TEST(Live, late_frames_are_dropped_and_the_newest_is_next) {
  FakeMachine machine;
  FakeDevice& camera = add_camera(machine, V4L2_PIX_FMT_NV12, 32, 32);
  Image grey(32, 32, 3);
  for (int i = 0; i < 60; ++i) {
    std::fill(grey.bytes.begin(), grey.bytes.end(), static_cast<std::uint8_t>(10 + 4 * i));
    camera.script.push_back({as_camera(grey, V4L2_PIX_FMT_NV12)});
  }
  camera.interval = std::chrono::milliseconds(5);
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  CameraDecoder decoder(kPath, capture.format());
  const Segmenter slow = [](const Image&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    return Planes(1, 32, 32);
  };
  LiveOptions options{.look = {.no_person = NoPerson::keep}, .silence = std::chrono::milliseconds(200)};
  options.look.background.kind = Background::Kind::colour;
  Collected sink;
  const LiveReport report = run_live(capture, decoder, slow, options, sink, std::atomic<bool>(false));
  EXPECT_EQ(report.end, LiveEnd::silent);
  EXPECT_LE(report.frames + report.dropped, 60);
  EXPECT_GE(report.frames + report.dropped, 40) << "a machine with other work may keep the device waiting";
  EXPECT_GE(report.dropped, 20);
  ASSERT_GE(sink.images.size(), 4U);
  for (std::size_t i = 1; i < sink.images.size(); ++i)
    EXPECT_GT(sink.images[i].bytes[0], sink.images[i - 1].bytes[0]) << "in order";
  if (report.frames + report.dropped == 60) {
    EXPECT_NEAR(sink.images.back().bytes[0], 10 + 4 * 59, 2) << "the last one, which nothing followed";
  }
  EXPECT_GE(report.latency, 40);
  EXPECT_LT(report.latency, 400) << "of a frame that waited for one other at most";
}

TEST(Live, a_camera_whose_frames_cannot_be_decoded_is_given_up) {
  FakeMachine machine;
  FakeDevice& camera = add_camera(machine, V4L2_PIX_FMT_MJPEG, 64, 48, {{std::vector<std::uint8_t>(500, 0x5a)}});
  camera.repeats = true;
  camera.interval = std::chrono::milliseconds(2);
  const DeviceCalls calls = machine.calls();
  Capture capture(kPath, {}, calls);
  CameraDecoder decoder(kPath, capture.format());
  const LiveOptions options{.silence = std::chrono::milliseconds(100)};
  Collected sink;
  index_t told = 0;
  const LiveReport report = run_live(
      capture, decoder, [](const Image&) { return Planes(1, 8, 8); }, options, sink, std::atomic<bool>(false),
      [&](const LiveReport& now) { told = now.corrupt; });
  EXPECT_EQ(report.end, LiveEnd::silent);
  EXPECT_EQ(report.frames, 0);
  EXPECT_GT(report.corrupt, 0);
  EXPECT_EQ(told, report.corrupt);
  EXPECT_TRUE(sink.images.empty());
}

}  // namespace
}  // namespace oriel::portrait
