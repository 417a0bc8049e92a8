"""oriel.jax for CUDA devices, as far as that goes without one: which handlers there are, programs for them, and the
script that looks at a real device (tests/cuda/device/jax_check.py), here on the CPU's handlers."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import oriel
import oriel.jax
from oriel import _core
from oriel.jax import primitives

ROOT = Path(__file__).resolve().parents[2]


def test_handlers_of_both_platforms_are_found():
    names = {name: f"{name} of the CPU" for name in primitives.EXPORTED_CALLS}
    assert primitives.handlers_by_platform(SimpleNamespace(**names)) == {"cpu": names}
    there = [name for name in names if name not in primitives.CPU_CALLS]
    on_cuda = {f"{name}_cuda": f"{name} of CUDA" for name in there}
    found = primitives.handlers_by_platform(SimpleNamespace(**names, **on_cuda))
    assert found == {"cpu": names, "cuda": {name: f"{name} of CUDA" for name in there}}


def test_the_build_has_the_platforms_of_the_library():
    assert primitives.PLATFORMS == (("cpu", "cuda") if _core.has_cuda() else ("cpu",))


def test_programs_for_cuda_call_the_handler():
    pool = primitives.define("oriel_test_pool", primitives.pooled_aval, primitives.call_handler("oriel_pool"),
                             platforms=("cpu", "cuda"))  # fmt: skip
    spec = oriel.jax.pools.make_spec("max", (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), None, (-3, -2), (1, 4, 4, 1))
    traced = jax.jit(lambda x: pool.bind(x, spec=spec)).trace(jax.ShapeDtypeStruct((1, 4, 4, 2), jnp.float32))
    assert "oriel_pool" in traced.lower(lowering_platforms=("cuda",)).as_text()
    with pytest.raises(NotImplementedError, match="oriel.jax runs on CPU.* but this program is for rocm"):
        traced.lower(lowering_platforms=("rocm",))


@pytest.mark.skipif(_core.has_cuda(), reason="this build has the CUDA backend")
def test_a_build_without_cuda_says_why():
    program = jax.jit(lambda x: oriel.jax.max_pool(x, (2, 2))).trace(jnp.ones((1, 4, 4, 2)))
    with pytest.raises(NotImplementedError, match=r"put the arrays on jax.devices\('cpu'\)\[0\]; this build of oriel "
                                                  "has no CUDA backend"):  # fmt: skip
        program.lower(lowering_platforms=("cuda",))


def check_on(platform):
    library = Path(oriel.__file__).with_name("oriel_xla.so")
    words = [sys.executable, ROOT / "tests/cuda/device/jax_check.py", library, platform]
    return subprocess.run(words, capture_output=True, text=True, timeout=300)


def test_the_check_of_devices_passes_on_the_cpu():
    done = check_on("cpu")
    assert done.returncode == 0 and "21 cases, 0 wrong" in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif("cuda" not in primitives.PLATFORMS, reason="NOT CHECKED: needs a CUDA device and a build with ORIEL_CUDA")
def test_the_check_of_devices_passes_on_a_device():
    done = check_on("cuda")
    assert done.returncode == 0, done.stdout + done.stderr
