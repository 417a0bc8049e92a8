#define NO_IMPORT_ARRAY  // array.cc does
#include "arguments.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>

#include "faults.h"
#include "numpy_interface.h"
#include "text.h"

namespace oriel::python {
namespace {

constexpr int kMaxNdim = 3;  // as in max_pool3d

std::string shown(nb::handle object) { return nb::repr(object).c_str(); }

// Arrays have __index__ too, but it works only for those without axes, which have no length.
bool has_length(nb::handle object) {
  if (PyObject_Size(object.ptr()) >= 0) return true;
  PyErr_Clear();
  return false;
}

bool is_int(nb::handle object) {
  if (PyLong_CheckExact(object.ptr()) != 0) return true;
  return PyBool_Check(object.ptr()) == 0 && PyIndex_Check(object.ptr()) != 0 && !has_length(object);
}

bool is_sequence(nb::handle object) {
  if (PyTuple_Check(object.ptr()) != 0 || PyList_Check(object.ptr()) != 0) return true;
  if (PyUnicode_Check(object.ptr()) != 0 || PyBytes_Check(object.ptr()) != 0) return false;
  return PySequence_Check(object.ptr()) != 0 || (PyIndex_Check(object.ptr()) != 0 && has_length(object));
}

[[noreturn]] void refuse_ints(std::string_view function, const char* argument, nb::handle object) {
  throw TypeFault(
      fmt::format("{}: {} must be an int or a sequence of ints, but is {}", function, argument, shown(object)));
}

// Calls f(item) for each item of a sequence, as it is now: another thread may change a list meanwhile.
template <class F>
void for_each_item(nb::handle sequence, F f) {
  const nb::object items = nb::steal(PySequence_Tuple(sequence.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  const Py_ssize_t count = PyTuple_Size(items.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) f(nb::handle(PyTuple_GetItem(items.ptr(), i)));
}

void append(std::string_view function, const char* argument, Extents& list, index_t value) {
  if (list.size() == kMaxRank) {
    throw Error(fmt::format("{}: {} must have at most {} values", function, argument, kMaxRank));
  }
  list.push_back(value);
}

[[noreturn]] void refuse_padding(std::string_view function, nb::handle object) {
  throw TypeFault(
      fmt::format("{}: padding must be an int, a sequence of ints, a sequence of (before, after) pairs, "
                  "'valid', 'same' or 'same_lower', but is {}",
                  function, shown(object)));
}

void read_padding_word(std::string_view function, nb::handle object, Pool& pool) {
  std::string word = nb::cast<std::string>(object);
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (word == "same" || word == "same_upper") {
    pool.windows.padding = Padding::same_upper;
  } else if (word == "same_lower") {
    pool.windows.padding = Padding::same_lower;
  } else if (word != "valid") {
    throw Error(fmt::format("{}: padding must be 'valid', 'same' or 'same_lower' if it is a word, but is {}", function,
                            shown(object)));
  }
}

void read_padding(std::string_view function, nb::handle object, Pool& pool) {
  if (is_int(object)) {
    const index_t value = read_int(function, "padding", object);
    if (value != 0) pool.windows.pad_lo = {value};
    return;
  }
  if (PyUnicode_Check(object.ptr()) != 0) return read_padding_word(function, object, pool);
  if (!is_sequence(object)) refuse_padding(function, object);
  bool pairs = false;
  for_each_item(object, [&](nb::handle item) {
    if (is_int(item)) {
      if (pairs) refuse_padding(function, object);
      return append(function, "padding", pool.windows.pad_lo, read_int(function, "padding", item));
    }
    if (!is_sequence(item) || (!pairs && !pool.windows.pad_lo.empty())) refuse_padding(function, object);
    pairs = true;
    const Extents pair = read_ints(function, "padding", item);
    if (pair.size() != 2) refuse_padding(function, object);
    append(function, "padding", pool.windows.pad_lo, pair[0]);
    append(function, "padding", pool.windows.pad_hi, pair[1]);
  });
}

Op read_op(nb::handle object) {
  if (PyUnicode_Check(object.ptr()) == 0)
    throw TypeFault(fmt::format("Pool: op must be a str, but is {}", shown(object)));
  return parse_op(nb::cast<const char*>(object));
}

double read_number(std::string_view function, const char* argument, nb::handle object) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw TypeFault(fmt::format("{}: {} must be a number, but is {}", function, argument, shown(object)));
  }
  return value;
}

void read_window(std::string_view function, nb::handle kernel_size, nb::handle stride, nb::handle padding,
                 nb::handle dilation, Pool& pool) {
  pool.windows.kernel = read_ints(function, "kernel_size", kernel_size);
  if (pool.windows.kernel.empty()) {
    throw Error(fmt::format("{}: kernel_size must have at least one value, but is empty", function));
  }
  pool.windows.stride = read_optional_ints(function, "stride", stride);
  if (!padding.is_none()) read_padding(function, padding, pool);
  pool.windows.dilation = read_optional_ints(function, "dilation", dilation);
  if (pool.windows.dilation.size() == 1 && pool.windows.dilation[0] == 1) pool.windows.dilation = {};
}

}  // namespace

index_t read_int(std::string_view function, const char* argument, nb::handle object) {
  if (!is_int(object)) {
    throw TypeFault(fmt::format("{}: {} must be an int, but is {}", function, argument, shown(object)));
  }
  int overflow = 0;
  long long value = 0;
  if (PyLong_Check(object.ptr()) != 0) {
    value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  } else {
    const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
    if (!index.is_valid()) {  // a boolean of NumPy, an array of floats
      PyErr_Clear();
      throw TypeFault(fmt::format("{}: {} must be an int, but is {}", function, argument, shown(object)));
    }
    value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  }
  if (overflow != 0) {
    throw Error(fmt::format("{}: {} must fit 64 bits, but is {}", function, argument, shown(object)));
  }
  return value;
}

Extents read_ints(std::string_view function, const char* argument, nb::handle object) {
  Extents values;
  if (is_int(object)) {
    values.push_back(read_int(function, argument, object));
    return values;
  }
  if (!is_sequence(object)) refuse_ints(function, argument, object);
  for_each_item(object, [&](nb::handle item) {
    if (!is_int(item)) refuse_ints(function, argument, object);
    append(function, argument, values, read_int(function, argument, item));
  });
  return values;
}

Extents read_optional_ints(std::string_view function, const char* argument, nb::handle object) {
  return object.is_none() ? Extents{} : read_ints(function, argument, object);
}

Extents read_shape(std::string_view function, const char* argument, nb::handle object) {
  const Extents shape = read_ints(function, argument, object);
  for (index_t extent : shape) {
    if (extent < 0) {
      throw Error(fmt::format("{}: {} must have extents >= 0, but is {}", function, argument, shown(object)));
    }
  }
  return shape;
}

bool read_bool(std::string_view function, const char* argument, nb::handle object) {
  if (object.ptr() == Py_True) return true;
  if (object.ptr() == Py_False) return false;
  if (PyArray_IsScalar(object.ptr(), Bool)) return PyObject_IsTrue(object.ptr()) == 1;
  if (is_int(object)) {
    const index_t value = read_int(function, argument, object);
    if (value == 0 || value == 1) return value == 1;
  }
  throw TypeFault(fmt::format("{}: {} must be True or False, but is {}", function, argument, shown(object)));
}

IndexSpace read_space(std::string_view function, nb::handle object) {
  if (PyUnicode_Check(object.ptr()) != 0) {
    const std::string_view word = nb::cast<const char*>(object);
    if (word == "plane") return IndexSpace::plane;
    if (word == "tensor") return IndexSpace::tensor;
    if (word == "window") return IndexSpace::window;
  }
  throw Error(
      fmt::format("{}: the indices must count elements of the 'plane', the 'tensor' or the 'window', but are to "
                  "count {}",
                  function, shown(object)));
}

Dtype read_dtype(std::string_view function, nb::handle object) {
  if (PyUnicode_Check(object.ptr()) != 0) {
    const std::string text = nb::cast<std::string>(object);
    constexpr int kDtypes = static_cast<int>(Dtype::boolean) + 1;
    for (int i = 0; i < kDtypes; ++i)
      if (numpy_name(static_cast<Dtype>(i)) == text) return static_cast<Dtype>(i);
  }
  throw Error(fmt::format("{}: dtype must be the name of a dtype such as 'float64' or 'int64', but is {}", function,
                          shown(object)));
}

Dtype read_index_dtype(std::string_view function, nb::handle object) {
  if (PyUnicode_Check(object.ptr()) != 0) {
    const std::string_view word = nb::cast<const char*>(object);
    if (word == "int64") return Dtype::i64;
    if (word == "int32") return Dtype::i32;
    if (word == "uint8") return Dtype::u8;
  }
  throw Error(fmt::format("{}: index_dtype must be 'int64', 'int32' or 'uint8', but is {}", function, shown(object)));
}

nb::tuple to_tuple(const Extents& values) {
  PyObject* tuple = PyTuple_New(values.size());
  if (tuple == nullptr) throw nb::python_error();
  const nb::tuple result = nb::steal<nb::tuple>(tuple);
  for (int i = 0; i < values.size(); ++i) {
    PyObject* value = PyLong_FromLongLong(values[i]);
    if (value == nullptr || PyTuple_SetItem(tuple, i, value) != 0) throw nb::python_error();
  }
  return result;
}

std::string_view PythonPool::function() const {
#define ORIEL_OP(name, family) +1
  static constexpr std::size_t kOps = 0
#include "oriel/ops.def"
      ;
#undef ORIEL_OP
  static constexpr std::array<std::array<std::string_view, kMaxNdim + 1>, kOps> kNames = {{
#define ORIEL_OP(name, family) {#name "_pool", #name "_pool1d", #name "_pool2d", #name "_pool3d"},
#include "oriel/ops.def"
#undef ORIEL_OP
  }};
  return kNames[static_cast<std::size_t>(pool.op)][static_cast<std::size_t>(ndim)];
}

void PythonPool::check_rank(const Extents& shape) const {
  if (ndim == 0 || shape.size() == ndim + 1 || shape.size() == ndim + 2) return;
  throw Error(
      fmt::format("{}: the input must have {} axes (channels and {} pooled axes) or {} (with a batch), but has "
                  "shape {}",
                  function(), ndim + 1, ndim, ndim + 2, to_string(shape)));
}

PythonPool read_pool(nb::handle op, nb::handle kernel_size, nb::handle stride, nb::handle padding, nb::handle dilation,
                     nb::handle output_size, nb::handle axes, nb::handle ceil_mode, nb::handle count_include_pad,
                     nb::handle divisor, nb::handle norm, bool omit_nan, int ndim) {
  PythonPool result;
  Pool& pool = result.pool;
  pool.op = read_op(op);
  if (ndim < 0 || ndim > kMaxNdim) throw Error(fmt::format("Pool: ndim must be 0 to {}, but is {}", kMaxNdim, ndim));
  result.ndim = ndim;
  const std::string_view function = result.function();
  if (!output_size.is_none()) {
    pool.windows.kind = WindowKind::adaptive;
    pool.windows.output_size = read_ints(function, "output_size", output_size);
  } else if (kernel_size.is_none() && ndim == 0) {
    pool.windows.kind = WindowKind::global;
  } else {
    read_window(function, kernel_size, stride, padding, dilation, pool);
  }
  if (!axes.is_none()) {
    pool.windows.axes = read_ints(function, "axes", axes);
    if (pool.windows.axes.empty())
      throw Error(fmt::format("{}: axes must name at least one axis, or be None for all, but is empty", function));
  }
  for (int a = -ndim; a < 0; ++a) append(function, "axes", pool.windows.axes, a);
  pool.windows.ceil_mode = read_bool(function, "ceil_mode", ceil_mode);
  pool.count_include_pad = read_bool(function, "count_include_pad", count_include_pad);
  if (!divisor.is_none()) {
    pool.divisor = read_int(function, "divisor_override", divisor);
    if (pool.divisor < 1) {
      throw Error(fmt::format("{}: divisor_override must be >= 1 or None, but is {}", function, pool.divisor));
    }
  }
  if (!norm.is_none()) pool.norm = read_number(function, "norm_type", norm);
  pool.nan = omit_nan ? NanPolicy::omit : NanPolicy::propagate;
  return result;
}

PythonPool PythonPool::beside_channels(int rank) const {
  PythonPool result = *this;
  if (ndim != 0 || !pool.windows.axes.empty()) return result;
  int count = 1;
  for (const Extents* list : {&pool.windows.kernel, &pool.windows.stride, &pool.windows.pad_lo, &pool.windows.pad_hi,
                              &pool.windows.dilation, &pool.windows.output_size})
    count = std::max(count, list->size());
  if (count > rank)
    throw Error(fmt::format("{}: there must be an axis for each of the {} values, but the input has rank {}",
                            function(), count, rank));
  for (int a = count > 1 ? rank - count : rank >= 3 && rank <= 5 ? 2 : 0; a < rank; ++a)
    result.pool.windows.axes.push_back(a);
  return result;
}

}  // namespace oriel::python
