"""Fractional max pooling (Graham 2014) with the names, arguments and intervals of PyTorch.

Given the same random samples, and after the same `torch.manual_seed`, the results and indices are those of
`torch.nn.functional.fractional_max_pool2d`. They do not depend on the memory format, and neither do gradients.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function

from oriel.torch.run import check_tensor, pool_with_indices

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
           "fractional_max_pool3d", "fractional_max_pool3d_with_indices"]


def _per_axis(function: str, argument: str, value: Any, ndim: int) -> tuple[Any, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * ndim
    if len(values) != ndim:
        raise ValueError(f"{function}: {argument} must be a number or {ndim} numbers, but is {value!r}")
    return values


def _output_extents(function: str, extents: tuple[int, ...], kernel: tuple[int, ...], output_size: Any,
                    output_ratio: Any) -> tuple[int, ...]:
    ndim = len(extents)
    if (output_size is None) == (output_ratio is None):
        both = "both are" if output_size is not None else "neither is"
        raise ValueError(f"{function}: output_size or output_ratio must be given, one of them, but {both}")
    if output_size is not None:
        out = _per_axis(function, "output_size", output_size, ndim)
    else:
        ratios = _per_axis(function, "output_ratio", output_ratio, ndim)
        if not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"{function}: output_ratio must be between 0 and 1, but is {output_ratio!r}")
        out = tuple(int(n * ratio) for n, ratio in zip(extents, ratios))
    for n, k, m in zip(extents, kernel, out):
        if k < 1:
            raise ValueError(f"{function}: kernel_size must be >= 1, but is {k}")
        if not 1 <= m <= n - k + 1:
            raise ValueError(f"{function}: output_size must be in 1 to {n - k + 1} for {n} inputs and a kernel of {k}, "
                             f"but is {m}")
    return out


def _starts(sample: Tensor, n: int, kernel: int, out: int) -> Tensor:
    """Where the windows of an axis begin: torch's intervals, computed in the dtype of the samples."""
    last = torch.full((*sample.shape, 1), n - kernel, dtype=torch.int64, device=sample.device)
    if out == 1:
        return last
    step = torch.tensor(n - kernel, dtype=sample.dtype) / torch.tensor(out - 1, dtype=sample.dtype)
    step = step.to(sample.device)
    u = sample.unsqueeze(-1)
    steps = torch.arange(out - 1, device=sample.device).to(sample.dtype)
    return torch.cat([((steps + u) * step).long() - (u * step).long(), last], -1)


def _places(extents: Sequence[int], kernel: tuple[int, ...], out: tuple[int, ...], samples: Tensor,
            whole: Sequence[int]) -> Tensor:
    """The place of each window's first element in planes with the extents `whole`, flat for each plane."""
    ndim = len(kernel)
    base: Any = 0
    for axis, (n, k, m) in enumerate(zip(extents, kernel, out)):
        # The first sample of a plane is that of its last axis in two dimensions, of its first in three: as in PyTorch.
        starts = _starts(samples[..., ndim - 1 - axis if ndim == 2 else axis], n, k, m)
        shape = [1] * ndim
        shape[axis] = m
        base = base * whole[axis] + starts.reshape(*starts.shape[:-1], *shape)
    return base.flatten(-ndim)


def indices_by_pooling(x: Tensor, kernel: tuple[int, ...], out: tuple[int, ...], samples: Tensor) -> Tensor:
    """The place in its plane of each window's maximum, the first of several, the last NaN if there is one.

    They are among those of the maxima of all windows that a plane has.
    """
    ndim = len(kernel)
    extents = x.shape[-ndim:]
    _, indices = pool_with_indices(x, "max", kernel, 1, 0, 1, None, None, False, True, None, None, False, ndim)
    places = _places(extents, kernel, out, samples, indices.shape[-ndim:])
    return indices.flatten(-ndim).gather(-1, places)


def indices_by_taps(x: Tensor, kernel: tuple[int, ...], out: tuple[int, ...], samples: Tensor) -> Tensor:
    """The same in PyTorch's functions, for tensors that are not on the CPU."""
    extents = x.shape[-len(kernel):]
    base = _places(extents, kernel, out, samples, extents)
    planes = x.flatten(-len(kernel))
    best = planes.gather(-1, base)
    chosen = base
    for tap in itertools.islice(itertools.product(*(range(k) for k in kernel)), 1, None):
        offset = 0
        for n, t in zip(extents, tap):
            offset = offset * n + t
        values = planes.gather(-1, base + offset)
        better = (values > best) | values.isnan()
        best, chosen = torch.where(better, values, best), torch.where(better, base + offset, chosen)
    return chosen


def fractional_windows(input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool,
                       samples: Tensor | None, ndim: int) -> Any:
    """What all functions and layers here do."""
    function = f"fractional_max_pool{ndim}d"
    if has_torch_function((input,)):
        return handle_torch_function(fractional_windows, (input,), input, kernel_size, output_size, output_ratio,
                                     return_indices, samples, ndim)
    check_tensor(function, "input", input)
    if input.dim() not in (ndim + 1, ndim + 2):
        raise ValueError(f"{function}: the input must have {ndim + 1} axes (channels and {ndim} pooled axes) or "
                         f"{ndim + 2} (with a batch), but has {input.dim()}")
    if not input.dtype.is_floating_point:
        raise TypeError(f"{function}: the input must have a floating dtype, but has {input.dtype}")
    kernel = _per_axis(function, "kernel_size", kernel_size, ndim)
    out = _output_extents(function, tuple(input.shape[-ndim:]), kernel, output_size, output_ratio)
    batch = 1 if input.dim() == ndim + 1 else input.shape[0]
    channels = input.shape[-ndim - 1]
    if samples is None:
        samples = torch.rand(batch, channels, ndim, dtype=input.dtype, device=input.device)
    if samples.dim() != 3 or samples.shape[0] < batch or tuple(samples.shape[1:]) != (channels, ndim):
        raise ValueError(f"{function}: _random_samples must have the shape {(batch, channels, ndim)}, or more rows, but "
                         f"has {tuple(samples.shape)}")
    samples = samples[:batch]  # PyTorch leaves out further rows, too
    if samples.dtype != input.dtype:
        raise TypeError(f"{function}: _random_samples must have the input's dtype {input.dtype}, but have "
                        f"{samples.dtype}")
    x = input if input.dim() == ndim + 2 else input.unsqueeze(0)
    with torch.no_grad():
        flat = (indices_by_pooling if x.device.type == "cpu" else indices_by_taps)(x, kernel, out, samples)
    y, places = (t.reshape(*t.shape[:-1], *out) for t in (x.flatten(-ndim).gather(-1, flat), flat))
    if input.dim() == ndim + 1:
        y, places = y.squeeze(0), places.squeeze(0)
    return (y, places) if return_indices else y


def fractional_max_pool2d(input: Tensor, kernel_size: int | tuple[int, int],
                          output_size: int | tuple[int, int] | None = None,
                          output_ratio: float | tuple[float, float] | None = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Any:
    """The maxima of windows whose steps are random, over the last two axes, as PyTorch's function of this name.

    Parameters
    ----------
    input : Tensor of shape (N, C, H, W) or (C, H, W)
        Of a floating dtype, on any device.
    kernel_size : int or (int, int)
        Extents of a window.
    output_size, output_ratio : number or (number, number)
        The extents of the result, or their ratio to those of the input; one of them.
    return_indices : bool
        Also return the index of each maximum in its plane.
    _random_samples : Tensor of shape (N, C, 2) or with more rows, optional
        Numbers in 0 to 1 from which the steps of each plane follow; by default those of `torch.rand`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> x = torch.arange(25.0).reshape(1, 1, 5, 5)
    >>> oriel.torch.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((1, 1, 2), 0.5))
    tensor([[[[ 6.,  8.,  9.],
              [16., 18., 19.],
              [21., 23., 24.]]]])
    """
    return fractional_windows(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


def fractional_max_pool3d(input: Tensor, kernel_size: int | tuple[int, int, int],
                          output_size: int | tuple[int, int, int] | None = None,
                          output_ratio: float | tuple[float, float, float] | None = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Any:
    """The maxima of windows whose steps are random, over the last three axes; see `fractional_max_pool2d`."""
    return fractional_windows(input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: int | tuple[int, int],
                                       output_size: int | tuple[int, int] | None = None,
                                       output_ratio: float | tuple[float, float] | None = None,
                                       return_indices: bool = False,
                                       _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` and the indices of its maxima, whatever `return_indices` is, as in PyTorch."""
    return fractional_windows(input, kernel_size, output_size, output_ratio, True, _random_samples, 2)


def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: int | tuple[int, int, int],
                                       output_size: int | tuple[int, int, int] | None = None,
                                       output_ratio: float | tuple[float, float, float] | None = None,
                                       return_indices: bool = False,
                                       _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` and the indices of its maxima, whatever `return_indices` is, as in PyTorch."""
    return fractional_windows(input, kernel_size, output_size, output_ratio, True, _random_samples, 3)


class _FractionalMaxPool(nn.Module):
    _ndim: int = 0

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__}: output_size or output_ratio must be given, one of them")
        function = type(self).__name__
        self.kernel_size: tuple[Any, ...] = _per_axis(function, "kernel_size", kernel_size, self._ndim)
        self.return_indices: bool = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size: tuple[Any, ...] | None = (
            None if output_size is None else _per_axis(function, "output_size", output_size, self._ndim))
        self.output_ratio: tuple[Any, ...] | None = (
            None if output_ratio is None else _per_axis(function, "output_ratio", output_ratio, self._ndim))
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"{function}: output_ratio must be between 0 and 1, but is {output_ratio!r}")

    def forward(self, input: Tensor) -> Any:
        """The maxima, and their indices if `return_indices` is set."""
        samples: Any = self._random_samples
        return fractional_windows(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                  samples, self._ndim)

    def __prepare_scriptable__(self) -> nn.Module:
        """Called by `torch.jit.script`, which compiles PyTorch's layer instead of this one: results are equal."""
        twin = getattr(nn, f"FractionalMaxPool{self._ndim}d")
        layer = twin(self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)
        return layer.train(self.training)

    def extra_repr(self) -> str:
        """The arguments that were given."""
        words = [f"kernel_size={self.kernel_size!r}"]
        words += [f"{name}={getattr(self, name)!r}" for name in ("output_size", "output_ratio")
                  if getattr(self, name) is not None]
        return ", ".join(words + (["return_indices=True"] if self.return_indices else []))

    def _get_name(self) -> str:
        name = type(self).__name__
        return f"oriel.torch.{name}" if type(self).__module__ == __name__ else name


class FractionalMaxPool2d(_FractionalMaxPool):
    """`fractional_max_pool2d` as a layer, as `torch.nn.FractionalMaxPool2d`.

    Examples
    --------
    >>> import torch
    >>> import oriel.torch
    >>> oriel.torch.FractionalMaxPool2d(3, output_ratio=0.5)(torch.zeros(1, 2, 9, 9)).shape
    torch.Size([1, 2, 4, 4])
    """

    _ndim = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """`fractional_max_pool3d` as a layer, as `torch.nn.FractionalMaxPool3d`."""

    _ndim = 3
