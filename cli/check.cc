#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/layouts.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "oriel/pool.h"
#include "reference/from_problem.h"
#include "reference/reference.h"

namespace oriel::cli {
namespace {

// One thing that is compared, over all ways to compute it.
struct Part {
  std::string name;
  std::vector<int> runs;   // by target
  std::vector<int> wrong;  // by target
};

struct Report {
  std::string name;
  std::vector<Part> parts;
  std::vector<std::string> differences;  // the first few, a line each

  bool passed() const {
    return std::all_of(parts.begin(), parts.end(), [](const Part& part) {
      return std::all_of(part.wrong.begin(), part.wrong.end(), [](int n) { return n == 0; });
    });
  }
};

// Puts the target back that was in use.
struct KeepTarget {
  std::string before = active_target();
  KeepTarget() = default;
  KeepTarget(const KeepTarget&) = delete;
  KeepTarget& operator=(const KeepTarget&) = delete;
  ~KeepTarget() { set_target(before); }
};

bool has_indices(const Problem& p) { return p.pool.op == Op::max || p.pool.op == Op::min; }
bool has_backward(const Problem& p) { return is_floating(p.dtype) || has_indices(p) || p.pool.op == Op::sum; }
bool needs_input(const Problem& p) {
  return (p.pool.op != Op::sum && p.pool.op != Op::avg) || p.pool.nan == NanPolicy::omit;
}

// Runs one problem on one input in one way after another and compares each result with the reference.
class Checker {
 public:
  Checker(const Problem& problem, const std::vector<std::string>& targets, Report& report)
      : problem_(problem), targets_(targets), report_(report) {}

  void check(Sample sample, std::uint64_t seed) {
    sample_ = sample == Sample::plain ? "plain" : "special";
    const io::Buffer x = make_sample(problem_.dtype, problem_.shape, sample, seed);
    const io::Buffer dy = make_sample(problem_.dtype, problem_.output_shape, Sample::plain, seed + 1);
    const reference::Pooling pooling = reference::from_problem(problem_);
    lp_gradient_ = {};
    forward_ = reference::forward(pooling, problem_.dtype, x.view.data);
    if (has_backward(problem_)) backward_ = reference::backward(pooling, problem_.dtype, x.view.data, dy.view.data);
    for (target_ = 0; target_ < targets_.size(); ++target_) {
      set_target(targets_[target_]);
      for (const int threads : {1, 2})
        for (const Layout& layout : layouts_of(problem_.shape.size())) {
          way_ = fmt::format("{}, {} thread{}, {}", targets_[target_], threads, threads == 1 ? "" : "s", layout.name);
          run_way(x.view, dy.view, layout, {.threads = threads});
        }
    }
  }

 private:
  void run_way(const ConstTensor& x_values, const ConstTensor& dy_values, const Layout& layout,
               const Options& options) {
    const Pool& pool = problem_.pool;
    const Placed x(x_values, layout);
    compare("forward", problem_.dtype, problem_.output_shape, forward_.bits.data(), layout,
            [&](const Tensor& y) { forward(pool, {.x = x.view(), .y = y}, options); });
    if (has_indices(problem_)) run_indices(x, layout, options);
    if (!has_backward(problem_)) return;
    const Placed dy(dy_values, layout);
    if (problem_.pool.op == Op::lp) return run_lp_backward(x, dy, layout, options);
    const auto compare_backward = [&](const char* part, const std::function<void(const Tensor&)>& run) {
      compare(part, problem_.dtype, problem_.shape, backward_.bits.data(), layout, run);
    };
    compare_backward("backward",
                     [&](const Tensor& dx) { backward(pool, {.x = x.view(), .dy = dy.view(), .dx = dx}, options); });
    if (!needs_input(problem_))
      compare_backward("backward, dy alone",
                       [&](const Tensor& dx) { backward(pool, {.dy = dy.view(), .dx = dx}, options); });
    if (!has_indices(problem_)) return;
    const Placed indices(ConstTensor(forward_.plane.data(), problem_.output_shape), layout);
    compare_backward("backward, indices", [&](const Tensor& dx) {
      backward(pool, {.dy = dy.view(), .indices = indices.view(), .dx = dx}, options);
    });
  }

  // Of an Lp gradient the reference knows a value and a bound: the first way must keep within it, and all others give
  // the bits of the first.
  void run_lp_backward(const Placed& x, const Placed& dy, const Layout& layout, const Options& options) {
    if (lp_gradient_.memory == nullptr) {
      const Placed dx(problem_.dtype, problem_.shape, layout);
      backward(problem_.pool, {.x = x.view(), .dy = dy.view(), .dx = dx.view()}, options);
      lp_gradient_ = dx.gather();
      const index_t at = reference::first_beyond_bound(problem_.dtype, lp_gradient_.view.data, backward_);
      if (at >= 0 && sample_ == "plain")
        tally("backward", fmt::format("element {} is {}, farther from the reference, {}, than its bound", at,
                                      reference::element(problem_.dtype, lp_gradient_.view.data, at),
                                      backward_.value[static_cast<std::size_t>(at)]));
    }
    compare("backward", problem_.dtype, problem_.shape, lp_gradient_.view.data, layout,
            [&](const Tensor& dx) { backward(problem_.pool, {.x = x.view(), .dy = dy.view(), .dx = dx}, options); });
  }

  void run_indices(const Placed& x, const Layout& layout, const Options& options) {
    for (const auto& [space, part, wanted] : {std::tuple{IndexSpace::plane, "indices, plane", &forward_.plane},
                                              {IndexSpace::tensor, "indices, tensor", &forward_.tensor},
                                              {IndexSpace::window, "indices, window", &forward_.window}}) {
      const Placed y(problem_.dtype, problem_.output_shape, layout);
      compare(part, Dtype::i64, problem_.output_shape, wanted->data(), layout,
              [&, kind = space](const Tensor& indices) {
                forward(problem_.pool, {.x = x.view(), .y = y.view(), .indices = indices, .space = kind}, options);
              });
      if (space == IndexSpace::plane) judge("forward with indices", problem_.dtype, forward_.bits.data(), y);
    }
  }

  // Runs into a tensor of the layout and judges it.
  void compare(const char* part, Dtype dtype, const Extents& shape, const void* wanted, const Layout& layout,
               const std::function<void(const Tensor&)>& run) {
    const Placed result(dtype, shape, layout);
    try {
      run(result.view());
    } catch (const Error& e) {
      return tally(part, fmt::format("throws: {}", e.what()));
    }
    judge(part, dtype, wanted, result);
  }

  void judge(const char* part, Dtype dtype, const void* wanted, const Placed& result) {
    const io::Buffer got = result.gather();
    const index_t count = element_count(result.view().shape);
    const index_t at = reference::first_difference(dtype, got.view.data, wanted, count);
    if (at >= 0)
      return tally(part,
                   fmt::format("element {} is {}, but {} has {}", at, reference::element(dtype, got.view.data, at),
                               wanted == lp_gradient_.view.data ? "the first way" : "the reference",
                               reference::element(dtype, wanted, at)));
    tally(part, result.gaps_untouched() ? "" : "memory between the elements was written");
  }

  void tally(const char* name, const std::string& difference) {
    auto part = std::find_if(report_.parts.begin(), report_.parts.end(), [&](const Part& p) { return p.name == name; });
    if (part == report_.parts.end()) {
      const std::vector<int> none(targets_.size(), 0);
      part = report_.parts.insert(part, Part{name, none, none});
    }
    ++part->runs[target_];
    if (difference.empty()) return;
    ++part->wrong[target_];
    constexpr std::size_t most_told = 5;
    if (report_.differences.size() < most_told)
      report_.differences.push_back(fmt::format("{} ({}, {} input): {}", name, way_, sample_, difference));
  }

  const Problem& problem_;
  const std::vector<std::string>& targets_;
  Report& report_;
  reference::Outcome forward_, backward_;
  io::Buffer lp_gradient_;  // of the first way, for the current sample
  std::size_t target_ = 0;
  std::string way_, sample_;
};

std::string cell(const Part& part, std::size_t target) {
  if (part.wrong[target] == 0) return fmt::format("{} ok", part.runs[target]);
  return fmt::format("{} of {} DIFFER", part.wrong[target], part.runs[target]);
}

std::string table(const std::vector<std::string>& targets, const Report& report) {
  constexpr int name_width = 22, gap = 3;
  std::string out = fmt::format("{}\n  {:<{}}", report.name, "", name_width);
  std::vector<int> widths;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    std::size_t width = targets[t].size();
    for (const Part& part : report.parts) width = std::max(width, cell(part, t).size());
    widths.push_back(static_cast<int>(width) + gap);
    out += fmt::format("{:>{}}", targets[t], widths.back());
  }
  out += '\n';
  for (const Part& part : report.parts) {
    out += fmt::format("  {:<{}}", part.name, name_width);
    for (std::size_t t = 0; t < targets.size(); ++t) out += fmt::format("{:>{}}", cell(part, t), widths[t]);
    out += '\n';
  }
  for (const std::string& difference : report.differences) out += "  " + difference + "\n";
  return out;
}

Json to_json(const std::vector<std::string>& targets, const Report& report) {
  Json parts = Json::array();
  for (const Part& part : report.parts)
    parts.push_back({{"part", part.name}, {"runs", part.runs}, {"wrong", part.wrong}});
  return {{"name", report.name},
          {"passed", report.passed()},
          {"targets", targets},
          {"differences", report.differences},
          {"parts", std::move(parts)}};
}

}  // namespace

int run_check(const CheckCommand& command) {
  Progress progress("oriel check");
  const KeepTarget keep;
  const std::vector<std::string> targets = supported_targets();
  bool passed = true;
  Json json = Json::array();
  for (std::size_t i = 0; i < command.problems.size(); ++i) {
    const Problem& problem = command.problems[i];
    Report report{.name = to_string(problem), .parts = {}, .differences = {}};
    progress.set(fmt::format("{} of {}: {}", i + 1, command.problems.size(), report.name));
    Checker checker(problem, targets, report);
    for (const Sample sample : {Sample::plain, Sample::special}) checker.check(sample, command.seed);
    passed = passed && report.passed();
    if (command.json)
      json.push_back(to_json(targets, report));
    else
      progress.say(table(targets, report));
  }
  if (command.json)
    progress.say(json_text(json));
  else
    progress.say(
        passed ? "All equal: every target, 1 and 2 threads, every layout, bit for bit the reference (gradients of Lp: "
                 "within its bound).\n"
               : "There are differences.\n");
  return passed ? kExitDone : kExitFailure;
}

}  // namespace oriel::cli
