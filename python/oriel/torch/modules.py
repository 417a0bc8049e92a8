"""Modules with the names and constructors of `torch.nn`, and keyword arguments beyond them.

Each holds its arguments as attributes of the same names as in `torch.nn` and nothing else: no parameters, no buffers,
nothing in a state_dict. Attributes may be changed; the next call uses them. The function of the same name documents
what a layer computes.

TorchScript compiles what `forward` does while scripting. It reads annotations: there is no `from __future__ import
annotations` in this file, and annotations that it does not know are visible to type checkers only.
"""

from typing import TYPE_CHECKING, Any, List, Optional

import torch
from torch import Tensor
from torch.nn import Module

from oriel.array_types import NanPolicy, Op
from oriel.torch.arguments import operator_arguments
from oriel.torch.pools import complete_sizes, omits_nan, unpooled_shape
from oriel.torch.run import pool, pool_with_indices, unpool
from oriel.torch.signatures import Ints, OutputSize, Padding

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "MinPool1d",
    "MinPool2d",
    "MinPool3d",
    "SumPool1d",
    "SumPool2d",
    "SumPool3d",
]


class _Layer(Module):
    """Base of all layers: how they print. Class attributes are the arguments that a constructor may not have."""

    if TYPE_CHECKING:
        _ndim: int
        _shown: tuple[str, ...]
        _shown_if_changed: tuple[str, ...]
        nan_policy: NanPolicy

    _ndim = 0
    _shown = ()  # always printed
    _shown_if_changed = ()  # printed if they differ from the class attribute

    nan_policy = "propagate"

    def extra_repr(self) -> str:
        """The arguments, those beyond `torch.nn` only if they are not the default."""
        words = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        words += [
            f"{name}={getattr(self, name)!r}" for name in (*self._shown_if_changed, "nan_policy")
            if getattr(self, name) != getattr(type(self), name)
        ]
        return ", ".join(words)

    def _get_name(self) -> str:
        """The name of the layer in print(model), which shows that it is Oriel's."""
        name = type(self).__name__
        return f"oriel.torch.{name}" if type(self).__module__ == __name__ else name

    def _set_beyond(self, **arguments: Any) -> None:
        for name, value in arguments.items():
            if value != getattr(type(self), name):
                setattr(self, name, value)


class _Pool(_Layer):
    __constants__ = ["return_indices"]

    if TYPE_CHECKING:
        __constants__: list[str]
        return_indices: bool
        _operator: tuple[Any, ...]

        def __call__(self, input: Tensor) -> Any: ...

        def forward(self, input: Tensor) -> Any:
            """The pool of `input`, with indices if `return_indices` is set."""
            ...

    return_indices = False

    def _pool(self, input: Tensor | None = None) -> tuple[Any, ...]:
        """The arguments of `oriel.torch.run.pool` after the tensor."""
        raise NotImplementedError

    def __prepare_scriptable__(self) -> Module:
        """Called by `torch.jit.script`: keeps the operator's arguments where compiled code finds them."""
        self._operator = operator_arguments(self._ndim + 2, *self._pool())
        return self

    if not TYPE_CHECKING:

        def forward(self, input):
            """The pool of `input`, with indices if `return_indices` is set."""
            if torch.jit.is_scripting():  # pyright: ignore[reportPrivateImportUsage]
                if self.return_indices:
                    return torch.ops.oriel.pool_with_indices(input, *self._operator)
                else:
                    return torch.ops.oriel.pool(input, *self._operator)
            else:
                return (pool_with_indices if self.return_indices else pool)(input, *self._pool(input))


class _ExtremumPool(_Pool):
    if TYPE_CHECKING:
        _op: Op
        kernel_size: Ints
        stride: Ints
        padding: Padding
        dilation: Ints
        ceil_mode: bool

    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 return_indices: bool = False, ceil_mode: bool = False, *, nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode
        self._set_beyond(nan_policy=nan_policy)

    def _pool(self, input: Tensor | None = None) -> tuple[Any, ...]:
        return (self._op, self.kernel_size, self.stride, self.padding, self.dilation, None, None, self.ceil_mode, True,
                None, None, omits_nan(self.nan_policy), self._ndim)


class _AvgPool(_Pool):
    if TYPE_CHECKING:
        kernel_size: Ints
        stride: Ints
        padding: Padding
        dilation: Ints
        ceil_mode: bool
        count_include_pad: bool
        divisor_override: int | None

        def __call__(self, input: Tensor) -> Tensor: ...

    _shown = ("kernel_size", "stride", "padding")
    _shown_if_changed = ("dilation", "ceil_mode", "count_include_pad", "divisor_override")

    dilation = 1
    ceil_mode = False
    count_include_pad = True
    divisor_override = None

    def _pool(self, input: Tensor | None = None) -> tuple[Any, ...]:
        return ("avg", self.kernel_size, self.stride, self.padding, self.dilation, None, None, self.ceil_mode,
                self.count_include_pad, self.divisor_override, None, omits_nan(self.nan_policy), self._ndim)


class _WideAvgPool(_AvgPool):
    """Averages over two and three axes, whose constructors have a divisor."""
    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None, *, dilation: Ints = 1,
                 nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Ints = stride if stride is not None else kernel_size
        self.padding: Padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override
        self._set_beyond(dilation=dilation, nan_policy=nan_policy)


class _SumPool(_Pool):
    if TYPE_CHECKING:
        kernel_size: Ints
        stride: Ints
        padding: Padding
        dilation: Ints
        ceil_mode: bool

        def __call__(self, input: Tensor) -> Tensor: ...

    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, dilation: Ints = 1,
                 ceil_mode: bool = False, *, nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.ceil_mode = ceil_mode
        self._set_beyond(nan_policy=nan_policy)

    def _pool(self, input: Tensor | None = None) -> tuple[Any, ...]:
        return ("sum", self.kernel_size, self.stride, self.padding, self.dilation, None, None, self.ceil_mode, True,
                None, None, omits_nan(self.nan_policy), self._ndim)


class _LPPool(_Pool):
    if TYPE_CHECKING:
        norm_type: float
        kernel_size: Ints
        stride: Ints | None
        padding: Padding
        dilation: Ints
        ceil_mode: bool

        def __call__(self, input: Tensor) -> Tensor: ...

    _shown = ("norm_type", "kernel_size", "stride", "ceil_mode")
    _shown_if_changed = ("padding", "dilation")

    padding = 0
    dilation = 1

    def __init__(self, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False, *,
                 padding: Padding = 0, dilation: Ints = 1, nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode
        self._set_beyond(padding=padding, dilation=dilation, nan_policy=nan_policy)

    def _pool(self, input: Tensor | None = None) -> tuple[Any, ...]:
        return ("lp", self.kernel_size, self.stride, self.padding, self.dilation, None, None, self.ceil_mode, True,
                None, self.norm_type, omits_nan(self.nan_policy), self._ndim)


class _AdaptivePool(_Pool):
    if TYPE_CHECKING:
        _op: Op
        output_size: OutputSize

    _shown = ("output_size",)

    def _pool(self, input: Tensor | None = None) -> tuple[Any, ...]:
        sizes = self.output_size
        if input is not None:
            sizes = complete_sizes(f"adaptive_{self._op}_pool{self._ndim}d", input, sizes)
        elif isinstance(sizes, (tuple, list)) and None in sizes:
            raise ValueError(f"torch.jit.script: output_size of {self._get_name()} must have no None, but is {sizes!r}")
        return (self._op, None, None, 0, 1, sizes, None, False, True, None, None, omits_nan(self.nan_policy),
                self._ndim)


class _AdaptiveMaxPool(_AdaptivePool):
    _op = "max"

    def __init__(self, output_size: OutputSize, return_indices: bool = False, *,
                 nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices
        self._set_beyond(nan_policy=nan_policy)


class _AdaptiveAvgPool(_AdaptivePool):
    if TYPE_CHECKING:

        def __call__(self, input: Tensor) -> Tensor: ...

    _op = "avg"

    def __init__(self, output_size: OutputSize, *, nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.output_size = output_size
        self._set_beyond(nan_policy=nan_policy)


class _MaxUnpool(_Layer):
    if TYPE_CHECKING:
        kernel_size: Ints
        stride: Ints
        padding: Ints
        _operator: tuple[Any, ...]

        def __call__(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor: ...

    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding

    def __prepare_scriptable__(self) -> Module:
        values = (self.kernel_size, self.stride, self.padding)
        self._operator = tuple(
            list(value) * (self._ndim // len(value)) if isinstance(value, (tuple, list)) else [value] * self._ndim
            for value in values)
        return self

    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        """Zeros with each element of `input` put at its index."""
        if torch.jit.is_scripting():  # pyright: ignore[reportPrivateImportUsage]
            kernel, stride, padding = self._operator
            shape = list(input.shape)
            first = len(shape) - len(kernel)
            for i in range(len(kernel)):
                shape[first + i] = (shape[first + i] - 1) * stride[i] + kernel[i] - 2 * padding[i]
                if output_size is not None:
                    shape[first + i] = output_size[len(output_size) - len(kernel) + i]
            return torch.ops.oriel.unpool(input, indices, shape, list(range(-len(kernel), 0)))
        else:
            axes = range(-self._ndim, 0)
            function = f"max_unpool{self._ndim}d"
            shape = unpooled_shape(function, input, self.kernel_size, self.stride, self.padding, output_size, axes,
                                   exactly=True)
            return unpool(input, indices, shape, axes)


class MaxPool1d(_ExtremumPool):
    """The largest element of each window over the last axis, as `torch.nn.MaxPool1d`; see `max_pool1d`."""

    _op, _ndim = "max", 1


class MaxPool2d(_ExtremumPool):
    """The largest element of each window over the last two axes, as `torch.nn.MaxPool2d`; see `max_pool2d`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> layer = oriel.torch.MaxPool2d(3, stride=2, padding="same")
    >>> layer
    oriel.torch.MaxPool2d(kernel_size=3, stride=2, padding='same', dilation=1, ceil_mode=False)
    >>> layer(torch.zeros(8, 16, 15, 15)).shape
    torch.Size([8, 16, 8, 8])
    """

    _op, _ndim = "max", 2


class MaxPool3d(_ExtremumPool):
    """The largest element of each window over the last three axes, as `torch.nn.MaxPool3d`; see `max_pool3d`."""

    _op, _ndim = "max", 3


class MinPool1d(_ExtremumPool):
    """The smallest element of each window over the last axis, with the arguments of `MaxPool1d`; see `min_pool1d`."""

    _op, _ndim = "min", 1


class MinPool2d(_ExtremumPool):
    """The smallest element of each window over the last two axes; arguments as `MaxPool2d`, see `min_pool2d`."""

    _op, _ndim = "min", 2


class MinPool3d(_ExtremumPool):
    """The smallest element of each window over the last three axes; arguments as `MaxPool3d`, see `min_pool3d`."""

    _op, _ndim = "min", 3


class AvgPool1d(_AvgPool):
    """The mean of each window over the last axis, as `torch.nn.AvgPool1d`; see `avg_pool1d`."""

    _ndim = 1

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Padding = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, *, divisor_override: int | None = None, dilation: Ints = 1,
                 nan_policy: NanPolicy = "propagate") -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride: Ints = stride if stride is not None else kernel_size
        self.padding: Padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self._set_beyond(divisor_override=divisor_override, dilation=dilation, nan_policy=nan_policy)


class AvgPool2d(_WideAvgPool):
    """The mean of each window over the last two axes, as `torch.nn.AvgPool2d`; see `avg_pool2d`."""

    _ndim = 2


class AvgPool3d(_WideAvgPool):
    """The mean of each window over the last three axes, as `torch.nn.AvgPool3d`; see `avg_pool3d`."""

    _ndim = 3


class SumPool1d(_SumPool):
    """The sum of each window over the last axis; see `sum_pool1d`."""

    _ndim = 1


class SumPool2d(_SumPool):
    """The sum of each window over the last two axes; see `sum_pool2d`."""

    _ndim = 2


class SumPool3d(_SumPool):
    """The sum of each window over the last three axes; see `sum_pool3d`."""

    _ndim = 3


class LPPool1d(_LPPool):
    """The p-norm of each window over the last axis, as `torch.nn.LPPool1d` except as noted at `lp_pool`."""

    _ndim = 1


class LPPool2d(_LPPool):
    """The p-norm of each window over the last two axes, as `torch.nn.LPPool2d` except as noted at `lp_pool`."""

    _ndim = 2


class LPPool3d(_LPPool):
    """The p-norm of each window over the last three axes, as `torch.nn.LPPool3d` except as noted at `lp_pool`."""

    _ndim = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest element of each of `output_size` windows over the last axis, as `torch.nn.AdaptiveMaxPool1d`."""

    _ndim = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest element of each of `output_size` windows over the last two axes, as `torch.nn.AdaptiveMaxPool2d`."""

    _ndim = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest element of each of `output_size` windows over the last three axes: `torch.nn.AdaptiveMaxPool3d`."""

    _ndim = 3


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The mean of each of `output_size` windows over the last axis, as `torch.nn.AdaptiveAvgPool1d`."""

    _ndim = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of each of `output_size` windows over the last two axes, as `torch.nn.AdaptiveAvgPool2d`."""

    _ndim = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean of each of `output_size` windows over the last three axes, as `torch.nn.AdaptiveAvgPool3d`."""

    _ndim = 3


class MaxUnpool1d(_MaxUnpool):
    """Zeros with each element put at its index, as `torch.nn.MaxUnpool1d`; see `max_unpool1d`."""

    _ndim = 1


class MaxUnpool2d(_MaxUnpool):
    """Zeros with each element put at its index, as `torch.nn.MaxUnpool2d`; see `max_unpool2d`."""

    _ndim = 2


class MaxUnpool3d(_MaxUnpool):
    """Zeros with each element put at its index, as `torch.nn.MaxUnpool3d`; see `max_unpool3d`."""

    _ndim = 3
