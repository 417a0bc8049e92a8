#include "io/nifti/geometry.h"

#include <cmath>

#include "io/scaling.h"
#include "oriel/problem.h"

namespace oriel::io::nifti {
namespace {

constexpr int kSpace = 3, kTime = 3;  // axes of space; the axis of time

using Scalings = std::array<Scaling, kMostAxes>;

std::optional<Scalings> scalings_of(const Header& header, const std::string& problem) {
  Scalings all{};
  for (int d = 0; d < header.shape.size(); ++d) {
    const std::optional<Scaling> scaling = scaling_of_middles(problem, d);
    if (!scaling) return std::nullopt;
    all[static_cast<std::size_t>(d)] = *scaling;
  }
  return all;
}

bool moves(const Scaling& s) { return s.step != 1 || s.shift != 0; }

// The rotation that a quaternion of length 1 without its first part describes.
std::array<std::array<double, 3>, 3> rotation(std::array<double, 3> q) {
  constexpr double least = 1e-7;  // as the standard's own program has it
  double a = 1 - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  if (a < least) {
    const double length = std::sqrt(1 - a);
    for (double& part : q) part /= length;
    a = 0;
  } else {
    a = std::sqrt(a);
  }
  const auto [b, c, d] = q;
  return {{{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
           {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
           {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}}};
}

Affine scaled(Affine m, const Scalings& s) {
  for (auto& row : m) {
    for (std::size_t d = 0; d < kSpace; ++d) {
      row[kSpace] += row[d] * s[d].shift;
      row[d] *= s[d].step;
    }
  }
  return m;
}

// Whether values of the result are values of the input, or between them.
bool is_of_the_same_kind(Op op) {
  return op == Op::max || op == Op::min || op == Op::avg || op == Op::median || op == Op::quantile || op == Op::mode ||
         op == Op::first || op == Op::centre || op == Op::midrange || op == Op::soft;
}
// Whether they are values of the input, unchanged.
bool picks(Op op) { return op == Op::max || op == Op::min || op == Op::mode || op == Op::first || op == Op::centre; }

void drop_what_is_untrue(Header& h, const Scalings& s, Op op) {
  constexpr index_t axis_mask = 3, slice_at = 4, first_statistic = 2, last_statistic = 24;
  const index_t slice_axis = h.dim_info >> slice_at & axis_mask;  // counted from 1; 0: not known
  const bool slices_stay = slice_axis > 0 && !moves(s[static_cast<std::size_t>(slice_axis - 1)]);
  if (!slices_stay) {
    h.slice_start = h.slice_end = h.slice_code = 0;
    h.slice_duration = 0;
  }
  bool same_components = true;
  for (std::size_t d = kTime + 1; d < kMostAxes; ++d) same_components = same_components && !moves(s[d]);
  // CIFTI's axes are described by an extension, which is about the input.
  constexpr index_t first_cifti = 3000, last_cifti = 3099;
  const bool cifti = h.intent_code >= first_cifti && h.intent_code <= last_cifti;
  const bool statistic = h.intent_code >= first_statistic && h.intent_code <= last_statistic;
  if (!is_of_the_same_kind(op)) h.cal_max = h.cal_min = 0;
  if (!is_of_the_same_kind(op) || !same_components || cifti || (statistic && !picks(op))) {
    h.intent_code = 0;
    h.intent_p = {};
    h.intent_name.clear();
  }
}

}  // namespace

std::optional<Affine> sform_of(const Header& header) {
  return header.sform_code > 0 ? std::optional(header.srow) : std::nullopt;
}

std::optional<Affine> qform_of(const Header& header) {
  if (header.qform_code <= 0) return std::nullopt;
  const auto turn = rotation(header.quatern);
  const double flip = header.pixdim[0] < 0 ? -1 : 1;
  Affine m{};
  for (std::size_t r = 0; r < kSpace; ++r) {
    for (std::size_t d = 0; d < kSpace; ++d) m[r][d] = turn[r][d] * header.pixdim[d + 1] * (d == 2 ? flip : 1);
    m[r][kSpace] = header.qoffset[r];
  }
  return m;
}

Header pooled(Header h, const std::string& problem) {
  const std::optional<Scalings> scalings = scalings_of(h, problem);
  if (!scalings) {
    Header bare;
    bare.version = h.version;
    bare.shape = h.shape;
    bare.dtype = h.dtype;
    bare.descrip = h.descrip;
    return bare;
  }
  const Scalings& s = *scalings;
  if (const std::optional<Affine> q = qform_of(h)) {
    const Affine moved = scaled(*q, s);
    for (std::size_t r = 0; r < kSpace; ++r) h.qoffset[r] = moved[r][kSpace];
  }
  if (h.sform_code > 0) h.srow = scaled(h.srow, s);
  h.toffset += h.pixdim[kTime + 1] * s[kTime].shift;
  for (std::size_t d = 0; d < kMostAxes; ++d) h.pixdim[d + 1] *= s[d].step;
  drop_what_is_untrue(h, s, parse_problem(problem).pool.op);
  return h;
}

}  // namespace oriel::io::nifti
