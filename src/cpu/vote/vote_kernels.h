// Modes and numbers of distinct values of integers, whose taps are rows.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// Most taps of a window that the kernels take.
inline constexpr int kMostVoteTaps = 64;

/// What is asked of the valid taps. Values are as unsigned integers of the element's width.
struct VoteRule {
  bool distinct = false;  // their number instead of the mode; kNoVote if there are fewer than `need`
  bool first = false;     // ties go to the value whose first tap is first
  bool has_ignore = false;
  bool has_nodata = false;
  std::uint64_t flip = 0;  // what makes the value that wins ties the least one: it is xored with the values
  std::uint64_t ignore = 0;
  std::uint64_t nodata = 0;
  std::uint64_t fill = 0;  // the mode of fewer valid taps than `need`
};

struct VoteRows {
  const void* const* taps = nullptr;  // only taps that are there
  const void* const* masks = nullptr;
  bool pairs = false;  // taps 2t and 2t + 1 lie beside each other: tap t of value i is taps[t][2 i]
  index_t ahead = 0;   // of pairs: from what is read to what will be next, in bytes
  int count = 0;
  int need = 0;
  index_t n = 0;
  void* out = nullptr;  // elements of x's width
  /// Pairs of places that sort `count` values.
  const std::uint8_t* network = nullptr;
  int comparators = 0;
};

/// In the lanes of a number of distinct values: too few taps are valid.
inline constexpr std::uint8_t kNoVote = 255;

using Vote = void (*)(const VoteRows& rows, const VoteRule& rule);

/// That of the instruction set in use, for elements of 1, 2, 4 or 8 bytes; `boolean`: any byte but 0 is 1.
Vote vote_kernel(index_t bytes, bool boolean, const VoteRule& rule, bool masked);

/// out[i] = the number of distinct values of `bytes` bytes as the dtype `result`, `fill` where it is kNoVote.
void store_distinct(const void* from, index_t bytes, index_t n, Dtype result, const void* fill, void* out);

}  // namespace oriel::cpu
