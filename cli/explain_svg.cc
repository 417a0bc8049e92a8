#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/axis_picture.h"
#include "cli/explain.h"
#include "cli/result_sentence.h"

namespace oriel::cli {
namespace {

constexpr int kCell = 26;   // a place
constexpr int kLabel = 92;  // room for `output 12`
constexpr int kMargin = 24;
constexpr int kLine = 20;
constexpr int kLeastWidth = 760;
constexpr int kColumns = 36;  // that an axis is drawn in, unless all of it is

// Colours that also differ in lightness, so that they can be told apart without seeing colours.
constexpr const char* kStyle = R"(<style>
text{font-family:"DejaVu Sans",Verdana,sans-serif;font-size:13px;fill:#1b2733}
.title{font-size:17px;font-weight:bold}.head{font-size:14px;font-weight:bold}.dim{fill:#5c6b7a}
.n{font-size:11px;text-anchor:middle}.on{fill:#ffffff}
.input{fill:#e8eef4;stroke:#b4c2cf}.dropped{fill:#f7d3cf;stroke:#c0392b}
.pad{fill:#ffffff;stroke:#b4c2cf;stroke-dasharray:3 2}
.span{fill:#dceaf7}.tap{fill:#1f6fb2;stroke:#17578c}.padtap{fill:#fff3d6;stroke:#b7791f;stroke-dasharray:3 2}
.beyond{fill:#fdecea;stroke:#c0392b}.cross{stroke:#c0392b;stroke-width:1.5}
.absent{fill:none;stroke:#7d93a8}.invalid{fill:#f4f6f8;stroke:#5c6b7a;stroke-width:1.5}
.skip{fill:#7d93a8}.owned{fill:#1f6fb2;stroke:#17578c}.halo{fill:#fff3d6;stroke:#b7791f}
</style>
)";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

class Canvas {
 public:
  void rect(int x, int y, int w, int h, const char* kind) {
    body_ +=
        fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>\n", kind, x, y, w, h);
    reach(x + w, y + h);
  }
  void text(int x, int y, std::string_view text, const char* kind = "") {
    constexpr double letter = 7.3;  // a generous mean width at 13px
    body_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, x, y, escape(text));
    reach(x + static_cast<int>(letter * static_cast<double>(text.size())), y);
  }
  // A number in the middle of a cell.
  void number(int x, int y, std::string_view text, const char* kind) {
    body_ += fmt::format("<text class=\"n {}\" x=\"{}\" y=\"{}\">{}</text>\n", kind, x + kCell / 2, y + kCell / 2 + 4,
                         escape(text));
  }
  void cross(int x, int y) {
    body_ +=
        fmt::format("<path class=\"cross\" d=\"M{} {}l10 10m0 -10l-10 10\"/>\n", x + kCell / 2 - 5, y + kCell / 2 - 5);
  }
  void dot(int x, int y) {
    body_ += fmt::format("<circle class=\"skip\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>\n", x + kCell / 2, y + kCell / 2);
  }
  void ring(int x, int y) {
    body_ += fmt::format("<circle class=\"absent\" cx=\"{}\" cy=\"{}\" r=\"4\"/>\n", x + kCell / 2, y + kCell / 2);
  }
  std::string finish() const {
    const int w = std::max(width_ + kMargin, kLeastWidth), h = height_ + kMargin;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n{2}<rect "
        "width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
        w, h, kStyle, body_);
  }

 private:
  void reach(int x, int y) {
    width_ = std::max(width_, x);
    height_ = std::max(height_, y);
  }
  std::string body_;
  int width_ = 0, height_ = 0;
};

// The inside of a cell, one pixel of air around it.
void draw_box(Canvas& canvas, int x, int y, const char* kind) { canvas.rect(x + 1, y + 1, kCell - 2, kCell - 2, kind); }

// An input, a place in the padding, or a place that was left out.
void draw_place(Canvas& canvas, const Axis& a, index_t place, int x, int y) {
  if (place == kLeftOut) return canvas.number(x, y, "…", "dim");
  if (place >= 0 && place < a.in) {
    draw_box(canvas, x, y, is_read(a, place) ? "input" : "dropped");
    canvas.number(x, y, std::to_string(place), "");
  } else if (a.counted.contains(place)) {
    draw_box(canvas, x, y, "pad");
    canvas.number(x, y, "pad", "dim");
  }
}

void draw_mark(Canvas& canvas, Mark mark, int x, int y, const std::string& number) {
  switch (mark) {
    case Mark::tap:
      draw_box(canvas, x, y, "tap");
      return canvas.number(x, y, number, "on");
    case Mark::padding:
      return draw_box(canvas, x, y, "padtap");
    case Mark::beyond:
      draw_box(canvas, x, y, "beyond");
      return canvas.cross(x, y);
    case Mark::skipped:
      return canvas.dot(x, y);
    case Mark::absent:
      return canvas.ring(x, y);
    case Mark::invalid:
      draw_box(canvas, x, y, "invalid");
      return canvas.number(x, y, number, "dim");
    case Mark::none:
      return;
  }
}

// One window's row: a light bar from its first to its last place, its taps upon it.
void draw_row(Canvas& canvas, const Problem& problem, const AxisPicture& picture, const Row& row, const TapMarks& marks,
              int y) {
  if (row.output == kLeftOut) return canvas.text(kMargin + 8, y + 17, "…", "dim");
  canvas.text(kMargin, y + 17, fmt::format("output {}", row.output));
  const auto column = [](std::size_t c) { return kMargin + kLabel + kCell * static_cast<int>(c); };
  const std::vector<index_t>& places = picture.places;
  const auto is_inside = [&](std::size_t c) {
    const index_t place = places[c] == kLeftOut ? places[c - 1] + 1 : places[c];
    return mark_at(picture.axis, row.output, place) != Mark::none;
  };
  for (std::size_t c = 0; c < places.size(); ++c)
    if (is_inside(c)) canvas.rect(column(c), y + 5, kCell, kCell - 10, "span");
  for (std::size_t c = 0; c < places.size(); ++c) {
    if (places[c] == kLeftOut && is_inside(c)) canvas.number(column(c), y, "…", "dim");
    if (places[c] == kLeftOut) continue;
    // Along one of several axes there is no telling which taps are valid: a drawing of the plane is.
    const Mark mark =
        problem.pooled == 1 ? marks.at({row.output}, {places[c]}) : mark_at(picture.axis, row.output, places[c]);
    draw_mark(canvas, mark, column(c), y, std::to_string(places[c]));
  }
  const int x = column(places.size()) + 16;
  canvas.text(x, y + 17,
              row.existing == row.nominal ? fmt::format("{}", row.nominal)
                                          : fmt::format("{} of {}", row.existing, row.nominal));
  const bool average = problem.pool.op == Op::avg && problem.pool.divisor == 0;
  if (average) canvas.text(x + 66, y + 17, fmt::format("{}", row.divisor));
  if (row.beyond > 0) canvas.text(x + (average ? 124 : 66), y + 17, "partial");
}

// An average's divisor is the count itself if one axis is pooled.
const char* count_title(const Problem& problem) {
  if (problem.pool.op != Op::avg || problem.pool.divisor != 0) return "";
  return problem.pooled == 1 ? "divisor" : "counts";
}

int draw_axis(Canvas& canvas, const Problem& problem, int i, bool full, const TapMarks& marks, int y) {
  const AxisPicture picture = picture_axis(problem, i, kColumns, full);
  const Axis& a = picture.axis;
  const std::string title = axis_title(picture);
  if (const int same = same_as(problem, i); same >= 0) {
    canvas.text(kMargin, y += kLine, fmt::format("{}, as axis {}", title, problem.axes[static_cast<std::size_t>(same)]),
                "head");
    return y + kLine;
  }
  canvas.text(kMargin, y += kLine, title, "head");
  for (const std::string& formula : size_lines(problem, i)) canvas.text(kMargin, y += kLine, formula, "dim");
  y += 12;
  const auto count = static_cast<int>(picture.places.size());
  canvas.text(kMargin, y + 17, "input");
  for (int c = 0; c < count; ++c)
    draw_place(canvas, a, picture.places[static_cast<std::size_t>(c)], kMargin + kLabel + kCell * c, y);
  const int x = kMargin + kLabel + kCell * count + 16;
  canvas.text(x, y + 17, "inputs", "dim");
  canvas.text(x + 66, y + 17, count_title(problem), "dim");
  y += kCell + 6;
  for (const Row& row : picture.rows) {
    draw_row(canvas, problem, picture, row, marks, y);
    y += kCell;
  }
  y += 4;
  for (const std::string& fact : facts(problem, i)) canvas.text(kMargin, y += kLine, fact);
  return y + kLine;
}

int draw_plane(Canvas& canvas, const Problem& problem, const Extents& output, const TapMarks& marks, int y) {
  const int n = problem.pooled;
  const AxisPicture rows = picture_window(problem, n - 2, output[n - 2]);
  const AxisPicture columns = picture_window(problem, n - 1, output[n - 1]);
  canvas.text(kMargin, y += kLine,
              fmt::format("output {}: axis {} down, axis {} across{}", to_string(output), rows.number, columns.number,
                          slice_text(problem, output)),
              "head");
  y += 12;
  int x = kMargin + kCell;
  for (const index_t c : columns.places) {
    const bool input = c >= 0 && c < columns.axis.in;
    canvas.number(x, y,
                  c == kLeftOut                      ? "…"
                  : input                            ? std::to_string(c)
                  : columns.axis.counted.contains(c) ? "pad"
                                                     : "",
                  "dim");
    x += kCell;
  }
  y += kCell;
  for (const index_t r : rows.places) {
    const bool row_input = r >= 0 && r < rows.axis.in;
    canvas.number(kMargin, y,
                  r == kLeftOut                   ? "…"
                  : row_input                     ? std::to_string(r)
                  : rows.axis.counted.contains(r) ? "pad"
                                                  : "",
                  "dim");
    x = kMargin + kCell;
    for (const index_t c : columns.places) {
      if (r != kLeftOut && c != kLeftOut) {
        const bool input = row_input && c >= 0 && c < columns.axis.in;
        const bool padding = rows.axis.counted.contains(r) && columns.axis.counted.contains(c);
        if (input)
          draw_box(canvas, x, y, is_read(rows.axis, r) && is_read(columns.axis, c) ? "input" : "dropped");
        else if (padding)
          draw_box(canvas, x, y, "pad");
        draw_mark(canvas, marks.at(output, places_of_slice(problem, output, r, c)), x, y, "");
      }
      x += kCell;
    }
    y += kCell;
  }
  if (!has_sentences(problem, marks)) canvas.text(kMargin, y += kLine, describe_output(problem, output));
  return y + kLine;
}

int draw_ranks(Canvas& canvas, const Problem& problem, const std::vector<RankRow>& rows, int y) {
  const int d = problem.axes[static_cast<std::size_t>(problem.pooled) - 1];
  // Below the same inputs of the drawing above, which may begin with padding.
  const std::vector<index_t> places = picture_axis(problem, problem.pooled - 1, kColumns, true).places;
  const auto padding = std::find(places.begin(), places.end(), 0) - places.begin();
  const int first = kMargin + kLabel + kCell * static_cast<int>(padding), count = static_cast<int>(problem.shape[d]);
  canvas.text(kMargin, y += kLine, fmt::format("axis {} divided among {} ranks", d, rows.size()), "head");
  y += 12;
  for (const RankRow& row : rows) {
    canvas.text(kMargin, y + 17, fmt::format("rank {}", row.rank));
    for (int i = 0; i < count; ++i) {
      const bool owned = row.owned.contains(i);
      if (!owned && !row.needed.contains(i)) continue;
      draw_box(canvas, first + kCell * i, y, owned ? "owned" : "halo");
      canvas.number(first + kCell * i, y, std::to_string(i), owned ? "on" : "");
    }
    canvas.text(first + kCell * count + 16, y + 17, fmt::format("{}", fmt::join(row.facts, ", ")));
    y += kCell;
  }
  draw_box(canvas, kMargin, y += 10, "owned");
  canvas.text(kMargin + kCell + 5, y + 17, "owned", "dim");
  draw_box(canvas, kMargin + 100, y, "halo");
  canvas.text(kMargin + 100 + kCell + 5, y + 17, "halo: received from the rank that owns it", "dim");
  return y + kCell;
}

// What a pool over valid taps makes of them.
int draw_sentences(Canvas& canvas, const Problem& problem, const Extents& output, const TapMarks& marks, int y) {
  if (!has_sentences(problem, marks)) return y;
  canvas.text(kMargin, y += kLine, describe_result(problem, output, marks));
  for (const std::string& rule : valid_tap_rules(problem, marks)) canvas.text(kMargin, y += kLine, rule, "dim");
  return y + 8;
}

int draw_legend(Canvas& canvas, const Problem& problem, const TapMarks& marks, int y) {
  y += 10;
  struct Item {
    Mark mark;
    const char* kind;
    const char* text;
  };
  int x = kMargin;
  for (const Item& item : {Item{Mark::tap, "", "input read"},
                           {Mark::invalid, "", "not valid"},
                           {Mark::absent, "", "not in the footprint"},
                           {Mark::padding, "", "tap in padding"},
                           {Mark::beyond, "", "tap beyond padding (ceil)"},
                           {Mark::skipped, "", "skipped by dilation"},
                           {Mark::none, "dropped", "never read"}}) {
    if ((item.mark == Mark::invalid && !marks.may_leave_out()) ||
        (item.mark == Mark::absent && problem.pool.footprint.empty()))
      continue;
    draw_mark(canvas, item.mark, x, y, "");
    if (*item.kind != '\0') draw_box(canvas, x, y, item.kind);
    canvas.text(x + kCell + 5, y + 17, item.text, "dim");
    x += kCell + 20 + static_cast<int>(7.6 * static_cast<double>(std::string_view(item.text).size()));
  }
  return y + kCell;
}

}  // namespace

std::string explain_svg(const Problem& problem, const Extents& output, bool full, const std::vector<RankRow>& ranks,
                        const Elements& elements) {
  Canvas canvas;
  const TapMarks marks(problem, elements);
  int y = kMargin + 10;
  canvas.text(kMargin, y, to_string(problem), "title");
  canvas.text(kMargin, y += kLine + 2, headline(problem));
  y += 8;
  for (int i = 0; i < problem.pooled; ++i) y = draw_axis(canvas, problem, i, full, marks, y);
  if (const std::string rule = divisor_rule(problem); !rule.empty()) canvas.text(kMargin, y += kLine, rule);
  if (problem.pooled > 1) y = draw_plane(canvas, problem, output, marks, y + 8);
  y = draw_sentences(canvas, problem, output, marks, y);
  y = draw_legend(canvas, problem, marks, y);
  if (!ranks.empty()) draw_ranks(canvas, problem, ranks, y + 8);
  return canvas.finish();
}

}  // namespace oriel::cli
