// A comparison as text and as JSON.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "apps/portrait/compare/compare.h"

namespace oriel::portrait {
namespace {

double mib(index_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string blocks_text(const Comparison& c) {
  std::string out = fmt::format("{:<8} {:>14} {:>12} {:>12} {:>12} {:>10} {:>7}\n", "block", "shape", "mean diff",
                                "max diff", "largest", "relative", "copies");
  index_t copies = 0;
  for (const BlockDifference& b : c.blocks) {
    out += fmt::format("{:<8} {:>14} {:>12.3e} {:>12.3e} {:>12.3e} {:>10.1e} {:>7}\n", b.block, to_string(b.shape),
                       b.mean, b.most, b.largest, b.relative(), b.copies);
    copies += b.copies;
  }
  return out + fmt::format("{:<8} {:>14} {:>12} {:>12} {:>12} {:>10} {:>7}\n", "total", "", "", "", "", "", copies);
}

std::string times_text(const Comparison& c) {
  if (c.times.front().seconds.empty()) return "";
  std::string out =
      fmt::format("\nmedian of {} runs, {} threads, engines in turn\n", c.times.front().seconds.size(), c.threads);
  for (const EngineTimes& t : c.times)
    out += fmt::format("{:<28} {:>9.1f} ms {:>8.2f} times Oriel's\n", t.engine, 1000 * t.median(),
                       t.median() / c.times.front().median());
  return out;
}

const char* kind_of(const nn::UNetStep& step) {
  if (step.layer == "pool") return "pools";
  if (step.layer == "up") return "transposed convolutions";
  if (step.layer == "head") return "head";
  return step.layer.starts_with("conv") ? "convolutions" : "copies";
}

// What share of a run each kind of step takes.
std::string shares_text(const Comparison& c) {
  std::map<std::string, double> kinds;
  double whole = 0;
  for (std::size_t i = 0; i < c.step_milliseconds.size(); ++i) {
    kinds[kind_of(c.steps[i])] += c.step_milliseconds[i];
    whole += c.step_milliseconds[i];
  }
  if (whole <= 0) return "";
  std::string out = "\nshares of a run:";
  for (const auto& [kind, milliseconds] : kinds)
    out += fmt::format("{} {} {:.2f} % ({:.2f} ms)", kind == kinds.begin()->first ? "" : ",", kind,
                       100 * milliseconds / whole, milliseconds);
  return out + "\n";
}

std::string steps_text(const Comparison& c) {
  const auto number = [](double value, int digits) { return value > 0 ? fmt::format("{:.{}f}", value, digits) : ""; };
  std::string out =
      fmt::format("\n{:<8} {:<6} {:<48} {:>9} {:>10} {:>9}\n", "block", "layer", "by", "trial ms", "GFLOP/s", "run ms");
  for (std::size_t i = 0; i < c.steps.size(); ++i) {
    const nn::UNetStep& s = c.steps[i];
    const double rate = s.milliseconds > 0 ? 2e-6 * static_cast<double>(s.multiplications) / s.milliseconds : 0;
    out +=
        fmt::format("{:<8} {:<6} {:<48} {:>9} {:>10} {:>9}\n", s.block, s.layer, s.algorithm, number(s.milliseconds, 2),
                    number(rate, 0), number(c.step_milliseconds.empty() ? 0 : c.step_milliseconds[i], 3));
  }
  return out;
}

}  // namespace

std::string text_of(const Comparison& c) {
  std::string widths;
  for (index_t w : c.description.widths) widths += fmt::format(" {}", w);
  std::string out =
      fmt::format("weights: {}; widths{}; {} parameters; 1x{}x{}x{}; {}{}\nconvolutions: {}\n\n", c.weights, widths,
                  c.description.parameters(), c.description.input_channels, c.height, c.width, name(c.arithmetic),
                  c.device == Device::cuda ? " on a CUDA device" : "", c.library);
  out += blocks_text(c) + times_text(c) + steps_text(c) + shares_text(c);
  return out + fmt::format(
                   "\nmemory: {:.1f} MiB of activations (lower bound {:.1f}), {:.1f} MiB of weights; "
                   "prepared in {:.2f} s\n",
                   mib(c.memory.activations), mib(c.memory.lower_bound), mib(c.memory.weights), c.prepare_seconds);
}

std::string json_of(const Comparison& c) {
  nlohmann::json out = {
      {"weights", c.weights},
      {"widths", c.description.widths},
      {"parameters", c.description.parameters()},
      {"height", c.height},
      {"width", c.width},
      {"threads", c.threads},
      {"arithmetic", name(c.arithmetic)},
      {"device", c.device == Device::cuda ? "cuda" : "cpu"},
      {"library", c.library},
      {"prepare_seconds", c.prepare_seconds},
      {"memory",
       {{"activations", c.memory.activations}, {"lower_bound", c.memory.lower_bound}, {"weights", c.memory.weights}}}};
  for (const BlockDifference& b : c.blocks)
    out["blocks"].push_back({{"block", b.block},
                             {"shape", std::vector<index_t>(b.shape.begin(), b.shape.end())},
                             {"mean", b.mean},
                             {"max", b.most},
                             {"largest", b.largest},
                             {"relative", b.relative()},
                             {"copies", b.copies}});
  for (const EngineTimes& t : c.times)
    out["times"].push_back({{"engine", t.engine}, {"median", t.median()}, {"seconds", t.seconds}});
  for (std::size_t i = 0; i < c.steps.size(); ++i) {
    const nn::UNetStep& s = c.steps[i];
    out["steps"].push_back({{"block", s.block},
                            {"layer", s.layer},
                            {"algorithm", s.algorithm},
                            {"milliseconds", s.milliseconds},
                            {"multiplications", s.multiplications}});
    if (!c.step_milliseconds.empty()) out["steps"].back()["run_milliseconds"] = c.step_milliseconds[i];
  }
  return out.dump() + "\n";
}

}  // namespace oriel::portrait
