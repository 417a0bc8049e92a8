// The valid taps of a window (S13), in row-major order over the pooled axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/plan/statistic.h"
#include "cpu/runtime/arena.h"
#include "statistic_rules.h"

namespace oriel::cpu {

template <class T>
constexpr bool is_nan(T v) {
  if constexpr (std::is_same_v<T, half>)
    return (v.bits & 0x7fffU) > 0x7c00U;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return (v.bits & 0x7fffU) > 0x7f80U;
  else if constexpr (std::is_floating_point_v<T>)
    return v != v;
  else
    return false;
}

/// An element as a number that compares by value: float or double, or a 64-bit integer.
template <class T>
constexpr auto number_of(T v) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
    return static_cast<float>(v);
  else if constexpr (std::is_floating_point_v<T>)
    return v;
  else if constexpr (std::is_same_v<T, bool8>)
    return static_cast<std::int64_t>(v.byte != 0);
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return v;
  else
    return static_cast<std::int64_t>(v);
}

/// The taps of a window that exist (S2): a range along each pooled axis. Its cells are numbered in row-major order.
struct TapBox {
  int axes = 0;
  std::array<Range, kMaxPooledAxes> taps;
  std::array<index_t, kMaxPooledAxes> width;  // nominal taps
  index_t cells = 1;

  /// The tap along each axis of a cell.
  std::array<index_t, kMaxPooledAxes> taps_of(index_t cell) const {
    std::array<index_t, kMaxPooledAxes> at;
    for (int a = axes - 1; a >= 0; --a) {
      const auto i = static_cast<std::size_t>(a);
      at[i] = taps[i].begin + cell % taps[i].size();
      cell /= taps[i].size();
    }
    return at;
  }
};

/// The box of the window of the output at `at`, in coordinates of the tensor.
inline TapBox box_of(const Problem& problem, const Extents& at) {
  TapBox box;
  box.axes = problem.pooled;
  for (int a = 0; a < problem.pooled; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const index_t o = at[problem.axes[i]];
    box.taps[i] = problem.axis[i].taps(o);
    box.width[i] = problem.axis[i].width(o);
    box.cells *= box.taps[i].size();
  }
  return box;
}

/// The most cells that a window has.
inline index_t most_cells(const Problem& problem) {
  index_t cells = 1;
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[static_cast<std::size_t>(a)];
    cells *= std::min(axis.kernel, axis.in);
  }
  return cells;
}

/// What decides whether a tap is valid, but for its value.
struct Validity {
  const Problem& problem;
  ConstTensor x;
  const ConstTensor* mask = nullptr;
  const ConstTensor* weights = nullptr;
};

/// The valid taps of one window after another.
template <class T>
class ValidTaps {
 public:
  /// Takes its memory from `arena`, which must not be reset while this lives.
  ValidTaps(const Validity& of, Arena& arena)
      : of_(of),
        problem_(of.problem),
        values_(arena.take_array<T>(most_cells(of.problem))),
        cells_(arena.take_array<index_t>(most_cells(of.problem))),
        weights_(of.weights != nullptr ? arena.take_array<double>(most_cells(of.problem)) : nullptr),
        has_nodata_(problem_.pool.nodata.has_value()),
        omits_(problem_.pool.nan == NanPolicy::omit && is_floating_v<T>) {
    if (has_nodata_) detail::store(*problem_.pool.nodata, dtype_v<T>, &nodata_);
    index_t radix = 1;
    for (int a = problem_.pooled - 1; a >= 0; --a) {
      radix_[static_cast<std::size_t>(a)] = radix;
      radix *= problem_.axis[static_cast<std::size_t>(a)].kernel;
    }
  }

  /// Gathers those of the output at `at`, in coordinates of the tensor.
  void gather(const Extents& at) {
    at_ = &at;
    box_ = box_of(problem_, at);
    size_ = existing_ = 0;
    last_nan_ = -1;
    if (box_.cells == 0) return;
    std::array<index_t, kMaxPooledAxes> count{};
    const int last = box_.axes - 1;
    const index_t row = last < 0 ? 1 : box_.taps[static_cast<std::size_t>(last)].size();
    Place place = first_place();
    for (index_t cell = 0;;) {
      gather_row(place, row, cell);
      cell += row;
      int a = last - 1;
      for (; a >= 0; --a) {
        const auto i = static_cast<std::size_t>(a);
        move(place, i, 1);
        if (++count[i] < box_.taps[i].size()) break;
        move(place, i, -count[i]);
        count[i] = 0;
      }
      if (a < 0) return;
    }
  }

  index_t size() const { return size_; }
  const T* values() const { return values_; }
  const index_t* cells() const { return cells_; }     // ascending
  const double* weights() const { return weights_; }  // null: none
  index_t existing() const { return existing_; }      // taps that exist and that the footprint has
  index_t last_nan() const { return last_nan_; }      // the last NaN among the valid taps, or -1
  const TapBox& box() const { return box_; }
  const Extents& output() const { return *at_; }

  /// Whether there are enough of them for a result other than `fill` (S14).
  bool enough() const {
    const Pool& pool = problem_.pool;
    return size_ >= std::max(pool.min_count, detail::needed_taps(pool)) &&
           static_cast<double>(size_) >= pool.min_fraction * static_cast<double>(existing_);
  }

  /// What an average without weights divides by (S5).
  index_t divisor() const {
    const Pool& pool = problem_.pool;
    if (pool.divisor > 0) return pool.divisor;
    if (!pool.count_include_pad) return size_;
    return counted() - (existing_ - size_);
  }

 private:
  // Offsets of a tap in the operands, and its number in the nominal window.
  struct Place {
    index_t x = 0, mask = 0, weights = 0, code = 0;
  };

  void move(Place& place, std::size_t axis, index_t taps) const {
    const int d = problem_.axes[axis];
    const index_t inputs = taps * problem_.axis[axis].dilation;
    place.x += inputs * of_.x.pitch[d];
    if (of_.mask != nullptr) place.mask += inputs * of_.mask->pitch[d];
    if (of_.weights != nullptr) place.weights += inputs * of_.weights->pitch[d];
    place.code += taps * radix_[axis];
  }

  Place first_place() const {
    Extents first = *at_;
    Place place;
    for (int a = 0; a < box_.axes; ++a) {
      const auto i = static_cast<std::size_t>(a);
      const int d = problem_.axes[i];
      first[d] = problem_.axis[i].at((*at_)[d], box_.taps[i].begin);
      place.code += box_.taps[i].begin * radix_[i];
    }
    for (int d = 0; d < first.size(); ++d) {
      place.x += first[d] * of_.x.pitch[d];
      if (of_.mask != nullptr) place.mask += first[d] * of_.mask->pitch[d];
      if (of_.weights != nullptr) place.weights += first[d] * of_.weights->pitch[d];
    }
    return place;
  }

  void gather_row(Place place, index_t n, index_t cell) {
    const auto last = static_cast<std::size_t>(std::max(0, box_.axes - 1));
    const T* x = static_cast<const T*>(of_.x.data);
    const std::uint8_t* footprint = problem_.pool.footprint.empty() ? nullptr : problem_.pool.footprint.taps.data();
    const auto* mask = of_.mask != nullptr ? static_cast<const std::uint8_t*>(of_.mask->data) : nullptr;
    for (index_t t = 0; t < n; ++t, ++cell) {
      if (t > 0) move(place, last, 1);
      if (footprint != nullptr && footprint[place.code] == 0) continue;
      ++existing_;
      if (mask != nullptr && mask[place.mask] == 0) continue;
      const T v = x[place.x];
      const bool nan = is_nan(v);
      if (has_nodata_ && (number_of(v) == number_of(nodata_) || (nan && is_nan(nodata_)))) continue;
      if (of_.weights != nullptr) {
        const double w = weight_at(place.weights);
        if (w == 0) continue;
        weights_[size_] = w;
      }
      if (nan) {
        if (omits_) continue;
        last_nan_ = size_;
      }
      values_[size_] = v;
      cells_[size_++] = cell;
    }
  }

  double weight_at(index_t offset) const {
    if (of_.weights->dtype == Dtype::f32)
      return static_cast<double>(static_cast<const float*>(of_.weights->data)[offset]);
    return static_cast<const double*>(of_.weights->data)[offset];
  }

  // Nominal taps in the padded input; those that a footprint does not have count nowhere.
  index_t counted() const {
    const std::vector<std::uint8_t>& footprint = problem_.pool.footprint.taps;
    if (footprint.empty()) {
      index_t product = 1;
      for (int a = 0; a < box_.axes; ++a) {
        const auto i = static_cast<std::size_t>(a);
        product *= problem_.axis[i].divisor((*at_)[problem_.axes[i]], true);
      }
      return product;
    }
    index_t sum = 0;
    for (index_t code = 0; code < static_cast<index_t>(footprint.size()); ++code) {
      if (footprint[static_cast<std::size_t>(code)] == 0) continue;
      bool inside = true;
      for (int a = 0; a < box_.axes && inside; ++a) {
        const auto i = static_cast<std::size_t>(a);
        const Axis& axis = problem_.axis[i];
        inside = axis.counted.contains(axis.at((*at_)[problem_.axes[i]], code / radix_[i] % axis.kernel));
      }
      sum += inside ? 1 : 0;
    }
    return sum;
  }

  const Validity of_;
  const Problem& problem_;
  T* values_;
  index_t* cells_;
  double* weights_;
  T nodata_{};
  const bool has_nodata_, omits_;
  std::array<index_t, kMaxPooledAxes> radix_{};
  const Extents* at_ = nullptr;
  TapBox box_;
  index_t size_ = 0, existing_ = 0, last_nan_ = -1;
};

}  // namespace oriel::cpu
