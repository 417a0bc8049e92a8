#include "cuda/gradient.cuh"

#include <algorithm>

#include "cuda/device/launch.cuh"
#include "cuda/rules.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

ShareRule share_rule(const Problem& p) {
  ShareRule rule;
  rule.average = p.pool.op == Op::avg;
  rule.count_include_pad = p.pool.count_include_pad;
  rule.divisor = p.pool.divisor;
  rule.lp = p.pool.op == Op::lp;
  rule.omit = p.pool.nan == NanPolicy::omit && is_floating(p.dtype);
  rule.norm = p.pool.norm;
  for (int a = 0; a < p.pooled; ++a) rule.axis[a] = p.axis[static_cast<std::size_t>(a)];
  return rule;
}

// dx from shares of type S, which lie as `share` says.
template <class T, class S, class I>
void launch_collect(const Problem& p, const S* share, const Extents& pitch, const ConstTensor* x, const Tensor& dx,
                    const ShareRule& rule, void* stream) {
  const bool reads_x = rule.lp || rule.omit;
  const auto walk = make_walk<I>({p, p.shape, dx.pitch, &pitch, reads_x ? &x->pitch : nullptr, p.output_shape});
  launch(&collect_shares<T, S, I>, static_cast<index_t>(walk.count), kBlock, 0, stream, walk,
         make_windows(p, pitch, true), share, static_cast<T*>(dx.data),
         reads_x ? static_cast<const T*>(x->data) : nullptr, rule);
}

template <class T, class I>
void launch_sum_gradient(const Problem& p, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                         void* stream) {
  ShareRule rule = share_rule(p);
  if constexpr (is_floating_v<T>) {
    using A = accumulator_t<T>;
    if (rule.lp || (rule.omit && rule.average && rule.divisor == 0)) {
      const index_t outputs = element_count(p.output_shape);
      const Scratch share(outputs * static_cast<index_t>(sizeof(A)), stream);
      const Extents pitch = dense_pitch(p.output_shape);
      const auto walk = make_walk<I>({p, p.output_shape, dy.pitch, &x->pitch, &pitch, p.shape});
      launch(&make_shares<T, I>, outputs, kBlock, 0, stream, walk, make_windows(p, x->pitch, false),
             static_cast<const T*>(x->data), static_cast<const T*>(dy.data), static_cast<A*>(share.data()),
             sum_rule(p));
      rule.average = false;
      return launch_collect<T, A, I>(p, static_cast<const A*>(share.data()), pitch, x, dx, rule, stream);
    }
  }
  launch_collect<T, T, I>(p, static_cast<const T*>(dy.data), dy.pitch, x, dx, rule, stream);
}

template <class T, class I>
void launch_chosen_gradient(const Problem& p, const ConstTensor* x, const ConstTensor& dy, const ConstTensor& index,
                            IndexKind kind, const Tensor& dx, void* stream) {
  const auto walk = make_walk<I>({p, p.shape, dx.pitch, &dy.pitch, x != nullptr ? &x->pitch : nullptr, p.shape});
  const auto index_walk = make_walk<I>({p, p.shape, dx.pitch, &index.pitch, nullptr, p.shape});
  OutputOrder order;
  for (int a = 0; a < p.pooled; ++a) {
    order.index_pitch[a] = index.pitch[p.axes[static_cast<std::size_t>(a)]];
    order.axis[a] = static_cast<signed char>(a);
  }
  std::sort(order.axis, order.axis + p.pooled, [&](signed char a, signed char b) {
    return p.axes[static_cast<std::size_t>(a)] < p.axes[static_cast<std::size_t>(b)];
  });
  const Indices indices = make_indices(p, const_cast<void*>(index.data), kind);
  launch(&collect_chosen<T, I>, static_cast<index_t>(walk.count), kBlock, 0, stream, walk, index_walk,
         make_windows(p, dy.pitch, false), order, static_cast<const T*>(dy.data), indices, static_cast<T*>(dx.data),
         x != nullptr ? static_cast<const T*>(x->data) : nullptr);
}

bool is_small_problem(const Problem& p) {
  return is_small(element_count(p.shape)) && is_small(element_count(p.output_shape));
}

}  // namespace

void collect_sum_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                          void* stream) {
  visit(problem.dtype, [&]<class T>() {
    is_small_problem(problem) ? launch_sum_gradient<T, std::uint32_t>(problem, x, dy, dx, stream)
                              : launch_sum_gradient<T, std::uint64_t>(problem, x, dy, dx, stream);
  });
}

void collect_chosen_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy,
                             const ConstTensor& index, IndexKind kind, const Tensor& dx, void* stream) {
  visit(problem.dtype, [&]<class T>() {
    is_small_problem(problem) ? launch_chosen_gradient<T, std::uint32_t>(problem, x, dy, index, kind, dx, stream)
                              : launch_chosen_gradient<T, std::uint64_t>(problem, x, dy, index, kind, dx, stream);
  });
}

}  // namespace oriel::cuda
