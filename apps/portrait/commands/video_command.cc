// `oriel-portrait video`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/portrait/commands/options.h"
#include "apps/portrait/commands/output_check.h"
#include "apps/portrait/video/video.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/stopwatch.h"
#include "io/input_file.h"
#include "oriel/pool.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

struct Report {
  FrameCount count;
  VideoCut cut;
  std::vector<std::string> notes;
  double seconds = 0;
};

VideoTarget target_of(const VideoCommand& c, const VideoReader& reader, int threads) {
  const index_t channels = c.asked.look.channels();
  return {.path = c.out,
          .height = reader.height(),
          .width = reader.width(),
          .alpha = channels == 4,
          .grey = channels == 1,
          .quality = c.quality,
          .threads = threads};
}

std::string ended_early(const Report& r) {
  return fmt::format("the file ends early: {} of {}{} frames are in it, so the video is incomplete", r.count.frames,
                     r.cut.estimate ? "about " : "", r.cut.frames);
}

void say(const VideoCommand& c, const VideoReader& reader, const Report& r, cli::Progress& progress) {
  const double rate = static_cast<double>(r.count.frames) / r.seconds;
  cli::Json steps;
  for (const auto& [name, time] : r.count.stages.each(r.count.frames)) steps[name] = cli::rounded(time, 3);
  if (c.asked.json)
    return progress.say(cli::json_line({{"in", c.in},
                                        {"out", c.out},
                                        {"width", reader.width()},
                                        {"height", reader.height()},
                                        {"frames", r.count.frames},
                                        {"frames_without_person", r.count.without_person},
                                        {"scene_cuts", r.count.scene_cuts},
                                        {"broken_packets", reader.broken_packets()},
                                        {"ended_early", r.cut.early},
                                        {"notes", r.notes},
                                        {"seconds", cli::rounded(r.seconds, 3)},
                                        {"frames_per_second", cli::rounded(rate, 2)},
                                        {"milliseconds_per_frame", steps}}));
  if (c.asked.quiet) return;
  std::string more;
  if (r.count.without_person > 0) more += fmt::format("; no person in {} of them", r.count.without_person);
  if (reader.broken_packets() > 0) more += fmt::format("; {} broken packets skipped", reader.broken_packets());
  for (const std::string& note : r.notes) more += "; " + detail::printable(note);
  progress.say(fmt::format("{}: {} frames of {}x{} -> {} ({:.1f} s, {:.3g} a second){}\n", detail::printable(c.in),
                           r.count.frames, reader.width(), reader.height(), detail::printable(c.out), r.seconds, rate,
                           more));
}

}  // namespace

int run_video(VideoCommand c) {
  cli::Progress progress("oriel-portrait video");
  progress.set("reading " + c.in);
  try {
    video_format(c.out, c.asked.look.channels() == 4);
  } catch (const Error& e) {
    throw cli::UsageError("oriel-portrait video", e.what());
  }
  if (!io::is_regular(c.in))
    throw Error(fmt::format("{}: not a regular file; allowed: a video, or oriel-portrait pipe", c.in));
  check_output("oriel-portrait video", c.in, c.out, c.asked);
  const int threads = c.asked.look.chain.threads > 0 ? c.asked.look.chain.threads : default_threads();
  load_background(c.asked);
  VideoReader reader(c.in, c.asked.most_pixels, threads);
  const NamedSegmenter segmenter = make_segmenter(c.asked.source);
  Report report{.count = {}, .cut = {}, .notes = c.asked.notes};
  report.notes.insert(report.notes.end(), segmenter.notes.begin(), segmenter.notes.end());
  VideoWriter writer(target_of(c, reader, threads), reader, report.notes);

  const cli::Stopwatch watch;
  const index_t expected = reader.expected_frames();
  index_t done = 0;
  report.count = run_frames(
      [&](Frame& frame) { return reader.read(frame); }, segmenter.run, c.asked.look, c.smooth,
      [&](Frame&& frame) {
        writer.write(frame);
        const double rate = static_cast<double>(++done) / watch.in_all();
        progress.set(expected > done ? fmt::format("frame {} of {}, {:.3g} a second, {:.0f} s left", done, expected,
                                                   rate, static_cast<double>(expected - done) / rate)
                                     : fmt::format("frame {}, {:.3g} a second", done, rate));
      },
      segmenter.in_order ? 1 : 0);
  if (report.count.frames == 0)
    throw Error(
        fmt::format("{}: no frame of it could be decoded ({} broken packets); allowed: a video with at least one", c.in,
                    reader.broken_packets()));
  writer.finish();
  report.seconds = watch.in_all();
  report.cut = reader.cut();
  if (report.cut.early) {
    const std::string note = ended_early(report);
    report.notes.push_back(note);
    if (!c.asked.quiet) progress.complain(fmt::format("{}: {}\n", detail::printable(c.in), note));
  }
  say(c, reader, report, progress);
  if (c.timing) progress.complain(timing_line(report.count.stages, report.count.frames));
  return cli::kExitDone;
}

}  // namespace oriel::portrait
