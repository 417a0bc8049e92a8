#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/beside.h"
#include "cli/json.h"
#include "cli/layouts.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "oriel/pool.h"
#include "reference/from_problem.h"
#include "reference/reference.h"
#include "statistic_rules.h"

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

bool has_indices(const Problem& p) { return detail::selects_tap(p.pool); }
bool has_backward(const Problem& p) {
  if (is_over_valid_taps(p)) return is_floating(p.dtype) && is_floating(p.result) && detail::has_gradient(p.pool);
  return is_floating(p.dtype) || has_indices(p) || p.pool.op == Op::sum;
}
bool needs_input(const Problem& p) {
  return is_over_valid_taps(p) || (p.pool.op != Op::sum && p.pool.op != Op::avg) || p.pool.nan == NanPolicy::omit;
}

// Where every operand of a way lies. Results of several quantiles have one axis more than x.
struct Way {
  Placed x;
  std::optional<Placed> mask, weights;
  Layout of_x, of_y;
  Options options;

  ConstTensor mask_view() const { return mask ? ConstTensor(mask->view()) : ConstTensor(); }
  ConstTensor weights_view() const { return weights ? ConstTensor(weights->view()) : ConstTensor(); }
};

// Runs one problem on one input in one way after another and compares each result with the reference.
class Checker {
 public:
  Checker(const Problem& problem, const std::vector<std::string>& targets, Report& report)
      : problem_(problem), targets_(targets), report_(report) {}

  void check(Sample sample, std::uint64_t seed) {
    sample_ = sample == Sample::plain ? "plain" : "special";
    x_ = make_sample(problem_.dtype, problem_.shape, sample, seed);
    dy_ = make_sample(problem_.result, problem_.output_shape, Sample::plain, seed + 1);
    beside_ = make_beside(problem_, seed + 2);
    first_.clear();
    ask_reference();
    const std::vector<Layout> of_x = layouts_of(problem_.shape.size()), of_y = layouts_of(problem_.output_shape.size());
    for (target_ = 0; target_ < targets_.size(); ++target_) {
      set_target(targets_[target_]);
      for (const int threads : {1, 2})
        for (const Layout& layout : of_x) {
          way_ = fmt::format("{}, {} thread{}, {}", targets_[target_], threads, threads == 1 ? "" : "s", layout.name);
          const auto same =
              std::find_if(of_y.begin(), of_y.end(), [&](const Layout& l) { return l.name == layout.name; });
          run_way({.x = Placed(x_.view, layout),
                   .mask = problem_.mask ? std::optional(Placed(beside_.mask.view, layout)) : std::nullopt,
                   .weights = problem_.weights ? std::optional(Placed(beside_.weights.view, layout)) : std::nullopt,
                   .of_x = layout,
                   .of_y = *same,
                   .options = {.threads = threads}});
        }
    }
  }

 private:
  void ask_reference() {
    const reference::Pooling pooling = reference::from_problem(problem_);
    const void* const x = x_.view.data;
    if (!is_over_valid_taps(problem_)) {
      forward_ = reference::forward(pooling, problem_.dtype, x);
      if (has_backward(problem_)) backward_ = reference::backward(pooling, problem_.dtype, x, dy_.view.data);
      return;
    }
    const reference::Beside beside = beside_.for_reference();
    forward_ = reference::forward(pooling, problem_.dtype, x, beside);
    if (has_backward(problem_)) backward_ = reference::backward(pooling, problem_.dtype, x, dy_.view.data, beside);
  }

  void run_way(const Way& way) {
    const auto run = [&](const Tensor& y) {
      forward(problem_.pool, {.x = way.x.view(), .y = y, .mask = way.mask_view(), .weights = way.weights_view()},
              way.options);
    };
    if (forward_.exact)
      compare("forward", problem_.result, problem_.output_shape, forward_.bits.data(), way.of_y, run);
    else
      compare_by_bound("forward", problem_.result, problem_.output_shape, forward_, way.of_y, run);
    if (has_indices(problem_)) run_indices(way);
    if (has_backward(problem_)) run_backward(way);
  }

  void run_backward(const Way& way) {
    const Placed dy(dy_.view, way.of_y);
    const auto run = [&](const Tensor& dx) {
      backward(problem_.pool,
               {.x = way.x.view(), .dy = dy.view(), .dx = dx, .mask = way.mask_view(), .weights = way.weights_view()},
               way.options);
    };
    if (problem_.pool.op == Op::lp || is_over_valid_taps(problem_))
      return compare_by_bound("backward", problem_.dtype, problem_.shape, backward_, way.of_x, run);
    const auto compare_backward = [&](const char* part, const std::function<void(const Tensor&)>& f) {
      compare(part, problem_.dtype, problem_.shape, backward_.bits.data(), way.of_x, f);
    };
    compare_backward("backward", run);
    if (!needs_input(problem_))
      compare_backward("backward, dy alone",
                       [&](const Tensor& dx) { backward(problem_.pool, {.dy = dy.view(), .dx = dx}, way.options); });
    if (!has_indices(problem_)) return;
    const Placed indices(ConstTensor(forward_.plane.data(), problem_.output_shape), way.of_y);
    compare_backward("backward, indices", [&](const Tensor& dx) {
      backward(problem_.pool, {.dy = dy.view(), .indices = indices.view(), .dx = dx}, way.options);
    });
  }

  // Where the reference knows a value and a bound only, as of an Lp gradient: the first way must keep within it, and
  // all others give the bits of the first.
  void compare_by_bound(const std::string& part, Dtype dtype, const Extents& shape, const reference::Outcome& wanted,
                        const Layout& layout, const std::function<void(const Tensor&)>& run) {
    io::Buffer& first = first_[part];
    if (first.memory == nullptr) {
      const Placed result(dtype, shape, layout);
      try {
        run(result.view());
      } catch (const Error& e) {
        return tally(part, fmt::format("throws: {}", e.what()));
      }
      first = result.gather();
      const index_t at = reference::first_beyond_bound(dtype, first.view.data, wanted);
      if (at >= 0 && sample_ == "plain")
        tally(part,
              fmt::format("element {} is {}, farther from the reference, {}, than its bound", at,
                          reference::element(dtype, first.view.data, at), wanted.value[static_cast<std::size_t>(at)]));
    }
    compare(part, dtype, shape, first.view.data, layout, run);
  }

  void run_indices(const Way& way) {
    for (const auto& [space, part, wanted] : {std::tuple{IndexSpace::plane, "indices, plane", &forward_.plane},
                                              {IndexSpace::tensor, "indices, tensor", &forward_.tensor},
                                              {IndexSpace::window, "indices, window", &forward_.window}}) {
      const Placed y(problem_.result, problem_.output_shape, way.of_y);
      compare(part, Dtype::i64, problem_.output_shape, wanted->data(), way.of_y,
              [&, kind = space](const Tensor& indices) {
                forward(problem_.pool,
                        {.x = way.x.view(),
                         .y = y.view(),
                         .indices = indices,
                         .space = kind,
                         .mask = way.mask_view(),
                         .weights = way.weights_view()},
                        way.options);
              });
      if (space == IndexSpace::plane) judge("forward with indices", problem_.result, forward_.bits.data(), y);
    }
  }

  // Runs into a tensor of the layout and judges it.
  void compare(const std::string& part, Dtype dtype, const Extents& shape, const void* wanted, const Layout& layout,
               const std::function<void(const Tensor&)>& run) {
    const Placed result(dtype, shape, layout);
    try {
      run(result.view());
    } catch (const Error& e) {
      return tally(part, fmt::format("throws: {}", e.what()));
    }
    judge(part, dtype, wanted, result);
  }

  void judge(const std::string& part, Dtype dtype, const void* wanted, const Placed& result) {
    const io::Buffer got = result.gather();
    const index_t count = element_count(result.view().shape);
    const index_t at = reference::first_difference(dtype, got.view.data, wanted, count);
    const auto first = first_.find(part);
    if (at >= 0)
      return tally(part,
                   fmt::format("element {} is {}, but {} has {}", at, reference::element(dtype, got.view.data, at),
                               first != first_.end() ? "the first way" : "the reference",
                               reference::element(dtype, wanted, at)));
    tally(part, result.gaps_untouched() ? "" : "memory between the elements was written");
  }

  void tally(const std::string& name, const std::string& difference) {
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
  io::Buffer x_, dy_;
  Beside beside_;
  reference::Outcome forward_, backward_;
  std::map<std::string, io::Buffer> first_;  // results of the first way, by part, for the current sample
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
  const bool valid_taps = std::any_of(command.problems.begin(), command.problems.end(), is_over_valid_taps);
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
    progress.say(passed
                     ? fmt::format("All equal: every target, 1 and 2 threads, every layout, bit for bit the reference "
                                   "({}: within its bound).\n",
                                   valid_taps ? "gradients and moments of real numbers" : "gradients of Lp")
                     : "There are differences.\n");
  return passed ? kExitDone : kExitFailure;
}

}  // namespace oriel::cli
