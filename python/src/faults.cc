#include "faults.h"

#include <algorithm>
#include <array>
#include <utility>

namespace oriel::python {
namespace {

using Word = std::pair<std::string_view, std::string_view>;  // of the engine, of Python

constexpr std::array<Word, 12> kDtypes = {{{"f64", "float64"},
                                           {"f32", "float32"},
                                           {"f16", "float16"},
                                           {"bf16", "bfloat16"},
                                           {"i8", "int8"},
                                           {"u8", "uint8"},
                                           {"i16", "int16"},
                                           {"u16", "uint16"},
                                           {"i32", "int32"},
                                           {"u32", "uint32"},
                                           {"i64", "int64"},
                                           {"u64", "uint64"}}};
constexpr std::array<Word, 1> kFunctions = {{{"unpool", "max_unpool"}}};
constexpr std::array<Word, 2> kArguments = {{{"kernel", "kernel_size"}, {"norm", "norm_type"}}};

template <std::size_t N>
std::string_view translate(const std::array<Word, N>& words, std::string_view word) {
  const auto* const known = std::find_if(words.begin(), words.end(), [&](const Word& w) { return w.first == word; });
  return known == words.end() ? word : known->second;
}

// A clause of an error with NumPy's names of the dtypes in it.
std::string with_numpy_dtypes(std::string_view clause) {
  std::string out, word;
  for (std::size_t i = 0; i <= clause.size(); ++i) {
    const char c = i < clause.size() ? clause[i] : '\0';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
      continue;
    }
    out += translate(kDtypes, word);
    word.clear();
    if (c != '\0') out += c;
  }
  return out;
}

}  // namespace

std::string_view numpy_name(Dtype dtype) { return translate(kDtypes, name(dtype)); }

std::string python_text(const Error& error) {
  const Error::Fields* said = error.fields();
  if (said == nullptr) return error.what();
  // The engine names a gradient by a second word; its function here is one name.
  std::string function(translate(kFunctions, said->function));
  if (constexpr std::string_view kGradient = " backward"; function.ends_with(kGradient))
    function[function.size() - kGradient.size()] = '_';
  return Error::text_of({.function = std::move(function),
                         .argument = std::string(translate(kArguments, said->argument)),
                         .allowed = with_numpy_dtypes(said->allowed),
                         .value = with_numpy_dtypes(said->value)});
}

}  // namespace oriel::python
