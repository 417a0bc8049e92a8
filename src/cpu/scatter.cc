// Backward of extrema, and unpooling: values go where indices say, in row-major order of outputs (S9).
#include <algorithm>
#include <atomic>
#include <string>

#include "cpu/elements.h"
#include "cpu/recipe.h"
#include "cpu/run.h"
#include "fmt/format.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{1} << 20;  // accumulators of one task

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The axes of a problem by tensor axis, and where in the tensor a plane begins.
struct PlaneWalk {
  explicit PlaneWalk(const Problem& p) : problem(p) {
    for (int d = 0; d < p.shape.size(); ++d) pooled_number.push_back(-1);
    for (int a = 0; a < p.pooled; ++a) pooled_number[p.axes[at(a)]] = a;
    for (int d = 0; d < p.shape.size(); ++d) {
      (pooled_number[d] < 0 ? outer : inner).push_back(d);
      if (pooled_number[d] < 0) planes *= p.shape[d];
    }
    index_t step = 1;
    for (int a = p.pooled - 1; a >= 0; --a) {
      plane_step[at(a)] = step;
      step *= p.shape[p.axes[at(a)]];
    }
    code_step[at(p.pooled - 1)] = 1;
    for (int a = p.pooled - 2; a >= 0; --a) code_step[at(a)] = code_step[at(a + 1)] * p.axis[at(a + 1)].kernel;
    tensor_step = dense_pitch(p.shape);
  }

  // Coordinates of plane number `plane` along the axes that are not pooled.
  void locate(index_t plane, Extents& index) const {
    for (int i = outer.size() - 1; i >= 0; --i) {
      const int d = static_cast<int>(outer[i]);
      index[d] = plane % problem.shape[d];
      plane /= problem.shape[d];
    }
  }

  // Decodes an index of the output at `output` into the input coordinates `input` along pooled axes; false when it lies
  // outside the plane.
  bool decode(std::int64_t value, IndexSpace space, const Extents& output, Extents& input) const {
    if (value < 0) return false;
    if (space == IndexSpace::tensor) {
      for (int d = 0; d < problem.shape.size(); ++d) {
        const index_t i = value / tensor_step[d];
        if (i >= problem.shape[d] || (pooled_number[d] < 0 && i != output[d])) return false;
        input[d] = i;
        value -= i * tensor_step[d];
      }
      return true;
    }
    for (int a = 0; a < problem.pooled; ++a) {
      const int d = problem.axes[at(a)];
      const Axis& axis = problem.axis[at(a)];
      if (space == IndexSpace::plane) {
        input[d] = value / plane_step[at(a)];
        value %= plane_step[at(a)];
      } else {
        input[d] = axis.input_at(axis.at(output[d], value / code_step[at(a)]));
        value %= code_step[at(a)];
      }
      if (input[d] < 0 || input[d] >= problem.shape[d]) return false;
    }
    return true;
  }

  const Problem& problem;
  Extents pooled_number;  // by tensor axis: which pooled axis, or -1
  Extents outer, inner;   // tensor axes that are not, and that are pooled
  index_t planes = 1;
  std::array<index_t, kMaxPooledAxes> plane_step{};
  std::array<index_t, kMaxPooledAxes> code_step{};
  Extents tensor_step;
};

std::string place(const Extents& index) {
  std::string text;
  for (index_t i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "(" + text + ")";
}

// Advances `index` through box [begin, end) along `axes` in row-major order; false after the last.
bool next(Extents& index, const Extents& axes, const Extents& begin, const Extents& end) {
  for (int i = axes.size() - 1; i >= 0; --i) {
    const int d = static_cast<int>(axes[i]);
    if (++index[d] < end[d]) return true;
    index[d] = begin[d];
  }
  return false;
}

index_t offset(const Extents& index, const Extents& pitch) {
  index_t o = 0;
  for (int d = 0; d < index.size(); ++d) o += index[d] * pitch[d];
  return o;
}

// Throws Error for the first output, in row-major order, whose index is neither -1 nor a place of its plane and, when
// `in_window`, of its window. Looks at all before anything is written.
void check_indices(const std::string& what, const PlaneWalk& walk, const ConstTensor& index, IndexSpace space,
                   bool in_window, int threads) {
  const Extents& shape = index.shape;
  if (element_count(shape) == 0) return;
  const Extents zeros(shape.size(), 0), step = dense_pitch(shape);
  const auto value_at = [&](const Extents& output) {
    return static_cast<const std::int64_t*>(index.data)[offset(output, index.pitch)];
  };
  const auto is_good = [&](const Extents& output) {
    const std::int64_t value = value_at(output);
    if (value == -1) return true;  // a window without taps
    Extents input = output;
    bool good = walk.decode(value, space, output, input);
    for (int a = 0; good && in_window && a < walk.problem.pooled; ++a) {
      const int d = walk.problem.axes[at(a)];
      good = walk.problem.axis[at(a)].tap_of(output[d], input[d]) >= 0;
    }
    return good;
  };
  constexpr index_t kNone = highest_value<index_t>();
  std::atomic<index_t> first_bad{kNone};
  parallel_for(walk.planes, threads, [&](index_t begin, index_t end) {
    for (index_t plane = begin; plane < end; ++plane) {
      Extents output = zeros;
      walk.locate(plane, output);
      do {
        if (is_good(output)) continue;
        const index_t number = offset(output, step);
        index_t known = first_bad.load();
        while (number < known && !first_bad.compare_exchange_weak(known, number)) continue;
      } while (next(output, walk.inner, zeros, shape));
    }
  });
  index_t rest = first_bad.load();
  if (rest == kNone) return;
  Extents output = zeros;
  for (int d = 0; d < shape.size(); ++d) {
    output[d] = rest / step[d];
    rest %= step[d];
  }
  throw Error(
      fmt::format("{}: indices must be {}, but the output at {} has {}", what,
                  in_window ? "of a tap of the output's window, or -1" : "-1 or a place in the output's own plane of x",
                  place(output), value_at(output)));
}

// The gradient of one band of inputs (a range along the first pooled tensor axis) of one plane.
template <class T>
class BandGradient {
 public:
  using A = accumulator_t<T>;

  BandGradient(const PlaneWalk& walk, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
               const ConstTensor* sign_of, const Tensor& dx)
      : walk_(walk), dy_(dy), index_(index), space_(space), sign_of_(sign_of), dx_(dx) {
    first_ = static_cast<int>(walk.inner[0]);
    cells_per_step_ = 1;
    for (int i = 1; i < walk.inner.size(); ++i) cells_per_step_ *= walk.problem.shape[static_cast<int>(walk.inner[i])];
  }

  index_t cells_per_step() const { return cells_per_step_; }

  void run(index_t plane, Range band) {
    const Problem& p = walk_.problem;
    sums_.assign(at(band.size() * cells_per_step_), A{0});
    Extents begin(p.shape.size(), 0), end = p.output_shape, output(p.shape.size(), 0);
    const Range outputs = p.axis[at(walk_.pooled_number[first_])].feeds(band);
    begin[first_] = outputs.begin;
    end[first_] = outputs.end;
    walk_.locate(plane, output);
    output[first_] = outputs.begin;
    if (!outputs.empty()) {
      do {
        add(output, band);
      } while (next(output, walk_.inner, begin, end));
    }
    write(plane, band);
  }

 private:
  index_t cell(const Extents& input, Range band) const {
    index_t c = 0;
    for (index_t axis : walk_.inner) {
      const int d = static_cast<int>(axis);
      c = c * (d == first_ ? band.size() : walk_.problem.shape[d]) + input[d] - (d == first_ ? band.begin : 0);
    }
    return c;
  }

  void add(const Extents& output, Range band) {
    const std::int64_t value = static_cast<const std::int64_t*>(index_.data)[offset(output, index_.pitch)];
    if (value == -1) return;  // a window without taps
    Extents input = output;
    walk_.decode(value, space_, output, input);
    if (!band.contains(input[first_])) return;
    A term = static_cast<A>(static_cast<const T*>(dy_.data)[offset(output, dy_.pitch)]);
    if (sign_of_ != nullptr) {
      if constexpr (is_floating_v<T>) {
        const A v = static_cast<A>(static_cast<const T*>(sign_of_->data)[offset(input, sign_of_->pitch)]);
        term *= v > A{0} ? A{1} : v < A{0} ? A{-1} : v == A{0} ? A{0} : v;
      }
    }
    A& sum = sums_[at(cell(input, band))];
    if constexpr (std::is_integral_v<A>)
      sum = static_cast<A>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(term));  // modulo 2^64 (S7)
    else
      sum += term;
  }

  void write(index_t plane, Range band) {
    Extents begin(dx_.rank(), 0), end = walk_.problem.shape, input(dx_.rank(), 0);
    walk_.locate(plane, input);
    begin[first_] = input[first_] = band.begin;
    end[first_] = band.end;
    do {
      static_cast<T*>(dx_.data)[offset(input, dx_.pitch)] = rounded(sums_[at(cell(input, band))]);
    } while (next(input, walk_.inner, begin, end));
  }

  static T rounded(A a) {
    if constexpr (is_floating_v<T>) {
      return static_cast<T>(a + A{0});
    } else if constexpr (std::is_same_v<T, bool8>) {
      return bool8(a > 0);
    } else if constexpr (sizeof(T) == 8) {
      return static_cast<T>(a);
    } else {
      return static_cast<T>(std::clamp<std::int64_t>(a, lowest_value<T>(), highest_value<T>()));
    }
  }

  const PlaneWalk& walk_;
  const ConstTensor& dy_;
  const ConstTensor& index_;
  IndexSpace space_;
  const ConstTensor* sign_of_;
  const Tensor& dx_;
  int first_ = 0;
  index_t cells_per_step_ = 1;
  std::vector<A> sums_;
};

template <class T>
void indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                      const ConstTensor* sign_of, const Tensor& dx, int threads) {
  const PlaneWalk walk(problem);
  const BandGradient<T> model(walk, dy, index, space, sign_of, dx);
  const index_t n = problem.shape[static_cast<int>(walk.inner[0])];
  const index_t cell_bytes = model.cells_per_step() * static_cast<index_t>(sizeof(accumulator_t<T>));
  index_t band = std::clamp<index_t>(kBandBytes / std::max<index_t>(1, cell_bytes), 1, n);
  if (threads != 1 && walk.planes < default_threads()) band = std::min(band, (n + 3) / 4);
  const index_t bands = (n + band - 1) / band;
  parallel_for(walk.planes * bands, threads, [&](index_t begin, index_t end) {
    BandGradient<T> task = model;
    for (index_t i = begin; i < end; ++i) {
      const index_t first = i % bands * band;
      task.run(i / bands, {first, std::min(n, first + band)});
    }
  });
}

void dispatch_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                       const ConstTensor* sign_of, const Tensor& dx, int threads) {
  visit(problem.dtype, [&]<class T>() { indexed_backward<T>(problem, dy, index, space, sign_of, dx, threads); });
}

template <class T>
void unpool_plane(const PlaneWalk& walk, index_t plane, const ConstTensor& y, const ConstTensor& index,
                  IndexSpace space, const Tensor& x) {
  const Extents zeros(x.rank(), 0);
  Extents output(x.rank(), 0);
  walk.locate(plane, output);
  Extents input = output;
  do {
    static_cast<T*>(x.data)[offset(input, x.pitch)] = T{};
  } while (next(input, walk.inner, zeros, x.shape));
  if (element_count(y.shape) == 0) return;
  do {
    const std::int64_t value = static_cast<const std::int64_t*>(index.data)[offset(output, index.pitch)];
    if (value == -1) continue;  // a window without taps
    input = output;
    walk.decode(value, space, output, input);
    static_cast<T*>(x.data)[offset(input, x.pitch)] = static_cast<const T*>(y.data)[offset(output, y.pitch)];
  } while (next(output, walk.inner, zeros, y.shape));
}

}  // namespace

void run_indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                          const Tensor& dx, int threads) {
  check_indices(std::string(name(problem.pool.op)) + "_pool backward", PlaneWalk(problem), index, space, true, threads);
  dispatch_backward(problem, dy, index, space, nullptr, dx, threads);
}

void run_extremum_backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                           int threads) {
  const TemporaryTensor y(problem.dtype, problem.output_shape);
  const TemporaryTensor index(Dtype::i64, problem.output_shape);
  run(problem, x, y.view(), &index.view(), IndexSpace::window, threads);
  const ConstTensor* sign_of = problem.pool.op == Op::lp ? &x : nullptr;
  dispatch_backward(problem, dy, index.view(), IndexSpace::window, sign_of, dx, threads);
}

void run_unpool(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                const Tensor& x, int threads) {
  const PlaneWalk walk(problem);
  check_indices("unpool", walk, index, space, false, threads);
  visit(y.dtype, [&]<class T>() {
    parallel_for(walk.planes, threads, [&](index_t begin, index_t end) {
      for (index_t plane = begin; plane < end; ++plane) unpool_plane<T>(walk, plane, y, index, space, x);
    });
  });
}

}  // namespace oriel::cpu
