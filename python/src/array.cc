#include "array.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "faults.h"
#include "line_memory.h"
#include "numpy_interface.h"
#include "oriel/pool.h"
#include "text.h"

namespace oriel::python {
namespace {

using namespace nb::literals;

constexpr std::string_view kDtypes = "float64, float32, float16, bfloat16, int8 to int64, uint8 to uint64 or bool";

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }
std::string kind_of(nb::handle object) { return text_of(nb::object(object.type().attr("__name__"))); }
std::string dtype_of(nb::handle array) { return text_of(nb::object(array.attr("dtype"))); }

// The first line of the Python exception that is set, which is cleared. (torch adds a stack trace.)
std::string take_python_error() {
  const nb::python_error error;
  const std::string text = text_of(error.value());
  return text.substr(0, text.find('\n'));
}

// -- NumPy

// The dtype of user-defined type numbers: ml_dtypes registers bfloat16 with NumPy under a number of its own.
bool is_bfloat16(const PyArray_Descr* descr) {
  static std::atomic<int> known = -1;  // threads may ask at once when there is no GIL; all find the same
  if (descr->type_num == known.load(std::memory_order_relaxed)) return true;
  if (descr->type_num < NPY_USERDEF) return false;
  const nb::object type = nb::steal(PyType_GetName(descr->typeobj));
  if (!type.is_valid()) throw nb::python_error();
  if (text_of(type) != "bfloat16") return false;
  known.store(descr->type_num, std::memory_order_relaxed);
  return true;
}

std::optional<Dtype> dtype_of_numpy(PyArray_Descr* descr) {
  switch (PyDataType_ELSIZE(descr)) {
    case 1:
      if (descr->kind == 'b') return Dtype::boolean;
      if (descr->kind == 'i') return Dtype::i8;
      if (descr->kind == 'u') return Dtype::u8;
      break;
    case 2:
      if (descr->kind == 'f') return Dtype::f16;
      if (descr->kind == 'i') return Dtype::i16;
      if (descr->kind == 'u') return Dtype::u16;
      if (is_bfloat16(descr)) return Dtype::bf16;
      break;
    case 4:
      if (descr->kind == 'f') return Dtype::f32;
      if (descr->kind == 'i') return Dtype::i32;
      if (descr->kind == 'u') return Dtype::u32;
      break;
    case 8:
      if (descr->kind == 'f') return Dtype::f64;
      if (descr->kind == 'i') return Dtype::i64;
      if (descr->kind == 'u') return Dtype::u64;
      break;
    default:
      break;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_dtype(std::string_view function, const char* argument, const std::string& found) {
  throw TypeFault(fmt::format("{}: {} must have dtype {}, but has {}", function, argument, kDtypes, found));
}

Array from_numpy(std::string_view function, const char* argument, nb::handle object, PyArrayObject* array) {
  Array result;
  result.object = nb::borrow(object);
  result.owner = nb::borrow(reinterpret_cast<PyObject*>(array));
  PyArray_Descr* descr = PyArray_DESCR(array);
  const std::optional<Dtype> dtype = dtype_of_numpy(descr);
  if (!dtype) {
    refuse_dtype(function, argument, text_of(reinterpret_cast<PyObject*>(descr)));
  }
  const npy_intp item = PyDataType_ELSIZE(descr);
  bool whole = PyArray_ISALIGNED(array) && !PyArray_ISBYTESWAPPED(array);
  for (int d = 0; d < PyArray_NDIM(array) && whole; ++d) whole = PyArray_STRIDE(array, d) % item == 0;
  if (!whole) {  // fields of packed records, or the other byte order: the engine cannot read the elements where they
                 // are
    PyArray_Descr* native = PyArray_DescrNewByteorder(descr, NPY_NATIVE);
    if (native == nullptr) throw nb::python_error();
    PyObject* copy = PyArray_FromArray(array, native, NPY_ARRAY_BEHAVED | NPY_ARRAY_ENSURECOPY);  // takes `native`
    if (copy == nullptr) throw nb::python_error();
    result.owner = nb::steal(copy);
    array = reinterpret_cast<PyArrayObject*>(copy);
  }
  result.view.data = PyArray_DATA(array);
  result.view.dtype = *dtype;
  for (int d = 0; d < PyArray_NDIM(array); ++d) {
    result.view.shape.push_back(PyArray_DIM(array, d));
    result.view.pitch.push_back(PyArray_STRIDE(array, d) / item);
  }
  result.writable = PyArray_ISWRITEABLE(array) && whole;
  return result;
}

// -- DLPack

std::optional<Dtype> dtype_of_dlpack(std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
  if (lanes != 1) return std::nullopt;
  switch (code * 1000 + bits) {
    case dlpack::kFloat * 1000 + 64:
      return Dtype::f64;
    case dlpack::kFloat * 1000 + 32:
      return Dtype::f32;
    case dlpack::kFloat * 1000 + 16:
      return Dtype::f16;
    case dlpack::kBfloat * 1000 + 16:
      return Dtype::bf16;
    case dlpack::kInt * 1000 + 8:
      return Dtype::i8;
    case dlpack::kInt * 1000 + 16:
      return Dtype::i16;
    case dlpack::kInt * 1000 + 32:
      return Dtype::i32;
    case dlpack::kInt * 1000 + 64:
      return Dtype::i64;
    case dlpack::kUInt * 1000 + 8:
      return Dtype::u8;
    case dlpack::kUInt * 1000 + 16:
      return Dtype::u16;
    case dlpack::kUInt * 1000 + 32:
      return Dtype::u32;
    case dlpack::kUInt * 1000 + 64:
      return Dtype::u64;
    case dlpack::kBool * 1000 + 8:
      return Dtype::boolean;
    default:
      return std::nullopt;
  }
}

void check_cpu(std::string_view function, const char* argument, std::int32_t device_type) {
  if (device_type != dlpack::kCpu) {
    throw ElsewhereFault(fmt::format("{}: {} must be in the memory of the CPU, but its DLPack device type is {}",
                                     function, argument, device_type));
  }
}

// The device of an array, as DLPack says it.
Device read_device(std::string_view function, const char* argument, const dlpack::Device& device) {
  if (device.type != dlpack::kCuda) {
    check_cpu(function, argument, device.type);
    return Device::cpu;
  }
  if (!has_cuda()) {
    throw ElsewhereFault(fmt::format("{}: {} is on CUDA device {}, but this build of oriel runs on the CPU only",
                                     function, argument, device.id));
  }
  return Device::cuda;
}

// The exchange table of a type, or null.
const dlpack::Exchange* find_exchange(PyTypeObject* type) {
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  const dlpack::Exchange* table = nullptr;
  if (capsule != nullptr) {
    table = static_cast<const dlpack::Exchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
    Py_DECREF(capsule);
  }
  PyErr_Clear();
  while (table != nullptr && table->version.major != dlpack::kMajor) table = table->previous;
  return table != nullptr && table->view_of_object != nullptr ? table : nullptr;
}

// The same for the type of `object`; each thread remembers its last type, and keeps it alive for that.
const dlpack::Exchange* exchange_of(nb::handle object) {
  thread_local PyTypeObject* known_type = nullptr;
  thread_local const dlpack::Exchange* known = nullptr;
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (type != known_type) {
    known = find_exchange(type);
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    Py_XDECREF(reinterpret_cast<PyObject*>(std::exchange(known_type, type)));
  }
  return known;
}

// Made when the module is loaded, by one thread: one that waits for another's static object holds up Python's own
// pauses of all threads. Kept until the process ends.
struct Names {
  PyObject* requires_grad = nullptr;
  PyObject* is_neg = nullptr;
} names;

PyObject* lasting(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  if (name == nullptr) throw nb::python_error();
  return name;
}

// torch: whether results would have to carry a gradient, which this way of calling loses.
bool wants_gradient(nb::handle tensor) {
  PyObject* required = PyObject_GetAttr(tensor.ptr(), names.requires_grad);
  if (required == nullptr) PyErr_Clear();
  const bool is_required = required == Py_True;
  Py_XDECREF(required);
  return is_required && nb::cast<bool>(nb::module_::import_("torch").attr("is_grad_enabled")());
}

// torch marks tensors whose values are the negatives of what their memory holds; DLPack does not carry the mark.
bool is_negated(nb::handle tensor) {
  PyObject* argument = tensor.ptr();
  PyObject* result = PyObject_VectorcallMethod(names.is_neg, &argument, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (result == nullptr) {
    PyErr_Clear();
    return false;
  }
  const bool negated = result == Py_True;
  Py_DECREF(result);
  return negated;
}

Array from_exchange(std::string_view function, const char* argument, nb::handle object,
                    const dlpack::Exchange* exchange, bool gradient_ruled_out) {
  Array result;
  result.access = Access::exchange;
  result.exchange = exchange;
  result.object = nb::borrow(object);
  if (!gradient_ruled_out && wants_gradient(object)) {
    throw Error(
        fmt::format("{}: {} must not require grad here; oriel.torch has differentiable functions, {}.detach() "
                    "drops the gradient",
                    function, argument, argument));
  }
  result.owner = is_negated(object) ? result.object.attr("resolve_neg")() : result.object;
  dlpack::Tensor t{};
  if (exchange->view_of_object(result.owner.ptr(), &t) != 0) {
    throw ElsewhereFault(fmt::format("{}: {} cannot be read: {}", function, argument, take_python_error()));
  }
  result.view.device = read_device(function, argument, t.device);
  result.device_id = t.device.id;
  const std::optional<Dtype> dtype = dtype_of_dlpack(t.dtype.code, t.dtype.bits, t.dtype.lanes);
  if (!dtype) refuse_dtype(function, argument, dtype_of(object));
  result.view.data = static_cast<const std::byte*>(t.data) + t.byte_offset;
  result.view.dtype = *dtype;
  for (int d = 0; d < t.ndim; ++d) result.view.shape.push_back(t.shape[d]);
  if (t.strides == nullptr) {
    result.view.pitch = dense_pitch(result.view.shape);
  } else {
    for (int d = 0; d < t.ndim; ++d) result.view.pitch.push_back(t.strides[d]);
  }
  result.writable = true;
  return result;
}

template <class View>
Array from_view(std::string_view function, const char* argument, nb::handle object, View view) {
  Array result;
  result.access = Access::dlpack;
  result.object = nb::borrow(object);
  result.device_id = view.device_id();
  result.view.device = read_device(function, argument, {view.device_type(), result.device_id});
  const std::optional<Dtype> dtype = dtype_of_dlpack(view.dtype().code, view.dtype().bits, view.dtype().lanes);
  if (!dtype) refuse_dtype(function, argument, dtype_of(object));
  result.view.data = view.data();
  result.view.dtype = *dtype;
  for (std::size_t d = 0; d < view.ndim(); ++d) {
    result.view.shape.push_back(static_cast<index_t>(view.shape(d)));
    result.view.pitch.push_back(view.stride(d));
  }
  result.owner = nb::capsule(new View(view), [](void* p) noexcept { delete static_cast<View*>(p); });
  return result;
}

// Whether an object with __dlpack__ says that it is on a CUDA device.
bool is_on_cuda(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack_device__")) return false;
  const nb::object device = object.attr("__dlpack_device__")();
  return nb::cast<int>(nb::int_(nb::object(device[0]))) == dlpack::kCuda;
}

// The stream on which the producer of a CUDA array works now: `stream` of its __cuda_array_interface__, which numbers
// streams as DLPack does (1: the legacy default stream, 2: that of the thread, else a cudaStream_t).
nb::object stream_of(nb::handle object) {
  if (nb::hasattr(object, "__cuda_array_interface__")) {
    const nb::object stream = object.attr("__cuda_array_interface__").attr("get")("stream");
    if (!stream.is_none()) return stream;
  }
  return nb::int_(1);
}

// An array on a CUDA device whose type has no exchange table, as CuPy's: a call goes on the producer's own stream, so
// that neither has to wait for the other.
template <class View>
Array from_cuda(std::string_view function, const char* argument, nb::handle object) {
  const nb::object device = object.attr("__dlpack_device__")();
  read_device(function, argument, {dlpack::kCuda, nb::cast<std::int32_t>(nb::int_(nb::object(device[1])))});
  const nb::object stream = stream_of(object);
  View view;
  try {
    const nb::object capsule = object.attr("__dlpack__")("stream"_a = stream);
    if (!nb::try_cast(capsule, view)) {
      PyErr_Clear();
      throw TypeFault(fmt::format("{}: {} must be an array, but its __dlpack__ returns none", function, argument));
    }
  } catch (nb::python_error& e) {
    const std::string text = text_of(e.value());
    throw ElsewhereFault(fmt::format("{}: {} cannot be read: {}", function, argument, text.substr(0, text.find('\n'))));
  }
  Array result = from_view(function, argument, object, view);
  result.stream = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(stream));
  return result;
}

// JAX's arrays are immutable, but not every version marks their memory as read-only.
bool is_immutable(nb::handle object) {
  const std::string module = text_of(nb::object(object.type().attr("__module__")));
  return module.starts_with("jax");
}

// Stands for an array while JAX compiles or differentiates a function.
bool is_traced(nb::handle object) { return is_immutable(object) && kind_of(object).ends_with("Tracer"); }

// Arrays that are read when they are asked for: __array__ would bring all of one into memory without a word, and lose
// the labels of those that have any.
void refuse_lazy(std::string_view function, const char* argument, nb::handle object) {
  struct Kind {
    std::string_view package, type, help;
  };
  static constexpr std::array kKinds{
      Kind{"dask", "Array",
           "x.map_overlap or x.map_blocks with this function pools it in blocks, x.compute() reads it"},
      Kind{"xarray", "DataArray", "xarray.apply_ufunc with this function keeps its labels, x.values has none"},
      Kind{"xarray", "Variable", "xarray.apply_ufunc with this function keeps its labels, x.values has none"},
      Kind{"xarray", "Dataset", "x.map applies a function to each of its variables"},
      Kind{"zarr", "Array", "x[...] reads it whole, slices read a part"},
      Kind{"h5py", "Dataset", "x[...] reads it whole, slices read a part, and `oriel pool` reads the file in parts"},
      Kind{"tensorstore", "TensorStore", "x.read().result() reads it whole, slices read a part"},
  };
  const std::string module = text_of(nb::object(object.type().attr("__module__"))), type = kind_of(object);
  const std::string_view package = std::string_view(module).substr(0, module.find('.'));
  for (const Kind& kind : kKinds) {
    if (package == kind.package && type == kind.type) {
      throw TypeFault(fmt::format("{}: {} must be an array in memory, but is {}.{}; {}", function, argument, package,
                                  type, kind.help));
    }
  }
}

bool has_dlpack(nb::handle object) { return nb::hasattr(object, "__dlpack__"); }

}  // namespace

void import_arrays() {
  if (_import_array() < 0) throw nb::python_error();
  import_line_memory();
  names = {lasting("requires_grad"), lasting("is_neg")};
}

Array read_array(std::string_view function, const char* argument, nb::handle object, bool gradient_ruled_out) {
  if (PyArray_Check(object.ptr())) {
    if (PyArray_CheckExact(object.ptr()) == 0 && nb::hasattr(object, "mask")) {
      throw TypeFault(fmt::format("{}: {} must be an array without a mask, but is {}; x.filled(value) gives one",
                                  function, argument, kind_of(object)));
    }
    return from_numpy(function, argument, object, reinterpret_cast<PyArrayObject*>(object.ptr()));
  }
  if (const dlpack::Exchange* exchange = exchange_of(object)) {
    return from_exchange(function, argument, object, exchange, gradient_ruled_out);
  }
  refuse_lazy(function, argument, object);
  if (has_dlpack(object)) {
    if (is_on_cuda(object)) return from_cuda<nb::ndarray<nb::ro>>(function, argument, object);
    nb::ndarray<nb::ro> view;
    if (nb::try_cast(object, view)) return from_view(function, argument, object, view);
    PyErr_Clear();
  }
  PyObject* converted = PyArray_FromAny(object.ptr(), nullptr, 0, 0, 0, nullptr);
  if (converted == nullptr) {
    const std::string why = take_python_error();
    if (is_traced(object)) {
      throw TypeFault(
          fmt::format("{}: {} must be an array with values, but is traced by JAX (jit, grad, vmap, …), which has none "
                      "yet; the functions of oriel.jax can be traced",
                      function, argument));
    }
    throw TypeFault(fmt::format("{}: {} must be an array, but is {}: {}", function, argument, kind_of(object), why));
  }
  const nb::object keep = nb::steal(converted);
  Array result = from_numpy(function, argument, object, reinterpret_cast<PyArrayObject*>(converted));
  result.writable = false;
  return result;
}

void check_same_framework(std::string_view function, const char* a_name, const Array& a, const char* b_name,
                          const Array& b) {
  const bool same = a.access == b.access && (a.access == Access::numpy || a.exchange == b.exchange) &&
                    (a.access != Access::dlpack || a.object.type().is(b.object.type()));
  if (!same) {
    throw TypeFault(fmt::format("{}: {} and {} must be arrays of one kind, but are {} and {}", function, a_name, b_name,
                                kind_of(a.object), kind_of(b.object)));
  }
}

Array read_output(std::string_view function, const char* argument, nb::handle object, const Array& like, Dtype dtype,
                  const Extents& shape) {
  Array result;
  if (PyArray_Check(object.ptr()) && PyArray_ISBYTESWAPPED(reinterpret_cast<PyArrayObject*>(object.ptr()))) {
    throw TypeFault(fmt::format("{}: {} must be in the machine's byte order, but its dtype is {}", function, argument,
                                dtype_of(object)));
  }
  if (PyArray_Check(object.ptr()) || exchange_of(object) != nullptr) {
    result = read_array(function, argument, object);
  } else if (has_dlpack(object) && !is_immutable(object) && is_on_cuda(object)) {
    result = from_cuda<nb::ndarray<>>(function, argument, object);
    result.writable = true;
  } else if (nb::ndarray<> view; has_dlpack(object) && !is_immutable(object) && nb::try_cast(object, view)) {
    result = from_view(function, argument, object, view);
    result.writable = true;
  } else {
    PyErr_Clear();
    throw TypeFault(fmt::format("{}: {} must be a writable array, but is {}", function, argument, kind_of(object)));
  }
  check_same_framework(function, "x", like, argument, result);
  if (result.view.dtype != dtype) {
    throw TypeFault(fmt::format("{}: {} must have dtype {}, but has {}", function, argument, numpy_name(dtype),
                                numpy_name(result.view.dtype)));
  }
  if (!(result.view.shape == shape)) {
    throw Error(fmt::format("{}: {} must have shape {}, but has {}", function, argument, to_string(shape),
                            to_string(result.view.shape)));
  }
  if (!result.writable) throw Error(fmt::format("{}: {} must be writable, but is read-only", function, argument));
  if (may_self_overlap(result.view)) {
    throw Error(fmt::format("{}: {} must not be broadcast, but its elements share memory", function, argument));
  }
  if (may_overlap(result.view, like.view)) {
    throw Error(fmt::format("{}: {} must not share memory with the input, but they overlap", function, argument));
  }
  return result;
}

}  // namespace oriel::python
