// The module oriel._core: pools on the arrays of any framework. python/oriel holds what people call.
#include <dlfcn.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "arguments.h"
#include "array.h"
#include "faults.h"
#include "openmp.h"
#include "oriel/pool.h"
#include "oriel/version.h"
#include "pool_words.h"
#include "processor.h"
#include "pyramid.h"
#include "ranks.h"
#include "result.h"
#include "statistic.h"
#include "text.h"
#include "tile.h"

namespace oriel::python {
namespace {

using namespace nb::literals;

thread_local int threads_of_this_thread = 0;

Options options() { return {.threads = threads_of_this_thread}; }

// For a call on arrays like that one: of PyTorch's, on its threads; on a CUDA device, the framework's current stream.
Options options(const Array& like) {
  Options o = options();
  o.stream = like.stream;
  if (like.access == Access::exchange && like.view.device == Device::cpu && o.threads != 1) {
    o.executor = openmp_executor();
  }
  if (like.exchange != nullptr && like.view.device == Device::cuda && like.exchange->current_work_stream != nullptr &&
      like.exchange->current_work_stream(dlpack::kCuda, like.device_id, &o.stream) != 0) {
    throw nb::python_error();
  }
  return o;
}

nb::object forward_array(const PythonPool& p, const Array& x, nb::handle out) {
  p.check_rank(x.view.shape);
  const Problem problem = make_problem(p.pool, x.view.dtype, x.view.shape);
  Result y(p.function(), "out", out, x, problem.result, problem.output_shape);
  const Options how = options(x);
  {
    const nb::gil_scoped_release release;
    forward(problem, {.x = x.view, .y = y.view()}, how);
  }
  return y.finish();
}

nb::object forward_pool(const PythonPool& p, nb::handle x, nb::handle out) {
  return forward_array(p, read_array(p.function(), "x", x), out);
}

nb::object forward_indices(const PythonPool& p, nb::handle x_object, nb::handle space_word, nb::handle out,
                           nb::handle index_dtype) {
  const Array x = read_array(p.function(), "x", x_object);
  p.check_rank(x.view.shape);
  const IndexSpace space = read_space(p.function(), space_word);
  const Dtype dtype = read_index_dtype(p.function(), index_dtype);
  nb::object out_y = nb::none(), out_indices = nb::none();
  if (!out.is_none()) {
    if (PyTuple_Check(out.ptr()) == 0 || PyTuple_Size(out.ptr()) != 2) {
      throw TypeFault(
          fmt::format("{}: out must be a tuple of two arrays (result, indices) if indices are returned, "
                      "but is {}",
                      p.function(), nb::cast<std::string>(nb::str(out.type()))));
    }
    out_y = out[0];
    out_indices = out[1];
  }
  const Problem problem = make_problem(p.pool, x.view.dtype, x.view.shape);
  const Extents& shape = problem.output_shape;
  Result y(p.function(), "out[0]", out_y, x, problem.result, shape);
  Result indices(p.function(), "out[1]", out_indices, x, dtype, shape);
  const Options how = options(x);
  {
    const nb::gil_scoped_release release;
    forward(problem, {.x = x.view, .y = y.view(), .indices = indices.view(), .space = space}, how);
  }
  return nb::make_tuple(y.finish(), indices.finish());
}

// The pool of x, and the codes that its gradient goes by, or None if recomputing the extrema is faster, or takes no
// time that counts beside that of a call.
std::pair<nb::object, nb::object> values_and_codes(const PythonPool& p, const Array& x) {
  constexpr index_t kFewInputs = 1024;
  p.check_rank(x.view.shape);
  const auto values_alone = [&] { return std::pair(forward_array(p, x, nb::none()), nb::object(nb::none())); };
  const bool finds = p.pool.op == Op::max || p.pool.op == Op::min;
  if (!finds || x.view.device != Device::cpu || element_count(x.view.shape) < kFewInputs) return values_alone();
  Problem problem = make_problem(p.pool, x.view.dtype, x.view.shape);
  problem.order = memory_order(x.view.pitch);
  if (x.view.pitch != dense_pitch(x.view.shape, problem.order) || !codes_pay(problem)) return values_alone();
  NewArray y(x, problem.dtype, problem.output_shape), codes(x, Dtype::u8, problem.output_shape);
  const Options how = options(x);
  {
    const nb::gil_scoped_release release;
    forward(problem, {.x = x.view, .y = y.view(), .indices = codes.view(), .space = IndexSpace::window}, how);
  }
  nb::object values = y.finish();
  return {std::move(values), codes.finish()};
}

nb::object forward_codes(const PythonPool& p, nb::handle x) {
  auto [y, codes] = values_and_codes(p, read_array(p.function(), "x", x));
  return nb::make_tuple(std::move(y), std::move(codes));
}

bool codes_pay_for(const std::vector<index_t>& words, nb::handle shape, nb::handle dtype) {
  constexpr const char* kFunction = "codes_pay";
  return codes_pay(
      make_problem(from_words(words), read_dtype(kFunction, dtype), read_shape(kFunction, "shape", shape)));
}

nb::object backward_pool(const PythonPool& p, nb::handle dy_object, nb::handle x_object, nb::handle shape,
                         nb::handle out) {
  const std::string function = std::string(p.function()) + "_backward";
  const Array dy = read_array(function, "dy", dy_object);
  if (x_object.is_none()) {
    Result dx(function, "out", out, dy, dy.view.dtype, read_shape(function, "input_shape", shape));
    p.check_rank(dx.view().shape);
    const Options how = options(dy);
    {
      const nb::gil_scoped_release release;
      backward(p.pool, {.dy = dy.view, .dx = dx.view()}, how);
    }
    return dx.finish();
  }
  const Array x = read_array(function, "x", x_object);
  check_same_framework(function, "x", x, "dy", dy);
  p.check_rank(x.view.shape);
  Result dx(function, "out", out, x, x.view.dtype, x.view.shape);
  const Options how = options(dy);
  {
    const nb::gil_scoped_release release;
    backward(p.pool, {.x = x.view, .dy = dy.view, .dx = dx.view()}, how);
  }
  return dx.finish();
}

nb::object backward_indices(const PythonPool& p, nb::handle dy_object, nb::handle indices_object, nb::handle space_word,
                            nb::handle shape, nb::handle out) {
  const std::string function = std::string(p.function()) + "_backward";
  const Array dy = read_array(function, "dy", dy_object);
  const Array indices = read_array(function, "indices", indices_object);
  check_same_framework(function, "dy", dy, "indices", indices);
  const IndexSpace space = read_space(function, space_word);
  Result dx(function, "out", out, dy, dy.view.dtype, read_shape(function, "input_shape", shape));
  p.check_rank(dx.view().shape);
  const Options how = options(dy);
  {
    const nb::gil_scoped_release release;
    backward(p.pool, {.dy = dy.view, .indices = indices.view, .space = space, .dx = dx.view()}, how);
  }
  return dx.finish();
}

nb::object unpool_planes(nb::handle y_object, nb::handle indices_object, nb::handle space_word, nb::handle axes,
                         nb::handle shape, nb::handle out) {
  const char* function = "max_unpool";
  const Array y = read_array(function, "x", y_object);
  const Array indices = read_array(function, "indices", indices_object);
  check_same_framework(function, "x", y, "indices", indices);
  Result x(function, "out", out, y, y.view.dtype, read_shape(function, "output_size", shape));
  const IndexSpace space = read_space(function, space_word);
  const Extents pooled = read_optional_ints(function, "axes", axes);
  const Options how = options(y);
  {
    const nb::gil_scoped_release release;
    unpool(pooled, {.y = y.view, .indices = indices.view, .space = space, .x = x.view()}, how);
  }
  return x.finish();
}

// A tensor without a gradient, or nothing where it cannot be read: meta tensors, other devices, other dtypes.
std::optional<Array> read_if_here(nb::handle x) {
  try {
    return read_array("pool", "x", x, true);
  } catch (const ElsewhereFault&) {
    return std::nullopt;
  } catch (const TypeFault&) {
    return std::nullopt;
  }
}

// A quick way for eager calls on ordinary tensors: what would act on a call through the dispatcher is asked first.
class EagerPool {
 public:
  // `types`: the exact types of ordinary tensors. `watchers`: functions without arguments that all give None, False or
  // 0 when nothing watches. `scope`, `level`: a module's dictionary and the name of an int in it that is negative then.
  // `threads`: gives the number of threads to use; `records`: whether gradients are recorded.
  EagerPool(nb::tuple types, nb::tuple watchers, nb::dict scope, nb::str level, nb::object threads, nb::object records)
      : types_(std::move(types)),
        watchers_(std::move(watchers)),
        scope_(std::move(scope)),
        level_(std::move(level)),
        threads_(std::move(threads)),
        records_(std::move(records)) {}

  // Whether nothing watches, and x is ordinary.
  bool may_act_on(nb::handle x) const { return is_ordinary(x) && !is_watched(); }
  bool wants_gradient(nb::handle x) const { return is_true(x, requires_grad_) && records_().is(nb::bool_(true)); }

  // The pool of the array, or where its gradient is wanted a tuple of it, codes or None, and `pool`.
  nb::object act(const Array& array, const PythonPool& pool, bool gradient) const {
    const int before = threads_of_this_thread;
    const index_t asked = read_int("threads", "n", nb::object(threads_()));
    const Restore restore{before};
    if (asked < (before > 0 ? before : default_threads())) threads_of_this_thread = static_cast<int>(asked);
    if (!gradient) return forward_array(pool, array, nb::none());
    auto [y, codes] = values_and_codes(pool, array);
    return nb::make_tuple(std::move(y), std::move(codes), pool);
  }

 private:
  struct Restore {
    int before;
    ~Restore() { threads_of_this_thread = before; }
  };

  bool is_ordinary(nb::handle x) const {
    for (nb::handle type : types_) {
      if (x.type().is(type)) return true;
    }
    return false;
  }

  bool is_watched() const {
    for (nb::handle watcher : watchers_) {
      const nb::object seen = nb::steal(PyObject_CallNoArgs(watcher.ptr()));
      if (!seen.is_valid()) throw nb::python_error();
      if (!seen.is_none() && PyObject_IsTrue(seen.ptr()) != 0) return true;
    }
    const nb::object level = nb::steal(PyObject_GetItem(scope_.ptr(), level_.ptr()));
    if (level.is_valid()) return PyLong_AsLong(level.ptr()) >= 0;
    PyErr_Clear();
    return true;
  }

  static bool is_true(nb::handle x, const nb::str& attribute) {
    const nb::object value = nb::steal(PyObject_GetAttr(x.ptr(), attribute.ptr()));
    if (!value.is_valid()) throw nb::python_error();
    return value.ptr() == Py_True;
  }

  nb::str requires_grad_ = nb::str("requires_grad");
  nb::tuple types_, watchers_;
  nb::dict scope_;
  nb::str level_;
  nb::object threads_, records_;
};

bool equal(const PythonPool& p, nb::handle other) {
  const PythonPool* q = nullptr;
  return nb::try_cast(other, q) && q != nullptr && p.ndim == q->ndim && p.pool == q->pool;
}

// The tuple of the words, whose hash and whose values Python makes.
nb::tuple words_tuple(const PythonPool& p) {
  nb::list list;
  for (index_t word : to_words(p.pool)) list.append(word);
  return nb::tuple(list);
}

std::string representation(const PythonPool& p) {
  const Pool& pool = p.pool;
  std::string text = fmt::format("Pool('{}'", name(pool.op));
  const auto add = [&](const char* word, const Extents& values) {
    if (!values.empty()) text += fmt::format(", {}={}", word, to_string(values));
  };
  if (pool.windows.kind == WindowKind::global) text += ", global";
  add("kernel_size", pool.windows.kernel);
  add("stride", pool.windows.stride);
  if (pool.windows.padding != Padding::given)
    text += pool.windows.padding == Padding::same_upper ? ", same" : ", same_lower";
  add("pad_lo", pool.windows.pad_lo);
  add("pad_hi", pool.windows.pad_hi);
  add("dilation", pool.windows.dilation);
  add("output_size", pool.windows.output_size);
  if (pool.windows.ceil_mode) text += ", ceil_mode";
  if (!pool.count_include_pad) text += ", exclude";
  if (pool.divisor != 0) text += fmt::format(", divisor={}", pool.divisor);
  if (pool.op == Op::lp) text += fmt::format(", norm={}", pool.norm);
  if (pool.nan == NanPolicy::omit) text += ", omit";
  if (!pool.windows.axes.empty()) {
    text += ", axes=(";
    for (index_t axis : pool.windows.axes) text += fmt::format("{},", axis);
    text += ")";
  }
  return text + ")";
}

void bind_pool(nb::module_& m) {
  nb::class_<PythonPool> pool(m, "Pool", "A pool for tensors of any shape: the op, its windows, its axes. Immutable.");
  pool.def(
      "__init__",
      [](PythonPool* self, nb::handle op, nb::handle kernel_size, nb::handle stride, nb::handle padding,
         nb::handle dilation, nb::handle output_size, nb::handle axes, nb::handle ceil_mode,
         nb::handle count_include_pad, nb::handle divisor, nb::handle norm, bool omit_nan, int ndim) {
        new (self) PythonPool(read_pool(op, kernel_size, stride, padding, dilation, output_size, axes, ceil_mode,
                                        count_include_pad, divisor, norm, omit_nan, ndim));
      },
      "op"_a, "kernel_size"_a.none(), "stride"_a.none() = nb::none(), "padding"_a.none() = 0, "dilation"_a.none() = 1,
      "output_size"_a.none() = nb::none(), "axes"_a.none() = nb::none(), "ceil_mode"_a.none() = false,
      "count_include_pad"_a.none() = true, "divisor"_a.none() = nb::none(), "norm"_a.none() = nb::none(),
      "omit_nan"_a = false, "ndim"_a = 0);
  pool.def("__eq__", &equal, "other"_a.none());
  pool.def("__hash__", [](const PythonPool& p) { return nb::hash(words_tuple(p)); });
  pool.def("__repr__", &representation);
  pool.def_prop_ro("op", [](const PythonPool& p) { return std::string(name(p.pool.op)); });
  pool.def_prop_ro("words", &words_tuple, "The pool as a flat tuple of 64-bit integers.");
  pool.def_prop_ro("kernel_size", [](const PythonPool& p) { return to_tuple(p.pool.windows.kernel); });
  pool.def_prop_ro("stride", [](const PythonPool& p) { return to_tuple(p.pool.windows.stride); });
  pool.def_prop_ro("pad_lo", [](const PythonPool& p) { return to_tuple(p.pool.windows.pad_lo); });
  pool.def_prop_ro("pad_hi", [](const PythonPool& p) { return to_tuple(p.pool.windows.pad_hi); });
  pool.def_prop_ro("dilation", [](const PythonPool& p) { return to_tuple(p.pool.windows.dilation); });
  pool.def_prop_ro("output_size", [](const PythonPool& p) { return to_tuple(p.pool.windows.output_size); });
  pool.def_prop_ro("axes", [](const PythonPool& p) { return to_tuple(p.pool.windows.axes); });
  pool.def_prop_ro("norm", [](const PythonPool& p) { return p.pool.norm; });
  pool.def_prop_ro("ndim", [](const PythonPool& p) { return p.ndim; });
  pool.def(
      "output_shape",
      [](const PythonPool& p, nb::handle shape) {
        const Extents extents = read_shape(p.function(), "shape", shape);
        p.check_rank(extents);
        return to_tuple(output_shape(p.pool, extents));
      },
      "shape"_a, "The shape of the result on a tensor of that shape.");
  pool.def(
      "resolved_axes",
      [](const PythonPool& p, nb::handle shape) {
        const Extents extents = read_shape(p.function(), "shape", shape);
        p.check_rank(extents);
        return to_tuple(pooled_axes(p.pool, extents.size()));
      },
      "shape"_a, "The pooled axes of a tensor of that shape, counted from its first.");
  pool.def("beside_channels", &PythonPool::beside_channels, "rank"_a,
           "The same pool on a tensor of that rank; if it names no axes, without batch and channels.");
}

void bind_functions(nb::module_& m) {
  m.def("forward", &forward_pool, "pool"_a, "x"_a.none(), "out"_a.none() = nb::none());
  m.def("forward_indices", &forward_indices, "pool"_a, "x"_a.none(), "space"_a, "out"_a.none() = nb::none(),
        "index_dtype"_a.none() = "int64");
  m.def("forward_codes", &forward_codes, "pool"_a, "x"_a.none(),
        "(result, codes): u8 codes of the windows' taps if a gradient from them is the fastest, else None");
  m.def("codes_pay", &codes_pay_for, "words"_a, "shape"_a, "dtype"_a,
        "Whether forward_codes of the pool with these words returns codes for a dense array of that shape and dtype.");
  m.def("backward", &backward_pool, "pool"_a, "dy"_a.none(), "x"_a.none(), "shape"_a.none(),
        "out"_a.none() = nb::none());
  m.def("backward_indices", &backward_indices, "pool"_a, "dy"_a.none(), "indices"_a.none(), "space"_a, "shape"_a,
        "out"_a.none() = nb::none());
  m.def("unpool", &unpool_planes, "y"_a.none(), "indices"_a.none(), "space"_a, "axes"_a.none(), "shape"_a,
        "out"_a.none() = nb::none());
  m.def(
      "set_threads",
      [](int n) {
        if (n < 0) throw Error(fmt::format("set_threads: n must be >= 0 (0: all), but is {}", n));
        threads_of_this_thread = n;
      },
      "n"_a, "Largest number of threads for calls from this thread; 0: all that the process may use.");
  m.def("get_threads", [] { return threads_of_this_thread; });
  m.def("default_threads", &default_threads);
  m.def("use_openmp_of", &use_openmp_of, "path"_a,
        "Calls on PyTorch's CPU tensors run on the threads of the OpenMP runtime that this loaded library is linked "
        "with; "
        "on oneTBB's if the path is empty or no such runtime is found, which then returns False.");
  m.def("has_cuda", &has_cuda, "Whether this build pools tensors on CUDA devices.");
  m.def("supported_targets", &supported_targets);
  m.def("active_target", &active_target);
  m.def("set_target", &set_target, "name"_a);
  m.attr("version") = version();
}

void bind_eager(nb::module_& m) {
  nb::class_<EagerPool> eager(m, "EagerPool", "Pools ordinary tensors without a framework's dispatcher.");
  eager.def(nb::init<nb::tuple, nb::tuple, nb::dict, nb::str, nb::object, nb::object>(), "types"_a, "watchers"_a,
            "scope"_a, "level"_a, "threads"_a, "records"_a);
  eager.def(
      "__call__",
      [](const EagerPool& self, nb::handle x, nb::handle op, nb::handle kernel_size, nb::handle stride,
         nb::handle padding, nb::handle dilation, nb::handle output_size, nb::handle axes, nb::handle ceil_mode,
         nb::handle count_include_pad, nb::handle divisor, nb::handle norm, bool omit_nan, int ndim) {
        if (!self.may_act_on(x)) return nb::borrow(Py_NotImplemented);
        const std::optional<Array> array = read_if_here(x);
        if (!array || array->view.device != Device::cpu) return nb::borrow(Py_NotImplemented);
        const PythonPool pool = read_pool(op, kernel_size, stride, padding, dilation, output_size, axes, ceil_mode,
                                          count_include_pad, divisor, norm, omit_nan, ndim);
        return self.act(*array, pool.beside_channels(array->view.shape.size()), self.wants_gradient(x));
      },
      "x"_a.none(), "op"_a, "kernel_size"_a.none(), "stride"_a.none(), "padding"_a.none(), "dilation"_a.none(),
      "output_size"_a.none(), "axes"_a.none(), "ceil_mode"_a.none(), "count_include_pad"_a.none(), "divisor"_a.none(),
      "norm"_a.none(), "omit_nan"_a, "ndim"_a,
      "The pool of x; a tuple of it, codes of what its gradient goes by or None, and the Pool, if a gradient is "
      "recorded; "
      "or NotImplemented if something intercepts calls, or x is not ordinary.");
}

void bind_errors() {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const TypeFault& e) {
      PyErr_SetString(PyExc_TypeError, e.what());
    } catch (const Error& e) {
      PyErr_SetString(PyExc_ValueError, python_text(e).c_str());
    }
  });
}

// Throws if no call can work here. The words are known to python/oriel/load_error.py.
void check_process() {
  if (const char* missing = missing_instructions(); missing != nullptr) {
    throw std::runtime_error(fmt::format("compiled for processors with {}", missing));
  }
  // A program that links with another liboriel, or preloads one, lends it to the module; within a
  // minor version that works.
  const std::string loaded = version();
  const std::string fits =
      ORIEL_VERSION_MAJOR == 0 ? fmt::format("0.{}.", ORIEL_VERSION_MINOR) : fmt::format("{}.", ORIEL_VERSION_MAJOR);
  if (!loaded.starts_with(fits)) {
    Dl_info info = {};
    dladdr(reinterpret_cast<const void*>(&version), &info);
    throw std::runtime_error(fmt::format("compiled for Oriel {}x, but runs with {} of {}", fits, loaded,
                                         info.dli_fname == nullptr ? "the program" : info.dli_fname));
  }
}

}  // namespace
}  // namespace oriel::python

NB_MODULE(_core, m) {
  oriel::python::check_process();
  nanobind::set_leak_warnings(false);  // what a framework still holds when Python ends is not ours to print
  oriel::python::import_arrays();
  oriel::python::bind_errors();
  oriel::python::bind_pool(m);
  oriel::python::bind_functions(m);
  oriel::python::bind_eager(m);
  oriel::python::bind_statistic(m, &oriel::python::options);
  oriel::python::bind_pyramid(m);
  oriel::python::bind_ranks(m, &oriel::python::options);
  oriel::python::bind_tile(m);
}
