"""Pooling for PyTorch with the names and arguments of `torch.nn` and `torch.nn.functional`, on Oriel's engine.

Functions and modules have gradients (any order), work under `torch.compile`, `torch.export`, `torch.func.vmap` and
`torch.func.grad`, keep the channels-last memory formats and are deterministic. They take CPU tensors; the result has
the tensor's dtype, also under autocast. Operators are registered as `torch.ops.oriel.*`; models with them can be
exported to ONNX, to AOTInductor and, after `decompositions`, to every format for PyTorch's own operators.

>>> import torch
>>> import oriel.torch
>>> x = torch.arange(16.0).reshape(1, 4, 4)
>>> oriel.torch.max_pool2d(x, 2)
tensor([[[ 5.,  7.],
         [13., 15.]]])
>>> oriel.torch.AvgPool2d(2)(x)
tensor([[[ 2.5000,  4.5000],
         [10.5000, 12.5000]]])
>>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.MaxPool2d(2))
>>> print(oriel.torch.replace_pooling(model))
1 pooling layer swapped, 0 left
  1: torch.nn.MaxPool2d -> oriel.torch.MaxPool2d
"""

try:
    import torch as _torch
except ModuleNotFoundError as _error:
    if _error.name != "torch":
        raise
    raise ImportError("oriel.torch needs PyTorch 2.10 or newer, which is not installed: pip install torch") from None

if not hasattr(_torch.Tensor, "__dlpack_c_exchange_api__"):  # how the engine reads tensors; since 2.10
    raise ImportError(
        f"oriel.torch needs PyTorch 2.10 or newer, but {_torch.__version__} is installed: pip install --upgrade torch")

from oriel.torch import functional
from oriel.torch.aten import decompositions
from oriel.torch.fixed_rank import *  # noqa: F403
from oriel.torch.fixed_statistics import *  # noqa: F403
from oriel.torch.fractional import *  # noqa: F403
from oriel.torch.modules import *  # noqa: F403
from oriel.torch.pools import *  # noqa: F403
from oriel.torch.replace import PoolingReport, replace_pooling
from oriel.torch.statistic_calls import ValidTaps
from oriel.torch.statistic_modules import *  # noqa: F403
from oriel.torch.statistics import *  # noqa: F403
from oriel.torch import fractional as _fractional
from oriel.torch import modules as _modules
from oriel.torch import statistic_modules as _statistic_modules

__all__ = ["PoolingReport", "ValidTaps", "decompositions", "functional", "replace_pooling"]
__all__ += functional.__all__
__all__ += _modules.__all__
__all__ += _statistic_modules.__all__
__all__ += [name for name in _fractional.__all__ if name not in functional.__all__]
