// Backward of extrema, and unpooling: values go where indices say, in row-major order of outputs (S9).
#include "cpu/indexed/scatter.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "cpu/indexed/unpool.h"
#include "cpu/plan/engine.h"
#include "cpu/runtime/index_types.h"
#include "cpu/runtime/scatter_sum.h"
#include "cpu/runtime/tensor_rows.h"
#include "fmt/format.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBandBytes = index_t{1} << 18;  // accumulators of one task: they stay in the second cache
constexpr index_t kMostLanes = 64;

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
        const index_t tap = value / code_step[at(a)];
        if (tap >= axis.kernel) return false;  // its place might not even be a number
        input[d] = axis.input_at(axis.at(output[d], tap));
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
void check_indices(const PlaneWalk& walk, const ConstTensor& index, IndexSpace space, bool in_window, int threads) {
  const Extents& shape = index.shape;
  const index_t count = element_count(shape);
  if (count == 0) return;
  const Extents zeros = Extents::filled(shape.size(), 0), step = dense_pitch(shape);
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
  const index_t plane_bytes = count / walk.planes * static_cast<index_t>(sizeof(std::int64_t));
  parallel_for(walk.planes, plane_bytes, threads, [&](index_t begin, index_t end) {
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
      Error::Fields{.function = in_window ? fmt::format("{}_pool backward", name(walk.problem.pool.op)) : "unpool",
                    .argument = "indices",
                    .allowed = in_window ? "must be of a tap of the output's window, or -1"
                                         : "must be -1 or an index into the output's own plane of x",
                    .value = fmt::format("the output at {} has {}", place(output), value_at(output))});
}

// How indices are turned into cells of a band: places of the plane, counted from the band's first.
enum class Decoding { taps, places, any };

Decoding decoding_of(const PlaneWalk& walk, IndexSpace space, const ConstTensor* sign_of) {
  if (sign_of != nullptr || space == IndexSpace::tensor) return Decoding::any;
  if (space == IndexSpace::window) return Decoding::taps;
  const auto& axes = walk.problem.axes;
  const bool in_order = std::is_sorted(axes.begin(), axes.begin() + walk.problem.pooled);
  return in_order ? Decoding::places : Decoding::any;  // the plane's order is that of the pooled axes
}

// Tables for cells of taps: the cell of output o, tap code c is the sum of first[a][o_a] over the axes, plus step[c].
struct TapCells {
  std::array<std::vector<index_t>, kMaxPooledAxes> first;  // by place among the inner axes
  std::vector<index_t> step;

  explicit TapCells(const PlaneWalk& walk) {
    const Problem& p = walk.problem;
    index_t cells = 1;
    Extents cell_step = Extents::filled(p.shape.size(), 0);
    for (int i = walk.inner.size() - 1; i >= 0; --i) {
      const int d = static_cast<int>(walk.inner[i]);
      cell_step[d] = cells;
      cells *= p.shape[d];
      const Axis& axis = p.axis[at(walk.pooled_number[d])];
      first[at(i)].reserve(at(p.output_shape[d]));
      for (index_t o = 0; o < p.output_shape[d]; ++o) first[at(i)].push_back(axis.at(o, 0) * cell_step[d]);
    }
    const index_t taps = p.taps();
    step.reserve(at(taps));
    for (index_t code = 0; code < taps; ++code) {
      index_t sum = 0, rest = code;
      for (int a = 0; a < p.pooled; ++a) {
        const Axis& axis = p.axis[at(a)];
        sum += (axis.at(0, rest / walk.code_step[at(a)]) - axis.at(0, 0)) * cell_step[p.axes[at(a)]];
        rest %= walk.code_step[at(a)];
      }
      step.push_back(sum);
    }
  }
};

// The gradient of one band of inputs (a range along the first pooled tensor axis) of some planes side by side: the
// lanes, which lie along the axis that is innermost in memory where that is not a pooled one.
template <class T>
class BandGradient {
 public:
  using A = accumulator_t<T>;

  BandGradient(const PlaneWalk& walk, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
               const ConstTensor* sign_of, const Tensor& dx, const TapCells* taps)
      : walk_(walk), dy_(dy), index_(index), space_(space), sign_of_(sign_of), dx_(dx), taps_(taps) {
    first_ = static_cast<int>(walk.inner[0]);
    last_ = static_cast<int>(walk.inner.back());
    for (int i = 1; i < walk.inner.size(); ++i) cells_per_step_ *= walk.problem.shape[static_cast<int>(walk.inner[i])];
    for (int i = 0; i + 1 < walk.inner.size(); ++i) above_last_.push_back(walk.inner[i]);
    decoding_ = decoding_of(walk, space, sign_of);
  }

  index_t cells_per_step() const { return cells_per_step_; }

  // `origin`: the first lane's plane; lanes follow along `lane_axis`.
  void run(const Extents& origin, int lane_axis, index_t lanes, Range band) {
    const Problem& p = walk_.problem;
    band_ = band;
    lane_axis_ = lane_axis;
    lanes_ = lanes;
    sums_.assign(at(band.size() * cells_per_step_ * lanes), A{0});
    Extents begin = Extents::filled(p.shape.size(), 0), end = p.output_shape, output = origin;
    const Range outputs = p.axis[at(walk_.pooled_number[first_])].feeds(band);
    begin[first_] = outputs.begin;
    end[first_] = outputs.end;
    output[first_] = outputs.begin;
    if (!outputs.empty()) {
      do {
        add_row(output, {begin[last_], end[last_]});
      } while (next(output, above_last_, begin, end));
    }
    write(origin);
  }

 private:
  index_t lane_pitch(const Extents& pitch) const { return lane_axis_ < 0 ? 0 : pitch[lane_axis_]; }

  // Adds the outputs `along` the last pooled tensor axis; `output` names their row.
  void add_row(const Extents& output, Range along) {
    if (decoding_ == Decoding::any) return add_row_slowly(output, along);
    const index_t origin = -band_.begin * cells_per_step_;
    if (decoding_ == Decoding::places) {
      return add_cells(output, along, [origin](index_t, std::int64_t place) { return origin + place; });
    }
    index_t base = origin;
    for (int i = 0; i + 1 < walk_.inner.size(); ++i)
      base += taps_->first[at(i)][at(output[static_cast<int>(walk_.inner[i])])];
    const index_t* first = taps_->first[at(walk_.inner.size() - 1)].data();
    const index_t* step = taps_->step.data();
    add_cells(output, along, [=](index_t o, std::int64_t code) { return base + first[o] + step[code]; });
  }

  template <class Cell>
  void add_cells(Extents output, Range along, Cell cell) {
    output[last_] = 0;
    const std::int64_t* index = element<std::int64_t>(index_, output);
    const T* dy = element<T>(dy_, output);
    const index_t index_lane = lane_pitch(index_.pitch), dy_lane = lane_pitch(dy_.pitch);
    const auto cells = static_cast<std::uint64_t>(band_.size() * cells_per_step_);
    A* sums = sums_.data();
    for (index_t o = along.begin; o < along.end; ++o) {
      const std::int64_t* values = index + o * index_.pitch[last_];
      const T* terms = dy + o * dy_.pitch[last_];
      for (index_t l = 0; l < lanes_; ++l) {
        const std::int64_t value = values[l * index_lane];
        if (value < 0) continue;  // a window without taps
        const auto c = static_cast<std::uint64_t>(cell(o, value));
        if (c < cells)
          add_to_sum(sums[c * static_cast<std::uint64_t>(lanes_) + static_cast<std::uint64_t>(l)],
                     static_cast<A>(terms[l * dy_lane]));
      }
    }
  }

  index_t cell(const Extents& input) const {
    index_t c = 0;
    for (index_t axis : walk_.inner) {
      const int d = static_cast<int>(axis);
      c = c * (d == first_ ? band_.size() : walk_.problem.shape[d]) + input[d] - (d == first_ ? band_.begin : 0);
    }
    return c;
  }

  void add_row_slowly(Extents output, Range along) {
    for (index_t l = 0; l < lanes_; ++l) {
      for (output[last_] = along.begin; output[last_] < along.end; ++output[last_]) add_slowly(output, l);
      if (lane_axis_ >= 0) ++output[lane_axis_];
    }
  }

  void add_slowly(const Extents& output, index_t lane) {
    const std::int64_t value = *element<std::int64_t>(index_, output);
    if (value == -1) return;
    Extents input = output;
    walk_.decode(value, space_, output, input);
    if (!band_.contains(input[first_])) return;
    A term = static_cast<A>(*element<T>(dy_, output));
    if (sign_of_ != nullptr) {
      if constexpr (is_floating_v<T>) {
        const A v = static_cast<A>(*element<T>(*sign_of_, input));
        term *= v > A{0} ? A{1} : v < A{0} ? A{-1} : v == A{0} ? A{0} : v;
      }
    }
    add_to_sum(sums_[at(cell(input) * lanes_ + lane)], term);
  }

  void write(const Extents& origin) {
    Extents begin = Extents::filled(dx_.rank(), 0), end = walk_.problem.shape, input = origin;
    begin[first_] = input[first_] = band_.begin;
    end[first_] = band_.end;
    const A* sums = sums_.data();
    const index_t n = end[last_] - begin[last_], pitch = dx_.pitch[last_], lane = lane_pitch(dx_.pitch);
    do {
      input[last_] = begin[last_];
      T* out = element<T>(dx_, input);
      if (lanes_ == 1 && pitch == 1) {
        for (index_t i = 0; i < n; ++i) out[i] = rounded_sum<T>(sums[i]);
      } else {
        for (index_t i = 0; i < n; ++i) {
          for (index_t l = 0; l < lanes_; ++l) out[i * pitch + l * lane] = rounded_sum<T>(sums[i * lanes_ + l]);
        }
      }
      sums += n * lanes_;
    } while (next(input, above_last_, begin, end));
  }

  const PlaneWalk& walk_;
  const ConstTensor& dy_;
  const ConstTensor& index_;
  IndexSpace space_;
  const ConstTensor* sign_of_;
  const Tensor& dx_;
  const TapCells* taps_;
  Decoding decoding_ = Decoding::any;
  int first_ = 0, last_ = 0;
  Extents above_last_;  // the pooled tensor axes but the last
  index_t cells_per_step_ = 1;
  Range band_{};
  int lane_axis_ = -1;
  index_t lanes_ = 1;
  std::vector<A> sums_;
};

// The axis along which planes lie side by side in memory, or -1.
int lane_axis_of(const PlaneWalk& walk, const ConstTensor& dy, const Tensor& dx) {
  for (index_t axis : walk.outer) {
    const int d = static_cast<int>(axis);
    if (dx.shape[d] > 1 && dx.pitch[d] == 1 && dy.pitch[d] == 1) return d;
  }
  return -1;
}

template <class T>
void indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                      const ConstTensor* sign_of, const Tensor& dx, int threads) {
  PlaneWalk walk(problem);
  const bool by_taps = decoding_of(walk, space, sign_of) == Decoding::taps;
  const std::optional<TapCells> taps = by_taps ? std::optional<TapCells>(walk) : std::nullopt;
  const BandGradient<T> model(walk, dy, index, space, sign_of, dx, by_taps ? &*taps : nullptr);
  const int lane_axis = lane_axis_of(walk, dy, dx);
  const index_t lanes = lane_axis < 0 ? 1 : std::min(dx.shape[lane_axis], kMostLanes);
  Extents groups;  // planes are taken `lanes` at a time along the lane axis
  index_t tasks = 1;
  for (index_t d : walk.outer) {
    const index_t extent = dx.shape[static_cast<int>(d)];
    groups.push_back(d == lane_axis ? (extent + lanes - 1) / lanes : extent);
    tasks *= groups.back();
  }
  const index_t n = problem.shape[static_cast<int>(walk.inner[0])];
  const index_t step_bytes = model.cells_per_step() * lanes * static_cast<index_t>(sizeof(accumulator_t<T>));
  // Every band looks at all outputs that feed it: a long window's many, however few inputs a band has.
  const Axis& across = problem.axis[at(walk.pooled_number[static_cast<int>(walk.inner[0])])];
  const index_t wanted = std::max(kBandBytes / std::max<index_t>(1, step_bytes), across.extent());
  index_t band = std::clamp<index_t>(wanted, 1, n);
  const bool worth_threads = n * step_bytes > 8 * task_bytes;
  if (threads != 1 && worth_threads && tasks < default_threads()) band = std::min(band, (n + 3) / 4);
  const index_t bands = (n + band - 1) / band;
  parallel_for(tasks * bands, band * step_bytes, threads, [&](index_t begin, index_t end) {
    BandGradient<T> task = model;
    for (index_t i = begin; i < end; ++i) {
      Extents origin = Extents::filled(problem.shape.size(), 0);
      index_t rest = i / bands, width = 1;
      for (int g = groups.size() - 1; g >= 0; --g) {
        const int d = static_cast<int>(walk.outer[g]);
        origin[d] = rest % groups[g] * (d == lane_axis ? lanes : 1);
        if (d == lane_axis) width = std::min(lanes, dx.shape[d] - origin[d]);
        rest /= groups[g];
      }
      const index_t first = i % bands * band;
      task.run(origin, lane_axis, width, {first, std::min(n, first + band)});
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
  const Extents zeros = Extents::filled(x.rank(), 0);
  Extents output = Extents::filled(x.rank(), 0);
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

bool has_codes(const Gradient& gradient) { return gradient.index->dtype != Dtype::i64; }
bool has_wide_indices(const Gradient& gradient) { return !has_codes(gradient); }

void run_widened(const Gradient& gradient, int threads) {
  const WideCodes wide(*gradient.index, threads);
  const ConstTensor index = wide.view();
  run_gradient(
      {.problem = gradient.problem, .index = &index, .space = gradient.space, .dy = gradient.dy, .dx = gradient.dx},
      threads);
}

void run_by_indices(const Gradient& gradient, int threads) {
  const Problem& problem = gradient.problem;
  if (gradient.index != nullptr) {
    check_indices(PlaneWalk(problem), *gradient.index, gradient.space, true, threads);
    return dispatch_backward(problem, gradient.dy, *gradient.index, gradient.space, nullptr, gradient.dx, threads);
  }
  const TemporaryTensor y(problem.dtype, problem.output_shape);
  const TemporaryTensor index(Dtype::i64, problem.output_shape);
  run(problem, *gradient.x, y.view(), &index.view(), IndexSpace::window, threads);
  const ConstTensor* sign_of = problem.pool.op == Op::lp ? gradient.x : nullptr;
  dispatch_backward(problem, gradient.dy, index.view(), IndexSpace::window, sign_of, gradient.dx, threads);
}

void run_unpool(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                const Tensor& x, int threads) {
  if (element_count(x.shape) == 0 && element_count(y.shape) == 0) return;  // S11
  if (unpool_dense(problem, y, index, space, x, threads)) return;
  const PlaneWalk walk(problem);
  check_indices(walk, index, space, false, threads);
  visit(y.dtype, [&]<class T>() {
    const index_t plane_bytes = element_count(x.shape) / std::max<index_t>(1, walk.planes) * size_bytes(x.dtype);
    parallel_for(walk.planes, plane_bytes, threads, [&](index_t begin, index_t end) {
      for (index_t plane = begin; plane < end; ++plane) unpool_plane<T>(walk, plane, y, index, space, x);
    });
  });
}

}  // namespace oriel::cpu
