// The head of vectors.txt: what a program of any language needs to make the same hashes.
#pragma once

namespace oriel::vectors {

inline constexpr char kHead[] =
    R"(# Problems and the hashes of their results: the same on every processor, in every language.
# `hash_vectors --write` makes this file, `hash_vectors vectors.txt` checks it.
#
# A line is a name, a space, and 16 hexadecimal digits. A name is a problem name (include/oriel/problem.h), then words
# that begin with @.
#
# Memory. A tensor's elements lie densely, without gaps, in the memory order of its problem (`order0,2,3,1`; else
# 0,1,2 ...): outputs, gradients and indices have that order too. Inputs are written and results are hashed in the order
# of memory, so a program that fills and hashes memory need not know of axes.
#
# Inputs. s is an unsigned integer of 32 bits: 1 at the beginning of x, 2 at the beginning of dy. A step is
# s = (s * 1664525 + 1013904223) modulo 2^32. Each element takes a step and is made of the new s; an element of 64 bits
# whose words are not @ties or @specials takes two steps: s is its first, l its second. >> shifts zeros in from the left.
#   bool               s >> 31
#   i8 u8              s >> 24, these 8 bits
#   i16 u16            s >> 16, these 16 bits
#   i32 u32            s, these 32 bits
#   i64 u64            s * 2^32 + l, these 64 bits
#   f16 bf16 f32 f64   sign s >> 31; exponent ((s >> 27) & 15) - 8; fraction, the bits of s below those, from the highest
#                      on: 10, 7 or 23 of them; of f64 20 of them and then the 32 of l.
#                      So f32 has the bits (s >> 31) << 31 | (119 + ((s >> 27) & 15)) << 23 | ((s >> 4) & 0x7fffff),
#                      f16 (s >> 31) << 15 | (7 + ((s >> 27) & 15)) << 10 | ((s >> 17) & 0x3ff), bf16 the upper 16 of f32's
#   @ties              unsigned integers s >> 29, others the number (s >> 29) - 4
#   @specials          by c = s >> 27: 0 NaN, 1 infinity, 2 -infinity, 3 -0, 4 +0, 5 the least number above 0, 6 its
#                      negative; from 7 on the number (c & 7) - 4
#
# What is computed.
#   (forward)          y, from x
#   indices            y, then its indices: i64 in space plane; @tensor: in space tensor; @window: in space window
#   codes              y, then its indices in space window, u8; @i32: i32
#   backward           dx, from x and dy; with indices or codes from those that the forward pool of x gives, and dy
#   @unpool            y and its indices, put back by unpool: its result alone
#
# The hash is FNV-1a of 64 bits: h = 0xcbf29ce484222325; for each byte h = ((h xor byte) * 0x100000001b3) modulo 2^64.
# The bytes of an element begin with its lowest one (little endian). Every NaN, whose payload is not specified, counts as
# the quiet one: f16 7e00, bf16 7fc0, f32 7fc00000, f64 7ff8000000000000.
#
# Lp pools have p = 1, 2 or infinity.

)";

}  // namespace oriel::vectors
