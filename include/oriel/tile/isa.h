// Further instructions of the tile language, besides the functions of nl. The names are those of NKI's nki.isa.
#pragma once

#include <utility>

#include "oriel/tile/language.h"

namespace oriel::tile {

namespace nisa {

using nl::operand;
using nl::tensor;
using nl::where_t;

struct dma_options {
  tensor dst, src;
  nl::mask mask{};
};
/// Copies a part of HBM or SBUF to another part of the same shape, converting to its dtype; also across partitions.
ORIEL_API void dma_copy(const dma_options& options, const where_t& where = where_t::current());

struct scan_options {
  tensor data0, data1;  // [P, F]
  operand initial = 0;  // a number, or a tile [P, 1]
  Alu op0, op1;
  std::optional<Dtype> dtype{};  // of the result; data0's otherwise
};
/// Along the free axis result[i] = (data0[i] op0 result[i - 1]) op1 data1[i], with `initial` before the first; the
/// value passed to the next element is kept in f32. op0 and op1 are of add, subtract, multiply, divide, max, min and
/// the comparisons.
ORIEL_API tensor tensor_tensor_scan(const scan_options& options, const where_t& where = where_t::current());

/// The 8 largest of each partition's 8 to 16384 elements, descending: [P, …] -> [P, 8]. A NaN counts as the largest.
ORIEL_API tensor max8(const tensor& src, const nl::math_options& options = {},
                      const where_t& where = where_t::current());

struct select_options {
  tensor predicate, on_true;  // of one shape
  operand on_false = 0;       // a number, or a tile [P, 1]
  bool reverse_pred = false;
  std::optional<Dtype> dtype{};  // of both results; on_true's otherwise
};
/// Selects, and for each partition the largest that was selected: {on_true's shape, [P, 1]}. Two instructions here.
ORIEL_API std::pair<tensor, tensor> select_reduce(const select_options& options,
                                                  const where_t& where = where_t::current());

}  // namespace nisa
}  // namespace oriel::tile
