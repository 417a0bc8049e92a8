#include "cpu/moments/tile_folder.h"

namespace oriel::cpu {
namespace {

// States of rows that are folded across together: all that is kept of them lies in the first cache.
constexpr index_t kStripBytes = index_t{1} << 16, kLeastStrip = 128, kMostStrip = 512;
constexpr index_t kMostKept = index_t{1} << 25;  // bytes that strips may keep from one tile to the next

// Rows of elements, lifted.
class LiftedRows : public StateRows {
 public:
  LiftedRows(const RowReader& reader, const OperandSteps& offset, const OperandSteps& step, index_t first, Range states)
      : reader_(reader), offset_(offset), step_(step), first_(first), states_(states) {}

  StateRow row(index_t input, const StateRow& room) override {
    OperandSteps offset = offset_;
    offset.add(step_, input);
    reader_.read(offset, first_, states_, room);
    return room;
  }

 private:
  const RowReader& reader_;
  const OperandSteps offset_, step_;
  const index_t first_;
  const Range states_;
};

// Rows of an array.
template <class RowOf>
class ArrayRows : public StateRows {
 public:
  explicit ArrayRows(const RowOf& row_of) : row_of_(row_of) {}
  StateRow row(index_t input, const StateRow&) override { return row_of_(input); }

 private:
  const RowOf& row_of_;
};

std::span<const Group> groups_of(const MomentRules& rules) {
  return {rules.lift.group.data(), static_cast<std::size_t>(rules.lift.groups)};
}

}  // namespace

TileFolder::TileFolder(const Statistic& job, const Grid& grid, const MomentRules& rules, const Tiles& tiles)
    : job_(job),
      grid_(grid),
      rules_(rules),
      tiles_(tiles),
      joiner_(groups_of(rules), rules.bounded),
      width_(whole_steps(tiles.row_states() + kRowSlack)) {
  if (rules.lift.group[0].join == Join::moments) {
    constexpr Group kCounted{Join::counted, Term::state};
    careful_.emplace(std::span(&kCounted, 1), rules.bounded);
  }
  reader_.emplace(job, grid, rules, joiner_, width_, arena_);
  writer_.emplace(job, grid, rules, width_, arena_);
  index_t taps = 1;
  for (const Grid::Pooled& p : grid.pooled) taps = std::max(taps, p.axis.kernel);
  tree_.emplace(joiner_, taps, std::min(kMostStrip, width_), arena_);
  make_folders();
  scratch_row_ = joiner_.take_row(width_, arena_);
  // The largest array before or after a fold.
  index_t most = 1;
  for (int folded = 0; folded <= grid.pooled.size(); ++folded) {
    index_t rows = 1;
    for (int a = 0; a < grid.pooled.size(); ++a) {
      if (a == grid.row || (folded == 0 && a == 0)) continue;
      rows *= a < folded ? tiles.outputs(a) : std::min(axis(a).in, tiles.inputs(a));
    }
    most = std::max(most, rows);
  }
  from_.memory = arena_.take(most * joiner_.row_bytes(width_));
  if (grid.pooled.size() > 1) to_.memory = arena_.take(most * joiner_.row_bytes(width_));
}

void TileFolder::make_folders() {
  for (int a = 0; a < grid_.pooled.size(); ++a) {
    const index_t each = AcrossFolder::bytes(axis(a), joiner_, kRowStep, a == 0) / kRowStep;
    const index_t strip = std::clamp(kStripBytes / std::max<index_t>(1, each) / kRowStep * kRowStep, kLeastStrip,
                                     std::max(kLeastStrip, std::min(kMostStrip, width_)));
    strip_[static_cast<std::size_t>(a)] = std::min(strip, width_);
    if (a == grid_.row) {
      along_.emplace(axis(a), grid_.lanes.n, tiles_.outputs(a), joiner_, careful_ ? &*careful_ : nullptr, arena_);
      continue;
    }
    if (a > 0) {
      across_[static_cast<std::size_t>(a)].emplace(axis(a), joiner_, strip, false, *tree_, arena_);
      continue;
    }
    index_t rows = 1;
    for (int b = 1; b < grid_.pooled.size(); ++b)
      if (b != grid_.row) rows *= std::min(axis(b).in, tiles_.inputs(b));
    const index_t strips = rows * ((width_ + strip - 1) / strip);
    keeps_strips_ = strips * AcrossFolder::bytes(axis(a), joiner_, strip, true) <= kMostKept;
    const index_t count = keeps_strips_ ? strips : 1;
    strips_.reserve(static_cast<std::size_t>(count));
    for (index_t s = 0; s < count; ++s) strips_.emplace_back(axis(a), joiner_, strip, true, *tree_, arena_);
  }
}

index_t TileFolder::input_rows(int begin, int end) const {
  index_t rows = 1;
  for (int a = begin; a < end; ++a) rows *= a == grid_.row ? 1 : span(a).size();
  return rows;
}

index_t TileFolder::output_rows(int begin, int end) const {
  index_t rows = 1;
  for (int a = begin; a < end; ++a) rows *= a == grid_.row ? 1 : outputs(a).size();
  return rows;
}

std::array<index_t, kMaxPooledAxes> TileFolder::output_of(index_t number, int end) const {
  std::array<index_t, kMaxPooledAxes> output{};
  for (int a = end - 1; a >= 0; --a) {
    if (a == grid_.row) continue;
    output[static_cast<std::size_t>(a)] = outputs(a).begin + number % outputs(a).size();
    number /= outputs(a).size();
  }
  return output;
}

index_t TileFolder::taps_of(const std::array<index_t, kMaxPooledAxes>& output, int end) const {
  index_t taps = 1;
  for (int a = 0; a < end; ++a)
    if (a != grid_.row) taps *= axis(a).taps(output[static_cast<std::size_t>(a)]).size();
  return taps;
}

OperandSteps TileFolder::input_offset(index_t number, int begin) const {
  OperandSteps offset = grid_.plane_offset(tile_.plane);
  for (int a = grid_.pooled.size() - 1; a >= begin; --a) {
    if (a == grid_.row) continue;
    offset.add(grid_.pooled[static_cast<std::size_t>(a)].step, span(a).begin + number % span(a).size());
    number /= span(a).size();
  }
  return offset;
}

index_t TileFolder::states() const {
  return grid_.row < 0 ? tile_.lanes.size() : span(grid_.row).size() * grid_.lanes.n;
}

void TileFolder::run(index_t begin, index_t end) {
  for (index_t number = begin; number < end; ++number) {
    tile_ = tiles_.tile(number);
    for (int a = 0; a < grid_.pooled.size(); ++a)
      needs_[static_cast<std::size_t>(a)] =
          a == grid_.row ? AlongFolder::span(axis(a), outputs(a)) : axis(a).needs(outputs(a));
    writer_->begin_rows(grid_.row < 0 ? Range{0, 1} : outputs(grid_.row), tile_.lanes);
    if (grid_.row == 0)
      fold_first_along();
    else
      fold_first_across(number > begin && tiles_.continues(number));
    for (int a = 1; a < grid_.pooled.size(); ++a) a == grid_.row ? fold_along() : fold_across(a);
    if (grid_.row != grid_.pooled.size() - 1) write_rows();
  }
}

// Lifts rows and folds them across the first axis.
void TileFolder::fold_first_across(bool continues) {
  const int axes = grid_.pooled.size();
  const index_t rest = input_rows(1, axes), n = states(), strip = strip_[0];
  const index_t first = grid_.row < 0 ? 0 : span(grid_.row).begin;
  std::size_t number = 0;
  for (index_t r = 0; r < rest; ++r) {
    const OperandSteps offset = input_offset(r, 1);
    for (index_t at = 0; at < n; at += strip, ++number) {
      AcrossFolder& folder = strips_[keeps_strips_ ? number : 0];
      if (!continues || !keeps_strips_) folder.restart();
      const index_t some = std::min(strip, n - at);
      LiftedRows rows(*reader_, offset, grid_.pooled[0].step, first,
                      {tile_.lanes.begin + at, tile_.lanes.begin + at + some});
      for (index_t o = outputs(0).begin; o < outputs(0).end; ++o)
        folder.fold(o, 1, some, rows, joiner_.moved_row(row_of(from_, (o - outputs(0).begin) * rest + r), at));
    }
  }
  from_.count = outputs(0).size() * rest;
}

// Lifts rows and folds them along themselves.
void TileFolder::fold_first_along() {
  const int axes = grid_.pooled.size();
  const index_t rest = input_rows(1, axes);
  for (index_t r = 0; r < rest; ++r) {
    reader_->read(input_offset(r, 1), span(0).begin, {0, states()}, scratch_row_);
    along_->fold(scratch_row_, 1, outputs(0), row_of(from_, r));
    if (axes == 1) write(row_of(from_, r), 0);
  }
  from_.count = rest;
}

void TileFolder::fold_across(int a) {
  const index_t inputs = span(a).size(), count = outputs(a).size();
  const index_t strip = strip_[static_cast<std::size_t>(a)];
  const index_t outer = output_rows(0, a), rest = input_rows(a + 1, grid_.pooled.size());
  const index_t n = grid_.row >= 0 && grid_.row < a ? outputs(grid_.row).size() * grid_.lanes.n : states();
  AcrossFolder& folder = *across_[static_cast<std::size_t>(a)];
  for (index_t u = 0; u < outer; ++u) {
    const index_t before = taps_of(output_of(u, a), a);
    for (index_t r = 0; r < rest; ++r) {
      for (index_t at = 0; at < n; at += strip) {
        const auto input_row = [&](index_t c) {
          return joiner_.moved_row(row_of(from_, (u * inputs + c - span(a).begin) * rest + r), at);
        };
        ArrayRows rows(input_row);
        folder.restart();
        for (index_t o = outputs(a).begin; o < outputs(a).end; ++o) {
          const index_t to = (u * count + o - outputs(a).begin) * rest + r;
          folder.fold(o, before, std::min(strip, n - at), rows, joiner_.moved_row(row_of(to_, to), at));
        }
      }
    }
  }
  to_.count = outer * count * rest;
  std::swap(from_, to_);
}

void TileFolder::fold_along() {
  const int a = grid_.row;
  const bool last = a == grid_.pooled.size() - 1;
  const index_t rest = input_rows(a + 1, grid_.pooled.size());
  for (index_t r = 0; r < from_.count; ++r) {
    const StateRow to = last ? scratch_row_ : row_of(to_, r);
    along_->fold(row_of(from_, r), taps_of(output_of(r / rest, a), a), outputs(a), to);
    if (last) write(to, r);
  }
  if (last) return;
  to_.count = from_.count;
  std::swap(from_, to_);
}

void TileFolder::write_rows() {
  if (grid_.row == 0 && grid_.pooled.size() == 1) return;
  for (index_t r = 0; r < from_.count; ++r) write(row_of(from_, r), r);
}

void TileFolder::write(const StateRow& row, index_t number) {
  const std::array<index_t, kMaxPooledAxes> output = output_of(number, grid_.pooled.size());
  OperandSteps offset = grid_.plane_offset(tile_.plane);
  for (int a = 0; a < grid_.pooled.size(); ++a) {
    if (a == grid_.row) continue;
    offset.add(grid_.pooled[static_cast<std::size_t>(a)].step, output[static_cast<std::size_t>(a)]);
  }
  writer_->write(row, output, offset);
}

}  // namespace oriel::cpu
