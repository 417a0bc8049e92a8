#include "cpu/gathered/gathered.h"

#include <cmath>
#include <limits>

#include "cpu/gathered/families.h"
#include "statistic_rules.h"

namespace oriel::cpu {
namespace {

template <class T>
bool is_bad(T w, bool signless) {
  return !(std::fabs(w) <= std::numeric_limits<T>::max()) || (signless && w < 0);
}

// Calls row(number, first) for each row along axis `along` until it gives true. Repeated elements (pitch 0) come once.
template <class T, class Row>
void each_weight_row(const ConstTensor& weights, int along, const Row& row) {
  const Extents numbers = dense_pitch(weights.shape);
  Extents at = Extents::filled(weights.rank(), 0);
  const T* first = static_cast<const T*>(weights.data);
  for (index_t number = 0; !row(number, first);) {
    int d = weights.rank() - 1;
    for (; d >= 0; --d) {
      if (d == along || weights.pitch[d] == 0) continue;
      first += weights.pitch[d];
      number += numbers[d];
      if (++at[d] < weights.shape[d]) break;
      first -= weights.pitch[d] * at[d];
      number -= numbers[d] * at[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

// Whether a row has a bad one, without a branch for each.
template <class T>
bool has_bad(const T* first, index_t pitch, index_t n, bool signless) {
  int bad = 0;
  if (pitch == 1) {
    for (index_t i = 0; i < n; ++i) bad |= is_bad(first[i], signless) ? 1 : 0;
  } else {
    for (index_t i = 0; i < n; ++i) bad |= is_bad(first[i * pitch], signless) ? 1 : 0;
  }
  return bad != 0;
}

template <class T>
index_t find_bad(const ConstTensor& weights, bool signless) {
  if (element_count(weights.shape) == 0) return -1;
  int dense = weights.rank() - 1;  // the axis whose elements lie beside each other
  for (int d = 0; d < weights.rank(); ++d)
    if (weights.pitch[d] == 1 && weights.shape[d] > 1) dense = d;
  const auto extent = [&](int axis) { return axis < 0 || weights.pitch[axis] == 0 ? 1 : weights.shape[axis]; };
  const auto pitch = [&](int axis) { return axis < 0 ? 0 : weights.pitch[axis]; };
  bool found = false;
  each_weight_row<T>(weights, dense, [&](index_t, const T* row) {
    return found = has_bad(row, pitch(dense), extent(dense), signless);
  });
  if (!found) return -1;
  const int last = weights.rank() - 1;
  index_t place = -1;
  each_weight_row<T>(weights, last, [&](index_t number, const T* row) {
    for (index_t i = 0; i < extent(last) && place < 0; ++i)
      if (is_bad(row[i * pitch(last)], signless)) place = number + i;
    return place >= 0;
  });
  return place;
}

}  // namespace

void run_gathered(const Statistic& job, int threads) {
  using detail::Family;
  switch (detail::family_of(job.problem.pool.op)) {
    case Family::extremum:
    case Family::count:
    case Family::pick:
      return run_gathered_extremum(job, threads);
    case Family::sum:
      return run_gathered_sum(job, threads);
    case Family::rank:
      return run_gathered_rank(job, threads);
    case Family::vote:
      return run_gathered_vote(job, threads);
    case Family::moment:
      return run_gathered_moment(job, threads);
  }
}

index_t find_bad_weight(const ConstTensor& weights, const Pool& pool) {
  const detail::Family family = detail::family_of(pool.op);
  const bool signless = family == detail::Family::rank || family == detail::Family::vote;
  if (weights.dtype == Dtype::f32) return find_bad<float>(weights, signless);
  return find_bad<double>(weights, signless);
}

}  // namespace oriel::cpu
