#include "cpu/soft/soft_folder.h"

#include <cmath>
#include <limits>

#include "cpu/simd/strided_copy.h"
#include "cpu/states/along.h"
#include "real_functions.h"

namespace oriel::cpu {
namespace {

constexpr std::array<Group, 2> kSums = {Group{Join::add_f64, Term::value}, Group{Join::add_f64, Term::value}};

std::span<const Group> groups_of(const MomentRules& rules) {
  return {rules.lift.group.data(), static_cast<std::size_t>(rules.lift.groups)};
}

}  // namespace

SoftFolder::SoftFolder(const Statistic& job, const Grid& grid, const MomentRules& rules, const Tiles& tiles)
    : job_(job),
      grid_(grid),
      tiles_(tiles),
      kernels_(exponential_rows()),
      weighted_(job.problem.pool.op == Op::soft),
      sharpness_(weighted_ ? 1 : job.problem.pool.sharpness),
      elements_(groups_of(rules), true),
      sums_(std::span(kSums).first(weighted_ ? 2 : 1), true),
      width_(whole_steps(tiles.row_states() + stride() * (tiles.lanes() + kRowSlack + kRowStep))) {
  index_t rows = 1;
  for (int a = 0; a < grid.pooled.size(); ++a)
    if (a != grid.row) rows *= std::min(axis(a).in, tiles.inputs(a));
  memory_ = arena_.take(rows * elements_.row_bytes(width_));
  scratch_ = elements_.take_row(width_, arena_);
  reader_.emplace(job, grid, rules, elements_, width_, arena_);
  writer_.emplace(job, grid, rules, width_, arena_);
  const index_t most = grid.row < 0 ? tiles.lanes() : tiles.outputs(grid.row) * grid.lanes.n;
  trees_.reserve(static_cast<std::size_t>(grid.pooled.size()));
  for (int a = 0; a < grid.pooled.size(); ++a) trees_.emplace_back(sums_, axis(a).kernel, most, arena_);
  largest_ = arena_.take_array<double>(whole_steps(most));
  count_ = arena_.take_array<std::uint32_t>(whole_steps(most));
  folded_ = sums_.take_row(most, arena_);
}

void SoftFolder::run(index_t begin, index_t end) {
  for (index_t number = begin; number < end; ++number) {
    tile_ = tiles_.tile(number);
    index_t rows = 1;
    for (int a = 0; a < grid_.pooled.size(); ++a) {
      const auto i = static_cast<std::size_t>(a);
      needs_[i] = a == grid_.row ? AlongFolder::span(axis(a), tile_.outputs[i]) : axis(a).needs(tile_.outputs[i]);
      if (a != grid_.row) rows *= tile_.outputs[i].size();
    }
    const Range along = grid_.row < 0 ? Range{0, 1} : tile_.outputs[static_cast<std::size_t>(grid_.row)];
    writer_->begin_rows(along, tile_.lanes);
    results_ = along.size() * tile_.lanes.size();
    lift_rows();
    for (index_t r = 0; r < rows; ++r) {
      Places output{};
      index_t rest = r;
      for (int a = grid_.pooled.size() - 1; a >= 0; --a) {
        if (a == grid_.row) continue;
        const Range outputs = tile_.outputs[static_cast<std::size_t>(a)];
        output[static_cast<std::size_t>(a)] = outputs.begin + rest % outputs.size();
        rest /= outputs.size();
      }
      fold_row(output);
    }
  }
}

void SoftFolder::lift_rows() {
  index_t rows = 1;
  for (int a = 0; a < grid_.pooled.size(); ++a)
    if (a != grid_.row) rows *= needs_[static_cast<std::size_t>(a)].size();
  const Range span = grid_.row < 0 ? Range{0, 1} : needs_[static_cast<std::size_t>(grid_.row)];
  const index_t lanes = tile_.lanes.size(), positions = span.size(), by = stride();
  phase_room_ = whole_steps((positions + by - 1) / by * lanes + kRowSlack);
  for (index_t r = 0; r < rows; ++r) {
    OperandSteps offset = grid_.plane_offset(tile_.plane);
    index_t rest = r;
    for (int a = grid_.pooled.size() - 1; a >= 0; --a) {
      if (a == grid_.row) continue;
      const Range inputs = needs_[static_cast<std::size_t>(a)];
      offset.add(grid_.pooled[static_cast<std::size_t>(a)].step, inputs.begin + rest % inputs.size());
      rest /= inputs.size();
    }
    const StateRow to = row_of(r), read = by == 1 ? to : scratch_;
    const index_t first = grid_.row < 0 ? 0 : span.begin;
    reader_->read(offset, first, {tile_.lanes.begin, tile_.lanes.begin + positions * lanes}, read);
    for (index_t p = 0; p < std::min(by, positions) && by > 1; ++p) {
      for (std::size_t f = 0; f < elements_.fields(); ++f) {
        const index_t bytes = elements_.bytes(f);
        strided_copy()(read.at[f] + p * lanes * bytes, by, (positions - 1 - p) / by + 1, lanes * bytes,
                       to.at[f] + p * phase_room_ * bytes);
      }
    }
  }
}

// Calls body for every tap that exists of the window of an output, along axes [0, axis].
template <class Body>
void SoftFolder::each_tap(const Places& output, int a, Places& taps, const Body& body) const {
  if (a < 0) return body();
  const auto i = static_cast<std::size_t>(a);
  const Range range = a == grid_.row ? Range{0, axis(a).kernel} : axis(a).taps(output[i]);
  for (taps[i] = range.begin; taps[i] < range.end; ++taps[i]) each_tap(output, a - 1, taps, body);
}

TapRow SoftFolder::tap_row(const Places& output, const Places& taps) const {
  index_t number = 0, at = 0;
  for (int a = 0; a < grid_.pooled.size(); ++a) {
    const auto i = static_cast<std::size_t>(a);
    if (a == grid_.row) {
      at = stride() == 1 ? taps[i] * axis(a).dilation * grid_.lanes.n
                         : axis(a).phase(taps[i]) * phase_room_ + axis(a).phase_offset(taps[i]) * grid_.lanes.n;
      continue;
    }
    number = number * needs_[i].size() + axis(a).at(output[i], taps[i]) - needs_[i].begin;
  }
  const StateRow row = elements_.moved_row(row_of(number), at);
  return {.x = row.as<double>(0), .valid = row.as<std::uint32_t>(1), .n = results_};
}

// The fold along axes [0, a] at fixed taps of the others.
PartTree::Part SoftFolder::fold_axis(const Places& output, int a, Places& taps) {
  const auto i = static_cast<std::size_t>(a);
  const bool along = a == grid_.row;
  const Range there = along ? Range{0, axis(a).kernel} : axis(a).taps(output[i]);
  const index_t width = along ? axis(a).kernel : axis(a).width(output[i]);
  PartTree& tree = trees_[i];
  for (index_t t = 0; t < width; ++t) {
    PartTree::Part part;
    if (there.contains(t)) {
      taps[i] = t;
      part.room = tree.take_room();
      part.row = tree.room(part.room);
      part.n = 1;
      if (a > 0) {
        const PartTree::Part inner = fold_axis(output, a - 1, taps);
        part.n = inner.n;
        if (part.n > 0) sums_.copy(inner.row, part.row, results_);
      } else {
        kernels_.exponentials(tap_row(output, taps), largest_, sharpness_, part.row.as<double>(0),
                              weighted_ ? part.row.as<double>(1) : nullptr);
      }
      if (part.n == 0) {
        tree.give_room(part.room);
        part.room = -1;
      }
    }
    tree.add(t, part, results_);
  }
  PartTree::Part sum;
  sum.row = folded_;
  sum.n = tree.finish(width, results_, folded_);
  return sum;
}

void SoftFolder::fold_row(const Places& output) {
  std::fill_n(largest_, whole_steps(results_), -std::numeric_limits<double>::infinity());
  std::fill_n(count_, whole_steps(results_), 0U);
  const int last = grid_.pooled.size() - 1;
  Places taps{};
  each_tap(output, last, taps, [&] { kernels_.find_largest(tap_row(output, taps), largest_, count_); });
  const PartTree::Part sums = fold_axis(output, last, taps);
  lower(sums.row);
  StateRow row;
  row.at[0] = reinterpret_cast<std::byte*>(largest_);
  row.at[1] = reinterpret_cast<std::byte*>(count_);
  OperandSteps offset = grid_.plane_offset(tile_.plane);
  for (int a = 0; a <= last; ++a) {
    const auto i = static_cast<std::size_t>(a);
    if (a != grid_.row) offset.add(grid_.pooled[i].step, output[i]);
  }
  writer_->write(row, output, offset);
}

// The results, in the place of the largest taps; these themselves where they are not finite.
void SoftFolder::lower(const StateRow& sums) {
  const double* sum = sums.as<double>(0);
  const bool mean = !job_.problem.pool.sum_of_exponentials;
  for (index_t i = 0; i < results_; ++i) {
    const double m = largest_[i];
    if (!std::isfinite(m)) continue;
    if (weighted_)
      largest_[i] = sums.as<double>(1)[i] / sum[i];
    else
      largest_[i] = m + fixed_log(mean ? sum[i] / count_[i] : sum[i]) / sharpness_;
  }
}

}  // namespace oriel::cpu
