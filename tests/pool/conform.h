// Runs a problem through the entry points and compares every result with the reference. Each function returns an empty
// text, or what differs.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "oriel/pool.h"
#include "placed.h"
#include "reference/from_problem.h"

namespace oriel::test {

inline Extents extents(const std::vector<index_t>& values) {
  Extents out;
  for (index_t v : values) out.push_back(v);
  return out;
}

/// A problem with its elements and what the reference makes of them.
struct Case {
  Problem problem;
  std::vector<std::byte> x, dy;
  reference::Pooling pooling;
  reference::Outcome y, dx;
  bool backward = false;  // whether the op has a backward for this dtype

  Case(const Problem& p, std::vector<std::byte> input, std::vector<std::byte> gradient)
      : problem(p), x(std::move(input)), dy(std::move(gradient)), pooling(reference::from_problem(p)) {
    y = reference::forward(pooling, p.dtype, x.data());
    const bool summing = p.pool.op == Op::avg || p.pool.op == Op::lp;
    backward = !dy.empty() && (is_floating(p.dtype) || !summing);
    if (backward) dx = reference::backward(pooling, p.dtype, x.data(), dy.data());
  }

  bool picks() const { return problem.pool.op == Op::max || problem.pool.op == Op::min; }
  bool omits() const { return problem.pool.nan == NanPolicy::omit; }
};

inline std::string differs(const Case& c, const char* what, const reference::Outcome& expected, const Placed& got,
                           Layout layout) {
  const Dtype dtype = c.problem.dtype;
  if (!got.guards_survive())
    return fmt::format("{} ({}) of {} wrote outside", what, name(layout), to_string(c.problem));
  const std::vector<std::byte> bits = got.dense();
  const index_t count = element_count(got.view().shape);
  const index_t i = reference::first_difference(dtype, expected.bits.data(), bits.data(), count);
  if (i < 0) return {};
  return fmt::format("{} ({}) of {}: element {} is {} instead of {}", what, name(layout), to_string(c.problem), i,
                     reference::element(dtype, bits.data(), i), reference::element(dtype, expected.bits.data(), i));
}

inline std::string beyond_bound(const Case& c, const char* what, const reference::Outcome& expected, const Placed& got,
                                Layout layout) {
  if (!got.guards_survive())
    return fmt::format("{} ({}) of {} wrote outside", what, name(layout), to_string(c.problem));
  const std::vector<std::byte> bits = got.dense();
  const index_t i = reference::first_beyond_bound(c.problem.dtype, bits.data(), expected);
  if (i < 0) return {};
  const std::size_t at = static_cast<std::size_t>(i);
  return fmt::format("{} ({}) of {}: element {} is {}, farther than {} from {}", what, name(layout),
                     to_string(c.problem), i, reference::element(c.problem.dtype, bits.data(), i), expected.bound[at],
                     expected.value[at]);
}

inline const std::vector<index_t>& indices_of(const reference::Outcome& y, IndexSpace space) {
  return space == IndexSpace::plane ? y.plane : space == IndexSpace::tensor ? y.tensor : y.window;
}

/// Indices in space window as values of dtype u8, i32 or i64; the cast of -1 is what says that there is no tap.
inline std::vector<std::byte> as_codes(const reference::Outcome& y, Dtype dtype) {
  std::vector<std::byte> out;
  for (const index_t code : y.window) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&code);  // little endian
    out.insert(out.end(), bytes, bytes + size_bytes(dtype));
  }
  return out;
}

/// The dtypes of small codes that the problem's windows allow.
inline std::vector<Dtype> code_dtypes(const Problem& p) {
  if (p.taps() <= kMostByteCodes) return {Dtype::u8, Dtype::i32};
  return {Dtype::i32};
}

/// y with small codes (S10).
inline std::string check_codes(const Case& c, Layout in, Layout out, const Options& options) {
  const Placed x(c.problem.dtype, c.problem.shape, in, c.x.data(), c.problem.order);
  const Extents shape = extents(c.y.shape);
  for (Dtype dtype : code_dtypes(c.problem)) {
    Placed y(c.problem.dtype, shape, out, nullptr, c.problem.order);
    Placed codes(dtype, shape, out, nullptr, c.problem.order);
    forward(c.problem.pool, {.x = x.view(), .y = y.view(), .indices = codes.view(), .space = IndexSpace::window},
            options);
    if (std::string wrong = differs(c, "forward with codes", c.y, y, in); !wrong.empty()) return wrong;
    if (!codes.guards_survive()) return fmt::format("codes of {} wrote outside", to_string(c.problem));
    const std::vector<std::byte> got = codes.dense(), expected = as_codes(c.y, dtype);
    const index_t i = reference::first_difference(dtype, expected.data(), got.data(), element_count(shape));
    if (i >= 0)
      return fmt::format("code ({}, {}) of {}: element {} is {} instead of {}", name(dtype), name(in),
                         to_string(c.problem), i, reference::element(dtype, got.data(), i),
                         reference::element(dtype, expected.data(), i));
  }
  return {};
}

/// y, and with indices where the op has them.
inline std::string check_forward(const Case& c, Layout in, Layout out, const Options& options = {}) {
  const Dtype dtype = c.problem.dtype;
  const Extents shape = extents(c.y.shape);
  const Placed x(dtype, c.problem.shape, in, c.x.data(), c.problem.order);
  Placed y(dtype, shape, out, nullptr, c.problem.order);
  forward(c.problem.pool, {.x = x.view(), .y = y.view()}, options);
  if (std::string wrong = differs(c, "forward", c.y, y, in); !wrong.empty()) return wrong;
  if (!x.untouched()) return "forward wrote into its input";
  if (!c.picks()) return {};
  for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor, IndexSpace::window}) {
    Placed z(dtype, shape, out, nullptr, c.problem.order), indices(Dtype::i64, shape, out, nullptr);
    forward(c.problem.pool, {.x = x.view(), .y = z.view(), .indices = indices.view(), .space = space}, options);
    if (std::string wrong = differs(c, "forward with indices", c.y, z, in); !wrong.empty()) return wrong;
    if (!indices.guards_survive()) return fmt::format("indices of {} wrote outside", to_string(c.problem));
    const std::vector<std::byte> got = indices.dense();
    const std::vector<index_t>& expected = indices_of(c.y, space);
    const index_t i = reference::first_difference(Dtype::i64, expected.data(), got.data(), element_count(shape));
    if (i >= 0)
      return fmt::format("index (space {}, {}) of {}: element {} is {} instead of {}", static_cast<int>(space),
                         name(in), to_string(c.problem), i, reference::element(Dtype::i64, got.data(), i),
                         expected[static_cast<std::size_t>(i)]);
  }
  return check_codes(c, in, out, options);
}

/// dx in each way the entry points offer for the op.
inline std::string check_backward(const Case& c, Layout in, Layout out, const Options& options = {}) {
  if (!c.backward) return {};
  const Dtype dtype = c.problem.dtype;
  const Pool& pool = c.problem.pool;
  const Placed x(dtype, c.problem.shape, in, c.x.data(), c.problem.order);
  const Placed dy(dtype, extents(c.y.shape), in, c.dy.data(), c.problem.order);
  const bool exact = pool.op != Op::lp || pool.norm == 1;
  const auto judge = [&](const char* what, const Placed& dx) {
    return exact ? differs(c, what, c.dx, dx, in) : beyond_bound(c, what, c.dx, dx, in);
  };
  Placed dx(dtype, c.problem.shape, out, nullptr, c.problem.order);
  backward(pool, {.x = x.view(), .dy = dy.view(), .dx = dx.view()}, options);
  if (std::string wrong = judge("backward", dx); !wrong.empty()) return wrong;
  if (!x.untouched() || !dy.untouched()) return "backward wrote into its input";
  if ((pool.op == Op::sum || pool.op == Op::avg) && !c.omits()) {
    Placed without(dtype, c.problem.shape, out, nullptr, c.problem.order);
    backward(pool, {.dy = dy.view(), .dx = without.view()}, options);
    if (std::string wrong = judge("backward without x", without); !wrong.empty()) return wrong;
  }
  if (!c.picks()) return {};
  for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor, IndexSpace::window}) {
    const Placed indices(Dtype::i64, extents(c.y.shape), in, indices_of(c.y, space).data());
    Placed stored(dtype, c.problem.shape, out, nullptr, c.problem.order);
    backward(pool, {.dy = dy.view(), .indices = indices.view(), .space = space, .dx = stored.view()}, options);
    if (std::string wrong = judge("backward from indices", stored); !wrong.empty())
      return fmt::format("space {}: {}", static_cast<int>(space), wrong);
  }
  for (Dtype codes_dtype : code_dtypes(c.problem)) {
    const std::vector<std::byte> values = as_codes(c.y, codes_dtype);
    const Placed codes(codes_dtype, extents(c.y.shape), in, values.data(), c.problem.order);
    Placed coded(dtype, c.problem.shape, out, nullptr, c.problem.order);
    backward(pool, {.dy = dy.view(), .indices = codes.view(), .space = IndexSpace::window, .dx = coded.view()},
             options);
    if (std::string wrong = judge("backward from codes", coded); !wrong.empty())
      return fmt::format("{}: {}", name(codes_dtype), wrong);
  }
  return {};
}

/// x from y and its indices.
inline std::string check_unpool(const Case& c, Layout in, Layout out, const Options& options = {}) {
  if (!c.picks()) return {};
  const Dtype dtype = c.problem.dtype;
  const reference::Outcome expected = reference::unpool(c.pooling.shape, dtype, c.y.bits.data(), c.y.tensor);
  Extents axes;
  for (int i = 0; i < c.problem.pooled; ++i) axes.push_back(c.problem.axes[static_cast<std::size_t>(i)]);
  const Placed y(dtype, extents(c.y.shape), in, c.y.bits.data(), c.problem.order);
  for (IndexSpace space : {IndexSpace::plane, IndexSpace::tensor}) {
    const Placed indices(Dtype::i64, extents(c.y.shape), in, indices_of(c.y, space).data());
    Placed x(dtype, c.problem.shape, out, nullptr, c.problem.order);
    unpool(axes, {.y = y.view(), .indices = indices.view(), .space = space, .x = x.view()}, options);
    if (std::string wrong = differs(c, "unpool", expected, x, in); !wrong.empty()) return wrong;
  }
  return {};
}

inline std::string check_all(const Case& c, Layout in, Layout out, const Options& options = {}) {
  std::string wrong = check_forward(c, in, out, options);
  if (wrong.empty()) wrong = check_backward(c, in, out, options);
  if (wrong.empty()) wrong = check_unpool(c, in, out, options);
  return wrong;
}

}  // namespace oriel::test
