#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/axis_picture.h"
#include "cli/explain.h"
#include "cli/json.h"
#include "cli/result_sentence.h"
#include "oriel/pool.h"

namespace oriel::cli {
namespace {

// Coordinates are listed one by one on axes of at most this many inputs and taps.
constexpr index_t kMostListed = 100000;

bool lists_coordinates(const Axis& a) {
  if (a.in > kMostListed) return false;
  index_t taps = 0;
  for (index_t o = 0; o < a.out && taps <= kMostListed; ++o) taps += std::min(a.width(o), kMostListed + 1);
  return taps <= kMostListed;
}

// The coordinates of the taps of a window, in three lists.
Json coordinates_json(const Axis& a, index_t output) {
  Json inputs = Json::array(), padding = Json::array(), beyond = Json::array();
  for (index_t t = 0; t < a.width(output); ++t) {
    const index_t coordinate = a.at(output, t);
    const Mark mark = mark_at(a, output, coordinate);
    (mark == Mark::tap ? inputs : mark == Mark::padding ? padding : beyond).push_back(coordinate);
  }
  return {{"input_coordinates", std::move(inputs)},
          {"padding_coordinates", std::move(padding)},
          {"beyond_coordinates", std::move(beyond)}};
}

// The inputs that no window of `windows` reads.
Json unread_json(const Axis& a, const Json& windows) {
  std::vector<bool> read(static_cast<std::size_t>(a.in));
  for (const Json& window : windows)
    for (const Json& coordinate : window["input_coordinates"]) read[coordinate.get<std::size_t>()] = true;
  Json unread = Json::array();
  for (std::size_t i = 0; i < read.size(); ++i)
    if (!read[i]) unread.push_back(i);
  return unread;
}

// The windows as given, with padding as numbers; null unless all windows are alike.
Json window_json(const Problem& problem, const Axis& a) {
  if (problem.pool.windows.kind != WindowKind::uniform) return {};
  return {{"kernel", a.kernel},
          {"stride", a.stride},
          {"padding_before", -a.counted.begin},
          {"padding_after", a.counted.end - a.in},
          {"dilation", a.dilation},
          {"span", a.extent()}};
}

Json windows_json(const Problem& problem, const Axis& a, bool with_coordinates) {
  Json windows = Json::array();
  for (index_t o = 0; o < a.out; ++o) {
    const Row row = describe_window(problem, a, o);
    windows.push_back({{"output", o},
                       {"start", a.start(o)},
                       {"taps", row.nominal},
                       {"inputs", row.existing},
                       {"padding", row.padding},
                       {"beyond", row.beyond},
                       {"divisor", row.divisor}});
    if (with_coordinates) windows.back().update(coordinates_json(a, o));
  }
  return windows;
}

Json axis_json(const Problem& problem, int i) {
  const Axis& a = problem.axis[static_cast<std::size_t>(i)];
  const bool with_coordinates = lists_coordinates(a);
  Json windows = windows_json(problem, a, with_coordinates);
  Json axis{{"axis", problem.axes[static_cast<std::size_t>(i)]},
            {"inputs", a.in},
            {"outputs", a.out},
            {"window", window_json(problem, a)},
            {"size", size_lines(problem, i)},
            {"read_to", a.needs({0, a.out}).end},
            {"facts", facts(problem, i)}};
  if (with_coordinates) axis["unread_inputs"] = unread_json(a, windows);
  axis["windows"] = std::move(windows);
  return axis;
}

// The word of a problem's name for its padding; `given` if there is none.
std::string_view padding_word(Padding padding) {
  return padding == Padding::given ? "given" : padding == Padding::same_upper ? "same" : "same_lower";
}

// The taps of one output, listed if they are few: all that exist are valid where that is not known.
Json output_json(const Problem& problem, const Extents& output, const TapMarks& marks) {
  Json json{{"output", json_of(output)}, {"sentence", describe_result(problem, output, marks)}};
  const std::optional<TapCounts> counts = marks.count(output);
  if (!counts) return json;
  json["taps"] = counts->taps;
  json["inputs"] = counts->existing;
  json["valid"] = counts->valid ? Json(*counts->valid) : Json();
  if (counts->taps > kMostListed) return json;
  Json inputs = Json::array(), invalid = Json::array();
  marks.each_tap(output, [&](const Extents& places, Mark mark) {
    if (mark == Mark::tap) inputs.push_back(json_of(places));
    if (mark == Mark::invalid) invalid.push_back(json_of(places));
  });
  json["input_coordinates"] = std::move(inputs);
  json["invalid_coordinates"] = std::move(invalid);
  return json;
}

Json valid_taps_json(const Problem& problem, const Extents& output, const TapMarks& marks) {
  const Footprint& footprint = problem.pool.footprint;
  Json json{{"rules", valid_tap_rules(problem, marks)},
            {"strategy", explain(problem).strategy},
            {"result_dtype", name(problem.result)},
            {"fill", fill_text(problem)},
            {"footprint", Json()},
            {"result", output_json(problem, output, marks)}};
  if (!footprint.empty()) json["footprint"] = {{"shape", json_of(footprint.shape)}, {"taps", footprint.taps}};
  return json;
}

}  // namespace

std::string explain_json(const Problem& problem, const Extents& output, const Elements& elements) {
  Json axes = Json::array();
  for (int i = 0; i < problem.pooled; ++i) {
    constexpr index_t most = 1000000;
    const auto n = static_cast<std::size_t>(i);
    if (problem.axis[n].out > most)
      throw Error(fmt::format("explain: at most {} windows of an axis are listed, but axis {} has {}", most,
                              problem.axes[n], problem.axis[n].out));
    axes.push_back(axis_json(problem, i));
  }
  const std::string text = to_string(problem);
  const Pool& pool = problem.pool;
  const TapMarks marks(problem, elements);
  Json json{{"name", text},
            {"op", text.substr(0, text.find(':'))},
            {"dtype", name(problem.dtype)},
            {"shape", json_of(problem.shape)},
            {"output_shape", json_of(problem.output_shape)},
            {"padding", padding_word(pool.windows.padding)},
            {"ceil_mode", pool.windows.ceil_mode},
            {"count_include_pad", pool.count_include_pad},
            {"headline", headline(problem)},
            {"divisor_rule", divisor_rule(problem)},
            {"axes", std::move(axes)}};
  if (has_sentences(problem, marks))
    json["valid_taps"] = valid_taps_json(problem, output.empty() ? telling_outputs(problem) : output, marks);
  return json_text(json);
}

std::string strategy_text(const Problem& problem) {
  const Explanation p = explain(problem);
  return fmt::format(
      "{}\n{}\n\n  strategy    {}: {}\n  target      {}\n  bytes       {} read, {} written, if each moves once\n"
      "  operations  {:.0f} combinations of two elements; {:.0f} if every window were folded for itself\n",
      to_string(problem), headline(problem), p.strategy, p.why, active_target(), p.bytes_read, p.bytes_written,
      p.combinations, p.direct);
}

std::string strategy_json(const Problem& problem) {
  const Explanation p = explain(problem);
  return json_text({{"name", to_string(problem)},
                    {"strategy", p.strategy},
                    {"why", p.why},
                    {"target", active_target()},
                    {"bytes_read", p.bytes_read},
                    {"bytes_written", p.bytes_written},
                    {"combinations", json_of(p.combinations)},
                    {"direct_combinations", json_of(p.direct)}});
}

}  // namespace oriel::cli
