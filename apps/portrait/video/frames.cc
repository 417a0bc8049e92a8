#include "apps/portrait/video/frames.h"

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "cli/stopwatch.h"

namespace oriel::portrait {
namespace {

constexpr index_t kWorkingArea = index_t{1} << 18;  // of videos: a quarter of the time, edges nearly as good

struct Token {
  Frame frame;
  Planes mask, colours;
  std::optional<Image> guide;
  Finished done;
  double decode = 0, network = 0;  // seconds
};

void find_mask(Token& token, const Segmenter& segmenter) {
  cli::Stopwatch watch;
  token.mask = segmenter(token.frame.image);
  token.network = watch.seconds();
  token.colours = motion_colours(token.frame.image, token.mask.height, token.mask.width);
}

void make_steady(Token& token, Smoother& smoother, StillGuide& still, double& seconds) {
  const cli::AddSeconds timed(seconds);
  token.mask = smoother.next(std::move(token.mask), std::move(token.colours));
  if (still.keeps()) token.guide = still.next(token.frame.image, smoother.moved());
}

// Adds a frame to what was seen, and leaves its picture in it. Throws Error for one that must have a person.
void count_in(Token& token, FrameCount& count) {
  count.stages.decode += token.decode;
  count.stages.network += token.network;
  count.stages.matte += token.done.matte;
  count.stages.compose += token.done.compose;
  if (!token.done.person.found) ++count.without_person;
  if (!token.done.picture)
    throw Error(fmt::format("frame {}: no person found; allowed: --no-person background or keep", count.frames));
  ++count.frames;
  token.frame.image = std::move(*token.done.picture);
}

// The thread sanitizer cannot see how oneTBB hands tokens over, so each stage says what happens before it and after.
class Handed {
 public:
  Handed() { (void)passed_.load(std::memory_order_acquire); }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;
  ~Handed() { passed_.fetch_add(1, std::memory_order_release); }

 private:
  static std::atomic<int> passed_;
};
std::atomic<int> Handed::passed_{0};

}  // namespace

std::array<std::pair<const char*, double>, 6> StageSeconds::each(index_t frames) const {
  const double scale = 1e3 / static_cast<double>(std::max<index_t>(frames, 1));
  return {{{"decode", decode * scale},
           {"network", network * scale},
           {"smooth", smooth * scale},
           {"matte", matte * scale},
           {"compose", compose * scale},
           {"write", write * scale}}};
}

std::string timing_line(const StageSeconds& stages, index_t frames) {
  std::string line = "milliseconds for each frame:";
  for (const auto& [name, time] : stages.each(frames)) line += fmt::format(" {} {:.2f},", name, time);
  line.back() = '\n';
  return line;
}

FrameCount run_frames(const std::function<bool(Frame&)>& read, const Segmenter& segmenter, const Look& look,
                      const SmoothOptions& smooth, const std::function<void(Frame&&)>& write, int at_once) {
  using tbb::filter_mode;
  const int threads = tbb::this_task_arena::max_concurrency();
  const auto tokens = static_cast<std::size_t>(at_once > 0 ? at_once : 2 * threads);
  Look single = look;
  single.chain.threads = 1;  // frames are what is shared out
  single.chain.edge.working_area = std::min(single.chain.edge.working_area, kWorkingArea);
  Smoother smoother(smooth);
  StillGuide still(smooth);
  FrameCount count;
  // Tokens stay here and pointers go through the pipeline, which loses what is in it when a stage throws. The last
  // stage takes them in order, so a place is free again when its turn comes.
  std::vector<Token> places(tokens);
  std::size_t begun = 0;
  const auto next = [&](tbb::flow_control& flow) -> Token* {
    const Handed handed;
    Token& token = places[begun++ % tokens];
    token = {};
    cli::Stopwatch watch;
    if (read(token.frame)) {
      token.decode = watch.seconds();
      return &token;
    }
    flow.stop();
    return nullptr;
  };
  const auto segment = [&](Token* token) {
    const Handed handed;
    find_mask(*token, segmenter);
    return token;
  };
  const auto steady = [&](Token* token) {
    const Handed handed;
    make_steady(*token, smoother, still, count.stages.smooth);
    return token;
  };
  const auto compose = [&](Token* token) {
    const Handed handed;
    token->done = finish(token->frame.image, token->mask, single, {}, token->guide ? &*token->guide : nullptr);
    return token;
  };
  const auto last = [&](Token* token) {
    const Handed handed;
    count_in(*token, count);
    const cli::AddSeconds timed(count.stages.write);
    write(std::move(token->frame));
  };
  { const Handed ready; }
  const auto stages = tbb::make_filter<void, Token*>(filter_mode::serial_in_order, next) &
                      tbb::make_filter<Token*, Token*>(filter_mode::parallel, segment) &
                      tbb::make_filter<Token*, Token*>(filter_mode::serial_in_order, steady) &
                      tbb::make_filter<Token*, Token*>(filter_mode::parallel, compose) &
                      tbb::make_filter<Token*, void>(filter_mode::serial_in_order, last);
  // A thread that waits takes no other work of the caller's.
  tbb::this_task_arena::isolate([&] { tbb::parallel_pipeline(tokens, stages); });
  const Handed ended;
  count.scene_cuts = smoother.cuts();
  return count;
}

}  // namespace oriel::portrait
