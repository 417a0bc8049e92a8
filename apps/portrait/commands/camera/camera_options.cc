#include "apps/portrait/commands/camera/camera_options.h"

#include <fmt/format.h>

#include "quoted.h"

namespace oriel::portrait {

void add_camera_options(CLI::App& camera, CameraCommand& c, std::string& size) {
  const char* const group = "Camera";
  camera.add_option("DEVICE", c.device, "camera, such as /dev/video0; without it the video devices are listed")
      ->type_name("");
  camera
      .add_option(
          "--to", c.to,
          "loopback device, file or pipe to write to; - is standard output (default: the first loopback device)")
      ->type_name("WHERE")
      ->group(group);
  camera.add_option("--size", size, "size of the frames (default: 1280x720, or smaller if the camera is slow at that)")
      ->type_name("WxH")
      ->group(group);
  camera.add_option("--fps", c.rate, "frames a second that the camera is asked for")
      ->check(CLI::Range(1.0, 1000.0))
      ->group(group)
      ->capture_default_str();
  camera
      .add_flag("--raw", c.raw,
                "write samples to a file or pipe (RGB24; RGBA if the background is transparent), not YUV4MPEG2")
      ->group(group);
  camera.add_option("--frames", c.frames, "number of frames to write, then end (default: no end)")
      ->check(CLI::Range(index_t{1}, index_t{1} << 40))
      ->type_name("N")
      ->group(group);
}

void check_camera(const CameraCommand& c) {
  if (c.device.empty()) {
    if (!c.to.empty()) throw Error("DEVICE: it is missing; allowed: a camera such as /dev/video0");
    return;
  }
  if (c.to == c.device)
    throw Error(fmt::format("--to: {} is DEVICE too; allowed: another device, a file or a pipe", detail::quoted(c.to)));
  if (c.asked.json && c.to == "-") throw Error("--json: standard output has the frames; allowed: another --to");
  if (c.asked.look.channels() == 4 && !c.raw)
    throw Error("--background: transparent frames need --raw; allowed: a colour, blur, a gradient, an image file");
}

}  // namespace oriel::portrait
