// A system without video devices of Linux, or a build without FFmpeg's libraries.
#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

int run_camera(CameraCommand) {  // NOLINT(performance-unnecessary-value-param): as the one that reads cameras
#ifdef __linux__
  throw Error("this build reads no cameras, FFmpeg's libraries were missing; allowed: oriel-portrait pipe");
#else
  throw Error("cameras are read on Linux only; allowed here: ffmpeg, which reads them, with oriel-portrait pipe");
#endif
}

}  // namespace oriel::portrait
