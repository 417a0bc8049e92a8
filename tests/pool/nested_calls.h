// Everything that the library computes of a problem, each as a call that can be made again and compared.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oriel/pool.h"
#include "pool/fill.h"
#include "pool/placed.h"
#include "reference/reference.h"

namespace oriel::test {

struct Result {
  Dtype dtype;
  std::vector<std::byte> elements;
};

/// The first result that differs from what it should be, in words; empty: none does. Every NaN is like another (S3).
inline std::string first_wrong(const std::vector<Result>& right, const std::vector<Result>& got) {
  for (std::size_t r = 0; r < right.size(); ++r) {
    const Dtype dtype = right[r].dtype;
    const auto count = static_cast<index_t>(right[r].elements.size()) / size_bytes(dtype);
    const index_t i = reference::first_difference(dtype, right[r].elements.data(), got[r].elements.data(), count);
    if (i >= 0)
      return fmt::format("element {} of {} is {} instead of {}", i, count,
                         reference::element(dtype, got[r].elements.data(), i),
                         reference::element(dtype, right[r].elements.data(), i));
  }
  return {};
}

/// One call, on tensors that it owns; results are new each time, so threads may make it at once.
struct Call {
  std::string name;
  std::function<std::vector<Result>(const Options&)> make;
  std::vector<Result> right;  // by one thread

  std::string wrong(const Options& options = {}) const {
    try {
      const std::string what = first_wrong(right, make(options));
      return what.empty() ? what : name + ": " + what;
    } catch (const Error& error) {
      return name + ": " + error.what();
    }
  }
};

/// The calls of a problem, on elements of a kind.
class CallMaker {
 public:
  CallMaker(const Problem& p, Data data, unsigned seed, Layout in, Layout out)
      : p_(p), in_(in), out_(out), random_(seed), x_(tensor(p.dtype, p.shape, data)) {}

  std::vector<Call> all() {
    const bool picks = p_.pool.op == Op::max || p_.pool.op == Op::min;
    const bool summing = p_.pool.op == Op::sum || p_.pool.op == Op::avg;
    const bool divides = p_.pool.op == Op::avg || p_.pool.op == Op::lp;
    add("forward", [p = p_, x = x_, out = out_](const Options& options) {
      Placed y = room(p, p.dtype, p.output_shape, out);
      forward(p.pool, {.x = x->view(), .y = y.view()}, options);
      return results(y);
    });
    const auto dy = tensor(p_.dtype, p_.output_shape, Data::reals);
    if (is_floating(p_.dtype) || !divides) {
      add("backward", [p = p_, x = x_, dy, out = out_](const Options& options) {
        Placed dx = room(p, p.dtype, p.shape, out);
        backward(p.pool, {.x = x->view(), .dy = dy->view(), .dx = dx.view()}, options);
        return results(dx);
      });
      if (summing && p_.pool.nan != NanPolicy::omit)
        add("backward without x", [p = p_, dy, out = out_](const Options& options) {
          Placed dx = room(p, p.dtype, p.shape, out);
          backward(p.pool, {.dy = dy->view(), .dx = dx.view()}, options);
          return results(dx);
        });
    }
    if (picks) add_of_extrema(dy);
    return std::move(calls_);
  }

 private:
  using Held = std::shared_ptr<const Placed>;

  static Placed room(const Problem& p, Dtype dtype, const Extents& shape, Layout layout) {
    return {dtype, shape, layout, nullptr, p.order};
  }
  template <class... P>
  static std::vector<Result> results(const P&... placed) {
    return {Result{placed.view().dtype, placed.dense()}...};
  }
  Held tensor(Dtype dtype, const Extents& shape, Data data) {
    const auto elements = fill(dtype, element_count(shape), data, random_);
    return std::make_shared<Placed>(dtype, shape, in_, elements.data(), p_.order);
  }
  void add(std::string what, std::function<std::vector<Result>(const Options&)> make) {
    calls_.push_back({fmt::format("{} of {}", what, to_string(p_)), std::move(make), {}});
    calls_.back().right = calls_.back().make({.threads = 1});
  }

  void add_of_extrema(const Held& dy) {
    for (const auto& kept : {std::pair{Dtype::i64, IndexSpace::plane},
                             {Dtype::i64, IndexSpace::tensor},
                             {Dtype::u8, IndexSpace::window},
                             {Dtype::i32, IndexSpace::window}}) {
      const Dtype dtype = kept.first;
      const IndexSpace space = kept.second;
      if (dtype == Dtype::u8 && p_.taps() > kMostByteCodes) continue;
      const std::string kind = fmt::format("{} in space {}", oriel::name(dtype), static_cast<int>(space));
      add("forward with indices, " + kind, [p = p_, x = x_, out = out_, dtype, space](const Options& options) {
        Placed y = room(p, p.dtype, p.output_shape, out), indices = room(p, dtype, p.output_shape, out);
        forward(p.pool, {.x = x->view(), .y = y.view(), .indices = indices.view(), .space = space}, options);
        return results(y, indices);
      });
      const auto& y = calls_.back().right[0].elements;
      const auto& i = calls_.back().right[1].elements;
      const auto values = std::make_shared<Placed>(p_.dtype, p_.output_shape, in_, y.data(), p_.order);
      const auto indices = std::make_shared<Placed>(dtype, p_.output_shape, in_, i.data(), p_.order);
      add("backward by indices, " + kind, [p = p_, dy, indices, space, out = out_](const Options& options) {
        Placed dx = room(p, p.dtype, p.shape, out);
        backward(p.pool, {.dy = dy->view(), .indices = indices->view(), .space = space, .dx = dx.view()}, options);
        return results(dx);
      });
      if (space == IndexSpace::window) continue;
      add("unpool, " + kind, [p = p_, values, indices, space, out = out_](const Options& options) {
        Extents axes;
        for (int a = 0; a < p.pooled; ++a) axes.push_back(p.axes[static_cast<std::size_t>(a)]);
        Placed x = room(p, p.dtype, p.shape, out);
        unpool(axes, {.y = values->view(), .indices = indices->view(), .space = space, .x = x.view()}, options);
        return results(x);
      });
    }
  }

  Problem p_;
  Layout in_, out_;
  std::mt19937_64 random_;
  Held x_;
  std::vector<Call> calls_;
};

}  // namespace oriel::test
