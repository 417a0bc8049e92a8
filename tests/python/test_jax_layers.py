"""The layers of oriel.jax as nodes of trees; importing oriel.jax, again and where it cannot work."""

import pickle
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import oriel
import oriel.jax
import pytest

PACKAGE = Path(oriel.__file__).parent


def downsample_images(input_batch, pool_size, strides):
    """Max pooling of images as a loop over windows in NumPy, from first principles."""
    (pm, pn), (sm, sn) = pool_size, strides
    batch, xm, xn, channels = input_batch.shape
    y = np.zeros((batch, 1 + (xm - pm) // sm, 1 + (xn - pn) // sn, channels), input_batch.dtype)
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            y[:, i, j, :] = np.max(input_batch[:, i * sm : i * sm + pm, j * sn : j * sn + pn, :], axis=(1, 2))
    return y


@pytest.mark.parametrize("x64", [False, True])
def test_first_principles(x64):
    batch = np.random.default_rng(0).standard_normal((32, 28, 28, 3)).astype(np.float64 if x64 else np.float32)
    layer = oriel.jax.MaxPool2D(pool_shape=(4, 4), strides=(2, 2), padding="valid")
    wanted = downsample_images(batch, layer.pool_shape, layer.strides)
    with jax.enable_x64(x64):
        x = jnp.asarray(batch)
        by_lax = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 4, 4, 1), (1, 2, 2, 1), "valid")
        for y in (layer(x), layer(batch), jax.jit(layer)(x), by_lax):
            assert y.dtype == batch.dtype
            np.testing.assert_array_equal(y, wanted)


def test_the_other_layers():
    x = jnp.asarray(np.random.default_rng(1).standard_normal((2, 9, 8, 3)), jnp.float32)
    for padding in ("valid", "SAME", ((1, 0), (0, 2))):
        arguments = ((3, 2), (2, 1), padding)
        np.testing.assert_array_equal(oriel.jax.MaxPool2D(*arguments)(x), oriel.jax.max_pool(x, *arguments))
        np.testing.assert_array_equal(oriel.jax.MinPool2D(*arguments)(x), oriel.jax.min_pool(x, *arguments))
        for include in (True, False):
            np.testing.assert_array_equal(
                oriel.jax.AvgPool2D(*arguments, include)(x), oriel.jax.avg_pool(x, *arguments, include)
            )
    assert oriel.jax.MaxPool2D()(x).shape == (2, 8, 7, 3)  # 2x2 windows, 1 apart


def test_layers_are_nodes_without_leaves():
    layer = oriel.jax.AvgPool2D(2, (2, 2), "SAME")
    model = {"w": jnp.ones(3), "pool": layer, "deep": [layer, (jnp.zeros(2), oriel.jax.MaxPool2D())]}
    assert len(jax.tree.leaves(model)) == 2
    doubled = jax.tree.map(lambda w: 2 * w, model)
    assert doubled["pool"] is layer and doubled["w"].tolist() == [2, 2, 2]
    leaves, structure = jax.tree.flatten(model)
    assert jax.tree.unflatten(structure, leaves)["deep"][1][1] == oriel.jax.MaxPool2D()
    gradient = jax.grad(lambda model, x: (model["pool"](x) * model["w"]).sum())(model, jnp.ones((1, 4, 4, 3)))
    assert gradient["pool"] == layer and gradient["w"].tolist() == [4, 4, 4]
    assert jax.jit(lambda model: model["pool"])(model) == layer  # also as a result
    assert jax.vmap(lambda layer, x: layer(x), (None, 0))(layer, jnp.ones((2, 4, 4, 1))).shape == (2, 2, 2, 1)


def test_layers_are_values():
    layer = oriel.jax.MaxPool2D((2, 2), padding="VALID")
    assert layer == oriel.jax.MaxPool2D(2, 1, "valid") and hash(layer) == hash(oriel.jax.MaxPool2D(2, 1, "valid"))
    assert (
        len({layer, oriel.jax.MaxPool2D(), oriel.jax.MaxPool2D(3), oriel.jax.MinPool2D(), oriel.jax.AvgPool2D()}) == 4
    )
    assert oriel.jax.MaxPool2D(np.int64(3), [1, 2], [[0, 1], (1, 0)]) == oriel.jax.MaxPool2D(
        (3, 3), (1, 2), ((0, 1), (1, 0))
    )
    assert pickle.loads(pickle.dumps(layer)) == layer
    assert repr(layer) == "MaxPool2D(pool_shape=(2, 2), strides=(1, 1), padding='valid')"
    with pytest.raises(AttributeError):
        layer.strides = (2, 2)


@pytest.mark.parametrize(
    "error, word, arguments",
    [
        (ValueError, "MaxPool2D: pool_shape", (0,)),
        (ValueError, "MaxPool2D: pool_shape", ((2, 2, 2),)),
        (TypeError, "MaxPool2D: pool_shape", (2.5,)),
        (TypeError, "MaxPool2D: pool_shape", ("2",)),
        (ValueError, "MaxPool2D: strides", (2, 0)),
        (ValueError, "MaxPool2D: padding", (2, 1, "full")),
        (TypeError, "MaxPool2D: padding", (2, 1, 1)),
        (ValueError, "MaxPool2D: padding", (2, 1, ((0, 0),))),
    ],
)
def test_bad_configuration(error, word, arguments):
    with pytest.raises(error, match=word):
        oriel.jax.MaxPool2D(*arguments)


def run(program, folder=PACKAGE.parent):
    text = f"import sys\nsys.path.insert(0, {str(folder)!r})\n{program}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)


def test_modules_may_be_reloaded_and_imported_again():
    result = run("""
import importlib
import jax, jax.numpy as jnp
import oriel.jax
old = oriel.jax.MaxPool2D()
x = jnp.arange(16.0).reshape(1, 4, 4, 1)
for name in sorted(name for name in sys.modules if name.startswith("oriel.jax")):
    importlib.reload(sys.modules[name])
for name in [name for name in sys.modules if name.startswith("oriel.jax")]:
    del sys.modules[name]
oriel.jax = importlib.import_module("oriel.jax")
new = oriel.jax.MaxPool2D()
assert type(new) is not type(old)
assert (jax.jit(new)(x) == jax.jit(old)(x)).all() and jax.tree.leaves([old, new]) == []
assert jax.grad(lambda x: new(x).sum())(x).sum() == 9
""")
    assert result.returncode == 0, result.stderr


def import_error(preparation, folder=PACKAGE.parent):
    result = run(
        preparation
        + """
try:
    import oriel.jax
except ImportError as error:
    print(error)
""",
        folder,
    )
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()
    return line


def test_a_missing_or_old_jax_is_one_sentence():
    assert (
        import_error("sys.modules['jax'] = None")
        == "oriel.jax needs JAX, which is not installed: pip install 'jax>=0.6'"
    )
    old = "import types; sys.modules['jax'] = types.SimpleNamespace(__version__='0.4.1', __version_info__=(0, 4, 1))"
    assert import_error(old) == "oriel.jax needs JAX 0.6.0 or newer, but JAX 0.4.1 is installed"


def test_a_build_without_handlers_is_one_sentence(tmp_path):
    (tmp_path / "oriel").mkdir()
    for file in PACKAGE.iterdir():
        if file.name != "oriel_xla.so":
            (tmp_path / "oriel" / file.name).symlink_to(file)
    assert import_error("", tmp_path).startswith("oriel.jax needs oriel_xla.so, which this build of oriel lacks")


@pytest.mark.parametrize("major, minor, newer", [(0, 0, "jaxlib"), (1, 0, "oriel")])
def test_a_jaxlib_of_another_interface_is_one_sentence(tmp_path, major, minor, newer):
    """XLA itself notices only when its backend starts, and then no array of JAX can be made any more."""
    header = tmp_path / "xla" / "ffi" / "api" / "c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text(f"#define XLA_FFI_API_MAJOR {major}\n#define XLA_FFI_API_MINOR {minor}\n")
    line = import_error(f"import jax; jax.ffi.include_dir = lambda: {str(tmp_path)!r}")
    assert line.startswith("oriel.jax needs version 0.1 of XLA's interface, or a later 0, but the installed jaxlib ")
    assert line.endswith(f" has {major}.{minor}: install a newer {newer}")
