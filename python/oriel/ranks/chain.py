"""A chain of divided pools that shares one wide halo: `Sequential`.

A rank fetches, once, all inputs that its part of the last result depends on, and computes itself what it needs of the
results in between. With gradients it fetches as many more as the gradient of its own inputs depends on, and, backward,
the gradients of the results that its inputs reach. A stage is run by a `LocalPool` that owns all it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import Module

from oriel import _core
from oriel.ranks.boxes import Box, Fetch, crop, extents, hull, whole
from oriel.ranks.derivatives import join_gradient, refuse_second
from oriel.ranks.divided import Bound, DividedPool
from oriel.ranks.grid import same_on_all
from oriel.ranks.layers import bind_tensor, is_layer
from oriel.torch_threads import as_many_threads_as_torch

__all__ = ["Sequential"]

_KEPT = 8  # plans of the shapes that were used last


class _Stage:
    """One pool of the chain, on any boxes of its whole input and output."""
    def __init__(self, core: _core.Pool, dtype: str, shape: Sequence[int]) -> None:
        self.core, self.dtype = core, dtype
        self.input_shape, self.output_shape = tuple(shape), core.output_shape(list(shape))
        self._middle = (3**len(shape) - 1) // 2  # of a grid of 3 parts along each axis

    def on(self, inputs: Box, outputs: Box) -> _core.LocalPool:
        """What a rank does that owns these boxes."""
        cuts = [[[0, begin, end, n] for (begin, end), n in zip(box, shape)]
                for box, shape in ((inputs, self.input_shape), (outputs, self.output_shape))]
        return _core.LocalPool(self.core, self.dtype, cuts[0], cuts[1], self._middle)

    def needs(self, outputs: Box) -> Box:
        """The inputs that these outputs read."""
        return self.on(whole(self.input_shape), outputs).exchange("forward", self._middle)["needed"]

    def feeds(self, inputs: Box) -> Box:
        """The outputs that read any of these inputs."""
        return self.on(inputs, whole(self.output_shape)).exchange("backward", self._middle)["needed"]


def _run(local: _core.LocalPool, word: str, **arrays: Any) -> None:
    local.begin(word, **arrays)
    local.interior(word)
    local.finish(word)


class _BoundChain:
    """One rank's part of a chain for tensors of one shape and dtype."""
    def __init__(self, divided: Sequence[DividedPool], cuts: list[list[int]], dtype: str, item_bytes: int,
                 recorded: bool) -> None:
        grid = divided[0].grid
        self.stages: list[_Stage] = []
        inputs: Box | None = None
        for pool in divided:
            stage = _Stage(pool.core, dtype, [bounds[-1] for bounds in cuts])
            local = pool.local(cuts, dtype)
            inputs = inputs or local.inputs
            cuts, outputs = local.output_cuts, local.outputs
            self.stages.append(stage)
        assert inputs is not None
        self.inputs, self.outputs = inputs, outputs
        self.reached = [inputs]  # backward: the boxes whose gradients this rank makes, then those of results it needs
        for stage in self.stages:
            self.reached.append(stage.feeds(self.reached[-1]))
        self.made = [hull(outputs, self.reached[-1]) if recorded else outputs]  # forward: the boxes that it makes
        for stage, reached in zip(reversed(self.stages), reversed(self.reached[:-1])):
            needed = stage.needs(self.made[0])
            self.made.insert(0, hull(needed, reached) if recorded else needed)
        self._ways = [stage.on(*boxes) for stage, *boxes in zip(self.stages, self.made, self.made[1:])]
        boxes = grid.link.gathered((inputs, outputs, self.made[0], self.reached[-1]))
        owned, made, wanted, reached = zip(*boxes)
        self.fetch = Fetch.of_all(grid.link, owned, wanted, item_bytes)
        self.fetch_gradient = Fetch.of_all(grid.link, made, reached, item_bytes) if recorded else None

    def forward(self, part: Tensor, recorded: bool) -> tuple[Tensor, list[Tensor]]:
        """The rank's outputs, and for each stage what its gradient needs."""
        x = self.fetch.run(part)
        kept = []
        for way, box in zip(self._ways, self.made[1:]):
            y = torch.empty(extents(box), dtype=x.dtype)
            places = None
            if recorded and way.gradient == "backward_indices":
                places = torch.empty(extents(box), dtype=torch.int64)
            _run(way, "forward", x=x, y=y, indices=places)
            if recorded:
                kept.append({"backward": x[:0], "backward_indices": places, "backward_inputs": x}[way.gradient])
            x = y
        return crop(x, self.outputs, self.made[-1]).clone(), kept

    def backward(self, dy: Tensor, kept: Sequence[Tensor]) -> Tensor:
        """The gradient at the rank's inputs."""
        assert self.fetch_gradient is not None
        dy = self.fetch_gradient.run(dy)
        for i in reversed(range(len(self.stages))):
            stage, word, box = self.stages[i], self._ways[i].gradient, self.reached[i]
            outputs = self.reached[i + 1]
            arrays: dict[str, Tensor] = {}
            if word == "backward_indices":
                arrays["indices"] = crop(kept[i], outputs, self.made[i + 1])
            elif word == "backward_inputs":  # the box grows by what windows read; gradients there are not used
                box = hull(box, stage.needs(outputs))
                arrays["x"] = crop(kept[i], box, self.made[i])
            dx = torch.empty(extents(box), dtype=dy.dtype)
            _run(stage.on(box, outputs), word, dy=dy, dx=dx, **arrays)
            dy = crop(dx, self.reached[i], box)
        return dy.clone()


class _Chain(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor | None, first: Bound, bound: _BoundChain, recorded: bool) -> Tensor:
        with as_many_threads_as_torch():
            y, kept = bound.forward(x.detach(), recorded)
        ctx.bound, ctx.first = bound, first
        ctx.save_for_backward(*kept)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        join_gradient(ctx.first, "backward of Sequential", dy, None)
        with torch.no_grad(), as_many_threads_as_torch():
            dx = ctx.bound.backward(dy.detach(), ctx.saved_tensors)
        if torch.is_grad_enabled():
            dx = refuse_second(dx, dy, "Sequential: gradients of gradients need the layers one by one, as "
                                       "torch.nn.Sequential runs them, but these share their halo")
        return dx if ctx.needs_input_grad[0] else None, None, None, None, None


def _kinds(layers: Sequence[Any]) -> list[str]:
    return [type(layer).__name__ for layer in layers]


class Sequential(Module):
    """Divided pools one after another that share one wide halo: one message for each neighbour, not one for each layer.

    Results and gradients are bit-identical to those of the layers one by one, with the same division. Elements near the
    cuts are computed by several ranks, so it pays for small windows on large parts. All ranks must create it and call
    it together.

    Parameters
    ----------
    *layers : Distributed…Pool…
        One or more, over the same grid of the same communicator, without `return_indices`.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank: for other modules, layers over different grids, and as the layers do.

    Examples
    --------
    >>> import torch
    >>> from mpi4py import MPI
    >>> import oriel.mpi
    >>> P_x = oriel.mpi.Grid(MPI.COMM_SELF, (1, 1, 1))
    >>> chain = oriel.mpi.Sequential(oriel.mpi.DistributedMaxPool1d(P_x, 2), oriel.mpi.DistributedAvgPool1d(P_x, 2))
    >>> chain(torch.arange(8.0).reshape(1, 1, 8))
    tensor([[[2., 6.]]])
    """
    def __init__(self, *layers: Module) -> None:
        super().__init__()
        self._divided: list[DividedPool] = [layer.divided for layer in layers if is_layer(layer)]
        if not self._divided:
            raise TypeError(f"Sequential: layers must be one or more divided pools, but are {_kinds(layers)}")
        same_on_all(self._divided[0].grid.link, "Sequential", lambda: self._checked(layers))
        self.layers: torch.nn.ModuleList = torch.nn.ModuleList(layers)
        self._bound: dict[Any, _BoundChain] = {}
        self._current: _BoundChain | None = None

    def _checked(self, layers: Sequence[Any]) -> Any:
        if len(self._divided) < len(layers):
            raise TypeError(f"Sequential: layers must be one or more divided pools, but are {_kinds(layers)}")
        grid = self._divided[0].grid
        for layer, pool in zip(layers, self._divided):
            if pool.grid.link is not grid.link or pool.grid.shape != grid.shape:
                raise ValueError("Sequential: layers must be over the same grid of the same communicator, but one is "
                                 f"over {grid.shape}, another over {pool.grid.shape}")
            if layer.return_indices:
                raise ValueError("Sequential: layers must be without return_indices, but one has it")
        return [pool.core.words for pool in self._divided]

    @property
    def ranges(self) -> tuple[Box, Box] | None:
        """After a call: the inputs that this rank owns and the outputs that it computes, as (begin, end) along each
        axis of the whole tensors."""
        return None if self._current is None else (self._current.inputs, self._current.outputs)

    @property
    def traffic(self) -> dict[str, tuple[int, int, int, int]]:
        """For the last call and its backward: messages sent, received, bytes sent, received."""
        if self._current is None:
            return {}
        result = {"forward": self._current.fetch.traffic}
        if self._current.fetch_gradient is not None:
            result["backward"] = self._current.fetch_gradient.traffic
        return result

    def forward(self, input: Tensor) -> Tensor:
        """This rank's part of the result of the chain. All ranks call it together; errors as those of the layers."""
        first, anchor, recorded = bind_tensor(self._divided[0], input, f"{self._divided[0].place} by Sequential")
        cuts, dtype = first.local.input_cuts, _core.dtype_of(input.detach())
        key = (str(cuts), dtype, recorded)
        if key not in self._bound:
            while len(self._bound) >= _KEPT:
                del self._bound[next(iter(self._bound))]
            self._bound[key] = _BoundChain(self._divided, cuts, dtype, input.element_size(), recorded)
        self._current = self._bound[key]
        return _Chain.apply(input, anchor, first, self._current, recorded)
