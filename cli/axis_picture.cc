#include "cli/axis_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "statistic_rules.h"

namespace oriel::cli {
namespace {

index_t pad_before(const Axis& a) { return -a.counted.begin; }
index_t pad_after(const Axis& a) { return a.counted.end - a.in; }

const Axis& axis_of(const Problem& p, int i) { return p.axis[static_cast<std::size_t>(i)]; }

// One past the last place of output o's window.
index_t window_end(const Axis& a, index_t o) { return a.at(o, a.width(o) - 1) + 1; }

// The whole range, or its first and last `edge` members.
void add_edges(std::set<index_t>& to, index_t begin, index_t end, index_t edge) {
  if (end - begin <= 2 * edge) {
    for (index_t i = begin; i < end; ++i) to.insert(i);
    return;
  }
  for (index_t i = 0; i < edge; ++i) {
    to.insert(begin + i);
    to.insert(end - 1 - i);
  }
}

// Ascending with a mark where some are missing; a single missing one is put in instead.
std::vector<index_t> with_gaps(const std::set<index_t>& chosen) {
  std::vector<index_t> out;
  for (const index_t i : chosen) {
    if (!out.empty() && i == out.back() + 2) out.push_back(i - 1);
    if (!out.empty() && i > out.back() + 1) out.push_back(kLeftOut);
    out.push_back(i);
  }
  return out;
}

// How much of an axis is shown; each next step shows less.
struct Detail {
  index_t outputs;  // at either end
  index_t edge;     // places at either end of a window
};
constexpr std::array kDetails = {
    Detail{1 << 20, 1 << 20}, Detail{6, 8}, Detail{4, 6}, Detail{3, 4}, Detail{2, 3}, Detail{1, 2}};

AxisPicture picture_with(const Problem& problem, int i, Detail detail) {
  AxisPicture picture{
      .number = problem.axes[static_cast<std::size_t>(i)], .axis = axis_of(problem, i), .places = {}, .rows = {}};
  const Axis& a = picture.axis;
  std::set<index_t> outputs, places;
  add_edges(outputs, 0, a.out, detail.outputs);
  for (const index_t o : outputs) add_edges(places, a.start(o), window_end(a, o), detail.edge);
  const index_t read_to = a.needs({0, a.out}).end;
  add_edges(places, a.counted.begin, 0, detail.edge);
  add_edges(places, read_to, a.in, detail.edge);
  add_edges(places, a.in, a.counted.end, detail.edge);
  add_edges(places, 0, a.in, detail.edge > 1000 ? detail.edge : 1);
  picture.places = with_gaps(places);
  for (const index_t o : with_gaps(outputs))
    picture.rows.push_back(o == kLeftOut ? Row{} : describe_window(problem, a, o));
  return picture;
}

std::string plural(index_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

// The number of inputs before the last one read that no window reads; -1 if counting would take too long.
index_t count_holes(const Axis& a) {
  constexpr index_t longest = 100000;
  const Range read = a.needs({0, a.out});
  if (read.end > longest) return -1;
  index_t holes = 0;
  for (index_t i = read.begin; i < read.end; ++i) holes += is_read(a, i) ? 0 : 1;
  return holes;
}

// The same axis with the other rounding.
Axis with_ceil(const Axis& a, bool ceil_mode) {
  return Axis::uniform(a.in, a.kernel, a.stride, pad_before(a), pad_after(a), a.dilation, ceil_mode);
}

// Outputs of ceil mode before the window that begins too late is taken away.
index_t rounded_up(const Axis& a) {
  return Axis::uniform(a.in, a.kernel, a.stride, pad_before(a), pad_after(a) + a.stride - 1, a.dilation).out;
}

void ceil_facts(const Problem& problem, const Axis& a, std::vector<std::string>& out) {
  const index_t floor_out = with_ceil(a, false).out;
  if (rounded_up(a) > a.out)
    out.push_back(fmt::format(
        "ceil rounds up to {}, but window {} would start at coordinate {}, beyond the last input: it is dropped.",
        plural(rounded_up(a), "output"), a.out, a.start(a.out)));
  if (floor_out == a.out) {
    out.push_back(fmt::format("ceil changes nothing here: floor gives {} too.", plural(a.out, "output")));
    return;
  }
  const Row last = describe_window(problem, a, a.out - 1);
  out.push_back(fmt::format(
      "ceil adds window {}, which is partial: {} of its {} {} beyond the padded input, {} {}. Floor would give {}.",
      last.output, last.beyond, plural(last.nominal, "tap"), last.beyond == 1 ? "lies" : "lie", last.existing,
      last.existing == 1 ? "is an input" : "are inputs", plural(floor_out, "output")));
}

void dropped_facts(const Problem& problem, const Axis& a, std::vector<std::string>& out) {
  const index_t read_to = a.needs({0, a.out}).end;
  if (a.in > read_to) {
    const index_t ceil_out = with_ceil(a, true).out;
    std::string text = a.in - read_to == 1 ? fmt::format("Input {} is never read", read_to)
                                           : fmt::format("Inputs {} to {} are never read", read_to, a.in - 1);
    if (problem.pool.windows.padding == Padding::given && !problem.pool.windows.ceil_mode)
      text += ceil_out > a.out ? fmt::format(": no whole window fits there. ceil would add a partial one and give {}",
                                             plural(ceil_out, "output"))
                               : std::string("; ceil would not change that");
    out.push_back(text + ".");
  } else if (!problem.pool.windows.ceil_mode && problem.pool.windows.padding == Padding::given) {
    const index_t ceil_out = with_ceil(a, true).out;
    const std::string outputs = plural(ceil_out, "output");
    out.push_back(
        (is_read(a, a.in - 1) ? "Every tail input is read; ceil would " : "ceil would ") +
        (ceil_out == a.out ? "change nothing."
         : ceil_out > a.out
             ? fmt::format("add a partial window and give {}.", outputs)
             : fmt::format("drop the last window, which starts after the last input, and give {}.", outputs)));
  }
  if (const index_t holes = count_holes(a); holes > 0)
    out.push_back(
        fmt::format("{} between windows or taps {} never read.", plural(holes, "input"), holes == 1 ? "is" : "are"));
}

// S6, S14.
std::string_view result_of_nothing(const Problem& problem) {
  const Pool& pool = problem.pool;
  if (pool.min_count > 0 || detail::needed_taps(pool) > 0) return "that of too few valid taps";
  switch (pool.op) {
    case Op::max:
      return "the lowest value of the type";
    case Op::min:
      return "the highest value of the type";
    case Op::all:
      return "true";
    case Op::any:
      return "false";
    case Op::prod:
      return "1";
    default:
      return "0";
  }
}

}  // namespace

Mark mark_at(const Axis& axis, index_t output, index_t place) {
  const index_t distance = place - axis.start(output);
  if (distance < 0 || place >= window_end(axis, output)) return Mark::none;
  if (distance % axis.dilation != 0) return Mark::skipped;
  if (place >= 0 && place < axis.in) return Mark::tap;
  return axis.counted.contains(place) ? Mark::padding : Mark::beyond;
}

Mark both(Mark a, Mark b) {
  for (const Mark m : {Mark::none, Mark::skipped, Mark::beyond, Mark::padding})
    if (a == m || b == m) return m;
  return Mark::tap;
}

Row describe_window(const Problem& problem, const Axis& axis, index_t output) {
  Row row{.output = output, .nominal = axis.width(output)};
  row.existing = axis.taps(output).size();
  const index_t counted = axis.divisor(output, true);
  row.padding = counted - row.existing;
  row.beyond = row.nominal - counted;
  row.divisor = axis.divisor(output, problem.pool.count_include_pad);
  return row;
}

bool is_read(const Axis& axis, index_t i) {
  constexpr index_t most_looked_at = 100000;
  const Range outputs = axis.feeds(i);
  for (index_t o = outputs.begin; o < outputs.end && o - outputs.begin < most_looked_at; ++o)
    if (axis.tap_of(o, i) >= 0) return true;
  return false;
}

AxisPicture picture_axis(const Problem& problem, int i, int columns, bool full) {
  const Axis& a = axis_of(problem, i);
  constexpr index_t most_whole = 64;  // outputs that are shown without leaving any out
  constexpr index_t most_full = 4096;
  const index_t places = std::max(a.counted.end, window_end(a, a.out - 1)) - a.counted.begin;
  if (full && (places > most_full || a.out > most_full))
    throw Error(fmt::format("--full: shows at most {} outputs and coordinates, but axis {} has {} and {}", most_full,
                            problem.axes[static_cast<std::size_t>(i)], a.out, places));
  if (full || (places <= columns && a.out <= most_whole)) return picture_with(problem, i, kDetails.front());
  AxisPicture picture;
  for (std::size_t d = 1; d < kDetails.size(); ++d) {
    picture = picture_with(problem, i, kDetails[d]);
    if (static_cast<int>(picture.places.size()) <= columns) break;
  }
  return picture;
}

AxisPicture picture_window(const Problem& problem, int i, index_t output) {
  AxisPicture picture{
      .number = problem.axes[static_cast<std::size_t>(i)], .axis = axis_of(problem, i), .places = {}, .rows = {}};
  const Axis& a = picture.axis;
  constexpr index_t edge = 6, around = 2, most_whole = 24;
  const index_t begin = a.counted.begin, end = std::max(a.counted.end, window_end(a, a.out - 1));
  std::set<index_t> places;
  if (end - begin <= most_whole) add_edges(places, begin, end, most_whole);
  add_edges(places, std::max(a.start(output) - around, begin), std::min(window_end(a, output) + around, end),
            edge + around);
  add_edges(places, 0, a.in, 1);
  picture.places = with_gaps(places);
  return picture;
}

std::string describe_output(const Problem& problem, const Extents& output) {
  std::string factors;
  index_t existing = 1, nominal = 1, divisor = 1;
  for (int i = 0; i < problem.pooled; ++i) {
    const Row row = describe_window(problem, axis_of(problem, i), output[i]);
    factors += fmt::format("{}{}", i == 0 ? "" : " * ", row.existing);
    existing *= row.existing;
    nominal *= row.nominal;
    divisor *= row.divisor;
  }
  std::string text =
      fmt::format("It reads {} = {}; the window has {}", factors, plural(existing, "input"), plural(nominal, "tap"));
  if (problem.pool.op == Op::avg)
    text += fmt::format("; the sum is divided by {}", problem.pool.divisor > 0 ? problem.pool.divisor : divisor);
  return text + ".";
}

std::vector<std::string> size_lines(const Problem& problem, int i) {
  const Axis& a = axis_of(problem, i);
  if (problem.pool.windows.kind == WindowKind::global)
    return {fmt::format("one window over all {} inputs: 1 output", a.in)};
  if (problem.pool.windows.kind == WindowKind::adaptive)
    return {fmt::format("{} windows split {}; window o reads inputs floor(o * {} / {}) to ceil((o + 1) * {} / {}) - 1",
                        a.out, plural(a.in, "input"), a.in, a.out, a.in, a.out)};
  const bool up = problem.pool.windows.ceil_mode;
  const index_t rounded = up ? rounded_up(a) : a.out;
  std::string size = fmt::format(
      "outputs = {0}((inputs + padding before + after - span) / stride) + 1 = {0}(({1} + {2} + {3} - {4}) / {5}) + 1 = "
      "{6}",
      up ? "ceil" : "floor", a.in, pad_before(a), pad_after(a), a.extent(), a.stride, rounded);
  if (rounded != a.out) size += fmt::format(", less 1 = {}", a.out);
  return {size,
          fmt::format("span = dilation * (kernel - 1) + 1 = {} * ({} - 1) + 1 = {}", a.dilation, a.kernel, a.extent())};
}

std::vector<std::string> facts(const Problem& problem, int i) {
  const Axis& a = axis_of(problem, i);
  std::vector<std::string> out;
  if (problem.pool.windows.padding != Padding::given)
    out.push_back(fmt::format("same padding: {} before, {} after.", pad_before(a), pad_after(a)));
  if (problem.pool.windows.kind != WindowKind::uniform) return out;
  if (problem.pool.windows.ceil_mode) ceil_facts(problem, a, out);
  dropped_facts(problem, a, out);
  if (a.taps(0).empty() || a.taps(a.out - 1).empty())
    out.push_back(fmt::format("Window {} reads no input at all: the result is {}.", a.taps(0).empty() ? 0 : a.out - 1,
                              result_of_nothing(problem)));
  return out;
}

std::string divisor_rule(const Problem& problem) {
  const Pool& pool = problem.pool;
  if (pool.op != Op::avg) return "";
  if (problem.weights) return "An average divides by the sum of the weights of the valid taps.";
  if (pool.divisor > 0) return fmt::format("Every average divides by {}, as given.", pool.divisor);
  if (pool.windows.kind != WindowKind::uniform)
    return pool.nan == NanPolicy::omit ? "An average divides by the inputs that it reads, minus the NaNs."
                                       : "An average divides by the inputs that it reads.";
  std::string text =
      pool.count_include_pad
          ? "An average divides by the taps inside the padded input: padding counts, what lies beyond does not"
          : "An average divides by the taps that are inputs";
  if (problem.pooled > 1) text += "; multiply the counts of all axes";
  if (problem.mask || pool.nodata || !pool.footprint.empty())
    text += "; minus those that are not valid";
  else if (pool.nan == NanPolicy::omit)
    text += "; minus the NaNs";
  return text + ".";
}

std::string axis_title(const AxisPicture& picture) {
  return fmt::format("axis {}: {} -> {}", picture.number, plural(picture.axis.in, "input"),
                     plural(picture.axis.out, "output"));
}

std::string headline(const Problem& problem) {
  std::string axes;
  for (int i = 0; i < problem.pooled; ++i)
    axes += fmt::format("{}{}", i == 0 ? "" : ", ", problem.axes[static_cast<std::size_t>(i)]);
  return fmt::format("{} pool over {} {}: {} {} -> {}", name(problem.pool.op), problem.pooled == 1 ? "axis" : "axes",
                     axes, name(problem.dtype), to_string(problem.shape), to_string(problem.output_shape));
}

int same_as(const Problem& problem, int i) {
  for (int k = 0; k < i; ++k)
    if (axis_of(problem, k) == axis_of(problem, i)) return k;
  return -1;
}

index_t telling_output(const Axis& axis) {
  const index_t last = axis.out - 1;
  if (axis.taps(last).size() < axis.width(last)) return last;
  return 0;
}

Extents telling_outputs(const Problem& problem) {
  Extents out;
  for (int i = 0; i < problem.pooled; ++i) out.push_back(telling_output(axis_of(problem, i)));
  return out;
}

}  // namespace oriel::cli
