// One problem on the device, every way through the entry points, compared with the reference bit for bit. Each check
// returns an empty text or what differs. Needs no library but the reference.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "cuda/device_tensor.h"
#include "oriel/pool.h"
#include "reference/from_problem.h"

namespace oriel::test {

/// A problem, its elements and what the reference makes of them.
struct DeviceCase {
  Problem problem;
  std::vector<std::byte> x, dy;
  reference::Pooling pooling;
  reference::Outcome y, dx;
  bool backward = false;

  DeviceCase(const Problem& p, std::vector<std::byte> input, std::vector<std::byte> gradient)
      : problem(p), x(std::move(input)), dy(std::move(gradient)), pooling(reference::from_problem(p)) {
    y = reference::forward(pooling, p.dtype, x.data());
    const bool summing = p.pool.op == Op::avg || p.pool.op == Op::lp;
    backward = !dy.empty() && (is_floating(p.dtype) || !summing);
    if (backward) dx = reference::backward(pooling, p.dtype, x.data(), dy.data());
  }

  bool picks() const { return problem.pool.op == Op::max || problem.pool.op == Op::min; }
  Extents out_shape() const {
    Extents e;
    for (index_t v : y.shape) e.push_back(v);
    return e;
  }
};

class DeviceCheck {
 public:
  DeviceCheck(const DeviceCase& c, Layout in, Layout out) : c_(c), in_(in), out_(out) {}

  std::string all() {
    std::string wrong = forward();
    if (wrong.empty()) wrong = small_codes();
    if (wrong.empty()) wrong = backward();
    if (wrong.empty()) wrong = unpool();
    return wrong;
  }

  std::string forward() {
    DeviceTensor x(dtype(), c_.problem.shape, in_, c_.x.data(), c_.problem.order);
    DeviceTensor y(dtype(), c_.out_shape(), out_, nullptr, c_.problem.order);
    oriel::forward(c_.problem.pool, {.x = x.view(), .y = y.view()});
    if (std::string wrong = judge("forward", c_.y, y, true); !wrong.empty()) return wrong;
    if (!c_.picks()) return {};
    for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor, IndexSpace::window}) {
      DeviceTensor z(dtype(), c_.out_shape(), out_, nullptr, c_.problem.order);
      DeviceTensor index(Dtype::i64, c_.out_shape(), out_, nullptr);
      oriel::forward(c_.problem.pool, {.x = x.view(), .y = z.view(), .indices = index.view(), .space = space});
      if (std::string wrong = judge("forward with indices", c_.y, z, true); !wrong.empty()) return wrong;
      const std::vector<index_t>& expected = indices(space);
      const std::vector<std::byte> got = index.fetch().dense();
      const auto count = static_cast<index_t>(expected.size());
      const index_t i = reference::first_difference(Dtype::i64, expected.data(), got.data(), count);
      if (i >= 0) {
        return text("index (space " + std::to_string(static_cast<int>(space)) + ")") + ": element " +
               std::to_string(i) + " is " + std::to_string(reference::element(Dtype::i64, got.data(), i)) +
               " instead of " + std::to_string(expected[static_cast<std::size_t>(i)]);
      }
    }
    return {};
  }

  /// Indices of u8 and i32, which say that there is no tap by 255 and -1; and the gradient from them.
  std::string small_codes() {
    if (!c_.picks()) return {};
    for (const Dtype code : {Dtype::u8, Dtype::i32}) {
      if (code == Dtype::u8 && c_.problem.taps() > kMostByteCodes) continue;
      std::vector<std::byte> expected;
      for (const index_t tap : c_.y.window) {
        const auto bits = static_cast<std::uint32_t>(tap);
        for (index_t i = 0; i < size_bytes(code); ++i) expected.push_back(static_cast<std::byte>(bits >> 8 * i));
      }
      DeviceTensor x(dtype(), c_.problem.shape, in_, c_.x.data(), c_.problem.order);
      DeviceTensor y(dtype(), c_.out_shape(), out_, nullptr, c_.problem.order);
      DeviceTensor index(code, c_.out_shape(), out_, nullptr, c_.problem.order);
      oriel::forward(c_.problem.pool,
                     {.x = x.view(), .y = y.view(), .indices = index.view(), .space = IndexSpace::window});
      if (std::string wrong = judge("forward with small codes", c_.y, y, true); !wrong.empty()) return wrong;
      if (index.fetch().dense() != expected) return text("small codes") + " differ (" + std::string(name(code)) + ")";
      if (!c_.backward) continue;
      DeviceTensor codes(code, c_.out_shape(), in_, expected.data(), c_.problem.order);
      DeviceTensor dy(dtype(), c_.out_shape(), in_, c_.dy.data(), c_.problem.order);
      DeviceTensor dx(dtype(), c_.problem.shape, out_, nullptr, c_.problem.order);
      oriel::backward(c_.problem.pool,
                      {.dy = dy.view(), .indices = codes.view(), .space = IndexSpace::window, .dx = dx.view()});
      if (std::string wrong = judge("backward from small codes", c_.dx, dx, true); !wrong.empty()) return wrong;
    }
    return {};
  }

  std::string backward() {
    if (!c_.backward) return {};
    const Pool& pool = c_.problem.pool;
    const bool exact = pool.op != Op::lp || pool.norm == 1;
    DeviceTensor x(dtype(), c_.problem.shape, in_, c_.x.data(), c_.problem.order);
    DeviceTensor dy(dtype(), c_.out_shape(), in_, c_.dy.data(), c_.problem.order);
    DeviceTensor dx(dtype(), c_.problem.shape, out_, nullptr, c_.problem.order);
    oriel::backward(pool, {.x = x.view(), .dy = dy.view(), .dx = dx.view()});
    if (std::string wrong = judge("backward", c_.dx, dx, exact); !wrong.empty()) return wrong;
    if ((pool.op == Op::sum || pool.op == Op::avg) && pool.nan != NanPolicy::omit) {
      DeviceTensor without(dtype(), c_.problem.shape, out_, nullptr, c_.problem.order);
      oriel::backward(pool, {.dy = dy.view(), .dx = without.view()});
      if (std::string wrong = judge("backward without x", c_.dx, without, exact); !wrong.empty()) return wrong;
    }
    if (!c_.picks()) return {};
    for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor, IndexSpace::window}) {
      DeviceTensor index(Dtype::i64, c_.out_shape(), in_, indices(space).data());
      DeviceTensor stored(dtype(), c_.problem.shape, out_, nullptr, c_.problem.order);
      oriel::backward(pool, {.dy = dy.view(), .indices = index.view(), .space = space, .dx = stored.view()});
      if (std::string wrong = judge("backward from indices", c_.dx, stored, exact); !wrong.empty()) return wrong;
    }
    return {};
  }

  std::string unpool() {
    if (!c_.picks()) return {};
    const reference::Outcome expected = reference::unpool(c_.pooling.shape, dtype(), c_.y.bits.data(), c_.y.tensor);
    Extents axes;
    for (int i = 0; i < c_.problem.pooled; ++i) axes.push_back(c_.problem.axes[static_cast<std::size_t>(i)]);
    DeviceTensor y(dtype(), c_.out_shape(), in_, c_.y.bits.data(), c_.problem.order);
    for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor}) {
      DeviceTensor index(Dtype::i64, c_.out_shape(), in_, indices(space).data());
      DeviceTensor x(dtype(), c_.problem.shape, out_, nullptr, c_.problem.order);
      oriel::unpool(axes, {.y = y.view(), .indices = index.view(), .space = space, .x = x.view()});
      if (std::string wrong = judge("unpool", expected, x, true); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  Dtype dtype() const { return c_.problem.dtype; }
  const std::vector<index_t>& indices(IndexSpace space) const {
    return space == IndexSpace::plane ? c_.y.plane : space == IndexSpace::tensor ? c_.y.tensor : c_.y.window;
  }
  std::string text(const std::string& what) const {
    return what + " (" + name(in_) + " to " + name(out_) + ") of " + to_string(c_.problem);
  }

  std::string judge(const char* what, const reference::Outcome& expected, DeviceTensor& got, bool exact) {
    if (watch.verdict != nullptr) {
      if (const std::string wrong = watch.verdict(); !wrong.empty()) return text(what) + ": " + wrong;
    }
    const Placed& placed = got.fetch();
    if (!placed.guards_survive()) return text(what) + " wrote outside";
    const std::vector<std::byte> bits = placed.dense();
    const index_t count = element_count(placed.view().shape);
    const index_t i = exact ? reference::first_difference(dtype(), expected.bits.data(), bits.data(), count)
                            : reference::first_beyond_bound(dtype(), bits.data(), expected);
    if (i < 0) return {};
    return text(what) + ": element " + std::to_string(i) + " is " +
           std::to_string(reference::element(dtype(), bits.data(), i)) + " instead of " +
           std::to_string(reference::element(dtype(), expected.bits.data(), i));
  }

  const DeviceCase& c_;
  Layout in_, out_;
};

}  // namespace oriel::test
