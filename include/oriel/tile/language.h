// The tile language, as neuronxcc.nki.language (NKI 0.1, SDK 2.21 to 2.26) has it. Every function records an
// instruction of the kernel that is being specialised (see jit.h); outside a kernel it throws Failure. Python's keyword
// arguments are options in braces: nl::sum(x, {.axis = {2, 4}}).
//
// Arithmetic is done in f32 and rounded once to the result's dtype. Results of two tiles have the dtype of NKI's table
// of promotions: (int, float) -> float, (f16, bf16) -> f32, (i8, u8) -> i16, (i32, u32) -> f32; a C++ integer counts
// as i32 and a double as f32. A reduction has its operand's dtype unless `dtype` is given, so the sum of halves is
// rounded to half before it is divided: {.dtype = nl::float32} is the precise form.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oriel/tile/index.h"

namespace oriel::tile::nl {

inline constexpr Dtype float32 = Dtype::f32, float16 = Dtype::f16, bfloat16 = Dtype::bf16, int32 = Dtype::i32,
                       uint32 = Dtype::u32, int16 = Dtype::i16, uint16 = Dtype::u16, int8 = Dtype::i8,
                       uint8 = Dtype::u8;
inline constexpr Space hbm = Space::hbm, shared_hbm = Space::shared_hbm, sbuf = Space::sbuf;

/// The machine's tile sizes: partitions, and the free sizes of matrix products.
inline constexpr struct { int pmax = 128, gemm_stationary_fmax = 128, gemm_moving_fmax = 512; } tile_size;

using where_t = Where;
class view;

/// A tensor in HBM, a tile in SBUF, or a part of one.
class tensor {
 public:
  tensor() = default;
  tensor(Access access, Values counts, std::shared_ptr<const int> handle)
      : access_(std::move(access)), counts_(std::move(counts)), handle_(std::move(handle)) {}

  /// `auto [c, h, w] = x.shape<3>();` Throws Failure if the rank is not N.
  template <int N>
  std::array<int, N> shape(const where_t& where = where_t::current()) const {
    std::array<int, N> sizes{};
    check_rank(N, where);
    for (std::size_t d = 0; d < N; ++d) sizes[d] = static_cast<int>(counts_[d]);
    return sizes;
  }
  const Values& shape() const { return counts_; }
  ORIEL_API Dtype dtype() const;
  /// A part: integers, slices, `nl::all` (missing ones are whole), or index tensors for every dimension; the result has
  /// the shape of their iteration space. Throws Failure if the two are mixed, or for more subscripts than dimensions.
  ORIEL_API view operator[](std::initializer_list<subscript> subscripts) const;
  /// This tensor; throws Failure err_annotation_shape_mismatch if it has another shape.
  ORIEL_API tensor assert_shape(const Extents& expected, const where_t& where = where_t::current()) const;
  /// This tensor, under that name in listings and messages.
  ORIEL_API tensor named(const std::string& name) const;

  const Access& access() const { return access_; }
  /// Shared by all objects that refer to the tensor or a part of it.
  const std::shared_ptr<const int>& handle() const { return handle_; }

 private:
  ORIEL_API void check_rank(int rank, const where_t& where) const;
  Access access_;
  Values counts_;
  std::shared_ptr<const int> handle_;
};

/// A part of a tensor that may be assigned to: tile[{…}] = nl::load(x[{…}]);
class view : public tensor {
 public:
  view(tensor part, const where_t& where) : tensor(std::move(part)), where_(where) {}
  view(const view&) = default;
  /// Copies, repeating free axes of one element; an intermediate result that nothing else refers to is computed
  /// directly into this part instead (if it is masked, where its mask is true).
  ORIEL_API void operator=(const tensor& value) const;
  ORIEL_API void operator=(tensor&& value) const;
  void operator=(const view& value) const { *this = static_cast<const tensor&>(value); }

 private:
  where_t where_;
};

/// A tensor or a C++ number, with the line where it is used.
class operand {
 public:
  operand(const tensor& t, const where_t& at = where_t::current()) : tile(t), where(at) {}
  template <std::integral T>
  operand(T v, const where_t& at = where_t::current()) : number(static_cast<double>(v)), where(at) {}
  template <std::floating_point T>
  operand(T v, const where_t& at = where_t::current()) : number(v), is_float(true), where(at) {}

  std::optional<tensor> tile;
  double number = 0;
  bool is_float = false;
  where_t where;
};
/// A C++ number to the left of an operator.
struct scalar {
  template <class T>
  requires std::is_arithmetic_v<T> scalar(T v, const where_t& at = where_t::current()) : value(v, at) {}
  operand value;
};

// Creation ------------------------------------------------------------------------------------------------------------

struct ndarray_options {
  Dtype dtype = Dtype::f32;
  Space buffer = Space::sbuf;
};
/// An unwritten tensor. `hbm` and `shared_hbm` ones belong to the kernel's outermost level; results are `shared_hbm`.
/// `full` and `zeros` are tiles in SBUF.
ORIEL_API tensor ndarray(const Extents& shape, const ndarray_options& options = {},
                         const where_t& where = where_t::current());
ORIEL_API tensor full(const Extents& shape, double value, const ndarray_options& options = {},
                      const where_t& where = where_t::current());
ORIEL_API tensor zeros(const Extents& shape, const ndarray_options& options = {},
                       const where_t& where = where_t::current());
/// A tile of integers: the value of an index expression at each point of its iteration space (nisa.iota).
ORIEL_API tensor iota(const index& expression, Dtype dtype = Dtype::i32, const where_t& where = where_t::current());

// Movement ------------------------------------------------------------------------------------------------------------

struct load_options {
  nl::mask mask{};
  std::optional<Dtype> dtype{};
};
/// A tile with a copy of a part of an HBM tensor. Where the mask is false the tile stays unwritten.
ORIEL_API tensor load(const tensor& source, const load_options& options = {},
                      const where_t& where = where_t::current());
struct store_options {
  operand value;  // a tile, or a number for every element
  nl::mask mask{};
};
/// Writes a tile to a part of an HBM tensor of the same shape, converting to its dtype; free axes of one element are
/// repeated.
ORIEL_API void store(const tensor& target, const store_options& options, const where_t& where = where_t::current());
inline void store(const tensor& target, const tensor& value, const where_t& where = where_t::current()) {
  store(target, {.value = {value, where}}, where);
}
template <class T>
requires std::is_arithmetic_v<T>
inline void store(const tensor& target, T value, const where_t& where = where_t::current()) {
  store(target, {.value = {value, where}}, where);
}
/// A tile of that shape: x with axes of one element repeated. Repeating partitions is a DMA.
ORIEL_API tensor broadcast_to(const tensor& x, const Extents& shape, const where_t& where = where_t::current());

// Arithmetic ----------------------------------------------------------------------------------------------------------

struct math_options {
  std::optional<Dtype> dtype{};
  nl::mask mask{};  // where it is false the result stays unwritten
};
ORIEL_API tensor add(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor subtract(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor multiply(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor divide(const operand& a, const operand& b, const math_options& options = {});
/// A NaN in either makes the result NaN; of equal operands (zeros of either sign) the result is a.
ORIEL_API tensor maximum(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor minimum(const operand& a, const operand& b, const math_options& options = {});
// Comparisons give u8: 1 where true, else 0.
ORIEL_API tensor equal(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor not_equal(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor less(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor less_equal(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor greater(const operand& a, const operand& b, const math_options& options = {});
ORIEL_API tensor greater_equal(const operand& a, const operand& b, const math_options& options = {});
/// x where the condition is not zero, else y.
ORIEL_API tensor where(const tensor& condition, const operand& x, const operand& y, const math_options& options = {});
ORIEL_API tensor abs(const operand& x, const math_options& options = {});
ORIEL_API tensor square(const operand& x, const math_options& options = {});
ORIEL_API tensor sqrt(const operand& x, const math_options& options = {});
ORIEL_API tensor copy(const operand& x, const math_options& options = {});

inline tensor operator+(const tensor& a, const operand& b) { return add({a, b.where}, b); }
inline tensor operator-(const tensor& a, const operand& b) { return subtract({a, b.where}, b); }
inline tensor operator*(const tensor& a, const operand& b) { return multiply({a, b.where}, b); }
inline tensor operator/(const tensor& a, const operand& b) { return divide({a, b.where}, b); }
inline tensor operator+(const scalar& a, const tensor& b) { return add(a.value, {b, a.value.where}); }
inline tensor operator-(const scalar& a, const tensor& b) { return subtract(a.value, {b, a.value.where}); }
inline tensor operator*(const scalar& a, const tensor& b) { return multiply(a.value, {b, a.value.where}); }
inline tensor operator/(const scalar& a, const tensor& b) { return divide(a.value, {b, a.value.where}); }

// Reductions ----------------------------------------------------------------------------------------------------------

struct axes {
  std::vector<int> values;
  axes(int one) : values{one} {}
  axes(std::initializer_list<int> several) : values(several) {}
};
struct reduce_options {
  axes axis = {};
  std::optional<Dtype> dtype{};
  bool keepdims = false;
  nl::mask mask{};  // of x's axes: what it excludes is not folded; a result of no elements stays unwritten
};
/// Folds free axes of a tile in f32, in row-major order of the axes as listed; the partition axis stays.
ORIEL_API tensor sum(const tensor& x, const reduce_options& options, const where_t& where = where_t::current());
ORIEL_API tensor prod(const tensor& x, const reduce_options& options, const where_t& where = where_t::current());
ORIEL_API tensor max(const tensor& x, const reduce_options& options, const where_t& where = where_t::current());
ORIEL_API tensor min(const tensor& x, const reduce_options& options, const where_t& where = where_t::current());
/// The sum, kept in f32, divided by the number of elements.
ORIEL_API tensor mean(const tensor& x, const reduce_options& options, const where_t& where = where_t::current());

// Control -------------------------------------------------------------------------------------------------------------

/// A loop that is recorded once. `for (auto i : nl::affine_range(n))`: iterations are independent, and may not write
/// the same element of HBM. The counter is an index, which C++ cannot test or use as a number.
class affine_range {
 public:
  explicit affine_range(index_t n, const where_t& where = where_t::current()) : affine_range(0, n, 1, where) {}
  affine_range(index_t begin, index_t end, index_t step = 1, const where_t& where = where_t::current())
      : begin_(begin), end_(end), step_(step), where_(where) {}

  struct iterator {
    index counter;
    int left = 0;
    bool operator!=(const iterator& other) const { return left != other.left; }
    index operator*() const { return counter; }
    ORIEL_API iterator& operator++();
  };
  ORIEL_API iterator begin() const;
  iterator end() const { return {}; }

 protected:
  index_t begin_, end_, step_;
  where_t where_;
  bool ordered_ = false;
};
/// A loop whose iterations run in order, and may read what earlier ones wrote.
class sequential_range : public affine_range {
 public:
  explicit sequential_range(index_t n, const where_t& where = where_t::current()) : sequential_range(0, n, 1, where) {}
  sequential_range(index_t begin, index_t end, index_t step = 1, const where_t& where = where_t::current())
      : affine_range(begin, end, step, where) {
    ordered_ = true;
  }
};
/// A loop that is unrolled while it is recorded: the counters are plain integers. A plain C++ loop does the same.
ORIEL_API std::vector<index_t> static_range(index_t n);
ORIEL_API std::vector<index_t> static_range(index_t begin, index_t end, index_t step = 1);

/// The number of this program along `axis` of the grid, and the number of programs there.
ORIEL_API index program_id(int axis, const where_t& where = where_t::current());
ORIEL_API index_t num_programs(int axis, const where_t& where = where_t::current());
ORIEL_API int program_ndim();

/// Passes the text and the tile's values to the sink of the run (launch::print), if there is one.
ORIEL_API void device_print(const std::string& text, const tensor& x, const where_t& where = where_t::current());

}  // namespace oriel::tile::nl
