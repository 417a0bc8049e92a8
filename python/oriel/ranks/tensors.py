"""Dividing a tensor, gathering it, dividing it differently, without changing a bit; the numbers of a halo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from oriel import _core
from oriel.array_types import Ints, Padding
from oriel.ranks.divided import Bound, Cuts, OutputPartition, balanced_cuts, cuts_of_shapes, full_grid
from oriel.ranks.grid import Grid, GridLike, agree, same_on_all

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Halo", "as_was", "as_words", "gather", "halo_shape", "repartition", "scatter"]


PartT = TypeVar("PartT", NDArray[Any], "Tensor")


def _is_torch(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "detach")


def as_words(function: str, x: Any) -> tuple[NDArray[Any], str]:
    """The elements as unsigned integers of their size, and what they were."""
    if _is_torch(x):
        import torch
        if x.is_complex() or not x.is_cpu:
            raise TypeError(f"{function}: the tensor must be real and on the CPU, but is {x.dtype} on {x.device}")
        word = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
        array = x.detach().contiguous().view(word).numpy()
        return array.view(f"u{x.element_size()}"), str(x.dtype)
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{function}: x must be a numpy.ndarray or a torch.Tensor, but is {type(x).__name__}")
    _core.dtype_of(x)  # throws for what Oriel lacks
    return np.ascontiguousarray(x).reshape(x.shape).view(f"u{x.dtype.itemsize}"), x.dtype.name


def as_was(words: NDArray[Any], kind: str) -> Any:
    if kind.startswith("torch."):
        import torch
        signed = words if words.itemsize == 1 else words.view(f"i{words.itemsize}")
        return torch.from_numpy(signed).view(getattr(torch, kind[6:]))
    if kind == "bfloat16":
        import ml_dtypes
        return words.view(ml_dtypes.bfloat16)
    return words.view(kind)


def _move(grid: Grid, words: NDArray[Any], from_cuts: list[list[int]], to_cuts: list[list[int]]) -> NDArray[Any]:
    # A window of one element moves what it finds.
    local = _core.LocalPool(_core.Pool("max", 1, axes=-1), f"u{8 * words.itemsize}", from_cuts, to_cuts, grid.rank)
    bound = Bound(grid.link, local)
    moved = np.empty(bound.output_shape, words.dtype)
    bound.run("forward", x=words, y=moved)
    return moved


def _all_at(grid: Sequence[int], shape: Sequence[int], place: Sequence[int]) -> list[list[int]]:
    return [[0] * (p + 1) + [n] * (parts - p) for n, parts, p in zip(shape, grid, place)]


def _checked_cuts(function: str, cuts: Any, shape: Sequence[int], grid: Sequence[int]) -> list[list[int]]:
    if cuts is None or cuts == "balanced":
        return balanced_cuts(shape, grid)
    if not isinstance(cuts, (tuple, list)) or not all(isinstance(bounds, (tuple, list)) for bounds in cuts):
        raise TypeError(
            f"{function}: cuts must be 'balanced' or the bounds of the parts along each axis, but is {cuts!r}")
    for bounds, n, parts in zip(cuts, shape, grid):
        if len(bounds) != parts + 1 or bounds[0] != 0 or bounds[-1] != n or list(bounds) != sorted(bounds):
            raise ValueError(f"{function}: cuts must ascend from 0 to the extents {tuple(shape)} in {tuple(grid)} "
                             f"parts, but is {cuts!r}")
    if len(cuts) != len(shape):
        raise ValueError(f"{function}: cuts must have bounds for each of {len(shape)} axes, but is {cuts!r}")
    return [list(bounds) for bounds in cuts]


def _checked_root(function: str, grid: Grid, root: Any) -> int:
    if type(root) is not int or not 0 <= root < grid.size:
        raise ValueError(f"{function}: root must be a rank from 0 to {grid.size - 1}, but is {root!r}")
    return root


@overload
def scatter(P_x: GridLike, x: PartT, cuts: Cuts = "balanced", root: int = 0) -> PartT: ...


@overload
def scatter(P_x: GridLike, x: None = None, cuts: Cuts = "balanced", root: int = 0) -> Any: ...


def scatter(P_x: GridLike, x: Any = None, cuts: Cuts = "balanced", root: int = 0) -> Any:
    """This rank's part of an array on rank `root`. All ranks must call it together.

    Parameters
    ----------
    P_x : mpi4py.MPI.Cartcomm, (communicator, shape) or Grid
        Ranks along each axis; leading 1s may be left out.
    x : numpy.ndarray or torch.Tensor
        Read on rank `root` only. Not differentiable.
    cuts : 'balanced' or sequence of sequences of int
        Bounds of the parts along each axis, ascending from 0 to the extent; equal ones make an empty part.
    root : int
        The rank that has the array.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import oriel.mpi
    >>> P_x = MPI.COMM_SELF.Create_cart([1, 1])
    >>> part = oriel.mpi.scatter(P_x, np.eye(2))
    >>> oriel.mpi.gather(P_x, part)
    array([[1., 0.],
           [0., 1.]])
    """
    grid = Grid.of(P_x)
    same_on_all(grid.link, "scatter", lambda: (_checked_root("scatter", grid, root), cuts))
    words, kind, error = None, "", None
    if grid.rank == root:
        try:
            words, kind = as_words("scatter", x)
            places = full_grid("scatter", grid.shape, words.ndim)
            _checked_cuts("scatter", cuts, words.shape, places)
        except (TypeError, ValueError) as caught:
            error = caught
    agree(grid.link, "scatter", None, error)
    shape, kind, size = grid.link.gathered(None if words is None else (words.shape, kind, words.itemsize))[root]
    places = full_grid("scatter", grid.shape, len(shape))
    before = _all_at(places, shape, (0,) * (len(places) - len(grid.shape)) + grid.place(root))
    if words is None:
        words = np.empty([b[p + 1] - b[p] for b, p in zip(before, _index(grid, places))], f"u{size}")
    return as_was(_move(grid, words, before, _checked_cuts("scatter", cuts, shape, places)), kind)


def _index(grid: Grid, places: Sequence[int]) -> tuple[int, ...]:
    return (0,) * (len(places) - len(grid.shape)) + grid.index


def _cuts_of_parts(function: str, grid: Grid, part: Any) -> tuple[NDArray[Any], str, list[list[int]], tuple[int, ...]]:
    words: Any = None
    kind, error = "", None
    try:
        words, kind = as_words(function, part)
    except (TypeError, ValueError) as caught:
        error = caught
    agree(grid.link, function, (kind, None if words is None else words.ndim), error)
    assert words is not None  # else all ranks have raised
    shapes = grid.link.gathered(words.shape)
    places = full_grid(function, grid.shape, words.ndim)
    return words, kind, cuts_of_shapes(function, shapes, places), places


def gather(P_x: GridLike, part: PartT, root: int = 0) -> PartT | None:
    """The whole array on rank `root`, from the parts of all ranks; None on the others. All ranks must call it together.

    Parameters
    ----------
    P_x : mpi4py.MPI.Cartcomm, (communicator, shape) or Grid
        As for `scatter`.
    part : numpy.ndarray or torch.Tensor
        This rank's part. Not differentiable.
    root : int
        The rank that receives the array.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank: also for parts that do not form an array.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import oriel.mpi
    >>> oriel.mpi.gather((MPI.COMM_SELF, (1,)), np.arange(3))
    array([0, 1, 2])
    """
    grid = Grid.of(P_x)
    same_on_all(grid.link, "gather", lambda: _checked_root("gather", grid, root))
    words, kind, cuts, places = _cuts_of_parts("gather", grid, part)
    place = (0,) * (len(places) - len(grid.shape)) + grid.place(root)
    whole = _move(grid, words, cuts, _all_at(places, [bounds[-1] for bounds in cuts], place))
    return as_was(whole, kind) if grid.rank == root else None


def repartition(P_x: GridLike, part: PartT, cuts: Cuts = "balanced") -> PartT:
    """This rank's part of the same array with another division. All ranks must call it together.

    Parameters
    ----------
    P_x : mpi4py.MPI.Cartcomm, (communicator, shape) or Grid
        As for `scatter`.
    part : numpy.ndarray or torch.Tensor
        This rank's part in the present division. Not differentiable.
    cuts : 'balanced' or sequence of sequences of int
        The new division; as for `scatter`.

    Raises
    ------
    TypeError, ValueError
        The same error on every rank.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import oriel.mpi
    >>> oriel.mpi.repartition((MPI.COMM_SELF, (1,)), np.arange(3), [[0, 3]])
    array([0, 1, 2])
    """
    grid = Grid.of(P_x)
    words, kind, before, places = _cuts_of_parts("repartition", grid, part)
    shape = [bounds[-1] for bounds in before]
    after = same_on_all(grid.link, "repartition", lambda: _checked_cuts("repartition", cuts, shape, places))
    return as_was(_move(grid, words, before, after), kind)


class Halo(NamedTuple):
    """The elements of a divided tensor that a rank needs for its part of a pool; ranges are (begin, end) along each
    axis of the whole tensor."""

    halo_shape: tuple[tuple[int, int], ...]  # elements of others before and after its own, along each axis
    inputs: tuple[tuple[int, int], ...]  # what it owns
    outputs: tuple[tuple[int, int], ...]  # what it makes
    needed: tuple[tuple[int, int], ...]  # the inputs that its outputs read
    interior: tuple[tuple[int, int], ...]  # the outputs that its own inputs suffice for
    receive: list[tuple[int, tuple[tuple[int, int], ...]]]  # (rank, box) of inputs that come
    send: list[tuple[int, tuple[tuple[int, int], ...]]]  # and that go


def halo_shape(shape: Sequence[int], grid: Sequence[int], rank: int, kernel_size: Ints, stride: Ints | None = None,
               padding: Padding = 0, dilation: Ints = 1, *, ceil_mode: bool = False, cuts: Cuts = "balanced",
               output_partition: OutputPartition = None) -> Halo:
    """The halo of one rank, by arithmetic alone: nothing is sent, and any rank can compute any other's.

    Parameters
    ----------
    shape, grid : sequence of int
        The whole tensor, and the ranks along each of its axes.
    rank : int
        The rank whose halo is computed.
    kernel_size, stride, padding, dilation, ceil_mode
        As for `oriel.torch.max_pool`: of 3 to 5 axes, the first two are batch and channels, and the others are pooled.
    cuts : 'balanced' or sequence of sequences of int
        Bounds of the parts of the tensor along each axis.
    output_partition : None, 'centred', 'balanced' or sequence of sequences of int
        As for `DistributedMaxPool2d`.

    Raises
    ------
    TypeError, ValueError
        As the layers do.

    Examples
    --------
    >>> import oriel.mpi
    >>> halo = oriel.mpi.halo_shape([1, 1, 10], [1, 1, 3], 1, kernel_size=3, stride=2, padding=1)
    >>> halo.halo_shape, halo.inputs, halo.outputs
    (((0, 0), (0, 0), (1, 1)), ((0, 1), (0, 1), (4, 7)), ((0, 1), (0, 1), (2, 4)))
    """
    function = "halo_shape"
    if len(grid) != len(shape):
        raise ValueError(f"{function}: grid must have an extent for each axis of {tuple(shape)}, but is {tuple(grid)}")
    core = _core.Pool("max", kernel_size, stride, padding, dilation, ceil_mode=ceil_mode).beside_channels(len(shape))
    outputs = output_partition
    if outputs == "balanced":
        outputs = balanced_cuts(core.output_shape(list(shape)), grid)
    elif outputs == "centred":
        outputs = None
    local = _core.LocalPool(core, "f32", _checked_cuts(function, cuts, shape, grid), outputs, rank)
    e = local.exchange("forward", rank)
    widths = tuple((max(0, own[0] - need[0]), max(0, need[1] - own[1])) if need[0] < need[1] else (0, 0)
                   for own, need in zip(e["owned"], e["needed"]))
    return Halo(widths, e["owned"], e["made"], e["needed"], e["interior"], e["receive"], e["send"])
