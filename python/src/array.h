// Python objects as tensors, without copies, and new arrays of the same kind for results.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "dlpack_abi.h"
#include "oriel/tensor.h"

namespace oriel::python {

namespace nb = nanobind;

/// How an object gives access to its memory.
enum class Access : std::uint8_t {
  numpy,     // a numpy.ndarray; also what lists, scalars and objects with __array__ become
  exchange,  // a type with DLPack's exchange table (torch.Tensor)
  dlpack     // an object with __dlpack__ or the buffer protocol (jax.Array, cupy.ndarray …)
};

/// A caller's array: what the engine sees of it, and what keeps its memory alive.
struct Array {
  ConstTensor view;
  Access access = Access::numpy;
  bool writable = false;
  const dlpack::Exchange* exchange = nullptr;
  std::int32_t device_id = 0;  // of a view on a CUDA device
  void* stream = nullptr;      // of such a view without an exchange table: where its elements are ready
  nb::object object;           // the caller's
  nb::object owner;            // what keeps the memory: the object itself, or a view or conversion of it

  Tensor writable_view() const {
    return {const_cast<void*>(view.data), view.dtype, view.shape, view.pitch, view.device};
  }
};

/// The array that `object` is. Lists and scalars become NumPy arrays. `function` and `argument` are for error texts.
/// Throws TypeFault for what is no array or has a dtype that Oriel lacks, Error for one that is not on the CPU (or on
/// a CUDA device where the build has that backend) or requires grad.
/// `gradient_ruled_out`: the caller knows that it does not require grad.
Array read_array(std::string_view function, const char* argument, nb::handle object, bool gradient_ruled_out = false);

/// The caller's `out`, to be written: of `like`'s framework, of that dtype and shape, writable, apart from `like`.
Array read_output(std::string_view function, const char* argument, nb::handle object, const Array& like, Dtype dtype,
                  const Extents& shape);

/// Throws TypeFault unless both are of one framework.
void check_same_framework(std::string_view function, const char* a_name, const Array& a, const char* b_name,
                          const Array& b);

/// A new array for a result, of the framework of the array that it is like.
class NewArray {
 public:
  /// Uninitialised elements; the axes lie in memory in the order of those of `like`.
  NewArray(const Array& like, Dtype dtype, const Extents& shape);
  ~NewArray();
  NewArray(const NewArray&) = delete;
  NewArray& operator=(const NewArray&) = delete;

  const Tensor& view() const { return view_; }
  /// The Python object; once, after the elements were written.
  nb::object finish();

 private:
  void allocate_numpy(const Array& like);
  void allocate_exchange(const Array& like);
  void allocate_shared(const Array& like);
  void allocate_on_device(const Array& like, const Extents& order);

  Tensor view_;
  const Array& like_;
  nb::object object_;
  dlpack::ManagedTensor* managed_ = nullptr;
};

/// Called once, when the module is loaded. Throws nb::python_error when NumPy cannot be used.
void import_arrays();

}  // namespace oriel::python
