"""Emitted NKI of both generations: Python compiles it, and the NumPy stand-in gives the interpreter's bits."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from nki_stand_in import real_nki, run

PROGRAMS = os.environ["TILE_EMIT_PROGRAMS"]
NAMES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "u32": "uint32", "i16": "int16",
         "u16": "uint16", "i8": "int8", "u8": "uint8"}
COUNT = 10000 if os.environ.get("ORIEL_EVERY_CASE") else 2000


def decoded(array):
    dtype = NAMES[array["dtype"]]
    data = bytes.fromhex(array["hex"])
    if dtype == "bfloat16":
        values = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    else:
        values = np.frombuffer(data, dtype)
    return dtype, array["shape"], values.copy()


def same_bits(a, b):
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    bits = f"u{a.dtype.itemsize}"
    return bool(np.all((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))))


@pytest.mark.parametrize("first", range(1, COUNT + 1, COUNT // 10))
def test_the_stand_in_gives_the_interpreters_bits(first):
    lines = subprocess.run([PROGRAMS, str(COUNT // 10), str(first)], capture_output=True, text=True, check=True).stdout
    seen = 0
    for line in lines.splitlines():
        case = json.loads(line)
        for version in ("v0_1", "v0_6"):
            text = case[version]["text"]
            (result,) = run(text, [decoded(x) for x in case["inputs"]], case["grid"])
            dtype, shape, expected = decoded(case[version]["result"])
            assert (result.dtype, list(result.shape)) == (dtype, shape), text
            assert result.written.all(), text
            assert same_bits(result.data, expected), f"seed {case['seed']} {version}\n{text}\n{result.data}\n{expected}"
            seen += 1
    assert seen == 2 * (COUNT // 10)


def test_the_stand_in_notices_wrong_text():
    line = subprocess.run([PROGRAMS, "1", "1"], capture_output=True, text=True, check=True).stdout
    case = json.loads(line)
    inputs = [decoded(x) for x in case["inputs"]]
    text = case["v0_6"]["text"].replace("nisa.dma_copy(dst=out", "nisa.memset(dst=out, value=77.0)\n    nisa.dma_copy(dst=in0")
    assert text != case["v0_6"]["text"]
    try:
        (result,) = run(text, inputs, case["grid"])
    except AssertionError:
        return
    assert not same_bits(result.data, decoded(case["v0_6"]["result"])[2])


def test_real_simulator(tmp_path):
    if not real_nki():
        pytest.skip("no package `nki` is installed: emitted text was NOT run by AWS's own simulator")
    import nki  # what follows is for machines that have it

    line = subprocess.run([PROGRAMS, "1", "1"], capture_output=True, text=True, check=True).stdout
    case = json.loads(line)
    path = Path(tmp_path) / "emitted_kernel.py"
    path.write_text(case["v0_6"]["text"])
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    inputs = [values.reshape(shape) for _, shape, values in map(decoded, case["inputs"])]
    result = np.asarray(nki.simulate(space["kernel"])(*inputs))
    assert same_bits(result.reshape(-1), decoded(case["v0_6"]["result"])[2])
