#include "apps/portrait/camera/live.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/stopwatch.h"

namespace oriel::portrait {
namespace {

constexpr index_t kWorkingArea = index_t{1} << 18;  // as of videos
constexpr int kWait = 100;                          // milliseconds, after which a stop is seen

double milliseconds(CameraClock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// The one frame that is next, between the thread that waits for the device and the one that works.
class NewestFrame {
 public:
  // The buffer of the frame that it replaces, or -1.
  int put(const RawFrame& frame, const Capture& capture) {
    const std::lock_guard lock(mutex_);
    const int late = frame_ ? frame_->buffer : -1;
    replaced_ += frame_ ? 1 : 0;
    frame_ = frame;
    note(capture);
    wake_.notify_one();
    return late;
  }
  void end(LiveEnd why, const Capture& capture, std::exception_ptr error = nullptr) {
    const std::lock_guard lock(mutex_);
    end_ = why;
    error_ = std::move(error);
    note(capture);
    wake_.notify_one();
  }
  // Nothing: it has ended, and why.
  std::optional<RawFrame> take(LiveReport& report) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return frame_ || end_; });
    report.dropped = replaced_ + dropped_;
    report.incomplete = incomplete_;
    if (error_) std::rethrow_exception(error_);
    if (frame_ && end_ != LiveEnd::stopped) return std::exchange(frame_, std::nullopt);
    report.end = *end_;
    return std::nullopt;
  }

 private:
  void note(const Capture& capture) {
    dropped_ = capture.passed_over() + capture.missed();
    incomplete_ = capture.broken();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<RawFrame> frame_;
  std::optional<LiveEnd> end_;
  std::exception_ptr error_;
  index_t replaced_ = 0, dropped_ = 0, incomplete_ = 0;
};

LiveEnd receive(Capture& capture, NewestFrame& newest, const std::stop_token& done, const std::atomic<bool>& stop,
                std::chrono::milliseconds silence) {
  CameraClock::time_point last = CameraClock::now();
  while (!stop && !done.stop_requested()) {
    RawFrame frame;
    switch (capture.wait(frame, kWait)) {
      case Arrival::frame:
        capture.give_back(newest.put(frame, capture));
        last = CameraClock::now();
        break;
      case Arrival::none:
        if (CameraClock::now() - last > silence) return LiveEnd::silent;
        break;
      case Arrival::end:
        return LiveEnd::end;
      case Arrival::unplugged:
        return LiveEnd::unplugged;
    }
  }
  return LiveEnd::stopped;
}

// Times from the camera to the output: of the last two seconds each, of all in steps of a millisecond.
class Latencies {
 public:
  void add(CameraClock::time_point taken, LiveReport& report) {
    const CameraClock::time_point now = CameraClock::now();
    if (all_.empty()) {
      first_ = now;
      all_.resize(10'001);
    }
    const double latency = milliseconds(now - taken);
    recent_.emplace_back(now, latency);
    while (now - recent_.front().first > std::chrono::seconds(2)) recent_.pop_front();
    ++all_[std::min(static_cast<std::size_t>(std::max(latency, 0.0)), all_.size() - 1)];
    if (now - first_ > std::chrono::seconds(1)) report.worst_latency = std::max(report.worst_latency, latency);
    std::vector<double> sorted;
    for (const auto& [when, value] : recent_) sorted.push_back(value);
    const auto middle = sorted.begin() + std::ssize(sorted) / 2;
    std::nth_element(sorted.begin(), middle, sorted.end());
    report.latency = *middle;
    const double span = milliseconds(now - recent_.front().first);
    report.rate = span > 0 ? 1e3 * static_cast<double>(recent_.size() - 1) / span : 0;
  }
  double median() const {
    index_t count = 0, sum = 0;
    for (const index_t n : all_) count += n;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (2 * (sum += all_[i]) >= count) return static_cast<double>(i);
    return 0;
  }

 private:
  std::deque<std::pair<CameraClock::time_point, double>> recent_;
  std::vector<index_t> all_;
  CameraClock::time_point first_;
};

// Decoded, composed, written; false for a frame that is corrupt.
class Worker {
 public:
  Worker(Capture& capture, CameraDecoder& decoder, const Segmenter& segmenter, const LiveOptions& options,
         FrameSink& sink)
      : capture_(capture),
        decoder_(decoder),
        segmenter_(segmenter),
        look_(options.look),
        sink_(sink),
        smoother_(options.smooth),
        still_(options.smooth) {
    look_.chain.edge.working_area = std::min(look_.chain.edge.working_area, kWorkingArea);
  }

  bool run(const RawFrame& raw, LiveReport& report) {
    cli::Stopwatch watch;
    Image image;
    const bool whole = decoder_.decode(raw, image);
    capture_.give_back(raw.buffer);
    if (!whole) return false;
    StageSeconds& stages = report.stages;
    stages.decode += watch.seconds();
    Planes mask = segmenter_(image);
    stages.network += watch.seconds();
    mask = smoother_.next(std::move(mask), motion_colours(image, mask.height, mask.width));
    std::optional<Image> guide;
    if (still_.keeps()) guide = still_.next(image, smoother_.moved());
    stages.smooth += watch.seconds();
    const Finished done = finish(image, mask, look_, {}, guide ? &*guide : nullptr);
    if (!done.person.found) ++report.without_person;
    if (!done.picture)
      throw Error(fmt::format("frame {}: no person found; allowed: --no-person background or keep", report.frames));
    stages.matte += done.matte;
    stages.compose += done.compose;
    watch.seconds();
    sink_.write(*done.picture);
    stages.write += watch.seconds();
    report.scene_cuts = smoother_.cuts();
    return true;
  }

 private:
  Capture& capture_;
  CameraDecoder& decoder_;
  const Segmenter& segmenter_;
  Look look_;
  FrameSink& sink_;
  Smoother smoother_;
  StillGuide still_;
};

}  // namespace

LiveReport run_live(Capture& capture, CameraDecoder& decoder, const Segmenter& segmenter, const LiveOptions& options,
                    FrameSink& sink, const std::atomic<bool>& stop,
                    const std::function<void(const LiveReport&)>& seen) {
  NewestFrame newest;
  Worker worker(capture, decoder, segmenter, options, sink);
  Latencies latencies;
  LiveReport report;
  const std::jthread receiver([&](const std::stop_token& done) {
    try {
      newest.end(receive(capture, newest, done, stop, options.silence), capture);
    } catch (...) {
      newest.end(LiveEnd::stopped, capture, std::current_exception());
    }
  });
  std::optional<cli::Stopwatch> watch;
  CameraClock::time_point last = CameraClock::now();
  while (const std::optional<RawFrame> raw = newest.take(report)) {
    if (!watch) watch.emplace();
    if (!worker.run(*raw, report)) {
      ++report.corrupt;
      if (seen) seen(report);
      if (CameraClock::now() - last > options.silence) {
        report.end = LiveEnd::silent;
        break;
      }
      continue;
    }
    last = CameraClock::now();
    ++report.frames;
    latencies.add(raw->time, report);
    report.seconds = watch->in_all();
    if (seen) seen(report);
    if (report.frames == options.most_frames) {
      report.end = LiveEnd::enough;
      break;
    }
  }
  if (report.seconds > 0) report.rate = static_cast<double>(report.frames) / report.seconds;
  report.latency = latencies.median();
  return report;
}

}  // namespace oriel::portrait
