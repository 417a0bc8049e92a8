// A pool as a user describes it (Pool), what it means for one tensor (Problem), and its one-line text name.
#pragma once

#include <string>
#include <string_view>

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

  // Resolved by make_problem:
  int pooled = 0;                           // number of pooled axes
  std::array<int, kMaxPooledAxes> axes{};   // their numbers, in the order that sums follow (S8)
  std::array<Axis, kMaxPooledAxes> axis{};  // their geometry
  Extents output_shape{};

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

/// The problem that a name describes, e.g. `max:f32:8x64x112x112:k3x3s2p1`; throws Error at the first wrong word.
///
/// A name is words joined by colons: op, dtype, shape, then any of
///   window   k3s2p1d1: letters k (kernel) s (stride) p (padding) d (dilation), each a number (for all axes) or one per
///            axis joined by x (k3x5: the last two); padding may be lo+hi (p0+1x2+2); or global; or out7x7 (adaptive)
///   same, same_lower, ceil, exclude (padding not counted), div9 (divisor), omit (NaN), axes1,2 (pooled axes),
///   order0,2,3,1 (axes from outermost to innermost in memory), indices, codes (u8, in space window), backward
/// The op is max, min, avg, sum, or lp followed by its p: lp2, lp1, lp2.5, lpinf.
ORIEL_API Problem parse_problem(std::string_view name);

/// The shortest name that parses to the same problem; k3x3 is short for k3:axes2,3 if the tensor has four axes.
ORIEL_API std::string to_string(const Problem& problem);

}  // namespace oriel
