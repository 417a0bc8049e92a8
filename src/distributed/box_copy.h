// Copies between boxes of tensors of any pitch, and between places (i64) and the narrow codes that travel.
#pragma once

#include <cstddef>

#include "oriel/distributed.h"
#include "oriel/tensor.h"

namespace oriel::distributed {

/// The view of `part` in a tensor that holds `whole`, in which `part` lies.
Tensor view_of(const Tensor& t, const Box& whole, const Box& part);
ConstTensor view_of(const ConstTensor& t, const Box& whole, const Box& part);

/// to = from, of equal shape and dtype. Where `from` is a code of `code_bytes` bytes and `to` a place, or the other way
/// round, that of `code` bytes is the dense one.
void copy(const ConstTensor& from, const Tensor& to);

/// Bytes of the codes of windows of so many taps: one code is kept for "no tap".
index_t code_bytes(index_t taps);
/// Codes of `bytes` bytes, dense, from places, and back.
void pack_codes(const ConstTensor& places, index_t bytes, std::byte* codes);
/// `codes` is the first of those of `part` in dense codes of `whole`.
void unpack_codes(const std::byte* codes, index_t bytes, const Box& whole, const Box& part, const Tensor& places);

/// Every element of `to` = the element at `value`.
void fill(const Tensor& to, const void* value);

}  // namespace oriel::distributed
