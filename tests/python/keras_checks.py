"""What test_keras.py runs in a process for each backend (KERAS_BACKEND): oriel.keras beside keras.layers.

    KERAS_BACKEND=jax python keras_checks.py values training
"""

import os
import sys
import tempfile
import traceback
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import ops  # noqa: E402

import oriel  # noqa: E402
import oriel.keras as ok  # noqa: E402

SIZES = {1: (11,), 2: (9, 10), 3: (5, 6, 7)}
DIFFERENTIABLE = keras.config.backend() != "numpy"
EVERY_GRADIENT = keras.config.backend() != "jax" or "ORIEL_EVERY_CASE" in os.environ  # JAX compiles each, for a second


def array(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def inputs(ndim, data_format):
    return array((2, *SIZES[ndim], 3) if data_format == "channels_last" else (2, 3, *SIZES[ndim]))


def gradient(layer, x):
    """The gradient of a weighted sum of the layer's result."""
    weights = array(tuple(layer(x).shape), 1)
    backend = keras.config.backend()
    if backend == "torch":
        import torch

        t = torch.tensor(x, requires_grad=True)
        (layer(t) * torch.tensor(weights)).sum().backward()
        return t.grad.numpy()
    if backend == "jax":
        import jax

        return np.asarray(jax.jit(jax.grad(lambda t: (layer(t) * weights).sum()))(x))
    import tensorflow as tf

    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        loss = tf.reduce_sum(layer(t) * weights)
    return tape.gradient(loss, t).numpy()


def compare(name, x, **arguments):
    ours, theirs = getattr(ok, name)(**arguments), getattr(keras.layers, name)(**arguments)
    got, expected = ops.convert_to_numpy(ours(x)), ops.convert_to_numpy(theirs(x))
    assert got.dtype == expected.dtype, (name, arguments, got.dtype, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6, err_msg=f"{name} {arguments}")
    for batch in (x.shape[0], None):
        shape = (batch, *x.shape[1:])
        assert tuple(ours.compute_output_shape(shape)) == (batch, *got.shape[1:]), (name, arguments)
        assert tuple(ours(keras.KerasTensor(shape, "float32")).shape) == (batch, *got.shape[1:]), (name, arguments)
    if DIFFERENTIABLE and (x.ndim == 4 or EVERY_GRADIENT):
        np.testing.assert_allclose(gradient(ours, x), gradient(theirs, x), rtol=1e-5, atol=1e-6,
                                   err_msg=f"gradient of {name} {arguments}")
    assert ours.get_config().keys() == theirs.get_config().keys(), name
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(ours))
    assert type(again) is type(ours) and again.get_config() == ours.get_config()


def formats():
    """TensorFlow's own pooling has no channels_first on CPUs; Oriel's is compared with the transposed."""
    return ["channels_last"] if keras.config.backend() == "tensorflow" else ["channels_last", "channels_first"]


def values():
    for data_format in formats():
        for ndim in (1, 2, 3):
            x = inputs(ndim, data_format)
            for kind in ("Max", "Average"):
                for window in ({"pool_size": 2}, {"pool_size": 3,
                                                  "strides": 2}, {"pool_size": (2,) + (3,) * (ndim - 1), "strides": 1}):
                    for padding in ("valid", "same")[len(window) == 1:]:
                        if keras.config.backend() == "torch" and kind == "Average" and padding == "same":
                            same_averages_on_torch(ndim, x, data_format, window)
                            continue
                        compare(f"{kind}Pooling{ndim}D", x, padding=padding, data_format=data_format, **window)
                for keepdims in (False, True):
                    compare(f"Global{kind}Pooling{ndim}D", x, data_format=data_format, keepdims=keepdims)
                if hasattr(keras.layers, f"Adaptive{kind}Pooling{ndim}D"):
                    compare(f"Adaptive{kind}Pooling{ndim}D", x, output_size=3, data_format=data_format)


def same_averages_on_torch(ndim, x, data_format, window):
    """Keras 3.15 on PyTorch repeats border values where the padding is uneven (it excludes padding on its other
    backends): a definition of their own for those, Keras where the padding is even."""
    import torch

    size, stride = np.broadcast_to(window["pool_size"],
                                   ndim), np.broadcast_to(window.get("strides", window["pool_size"]), ndim)
    extents = np.array(x.shape[1:-1] if data_format == "channels_last" else x.shape[2:])
    missing = np.maximum((-(-extents // stride) - 1) * stride + size - extents, 0)
    if not (missing % 2).any():
        return compare(f"AveragePooling{ndim}D", x, padding="same", data_format=data_format, **window)
    first = torch.tensor(np.moveaxis(x, -1, 1) if data_format == "channels_last" else x)
    pads = [int(side) for m in missing[::-1] for side in (m // 2, m - m // 2)]
    mean = getattr(torch.nn.functional, f"avg_pool{ndim}d")
    window_of = [[int(v) for v in values] for values in (size, stride)]
    total, count = (mean(torch.nn.functional.pad(t, pads), *window_of) for t in (first, torch.ones_like(first)))
    expected = (total / count).numpy()
    got = ops.convert_to_numpy(
        getattr(ok, f"AveragePooling{ndim}D")(padding="same", data_format=data_format, **window)(x))
    np.testing.assert_allclose(
        np.moveaxis(got, -1, 1) if data_format == "channels_last" else got, expected, rtol=1e-5, atol=1e-6)


def both_formats_agree():
    for name in ("MaxPooling", "AveragePooling", "MinPooling", "SumPooling", "GlobalMaxPooling",
                 "AdaptiveAveragePooling"):
        for ndim in (1, 2, 3):
            words = {
                "output_size": 3
            } if "Adaptive" in name else {} if "Global" in name else {"pool_size": 3, "strides": 2, "padding": "same"}
            x = inputs(ndim, "channels_last")
            last = ops.convert_to_numpy(getattr(ok, f"{name}{ndim}D")(data_format="channels_last", **words)(x))
            first = ops.convert_to_numpy(
                getattr(ok, f"{name}{ndim}D")(data_format="channels_first", **words)(np.moveaxis(x, -1, 1)))
            np.testing.assert_array_equal(np.moveaxis(last, -1, 1) if last.ndim > 2 else last, first)
            if DIFFERENTIABLE:
                dx = gradient(getattr(ok, f"{name}{ndim}D")(data_format="channels_last", **words), x)
                assert dx.shape == x.shape and np.abs(dx).sum() > 0


def beyond_keras():
    x = array((2, 7, 8, 3))
    np.testing.assert_array_equal(ops.convert_to_numpy(ok.MinPooling2D(3, 2, "same")(x)),
                                  -ops.convert_to_numpy(ok.MaxPooling2D(3, 2, "same")(-x)))
    np.testing.assert_allclose(ops.convert_to_numpy(ok.SumPooling2D(2)(x)),
                               4 * ops.convert_to_numpy(ok.AveragePooling2D(2)(x)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(ok.LpPooling2D(2.0, 2)(x)),
                               2 * np.sqrt(ops.convert_to_numpy(ok.AveragePooling2D(2)(x * x))), rtol=1e-5)
    layer = ok.LpPooling1D(3, 2, name="norm")
    assert ok.LpPooling1D.from_config(layer.get_config()).get_config() == layer.get_config() and layer.name == "norm"


def windows_of(x, size, stride):
    """The windows of (batch, …, channels) without padding, their elements on the last axis."""
    axes = tuple(range(1, x.ndim - 1))
    windows = np.lib.stride_tricks.sliding_window_view(x.astype("float64"), (size,) * len(axes), axes)
    windows = windows[(slice(None), *[slice(None, None, stride)] * len(axes))]
    return windows.reshape(*windows.shape[:x.ndim], -1)


def statistics():
    """Against NumPy on copies of the windows; in both formats, with padding, gradients, errors' names and configs."""
    formulas = {
        "Median": lambda w: np.sort(w, -1)[..., (w.shape[-1] - 1) // 2],
        "Var": lambda w: w.var(-1),
        "Std": lambda w: w.std(-1),
        "LSE": lambda w: np.log(np.exp(w).mean(-1)),
        "Soft": lambda w: (np.exp(w) * w).sum(-1) / np.exp(w).sum(-1),
    }
    for ndim in (1, 2, 3):
        x = inputs(ndim, "channels_last")
        for kind, formula in formulas.items():
            kind = getattr(ok, f"{kind}Pooling{ndim}D")
            layer = kind(3, strides=2, data_format="channels_last")
            y = ops.convert_to_numpy(layer(x))
            assert y.dtype == np.float32 and layer.compute_output_shape((None, *x.shape[1:])) == (None, *y.shape[1:])
            assert tuple(layer(keras.KerasTensor((None, *x.shape[1:]), "float32")).shape) == (None, *y.shape[1:])
            np.testing.assert_allclose(y, formula(windows_of(x, 3, 2)), rtol=1e-5, atol=1e-6)
            words = {"pool_size": 2, "strides": 1, "padding": "same"}
            last = ops.convert_to_numpy(kind(data_format="channels_last", **words)(x))
            first = ops.convert_to_numpy(kind(data_format="channels_first", **words)(np.moveaxis(x, -1, 1)))
            np.testing.assert_array_equal(np.moveaxis(last, -1, 1), first)
            if DIFFERENTIABLE:
                weights = array(y.shape, 1)
                expected = oriel.pool_backward(layer.pool.op, weights, x, 3, 2, axes=layer.pool.axes)
                np.testing.assert_array_equal(gradient(layer, x), expected)
    x = inputs(2, "channels_last")
    for layer, name, words in ((ok.MedianPooling2D(2, method="mean"), "median", {"method": "mean"}),
                               (ok.StdPooling2D(2, ddof=1), "std", {"ddof": 1}),
                               (ok.LSEPooling2D(2, sharpness=3, sum=True), "lse", {"sharpness": 3.0, "sum": True})):
        expected = getattr(oriel, f"{name}_pool")(x, 2, axes=(1, 2), **words)
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
        assert again.get_config() == layer.get_config()
        for each in (layer, again):
            np.testing.assert_array_equal(ops.convert_to_numpy(each(x)), expected)


def masked_average():
    x, mask = array((2, 5, 3)), np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], bool)
    for keepdims in (False, True):
        ours, theirs = ok.GlobalAveragePooling1D(keepdims=keepdims), keras.layers.GlobalAveragePooling1D(
            keepdims=keepdims)
        np.testing.assert_allclose(ops.convert_to_numpy(ours(x, mask=mask)), ops.convert_to_numpy(theirs(x, mask=mask)),
                                   rtol=1e-5)
    assert ours.supports_masking and ours.compute_mask(x, mask) is None


def model(layers):
    keras.utils.set_random_seed(1)
    return keras.Sequential([
        keras.Input((12, 12, 1)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        layers.MaxPooling2D(2),
        keras.layers.Conv2D(4, 2, activation="relu"),
        layers.AveragePooling2D(2, padding="same"),
        layers.GlobalMaxPooling2D(),
        keras.layers.Dense(3)
    ])


def saving():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.keras"
        before = model(ok)
        before.save(path)
        after = keras.saving.load_model(path)
        assert [type(layer) for layer in after.layers] == [type(layer) for layer in before.layers]
        assert type(after.layers[1]) is ok.MaxPooling2D and keras.saving.get_registered_name(
            ok.MaxPooling2D) == "oriel>MaxPooling2D"
        x = array((4, 12, 12, 1))
        np.testing.assert_array_equal(before.predict(x, verbose=0), after.predict(x, verbose=0))


def built_from_the_start():
    """As Keras's own layers are; one that is not makes Keras warn when a model that holds it is saved or loaded."""
    for name in ok.__all__:
        arguments = [2, 2] if name.startswith("Lp") else [2] if name.startswith("Adaptive") else []
        layer = getattr(ok, name)(*arguments)
        assert layer.built and type(layer).from_config(layer.get_config()).built, name
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        network = keras.Sequential([ok.MaxPooling2D(2), ok.GlobalAveragePooling2D()])
        x = array((2, 8, 8, 3))
        y = ops.convert_to_numpy(network(x))
        network.save(f"{folder}/model.keras")
        again = keras.saving.load_model(f"{folder}/model.keras")
        assert again.built and all(layer.built for layer in again.layers)
        np.testing.assert_array_equal(ops.convert_to_numpy(again(x)), y)


def save_here():
    """For load_here, in another process."""
    before = model(ok)
    before.save("model.keras")
    np.save("expected.npy", before.predict(array((4, 12, 12, 1)), verbose=0))


def load_here():
    after = keras.saving.load_model("model.keras")
    np.testing.assert_array_equal(after.predict(array((4, 12, 12, 1)), verbose=0), np.load("expected.npy"))


def training():
    x, y = array((32, 12, 12, 1)), np.arange(32) % 3
    losses = []
    for layers in (keras.layers, ok):
        network = model(layers)
        network.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        losses.append(network.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert losses[0][-1] < losses[0][0]


def mixed_precision():
    layer = ok.MaxPooling2D(2, dtype="mixed_bfloat16")
    assert keras.backend.standardize_dtype(layer(array((1, 4, 4, 1))).dtype) == "bfloat16"


def bad_arguments():
    for call, text in [
        (lambda: ok.MaxPooling2D((2, 2, 2)), "MaxPooling2D: pool_size must be an int or 2 ints, but is (2, 2, 2)"),
        (lambda: ok.MaxPooling2D(0), "MaxPooling2D: pool_size must be >= 1, but is 0"),
        (lambda: ok.AveragePooling1D(2, strides="2"), "AveragePooling1D: strides must be an int or 1 ints, but is '2'"),
        (lambda: ok.MaxPooling3D(2, padding="full"), "MaxPooling3D: padding must be 'valid' or 'same', but is 'full'"),
        (lambda: ok.MaxPooling2D(2, data_format="NHWC"),
         "MaxPooling2D: data_format must be 'channels_last' or 'channels_first', but is 'NHWC'"),
        (lambda: ok.LpPooling2D(0.5, 2), "LpPooling2D: norm_type must be a number >= 1, but is 0.5"),
        (lambda: ok.MedianPooling2D(2, method="upper"),
         "MedianPooling2D: method must be 'lower', 'higher' or 'mean', but is 'upper'"),
        (lambda: ok.VarPooling1D(2, ddof=-1), "VarPooling1D: ddof must be an int >= 0, but is -1"),
        (lambda: ok.LSEPooling3D(2, sharpness=0), "LSEPooling3D: sharpness must be a number > 0, but is 0"),
        (lambda: ok.LSEPooling2D(2, sum=1), "LSEPooling2D: sum must be True or False, but is 1"),
        (lambda: ok.GlobalMaxPooling2D(keepdims="yes"),
         "GlobalMaxPooling2D: keepdims must be True or False, but is 'yes'"),
        (lambda: ok.AdaptiveMaxPooling2D(None),
         "AdaptiveMaxPooling2D: output_size must be an int or 2 ints, but is None"),
        (lambda: ok.MaxPooling2D(9).compute_output_shape((None, 4, 4, 1)), "the window must fit"),
        (lambda: ok.MaxPooling2D(2)(array((4, 4, 1))), "ndim"),
    ]:
        try:
            call()
        except ValueError as error:
            assert text in str(error), (text, str(error))
        else:
            raise AssertionError(f"nothing raised: {text}")


if __name__ == "__main__":
    failed = False
    for name in sys.argv[1:]:
        try:
            globals()[name]()
            print(f"passed on {keras.config.backend()}: {name}", flush=True)
        except Exception:
            failed = True
            traceback.print_exc()
    sys.exit(failed)
