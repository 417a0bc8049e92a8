// Results of any dtype, rounded once (S7, S15).
#pragma once

#include "cpu/gathered/taps.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {

__extension__ typedef __int128 wide_int;  // not ISO C++, known to every compiler we build with
__extension__ typedef unsigned __int128 wide_uint;

/// n / d of type float or double, correctly rounded; d > 0. For results that are no subnormals.
template <class R>
R rounded_quotient(wide_int n, wide_int d);

/// Where the results of one window go: offsets in y and in the indices.
struct ResultPlace {
  index_t y = 0;
  index_t index = 0;
};

class Results {
 public:
  explicit Results(const Statistic& job);

  /// The place of the output at `at`, of the first quantile.
  ResultPlace place_of(const Extents& at) const;
  /// From one quantile's place to that of another.
  ResultPlace of_quantile(ResultPlace place, index_t k) const;

  void put(ResultPlace place, double value) const;
  void put(ResultPlace place, wide_int value) const;
  /// n / d, integers half to even.
  void put_quotient(ResultPlace place, wide_int n, wide_int d) const;
  /// An element of x.
  template <class T>
  void put_element(ResultPlace place, T value) const {
    if (dtype_ != dtype_v<T>) {
      if constexpr (is_floating_v<T>)
        put(place, static_cast<double>(value));
      else
        put(place, static_cast<wide_int>(number_of(value)));
      return;
    }
    if constexpr (std::is_same_v<T, bool8>) value = bool8(value.byte != 0);
    std::memcpy(static_cast<std::byte*>(y_.data) + place.y * static_cast<index_t>(sizeof(T)), &value, sizeof(T));
  }
  /// The value of S14, without an index.
  void put_fill(ResultPlace place) const;

  /// The index (S10) of a cell of a window; none for a negative one. Nothing if no indices are asked for.
  void put_index(ResultPlace place, const TapBox& box, const Extents& at, index_t cell) const;

  Dtype dtype() const { return dtype_; }
  /// A number of tasks, each about as long as going through this many bytes.
  index_t outputs() const { return outputs_; }
  Extents first_output(index_t number) const;
  void to_next(Extents& at) const;

 private:
  void* bytes_at(ResultPlace place) const { return static_cast<std::byte*>(y_.data) + place.y * size_bytes(dtype_); }

  const Problem& problem_;
  const Tensor y_;
  const Tensor* index_;
  const IndexSpace space_;
  const Dtype dtype_;
  const int lead_;  // axes of y before x's: 1 if there are several quantiles
  Extents shape_;   // of y without that axis
  Extents flat_;    // what one step along each axis of x adds to an index
  index_t outputs_ = 1;
  alignas(8) std::array<std::byte, 8> fill_{};
};

/// Runs Worker on every window of a call: Worker(job, results, arena) for each task, then worker(taps, place) for each
/// window that has enough valid taps (S14); the others get `fill`.
template <class T, class Worker>
void each_window(const Statistic& job, int threads) {
  const Results results(job);
  const index_t quantiles = detail::quantile_count(job.problem.pool);
  const index_t cost = 16 + most_cells(job.problem) * index_t{sizeof(T)} * 4;  // bytes that take about as long
  parallel_for(results.outputs(), cost, threads, [&](index_t begin, index_t end) {
    Arena arena;
    ValidTaps<T> taps({job.problem, job.x, job.mask, job.weights}, arena);
    Worker worker(job, results, arena);
    Extents output = results.first_output(begin);
    for (index_t number = begin; number < end; ++number, results.to_next(output)) {
      taps.gather(output);
      const ResultPlace place = results.place_of(output);
      if (taps.enough()) {
        worker(taps, place);
        continue;
      }
      for (index_t k = 0; k < quantiles; ++k) {
        results.put_fill(results.of_quantile(place, k));
        results.put_index(results.of_quantile(place, k), taps.box(), output, -1);
      }
    }
  });
}

}  // namespace oriel::cpu
