// `oriel-portrait camera`.
#include "apps/portrait/commands/camera/camera_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "apps/portrait/camera/live.h"
#include "apps/portrait/commands/camera/devices.h"
#include "apps/portrait/commands/output_check.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "io/file_identity.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

std::atomic<bool> stopped{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

// While it lives, the first signal that ends programs ends the camera, and the second the program.
class StopAtSignals {
 public:
  StopAtSignals() {
    stopped = false;
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      stopped = true;
      ::sigaction(signal, &before_[slot(signal)], nullptr);
    };
    sigfillset(&action.sa_mask);
    for (const int signal : kSignals) {
      ::sigaction(signal, nullptr, &before_[slot(signal)]);
      if (before_[slot(signal)].sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);  // nohup
    }
  }
  StopAtSignals(const StopAtSignals&) = delete;
  StopAtSignals& operator=(const StopAtSignals&) = delete;
  ~StopAtSignals() {
    for (const int signal : kSignals) ::sigaction(signal, &before_[slot(signal)], nullptr);
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  static std::size_t slot(int signal) { return signal == SIGINT ? 0 : signal == SIGTERM ? 1 : 2; }
  static struct sigaction before_[3];
};
struct sigaction StopAtSignals::before_[3];

std::string mode_text(const CameraMode& m) {
  const std::string rate = m.rate > 0 ? fmt::format(" at {:.3g}", m.rate) : "";
  return fmt::format("{} {}x{}{}", format_name(m.format), m.width, m.height, rate);
}

cli::Json json_of(const VideoDevice& d) {
  cli::Json modes = cli::Json::array();
  for (const CameraMode& m : d.modes)
    modes.push_back({{"format", format_name(m.format)},
                     {"width", m.width},
                     {"height", m.height},
                     {"frames_per_second", cli::rounded(m.rate, 2)}});
  return {{"path", d.path},       {"name", d.name},       {"camera", d.camera}, {"loopback", d.loopback},
          {"formats", d.formats}, {"problem", d.problem}, {"modes", modes}};
}

std::string line_of(const VideoDevice& d) {
  std::string text = fmt::format("{}  {}", d.path, detail::printable(d.name));
  if (!d.problem.empty()) return text + d.problem + "\n";
  if (d.loopback) text += d.camera ? "  (loopback, camera)" : "  (loopback)";
  if (!d.camera) return text + "\n";
  const std::optional<CameraMode> best = choose_mode(d.modes, {});
  std::string all;
  for (const std::string& format : d.formats) all += (all.empty() ? "" : ", ") + format;
  return text + (best ? fmt::format("  {}, of {}\n", mode_text(*best), all)
                      : fmt::format("  formats that cannot be decoded: {}\n", all.empty() ? "none" : all));
}

int list_devices(const CameraCommand& c, const DeviceCalls& calls) {
  const std::vector<VideoDevice> devices = video_devices(calls);
  if (c.asked.json) {
    cli::Json all = cli::Json::array();
    for (const VideoDevice& device : devices) all.push_back(json_of(device));
    cli::print(cli::json_line({{"devices", all}}));
    return cli::kExitDone;
  }
  if (devices.empty())
    throw Error(
        "no video device was found; allowed: a camera, /dev/video0 to /dev/video63 (containers and virtual "
        "machines need to be given it)");
  for (const VideoDevice& device : devices) cli::print(line_of(device));
  return cli::kExitDone;
}

std::string first_loopback(const std::string& camera, const DeviceCalls& calls) {
  for (const VideoDevice& device : video_devices(calls))
    if (device.loopback && device.path != camera && !io::is_same_file(device.path, camera)) return device.path;
  throw Error(
      fmt::format("--to: there is no loopback device; allowed: a file, a pipe, -, or a device that this makes: "
                  "{} (package v4l2loopback-dkms)",
                  kLoadLoopback));
}

std::unique_ptr<FrameSink> open_sink(const CameraCommand& c, const CameraFormat& format, const DeviceCalls& calls) {
  const SinkFormat sink{.height = format.mode.height,
                        .width = format.mode.width,
                        .channels = c.asked.look.channels(),
                        .rate = format.mode.rate > 0 ? format.mode.rate : c.rate};
  if (is_video_device(c.to)) return open_loopback(c.to, sink, calls);
  return open_stream(c.to, sink, c.raw ? StreamFormat::raw : StreamFormat::y4m);
}

std::string status(const LiveReport& r) {
  const index_t broken = r.incomplete + r.corrupt;
  return fmt::format("{:.1f} frames a second, latency {:.0f} ms, {} frames, {} dropped{}", r.rate, r.latency, r.frames,
                     r.dropped, broken > 0 ? fmt::format(", {} broken", broken) : "");
}

std::string why_ended(const CameraCommand& c, const LiveReport& r) {
  switch (r.end) {
    case LiveEnd::unplugged:
      return fmt::format("{} was unplugged after {} frames", c.device, r.frames);
    case LiveEnd::silent:
      return r.frames == 0 && r.corrupt > 0
                 ? fmt::format("{}: none of its {} frames can be decoded", c.device, r.corrupt)
                 : fmt::format("{} sends no more frames{}; {} came", c.device,
                               r.corrupt > 0 ? " that can be decoded" : "", r.frames);
    default:
      return "";
  }
}

void say(const CameraCommand& c, const Capture& capture, const LiveReport& r, const std::vector<std::string>& notes,
         cli::Progress& progress) {
  const CameraMode& m = capture.format().mode;
  cli::Json steps;
  for (const auto& [name, time] : r.stages.each(r.frames)) steps[name] = cli::rounded(time, 3);
  constexpr const char* ends[] = {"stopped", "frames", "end", "unplugged", "silent"};
  if (c.asked.json)
    return progress.say(cli::json_line({{"device", c.device},
                                        {"name", capture.name()},
                                        {"to", c.to},
                                        {"format", format_name(m.format)},
                                        {"width", m.width},
                                        {"height", m.height},
                                        {"frames", r.frames},
                                        {"dropped", r.dropped},
                                        {"incomplete", r.incomplete},
                                        {"corrupt", r.corrupt},
                                        {"frames_without_person", r.without_person},
                                        {"scene_cuts", r.scene_cuts},
                                        {"end", ends[static_cast<int>(r.end)]},
                                        {"notes", notes},
                                        {"seconds", cli::rounded(r.seconds, 3)},
                                        {"frames_per_second", cli::rounded(r.rate, 2)},
                                        {"latency_milliseconds", cli::rounded(r.latency, 1)},
                                        {"worst_latency_milliseconds", cli::rounded(r.worst_latency, 1)},
                                        {"milliseconds_per_frame", steps}}));
  if (!c.asked.quiet) progress.complain(status(r) + "\n");
}

}  // namespace

int run_camera(CameraCommand c, const DeviceCalls& calls) {
  const char* const command = "oriel-portrait camera";
  if (c.device.empty()) return list_devices(c, calls);
  if (c.to == "-" && ::isatty(STDOUT_FILENO) == 1)
    throw cli::UsageError(command, "--to: standard output is a terminal; allowed: a pipe, a file or a device");
  if (c.to.empty()) {
    const DeviceHandle there(c.device, calls, O_RDWR | O_NONBLOCK);  // its absence is what to say first
    c.to = first_loopback(c.device, calls);
  }
  if (c.raw && is_video_device(c.to))
    throw cli::UsageError(command, "--raw: it is for files and pipes; allowed with a device: without --raw");
  check_camera_output(command, c.device, c.to, c.asked);
  load_background(c.asked);
  const NamedSegmenter segmenter = make_segmenter(c.asked.source);
  std::vector<std::string> notes = c.asked.notes;
  notes.insert(notes.end(), segmenter.notes.begin(), segmenter.notes.end());

  Capture capture(c.device, {.width = c.width, .height = c.height, .rate = c.rate}, calls);
  const CameraMode& mode = capture.format().mode;
  if (mode.width * mode.height > c.asked.most_pixels)
    throw Error(
        fmt::format("{}: frames of {}x{} are larger than --max-megapixels allows", c.device, mode.width, mode.height));
  if (c.width > 0 && (mode.width != c.width || mode.height != c.height))
    notes.push_back(fmt::format("the camera has no {}x{} and gives {}x{}", c.width, c.height, mode.width, mode.height));
  CameraDecoder decoder(c.device, capture.format());
  const StopAtSignals signals;
  const std::unique_ptr<FrameSink> sink = open_sink(c, capture.format(), calls);
  cli::Progress progress(command, !c.asked.quiet);
  if (!c.asked.quiet) {
    for (const std::string& note : notes) progress.complain(detail::printable(note) + "\n");
    progress.complain(fmt::format("{} ({}), {} -> {}\n", c.device, detail::printable(capture.name()), mode_text(mode),
                                  detail::printable(c.to)));
  }
  const LiveReport report =
      run_live(capture, decoder, segmenter.run, {.look = c.asked.look, .smooth = c.smooth, .most_frames = c.frames},
               *sink, stopped, [&](const LiveReport& now) { progress.set(status(now)); });
  const std::string why = why_ended(c, report);
  if (report.frames == 0 && report.end != LiveEnd::stopped)
    throw Error(why.empty() ? fmt::format("{}: it sent no frame", c.device) : why);
  sink->finish();
  say(c, capture, report, notes, progress);
  if (c.timing) progress.complain(timing_line(report.stages, report.frames));
  if (!why.empty()) progress.complain(why + "\n");
  return why.empty() ? cli::kExitDone : cli::kExitFailure;
}

int run_camera(CameraCommand c) { return run_camera(std::move(c), system_calls()); }

}  // namespace oriel::portrait
