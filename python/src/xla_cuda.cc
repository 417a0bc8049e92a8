// The names of the handlers for CUDA devices: those of xla.cc with `_cuda`. Built where liboriel has the CUDA backend.
#include "xla_cuda.h"

namespace oriel::python {
namespace {

auto begin() { return ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>(); }

}  // namespace
}  // namespace oriel::python

namespace here = oriel::python;

ORIEL_XLA_HANDLER(oriel_pool_cuda, here::on_device::forward, here::unary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_wrapped_cuda, here::on_device::wrapped_sum, here::unary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_indices_cuda, here::on_device::forward_indices, here::indexed(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_pick_cuda, here::on_device::pick, here::binary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_backward_linear_cuda, here::on_device::backward_linear, here::unary(here::begin()));
ORIEL_XLA_HANDLER(oriel_pool_backward_cuda, here::on_device::backward, here::binary(here::begin()));
