// Indices of the tile language: affine expressions of mgrid's and arange's axes, of loops' counters and of
// program ids; the contents of a tensor's brackets; masks. The names are those of neuronxcc.nki.language.
#pragma once

#include <array>
#include <concepts>
#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile::nl {

/// An integer that is known when the kernel is specialised, or an index tensor: one integer for each point of an
/// iteration space, base + sum of step[axis] * i[axis]. It has neither a C++ value nor a truth value, so a condition on
/// it does not compile.
class index {
 public:
  index() = default;
  template <std::integral T>
  index(T value) : base_(static_cast<index_t>(value)) {}
  index(Affine base, Values extents, Values steps, const Where& where)
      : base_(std::move(base)), extents_(std::move(extents)), steps_(std::move(steps)), where_(where) {}

  /// True for indices from mgrid and arange; false for integers, loop counters and program ids.
  bool advanced() const { return !extents_.empty(); }
  const Affine& base() const { return base_; }
  const Values& extents() const { return extents_; }  // of the iteration space; 1 if it is broadcast
  const Values& steps() const { return steps_; }
  const Where& where() const { return where_; }

 private:
  Affine base_;
  Values extents_, steps_;
  Where where_;
};

ORIEL_API index operator+(const index& a, const index& b);
ORIEL_API index operator-(const index& a, const index& b);
ORIEL_API index operator-(const index& a);
/// One of the two must be an integer: an index is affine. Throws Failure err_unsupported_expression_in_index.
ORIEL_API index operator*(const index& a, const index& b);
/// Not affine, so not an index: throws Failure err_unsupported_expression_in_mask.
ORIEL_API index operator%(const index& a, index_t b);

/// The points of an iteration space that an instruction works on: a conjunction of comparisons of indices.
class mask {
 public:
  mask() = default;
  explicit mask(const index& not_negative) : terms_{not_negative} {}
  const std::vector<index>& terms() const { return terms_; }  // each must be >= 0
  ORIEL_API friend mask operator&(const mask& a, const mask& b);
  friend mask operator&&(const mask& a, const mask& b) = delete;  // `&` joins masks, as in Python

 private:
  std::vector<index> terms_;
};
ORIEL_API mask operator<(const index& a, const index& b);
ORIEL_API mask operator<=(const index& a, const index& b);
ORIEL_API mask operator>(const index& a, const index& b);
ORIEL_API mask operator>=(const index& a, const index& b);

/// begin:end:step.
struct slice {
  index begin = 0;
  index_t end = 0;
  index_t step = 1;
};
/// `nl.ds(start, size)`: a slice of `size` elements that begins at an index.
struct ds {
  index start;
  index_t size;
  ds(index from, index_t count) : start(std::move(from)), size(count) {}
};
/// `:`.
struct colon_t {};
inline constexpr colon_t all{};
/// `None`: a new axis of one element; in the brackets of an arange only.
struct new_axis_t {};
inline constexpr new_axis_t None{};

/// A subscript in the brackets of a tensor, with its source line.
class subscript {
 public:
  enum class Kind : std::uint8_t { scalar, slice, whole, advanced };
  using where_t = Where;

  template <std::integral T>
  subscript(T i, const where_t& at = where_t::current())
      : kind(Kind::scalar), value(static_cast<index_t>(i)), where(at) {}
  subscript(const index& i, const where_t& at = where_t::current())
      : kind(i.advanced() ? Kind::advanced : Kind::scalar), value(i), where(at) {}
  subscript(const slice& s, const where_t& at = where_t::current())
      : kind(Kind::slice),
        value(s.begin),
        count((s.end - s.begin.base().constant + s.step - 1) / s.step),
        step(s.step),
        where(at) {}
  subscript(const ds& s, const where_t& at = where_t::current())
      : kind(Kind::slice), value(s.start), count(s.size), where(at) {}
  subscript(colon_t, const where_t& at = where_t::current()) : kind(Kind::whole), where(at) {}

  Kind kind;
  index value = 0;
  index_t count = 0, step = 1;
  where_t where;
};

/// begin:end of one axis of an mgrid; an integer n is 0:n.
struct span_1d {
  index_t begin = 0, end = 0;
  template <std::integral T>
  span_1d(T n) : end(static_cast<index_t>(n)) {}
  span_1d(index_t from, index_t to) : begin(from), end(to) {}
};

namespace detail {
ORIEL_API index grid_axis(const std::vector<span_1d>& spans, std::size_t axis, const Where& where);
}

/// `nl.mgrid[0:a, b:c, …]`: an index for each axis of a dense grid. Spans are given as `a` or `nl::span_1d(b, c)`.
/// Example: auto [i, j] = nl::mgrid(128, 512);
template <class... Spans>
struct mgrid : std::array<index, sizeof...(Spans)> {
  explicit mgrid(Spans... spans, const Where& where = Where::current()) {
    const std::vector<span_1d> all_spans = {span_1d(spans)...};
    for (std::size_t a = 0; a < sizeof...(Spans); ++a) (*this)[a] = detail::grid_axis(all_spans, a, where);
  }
};
template <class... Spans>
mgrid(Spans...) -> mgrid<Spans...>;

/// `nl.arange(n)`, whose position among the axes must be given: `nl::arange(128)[{nl::all, nl::None}]`.
class arange {
 public:
  struct axis {
    bool is_new;
    axis(colon_t) : is_new(false) {}
    axis(new_axis_t) : is_new(true) {}
  };
  explicit arange(index_t n, const Where& where = Where::current()) : span_(n), where_(where) {}
  arange(index_t begin, index_t end, const Where& where = Where::current()) : span_(begin, end), where_(where) {}
  /// Throws Failure unless there is exactly one `all`.
  ORIEL_API index operator[](std::initializer_list<axis> axes) const;

 private:
  span_1d span_;
  Where where_;
};

}  // namespace oriel::tile::nl

// Structured bindings: auto [i0, i1] = nl::mgrid(2, 3);
template <class... Spans>
struct std::tuple_size<oriel::tile::nl::mgrid<Spans...>> : std::integral_constant<std::size_t, sizeof...(Spans)> {};
template <std::size_t I, class... Spans>
struct std::tuple_element<I, oriel::tile::nl::mgrid<Spans...>> {
  using type = oriel::tile::nl::index;
};
