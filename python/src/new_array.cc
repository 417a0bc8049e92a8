// New arrays for results: of the caller's kind, their axes in memory in the order of the input's.
#define NO_IMPORT_ARRAY  // array.cc does
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "array.h"
#include "faults.h"
#include "line_memory.h"
#include "numpy_interface.h"
#include "text.h"

namespace oriel::python {
namespace {

int numpy_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return NPY_FLOAT64;
    case Dtype::f32:
      return NPY_FLOAT32;
    case Dtype::f16:
      return NPY_FLOAT16;
    case Dtype::i8:
      return NPY_INT8;
    case Dtype::u8:
      return NPY_UINT8;
    case Dtype::i16:
      return NPY_INT16;
    case Dtype::u16:
      return NPY_UINT16;
    case Dtype::i32:
      return NPY_INT32;
    case Dtype::u32:
      return NPY_UINT32;
    case Dtype::i64:
      return NPY_INT64;
    case Dtype::u64:
      return NPY_UINT64;
    case Dtype::boolean:
      return NPY_BOOL;
    case Dtype::bf16:
      break;
  }
  throw TypeFault("bfloat16 arrays exist in NumPy only where the input is one");
}

dlpack::DataType dlpack_dtype(Dtype dtype) {
  const auto bits = static_cast<std::uint8_t>(size_bytes(dtype) * 8);
  switch (dtype) {
    case Dtype::f64:
    case Dtype::f32:
    case Dtype::f16:
      return {dlpack::kFloat, bits, 1};
    case Dtype::bf16:
      return {dlpack::kBfloat, bits, 1};
    case Dtype::i8:
    case Dtype::i16:
    case Dtype::i32:
    case Dtype::i64:
      return {dlpack::kInt, bits, 1};
    case Dtype::boolean:
      return {dlpack::kBool, bits, 1};
    default:
      return {dlpack::kUInt, bits, 1};
  }
}

// The order of the axes in memory, outermost first, for a result like `like`; empty: as they are.
Extents order_of_axes(const ConstTensor& like) {
  const int rank = like.rank();
  Extents pitch = like.pitch;
  bool sorted = true;
  for (int d = rank - 1; d >= 0; --d) {
    if (like.shape[d] > 1 && pitch[d] == 0) return {};  // a broadcast axis lies nowhere
    if (like.shape[d] <= 1) pitch[d] = d + 1 < rank ? pitch[d + 1] * std::max<index_t>(like.shape[d + 1], 1) : 1;
    pitch[d] = std::abs(pitch[d]);
    sorted = sorted && (d + 1 == rank || pitch[d] >= pitch[d + 1]);
  }
  return sorted ? Extents{} : memory_order(pitch);
}

// torch's rule (suggest_memory_format): whether a tensor of rank 4 or 5 counts as channels-last.
bool is_channels_last(const ConstTensor& t) {
  const int rank = t.rank();
  if (rank != 4 && rank != 5) return false;
  if (t.pitch[1] == 0) return false;
  index_t least = 0;
  const auto passes = [&](int d) {
    if (t.shape[d] == 0 || t.pitch[d] < least) return false;
    if (d == 0 && least == t.pitch[1]) return false;  // N111: as good as contiguous
    least = t.pitch[d] * std::max<index_t>(t.shape[d], 1);
    return true;
  };
  if (!passes(1)) return false;
  for (int d = rank - 1; d >= 2; --d) {
    if (!passes(d)) return false;
  }
  return passes(0);
}

const Extents& channels_last_order(int rank) {
  static const Extents four = {0, 2, 3, 1};
  static const Extents five = {0, 2, 3, 4, 1};
  return rank == 4 ? four : five;
}

constexpr std::size_t kAlignment = 64;  // what XLA asks of memory that it takes over without a copy

}  // namespace

NewArray::NewArray(const Array& like, Dtype dtype, const Extents& shape) : like_(like) {
  view_.dtype = dtype;
  view_.shape = shape;
  view_.device = like.view.device;
  const bool same_rank = like.view.rank() == shape.size();
  Extents order;
  if (like.access == Access::exchange) {
    if (same_rank && is_channels_last(like.view)) order = channels_last_order(shape.size());
  } else if (same_rank) {
    order = order_of_axes(like.view);
  }
  view_.pitch = dense_pitch(shape, order);
  switch (like.access) {
    case Access::numpy:
      allocate_numpy(like);
      break;
    case Access::exchange:
      allocate_exchange(like);
      break;
    case Access::dlpack:
      like.view.device == Device::cuda ? allocate_on_device(like, order) : allocate_shared(like);
      break;
  }
}

NewArray::~NewArray() {
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
}

void NewArray::allocate_numpy(const Array& like) {
  auto* source = reinterpret_cast<PyArrayObject*>(like.owner.ptr());
  PyArray_Descr* descr = nullptr;
  if (view_.dtype == like.view.dtype) {
    descr = PyArray_DESCR(source);
    Py_INCREF(reinterpret_cast<PyObject*>(descr));
  } else {
    descr = PyArray_DescrFromType(numpy_type(view_.dtype));
  }
  std::array<npy_intp, kMaxRank> dims{}, strides{};
  const npy_intp item = size_bytes(view_.dtype);
  for (int d = 0; d < view_.rank(); ++d) {
    dims[static_cast<std::size_t>(d)] = view_.shape[d];
    strides[static_cast<std::size_t>(d)] = view_.pitch[d] * item;
  }
  const LineMemory lines(static_cast<std::size_t>(element_count(view_.shape) * size_bytes(view_.dtype)));
  PyObject* array =
      PyArray_NewFromDescr(&PyArray_Type, descr, view_.rank(), dims.data(), strides.data(), nullptr, 0, nullptr);
  if (array == nullptr) throw nb::python_error();
  object_ = nb::steal(array);
  view_.data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
}

void NewArray::allocate_exchange(const Array& like) {
  dlpack::Tensor prototype{};
  prototype.device = {like.view.device == Device::cuda ? dlpack::kCuda : dlpack::kCpu, like.device_id};
  prototype.ndim = view_.rank();
  prototype.dtype = dlpack_dtype(view_.dtype);
  prototype.shape = view_.shape.begin();
  std::string message;
  const int failed =
      like.exchange->allocate(&prototype, &managed_, &message, [](void* context, const char* kind, const char* text) {
        *static_cast<std::string*>(context) = fmt::format("{}: {}", kind, text);
      });
  if (failed != 0) throw std::bad_alloc();
  view_.data = static_cast<std::byte*>(managed_->tensor.data) + managed_->tensor.byte_offset;
}

// The caller's own kind of array, by `empty` of its namespace, or of its type's package.
void NewArray::allocate_on_device(const Array& like, const Extents& order) {
  const std::string module = nb::cast<std::string>(nb::str(nb::object(like.object.type().attr("__module__"))));
  const std::string package = module.substr(0, module.find('.'));
  const nb::object space = nb::hasattr(like.object, "__array_namespace__") ? like.object.attr("__array_namespace__")()
                                                                           : nb::module_::import_(package.c_str());
  if (package.starts_with("jax") || !nb::hasattr(space, "empty")) {
    throw TypeFault(fmt::format("pool: a new result cannot be an array of {} on a CUDA device: {}", package,
                                package.starts_with("jax") ? "oriel.jax pools those" : "give `out`"));
  }
  // A result that is not of the input's dtype is an index.
  const nb::object dtype = view_.dtype == like.view.dtype ? nb::object(like.object.attr("dtype"))
                                                          : nb::module_::import_("numpy").attr("dtype")("int64");
  nb::list shape, axes;
  for (int d = 0; d < view_.rank(); ++d) {
    const int at = order.empty() ? d : static_cast<int>(order[d]);
    shape.append(view_.shape[at]);
    const auto place = order.empty() ? order.end() : std::find(order.begin(), order.end(), d);
    axes.append(order.empty() ? d : static_cast<int>(place - order.begin()));
  }
  object_ = space.attr("empty")(nb::tuple(shape), nb::arg("dtype") = dtype);
  if (!order.empty()) object_ = object_.attr("transpose")(nb::tuple(axes));
  view_.data = read_output("pool", "the new result", object_, like, view_.dtype, view_.shape).writable_view().data;
}

// Memory of our own that the framework takes over by DLPack.
void NewArray::allocate_shared(const Array&) {
  const auto bytes =
      static_cast<std::size_t>(std::max<index_t>(element_count(view_.shape) * size_bytes(view_.dtype), 1));
  view_.data = ::operator new(bytes, std::align_val_t(kAlignment));
  object_ = nb::capsule(view_.data, [](void* data) noexcept { ::operator delete(data, std::align_val_t(kAlignment)); });
}

nb::object NewArray::finish() {
  const bool shared = like_.access == Access::dlpack && like_.view.device == Device::cpu;
  if (like_.access != Access::exchange && !shared) return std::move(object_);
  if (like_.access == Access::exchange) {
    managed_->tensor.shape = view_.shape.begin();  // read before the call returns
    managed_->tensor.strides = view_.pitch.begin();
    void* tensor = nullptr;
    if (like_.exchange->managed_to_object(managed_, &tensor) != 0) throw nb::python_error();
    managed_ = nullptr;
    return nb::steal(static_cast<PyObject*>(tensor));
  }
  std::array<std::size_t, kMaxRank> shape{};
  for (int d = 0; d < view_.rank(); ++d) shape[static_cast<std::size_t>(d)] = static_cast<std::size_t>(view_.shape[d]);
  const dlpack::DataType dtype = dlpack_dtype(view_.dtype);
  const nb::ndarray<nb::array_api> result(view_.data, static_cast<std::size_t>(view_.rank()), shape.data(), object_,
                                          view_.pitch.begin(), nb::dlpack::dtype{dtype.code, dtype.bits, dtype.lanes});
  const nb::object exported = nb::cast(result);
  if (nb::hasattr(like_.object, "__array_namespace__")) {
    return like_.object.attr("__array_namespace__")().attr("from_dlpack")(exported);
  }
  return nb::module_::import_("numpy").attr("from_dlpack")(exported);
}

}  // namespace oriel::python
