#include "cpu/code_gradient/check.h"

#include <algorithm>

namespace oriel::cpu {
namespace {

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

bool is_full(const Axis& axis) {
  for (index_t o = 0; o < axis.out; ++o) {
    if (axis.taps(o) != Range{0, axis.kernel}) return false;
  }
  return true;
}

}  // namespace

void CodeCheck::make(const CodeShape& shape) {
  if (made_ && shape == shape_) return;
  made_ = false;
  shape_ = shape;
  step_ = shape.steps();
  taps_ = step_[0] * shape.axis[0].axis.kernel;
  full_ = true;
  for (const PooledAxis& a : shape.axis) full_ &= is_full(a.axis);
  code_begin_.clear();
  output_.clear();
  shape_.each_row(false, [&](const auto& o) {
    index_t begin = 0;
    for (int a = 0; a < shape_.outer(); ++a) begin += o[at(a)] * shape_.axis[at(a)].pitch[kCode];
    code_begin_.push_back(begin);
    output_.push_back(o);
  });
  row_codes_ = shape_.row_outputs();
  joined_ = shape_.way == GatherWay::whole || shape_.axis.end()[-1].pitch[kCode] == shape_.lanes.n;
  dense_ = joined_;
  index_t n = row_codes_;
  for (int a = shape_.outer() - 1; a >= 0; --a) {
    dense_ &= shape_.axis[at(a)].pitch[kCode] == n;
    n *= shape_.axis[at(a)].axis.out;
  }
  has_bits_ = false;
  if (!full_) set_limits();
  if (!full_ && joined_) set_bits();
  made_ = true;
}

index_t CodeCheck::bytes() const {
  std::size_t all = code_begin_.capacity() * sizeof code_begin_[0] + output_.capacity() * sizeof output_[0] +
                    row_bits_.capacity() + column_bits_.capacity();
  for (const auto& of_axes : {&low_, &size_}) {
    for (const auto& limits : *of_axes) all += limits.capacity();
  }
  return static_cast<index_t>(all);
}

void CodeCheck::set_bits() {
  index_t digits = 0;
  for (const PooledAxis& a : shape_.axis) digits += a.axis.kernel;
  if (taps_ > 16 || digits > 8) return;
  has_bits_ = true;
  row_bits_.assign(code_begin_.size(), 0);
  column_bits_.assign(at(row_codes_), 0);
  std::fill(std::begin(bits_.digits), std::end(bits_.digits), Code{0});
  index_t first = 0;  // bit of an axis
  for (int a = 0; a < shape_.axis.size(); ++a) {
    const index_t kernel = shape_.axis[at(a)].axis.kernel;
    for (index_t code = 0; code < taps_; ++code) {
      bits_.digits[code] |= static_cast<Code>(1 << (first + code / step_[at(a)] % kernel));
    }
    const auto forbidden = [&](index_t i) {
      const index_t low = low_[at(a)][at(i)], size = size_[at(a)][at(i)];
      return static_cast<Code>((((1 << kernel) - 1) & ~(((1 << size) - 1) << low)) << first);
    };
    for (std::size_t r = 0; a < shape_.outer() && r < row_bits_.size(); ++r)
      row_bits_[r] |= forbidden(output_[r][at(a)]);
    for (index_t c = 0; a >= shape_.outer() && c < row_codes_; ++c) column_bits_[at(c)] |= forbidden(c);
    first += kernel;
  }
  bits_.row = row_bits_.data();
  bits_.column = column_bits_.data();
  bits_.taps = taps_;
}

void CodeCheck::set_limits() {
  for (int a = 0; a < shape_.axis.size(); ++a) {
    const Axis& axis = shape_.axis[at(a)].axis;
    auto &low = low_[at(a)], &size = size_[at(a)];
    low.clear();
    size.clear();
    const auto add = [&](index_t o, index_t times) {
      const Range taps = axis.taps(o);
      low.insert(low.end(), at(times), static_cast<std::uint8_t>(taps.begin));
      size.insert(size.end(), at(times), static_cast<std::uint8_t>(taps.size()));
    };
    if (a < shape_.outer()) {
      for (index_t o = 0; o < axis.out; ++o) add(o, 1);
      continue;
    }
    index_t inside = shape_.lanes.n;
    for (int b = a + 1; b < shape_.axis.size(); ++b) inside *= shape_.axis[at(b)].axis.out;
    for (index_t n = 0; n < row_codes_; n += inside * axis.out) {
      for (index_t o = 0; o < axis.out; ++o) add(o, inside);
    }
  }
}

bool CodeCheck::exist(const Code* code, Range rows) const {
  const CodeCheckTable& table = code_check_table();
  const PooledAxis& row = shape_.axis.end()[-1];
  if (full_ && dense_ && !rows.empty()) {
    return table.in_window(code + code_begin_[at(rows.begin)], rows.size() * row_codes_, taps_);
  }
  if (has_bits_) return table.allowed(bits_, code, code_begin_.data(), rows, row_codes_);
  const index_t n = joined_ ? row_codes_ : shape_.lanes.n;
  std::array<CodeLimits, kMaxPooledAxes> limits;
  const int axes = shape_.axis.size();
  for (index_t r = rows.begin; r < rows.end; ++r) {
    for (index_t c = 0; c < row_codes_; c += n) {
      const Code* from = code + code_begin_[at(r)] + c / shape_.lanes.n * (joined_ ? 0 : row.pitch[kCode]);
      if (!table.in_window(from, n, taps_)) return false;
      if (full_) continue;
      for (int a = 0; a < axes; ++a) {
        const bool along = a >= shape_.outer();
        const index_t first = along ? c : output_[at(r)][at(a)];
        limits[at(axes - 1 - a)] = {shape_.axis[at(a)].axis.kernel, low_[at(a)].data() + first,
                                    size_[at(a)].data() + first, along};
      }
      if (!table.exist(from, n, limits.data(), axes)) return false;
    }
  }
  return true;
}

}  // namespace oriel::cpu
