// A Pool as a flat list of 64-bit words, so that it can travel as an attribute of a compiled program and back.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "oriel/problem.h"

namespace oriel::python {

inline constexpr index_t kPoolWordsFormat = 1;  // the first word; raised when the layout below changes

/// The words of `pool`: format, op, kind, padding, ceil, include, NaN policy, divisor, the bits of norm, then each list
/// as its length and its values.
inline std::vector<index_t> to_words(const Pool& pool) {
  std::vector<index_t> words = {kPoolWordsFormat,
                                static_cast<index_t>(pool.op),
                                static_cast<index_t>(pool.windows.kind),
                                static_cast<index_t>(pool.windows.padding),
                                pool.windows.ceil_mode ? 1 : 0,
                                pool.count_include_pad ? 1 : 0,
                                static_cast<index_t>(pool.nan),
                                pool.divisor,
                                std::bit_cast<index_t>(pool.norm)};
  for (const Extents* list : {&pool.windows.kernel, &pool.windows.stride, &pool.windows.pad_lo, &pool.windows.pad_hi,
                              &pool.windows.dilation, &pool.windows.output_size, &pool.windows.axes}) {
    words.push_back(list->size());
    words.insert(words.end(), list->begin(), list->end());
  }
  return words;
}

/// The pool that to_words made these words of. Throws Error when they are no such words.
inline Pool from_words(std::span<const index_t> words) {
  std::size_t at = 0;
  const auto next = [&](index_t most) {
    if (at == words.size()) throw Error("pool words: there must be more words, but they end");
    const index_t word = words[at++];
    if (most >= 0 && (word < 0 || word > most)) throw Error("pool words: a word is out of its range");
    return word;
  };
  if (next(-1) != kPoolWordsFormat) throw Error("pool words: they come from another version of oriel");
  Pool pool;
  pool.op = static_cast<Op>(next(static_cast<index_t>(Op::lp)));
  pool.windows.kind = static_cast<WindowKind>(next(static_cast<index_t>(WindowKind::global)));
  pool.windows.padding = static_cast<Padding>(next(static_cast<index_t>(Padding::same_lower)));
  pool.windows.ceil_mode = next(1) != 0;
  pool.count_include_pad = next(1) != 0;
  pool.nan = static_cast<NanPolicy>(next(static_cast<index_t>(NanPolicy::omit)));
  pool.divisor = next(-1);
  pool.norm = std::bit_cast<double>(next(-1));
  for (Extents* list : {&pool.windows.kernel, &pool.windows.stride, &pool.windows.pad_lo, &pool.windows.pad_hi,
                        &pool.windows.dilation, &pool.windows.output_size, &pool.windows.axes}) {
    const index_t count = next(kMaxRank);
    for (index_t i = 0; i < count; ++i) list->push_back(next(-1));
  }
  if (at != words.size()) throw Error("pool words: there are words after the last");
  return pool;
}

}  // namespace oriel::python
