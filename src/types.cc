#include "oriel/types.h"

#include "quoted.h"

namespace oriel {
namespace {

struct DtypeName {
  Dtype dtype;
  std::string_view text;
};

// `bool` is a C++ keyword, so its enumerator is `boolean`.
constexpr std::string_view text_of(std::string_view enumerator) {
  return enumerator == "boolean" ? std::string_view("bool") : enumerator;
}

constexpr DtypeName kDtypes[] = {
#define ORIEL_DTYPE(name, type, accumulator) {Dtype::name, text_of(#name)},
#include "oriel/dtypes.def"
#undef ORIEL_DTYPE
};

struct OpName {
  Op op;
  std::string_view text;
};

constexpr OpName kOps[] = {
#define ORIEL_OP(name, family) {Op::name, #name},
#include "oriel/ops.def"
#undef ORIEL_OP
};

template <class Entry, std::size_t N>
std::string list_of(const Entry (&entries)[N]) {
  std::string out;
  for (const Entry& e : entries) out.append(out.empty() ? "" : ", ").append(e.text);
  return out;
}

}  // namespace

std::string_view name(Dtype dtype) {
  for (const DtypeName& e : kDtypes)
    if (e.dtype == dtype) return e.text;
  throw Error("dtype: the value " + std::to_string(static_cast<int>(dtype)) + " is not an element type");
}

std::string_view name(Op op) {
  for (const OpName& e : kOps)
    if (e.op == op) return e.text;
  throw Error("op: the value " + std::to_string(static_cast<int>(op)) + " is not a reduction");
}

Dtype parse_dtype(std::string_view text) {
  for (const DtypeName& e : kDtypes)
    if (e.text == text) return e.dtype;
  throw Error(Error::Fields{"", "dtype", "must be one of " + list_of(kDtypes), "is " + detail::quoted(text)});
}

Op parse_op(std::string_view text) {
  for (const OpName& e : kOps)
    if (e.text == text) return e.op;
  throw Error(Error::Fields{"", "op", "must be one of " + list_of(kOps), "is " + detail::quoted(text)});
}

index_t size_bytes(Dtype dtype) {
  return visit(dtype, []<class T>() { return static_cast<index_t>(sizeof(T)); });
}

bool is_floating(Dtype dtype) {
  return visit(dtype, []<class T>() { return is_floating_v<T>; });
}

std::string to_string(const Extents& extents) {
  if (extents.empty()) return "scalar";
  std::string out;
  for (index_t v : extents) out.append(out.empty() ? "" : "x").append(std::to_string(v));
  return out;
}

}  // namespace oriel
