#include "oriel/tile/index.h"

#include <algorithm>

namespace oriel::tile::nl {
namespace {

// Axes are matched from the last one on, as NumPy does; an axis of one element stands for any number.
Values broadcast(const index& a, const index& b) {
  Values out(std::max(a.extents().size(), b.extents().size()), 1);
  for (const index* i : {&a, &b}) {
    const std::size_t shift = out.size() - i->extents().size();
    for (std::size_t d = 0; d < i->extents().size(); ++d) {
      const index_t n = i->extents()[d];
      index_t& m = out[d + shift];
      if (n != 1 && m != 1 && n != m)
        throw Failure("err_tensor_index_shape_mismatch",
                      "index tensors that are joined must have the same extents, but axis " +
                          std::to_string(d + shift) + " has " + std::to_string(m) + " and " + std::to_string(n),
                      i->where());
      if (n != 1) m = n;
    }
  }
  return out;
}

index combine(const index& a, index_t factor, const index& b) {
  Values extents = broadcast(a, b);
  Values steps(extents.size(), 0);
  const std::size_t shift_a = extents.size() - a.extents().size(), shift_b = extents.size() - b.extents().size();
  for (std::size_t d = 0; d < a.steps().size(); ++d) steps[d + shift_a] += a.steps()[d];
  for (std::size_t d = 0; d < b.steps().size(); ++d) steps[d + shift_b] += factor * b.steps()[d];
  return {a.base() + factor * b.base(), std::move(extents), std::move(steps), a.advanced() ? a.where() : b.where()};
}

bool is_constant(const index& i) { return !i.advanced() && i.base().terms.empty(); }

}  // namespace

index operator+(const index& a, const index& b) { return combine(a, 1, b); }
index operator-(const index& a, const index& b) { return combine(a, -1, b); }
index operator-(const index& a) { return combine(0, -1, a); }

index operator*(const index& a, const index& b) {
  if (!is_constant(a) && !is_constant(b))
    throw Failure("err_unsupported_expression_in_index",
                  "an index must be affine, but this is a product of two indices; multiply by an integer", a.where());
  return is_constant(a) ? combine(0, a.base().constant, b) : combine(0, b.base().constant, a);
}

index operator%(const index& a, index_t b) {
  throw Failure("err_unsupported_expression_in_mask",
                "an index or mask must be affine, but this is a remainder by " + std::to_string(b) +
                    "; split the axis: an mgrid with one axis more, of " + std::to_string(b),
                a.where());
}

mask operator&(const mask& a, const mask& b) {
  mask both = a;
  both.terms_.insert(both.terms_.end(), b.terms_.begin(), b.terms_.end());
  return both;
}
mask operator<(const index& a, const index& b) { return mask(b - a - 1); }
mask operator<=(const index& a, const index& b) { return mask(b - a); }
mask operator>(const index& a, const index& b) { return mask(a - b - 1); }
mask operator>=(const index& a, const index& b) { return mask(a - b); }

namespace detail {

index grid_axis(const std::vector<span_1d>& spans, std::size_t axis, const Where& where) {
  Values extents, steps(spans.size(), 0);
  for (const span_1d& s : spans) {
    if (s.end <= s.begin)
      throw Failure("err_empty_index",
                    "an axis of mgrid or arange must have elements, but one is " + std::to_string(s.begin) + ":" +
                        std::to_string(s.end),
                    where);
    extents.push_back(s.end - s.begin);
  }
  steps[axis] = 1;
  return {spans[axis].begin, std::move(extents), std::move(steps), where};
}

}  // namespace detail

index arange::operator[](std::initializer_list<axis> list) const {
  std::vector<span_1d> spans;
  std::size_t own = 0;
  int found = 0;
  for (const axis& a : list) {
    if (!a.is_new) {
      own = spans.size();
      ++found;
    }
    spans.push_back(a.is_new ? span_1d(1) : span_);
  }
  if (found != 1)
    throw Failure("err_1d_arange_not_supported",
                  "the brackets of an arange must hold nl::all once, but hold it " + std::to_string(found) + " times",
                  where_);
  return detail::grid_axis(spans, own, where_);
}

}  // namespace oriel::tile::nl
