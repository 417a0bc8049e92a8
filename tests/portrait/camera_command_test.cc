// `oriel-portrait camera` from a fake camera to a file, a pipe and a loopback device.
#include <linux/videodev2.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/portrait/commands/camera/camera_command.h"
#include "fake_devices.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

namespace fs = std::filesystem;

constexpr Colour kGreen{40, 200, 60}, kPerson{90, 40, 60};
constexpr const char* kPath = "/dev/video7";
constexpr index_t kHeight = 96, kWidth = 128;

class CameraCommandTest : public testing::Test {
 protected:
  CameraCommandTest() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(testing::TempDir()) / ("camera_" + std::string(test->name()) + std::to_string(::getpid()));
    fs::create_directories(folder);
    camera = &machine.add_camera(kPath, {{V4L2_PIX_FMT_YUYV, kWidth, kHeight, 30}});
    command.device = kPath;
    command.asked.source.key = kGreen;
    command.asked.look.background = {.kind = Background::Kind::colour, .first = {0, 0, 255}};
    command.asked.look.no_person = NoPerson::background;
    command.asked.quiet = true;
  }
  ~CameraCommandTest() override { fs::remove_all(folder); }

  void give(int frames) {
    for (int i = 0; i < frames; ++i) camera->script.push_back({as_camera(scene.image, V4L2_PIX_FMT_YUYV)});
  }
  int run() { return run_camera(command, machine.calls()); }
  std::string refusal() {
    return error_of([&] { run(); });
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(folder / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // What the command prints on standard output.
  nlohmann::json json_of_run(int code) {
    command.asked.json = true;
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(), code);
    return nlohmann::json::parse(testing::internal::GetCapturedStdout());
  }

  fs::path folder;
  FakeMachine machine;
  FakeDevice* camera = nullptr;
  CameraCommand command;
  const Scene scene = disc_scene(kHeight, kWidth, 30, 2, kPerson, kGreen);
};

constexpr std::string_view kHead = "YUV4MPEG2 W128 H96 F30000:1000 Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED\n";
constexpr std::size_t kFrame = 6 + 128 * 96 * 3 / 2;

TEST_F(CameraCommandTest, frames_become_a_video_stream_in_a_file) {
  give(5);
  camera->script.push_back({.error = EPIPE});  // the end of the device
  command.to = folder / "out.y4m";
  const nlohmann::json said = json_of_run(0);
  EXPECT_EQ(said["frames"], 5);
  EXPECT_EQ(said["dropped"], 0);
  EXPECT_EQ(said["end"], "end");
  EXPECT_EQ(said["format"], "YUYV");
  EXPECT_EQ(said["frames_without_person"], 0);
  EXPECT_GT(said["milliseconds_per_frame"]["matte"], 0);
  const std::string stream = text_of("out.y4m");
  ASSERT_EQ(stream.size(), kHead.size() + 5 * kFrame);
  EXPECT_TRUE(stream.starts_with(kHead));
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string frame = stream.substr(kHead.size() + i * kFrame, kFrame);
    EXPECT_TRUE(frame.starts_with("FRAME\n"));
    const auto at = [&](std::size_t plane, std::size_t y, std::size_t x) {
      const std::size_t begin = plane == 0 ? 0 : 128 * 96 + (plane - 1) * 64 * 48;
      return static_cast<std::uint8_t>(frame[6 + begin + y * (plane == 0 ? 128 : 64) + x]);
    };
    EXPECT_NEAR(at(0, 3, 3), 16 + 0.114 * 255 * 219 / 255, 2) << "blue behind";
    EXPECT_NEAR(at(1, 2, 2), 240, 2);
    EXPECT_NEAR(at(0, 48, 64), 16 + (0.299 * 90 + 0.587 * 40 + 0.114 * 60) * 219 / 255, 8) << "the person";
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "nothing beside it";
}

TEST_F(CameraCommandTest, a_pipe_gets_samples_if_asked) {
  give(4);
  command.to = folder / "pipe";
  command.raw = true;
  command.frames = 3;
  command.asked.look.background = {};  // transparent
  ASSERT_EQ(::mkfifo(command.to.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = text_of("pipe"); });
  EXPECT_EQ(run(), 0);
  reader.join();
  ASSERT_EQ(got.size(), 3U * kHeight * kWidth * 4);
  Planes alpha(1, kHeight, kWidth);
  for (std::size_t i = 0; i < alpha.values.size(); ++i)
    alpha.values[i] = static_cast<float>(static_cast<std::uint8_t>(got[4 * i + 3])) / 255;
  EXPECT_LT(mean_difference(alpha, scene.alpha), 0.006);
}

TEST_F(CameraCommandTest, a_loopback_device_gets_YUYV) {
  give(4);
  FakeDevice& loopback = machine.add_loopback("/dev/video9");
  command.frames = 2;  // and `to` is left to the command
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(loopback.set.format, V4L2_PIX_FMT_YUYV);
  ASSERT_EQ(loopback.written.size(), 2U);
  ASSERT_EQ(loopback.written[0].size(), 2U * kWidth * kHeight);
  EXPECT_NEAR(loopback.written[0][1], 240, 2);  // the blue of the background
  loopback.written.clear();
  loopback.output_format = V4L2_PIX_FMT_YUV420;  // a driver that takes that alone
  camera->script.clear();
  give(4);
  EXPECT_EQ(run(), 0);
  ASSERT_EQ(loopback.written.size(), 2U);
  EXPECT_EQ(loopback.written[0].size(), 3U * kWidth * kHeight / 2);
  loopback.output_format = V4L2_PIX_FMT_GREY;
  EXPECT_EQ(refusal(), "/dev/video9: it refuses YUYV and YU12 of 128x96");
}

TEST_F(CameraCommandTest, a_camera_that_is_a_loopback_device_too_is_not_its_own_output) {
  give(2);
  camera->capabilities |= V4L2_CAP_VIDEO_OUTPUT;
  FakeDevice& loopback = machine.add_loopback("/dev/video9");
  command.frames = 1;
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(camera->written.size(), 0U);
  EXPECT_EQ(loopback.written.size(), 1U);
}

TEST_F(CameraCommandTest, an_output_that_is_the_camera_is_refused) {
  const std::string path = folder / "device", link = folder / "link";
  std::ofstream(path) << "x";
  fs::create_symlink(path, link);
  machine.add_camera(path, {{V4L2_PIX_FMT_YUYV, kWidth, kHeight, 30}});
  command.device = path;
  command.to = link;
  try {
    run();
    FAIL() << "no error";
  } catch (const cli::UsageError& e) {
    EXPECT_EQ(e.what(), "--to: '" + link + "' is the camera too; allowed: another file or device");
  }
}

TEST_F(CameraCommandTest, without_a_loopback_device_it_says_how_to_make_one) {
  give(1);
  EXPECT_NE(refusal().find("sudo modprobe v4l2loopback exclusive_caps=1"), std::string::npos);
  command.to = "/dev/video8";
  EXPECT_EQ(refusal(), "/dev/video8: no such device");
  machine.add_camera("/dev/video8", {{V4L2_PIX_FMT_YUYV, kWidth, kHeight, 30}});
  EXPECT_NE(refusal().find("/dev/video8: not an output device; allowed: a loopback device, which this makes: sudo"),
            std::string::npos);
}

TEST_F(CameraCommandTest, what_came_before_it_was_unplugged_is_kept) {
  give(3);
  camera->script.push_back({.error = ENODEV});
  command.to = folder / "out.y4m";
  const nlohmann::json said = json_of_run(1);
  EXPECT_EQ(said["end"], "unplugged");
  EXPECT_EQ(said["frames"], 3);
  EXPECT_EQ(text_of("out.y4m").size(), kHead.size() + 3 * kFrame);
}

TEST_F(CameraCommandTest, unplugged_before_the_first_frame_leaves_nothing) {
  camera->script.push_back({.error = ENODEV});
  command.to = folder / "out.y4m";
  EXPECT_EQ(refusal(), "/dev/video7 was unplugged after 0 frames");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(CameraCommandTest, a_signal_ends_it_and_keeps_the_file) {
  give(1);
  camera->repeats = true;
  camera->interval = std::chrono::milliseconds(2);
  command.to = folder / "out.y4m";
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::thread sender([&] {
      for (bool some = false; !some; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
        for (const fs::directory_entry& file : fs::directory_iterator(folder))
          some = some || (file.path() != command.to && file.file_size() > 2 * kFrame);  // the unfinished one
      ::kill(::getpid(), signal);
    });
    const nlohmann::json said = json_of_run(0);
    sender.join();
    EXPECT_EQ(said["end"], "stopped");
    EXPECT_GT(said["frames"], 0);
    EXPECT_EQ(text_of("out.y4m").size(), kHead.size() + static_cast<std::size_t>(said["frames"]) * kFrame);
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << "as it was";
  }
}

TEST_F(CameraCommandTest, errors_leave_nothing) {
  give(3);
  command.to = folder / "out.y4m";
  command.asked.look.no_person = NoPerson::fail;
  camera->script[1].bytes.assign(camera->script[1].bytes.size(), 100);
  command.asked.source.key.reset();
  command.asked.source.mask = folder / "mask.png";
  EXPECT_FALSE(refusal().empty());
  command.asked.source.key = kGreen;
  command.asked.source.mask.clear();
  camera->capabilities = 0;
  EXPECT_EQ(refusal(), "/dev/video7: not a video device");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(CameraCommandTest, devices_are_listed) {
  machine.add_camera("/dev/video0", {{V4L2_PIX_FMT_H264, 640, 480, 30}}).card = "Doorbell";
  machine.add_camera("/dev/video1", {}).open_error = EBUSY;
  machine.add_loopback("/dev/video9");
  machine.add("/dev/video2").capabilities = V4L2_CAP_META_CAPTURE;
  command = {};
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "/dev/video0  Doorbell  formats that cannot be decoded: H264\n"
            "/dev/video1  another program is using it\n"
            "/dev/video7  Fake Camera  YUYV 128x96 at 30, of YUYV\n"
            "/dev/video9  Fake Loopback  (loopback)\n");
  const nlohmann::json said = json_of_run(0);
  ASSERT_EQ(said["devices"].size(), 4U);
  EXPECT_EQ(said["devices"][2]["modes"][0]["width"], 128);
  command.asked.json = false;
  FakeMachine none;
  EXPECT_NE(error_of([&] {
              run_camera(command, none.calls());
            }).find("no video device was found; allowed: a camera, /dev/video0"),
            std::string::npos);
}

}  // namespace
}  // namespace oriel::portrait
