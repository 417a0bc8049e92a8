// A Pool as a flat list of 64-bit words, so that it can travel as an attribute of a compiled program and back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "oriel/problem.h"

namespace oriel::python {

// The first word; others are used when the layout below changes. Pools without options of valid taps keep the words
// that programs were exported with before there were any.
inline constexpr index_t kPoolWordsFormat = 1;
inline constexpr index_t kOptionWordsFormat = 2;
inline constexpr index_t kMostOptionWords = index_t{1} << 24;  // of a list: quantiles, taps of a footprint

// An optional number: the place of its type in Scalar plus 1, or 0 if there is none, and its bits.
inline void append_words(const std::optional<Scalar>& scalar, std::vector<index_t>& words) {
  words.push_back(scalar ? static_cast<index_t>(scalar->index()) + 1 : 0);
  words.push_back(scalar ? std::visit([](auto v) { return std::bit_cast<index_t>(v); }, *scalar) : 0);
}

// What a pool over valid taps has beside its windows, as words; the lists are last.
inline void append_option_words(const Pool& pool, std::vector<index_t>& words) {
  for (const std::optional<Scalar>* scalar : {&pool.nodata, &pool.fill, &pool.ignore}) append_words(*scalar, words);
  const std::optional<Scalar> rank = pool.rank ? std::optional<Scalar>(std::int64_t{*pool.rank}) : std::nullopt;
  append_words(rank, words);
  for (const index_t word :
       {pool.min_count, std::bit_cast<index_t>(pool.min_fraction),
        pool.result_dtype ? static_cast<index_t>(*pool.result_dtype) + 1 : 0, static_cast<index_t>(pool.method),
        static_cast<index_t>(pool.tie), static_cast<index_t>(pool.ddof), std::bit_cast<index_t>(pool.sharpness),
        index_t{pool.sum_of_exponentials ? 1 : 0}, static_cast<index_t>(pool.q.size())})
    words.push_back(word);
  for (const double q : pool.q) words.push_back(std::bit_cast<index_t>(q));
  words.push_back(pool.footprint.shape.size());
  words.insert(words.end(), pool.footprint.shape.begin(), pool.footprint.shape.end());
  words.push_back(static_cast<index_t>(pool.footprint.taps.size()));
  words.insert(words.end(), pool.footprint.taps.begin(), pool.footprint.taps.end());
}

/// The words of `pool`: format, op, kind, padding, ceil, include, NaN policy, divisor, the bits of norm, its options in
/// the second format, then each list of the windows as its length and its values.
inline std::vector<index_t> to_words(const Pool& pool) {
  std::vector<index_t> options, none;
  append_option_words(pool, options);
  append_option_words(Pool(), none);
  std::vector<index_t> words = {options == none ? kPoolWordsFormat : kOptionWordsFormat,
                                static_cast<index_t>(pool.op),
                                static_cast<index_t>(pool.windows.kind),
                                static_cast<index_t>(pool.windows.padding),
                                pool.windows.ceil_mode ? 1 : 0,
                                pool.count_include_pad ? 1 : 0,
                                static_cast<index_t>(pool.nan),
                                pool.divisor,
                                std::bit_cast<index_t>(pool.norm)};
  if (options != none) words.insert(words.end(), options.begin(), options.end());
  for (const Extents* list : {&pool.windows.kernel, &pool.windows.stride, &pool.windows.pad_lo, &pool.windows.pad_hi,
                              &pool.windows.dilation, &pool.windows.output_size, &pool.windows.axes}) {
    words.push_back(list->size());
    words.insert(words.end(), list->begin(), list->end());
  }
  return words;
}

// Reads words one after another.
class WordReader {
 public:
  explicit WordReader(std::span<const index_t> words) : words_(words) {}

  bool at_end() const { return at_ == words_.size(); }

  /// The next word, which must be in 0 to `most`, or is any if that is negative.
  index_t next(index_t most = -1) {
    if (at_end()) throw Error("pool words: there must be more words, but they end");
    const index_t word = words_[at_++];
    if (most >= 0 && (word < 0 || word > most)) throw Error("pool words: a word is out of its range");
    return word;
  }

  double real() { return std::bit_cast<double>(next()); }

  template <class Enum>
  Enum choice(Enum last) {
    return static_cast<Enum>(next(static_cast<index_t>(last)));
  }

  Extents extents() {
    Extents list;
    const index_t count = next(kMaxRank);
    for (index_t i = 0; i < count; ++i) list.push_back(next());
    return list;
  }

  std::optional<Scalar> scalar() {
    const index_t type = next(3), bits = next();
    if (type == 0) return std::nullopt;
    if (type == 1) return std::int64_t{bits};
    if (type == 2) return std::bit_cast<std::uint64_t>(bits);
    return std::bit_cast<double>(bits);
  }

 private:
  std::span<const index_t> words_;
  std::size_t at_ = 0;
};

inline void read_options(WordReader& words, Pool& pool) {
  for (std::optional<Scalar>* scalar : {&pool.nodata, &pool.fill, &pool.ignore}) *scalar = words.scalar();
  if (const std::optional<Scalar> rank = words.scalar()) pool.rank = std::get<std::int64_t>(*rank);
  pool.min_count = words.next();
  pool.min_fraction = words.real();
  const index_t dtype = words.next(static_cast<index_t>(Dtype::boolean) + 1);
  if (dtype > 0) pool.result_dtype = static_cast<Dtype>(dtype - 1);
  pool.method = words.choice(Quantile::scipy);
  pool.tie = words.choice(Tie::first);
  pool.ddof = static_cast<int>(words.next(1 << 30));
  pool.sharpness = words.real();
  pool.sum_of_exponentials = words.next(1) != 0;
  for (index_t count = words.next(kMostOptionWords); count > 0; --count) pool.q.push_back(words.real());
  pool.footprint.shape = words.extents();
  for (index_t count = words.next(kMostOptionWords); count > 0; --count)
    pool.footprint.taps.push_back(static_cast<std::uint8_t>(words.next(1)));
}

/// The pool that to_words made these words of. Throws Error when they are no such words.
inline Pool from_words(std::span<const index_t> all) {
  constexpr Op kOps[] = {
#define ORIEL_OP(name, family) Op::name,
#include "oriel/ops.def"
#undef ORIEL_OP
  };
  WordReader words(all);
  const index_t format = words.next();
  if (format != kPoolWordsFormat && format != kOptionWordsFormat)
    throw Error("pool words: they come from another version of oriel");
  Pool pool;
  pool.op = words.choice(kOps[std::size(kOps) - 1]);
  pool.windows.kind = words.choice(WindowKind::global);
  pool.windows.padding = words.choice(Padding::same_lower);
  pool.windows.ceil_mode = words.next(1) != 0;
  pool.count_include_pad = words.next(1) != 0;
  pool.nan = words.choice(NanPolicy::omit);
  pool.divisor = words.next();
  pool.norm = words.real();
  if (format == kOptionWordsFormat) read_options(words, pool);
  for (Extents* list : {&pool.windows.kernel, &pool.windows.stride, &pool.windows.pad_lo, &pool.windows.pad_hi,
                        &pool.windows.dilation, &pool.windows.output_size, &pool.windows.axes})
    *list = words.extents();
  if (!words.at_end()) throw Error("pool words: there are words after the last");
  return pool;
}

}  // namespace oriel::python
