// A pool as a user describes it (Pool), what it means for one tensor (Problem), and its one-line text name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oriel/footprint.h"
#include "oriel/types.h"
#include "oriel/window.h"

namespace oriel {

/// What a NaN among the taps does (S3).
enum class NanPolicy : std::uint8_t { propagate, omit };
/// How the padding is chosen: as given, or so that there are ceil(n / stride) outputs, an odd element of it after or
/// before the input.
enum class Padding : std::uint8_t { given, same_upper, same_lower };
/// Windows of one size and stride; `output_size` windows that split the input evenly; one window over everything.
enum class WindowKind : std::uint8_t { uniform, adaptive, global };
/// What an index counts: elements of the pooled plane (PyTorch), of the whole tensor (ONNX), or taps of the window.
enum class IndexSpace : std::uint8_t { plane, tensor, window };
/// Most taps of a window whose indices in space window may be u8: the code 255 means that there is no tap.
inline constexpr index_t kMostByteCodes = 255;

/// Which of the sorted valid taps v(0) ... v(n-1) a quantile is, with h = (n - 1) q (S16): v(floor h), v(ceil h), v at
/// h rounded half to even, the mean of the first two, a linear interpolation between them, the first v that at least a
/// share q of the taps or weights do not exceed, or v(floor(n q)) as scipy.ndimage.
enum class Quantile : std::uint8_t { lower, higher, nearest, midpoint, linear, inverted_cdf, scipy };
/// Which of the values that occur equally often is the mode (S17).
enum class Tie : std::uint8_t { lowest, highest, first };
/// A number that is kept exactly, whatever the dtype that it is compared with or stored in.
using Scalar = std::variant<std::int64_t, std::uint64_t, double>;

/// The windows of a pool, whatever reduction is applied to them. Every list is empty (the default), has one value for
/// all pooled axes, or one per pooled axis in the order of `axes`. Example: Windows{.kernel = {3}, .stride = {2},
/// .pad_lo = {1}, .axes = {2, 3}}.
struct Windows {
  WindowKind kind = WindowKind::uniform;
  Extents kernel{};       ///< taps of a window, >= 1; required for uniform windows
  Extents stride{};       ///< step of the window, >= 1; empty: the kernel size
  Extents pad_lo{};       ///< padding before the first input, >= 0; empty: 0
  Extents pad_hi{};       ///< padding after the last input, >= 0; empty: as pad_lo
  Extents dilation{};     ///< distance between taps, >= 1; empty: 1
  Extents output_size{};  ///< adaptive windows: number of outputs, >= 1
  Extents axes{};         ///< pooled axes, each once, negative ones counted from the end; empty: all axes
  Padding padding = Padding::given;
  bool ceil_mode = false;

  friend bool operator==(const Windows&, const Windows&) = default;
};

/// A pool as a user describes it: a reduction and its windows. Example: Pool{.op = Op::max, .windows = {.kernel = {3},
/// .stride = {2}, .pad_lo = {1}, .axes = {2, 3}}}.
struct Pool {
  Op op = Op::max;
  Windows windows{};
  bool count_include_pad = true;  ///< averages: whether padding counts in the divisor (S5)
  index_t divisor = 0;            ///< averages: a divisor >= 1 that replaces the count; 0: none
  double norm = 2;                ///< lp: p >= 1, or infinity
  NanPolicy nan = NanPolicy::propagate;

  // For tensors on the CPU:
  Footprint footprint{};                ///< the taps of a window (S20); empty: all
  std::optional<Scalar> nodata{};       ///< taps of this value are not valid (S13); NaN: every NaN
  index_t min_count = 0;                ///< with fewer valid taps the result is `fill` (S14)
  double min_fraction = 0;              ///< the same as a share of the taps that exist, 0 to 1
  std::optional<Scalar> fill{};         ///< nothing: nodata if given, else NaN, of integers 0
  std::optional<Dtype> result_dtype{};  ///< the dtype of the result (S15); nothing: see result_dtype()
  std::vector<double> q{};              ///< quantile: one or several, each 0 to 1
  std::optional<index_t> rank{};      ///< quantile: instead of q, a place among the sorted taps; negative: from the end
  Quantile method = Quantile::lower;  ///< median, quantile
  Tie tie = Tie::lowest;              ///< mode
  std::optional<Scalar> ignore{};     ///< mode: wins only if no other valid value is there
  int ddof = 0;                       ///< var, std: the divisor is the number of valid taps minus this
  double sharpness = 1;               ///< lse: r > 0
  bool sum_of_exponentials = false;   ///< lse: of the sum, not of the mean

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// The direction of a problem; names include it for tests and benchmarks.
enum class Direction : std::uint8_t { forward, backward };

/// A pool on a tensor of one dtype and shape, checked and resolved: the input of the backends.
struct Problem {
  Pool pool{};  // as given
  Dtype dtype = Dtype::f32;
  Extents shape{};  // of the input, in logical order
  Extents order{};  // axes from outermost to innermost in memory; empty: 0,1,2 … (only names use it)
  Direction direction = Direction::forward;
  bool indices = false;  // a forward that also returns the index of each maximum or minimum
  bool codes = false;    // the same as u8 codes of the window (S10); a backward is given them instead of x
  bool mask = false;     // a call has a mask (only names use it)
  bool weights = false;  // a call has weights (only names use it)

  // Resolved by make_problem:
  int pooled = 0;                           // number of pooled axes
  std::array<int, kMaxPooledAxes> axes{};   // their numbers, in the order that sums follow (S8)
  std::array<Axis, kMaxPooledAxes> axis{};  // their geometry
  Extents output_shape{};                   // with an axis of the quantiles before the others if there are several
  Dtype result = Dtype::f32;                // of the output (S15)

  /// Whether the pool is one over valid taps (S13-S20): an op other than the first five, or an option of Pool that only
  /// tensors on the CPU have. Masks and weights are operands of the call and not known here.
  ORIEL_API bool has_valid_taps() const;

  /// Nominal taps of the largest window: the product of the kernel sizes.
  ORIEL_API index_t taps() const;
};

/// The pooled axes of a tensor of that rank, counted from its first axis: those that `pool` names, and if it names
/// none, all of them. In a batch of images with channels the axes to name are {2, 3}. Throws Error for an axis that is
/// out of range or named twice.
ORIEL_API Extents pooled_axes(const Pool& pool, int rank);

/// Checks `pool` against a tensor of that dtype and shape and resolves its axes. Throws Error for a kernel, stride or
/// dilation below 1, negative padding, a wrong number of values, an axis named twice or out of range, an empty pooled
/// axis, a window that does not fit, a size beyond 2^63 - 1, a norm below 1, an option that the op does not have.
ORIEL_API Problem make_problem(const Pool& pool, Dtype dtype, const Extents& shape);

/// The dtype of the result of `pool` on a tensor of dtype `dtype` (S15): pool.result_dtype if given, else `dtype`; but
/// bool of any and all, i64 of count and nunique, i64 or u64 of prod of integers, and f64 of var, std, rms, geo, harm,
/// lse and soft of integers. Throws Error if the op has no result of the dtype that is asked for.
ORIEL_API Dtype result_dtype(const Pool& pool, Dtype dtype);

/// The problem that a name describes, e.g. `max:f32:8x64x112x112:k3x3s2p1`; throws Error at the first wrong word.
///
/// A name is words joined by colons: op, dtype, shape, then any of
///   window   k3s2p1d1: letters k (kernel) s (stride) p (padding) d (dilation), each a number (for all axes) or one per
///            axis joined by x (k3x5: the last two); padding may be lo+hi (p0+1x2+2); or global; or out7x7 (adaptive)
///   same, same_lower, ceil, exclude (padding not counted), div9 (divisor), omit (NaN), axes1,2 (pooled axes),
///   order0,2,3,1 (axes from outermost to innermost in memory), indices, codes (u8, in space window), backward,
///   mask, weights, nodata0, min3, frac0.5 (min_fraction), fill0, outf64 (dtype of the result), ignore0, ddof1,
///   disk5, diamond1, octagon3x2 ... (footprints by name), taps0101 (any other, a digit for each tap)
/// The op is max, min, avg, sum, count, any, all, range, midrange, first, centre, nunique, var, std, rms, prod, geo,
/// harm, soft; lp followed by its p: lp2, lp1, lp2.5, lpinf; q followed by one or several numbers joined by commas, or
/// rank and a number, then a method: q0.9, q0.9linear, q0.25,0.75, rank2, rank-1; median, median_higher, median_mean
/// and so on; mode, mode_highest, mode_first; lse followed by its r: lse1, lse2.5, and by sum: lse1sum.
ORIEL_API Problem parse_problem(std::string_view name);

/// The shortest name that parses to the same problem; k3x3 is short for k3:axes2,3 if the tensor has four axes.
ORIEL_API std::string to_string(const Problem& problem);

}  // namespace oriel
