#include "cli/pyramid_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/sheet_canvas.h"
#include "cli/sheet_text.h"
#include "io/image.h"
#include "io/zarr/store.h"
#include "io/zarr/volume.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

constexpr Colour kPage = {22, 24, 29}, kNothing = {48, 52, 62}, kText = {222, 226, 232}, kHead = {255, 255, 255},
                 kFault = {255, 140, 90}, kFrame = {240, 180, 40};
constexpr const char *kTitleFont = "sans bold 18", *kHeadFont = "sans bold 13", *kTextFont = "sans 12";
constexpr int kHeadHeight = 18;                 // of a caption's first line
constexpr double kMostRead = index_t{1} << 28;  // bytes of chunks, for a plane that a coarser level can show

class Sheet {
 public:
  Sheet(const PyramidCommand& c, const SheetImage& image, const std::vector<SheetNote>& notes, std::string file)
      : notes_(notes),
        image_(image),
        file_(std::move(file)),
        name_(detail::printable(
            std::filesystem::path(io::zarr::without_slashes(c.check ? c.in : c.out)).filename().string())),
        labels_(c.labels || image.image.labels),
        layout_(lay_out(image.image, shapes(image), name_)),
        up_(image.image.axes.size(), false),
        canvas_(layout_.width, layout_.height, kPage) {
    for (const SheetPlane& plane : layout_.planes) {
      const auto down = static_cast<std::size_t>(plane.down);
      up_[down] = c.sheet_up.find(image.image.axes[down].name) != std::string::npos;
    }
  }

  ConstTensor draw() {
    for (std::size_t l = 0; l < layout_.cells.size(); ++l) draw_level(l);
    const std::size_t left_out = image_.levels.size() - layout_.cells.size();
    const std::string title = left_out == 0 ? name_ : fmt::format("{} (without {} coarser levels)", name_, left_out);
    canvas_.write(layout_.title, title, kTitleFont, kHead, file_);
    draw_legend();
    return canvas_.view();
  }

 private:
  static std::vector<Extents> shapes(const SheetImage& image) {
    std::vector<Extents> all;
    for (const auto& level : image.levels) all.push_back(level->shape);
    return all;
  }

  const io::ome::Level& level(std::size_t l) const { return image_.image.levels[l]; }
  double low_end(std::size_t l, int axis) const {
    const auto d = static_cast<std::size_t>(axis);
    return level(l).translation[d] - level(l).scale[d] / 2;
  }
  double high_end(std::size_t l, int axis) const {
    return low_end(l, axis) +
           level(l).scale[static_cast<std::size_t>(axis)] * static_cast<double>(image_.levels[l]->shape[axis]);
  }

  // The index at a place; -1: none.
  index_t index_at(std::size_t l, int axis, double place) const {
    const auto d = static_cast<std::size_t>(axis);
    const double index = std::floor((place - level(l).translation[d]) / level(l).scale[d] + 0.5);
    return index >= 0 && index < static_cast<double>(image_.levels[l]->shape[axis]) ? static_cast<index_t>(index) : -1;
  }

  std::vector<index_t> along(std::size_t l, int axis, int count) const {
    const auto d = static_cast<std::size_t>(axis);
    std::vector<index_t> indices;
    indices.reserve(static_cast<std::size_t>(count));
    for (int p = 0; p < count; ++p) {
      indices.push_back(index_at(l, axis, layout_.low[d] + (p + 0.5) / layout_.pixels));
    }
    return indices;
  }

  // Empty rows: the level has no element in the plane.
  PlaneIndices indices_of(std::size_t l, const SheetPlane& plane, const SheetBox& box) const {
    PlaneIndices at{.begin = Extents::filled(image_.levels[l]->shape.size(), 0),
                    .down = plane.down,
                    .right = plane.right,
                    .rows = {},
                    .columns = {}};
    if (plane.across >= 0) {
      at.begin[plane.across] =
          index_at(l, plane.across, middle_of(image_.image.levels[0], image_.levels[0]->shape, plane.across));
      if (at.begin[plane.across] < 0) return at;
    }
    for (const index_t n : image_.levels[l]->shape) {
      if (n == 0) return at;
    }
    at.rows = along(l, plane.down, box.height);
    at.columns = along(l, plane.right, box.width);
    if (up_[static_cast<std::size_t>(plane.down)]) std::reverse(at.rows.begin(), at.rows.end());
    return at;
  }

  // Whether pixels of a plane show the same of `coarse` as of `l`: elements of at most a pixel in the same places.
  bool can_show(std::size_t coarse, std::size_t l, const SheetPlane& plane) const {
    const double pixel = 1 / layout_.pixels * (1 + 1e-9);
    for (const int axis : {plane.down, plane.right}) {
      if (level(coarse).scale[static_cast<std::size_t>(axis)] > pixel) return false;
      if (std::fabs(low_end(coarse, axis) - low_end(l, axis)) > pixel) return false;
      if (std::fabs(high_end(coarse, axis) - high_end(l, axis)) > pixel) return false;
    }
    return true;
  }

  // The level that a plane of level l is read from: another only if its own has too many chunks.
  std::size_t source_of(std::size_t l, const SheetPlane& plane, const SheetBox& box) const {
    std::size_t source = l;
    for (std::size_t other = l + 1; other < image_.levels.size(); ++other) {
      if (bytes_to_read(*image_.levels[source], indices_of(source, plane, box)) <= kMostRead) break;
      if (can_show(other, l, plane)) source = other;
    }
    return source;
  }

  void draw_level(std::size_t l) {
    const SheetCell& cell = layout_.cells[l];
    std::vector<PlaneSamples> planes;
    std::size_t read_from = l;
    for (std::size_t p = 0; p < layout_.planes.size(); ++p) {
      const std::size_t source = source_of(l, layout_.planes[p], cell.planes[p]);
      read_from = std::max(read_from, source);
      planes.push_back(
          read_plane(*image_.levels[source], indices_of(source, layout_.planes[p], cell.planes[p]), labels_));
    }
    if (l == 0 && !labels_) find_range(planes);
    for (std::size_t p = 0; p < planes.size(); ++p) {
      paint(cell.planes[p], planes[p]);
      canvas_.outline(frame_of(layout_.planes[p], cell.planes[p]), kFrame);
    }
    write_caption(l, read_from);
  }

  void find_range(const std::vector<PlaneSamples>& planes) {
    std::vector<double> values;
    for (const PlaneSamples& plane : planes) {
      for (std::size_t i = 0; i < plane.there.size(); ++i) {
        if (plane.there[i]) values.push_back(plane.values[i]);
      }
    }
    range_ = grey_range(std::move(values));
  }

  void paint(const SheetBox& box, const PlaneSamples& plane) {
    canvas_.fill(box, kNothing);
    for (std::size_t i = 0; i < plane.there.size(); ++i) {
      if (!plane.there[i]) continue;
      const auto width = static_cast<std::size_t>(box.width);
      canvas_.set(box.left + static_cast<int>(i % width), box.top + static_cast<int>(i / width),
                  labels_ ? label_colour(plane.numbers[i]) : colour_of(plane.values[i], range_));
    }
  }

  // The extent of level 0 in a plane.
  SheetBox frame_of(const SheetPlane& plane, const SheetBox& box) const {
    const auto pixel = [&](int axis, double place) {
      return static_cast<int>(std::lround((place - layout_.low[static_cast<std::size_t>(axis)]) * layout_.pixels));
    };
    SheetBox frame{
        .left = box.left + pixel(plane.right, low_end(0, plane.right)),
        .top = box.top + pixel(plane.down, low_end(0, plane.down)),
        .width =
            std::max(pixel(plane.right, high_end(0, plane.right)) - pixel(plane.right, low_end(0, plane.right)), 1),
        .height = std::max(pixel(plane.down, high_end(0, plane.down)) - pixel(plane.down, low_end(0, plane.down)), 1)};
    if (up_[static_cast<std::size_t>(plane.down)]) frame.top = 2 * box.top + box.height - frame.top - frame.height;
    return frame;
  }

  void write_caption(std::size_t l, std::size_t read_from) {
    SheetBox box = layout_.cells[l].caption;
    canvas_.write(box, level_title(l, *image_.levels[l]), kHeadFont, kHead, file_);
    box.top += kHeadHeight;
    box.height -= kHeadHeight;
    const bool has_note = l > 0 && l < notes_.size();
    const std::string text = level_caption(image_.image, l, has_note ? notes_[l].text : "", read_from);
    canvas_.write(box, text, kTextFont, has_note && notes_[l].fault ? kFault : kText, file_);
  }

  void draw_legend() {
    SheetBox box = layout_.legend;
    double length = 1;            // of the bar: 1, 2 or 5 times a power of ten
    constexpr double most = 180;  // pixels
    length = std::pow(10, std::floor(std::log10(most / layout_.pixels)));
    for (const double more : {5.0, 2.0}) {
      if (length * more * layout_.pixels > most) continue;
      length *= more;
      break;
    }
    constexpr int thick = 4, between = 14, label = 70;
    const int bar = std::max(static_cast<int>(std::lround(length * layout_.pixels)), 1);
    canvas_.fill({box.left, box.top + 6, bar, thick}, kHead);
    const SheetBox words{box.left + bar + between / 2, box.top, label + between, box.height};
    canvas_.write(words, fmt::format("{:.6g}{}", length, unit_of_space(image_.image)), kHeadFont, kHead, file_);
    const int used = bar + label + 2 * between;
    box.left += used;
    box.width -= used;
    const std::string colours = labels_ ? "A colour for each number, black is 0. "
                                        : fmt::format("Black is {:.6g}, white {:.6g}. ", range_.low, range_.high);
    canvas_.write(
        box,
        legend_text(image_.image, image_.levels[0]->shape, layout_.planes) + colours + "Frames: extent of level 0.",
        kTextFont, kText, file_);
  }

  const std::vector<SheetNote>& notes_;
  const SheetImage& image_;
  std::string file_, name_;
  bool labels_;
  SheetLayout layout_;
  std::vector<bool> up_;  // whether an axis that is drawn downwards is turned round
  Canvas canvas_;
  GreyRange range_;
};

bool is_in(const std::filesystem::path& file, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path outer = fs::weakly_canonical(io::zarr::without_slashes(folder), none),
                 inner = fs::weakly_canonical(file, none);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

void check_up(const PyramidCommand& c, const std::vector<io::ome::Axis>& axes) {
  std::string allowed;
  for (const io::ome::Axis& axis : axes) {
    if (axis.type == "space" && &axis != &axes.back()) allowed += axis.name;
  }
  for (const char name : c.sheet_up) {
    if (allowed.find(name) != std::string::npos) continue;
    throw UsageError(
        "oriel pyramid",
        fmt::format("--sheet-up: {} names {}; allowed: letters of {}, the axes that are drawn downwards",
                    detail::quoted(c.sheet_up), detail::quoted(std::string(1, name)), detail::quoted(allowed)));
  }
}

}  // namespace

std::unique_ptr<io::OutputFile> open_sheet(const PyramidCommand& c, const std::vector<io::ome::Axis>& axes) {
  if (c.sheet.empty()) return nullptr;
  if (!c.sheet.ends_with(".png")) {
    throw UsageError("oriel pyramid",
                     fmt::format("--sheet: {}; allowed: a name that ends in .png", detail::quoted(c.sheet)));
  }
  if (!c.check && !c.in_place && !io::zarr::without_slashes(c.out).ends_with(".zarr")) {
    throw UsageError("oriel pyramid", fmt::format("--sheet: OUT is {}; allowed: .zarr", detail::quoted(c.out)));
  }
  check_up(c, axes);
  for (const std::string& folder : {c.in, c.out}) {
    if (folder.empty() || !is_in(c.sheet, folder)) continue;
    throw UsageError("oriel pyramid", fmt::format("--sheet: {} is in {}; allowed: a file outside of it",
                                                  detail::quoted(c.sheet), detail::quoted(folder)));
  }
  return std::make_unique<io::OutputFile>(c.sheet);
}

void draw_sheet(io::OutputFile* sheet, const PyramidCommand& c, const SheetImage& image,
                const std::vector<SheetNote>& notes) {
  if (sheet == nullptr) return;
  Sheet drawing(c, image, notes, c.sheet);
  io::write_image(sheet->writer(), ".png", c.sheet, drawing.draw());
  sheet->commit();
}

void draw_sheet(io::OutputFile* sheet, const PyramidCommand& c, const std::string& folder,
                std::vector<SheetNote> notes) {
  if (sheet == nullptr) return;
  const auto image = io::ome::read_multiscales(folder);
  if (!image) throw Error(fmt::format("{}: not an OME-Zarr image", detail::printable(folder)));
  SheetImage all{*image, {}};
  for (const io::ome::Level& level : image->levels) {
    all.levels.push_back(io::open_zarr_volume(folder + "/" + level.path, std::nullopt));
  }
  if (notes.empty()) notes.assign(image->levels.size(), {image->method, false});
  draw_sheet(sheet, c, all, notes);
}

}  // namespace oriel::cli
