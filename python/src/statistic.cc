#include "statistic.h"

#define NO_IMPORT_ARRAY  // array.cc does

#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "arguments.h"
#include "faults.h"
#include "pool_words.h"
#include "result.h"
#include "statistic_name.h"
#include "text.h"

namespace oriel::python {
namespace {

using namespace nb::literals;

Options (*options_of_call)(const Array& like) = nullptr;

std::string shown(nb::handle object) { return nb::repr(object).c_str(); }

// A number that is kept exactly: bool, int or float, Python's or NumPy's, or an array without axes of one.
Scalar scalar_of(std::string_view function, const char* argument, nb::handle object) {
  if (PyBool_Check(object.ptr()) != 0) return std::int64_t{object.ptr() == Py_True};
  const bool may_be_whole = PyFloat_Check(object.ptr()) == 0 && PyIndex_Check(object.ptr()) != 0;
  const nb::object whole = may_be_whole ? nb::steal(PyNumber_Index(object.ptr())) : nb::object();
  if (whole.is_valid()) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow == 0) return std::int64_t{value};
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(whole.ptr()) : 0;
    if (overflow > 0 && PyErr_Occurred() == nullptr) return std::uint64_t{large};
    PyErr_Clear();
    throw Error(fmt::format("{}: {} must fit 64 bits, but is {}", function, argument, shown(object)));
  }
  PyErr_Clear();  // arrays of floats have __index__, too, which fails
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw TypeFault(fmt::format("{}: {} must be a number, but is {}", function, argument, shown(object)));
  }
  return value;
}

double real_of(std::string_view function, const char* argument, nb::handle object) {
  return std::visit([](auto v) { return static_cast<double>(v); }, scalar_of(function, argument, object));
}

Footprint footprint_of(std::string_view function, nb::handle object) {
  const Array array = read_array(function, "footprint", object);
  const ConstTensor& view = array.view;
  if (view.dtype != Dtype::boolean && view.dtype != Dtype::u8)
    throw TypeFault(
        fmt::format("{}: footprint must be an array of bool, but has dtype {}", function, numpy_name(view.dtype)));
  Footprint footprint{.shape = view.shape};
  const index_t count = element_count(view.shape);
  footprint.taps.reserve(static_cast<std::size_t>(count));
  for (index_t i = 0; i < count; ++i) {
    index_t rest = i, offset = 0;
    for (int d = view.rank() - 1; d >= 0; --d) {
      offset += rest % view.shape[d] * view.pitch[d];
      rest /= view.shape[d];
    }
    footprint.taps.push_back(static_cast<const std::uint8_t*>(view.data)[offset] != 0 ? 1 : 0);
  }
  return footprint;
}

Tie tie_of(std::string_view function, nb::handle object) {
  const std::string text = PyUnicode_Check(object.ptr()) != 0 ? nb::cast<std::string>(object) : "";
  if (text == "lowest") return Tie::lowest;
  if (text == "highest") return Tie::highest;
  if (text == "first") return Tie::first;
  throw Error(fmt::format("{}: ties must be 'lowest', 'highest' or 'first', but is {}", function, shown(object)));
}

Quantile method_of(std::string_view function, nb::handle object) {
  const std::string text = PyUnicode_Check(object.ptr()) != 0 ? nb::cast<std::string>(object) : "";
  const std::optional<Quantile> method = text == "mean" ? Quantile::midpoint : detail::method_of(text);
  if (method) return *method;
  throw Error(fmt::format(
      "{}: method must be 'lower', 'higher', 'nearest', 'midpoint', 'linear', 'inverted_cdf' or 'scipy', but is {}",
      function, shown(object)));
}

void set_quantiles(std::string_view function, nb::handle object, Pool& pool) {
  const bool is_list = PySequence_Check(object.ptr()) != 0 && PyObject_Size(object.ptr()) >= 0;
  PyErr_Clear();  // an array without axes is a sequence, but has no length
  if (!is_list) return pool.q.push_back(real_of(function, "q", object));
  const nb::object items = nb::steal(PySequence_Tuple(object.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  for (Py_ssize_t i = 0; i < PyTuple_Size(items.ptr()); ++i)
    pool.q.push_back(real_of(function, "q", PyTuple_GetItem(items.ptr(), i)));
}

void set_option(std::string_view function, const std::string& key, nb::handle value, Pool& pool) {
  if (key == "footprint")
    pool.footprint = footprint_of(function, value);
  else if (key == "nodata")
    pool.nodata = scalar_of(function, "nodata", value);
  else if (key == "fill")
    pool.fill = scalar_of(function, "fill", value);
  else if (key == "ignore")
    pool.ignore = scalar_of(function, "ignore", value);
  else if (key == "min_count")
    pool.min_count = read_int(function, "min_count", value);
  else if (key == "min_fraction")
    pool.min_fraction = real_of(function, "min_fraction", value);
  else if (key == "dtype")
    pool.result_dtype = read_dtype(function, value);
  else if (key == "q")
    set_quantiles(function, value, pool);
  else if (key == "rank")
    pool.rank = read_int(function, "rank", value);
  else if (key == "method")
    pool.method = method_of(function, value);
  else if (key == "ties")
    pool.tie = tie_of(function, value);
  else if (key == "ddof")
    pool.ddof = static_cast<int>(std::clamp<index_t>(read_int(function, "ddof", value), -1, 1 << 30));
  else if (key == "sharpness")
    pool.sharpness = real_of(function, "sharpness", value);
  else if (key == "sum")
    pool.sum_of_exponentials = read_bool(function, "sum", value);
  else
    throw Error(fmt::format("{}: there is no option {}", function, key));
}

}  // namespace

PythonPool with_options(const PythonPool& pool, nb::handle options) {
  PythonPool result = pool;
  if (options.is_none()) return result;
  for (const auto& [key, value] : nb::cast<nb::dict>(options))
    if (!value.is_none()) set_option(pool.function(), nb::cast<std::string>(key), value, result.pool);
  return result;
}

namespace {

// An array beside x, or none.
struct Beside {
  Beside(std::string_view function, const char* argument, nb::handle object) {
    if (!object.is_none()) array = read_array(function, argument, object);
  }
  ConstTensor view() const { return array ? array->view : ConstTensor(); }

  std::optional<Array> array;
};

nb::object statistic(const PythonPool& given, nb::handle options, nb::handle x_object, nb::handle mask_object,
                     nb::handle weights_object, nb::handle out, nb::handle space_word, nb::handle index_dtype) {
  const PythonPool p = with_options(given, options);
  const std::string_view function = p.function();
  const Array x = read_array(function, "x", x_object);
  p.check_rank(x.view.shape);
  const Beside mask(function, "mask", mask_object), weights(function, "weights", weights_object);
  const Problem problem = make_problem(p.pool, x.view.dtype, x.view.shape);
  const bool indexed = !space_word.is_none();
  const IndexSpace space = indexed ? read_space(function, space_word) : IndexSpace::plane;
  nb::object out_y = nb::borrow(out), out_indices = nb::none();
  if (indexed && !out.is_none()) {
    if (PyTuple_Check(out.ptr()) == 0 || PyTuple_Size(out.ptr()) != 2)
      throw TypeFault(
          fmt::format("{}: out must be a tuple of two arrays (result, indices) if indices are returned, "
                      "but is {}",
                      function, nb::cast<std::string>(nb::str(out.type()))));
    out_y = out[0];
    out_indices = out[1];
  }
  Result y(function, indexed ? "out[0]" : "out", out_y, x, problem.result, problem.output_shape);
  std::optional<Result> indices;
  if (indexed)
    indices.emplace(function, "out[1]", out_indices, x, read_index_dtype(function, index_dtype), problem.output_shape);
  const Options how = options_of_call(x);
  {
    const Tensor index_view = indices ? indices->view() : Tensor();
    const nb::gil_scoped_release release;
    forward(problem,
            {.x = x.view,
             .y = y.view(),
             .indices = index_view,
             .space = space,
             .mask = mask.view(),
             .weights = weights.view()},
            how);
  }
  if (!indices) return y.finish();
  return nb::make_tuple(y.finish(), indices->finish());
}

nb::object statistic_backward(const PythonPool& given, nb::handle options, nb::handle dy_object, nb::handle x_object,
                              nb::handle mask_object, nb::handle weights_object, nb::handle out) {
  const PythonPool p = with_options(given, options);
  const std::string function = std::string(p.function()) + "_backward";
  const Array dy = read_array(function, "dy", dy_object);
  const Array x = read_array(function, "x", x_object);
  check_same_framework(function, "x", x, "dy", dy);
  p.check_rank(x.view.shape);
  const Beside mask(function, "mask", mask_object), weights(function, "weights", weights_object);
  Result dx(function, "out", out, x, x.view.dtype, x.view.shape);
  const Options how = options_of_call(dy);
  {
    const nb::gil_scoped_release release;
    backward(p.pool, {.x = x.view, .dy = dy.view, .dx = dx.view(), .mask = mask.view(), .weights = weights.view()},
             how);
  }
  return dx.finish();
}

}  // namespace

void bind_statistic(nb::module_& m, Options (*options_of)(const Array& like)) {
  options_of_call = options_of;
  m.def("statistic", &statistic, "pool"_a, "options"_a.none(), "x"_a.none(), "mask"_a.none() = nb::none(),
        "weights"_a.none() = nb::none(), "out"_a.none() = nb::none(), "space"_a.none() = nb::none(),
        "index_dtype"_a.none() = "int64",
        "The pool of x over its valid taps, with options, and with indices if a space is given.");
  m.def("statistic_backward", &statistic_backward, "pool"_a, "options"_a.none(), "dy"_a.none(), "x"_a.none(),
        "mask"_a.none() = nb::none(), "weights"_a.none() = nb::none(), "out"_a.none() = nb::none(),
        "The gradient of such a pool.");
  m.def(
      "statistic_result",
      [](const PythonPool& given, nb::handle options, nb::handle shape, nb::handle dtype) {
        const PythonPool p = with_options(given, options);
        const Extents extents = read_shape(p.function(), "shape", shape);
        p.check_rank(extents);
        const Problem problem = make_problem(p.pool, read_dtype(p.function(), dtype), extents);
        return nb::make_tuple(to_tuple(problem.output_shape), std::string(numpy_name(problem.result)));
      },
      "pool"_a, "options"_a.none(), "shape"_a, "dtype"_a,
      "(shape, name of the dtype) of the result on an array of that shape and dtype.");
  m.def(
      "statistic_words",
      [](const PythonPool& given, nb::handle options) {
        nb::list words;
        for (const index_t word : to_words(with_options(given, options).pool)) words.append(word);
        return nb::tuple(words);
      },
      "pool"_a, "options"_a.none(), "The words of such a pool, as Pool.words.");
}

}  // namespace oriel::python
