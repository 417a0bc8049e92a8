#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "cli/axis_picture.h"
#include "cli/explain.h"
#include "cli/result_sentence.h"

namespace oriel::cli {
namespace {

// Symbols of the drawing, in UTF-8 or ASCII.
struct Symbols {
  const char *tap, *padding, *beyond, *skipped, *left_out, *pad_place, *dropped, *absent, *invalid;
};
constexpr Symbols kUtf8 = {"■", "□", "×", "·", "…", "p", "✗", "○", "▢"};
constexpr Symbols kAscii = {"#", "o", "x", ".", "..", "p", "X", ":", "?"};

// ANSI colours by what is marked.
enum class Colour { plain, tap, padding, beyond, dim, strong };

class Drawing {
 public:
  Drawing(const Problem& problem, const TextStyle& style, const Elements& elements)
      : problem_(problem), style_(style), symbols_(style.ascii ? kAscii : kUtf8), marks_(problem, elements) {}

  std::string draw(const Extents& output) {
    line(paint(Colour::strong, to_string(problem_)));
    line(headline(problem_));
    for (int i = 0; i < problem_.pooled; ++i) draw_axis(i);
    if (const std::string rule = divisor_rule(problem_); !rule.empty()) text_ += "\n" + rule + "\n";
    if (problem_.pooled > 1) draw_plane(output);
    if (has_sentences(problem_, marks_)) tell(output);
    draw_legend();
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += text.substr(0, text.find_last_not_of(' ') + 1) + "\n"; }

  // A symbol that the legend then explains.
  std::string symbol(Colour colour, const char* text) {
    used_.insert(text);
    return paint(colour, text);
  }

  std::string paint(Colour colour, const std::string& text) const {
    if (!style_.colour || colour == Colour::plain) return text;
    constexpr const char* codes[] = {"", "32;1", "33", "31", "2", "1"};
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(colour)], text);
  }

  // `text`, which shows `shown` characters, at the right of a cell.
  static std::string cell(const std::string& text, std::size_t shown, int width) {
    const int pad = width - static_cast<int>(shown);
    return std::string(static_cast<std::size_t>(std::max(pad, 1)), ' ') + text;
  }

  std::string mark_cell(Mark mark, int width) {
    switch (mark) {
      case Mark::tap:
        return cell(symbol(Colour::tap, symbols_.tap), 1, width);
      case Mark::padding:
        return cell(symbol(Colour::padding, symbols_.padding), 1, width);
      case Mark::beyond:
        return cell(symbol(Colour::beyond, symbols_.beyond), 1, width);
      case Mark::skipped:
        return cell(symbol(Colour::dim, symbols_.skipped), 1, width);
      case Mark::absent:
        return cell(symbol(Colour::dim, symbols_.absent), 1, width);
      case Mark::invalid:
        return cell(symbol(Colour::beyond, symbols_.invalid), 1, width);
      case Mark::none:
        break;
    }
    return cell(" ", 1, width);
  }

  // What a pool over valid taps makes of them.
  void tell(const Extents& output) {
    if (problem_.pooled == 1) line("");
    line((problem_.pooled > 1 ? "  " : "") + describe_result(problem_, output, marks_));
    line("");
    for (const std::string& rule : valid_tap_rules(problem_, marks_)) line(rule);
  }

  // The number of an input, `p` for padding, a blank beyond.
  std::string place_cell(const Axis& a, index_t place, int width) {
    if (place == kLeftOut) return cell(paint(Colour::dim, symbols_.left_out), style_.ascii ? 2 : 1, width);
    if (place >= 0 && place < a.in) {
      const std::string number = std::to_string(place);
      return cell(paint(is_read(a, place) ? Colour::plain : Colour::beyond, number), number.size(), width);
    }
    if (a.counted.contains(place)) return cell(symbol(Colour::padding, symbols_.pad_place), 1, width);
    return cell(" ", 1, width);
  }

  static int cell_width(const AxisPicture& picture) {
    index_t largest = 10;
    for (const index_t place : picture.places) largest = std::max(largest, place);
    return static_cast<int>(std::to_string(largest).size()) + 1;
  }

  static std::string label(const std::string& text) { return fmt::format("  {:<12}", text); }

  void draw_axis(int i) {
    constexpr int label_columns = 14, remark_columns = 22;
    const Axis& axis = problem_.axis[static_cast<std::size_t>(i)];
    const int digits = static_cast<int>(std::to_string(axis.in).size()) + 1;
    const int columns = std::max((style_.width - label_columns - remark_columns) / std::max(digits, 3), 8);
    const AxisPicture picture = picture_axis(problem_, i, columns, style_.full);
    const Axis& a = picture.axis;

    std::string title = axis_title(picture);
    const int same = same_as(problem_, i);
    if (same >= 0) title += fmt::format(", as axis {}", problem_.axes[static_cast<std::size_t>(same)]);
    text_ += "\n" + paint(Colour::strong, title) + "\n";
    if (same >= 0) return;
    for (const std::string& formula : size_lines(problem_, i)) line("  " + formula);
    line("");
    const int width = cell_width(picture);
    std::string header = label("input");
    for (const index_t place : picture.places) header += place_cell(a, place, width);
    const bool counted = problem_.pool.op == Op::avg && problem_.pool.divisor == 0;
    line(header + "   inputs    " + (!counted ? "" : problem_.pooled == 1 ? "divisor" : "counts"));
    for (const Row& row : picture.rows) draw_row(picture, row, width);
    draw_dropped(picture, width);
    for (const std::string& fact : facts(problem_, i)) line("  " + fact);
  }

  void draw_row(const AxisPicture& picture, const Row& row, int width) {
    if (row.output == kLeftOut) return line(style_.ascii ? "  ..." : "  …");
    std::string out = label(fmt::format("output {}", row.output));
    for (std::size_t c = 0; c < picture.places.size(); ++c) out += row_cell(picture, row.output, c, width);
    out += fmt::format("   {:<9}", row.existing == row.nominal ? std::to_string(row.nominal)
                                                               : fmt::format("{} of {}", row.existing, row.nominal));
    if (problem_.pool.op == Op::avg && problem_.pool.divisor == 0) out += fmt::format(" {:<7}", row.divisor);
    if (row.beyond > 0) out += paint(Colour::beyond, " partial");
    line(out);
  }

  // Left-out places inside a window show that it goes on there.
  std::string row_cell(const AxisPicture& picture, index_t output, std::size_t c, int width) {
    const std::vector<index_t>& places = picture.places;
    if (places[c] != kLeftOut) {
      // Along one of several axes there is no telling which taps are valid: a drawing of the plane is.
      const Mark mark =
          problem_.pooled == 1 ? marks_.at({output}, {places[c]}) : mark_at(picture.axis, output, places[c]);
      return mark_cell(mark, width);
    }
    const bool inside = mark_at(picture.axis, output, places[c - 1] + 1) != Mark::none;
    return cell(inside ? paint(Colour::dim, symbols_.left_out) : " ", inside && style_.ascii ? 2 : 1, width);
  }

  void draw_dropped(const AxisPicture& picture, int width) {
    const auto is_dropped = [&](index_t place) {
      return place >= 0 && place < picture.axis.in && !is_read(picture.axis, place);
    };
    if (std::none_of(picture.places.begin(), picture.places.end(), is_dropped)) return;
    std::string out = label("never read");
    for (const index_t place : picture.places)
      out += is_dropped(place) ? cell(symbol(Colour::beyond, symbols_.dropped), 1, width) : cell(" ", 1, width);
    line(out);
  }

  // The last two pooled axes around one output's window.
  void draw_plane(const Extents& output) {
    const int n = problem_.pooled;
    const AxisPicture rows = picture_window(problem_, n - 2, output[n - 2]),
                      columns = picture_window(problem_, n - 1, output[n - 1]);
    text_ += "\n" +
             paint(Colour::strong, fmt::format("output {}: axis {} down, axis {} across{}", to_string(output),
                                               rows.number, columns.number, slice_text(problem_, output))) +
             "\n";
    const int width = std::max(cell_width(rows), cell_width(columns));
    std::string header = "  " + cell(" ", 1, width);
    for (const index_t place : columns.places) header += place_cell(columns.axis, place, width);
    line(header);
    for (const index_t r : rows.places) {
      std::string out = "  " + place_cell(rows.axis, r, width);
      for (const index_t c : columns.places) {
        const bool gap = r == kLeftOut || c == kLeftOut;
        out += gap ? cell(" ", 1, width) : plane_cell(rows, r, columns, c, output, width);
      }
      line(out);
    }
    if (!has_sentences(problem_, marks_)) line("  " + describe_output(problem_, output));
  }

  std::string plane_cell(const AxisPicture& rows, index_t r, const AxisPicture& columns, index_t c,
                         const Extents& output, int width) {
    const Mark mark = marks_.at(output, places_of_slice(problem_, output, r, c));
    const bool input = r >= 0 && r < rows.axis.in && c >= 0 && c < columns.axis.in;
    if (mark == Mark::none && input) return cell(paint(Colour::dim, style_.ascii ? "-" : "╌"), 1, width);
    return mark_cell(mark, width);
  }

  void draw_legend() {
    std::string legend;
    for (const auto& [colour, text, meaning] : {std::tuple{Colour::tap, symbols_.tap, "input read"},
                                                {Colour::padding, symbols_.padding, "tap in padding"},
                                                {Colour::beyond, symbols_.beyond, "tap beyond padding (ceil)"},
                                                {Colour::dim, symbols_.skipped, "skipped by dilation"},
                                                {Colour::dim, symbols_.absent, "not in the footprint"},
                                                {Colour::beyond, symbols_.invalid, "not valid"},
                                                {Colour::padding, symbols_.pad_place, "padding"},
                                                {Colour::beyond, symbols_.dropped, "never read"}})
      if (used_.contains(text))
        legend += fmt::format("{}{} {}", legend.empty() ? "\n" : "   ", paint(colour, text), meaning);
    line(legend);
  }

  const Problem& problem_;
  const TextStyle& style_;
  const Symbols& symbols_;
  const TapMarks marks_;
  std::set<std::string_view> used_;
  std::string text_;
};

}  // namespace

std::string explain_text(const Problem& problem, const Extents& output, const TextStyle& style,
                         const Elements& elements) {
  return Drawing(problem, style, elements).draw(output);
}

}  // namespace oriel::cli
