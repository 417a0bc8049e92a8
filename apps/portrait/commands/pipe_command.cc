// `oriel-portrait pipe`: for ffmpeg at both ends.
#include <fmt/format.h>
#include <unistd.h>

#include "apps/portrait/commands/options.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "io/input_file.h"
#include "io/output_file.h"

namespace oriel::portrait {

int run_pipe(PipeCommand c) {
  if (::isatty(STDOUT_FILENO) == 1)
    throw cli::UsageError("oriel-portrait pipe", "standard output is a terminal; allowed: a pipe or a file");
  cli::Progress progress("oriel-portrait pipe");
  load_background(c.asked);
  const NamedSegmenter segmenter = make_segmenter(c.asked.source);
  const io::ReadBytes in = io::read_descriptor(STDIN_FILENO, "standard input");
  io::OutputFile out("-");
  const cli::Stopwatch watch;
  index_t begun = 0, ended = 0;
  const auto read = [&](Frame& frame) {
    frame.image = Image(c.height, c.width, 3);
    const std::size_t got = io::read_fully(in, frame.image.bytes.data(), frame.image.bytes.size());
    if (got == 0) return false;
    if (got < frame.image.bytes.size())
      throw Error(
          fmt::format("standard input: frame {} ends after {} of {} bytes; allowed: whole RGB24 frames of {}x{}", begun,
                      got, frame.image.bytes.size(), c.width, c.height));
    ++begun;
    return true;
  };
  const auto write = [&](Frame&& frame) {
    out.write(frame.image.bytes.data(), frame.image.bytes.size());
    ++ended;
    progress.set(fmt::format("{} frames, {:.3g} a second", ended, static_cast<double>(ended) / watch.in_all()));
  };
  const FrameCount count = run_frames(read, segmenter.run, c.asked.look, c.smooth, write, segmenter.in_order ? 1 : 0);
  out.commit();
  if (c.timing) progress.complain(timing_line(count.stages, count.frames));
  if (count.frames == 0) throw Error("standard input: no frame came; allowed: raw RGB24 frames");
  return cli::kExitDone;
}

}  // namespace oriel::portrait
