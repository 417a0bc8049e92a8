// The geometry of windows along one axis. Nothing else computes with a window's step.
#pragma once

#include "oriel/types.h"

namespace oriel {

/// Half-open range of indices [begin, end).
struct Range {
  index_t begin = 0;
  index_t end = 0;

  ORIEL_HD constexpr index_t size() const { return end > begin ? end - begin : 0; }
  ORIEL_HD constexpr bool empty() const { return end <= begin; }
  ORIEL_HD constexpr bool contains(index_t i) const { return begin <= i && i < end; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// The common part of two ranges; if there is none, an empty range inside `b`.
ORIEL_HD constexpr Range intersect(Range a, Range b) {
  const index_t begin = a.begin < b.begin ? b.begin : a.begin > b.end ? b.end : a.begin;
  const index_t end = a.end < b.end ? a.end : b.end;
  return {begin, end < begin ? begin : end};
}

/// floor(a / b) for b > 0.
ORIEL_HD constexpr index_t floor_div(index_t a, index_t b) { return a / b - (a % b < 0 ? 1 : 0); }
/// The remainder of floor_div: 0 to b - 1.
ORIEL_HD constexpr index_t floor_mod(index_t a, index_t b) { return a % b < 0 ? a % b + b : a % b; }
/// ceil(a / b) for b > 0.
ORIEL_HD constexpr index_t ceil_div(index_t a, index_t b) { return a / b + (a % b > 0 ? 1 : 0); }

/// The windows along one axis of a pool, resolved: which output reads which inputs. Uniform windows step by `stride`
/// and have `kernel` taps, `dilation` apart. Adaptive windows split n = `whole_in` inputs among m = `whole_out` outputs
/// (start floor(o n / m), end ceil((o+1) n / m)) if n is not a multiple of m; otherwise they are uniform. A global
/// window is the window of a single output. A coordinate counts the elements of the padded axis: input 0 has coordinate
/// 0, padding before it has negative ones.
///
/// An Axis may be a part of another one (`slice`): its inputs and outputs are numbered from 0, and every function
/// returns what it returns for the whole axis. Example: Axis::uniform(112, 3, 2, 1, 1) has `out == 56`, taps(0) == {1,
/// 3}.
struct Axis {
  index_t in = 0;        // inputs
  index_t out = 0;       // outputs
  index_t kernel = 1;    // nominal taps of a window; of an adaptive axis, of its largest window
  index_t stride = 1;    // step of the window; stored for uniform windows
  index_t dilation = 1;  // distance between two taps
  index_t first = 0;     // coordinate of tap 0 of output 0: minus the padding in a whole axis
  index_t spacing = 1;   // inputs are `spacing` coordinates apart: 1 except in an adjoint
  Range counted;         // the coordinates that count for a divisor that includes padding (S5)

  bool adaptive = false;
  index_t whole_in = 0;    // adaptive: extents of the whole axis,
  index_t whole_out = 0;   //
  index_t in_offset = 0;   // and where this part's inputs
  index_t out_offset = 0;  // and outputs begin in it

  /// Uniform windows; the output size follows S1. The caller has checked the sizes, as make_problem does.
  static constexpr Axis uniform(index_t in, index_t kernel, index_t stride, index_t pad_lo, index_t pad_hi,
                                index_t dilation = 1, bool ceil_mode = false) {
    Axis a;
    a.in = in;
    a.kernel = kernel;
    a.stride = stride;
    a.dilation = dilation;
    a.first = -pad_lo;
    a.counted = {-pad_lo, in + pad_hi};
    const index_t room = in + pad_lo + pad_hi - a.extent();
    if (room < 0) return a;  // no output; make_problem refuses it
    a.out = (ceil_mode ? ceil_div(room, stride) : room / stride) + 1;
    if (ceil_mode && (a.out - 1) * stride >= in + pad_lo) --a.out;
    return a;
  }

  /// The padding, before plus after, that gives ceil(in / stride) outputs (S1, `same`).
  static constexpr index_t same_padding(index_t in, index_t kernel, index_t stride, index_t dilation) {
    const index_t total = (ceil_div(in, stride) - 1) * stride + dilation * (kernel - 1) + 1 - in;
    return total > 0 ? total : 0;
  }

  /// `out` windows that together cover all inputs, as even as integers allow: uniform if they are all alike.
  static constexpr Axis make_even(index_t in, index_t out) {
    if (in == 0 || out == 0 || in % out != 0) return make_adaptive(in, out);
    return uniform(in, in / out, in / out, 0, 0);
  }

  /// The same windows as an adaptive axis.
  static constexpr Axis make_adaptive(index_t in, index_t out) {
    Axis a;
    a.in = a.whole_in = in;
    a.out = a.whole_out = out;
    a.adaptive = true;
    a.counted = {0, in};
    // The largest window: floor and ceil can each reach over by a part of one input.
    a.kernel = out == 0 ? 1 : (in % out == 0 ? in / out : in / out + 1);
    if (out != 0 && in % out != 0) {
      // Windows of in/out + 2 taps exist iff some start is fractional enough: gcd decides, so ask the remainder.
      const index_t r = in % out;
      index_t g = out, h = r;
      while (h != 0) {
        const index_t next = g % h;
        g = h;
        h = next;
      }
      if (r > g) a.kernel = in / out + 2;  // starts take every multiple of g as a fraction of `out`
    }
    return a;
  }

  /// Span of a window from its first to its last tap: dilation * (kernel - 1) + 1.
  ORIEL_HD constexpr index_t extent() const { return dilation * (kernel - 1) + 1; }

  /// The coordinate of tap 0 of output o (input i has coordinate i * spacing).
  ORIEL_HD constexpr index_t start(index_t o) const {
    if (!adaptive) return o * stride + first;
    return scale_floor(o + out_offset, whole_in, whole_out) - in_offset;
  }

  /// The number of nominal taps of output o, including those in the padding or beyond the end.
  ORIEL_HD constexpr index_t width(index_t o) const {
    if (!adaptive) return kernel;
    return scale_ceil(o + out_offset + 1, whole_in, whole_out) - in_offset - start(o);
  }

  /// The coordinate of tap t of output o (S2).
  ORIEL_HD constexpr index_t at(index_t o, index_t t) const { return start(o) + t * dilation; }

  /// The input at the middle of output o's window, the first of two; the nearest input if the middle is padding.
  ORIEL_HD constexpr index_t centre(index_t o) const {
    const index_t s = start(o), place = (s + (at(o, width(o) - 1) - s) / 2) / spacing;
    return place < 0 ? 0 : place < in ? place : in - 1;
  }

  /// Uniform windows with stride s: the taps of all outputs form s rows, one for each coordinate modulo s, read at
  /// several offsets. Tap t of output o is element o + phase_offset(t) of row phase(t), counted from start(0).
  ORIEL_HD constexpr index_t phase(index_t t) const { return t * dilation % stride; }
  ORIEL_HD constexpr index_t phase_offset(index_t t) const { return t * dilation / stride; }
  /// The number of elements of such a row between the first and the last that windows read.
  ORIEL_HD constexpr index_t phase_length(index_t row) const { return out + (extent() - 1 - row) / stride; }

  /// The row of input i, and its element there, for an axis of spacing 1.
  ORIEL_HD constexpr index_t phase_of(index_t i) const { return i - start(0) - phase_element(i) * stride; }
  ORIEL_HD constexpr index_t phase_element(index_t i) const { return floor_div(i - start(0), stride); }

  /// The output of a uniform axis that would read input i with tap t; reads() returns whether some output does.
  ORIEL_HD constexpr index_t reader(index_t i, index_t t) const { return floor_div(i * spacing - at(0, t), stride); }
  ORIEL_HD constexpr bool reads(index_t i, index_t t) const { return at(reader(i, t), t) == i * spacing; }

  /// Uniform windows fall into classes that share no tap with each other: output o and output o + classes() begin
  /// class_step() taps apart.
  ORIEL_HD constexpr index_t classes() const { return dilation / gcd(stride, dilation); }
  ORIEL_HD constexpr index_t class_step() const { return stride / gcd(stride, dilation); }

  /// The input at a coordinate, or -1 if there is none (padding, or between spaced inputs).
  ORIEL_HD constexpr index_t input_at(index_t place) const {
    if (spacing == 1) return place >= 0 && place < in ? place : -1;
    if (place < 0 || place % spacing != 0) return -1;
    const index_t i = place / spacing;
    return i < in ? i : -1;
  }

  /// On an axis of spacing > 1, taps between inputs read nothing: every standing_step()-th tap can read an input, and
  /// two such taps are input_step() inputs apart.
  ORIEL_HD constexpr index_t standing_step() const { return spacing / common_step(); }
  ORIEL_HD constexpr index_t input_step() const { return dilation / common_step(); }
  /// The first such tap of output o, or -1.
  ORIEL_HD constexpr index_t first_standing(index_t o) const {
    const index_t common = common_step(), period = spacing / common, rest = floor_mod(-start(o), spacing);
    if (dilation == 1) return rest < width(o) ? rest : -1;
    if (rest % common != 0) return -1;  // else t * dilation must leave this remainder
    const wide_t steps = static_cast<wide_t>(rest / common) * inverse(dilation / common, period);
    const index_t t = static_cast<index_t>(steps % period);
    return t < width(o) ? t : -1;
  }
  /// The number of the input at a coordinate; beyond the ends the numbers continue.
  ORIEL_HD constexpr index_t number_at(index_t place) const { return floor_div(place, spacing); }

  /// The taps of output o from coordinate 0 to that of the last input: with spacing 1, those that exist (S2).
  ORIEL_HD constexpr Range taps(index_t o) const {
    const index_t s = start(o);
    const index_t places = in == 0 ? 0 : (in - 1) * spacing + 1;
    index_t begin = s >= 0 ? 0 : ceil_div(-s, dilation);
    index_t end = s >= places ? 0 : (places - 1 - s) / dilation + 1;
    const index_t w = width(o);
    if (begin > w) begin = w;
    if (end > w) end = w;
    return {begin, end < begin ? begin : end};
  }

  /// Outputs whose taps all exist, for an axis of spacing 1: apart from the borders all windows are alike. Empty for
  /// adaptive axes.
  ORIEL_HD constexpr Range full() const {
    if (adaptive || spacing != 1 || in < extent()) return {0, 0};
    return intersect({ceil_div(-first, stride), floor_div(in - extent() - first, stride) + 1}, {0, out});
  }

  /// The number of taps that an average divides by along this axis: including padding, or only taps that exist (S5).
  ORIEL_HD constexpr index_t divisor(index_t o, bool include_padding) const {
    if (!include_padding || adaptive) return taps(o).size();
    const index_t s = start(o);
    const index_t begin = s >= counted.begin ? 0 : ceil_div(counted.begin - s, dilation);
    index_t end = s >= counted.end ? 0 : (counted.end - 1 - s) / dilation + 1;
    if (end > kernel) end = kernel;
    return end > begin ? end - begin : 0;
  }

  /// The inputs that the outputs `o` read, from the first to the last: a halo, a tile, a crop. Empty for none.
  ORIEL_HD constexpr Range needs(Range o) const {
    if (o.empty()) return {0, 0};
    const index_t places = in == 0 ? 0 : (in - 1) * spacing + 1;
    const index_t last = o.end - 1;
    const Range place = intersect({start(o.begin), at(last, width(last) - 1) + 1}, {0, places});
    const Range inputs = spacing == 1 ? place : Range{ceil_div(place.begin, spacing), ceil_div(place.end, spacing)};
    return inputs.empty() ? Range{inputs.begin, inputs.begin} : inputs;
  }

  /// The outputs whose window spans input i; if dilation leaves gaps, some may not read it (see tap_of).
  ORIEL_HD constexpr Range feeds(index_t i) const {
    if (adaptive) {  // the same formula with inputs and outputs exchanged
      const index_t whole = i + in_offset;
      return intersect({scale_floor(whole, whole_out, whole_in) - out_offset,
                        scale_ceil(whole + 1, whole_out, whole_in) - out_offset},
                       {0, out});
    }
    const index_t place = i * spacing - first;
    return intersect({ceil_div(place - extent() + 1, stride), floor_div(place, stride) + 1}, {0, out});
  }

  /// The outputs whose windows span any of the inputs `i`.
  ORIEL_HD constexpr Range feeds(Range i) const {
    if (i.empty()) return {0, 0};
    const Range a = feeds(i.begin), b = feeds(i.end - 1);
    return {a.begin, b.end > a.begin ? b.end : a.begin};
  }

  /// The tap with which output o reads input i, or -1 if it does not.
  ORIEL_HD constexpr index_t tap_of(index_t o, index_t i) const {
    const index_t distance = i * spacing - start(o);
    if (distance < 0 || distance % dilation != 0) return -1;
    const index_t t = distance / dilation;
    return t < width(o) ? t : -1;
  }

  /// The outputs `o` as a separate axis, whose inputs are needs(o). Divisors, taps and which of them exist are those of
  /// the whole axis, so a rank, a tile, a thread or a crop computes the same bits.
  ORIEL_HD constexpr Axis slice(Range o) const {
    const Range n = needs(o);
    Axis a = *this;
    a.in = n.size();
    a.out = o.size();
    const index_t shift = n.begin * spacing;
    a.first = first + o.begin * stride - shift;
    a.counted = {counted.begin - shift, counted.end - shift};
    a.in_offset = in_offset + n.begin;
    a.out_offset = out_offset + o.begin;
    return a;
  }

  /// The transposed axis: its outputs are this axis's inputs, its taps read the outputs that an input feeds, in
  /// ascending order. A backward sum is a forward fold over it.
  ORIEL_HD constexpr Axis adjoint() const {
    Axis a = *this;
    a.in = out;
    a.out = in;
    if (adaptive) {
      a.whole_in = whole_out;
      a.whole_out = whole_in;
      a.in_offset = out_offset;
      a.out_offset = in_offset;
      a.kernel = make_adaptive(whole_out, whole_in).kernel;
      a.counted = {0, out};
      return a;
    }
    a.stride = spacing;
    a.spacing = stride;
    a.first = -first - dilation * (kernel - 1);
    a.counted = {0, (out - 1) * a.spacing + 1};
    return a;
  }

  friend constexpr bool operator==(const Axis&, const Axis&) = default;

 private:
  ORIEL_HD constexpr index_t common_step() const { return gcd(dilation, spacing); }

  __extension__ typedef __int128 wide_t;  // not ISO C++, known to every compiler we build with

  ORIEL_HD static constexpr index_t gcd(index_t a, index_t b) {
    while (b != 0) {
      const index_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  // x with a * x = 1 modulo m, by Euclid's algorithm; a and m have no common divisor.
  ORIEL_HD static constexpr index_t inverse(index_t a, index_t m) {
    index_t above = m, below = a % m, x_above = 0, x = 1;
    while (below > 1) {
      const index_t quotient = above / below, rest = above % below, x_rest = x_above - quotient * x;
      above = below;
      below = rest;
      x_above = x;
      x = x_rest;
    }
    return floor_mod(x, m);
  }

  // floor(a * n / m) and ceil(a * n / m) without overflow for a <= m + 1.
  ORIEL_HD static constexpr index_t scale_floor(index_t a, index_t n, index_t m) {
    return static_cast<index_t>(static_cast<wide_t>(a) * n / m);
  }
  ORIEL_HD static constexpr index_t scale_ceil(index_t a, index_t n, index_t m) {
    return static_cast<index_t>((static_cast<wide_t>(a) * n + m - 1) / m);
  }
};

}  // namespace oriel
