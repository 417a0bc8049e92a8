// Random small kernels: every function of the language in random order on random shapes and dtypes.
#pragma once

#include <algorithm>
#include <random>

#include "tile/tutorial.h"

namespace oriel::tile::test {

class RandomKernel {
 public:
  explicit RandomKernel(unsigned seed) : random_(seed) {
    rows_ = 1 + pick(6);
    shape_ = {rows_ * (1 + pick(3)), 1 + pick(6), 1 + pick(8)};
    dtype_ = any_dtype();
    kind_ = pick(4);
  }

  Values grid() const { return kind_ == 3 ? Values{shape_[0] / rows_} : Values{}; }
  std::vector<nki::array> inputs() {
    std::vector<nki::array> out;
    for (int i = 0; i < 2; ++i) {
      nki::array x(dtype_, {shape_[0], shape_[1], shape_[2]});
      visit(dtype_, [&]<class T>() {
        for (index_t k = 0; k < x.size(); ++k) x.data<T>()[k] = element<T>();
      });
      out.push_back(x);
    }
    return out;
  }

  /// Records: windows of the planes of each block of rows, by a loop, a masked loop, a grid, or all at once.
  nl::tensor record(const nl::tensor& x, const nl::tensor& y) {
    nl::tensor out;
    if (kind_ == 0) {
      const nl::tensor result = steps(nl::load(x), nl::load(y));
      out = make_out(result, result.shape()[0]);
      nl::store(out, result);
    } else if (kind_ == 3) {
      const nl::index first = nl::program_id(0) * rows_;
      block(x, y, out, first, false);
    } else {
      // The shape of a result is known only inside the loop, and HBM is made outside: so it is f32 of two axes.
      out = nl::ndarray({shape_[0], 4}, {.buffer = nl::shared_hbm});
      const index_t tile = kind_ == 1 ? rows_ : rows_ + 1;  // kind 2: the last block is masked
      for (auto first : nl::affine_range(0, shape_[0], tile)) loop_body(x, y, out, first, tile);
    }
    return out;
  }

 private:
  index_t pick(int n) { return static_cast<index_t>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  Dtype any_dtype() {
    constexpr Dtype list[] = {Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32, Dtype::u8, Dtype::i16};
    return list[pick(7)];
  }
  template <class T>
  T element() {
    if constexpr (is_floating_v<T>) {
      const index_t special = pick(60);
      if (special == 0) return static_cast<T>(std::numeric_limits<double>::quiet_NaN());
      if (special == 1) return static_cast<T>(-0.0);
      if (special == 2) return static_cast<T>(std::numeric_limits<double>::infinity());
      return static_cast<T>(std::normal_distribution<double>(0, 8)(random_));
    } else {
      return detail::element_of<T>(static_cast<double>(pick(std::is_same_v<T, std::int32_t> ? 1 << 30 : 200)));
    }
  }
  double number() {
    constexpr double list[] = {0, 1, 2, 3, 4, 7, 9, -1, -2, 0.5, 0.1, 1.7, 1e-3, 250};
    return list[pick(14)];
  }

  static nl::tensor make_out(const nl::tensor& result, index_t rows) {
    Extents shape;
    for (const index_t n : result.shape()) shape.push_back(n);
    shape[0] = rows;
    return nl::ndarray(shape, {.dtype = result.dtype(), .buffer = nl::shared_hbm});
  }

  void block(const nl::tensor& x, const nl::tensor& y, nl::tensor& out, const nl::index& first, bool) {
    const auto part = [&](const nl::tensor& t) { return nl::load(t[{nl::ds(first, rows_)}]); };
    const nl::tensor result = steps(part(x), part(y));
    out = make_out(result, shape_[0]);
    nl::store(out[{nl::ds(first, rows_)}], result);
  }

  void loop_body(const nl::tensor& x, const nl::tensor& y, const nl::tensor& out, const nl::index& first,
                 index_t tile) {
    auto [p, i, j] = nl::mgrid(tile, shape_[1], shape_[2]);
    const nl::mask exists = kind_ == 2 ? first + p < shape_[0] : nl::mask();
    nl::tensor result =
        steps(nl::load(x[{first + p, i, j}], {.mask = exists}), nl::load(y[{first + p, i, j}], {.mask = exists}));
    while (result.shape().size() > 1) result = nl::max(result, {.axis = -1});  // one column
    auto [q, c] = nl::mgrid(tile, 4);
    const nl::mask there = kind_ == 2 ? first + q < shape_[0] : nl::mask();
    auto column = nl::iota(c + q, Dtype::f32) + nl::tensor(result[{q}]);
    nl::store(out[{first + q, c}], {.value = column, .mask = there});
  }

  nl::tensor steps(const nl::tensor& x, const nl::tensor& y) {
    values_ = {x, y};
    const index_t n = 1 + pick(6);
    for (index_t s = 0; s < n; ++s) values_.push_back(step(values_[values_.size() - 1 - pick(2) % values_.size()]));
    return values_.back();
  }

  std::optional<Dtype> maybe_dtype() { return chance(40) ? std::optional<Dtype>(any_dtype()) : std::nullopt; }

  nl::tensor step(const nl::tensor& t) {
    switch (pick(10)) {
      case 9:
        return serial(t);
      case 0:
        return with_number(t);
      case 1:
        return with_tile(t);
      case 2:
        return reduce(t);
      case 3:
        return windows(t);
      case 4:
        return nl::where(nl::greater(t, number()), t, nl::operand(number()), {.dtype = maybe_dtype()});
      case 5:
        return one(t);
      case 6:
        return part(t);
      case 7:
        return assigned(t);
      default:
        return nl::copy(t, {.dtype = maybe_dtype()});
    }
  }

  nl::tensor binary(const nl::operand& a, const nl::operand& b) {
    const nl::math_options o{.dtype = maybe_dtype()};
    switch (pick(9)) {
      case 0:
        return nl::add(a, b, o);
      case 1:
        return nl::subtract(a, b, o);
      case 2:
        return nl::multiply(a, b, o);
      case 3:
        return nl::divide(a, b, o);
      case 4:
        return nl::maximum(a, b, o);
      case 5:
        return nl::minimum(a, b, o);
      case 6:
        return nl::less(a, b, o);
      case 7:
        return nl::not_equal(a, b, o);
      default:
        return nl::greater_equal(a, b, o);
    }
  }
  nl::tensor with_number(const nl::tensor& t) {
    const double v = number();
    if (chance(40)) return binary(t, static_cast<int>(v));
    return chance(30) ? binary(v, t) : binary(t, v);
  }
  nl::tensor with_tile(const nl::tensor& t) {
    for (const nl::tensor& other : values_)
      if (other.shape() == t.shape() && chance(70)) return binary(t, other);
    if (t.shape().size() < 2) return binary(t, t);
    const int last = static_cast<int>(t.shape().size()) - 1;
    return binary(t, nl::max(t, {.axis = last, .keepdims = true}));  // repeated along the last axis
  }
  nl::tensor one(const nl::tensor& t) {
    const nl::math_options o{.dtype = maybe_dtype()};
    const index_t which = pick(3);
    return which == 0 ? nl::abs(t, o) : which == 1 ? nl::square(t, o) : nl::sqrt(t, o);
  }
  nl::tensor serial(const nl::tensor& t) {
    index_t elements = 1;
    for (std::size_t d = 1; d < t.shape().size(); ++d) elements *= t.shape()[d];
    if (elements >= 8 && chance(50)) return nisa::max8(t, {.dtype = maybe_dtype()});
    if (t.shape().size() != 2) return one(t);
    constexpr Alu list[] = {Alu::add, Alu::multiply, Alu::max, Alu::subtract, Alu::less};
    nl::operand initial(number());
    if (chance(50)) initial = nl::operand(nl::tensor(t[{nl::all, nl::ds(0, 1)}]));
    return nisa::tensor_tensor_scan({.data0 = t,
                                     .data1 = chance(50) ? t : nl::copy(t),
                                     .initial = initial,
                                     .op0 = list[pick(5)],
                                     .op1 = list[pick(5)],
                                     .dtype = maybe_dtype()});
  }
  nl::tensor folded(const nl::tensor& t, const nl::reduce_options& o) {
    switch (pick(5)) {
      case 0:
        return nl::sum(t, o);
      case 1:
        return nl::max(t, o);
      case 2:
        return nl::min(t, o);
      case 3:
        return nl::prod(t, o);
      default:
        return o.mask.terms().empty() ? nl::mean(t, o) : nl::sum(t, o);
    }
  }
  nl::tensor reduce(const nl::tensor& t) {
    const int rank = static_cast<int>(t.shape().size());
    if (rank < 3) return one(t);
    nl::axes axes(1 + static_cast<int>(pick(rank - 1)));
    if (rank > 3 && chance(50)) axes.values = {2, 1};
    const bool whole_axis = std::find(axes.values.begin(), axes.values.end(), 1) == axes.values.end();
    const nl::mask mask = whole_axis || chance(60) ? nl::mask() : part_of_axis(t.shape().size(), t.shape()[1]);
    return folded(t, {.axis = axes, .dtype = maybe_dtype(), .keepdims = chance(30), .mask = mask});
  }
  nl::tensor windows(const nl::tensor& t) {
    if (t.shape().size() != 3) return one(t);
    index_t k[2], s[2], n[2];
    for (std::size_t a = 0; a < 2; ++a) {
      const index_t size = t.shape()[a + 1];
      k[a] = 1 + pick(static_cast<int>(std::min<index_t>(size, 3)));
      s[a] = 1 + pick(3);
      n[a] = (size - k[a]) / s[a] + 1;
    }
    auto [p, i, y, j, z] = nl::mgrid(t.shape()[0], n[0], k[0], n[1], k[1]);
    return folded(t[{p, s[0] * i + y, s[1] * j + z}], {.axis = {2, 4}, .dtype = maybe_dtype()});
  }
  nl::tensor part(const nl::tensor& t) {
    if (t.shape().size() < 2) return one(t);
    const index_t size = t.shape()[1], from = pick(static_cast<int>(size)), n = 1 + pick(static_cast<int>(size - from));
    const index_t step = 1 + pick(2);
    return nl::copy(t[{nl::all, nl::slice{from, from + n, step}}]);
  }
  // Some of the n places of axis 1, one at least.
  nl::mask part_of_axis(std::size_t rank, index_t n) {
    Values extents(rank, 1), steps(rank, 0);
    extents[1] = n;
    steps[1] = 1;
    const nl::index place(0, extents, steps, Where::current());
    const index_t from = pick(static_cast<int>(n));
    return chance(50) ? place >= from : (2 * place <= 2 * from + 1) & (place >= 0);
  }
  nl::tensor assigned(const nl::tensor& t) {
    if (t.shape().size() < 2) return one(t);
    Extents shape;
    for (const index_t n : t.shape()) shape.push_back(n);
    auto whole = nl::full(shape, number(), {.dtype = t.dtype()});
    const index_t size = t.shape()[1], from = pick(static_cast<int>(size)), n = 1 + pick(static_cast<int>(size - from));
    const nl::tensor source = t[{nl::all, nl::ds(0, n)}];
    const nl::mask mask = chance(40) ? part_of_axis(t.shape().size(), n) : nl::mask();
    whole[{nl::all, nl::ds(from, n)}] = nl::multiply(source, 3, {.dtype = t.dtype(), .mask = mask});
    if (chance(50)) whole[{nl::all, nl::ds(0, n)}] = nl::tensor(whole[{nl::all, nl::ds(from, n)}]);
    return whole;
  }

  std::mt19937 random_;
  index_t rows_ = 1, kind_ = 0;
  std::array<index_t, 3> shape_{};
  Dtype dtype_ = Dtype::f32;
  std::vector<nl::tensor> values_;
};

/// The program and inputs of a seed.
struct RandomProgram {
  Program program;
  std::vector<nki::array> inputs;
};
inline RandomProgram random_program(unsigned seed) {
  RandomKernel kernel(seed);
  RandomProgram out;
  const Values grid = kernel.grid();
  out.inputs = kernel.inputs();
  out.program =
      record("kernel", std::to_string(seed), {out.inputs[0].meta(), out.inputs[1].meta()}, grid,
             [&](const std::vector<nl::tensor>& t) { return std::vector<nl::tensor>{kernel.record(t[0], t[1])}; });
  return out;
}

inline nki::array result_of(const Program& program, const std::vector<nki::array>& inputs, Backend backend) {
  const TensorInfo& out = program.tensor(program.outputs[0]);
  nki::array y(out.dtype, out.shape);
  const std::vector<ConstTensor> in(inputs.begin(), inputs.end());
  const std::vector<Tensor> results = {y};
  run(program, in, results, backend);
  return y;
}

}  // namespace oriel::tile::test
