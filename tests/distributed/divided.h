// A problem with its elements, what one undivided call makes of it, and one rank's parts of all that.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "distributed/partitions.h"
#include "oriel/distributed/transport.h"
#include "pool/fill.h"
#include "reference/reference.h"

namespace oriel::test {

using Bytes = std::vector<std::byte>;

inline Bytes room(Dtype dtype, const Extents& shape) {
  return Bytes(static_cast<std::size_t>(element_count(shape) * size_bytes(dtype)), std::byte{0xa5});
}

/// The elements of a box of a dense row-major tensor, dense; and back.
inline void walk_box(const Extents& shape, const distributed::Box& box, index_t bytes, auto&& body) {
  const Extents pitch = dense_pitch(shape), part = box.shape();
  const index_t count = box.element_count();
  for (index_t i = 0; i < count; ++i) {
    index_t rest = i, offset = 0;
    for (int a = part.size() - 1; a >= 0; --a) {
      offset += (box.begin[a] + rest % part[a]) * pitch[a];
      rest /= part[a];
    }
    body(static_cast<std::size_t>(i * bytes), static_cast<std::size_t>(offset * bytes));
  }
}

inline Bytes part_of(const Bytes& whole, Dtype dtype, const Extents& shape, const distributed::Box& box) {
  Bytes part = room(dtype, box.shape());
  const std::size_t bytes = static_cast<std::size_t>(size_bytes(dtype));
  walk_box(shape, box, size_bytes(dtype),
           [&](std::size_t to, std::size_t from) { std::memcpy(part.data() + to, whole.data() + from, bytes); });
  return part;
}

/// The mask and weights of a problem, as whole tensors.
struct DividedBeside {
  distributed::Beside shapes;
  Dtype mask_dtype = Dtype::u8;
  Bytes mask, weights;

  ConstTensor mask_view() const {
    return shapes.mask.empty() ? ConstTensor() : ConstTensor(mask.data(), mask_dtype, shapes.mask);
  }
  ConstTensor weights_view() const {
    return shapes.weights.empty() ? ConstTensor() : ConstTensor(weights.data(), shapes.weights_dtype, shapes.weights);
  }
};

/// What one undivided call gives.
struct Whole {
  Problem problem;
  DividedBeside beside;
  Bytes x, dy, y, places[3], dx, dx_places, dx_inputs;
  bool has[distributed::kPasses] = {};
  bool indexed = false;

  Whole(const Problem& p, Data data, std::mt19937_64& random)
      : Whole(p, {}, fill(p.dtype, element_count(p.shape), data, random), data, random) {}

  Whole(const Problem& p, DividedBeside given, Bytes inputs, Data data, std::mt19937_64& random)
      : problem(p), beside(std::move(given)), x(std::move(inputs)) {
    const Dtype t = p.dtype;
    dy = fill(p.result, element_count(p.output_shape), data == Data::specials ? Data::reals : data, random);
    y = room(p.result, p.output_shape);
    const Options one{.threads = 1};
    const ConstTensor x_view(x.data(), t, p.shape), dy_view(dy.data(), p.result, p.output_shape);
    const ConstTensor mask = beside.mask_view(), weights = beside.weights_view();
    const Tensor y_view(y.data(), p.result, p.output_shape);
    forward(p.pool, {.x = x_view, .y = y_view, .mask = mask, .weights = weights}, one);
    const distributed::LocalPool alone(
        p, distributed::Partition::balanced(p.shape, Extents::filled(p.shape.size(), 1)),
        distributed::Partition::balanced(p.output_shape, Extents::filled(p.shape.size(), 1)), 0, beside.shapes);
    for (int i = 0; i < distributed::kPasses; ++i) has[i] = alone.has(static_cast<distributed::Pass>(i));
    indexed = alone.has_indices();
    const auto gradient = [&](Bytes& out, auto&& call) {
      out = room(t, p.shape);
      call(Tensor(out.data(), t, p.shape));
    };
    if (indexed) {
      for (int s = 0; s < 3; ++s) {
        places[s] = room(Dtype::i64, p.output_shape);
        forward(p.pool,
                {.x = x_view,
                 .y = y_view,
                 .indices = Tensor(places[s].data(), Dtype::i64, p.output_shape),
                 .space = static_cast<IndexSpace>(s),
                 .mask = mask,
                 .weights = weights},
                one);
      }
    }
    if (has[static_cast<int>(distributed::Pass::backward_indices)]) {
      const ConstTensor taps(places[static_cast<int>(IndexSpace::window)].data(), Dtype::i64, p.output_shape);
      gradient(dx_places, [&](const Tensor& d) {
        backward(p.pool, {.dy = dy_view, .indices = taps, .space = IndexSpace::window, .dx = d}, one);
      });
    }
    if (has[1]) gradient(dx, [&](const Tensor& d) { backward(p.pool, {.dy = dy_view, .dx = d}, one); });
    if (has[3]) {
      gradient(dx_inputs, [&](const Tensor& d) {
        backward(p.pool, {.x = x_view, .dy = dy_view, .dx = d, .mask = mask, .weights = weights}, one);
      });
    }
  }

  bool picks() const { return indexed; }
  const Bytes& gradient(distributed::Pass pass) const {
    return pass == distributed::Pass::backward           ? dx
           : pass == distributed::Pass::backward_indices ? dx_places
                                                         : dx_inputs;
  }
};

/// One rank's parts. `sparse`: its tensors are views of every other element of larger ones.
class RankParts {
 public:
  RankParts(const Whole& whole, const distributed::LocalPool& pool, bool sparse)
      : whole_(whole), in_(pool.inputs()), out_(pool.outputs()), pitch_(sparse ? 2 : 1) {
    const Dtype t = whole.problem.dtype, result = whole.problem.result;
    put(x_, part_of(whole.x, t, whole.problem.shape, in_), t);
    put(dy_, part_of(whole.dy, result, whole.problem.output_shape, out_), result);
    put(y_, room(result, out_.shape()), result);
    put(dx_, room(t, in_.shape()), t);
    put_beside();
    put(places_, room(Dtype::i64, out_.shape()), Dtype::i64);
  }

  /// What a pass works on; with `space`, forward gives places too.
  distributed::Operands operands(distributed::Pass pass, int space = -1) {
    distributed::Operands o;
    const Dtype t = whole_.problem.dtype, result = whole_.problem.result;
    if (pass == distributed::Pass::forward || pass == distributed::Pass::backward_inputs) {
      o.x = view(x_, t, in_);
      if (!mask_box_.begin.empty()) o.mask = view(mask_, whole_.beside.mask_dtype, mask_box_);
      if (!weights_box_.begin.empty()) o.weights = view(weights_, whole_.beside.shapes.weights_dtype, weights_box_);
    }
    if (pass == distributed::Pass::forward) o.y = view(y_, result, out_);
    if (pass == distributed::Pass::backward_indices || space >= 0) {
      o.indices = view(places_, Dtype::i64, out_);
      o.space = space >= 0 ? static_cast<IndexSpace>(space) : IndexSpace::window;
    }
    if (pass != distributed::Pass::forward) {
      o.dy = view(dy_, result, out_);
      o.dx = view(dx_, t, in_);
    }
    return o;
  }

  /// Makes what is written unlike every result, before a pass.
  void spoil(distributed::Pass pass) {
    for (Bytes* b : {&y_, &dx_}) std::fill(b->begin(), b->end(), std::byte{0x5a});
    if (pass == distributed::Pass::forward) std::fill(places_.begin(), places_.end(), std::byte{0x5a});
  }

  /// Empty, or what is wrong with the results of a pass.
  std::string judge(distributed::Pass pass, int space = -1) const {
    const Problem& p = whole_.problem;
    if (pass != distributed::Pass::forward) return compare("dx", dx_, whole_.gradient(pass), p.dtype, p.shape, in_);
    std::string wrong = compare("y", y_, whole_.y, p.result, p.output_shape, out_);
    if (!wrong.empty() || space < 0) return wrong;
    return compare("place", places_, whole_.places[space], Dtype::i64, p.output_shape, out_);
  }

 private:
  // The rank's part of what is beside x: all of it along the axes where it has one element and x has more.
  distributed::Box beside_box(const Extents& shape) const {
    distributed::Box box = in_;
    for (int d = 0; d < shape.size(); ++d) {
      if (shape[d] == whole_.problem.shape[d]) continue;
      box.begin[d] = 0;
      box.end[d] = 1;
    }
    return box;
  }
  void put_beside() {
    const DividedBeside& b = whole_.beside;
    if (!b.shapes.mask.empty()) {
      mask_box_ = beside_box(b.shapes.mask);
      put(mask_, part_of(b.mask, b.mask_dtype, b.shapes.mask, mask_box_), b.mask_dtype);
    }
    if (!b.shapes.weights.empty()) {
      weights_box_ = beside_box(b.shapes.weights);
      const Dtype t = b.shapes.weights_dtype;
      put(weights_, part_of(b.weights, t, b.shapes.weights, weights_box_), t);
    }
  }
  void put(Bytes& to, const Bytes& elements, Dtype dtype) const {
    const std::size_t bytes = static_cast<std::size_t>(size_bytes(dtype)), pitch = static_cast<std::size_t>(pitch_);
    to.assign(elements.size() * pitch, std::byte{0});
    for (std::size_t i = 0; i < elements.size() / bytes; ++i) {
      std::memcpy(to.data() + i * bytes * pitch, elements.data() + i * bytes, bytes);
    }
  }
  Tensor view(Bytes& b, Dtype dtype, const distributed::Box& box) const {
    Extents pitch = dense_pitch(box.shape());
    for (index_t& p : pitch) p *= pitch_;
    return Tensor(b.data(), dtype, box.shape(), pitch);
  }
  std::string compare(const char* what, const Bytes& got, const Bytes& whole, Dtype dtype, const Extents& shape,
                      const distributed::Box& box) const {
    const Bytes expected = part_of(whole, dtype, shape, box);
    Bytes dense = expected;
    const std::size_t bytes = static_cast<std::size_t>(size_bytes(dtype)), pitch = static_cast<std::size_t>(pitch_);
    for (std::size_t i = 0; i < dense.size() / bytes; ++i) {
      std::memcpy(dense.data() + i * bytes, got.data() + i * bytes * pitch, bytes);
    }
    const index_t i = reference::first_difference(dtype, expected.data(), dense.data(), box.element_count());
    if (i < 0) return {};
    return fmt::format("{} element {} of {} is {} instead of {}", what, i, to_string(box.shape()),
                       reference::element(dtype, dense.data(), i), reference::element(dtype, expected.data(), i));
  }

  const Whole& whole_;
  distributed::Box in_, out_, mask_box_, weights_box_;
  index_t pitch_;
  Bytes x_, mask_, weights_, dy_, y_, dx_, places_;
};

/// All passes of one rank, one after another: empty, or what differs from the undivided call. `each(pass, operands)`
/// runs a pass.
inline std::string check_passes(const Whole& whole, RankParts& parts, auto&& each) {
  const auto one = [&](distributed::Pass pass, int space) -> std::string {
    parts.spoil(pass);
    each(pass, parts.operands(pass, space));
    const std::string wrong = parts.judge(pass, space);
    return wrong.empty() ? wrong : fmt::format("{}: {}", distributed::name(pass), wrong);
  };
  std::string wrong = one(distributed::Pass::forward, -1);
  if (whole.picks()) {
    for (int space : {0, 1, 2}) {  // the last counts taps, for the gradient
      if (wrong.empty()) wrong = one(distributed::Pass::forward, space);
    }
  }
  for (int i = 1; i < distributed::kPasses; ++i) {
    if (whole.has[i] && wrong.empty()) wrong = one(static_cast<distributed::Pass>(i), -1);
  }
  return wrong;
}

/// The passes that a problem has.
inline std::vector<distributed::Pass> passes_of(const Whole& whole) {
  std::vector<distributed::Pass> passes;
  for (int i = 0; i < distributed::kPasses; ++i) {
    if (whole.has[i]) passes.push_back(static_cast<distributed::Pass>(i));
  }
  return passes;
}

}  // namespace oriel::test
