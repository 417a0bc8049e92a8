#include "tile/cuda_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace oriel::tile {

std::string_view cuda_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "float";
    case Dtype::f16:
      return "__half";
    case Dtype::bf16:
      return "__nv_bfloat16";
    case Dtype::i8:
      return "signed char";
    case Dtype::u8:
      return "unsigned char";
    case Dtype::i16:
      return "short";
    case Dtype::u16:
      return "unsigned short";
    case Dtype::i32:
      return "int";
    default:
      return "unsigned";
  }
}

std::string cuda_float(double number) {
  const float value = static_cast<float>(number);
  if (std::isnan(value)) return "__int_as_float(0x7fc00000)";
  if (std::isinf(value)) return value > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string cuda_applied(Alu alu, const std::string& a, const std::string& b) {
  const auto call = [&](std::string_view f) { return fmt::format("{}({}, {})", f, a, b); };
  const auto test = [&](std::string_view op) { return fmt::format("({} {} {} ? 1.0f : 0.0f)", a, op, b); };
  switch (alu) {
    case Alu::add:
      return call("__fadd_rn");
    case Alu::subtract:
      return call("__fsub_rn");
    case Alu::multiply:
      return call("__fmul_rn");
    case Alu::divide:
      return call("__fdiv_rn");
    case Alu::max:
      return call("greater_of");
    case Alu::min:
      return call("lesser_of");
    case Alu::equal:
      return test("==");
    case Alu::not_equal:
      return test("!=");
    case Alu::less:
      return test("<");
    case Alu::less_equal:
      return test("<=");
    case Alu::greater:
      return test(">");
    case Alu::greater_equal:
      return test(">=");
    case Alu::absolute:
      return "fabsf(" + a + ")";
    case Alu::square:
      return fmt::format("__fmul_rn({0}, {0})", a);
    case Alu::sqrt:
      return "__fsqrt_rn(" + a + ")";
    case Alu::reciprocal:
      return "__fdiv_rn(1.0f, " + a + ")";
  }
  return a;
}

// What a fold starts with: the exact identity, -0.0 of sums.
std::string cuda_identity(Alu alu) {
  switch (alu) {
    case Alu::add:
      return "-0.0f";
    case Alu::multiply:
      return "1.0f";
    case Alu::max:
      return cuda_float(-std::numeric_limits<double>::infinity());
    default:
      return cuda_float(std::numeric_limits<double>::infinity());
  }
}

std::string cuda_comment(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\\') c = ' ';
  return "// " + text;
}

std::set<std::string> cuda_words() {
  return {"block",    "partition", "element",  "value",    "threadIdx", "blockIdx",   "blockDim",  "scratch",
          "tiles",    "stream",    "float",    "int",      "short",     "unsigned",   "signed",    "char",
          "double",   "long",      "bool",     "const",    "void",      "auto",       "for",       "if",
          "else",     "while",     "do",       "return",   "index",     "static",     "extern",    "inline",
          "template", "class",     "struct",   "new",      "delete",    "this",       "true",      "false",
          "case",     "switch",    "default",  "using",    "namespace", "half",       "printf",    "operator",
          "public",   "private",   "register", "union",    "volatile",  "goto",       "enum",      "sizeof",
          "typedef",  "try",       "widened",  "narrowed", "rounded",   "greater_of", "lesser_of", "floor_div",
          "larger",   "top",       "k",        "insert8",  "smaller"};
}

std::string_view cuda_prelude() {
  return R"(#ifndef ORIEL_TILE_ARITHMETIC
#define ORIEL_TILE_ARITHMETIC
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace oriel_tile {

// An element as f32.
template <class T>
__device__ inline float widened(T x) {
  return static_cast<float>(x);
}
template <>
__device__ inline float widened(__half x) {
  return __half2float(x);
}
template <>
__device__ inline float widened(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

// f32 as an element, rounded once to nearest even; integers saturate, and a NaN gives 0.
template <class T>
__device__ inline T narrowed(float x) {
  constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  constexpr T high = static_cast<T>(~0U >> (8 * (sizeof(unsigned) - sizeof(T)) + is_signed));
  constexpr T low = is_signed ? static_cast<T>(-static_cast<long long>(high) - 1) : static_cast<T>(0);
  const float r = rintf(x);
  if (x != x) return 0;
  if (r <= static_cast<float>(low)) return low;
  return r >= static_cast<float>(high) ? high : static_cast<T>(r);
}
template <>
__device__ inline float narrowed(float x) {
  return x;
}
template <>
__device__ inline __half narrowed(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 narrowed(float x) {
  return __float2bfloat16_rn(x);
}
template <class T>
__device__ inline float rounded(float x) {
  return widened(narrowed<T>(x));
}

// A NaN wins, and of equal ones a stays. Sums and products are __fadd_rn and its like, which no compiler fuses.
__device__ inline float greater_of(float a, float b) { return b > a || (b != b && a == a) ? b : a; }
__device__ inline float lesser_of(float a, float b) { return b < a || (b != b && a == a) ? b : a; }

template <class I>
__device__ inline I floor_div(I a, I b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
template <class I>
__device__ inline I larger(I a, I b) {
  return a < b ? b : a;
}
template <class I>
__device__ inline I smaller(I a, I b) {
  return b < a ? b : a;
}

// Keeps the 8 largest in descending order.
__device__ inline void insert8(float (&top)[8], float value) {
  for (float& t : top) {
    if (!(value > t || (value != value && t == t))) continue;
    const float next = t;
    t = value;
    value = next;
  }
}

}  // namespace oriel_tile
#endif
)";
}

}  // namespace oriel::tile
