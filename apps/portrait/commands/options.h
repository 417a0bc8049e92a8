// What the command line of oriel-portrait says: one struct per subcommand, filled without doing any work.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "apps/portrait/chain/look.h"
#include "apps/portrait/compare/compare.h"
#include "apps/portrait/segment/segmenters.h"
#include "apps/portrait/video/frames.h"
#include "cli/usage.h"

namespace oriel::portrait {

/// What several subcommands take.
struct Asked {
  MaskSource source;
  Look look;
  std::string background_file;  ///< a picture to read as background; empty: none
  index_t most_pixels = 200'000'000;
  bool replace_input = false;        ///< OUT may be IN
  std::vector<std::string> notes{};  ///< on files that were read besides IN, to print
  bool json = false, quiet = false;
};

/// `oriel-portrait image`: one picture.
struct ImageCommand {
  std::string in, out, format;
  Asked asked;
};

/// `oriel-portrait folder`: every picture of a folder that has no result yet.
struct FolderCommand {
  std::string in, out, format = "png";
  bool again = false;  ///< also those that have one
  Asked asked;
};

/// `oriel-portrait pipe`: raw RGB frames from standard input to standard output.
struct PipeCommand {
  index_t width = 0, height = 0;
  SmoothOptions smooth;
  bool timing = false;  ///< print the time of each step
  Asked asked;
};

/// `oriel-portrait video`: a video.
struct VideoCommand {
  std::string in, out;
  SmoothOptions smooth;
  int quality = 0;  ///< the encoder's crf; 0: 20 for H.264, 30 for VP9
  bool timing = false;
  Asked asked;
};

/// `oriel-portrait camera`: a camera's frames as they come, to a loopback device, a file or a pipe.
struct CameraCommand {
  std::string device;             ///< empty: list the devices
  std::string to;                 ///< empty: the first loopback device
  index_t width = 0, height = 0;  ///< 0: 1280x720, or smaller if the camera is too slow for that
  double rate = 30;               ///< frames a second that the camera is asked for
  bool raw = false;               ///< a file or pipe gets samples instead of YUV4MPEG2
  index_t frames = 0;             ///< after which it ends; 0: it goes on
  SmoothOptions smooth;
  bool timing = false;
  Asked asked;
};

/// `oriel-portrait serve`: the page and the interface.
struct ServeCommand {
  std::string host = "127.0.0.1";
  int port = 7000;  ///< 0: one that is free
  int most_megabytes = 25;
  double seconds = 20;                  ///< that a client may take for its headers, and fall behind afterwards
  std::vector<std::string> more_hosts;  ///< names that are answered to beside those of `host`
  Asked asked;
};

/// `oriel-portrait compare`: a network's blocks and times beside those of other engines.
struct CompareCommand {
  CompareOptions options;
  bool json = false;
};

/// `oriel-portrait models`: what there is; `get` puts one there, `check` tries a file.
struct ModelsCommand {
  enum class What : std::uint8_t { list, get, check } what = What::list;
  std::string name, python = "python3";  ///< of get
  MaskSource source;                     ///< of check
  bool once = false;                     ///< check for another process of this program: within limits, saying nothing
  bool json = false;
};

/// A text to print: help, the version, a completion script.
struct TextCommand {
  std::string text;
};

using Command = std::variant<TextCommand, ImageCommand, FolderCommand, PipeCommand, VideoCommand, CameraCommand,
                             ServeCommand, CompareCommand, ModelsCommand>;

/// The arguments after the program's name as a command. Throws cli::UsageError. Reads and writes no files.
Command parse_command(const std::vector<std::string>& arguments);

/// Reads the background's image if one was named. Throws Error.
void load_background(Asked& asked);

// Each subcommand: its work, its output, its exit code. They throw Error, or cli::UsageError if options do not fit.
int run_image(ImageCommand command);
int run_folder(FolderCommand command);
int run_pipe(PipeCommand command);
int run_video(VideoCommand command);
int run_camera(CameraCommand command);
int run_serve(ServeCommand command);
int run_compare(CompareCommand command);
int run_models(ModelsCommand command);

}  // namespace oriel::portrait
