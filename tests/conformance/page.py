"""docs/conformance.md, rendered from tallies."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

import suite_differences
import torch_differences
from jax_lists import WINDOWS
from tally import Tally

PEERS = {
    "PyTorch": "torch",
    "JAX": "jax",
    "flax": "flax",
    "SciPy": "scipy",
    "bottleneck": "Bottleneck",
    "xarray": "xarray",
    "Dask": "dask",
}

_REASONS = [reason for reason, _ in (*torch_differences.REASONS, *torch_differences.ACCEPTED)]
_REASONS += suite_differences.REASONS
LETTERS = {reason: chr(ord("a") + number) for number, reason in enumerate(_REASONS)}
SUITES = ("SciPy", "bottleneck", "xarray", "Dask")  # parts that are test files
COLUMNS = "| Test | Run on | Cases | Passed | Known difference | Failed |\n| --- | --- | ---: | ---: | --- | ---: |"

INTRODUCTION = """# Peers' own tests, run with Oriel

PyTorch and JAX test their pooling functions with lists of calls. Here Oriel runs the same calls instead of the peer's
function, and the results are compared. The test files of SciPy, bottleneck, xarray and Dask run as they are, with Oriel's
functions under the peer's names. The program is in `tests/conformance`; `make test` runs all of it and fails on any
difference that has no reason below, and if a number of cases differs from this page. (The number of known differences
depends on the processor, as PyTorch's rounding does.) After a change, write the page again:

```sh
.venv/bin/python tests/conformance/run.py --write
```

A case passes if everything that is compared agrees. It has a known difference if something differs and a program
confirms, by computing it, that the result is the one that the reason predicts. Everything else has failed. No operator
and no dtype is excluded as a whole.
"""

TORCH = """## PyTorch

The samples are those of `torch.testing._internal`: `op_db`, that is every operator with "pool" in its name, every dtype
that it lists for CPUs, all samples and all calls that must fail; and `module_db`. Each sample runs unchanged, on tensors
that are not contiguous, and without gradients. Results, indices, the gradient for a random `dy` and the second gradient
are compared; also dtypes, shapes and, except for second gradients, strides.

- Maxima, unpooled tensors, their gradients and all indices must be equal bit for bit.
- Averages may be 2^-48 (float64), 2^-20 (float32), 2^-10 (float16) or 2^-7 (bfloat16) of the same average of absolute
  values apart, as the order of additions differs ([S8](semantics.md#s8-order-of-sums)). Lp norms: 1e-13, 1e-5.
- A call that must fail must raise RuntimeError, ValueError or TypeError. If Oriel returns a result instead, it is
  compared with that of PyTorch for an input padded beforehand, or must be empty.
- A module must print its name (after `oriel.torch.`), keep `training`, have no state, and return the same after pickling and `double()`.

The windows of fractional pools are those of the samples' own random numbers, or of the same seed for both.
"""

JAX = f"""## JAX and flax

The lists are those of JAX 0.10.2: `lax_test.py` and `lax_vmap_test.py` ({len(WINDOWS)} windows for each computation,
all of them run), `lax_autodiff_test.py`, and the pools of `batching_test.py`, `stax_test.py`, `shape_poly_test.py` and
`pjit_test.py`; and the `PoolTest` of flax's `linen_test.py`. Results of `oriel.jax.reduce_window`, and of
`oriel.reduce_window` on NumPy arrays, are compared with `jax.lax.reduce_window` and with a definition in NumPy.

- Maxima, minima and integers must be equal; float32 sums may be 2^-20 of the sum of absolute values apart.
- Derivatives (jvp, vjp, forward over reverse, reverse over reverse) may be 2^-18 of the largest element apart from
  those of `jax.lax`.
- `check_grads` (forward and reverse, float64, JAX's steps and tolerances) checks order 2 on every fifth window; JAX's
  test checks order 3 on ten random windows.
- Computations that Oriel does not support (products, several operands) are passed to `jax.lax`; they run on every
  seventh window. A separate row shows that sums, maxima and minima are not passed on ("handed" in the table).
- `testReduceWindowShapeDilation` runs with the dilations of its list, which JAX's own test does not use.
"""


SCIENCE = """## SciPy, bottleneck, xarray and Dask

Pytest runs these files after every function or method of Oriel has taken the place of the peer's:

- `scipy/ndimage/tests/test_filters.py` and `test_morphology.py` with `oriel.ndimage`;
- `bottleneck/tests/move_test.py` with `oriel.bottleneck`;
- `xarray/tests/test_coarsen.py` and `test_rolling.py` with the accessor of `oriel.xarray` as `coarsen` and `rolling` of
  DataArray and Dataset;
- those of `dask/array/tests` that have `coarsen` (`test_routines.py`, `test_chunk.py`, `test_rechunk.py`,
  `test_optimization.py`) with `oriel.dask.coarsen`. `test_overlap.py` is about `map_overlap`, which has no counterpart.

Counted are the tests in which one of them was called, a row for all tests of a name before its number. "Handed on" are
tests with a call that Oriel leaves to the peer: functions that are no pools, structures that are not flat, complex arrays;
of xarray the windows themselves (`construct`, iteration), other functions for `reduce`, and dates.

A test of errors that fails is run once more with `pytest.raises` taking ValueError, TypeError, KeyError and RuntimeError
for each other, if the text begins with the name of Oriel's function. In that run `pytest.warns` takes the TypeError of an
argument that xarray warns of for the warning. The other known differences are named test by test in
`tests/conformance/suite_differences.py`.

scikit-image's tests are not in its wheel. `suite_run.scikit_image(FOLDER)` runs them from its source: `test_rank.py`,
`test_median.py`, `test_block.py`, `test_thresholding.py`, `test_gray.py` and `test_footprints.py`. Of scikit-image 0.26.0,
without the tests of volumes in `test_rank.py`, whose data is not in the source, 360 tests call a function of Oriel: 248
pass, 112 have a known difference (warnings of slowness, texts of errors, images of other dtypes that are not converted to
uint8), none fails. `suite_run.NUMBAGG` runs `numbagg/test/test_moving.py`, if Numba is installed, with `move_mean`, `move_sum`, `move_std` and
`move_var` of `oriel.bottleneck`: of numbagg 0.9.6 42 of 43 tests pass, and one asks for another text of an error.
"""


def known(tally: Tally) -> str:
    """`12 a, 3 b`: cases and the reason's letter."""
    return ", ".join(f"{tally.known[reason]} {letter}" for reason, letter in LETTERS.items() if tally.known[reason])


def row(tally: Tally) -> str:
    """The line of the page that says what became of the cases."""
    return (
        f"| {tally.subject} | {tally.group} | {tally.cases} | {tally.passed} | {known(tally)} | {len(tally.failed)} |"
    )


def section(part: str, tallies: Iterable[Tally]) -> str:
    """A part's heading and table."""
    return "\n".join([f"### {part}", "", COLUMNS, *(row(tally) for tally in tallies if tally.part == part), ""])


def versions() -> str:
    """The peers that are installed; PyTorch's builds for CPUs and GPUs have one version here."""
    return ", ".join(f"{peer} {importlib.metadata.version(name).partition('+')[0]}" for peer, name in PEERS.items())


def totals(tallies: Iterable[Tally]) -> str:
    tallies = list(tallies)
    cases, passed, differing, failed = (
        sum(number) for number in zip(*((t.cases, t.passed, t.differing, len(t.failed)) for t in tallies))
    )
    return (
        f"{cases} cases: {passed} passed, {differing} with a known difference, {failed} failed. Made with {versions()}."
    )


def render(tallies: list[Tally]) -> str:
    """The whole page."""
    parts = list(dict.fromkeys(tally.part for tally in tallies))
    used = {reason for tally in tallies for reason in tally.known}
    reasons = [f"- **{letter}**: {reason}." for reason, letter in LETTERS.items() if reason in used]
    failures = [f"- {line}" for tally in tallies for line in tally.failed]
    blocks = [
        INTRODUCTION,
        totals(tallies) + "\n",
        "Reasons of known differences ([Where others differ](semantics.md#where-others-differ)):\n",
        "\n".join(reasons) + "\n",
        TORCH,
        *(section(part, tallies) for part in parts if part.startswith("PyTorch")),
        SCIENCE,
        *(section(part, tallies) for part in parts if part.startswith(SUITES)),
        JAX,
        *(section(part, tallies) for part in parts if not part.startswith(("PyTorch", *SUITES))),
    ]
    if failures:
        blocks += ["## Failed\n", "\n".join(failures) + "\n"]
    return "\n".join(blocks)
