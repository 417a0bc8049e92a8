"""The include graph goes down only, and the script that says so notices when it does not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_floors.py"


def check(root):
    return subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)


def tree(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


CLEAN = {
    "include/oriel/types.h": "#pragma once\n#include <vector>\n",
    "include/oriel/window.h": '#include "oriel/types.h"\n',
    "include/oriel/pool.h": '#include "oriel/window.h"\n',
    "src/cpu/run.h": '#include "oriel/window.h"\n',
    "src/cpu/run.cc": '#include "cpu/run.h"\n',
    "src/cpu/rows/rows.h": '#include "cpu/plan/layout.h"\n',
    "src/cpu/plan/layout.h": "",
    "src/cpu/planes/planes.h": '#include "cpu/rows/rows.h"\n#include "cpu/plan/layout.h"\n',
    "src/cpu/masked/masked.h": "",
    "src/cuda/run.h": '#include "cuda/device/memory.cuh"\n',
    "src/cuda/device/memory.cuh": "",
    "src/nn/cuda/pool.cu": '#include "cuda/device/memory.cuh"\n',
    "include/oriel/tile/ir.h": '#include "oriel/types.h"\n',
    "src/tile/run.cc": '#include "oriel/tile/ir.h"\n',
    "src/pool.cc": '#include "oriel/pool.h"\n#include "cpu/run.h"\n',
    "src/distributed/halo.cc": '#include "oriel/pool.h"\n',
    "src/nn/layer.h": "",
    "src/io/npy.h": '#include "oriel/types.h"\n#include "io/array.h"\n',
    "src/io/npy.cc": '#include "io/npy.h"\n',
    "src/io/array.h": "",
    "cli/main.cc": '#include "io/npy.h"\n#include "oriel/pool.h"\n',
    "apps/portrait/chain/cut.h": '#include "apps/portrait/image/plane.h"\n',
    "apps/portrait/image/plane.h": "",
    "apps/portrait/main.cc": '#include "apps/portrait/chain/cut.h"\n',
    "reference/pool.h": '#include "oriel/types.h"\n',
    "python/oriel/pools.py": "from oriel import _core\n",
    "python/oriel/ranks/grid.py": "from oriel.pools import max_pool\nfrom oriel.torch_threads import threads\n",
    "python/oriel/torch/distributed.py": "from oriel.ranks import grid\nimport numpy\n",
}

BROKEN = [
    ("include/oriel/types.h", '#include "oriel/window.h"\n', "floor 0 looks at floor 1"),
    ("include/oriel/window.h", '#include "oriel/pool.h"\n', "floor 1 looks at the entry points"),
    ("src/cpu/run.cc", '#include "cuda/run.h"\n', "a backend looks at its sibling"),
    ("src/cpu/run.cc", '#include "oriel/pool.h"\n', "a backend looks at the entry points"),
    ("src/cpu/run.cc", '#include "../cuda/run.h"\n', "a sibling by a relative path"),
    ("src/tile/run.cc", '#include "cpu/run.h"\n', "the tile language looks at the CPU backend"),
    ("include/oriel/tile/ir.h", '#include "oriel/pool.h"\n', "the tile language looks at the entry points"),
    ("src/cpu/run.cc", '#include "oriel/tile/ir.h"\n', "the CPU backend looks at the tile language"),
    ("src/distributed/halo.cc", '#include "nn/layer.h"\n', "dist and nn are siblings"),
    ("src/pool.cc", '#include "io/npy.h"\n', "the entry points look at file formats"),
    ("examples/pool.cc", '#include "io/npy.h"\n', "file formats belong to the command"),
    ("reference/pool.h", '#include "oriel/window.h"\n', "the reference shares Oriel's geometry"),
    ("reference/pool.h", '#include "oriel/pool.h"\n', "the reference looks at the entry points"),
    ("src/cpu/run.cc", '#include "oriel/none.h"\n', "a header that does not exist"),
    ("src/io/array.cc", '#include "io/npy.h"\n', "a ground type looks at a format made of it"),
    ("src/mystery/file.cc", "", "a file that no floor has"),
    ("src/cpu/plan/layout.h", '#include "cpu/rows/rows.h"\n', "a wing looks at one above it"),
    ("src/cpu/masked/masked.h", '#include "cpu/planes/planes.h"\n', "a wing looks at its sibling"),
    ("src/cpu/planes/planes.h", '#include "cpu/run.h"\n', "a wing looks at the entry points"),
    ("src/cpu/planes/planes.h", '#include "../run.h"\n', "the same by a relative path"),
    ("python/oriel/ranks/grid.py", "def f():\n    from oriel.torch import engine\n", "ranks import PyTorch's layers"),
    ("python/oriel/pools.py", "import oriel.jax as functions\n", "functions of arrays import a framework's"),
    ("python/oriel/jax/pools.py", "from oriel import torch\n", "two frameworks"),
    ("apps/portrait/image/plane.h", '#include "apps/portrait/chain/cut.h"\n', "a wing of another part looks at one above it"),
    ("src/cuda/device/memory.cuh", '#include "cuda/run.h"\n', "what networks share looks at the pools"),
    ("src/nn/cuda/pool.cu", '#include "cuda/run.h"\n', "networks look at the pools of CUDA devices"),
    ("src/cpu/mystery/file.h", '#include "cpu/rows/rows.h"\n', "a wing that has no floor"),
]


def test_include_graph_goes_down():
    result = check(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_clean_tree_passes(tmp_path):
    result = check(tree(tmp_path, CLEAN))
    assert (result.returncode, result.stdout) == (0, ""), result.stdout + result.stderr


@pytest.mark.parametrize(("path", "text", "why"), BROKEN, ids=[why for _, _, why in BROKEN])
def test_violation_is_caught(tmp_path, path, text, why):
    result = check(tree(tmp_path, {**CLEAN, path: text}))
    assert result.returncode == 1, why
    assert path in result.stdout


def test_full_folder_is_caught(tmp_path):
    files = {f"src/cpu/rows/{i}.h": "" for i in range(16)}
    result = check(tree(tmp_path, files))
    assert result.returncode == 1 and "src/cpu/rows: 16 files; allowed: 15" in result.stdout
