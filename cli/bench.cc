#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/beside.h"
#include "cli/copy_bound.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "cli/stopwatch.h"
#include "oriel/pool.h"
#include "reference/from_problem.h"
#include "reference/reference.h"

namespace oriel::cli {
namespace {

// The tensors of one problem, in the memory order that its name says, and the call that is timed.
class Workload {
 public:
  Workload(const Problem& problem, const BenchCommand& command)
      : problem_(problem), options_{.threads = command.threads} {
    x_ = arrange(make_sample(problem.dtype, problem.shape, Sample::plain, 1));
    const io::Buffer output = arrange(make_sample(problem.result, problem.output_shape, Sample::plain, 2));
    beside_ = make_beside(problem, 6);
    if (problem.mask) mask_ = arrange(beside_.mask);
    if (problem.weights) weights_ = arrange(beside_.weights);
    if (backward_asked()) dy_ = output;
    result_ = backward_asked() ? arrange(make_sample(problem.dtype, problem.shape, Sample::plain, 3)) : output;
    if (indexed()) {
      indices_ = arrange(make_sample(problem.codes ? Dtype::u8 : Dtype::i64, problem.output_shape, Sample::plain, 4));
    }
    if (backward_asked() && problem.codes) {
      const io::Buffer y = arrange(make_sample(problem.dtype, problem.output_shape, Sample::plain, 5));
      forward(problem.pool, {.x = x_.view, .y = y.view, .indices = indices_.view, .space = IndexSpace::window},
              options_);
    }
    if (command.device == Device::cuda && is_over_valid_taps(problem))
      throw Error(fmt::format("{}: pools over valid taps are computed on the CPU only", to_string(problem)));
    if (command.device == Device::cuda) device_ = std::make_unique<OnDevice>(x_, dy_, result_, indices_);
  }

  // On a device it returns before the work is done.
  void run() const {
    if (device_ != nullptr) return run(device_->x.view(), device_->dy.view(), device_->y.view(), device_->i.view());
    run_on_cpu();
  }

  // What must be read and written once.
  std::size_t compulsory_bytes() const {
    const index_t in = element_count(problem_.shape) * size_bytes(problem_.dtype);
    const index_t out = element_count(problem_.output_shape) * size_bytes(problem_.result);
    index_t bytes = in + out;
    if (problem_.mask) bytes += element_count(problem_.shape);
    if (problem_.weights) bytes += element_count(problem_.shape) * size_bytes(Dtype::f32);
    if (backward_asked() && needs_input()) bytes += in;
    if (indexed()) bytes += element_count(problem_.output_shape) * size_bytes(indices_.view.dtype);
    return static_cast<std::size_t>(bytes);
  }

  // Runs once and compares; says with what. Throws Error if the bits differ.
  std::string verify() const {
    run();
    if (device_ != nullptr) {
      wait_for_device();
      device_->y.fetch();
      if (indexed()) device_->i.fetch();
    }
    // About a second of the naive reference, which gathers and sorts the taps of each window if some may not be valid.
    const index_t most_steps = is_over_valid_taps(problem_) ? 2'000'000 : 40'000'000;
    const bool small = element_count(problem_.output_shape) <= most_steps / std::max<index_t>(problem_.taps(), 1);
    return small ? verify_by_reference() : device_ != nullptr ? verify_by_cpu() : verify_by_target();
  }

 private:
  struct OnDevice {
    DeviceTensor x, dy, y, i;
    OnDevice(const io::Buffer& x_, const io::Buffer& dy_, const io::Buffer& y_, const io::Buffer& i_)
        : x(x_), dy(dy_), y(y_), i(i_) {}
  };

  void run(const Tensor& x, const Tensor& dy, const Tensor& result, const Tensor& indices) const {
    const Pool& pool = problem_.pool;
    const IndexSpace space = problem_.codes ? IndexSpace::window : IndexSpace::plane;
    if (backward_asked() && problem_.codes)
      return backward(pool, {.dy = dy, .indices = indices, .space = space, .dx = result}, options_);
    const ConstTensor mask = problem_.mask ? ConstTensor(mask_.view) : ConstTensor();
    const ConstTensor weights = problem_.weights ? ConstTensor(weights_.view) : ConstTensor();
    if (backward_asked() && needs_input())
      return backward(pool, {.x = x, .dy = dy, .dx = result, .mask = mask, .weights = weights}, options_);
    if (backward_asked()) return backward(pool, {.dy = dy, .dx = result}, options_);
    forward(pool,
            {.x = x,
             .y = result,
             .indices = indexed() ? indices : Tensor(),
             .space = space,
             .mask = mask,
             .weights = weights},
            options_);
  }
  void run_on_cpu() const { run(x_.view, dy_.view, result_.view, indices_.view); }

  bool backward_asked() const { return problem_.direction == Direction::backward; }
  bool indexed() const { return problem_.indices || problem_.codes; }
  bool needs_input() const {
    if (is_over_valid_taps(problem_)) return true;
    if (problem_.codes) return false;
    return (problem_.pool.op != Op::sum && problem_.pool.op != Op::avg) || problem_.pool.nan == NanPolicy::omit;
  }

  // The same values with the axes in the order of the problem's name.
  io::Buffer arrange(const io::Buffer& values) const {
    if (problem_.order.empty()) return values;
    io::Buffer out = io::allocate(values.view.dtype, values.view.shape);
    out.view.pitch = dense_pitch(values.view.shape, problem_.order);
    io::copy(values.view, out.view);
    return out;
  }

  reference::Outcome ask_reference(const reference::Pooling& pooling, const void* x) const {
    const Dtype dtype = problem_.dtype;
    const io::Array dy = backward_asked() ? io::dense(dy_.view) : io::Array();
    const reference::Beside beside = beside_.for_reference();
    if (is_over_valid_taps(problem_))
      return backward_asked() ? reference::backward(pooling, dtype, x, dy.view.data, beside)
                              : reference::forward(pooling, dtype, x, beside);
    return backward_asked() ? reference::backward(pooling, dtype, x, dy.view.data)
                            : reference::forward(pooling, dtype, x);
  }

  std::string verify_by_reference() const {
    const reference::Pooling pooling = reference::from_problem(problem_);
    const io::Array x = io::dense(x_.view), got = io::dense(result_.view);
    const reference::Outcome wanted = ask_reference(pooling, x.view.data);
    const bool gradient = backward_asked() && (problem_.pool.op == Op::lp || is_over_valid_taps(problem_));
    const bool by_bound = gradient || !wanted.exact;  // no bits are defined
    const Dtype dtype = got.view.dtype;
    const index_t at =
        by_bound ? reference::first_beyond_bound(dtype, got.view.data, wanted)
                 : reference::first_difference(dtype, got.view.data, wanted.bits.data(), element_count(got.view.shape));
    if (at >= 0) throw Error(fmt::format("{}: element {} differs from the reference", to_string(problem_), at));
    if (indexed() && !backward_asked()) {
      const io::Array indices = io::dense(indices_.view);
      const std::vector<std::uint8_t> codes(wanted.window.begin(), wanted.window.end());
      const void* places = problem_.codes ? static_cast<const void*>(codes.data()) : wanted.plane.data();
      if (reference::first_difference(indices.view.dtype, indices.view.data, places,
                                      element_count(indices.view.shape)) >= 0)
        throw Error(fmt::format("{}: an index differs from the reference", to_string(problem_)));
    }
    return by_bound ? "reference (bound)" : "reference";
  }

  static io::Buffer kept(const io::Buffer& t) {
    io::Buffer out = io::allocate(t.view.dtype, t.view.shape);
    io::copy(t.view, out.view);
    return out;
  }

  static bool differs(const io::Buffer& dense, const io::Buffer& t) {
    return reference::first_difference(t.view.dtype, dense.view.data, kept(t).view.data, element_count(t.view.shape)) >=
           0;
  }

  std::string verify_by_cpu() const {
    const io::Buffer got = kept(result_), indices_got = indexed() ? kept(indices_) : io::Buffer();
    run_on_cpu();
    if (differs(got, result_) || (indexed() && differs(indices_got, indices_)))
      throw Error(fmt::format("{}: the device and the CPU differ", to_string(problem_)));
    return "CPU";
  }

  std::string verify_by_target() const {
    const std::string here = active_target();
    std::string other = supported_targets().back();
    if (other == here) return "nothing (one target, too large for the reference)";
    const io::Buffer before = kept(result_), indices_before = indexed() ? kept(indices_) : io::Buffer();
    set_target(other);
    run();
    set_target(here);
    if (differs(before, result_) || (indexed() && differs(indices_before, indices_)))
      throw Error(fmt::format("{}: {} and {} differ", to_string(problem_), here, other));
    return other;
  }

  const Problem& problem_;
  Options options_;
  io::Buffer x_, dy_, result_, indices_, mask_, weights_;
  Beside beside_;
  std::unique_ptr<OnDevice> device_;
};

// A copy on the device: reads half of the bytes, writes the other half.
class DeviceCopy {
 public:
  explicit DeviceCopy(std::size_t bytes) : from_(std::max<std::size_t>(bytes / 2, 1)), to_(from_.bytes()) {}
  void run() const { to_.begin_copy_from(from_); }

 private:
  DeviceMemory from_, to_;
};

struct Timing {
  std::vector<double> seconds;

  double quantile(double q) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[static_cast<std::size_t>(std::lround(q * static_cast<double>(seconds.size() - 1)))];
  }
  double median() { return quantile(0.5); }
  // Half of the distance of the quartiles, in parts of the median.
  double spread() { return (quantile(0.75) - quantile(0.25)) / 2 / median(); }
};

// What is timed, and what waits until it is done.
struct Timed {
  std::function<void()> run, wait;
};

double time_of(const Timed& f, int calls) {
  const Stopwatch watch;
  for (int i = 0; i < calls; ++i) f.run();
  f.wait();
  return watch.in_all() / calls;
}

// Calls in one sample, so that a sample lasts long enough for the clock.
int calls_per_sample(const Timed& f, double least_seconds) {
  constexpr int most = 100000;
  time_of(f, 1);
  int calls = 1;
  while (calls < most && time_of(f, calls) * calls < least_seconds) calls *= 2;
  return calls;
}

struct Result {
  std::string name, verified;
  double gigabytes = 0;
  Timing pool, copy;
};

Result measure(const Problem& problem, const BenchCommand& command, Progress& progress, const std::string& which) {
  Result result{.name = to_string(problem), .verified = "", .gigabytes = 0, .pool = {}, .copy = {}};
  const Workload workload(problem, command);
  progress.set(which + "verifying " + result.name);
  result.verified = workload.verify();
  const std::size_t bytes = workload.compulsory_bytes();
  result.gigabytes = static_cast<double>(bytes) * 1e-9;

  const bool on_device = command.device == Device::cuda;
  std::unique_ptr<CopyBound> bound;
  std::unique_ptr<DeviceCopy> device_bound;
  if (on_device)
    device_bound = std::make_unique<DeviceCopy>(bytes);
  else
    bound = std::make_unique<CopyBound>(bytes, command.threads);
  const std::function<void()> wait = on_device ? wait_for_device : [] {};
  const Timed pool{[&] { workload.run(); }, wait};
  const Timed copy{[&] { on_device ? device_bound->run() : bound->run(); }, wait};
  const double least = on_device ? 2e-3 : 1e-4;  // of a sample: launches must overlap what they wait for
  const int pool_calls = calls_per_sample(pool, least), copy_calls = calls_per_sample(copy, least);
  const Stopwatch watch;
  progress.set(which + "timing " + result.name);
  for (int r = 0; r < command.repetitions || watch.in_all() < command.seconds; ++r) {
    result.copy.seconds.push_back(time_of(copy, copy_calls));
    result.pool.seconds.push_back(time_of(pool, pool_calls));
  }
  return result;
}

Json to_json(Result& r) {
  return {{"name", r.name},
          {"seconds", json_of(r.pool.median())},
          {"spread", json_of(r.pool.spread())},
          {"gb_per_s", json_of(r.gigabytes / r.pool.median())},
          {"copy_seconds", json_of(r.copy.median())},
          {"ratio_to_copy", json_of(r.pool.median() / r.copy.median())},
          {"repetitions", r.pool.seconds.size()},
          {"verified_by", r.verified}};
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3f} ms", seconds * 1e3) : fmt::format("{:.3f} s", seconds);
}

std::string to_row(Result& r, int name_width) {
  return fmt::format("{:<{}}  {:>11}  {:>5.1f}%  {:>7.2f}  {:>11}  {:>6.2f}x  {}\n", r.name, name_width,
                     time_text(r.pool.median()), r.pool.spread() * 100, r.gigabytes / r.pool.median(),
                     time_text(r.copy.median()), r.pool.median() / r.copy.median(), r.verified);
}

}  // namespace

int run_bench(const BenchCommand& command) {
  Progress progress("oriel bench");
  int name_width = 7;
  for (const Problem& p : command.problems) name_width = std::max(name_width, static_cast<int>(to_string(p).size()));
  const std::string where = command.device == Device::cuda ? device_name() : "";
  if (!command.json) {
    progress.say(
        where.empty()
            ? fmt::format("target {}, {} thread{}; copy: memcpy of the same bytes (half read, half written), "
                          "same run\n",
                          active_target(), command.threads, command.threads == 1 ? "" : "s")
            : fmt::format("{}; copy: on the device, of the same bytes (half read, half written), same run\n", where));
    progress.say(fmt::format("{:<{}}  {:>11}  {:>6}  {:>7}  {:>11}  {:>7}  {}\n", "problem", name_width, "median",
                             "spread", "GB/s", "copy", "ratio", "verified by"));
  }
  Json results = Json::array();
  for (std::size_t i = 0; i < command.problems.size(); ++i) {
    Result result =
        measure(command.problems[i], command, progress, fmt::format("{} of {}: ", i + 1, command.problems.size()));
    if (command.json)
      results.push_back(to_json(result));
    else
      progress.say(to_row(result, name_width));
  }
  if (command.json) {
    Json json = Json::object();
    if (where.empty()) {
      json["target"] = active_target();
      json["threads"] = command.threads;
    } else {
      json["device"] = where;
    }
    json["results"] = std::move(results);
    progress.say(json_text(json));
  }
  return kExitDone;
}

}  // namespace oriel::cli
