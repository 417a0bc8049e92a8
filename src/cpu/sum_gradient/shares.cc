#include "cpu/sum_gradient/shares.h"

#include <cmath>
#include <vector>

#include "cpu/element/quotient.h"
#include "cpu/plan/engine.h"
#include "cpu/plan/fold.h"
#include "cpu/recipe/kernels.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/tensor_rows.h"
#include "cpu/sum_gradient/adjoint_rows.h"
#include "cpu/sum_gradient/share_kernels.h"
#include "real_functions.h"

namespace oriel::cpu {
namespace {

// What the windows of each output count, axis by axis; see S5.
struct Divisors {
  const Problem& problem;

  // The divisor of the outputs at `index`, but for the last tensor axis.
  index_t of_row(const Extents& index) const {
    if (problem.pool.divisor > 0) return problem.pool.divisor;
    index_t d = 1;
    for (int a = 0; a < problem.pooled; ++a) {
      const std::size_t i = static_cast<std::size_t>(a);
      if (problem.axes[i] != index.size() - 1) {
        d *= problem.axis[i].divisor(index[problem.axes[i]], problem.pool.count_include_pad);
      }
    }
    return d;
  }

  // Whether every divisor is below 2^bits, so that a significand of that many bits holds it.
  bool fit(int bits) const {
    index_t most = problem.pool.divisor > 0 ? problem.pool.divisor : 1;
    if (problem.pool.divisor <= 0) {
      for (int a = 0; a < problem.pooled; ++a) {
        const index_t kernel = problem.axis[static_cast<std::size_t>(a)].kernel;
        if (kernel > (index_t{1} << bits) / most) return false;
        most *= kernel;
      }
    }
    return most < (index_t{1} << bits);
  }

  // The factor of output o of the last tensor axis.
  index_t along_row(index_t o) const {
    if (problem.pool.divisor > 0) return 1;
    for (int a = 0; a < problem.pooled; ++a) {
      const std::size_t i = static_cast<std::size_t>(a);
      if (problem.axes[i] == problem.output_shape.size() - 1) {
        return problem.axis[i].divisor(o, problem.pool.count_include_pad);
      }
    }
    return 1;
  }
};

// Writes the number of left-out NaN instead of a sum.
template <class Count>
void store_missing(RowIn acc, index_t n, index_t lanes, const LowerParams&, void* y, index_t pitch,
                   index_t lane_pitch) {
  const Count* missing = static_cast<const Count*>(acc.extra);
  for (index_t p = 0; p < n; ++p) {
    for (index_t l = 0; l < lanes; ++l) {
      static_cast<std::int64_t*>(y)[p * pitch + l * lane_pitch] = missing[p * lanes + l];
    }
  }
}

// How many NaN each window leaves out.
void count_missing(const Problem& problem, const ConstTensor& x, const Tensor& missing, int threads) {
  Problem sum = problem;
  sum.pool.op = Op::sum;
  RowReduction count = careful_recipe(sum);
  count.lower = count.extra_bytes == 4 ? &store_missing<std::int32_t> : &store_missing<std::int64_t>;
  count.out_bytes = 8;
  run(sum, count, x, missing, threads);
}

// The result of an Lp pool in the accumulator type: a gradient is rounded once, at its end (S7).
void run_unrounded(const Problem& problem, const ConstTensor& x, const Tensor& y, int threads) {
  RowReduction root = problem.pool.nan == NanPolicy::omit ? careful_recipe(problem) : plain_recipe(problem);
  root.lower = kernels().lower(Lower::root, problem.dtype == Dtype::f64 ? Lane::f64 : Lane::f32, y.dtype);
  root.out_bytes = size_bytes(y.dtype);
  run(problem, root, x, y, threads);
}

template <class T, class A>
A share_of(A dy, index_t divisor) {
  if (divisor <= 0) return A{0};
  if (std::is_same_v<A, float> && divisor >= (index_t{1} << 24)) {  // a float does not hold it
    return static_cast<A>(odd_quotient(static_cast<double>(dy), divisor));
  }
  return dy / static_cast<A>(divisor);
}

template <class A>
A lp_share_of(A dy, double y, double p) {
  if (p == 1) return dy;
  if (y == 0) return A{0};
  if (p == 2) return dy / static_cast<A>(y);
  return static_cast<A>(static_cast<double>(dy) / norm_power(y, p - 1));
}

// The shares of one row of an average's outputs, whose divisors the type holds: factor * along[o].
template <class T, class A>
void share_row(const T* dy, index_t pitch, A factor, const std::vector<A>& along, A* out) {
  const index_t n = static_cast<index_t>(along.size());
  const A* divisors = along.data();
  if (pitch == 1) {
    for (index_t o = 0; o < n; ++o) {
      const A divisor = factor * divisors[o];
      out[o] = divisor > A{0} ? static_cast<A>(dy[o]) / divisor : A{0};
    }
  } else {
    for (index_t o = 0; o < n; ++o) {
      const A divisor = factor * divisors[o];
      out[o] = divisor > A{0} ? static_cast<A>(dy[o * pitch]) / divisor : A{0};
    }
  }
}

// share = what every tap of an output gets of its gradient, in the accumulator type.
template <class T>
void make_shares(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& share,
                 int threads) {
  using A = accumulator_t<T>;
  const Op op = problem.pool.op;
  const bool omit = op == Op::avg && is_floating_v<T> && problem.pool.nan == NanPolicy::omit && x != nullptr &&
                    problem.pool.divisor == 0;
  const TemporaryTensor missing(Dtype::i64, omit ? problem.output_shape : Extents{1});
  if (omit) count_missing(problem, *x, missing.view(), threads);
  const TemporaryTensor y(gradient_dtype(problem.dtype), op == Op::lp ? problem.output_shape : Extents{1});
  if (op == Op::lp) run_unrounded(problem, *x, y.view(), threads);
  const Divisors divisors{problem};
  const double norm = problem.pool.norm;
  const auto root_shares = share_table().shares(std::is_same_v<A, double> ? Lane::f64 : Lane::f32).root_shares;
  const int last = problem.output_shape.size() - 1;
  const bool by_rows = op == Op::avg && !omit && divisors.fit(std::is_same_v<A, double> ? 53 : 24);
  std::vector<A> along;
  for (index_t o = 0; by_rows && o < problem.output_shape[last]; ++o) {
    along.push_back(static_cast<A>(divisors.along_row(o)));
  }
  for_each_row(problem.output_shape, threads, [&](const Extents& index, index_t n) {
    const T* in = element<T>(dy, index);
    A* out = element<A>(share, index);
    const index_t pitch = dy.pitch[last];
    if (op == Op::sum) {
      for (index_t o = 0; o < n; ++o) out[o] = static_cast<A>(in[o * pitch]);
    } else if constexpr (is_floating_v<T>) {
      if (op == Op::lp) {
        const A* result = element<A>(y.view(), index);
        if (std::is_same_v<T, A> && norm == 2 && pitch == 1) return root_shares(in, result, n, out);
        for (index_t o = 0; o < n; ++o) {
          out[o] = lp_share_of<A>(static_cast<A>(in[o * pitch]), static_cast<double>(result[o]), norm);
        }
      } else {
        const index_t of_row = divisors.of_row(index);
        if (by_rows) return share_row(in, pitch, static_cast<A>(of_row), along, out);
        const std::int64_t* gone = omit ? element<std::int64_t>(missing.view(), index) : nullptr;
        for (index_t o = 0; o < n; ++o) {
          const index_t divisor = of_row * divisors.along_row(o) - (gone != nullptr ? gone[o] : 0);
          out[o] = share_of<T>(static_cast<A>(in[o * pitch]), divisor);
        }
      }
    }
  });
}

// dx = sums * d|x|^p/dx / p, 0 for a NaN that was left out.
template <class T>
void finish_gradient(const Problem& problem, const ConstTensor& x, const ConstTensor& sums, const Tensor& dx,
                     int threads) {
  using A = accumulator_t<T>;
  const int last = problem.shape.size() - 1;
  const double p = problem.pool.norm;
  const bool lp = problem.pool.op == Op::lp, omit = problem.pool.nan == NanPolicy::omit;
  for_each_row(problem.shape, threads, [&](const Extents& index, index_t n) {
    const A* sum = element<A>(sums, index);
    const T* in = element<T>(x, index);
    T* out = element<T>(dx, index);
    for (index_t i = 0; i < n; ++i) {
      const A v = static_cast<A>(in[i * x.pitch[last]]);
      A g = sum[i];
      if (omit && std::isnan(v)) {
        g = A{0};
      } else if (lp) {
        const A magnitude = std::fabs(v);
        const A slope = p == 1   ? A{1}
                        : p == 2 ? magnitude
                                 : static_cast<A>(norm_power(static_cast<double>(magnitude), p - 1));
        g *= v > A{0} ? slope : v < A{0} ? -slope : v == A{0} ? A{0} : v;
      }
      out[i * dx.pitch[last]] = static_cast<T>(g + A{0});
    }
  });
}

void fold_shares(const Gradient& of_shares, int threads) {
  const FoldJob job{.layout = of_shares.adjoint_layout(),
                    .plain = gradient_recipe(of_shares.dx.dtype),
                    .x = of_shares.dy.data,
                    .y = of_shares.dx.data};
  run_fold(job, threads);
}

}  // namespace

void run_shares(const Gradient& gradient, int threads) {
  const Problem& problem = gradient.problem;
  const Tensor& dx = gradient.dx;
  const TemporaryTensor share(gradient_dtype(problem.dtype), problem.output_shape);
  visit(problem.dtype, [&]<class T>() { make_shares<T>(problem, gradient.x, gradient.dy, share.view(), threads); });
  const Gradient of_shares{.problem = problem, .x = gradient.x, .dy = share.view(), .dx = dx};
  if (!depends_on_inputs(problem)) return fold_shares(of_shares, threads);
  if (fold_shares_by_rows(of_shares, threads)) return;
  const TemporaryTensor sums(gradient_dtype(problem.dtype), problem.shape);
  fold_shares({.problem = problem, .dy = share.view(), .dx = sums.view()}, threads);
  visit(problem.dtype, [&]<class T>() {
    if constexpr (is_floating_v<T>) finish_gradient<T>(problem, *gradient.x, sums.view(), dx, threads);
  });
}

}  // namespace oriel::cpu
