"""A pool of divided tensors: how ranks agree on who owns what, and one rank's work for tensors of one shape."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from oriel import _core
from oriel.array_types import NanPolicy
from oriel.pool import check_nan_policy
from oriel.ranks.grid import Channel, Grid, GridLike, Link, agree, meet, same_on_all

__all__ = ["Bound", "DividedPool", "balanced_cuts", "cuts_of_shapes"]

# What a rank has beside its inputs: the shapes of its parts of the mask and the weights, the dtype of the weights.
Beside = tuple[tuple[int, ...] | None, tuple[int, ...] | None, str | None]
NOTHING: Beside = (None, None, None)

Ranges = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]

Cuts: TypeAlias = Literal["balanced"] | Sequence[Sequence[int]]
OutputPartition: TypeAlias = Literal["centred", "balanced"] | Sequence[Sequence[int]] | None

_PASSES = ("forward", "backward", "backward_indices", "backward_inputs")
_numbers: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()  # of the pools of a link
_KEPT = 8  # plans of the shapes that were used last


def balanced_cuts(shape: Sequence[int], grid: Sequence[int]) -> list[list[int]]:
    """Bounds of parts along each axis whose sizes differ by one at most, the larger ones first."""
    return [[n // parts * p + min(p, n % parts) for p in range(parts + 1)] for n, parts in zip(shape, grid)]


def full_grid(function: str, grid: Sequence[int], rank: int) -> tuple[int, ...]:
    """The grid with a 1 for each leading axis that it does not mention."""
    if len(grid) > rank:
        raise ValueError(
            f"{function}: the tensor must have an axis for each of the grid's {tuple(grid)}, but has {rank}")
    return (1,) * (rank - len(grid)) + tuple(grid)


def cuts_of_shapes(function: str, shapes: Sequence[Sequence[int]], grid: Sequence[int]) -> list[list[int]]:
    """The bounds along each axis from the shapes of all parts, by rank. ValueError if they do not form a grid."""
    cuts = []
    after = math.prod(grid)
    for axis, parts in enumerate(grid):
        after //= parts
        bounds = [0]
        for p in range(parts):
            bounds.append(bounds[-1] + shapes[p * after][axis])
        for rank, shape in enumerate(shapes):
            p = rank // after % parts
            if shape[axis] != bounds[p + 1] - bounds[p]:
                raise ValueError(f"{function}: ranks with index {p} along the grid's axis {axis} must have the same extent "
                                 f"along that axis, but rank {p * after} has {bounds[p + 1] - bounds[p]} and rank {rank} has "
                                 f"{shape[axis]}")
        cuts.append(bounds)
    return cuts


def _whole_beside(function: str, what: str, parts: Sequence[tuple[int, ...] | None], shapes: Sequence[Sequence[int]],
                  whole: Sequence[int]) -> tuple[int, ...] | None:
    """The shape of the whole mask from those of its parts: 1 along axes where not all of them are as long as the
    parts of x."""
    given = [part for part in parts if part is not None]
    if not given:
        return None
    if len(given) < len(parts):
        raise ValueError(f"{function}: {what} must be given on all ranks or on none, but rank {parts.index(None)} has "
                         "none")
    result = []
    for rank, (part, shape) in enumerate(zip(given, shapes)):
        if len(part) != len(shape) or any(n not in (1, m) for n, m in zip(part, shape)):
            raise ValueError(f"{function}: {what} must have the shape of x's part, {tuple(shape)}, or 1 along axes that "
                             f"are not pooled, but rank {rank} has {part}")
    for axis, extent in enumerate(whole):
        divided = all(part[axis] == shape[axis] for part, shape in zip(given, shapes))
        other = next((rank for rank, part in enumerate(given) if part[axis] != 1), None)
        if not divided and other is not None:
            raise ValueError(f"{function}: {what} must be divided along axis {axis} on all ranks or on none, but only some "
                             f"have extent 1 there, not rank {other}")
        result.append(extent if divided else 1)
    return tuple(result)


class Bound:
    """One rank's part of a pool of tensors of one shape and dtype, with its channels."""
    def __init__(self, link: Link, local: _core.LocalPool, function: str = "", op: str = "", pooled: int = 0) -> None:
        self.local = local
        self.link = link
        self.function = function
        self.op = op
        self.pooled = pooled  # axes, the last ones
        self.fetch: Any = None  # fetches the elements at indices; made at the first use
        self._tag = link.new_tag()
        self._channels: dict[str, Channel] = {}
        self.input_shape: tuple[int, ...] = tuple(end - begin for begin, end in local.inputs)
        self.output_shape: tuple[int, ...] = tuple(end - begin for begin, end in local.outputs)

    def join(self, step: str, error: Exception | None, wants_gradient: bool, refuses_gradient: bool) -> bool:
        """Come to a step of a gradient together: whether any rank wants its derivative. All ranks raise what one of
        them finds wrong, RuntimeError where one is not there."""
        place = f"{step} of {self.function} (plan {self._tag // 4})"
        failed, wanted, refused = meet(self.link, place, [error is not None, wants_gradient, refuses_gradient])
        if failed:
            agree(self.link, self.function, None, error)
        check_recording(self.function, wanted, refused)
        return bool(wanted)

    def run(self, word: str, **arrays: Any) -> None:
        """One pass on arrays x, y, indices, dy, dx; while messages are sent, everything that needs none is computed."""
        channel = self._channels.get(word)
        if channel is None:
            channel = self.link.open(self._tag + _PASSES.index(word), *self.local.buffers(word))
            self._channels[word] = channel
        self.local.begin(word, **arrays)
        channel.start()
        try:
            self.local.interior(word)
        finally:
            channel.finish()
        self.local.finish(word)

    def traffic(self) -> dict[str, tuple[int, int, int, int]]:
        """Of each pass that was run: messages sent and received, bytes sent and received."""
        return {word: self.local.traffic(word) for word in self._channels}


def check_recording(function: str, wanted: int, refused: int) -> None:
    """ValueError if some ranks need a gradient and others cannot record it."""
    if wanted and refused:
        raise ValueError(f"{function}: all ranks must record gradients if one does, but on some torch.no_grad is "
                         "active, create_graph is missing, or the input is of integers")


class DividedPool:
    """A pool on the ranks of a grid, for tensors of any shape. All ranks create it and call it together."""
    def __init__(self, function: str, P_x: GridLike, arguments: Sequence[Any], nan_policy: NanPolicy, ndim: int,
                 output_partition: OutputPartition, options: Callable[[], dict[str, Any] | None] | None = None
                 ) -> None:
        self.function = function
        self.options: dict[str, Any] | None = None  # of pools over valid elements
        self.op: str = str(arguments[0])
        self.grid: Grid = Grid.of(P_x)
        self.output_partition: OutputPartition = output_partition
        self.core: _core.Pool
        core: Any = None
        make: Any = _core.Pool

        def described() -> Any:
            nonlocal core
            op, kernel, *windows = arguments
            self.options = given = None if options is None else options()
            if kernel is None and given is not None and given.get("footprint") is not None:
                kernel = given["footprint"].shape
            core = make(op, kernel, *windows, check_nan_policy(nan_policy), ndim)
            words = core.words if given is None else _core.statistic_words(core, given)
            return words, core.ndim, self._outputs_checked(output_partition)

        same_on_all(self.grid.link, function, described)
        self.core = core
        self.place: str = f"call of {function} (pool {next(_numbers.setdefault(self.grid.link, itertools.count()))})"
        self._bound: dict[Any, Bound] = {}
        self._last: Any = None
        self._current: Bound | None = None

    def _outputs_checked(self, given: Any) -> Any:
        if given is None or given in ("centred", "balanced"):
            return given
        if isinstance(given, (tuple, list)) and all(
                isinstance(bounds, (tuple, list)) and all(type(b) is int for b in bounds) for bounds in given):
            return [list(bounds) for bounds in given]
        raise TypeError(f"{self.function}: output_partition must be None, 'centred', 'balanced' or the bounds of the "
                        f"parts along each axis, but is {given!r}")

    def bind(self, shape: Any, dtype: str | None, error: Exception | None = None, wants_gradient: bool = False,
             refuses_gradient: bool = False, what: str = "", beside: Beside = NOTHING) -> tuple[Bound, bool]:
        """The pool for parts of these shapes, and whether any rank wants a gradient. All ranks call it together.

        One reduction where nothing changed. What one rank finds wrong, all raise. `what` comes
        first where this pool is not called itself.
        """
        mine = (shape, dtype, beside)
        changed, wanted, refused = meet(self.grid.link, what or self.place,
                                        [error is not None or mine != self._last, wants_gradient, refuses_gradient])
        check_recording(self.function, wanted, refused)
        if changed:
            self._last = self._current = None
            self._current = self._agree_on(mine, error)
            self._last = mine
        assert self._current is not None
        return self._current, bool(wanted)

    @property
    def ranges(self) -> Ranges | None:
        """The inputs that this rank owns and the outputs that it computes, after a call, as (begin, end) along each
        axis of the whole tensors."""
        return None if self._current is None else (self._current.local.inputs, self._current.local.outputs)

    @property
    def traffic(self) -> dict[str, tuple[int, int, int, int]]:
        """Of each pass that was run on parts like the last ones: messages sent, received, bytes sent, received."""
        return {} if self._current is None else self._current.traffic()

    def check(self, error: Exception | None) -> None:
        """Raise on all ranks what one of them has found."""
        if meet(self.grid.link, f"backward of {self.function}", [error is not None])[0]:
            agree(self.grid.link, self.function, None, error)

    def _agree_on(self, mine: tuple[Any, ...], error: Exception | None) -> Bound:
        shape, dtype, beside = mine
        agree(self.grid.link, self.function, dtype if beside[2] is None else (dtype, beside[2]), error)
        parts = tuple(self.grid.link.gathered((tuple(shape), beside)))
        key = (dtype, parts)
        if key in self._bound:
            self._bound[key] = self._bound.pop(key)
            return self._bound[key]
        local: Any = None

        def planned() -> Any:
            nonlocal local
            local = self._local([part for part, _ in parts], dtype, [beside for _, beside in parts])
            return local.input_cuts, local.output_cuts

        same_on_all(self.grid.link, self.function, planned)
        while len(self._bound) >= _KEPT:
            del self._bound[next(iter(self._bound))]
        self._bound[key] = Bound(self.grid.link, local, self.function, self.op, self.core.ndim)
        return self._bound[key]

    def _local(self, shapes: Sequence[Sequence[int]], dtype: Any, besides: Sequence[Beside]) -> _core.LocalPool:
        ranks = {len(shape) for shape in shapes}
        if len(ranks) > 1:
            raise ValueError(f"{self.function}: all parts must have the same number of axes, but have {sorted(ranks)}")
        grid = full_grid(self.function, self.grid.shape, len(shapes[0]))
        cuts = cuts_of_shapes(self.function, shapes, grid)
        whole = [bounds[-1] for bounds in cuts]
        masks, weights, dtypes = zip(*besides)
        return self.local(cuts, dtype, (_whole_beside(self.function, "mask", masks, shapes, whole),
                                        _whole_beside(self.function, "weights", weights, shapes, whole), dtypes[0]))

    def local(self, cuts: list[list[int]], dtype: str, beside: Beside = NOTHING) -> _core.LocalPool:
        """This rank's part of the pool of a tensor with these parts; `beside` has the shapes of the whole mask and
        weights."""
        grid = [len(bounds) - 1 for bounds in cuts]
        outputs = self.output_partition
        if outputs == "centred":
            outputs = None
        elif outputs == "balanced":
            outputs = balanced_cuts(self.core.output_shape([bounds[-1] for bounds in cuts]), grid)
        elif outputs is not None and [len(bounds) - 1 for bounds in outputs] != list(grid):
            raise ValueError(f"{self.function}: output_partition must have bounds of {list(grid)} parts along the "
                             f"axes, but is {outputs!r}")
        mask, weights, weights_dtype = beside
        return _core.LocalPool(self.core, dtype, cuts, outputs, self.grid.rank, self.options, mask, weights,
                               weights_dtype or "f64")
