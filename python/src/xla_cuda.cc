// The names of the handlers for CUDA devices: those of xla.cc with `_cuda`. Built where liboriel has the CUDA backend.
#include "xla_cuda.h"

namespace here = oriel::python;
using oriel::Device;

ORIEL_XLA_HANDLER(oriel_pool_cuda, here::forward_pool, .device = Device::cuda)
ORIEL_XLA_HANDLER(oriel_pool_wrapped_cuda, here::on_device::wrapped_sum, .device = Device::cuda)
ORIEL_XLA_HANDLER(oriel_pool_indices_cuda, here::on_device::forward_indices, .device = Device::cuda, .outputs = 2,
                  .has_space = true)
ORIEL_XLA_HANDLER(oriel_pool_pick_cuda, here::on_device::pick, .device = Device::cuda, .inputs = 2)
ORIEL_XLA_HANDLER(oriel_pool_backward_linear_cuda, here::backward_linear, .device = Device::cuda)
ORIEL_XLA_HANDLER(oriel_pool_backward_cuda, here::backward_extremum, .device = Device::cuda, .inputs = 2)
