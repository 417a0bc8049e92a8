// Gradients, term by term, plane by plane (S9).
#include "cpu/gathered_gradient/gathered_gradient.h"

#include "cpu/element/quotient.h"
#include "cpu/gathered_gradient/gradient_terms.h"
#include "cpu/gathered_gradient/plane_walk.h"
#include "cpu/runtime/parallel.h"
#include "real_functions.h"

namespace oriel::cpu {
namespace {

double element(const ConstTensor& t, const Extents& at) {
  index_t offset = 0;
  const int lead = t.rank() - at.size();
  for (int d = 0; d < at.size(); ++d) offset += at[d] * t.pitch[d + lead];
  return visit(t.dtype,
               [&]<class T>() { return static_cast<double>(number_of(static_cast<const T*>(t.data)[offset])); });
}

// One thread's planes. T is the type of x and dx; A that of sums of terms.
template <class T, class A>
class PlaneGradient {
 public:
  PlaneGradient(const StatisticGradient& job, const PlaneWalk& walk, Arena& arena)
      : job_(job),
        problem_(job.problem),
        walk_(walk),
        shape_(without_quantiles(job)),
        sums_(arena.take_array<A>(walk.size(job.x.shape))),
        shares_(arena.take_array<A>(walk.size(shape_))),
        room_(arena.take_array<A>(adjoint_taps(job.problem))),
        taps_({job.problem, job.x, job.mask, job.weights}, arena),
        terms_(job.problem.pool, most_cells(job.problem), arena),
        norm_room_(arena.take_array<double>(most_cells(job.problem))) {}

  void run(index_t plane) {
    const Pool& pool = problem_.pool;
    const bool norm = pool.op == Op::lp && !std::isinf(pool.norm);
    if (pool.op == Op::sum || pool.op == Op::avg || norm) return share_out(plane);
    std::fill_n(sums_, walk_.size(job_.x.shape), A{0});
    for (index_t o = 0; o < walk_.size(shape_); ++o) {
      const Extents output = walk_.at(plane, o, shape_);
      taps_.gather(output);
      if (!taps_.enough() || taps_.size() == 0) continue;
      if (pool.op == Op::max || pool.op == Op::min || pool.op == Op::lp)
        add_to_chosen(output);
      else if (pool.op == Op::centre)
        add_to_centre(output);
      else
        add_terms(output);
    }
    for (index_t i = 0; i < walk_.size(job_.x.shape); ++i) put(walk_.at(plane, i, job_.x.shape), sums_[i]);
  }

 private:
  static Extents without_quantiles(const StatisticGradient& job) {
    Extents shape;
    for (int d = job.dy.rank() - job.x.rank(); d < job.dy.rank(); ++d) shape.push_back(job.dy.shape[d]);
    return shape;
  }

  // The most taps of the adjoint window.
  static index_t adjoint_taps(const Problem& problem) {
    index_t product = 1;
    for (int a = 0; a < problem.pooled; ++a) {
      const Axis adjoint = problem.axis[static_cast<std::size_t>(a)].adjoint();
      product *= std::min(adjoint.kernel, (adjoint.in - 1) * adjoint.spacing + 1);
    }
    return product;
  }

  void put(const Extents& at, A value) const {
    index_t offset = 0;
    for (int d = 0; d < at.size(); ++d) offset += at[d] * job_.dx.pitch[d];
    static_cast<T*>(job_.dx.data)[offset] = static_cast<T>(static_cast<double>(value));
  }

  Extents input_of(const Extents& output, index_t tap) const {
    const auto at = taps_.box().taps_of(taps_.cells()[tap]);
    Extents input = output;
    for (int a = 0; a < problem_.pooled; ++a) {
      const auto i = static_cast<std::size_t>(a);
      input[problem_.axes[i]] = problem_.axis[i].at(output[problem_.axes[i]], at[i]);
    }
    return input;
  }

  void add(const Extents& output, index_t tap, A term) {
    sums_[walk_.place(input_of(output, tap), job_.x.shape)] += term;
  }

  void add_to_chosen(const Extents& output) {
    const Op op = problem_.pool.op;
    const T* v = taps_.values();
    const auto key = [&](index_t i) {
      const auto x = number_of(v[i]);
      return op == Op::min ? -x : op == Op::max ? x : std::fabs(x);
    };
    index_t best = 0;
    for (index_t i = 1; i < taps_.size(); ++i)
      if (key(i) > key(best)) best = i;
    if (taps_.last_nan() >= 0) best = taps_.last_nan();
    A term = static_cast<A>(element(job_.dy, output));
    const auto x = number_of(v[best]);
    if (op == Op::lp) term *= x > 0 ? A{1} : x < 0 ? A{-1} : A{0};
    add(output, best, term);
  }

  void add_to_centre(const Extents& output) {
    Extents middle = output;
    for (int a = 0; a < problem_.pooled; ++a) {
      const auto i = static_cast<std::size_t>(a);
      const int d = problem_.axes[i];
      middle[d] = problem_.axis[i].at(output[d], (taps_.box().width[i] - 1) / 2);
    }
    for (index_t t = 0; t < taps_.size(); ++t)
      if (input_of(output, t) == middle) add(output, t, static_cast<A>(element(job_.dy, output)));
  }

  void add_terms(const Extents& output) {
    const index_t quantiles = detail::quantile_count(problem_.pool);
    ConstTensor dy = job_.dy;
    for (index_t k = 0; k < quantiles; ++k) {
      const double above = element(dy, output);
      const double* terms = terms_.of(taps_, k);
      for (index_t t = 0; t < taps_.size(); ++t)
        if (terms[t] != 0) add(output, t, static_cast<A>(above * terms[t]));
      const index_t bytes = quantiles > 1 ? dy.pitch[0] * size_bytes(dy.dtype) : 0;
      dy.data = static_cast<const std::byte*>(dy.data) + bytes;
    }
  }

  // Sums, averages and Lp: each output's share, then the tree of S8 over the shares that an input gets.
  void share_out(index_t plane) {
    for (index_t o = 0; o < walk_.size(shape_); ++o) shares_[o] = share_of(walk_.at(plane, o, shape_));
    for (index_t i = 0; i < walk_.size(job_.x.shape); ++i) {
      const Extents input = walk_.at(plane, i, job_.x.shape);
      put(input, is_valid(input) ? factor_of(input, sum_of_shares(input)) : A{0});
    }
  }

  A share_of(const Extents& output) {
    taps_.gather(output);
    if (!taps_.enough()) return A(-0.0);
    const Pool& pool = problem_.pool;
    const auto dy = static_cast<A>(element(job_.dy, output));
    if (pool.op == Op::sum) return dy;
    if (pool.op == Op::lp) return norm_share(dy);
    if (taps_.weights() != nullptr) {
      const double all = tree_sum<double>(taps_, norm_room_, [&](index_t i) { return taps_.weights()[i]; });
      return taps_.size() == 0 ? A(-0.0) : static_cast<A>(static_cast<double>(dy) / all);
    }
    const index_t divisor = taps_.divisor();
    if (divisor == 0) return A(-0.0);
    constexpr index_t kFloatDivisors = index_t{1} << 24;
    if (std::is_same_v<A, double> || divisor < kFloatDivisors) return dy / static_cast<A>(divisor);
    return static_cast<A>(odd_quotient(static_cast<double>(dy), divisor));
  }

  // dy / y^(p-1), y being the norm before it is rounded.
  A norm_share(A dy) {
    const double p = problem_.pool.norm;
    if (p == 1) return dy;
    const double sum = tree_sum<double>(taps_, norm_room_, [&](index_t i) {
      const double x = std::fabs(real_of(taps_.values()[i]));
      return norm_power(x, p);
    });
    if (sum == 0) return A{0};
    return static_cast<A>(static_cast<double>(dy) / norm_power(norm_root(sum, p), p - 1));
  }

  // What an input is multiplied by.
  A factor_of(const Extents& input, A sum) const {
    const double p = problem_.pool.norm;
    if (job_.weights != nullptr) return static_cast<A>(static_cast<double>(sum) * element(*job_.weights, input));
    if (problem_.pool.op != Op::lp) return sum;
    const double x = element(job_.x, input), magnitude = std::fabs(x);
    const double slope = norm_power(magnitude, p - 1);
    return static_cast<A>(static_cast<double>(sum) * (x > 0 ? slope : x < 0 ? -slope : x)) + A{0};  // as others: no -0
  }

  bool is_valid(const Extents& input) const {
    index_t offset = 0, mask = 0;
    for (int d = 0; d < input.size(); ++d) {
      offset += input[d] * job_.x.pitch[d];
      if (job_.mask != nullptr) mask += input[d] * job_.mask->pitch[d];
    }
    if (job_.mask != nullptr && static_cast<const std::uint8_t*>(job_.mask->data)[mask] == 0) return false;
    if (job_.weights != nullptr && element(*job_.weights, input) == 0) return false;
    const T x = static_cast<const T*>(job_.x.data)[offset];
    if (is_nan(x) && problem_.pool.nan == NanPolicy::omit) return false;
    if (!problem_.pool.nodata) return true;
    T nodata{};
    detail::store(*problem_.pool.nodata, dtype_v<T>, &nodata);
    return number_of(x) != number_of(nodata) && !(is_nan(x) && is_nan(nodata));
  }

  // The shares of the outputs that read the input, over the taps of the adjoint axes.
  A sum_of_shares(const Extents& input) {
    TapBox box;
    box.axes = problem_.pooled;
    std::array<Axis, kMaxPooledAxes> adjoint;
    for (int a = 0; a < box.axes; ++a) {
      const auto i = static_cast<std::size_t>(a);
      adjoint[i] = problem_.axis[i].adjoint();
      box.taps[i] = adjoint[i].taps(input[problem_.axes[i]]);
      box.width[i] = adjoint[i].width(input[problem_.axes[i]]);
      box.cells *= box.taps[i].size();
    }
    if (box.cells == 0) return A{0};
    for (index_t cell = 0; cell < box.cells; ++cell) room_[cell] = share_at(input, adjoint, box.taps_of(cell));
    return fold_box(room_, box, [](A a, A b) { return a + b; }) + A{0};
  }

  A share_at(const Extents& input, const std::array<Axis, kMaxPooledAxes>& adjoint,
             const std::array<index_t, kMaxPooledAxes>& taps) const {
    Extents output = input;
    index_t code = 0;
    for (int a = 0; a < problem_.pooled; ++a) {
      const auto i = static_cast<std::size_t>(a);
      const int d = problem_.axes[i];
      output[d] = adjoint[i].input_at(adjoint[i].at(input[d], taps[i]));
      if (output[d] < 0) return A(-0.0);
      code = code * problem_.axis[i].kernel + problem_.axis[i].tap_of(output[d], input[d]);
    }
    const Footprint& footprint = problem_.pool.footprint;
    if (!footprint.empty() && footprint.taps[static_cast<std::size_t>(code)] == 0) return A(-0.0);
    return shares_[walk_.place(output, shape_)];
  }

  const StatisticGradient& job_;
  const Problem& problem_;
  const PlaneWalk& walk_;
  const Extents shape_;  // of dy without the axis of quantiles
  A* sums_;              // of the plane's inputs
  A* shares_;            // of its outputs
  A* room_;
  ValidTaps<T> taps_;
  GradientTerms<T> terms_;
  double* norm_room_;
};

template <class T, class A>
void run_planes(const StatisticGradient& job, int threads) {
  const PlaneWalk walk(job.problem);
  const index_t cost = walk.size(job.x.shape) * job.problem.taps() * 8;
  parallel_for(walk.planes(), cost, threads, [&](index_t begin, index_t end) {
    Arena arena;
    PlaneGradient<T, A> gradient(job, walk, arena);
    for (index_t plane = begin; plane < end; ++plane) gradient.run(plane);
  });
}

}  // namespace

void run_gathered_gradient(const StatisticGradient& job, int threads) {
  const bool first_ops = job.problem.pool.op <= Op::lp && job.weights == nullptr && job.problem.result != Dtype::f64;
  visit(job.problem.dtype, [&]<class T>() {
    if constexpr (is_floating_v<T>) {
      if (first_ops)
        run_planes<T, accumulator_t<T>>(job, threads);
      else
        run_planes<T, double>(job, threads);
    }
  });
}

}  // namespace oriel::cpu
