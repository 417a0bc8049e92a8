"""Indices as small codes: the tap of the window, in uint8 and int32 (S10)."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import oriel

X = np.random.default_rng(7).integers(0, 9, (2, 3, 9, 8)).astype(np.float32)  # with ties


def widened(codes):
    wide = np.asarray(codes).astype(np.int64)
    return np.where(wide == 255, -1, wide) if codes.dtype == np.uint8 else wide


@pytest.mark.parametrize("index_dtype", ["uint8", "int32"])
@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 1, 3), ((15, 15), 1, 7)])
def test_codes_are_the_indices_of_the_window(kernel, stride, padding, index_dtype):
    for function, back in ((oriel.max_pool, oriel.max_pool_backward), (oriel.min_pool, oriel.min_pool_backward)):
        y, expected = function(X, kernel, stride, padding, return_indices="window", axes=(2, 3))
        z, codes = function(X, kernel, stride, padding, return_indices="window", index_dtype=index_dtype, axes=(2, 3))
        assert codes.dtype == index_dtype
        np.testing.assert_array_equal(z, y)
        np.testing.assert_array_equal(widened(codes), expected)
        dy = np.random.default_rng(8).standard_normal(y.shape).astype(np.float32)
        np.testing.assert_array_equal(
            back(dy, X.shape, kernel, stride, padding, indices=codes, space="window", axes=(2, 3)),
            back(dy, X, kernel, stride, padding, axes=(2, 3)))


def test_a_window_without_taps():
    codes = oriel.max_pool(np.ones(2), 1, 1, 1, return_indices="window", index_dtype="uint8")[1]
    assert codes.tolist() == [255, 0, 0, 255]
    codes = oriel.max_pool(np.array([np.nan]), 1, nan_policy="omit", return_indices="window", index_dtype="int32")[1]
    assert codes.tolist() == [-1]


def test_adaptive_windows_and_pools():
    x = np.array([1.0, 5.0, 2.0, 4.0, 3.0])
    assert oriel.adaptive_max_pool(x, 2, return_indices="window", index_dtype="uint8")[1].tolist() == [1, 1]
    assert oriel.adaptive_min_pool(x, 2, return_indices="window", index_dtype="uint8")[1].tolist() == [0, 0]
    pool = oriel.Pool("max", 2)
    y, codes = pool.with_indices(x, space="window", index_dtype="uint8")
    assert codes.tolist() == [1, 1] and codes.dtype == np.uint8
    assert pool.backward(y, input_shape=x.shape, indices=codes, space="window").tolist() == [0, 5, 0, 4, 0]


def test_out_and_other_frameworks():
    pair = (np.empty((2, 3, 4, 4), np.float32), np.empty((2, 3, 4, 4), np.uint8))
    y, codes = oriel.max_pool(X, 2, return_indices="window", index_dtype="uint8", out=pair, axes=(2, 3))
    assert y is pair[0] and codes is pair[1]
    tensor = oriel.max_pool(torch.from_numpy(X), 2, return_indices="window", index_dtype="uint8", axes=(2, 3))[1]
    assert tensor.dtype == torch.uint8
    np.testing.assert_array_equal(tensor.numpy(), codes)
    array = oriel.max_pool(jnp.asarray(X), 2, return_indices="window", index_dtype="uint8", axes=(2, 3))[1]
    np.testing.assert_array_equal(np.asarray(array), codes)


@pytest.mark.parametrize("call, text", [
    (lambda: oriel.max_pool(X, 2, return_indices=True, index_dtype="uint8", axes=(2, 3)), "indices of dtype uint8.*space is plane"),
    (lambda: oriel.max_pool(X, 2, return_indices="tensor", index_dtype="int32", axes=(2, 3)), "indices of dtype int32.*space is tensor"),
    (lambda: oriel.max_pool(X, 2, return_indices="window", index_dtype="int8", axes=(2, 3)),
     "max_pool: index_dtype must be 'int64', 'int32' or 'uint8', but is 'int8'"),
    (lambda: oriel.max_pool(X, 2, return_indices="window", index_dtype=None, axes=(2, 3)), "index_dtype must be .* but is None"),
    (lambda: oriel.max_pool(np.zeros((16, 16)), 16, return_indices="window", index_dtype="uint8"),
     "at most 255 taps, but these have 256"),
    (lambda: oriel.max_pool_backward(np.zeros((2, 3, 4, 4), np.float32), X.shape, 2,
                                     indices=np.full((2, 3, 4, 4), 4, np.uint8), space="window", axes=(2, 3)),
     "indices must be of a tap of the output's window"),
])
def test_bad_input(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("op", ["max", "min", "avg", "sum", "lp"])
@pytest.mark.parametrize("kernel, stride, padding", [(2, 2, 0), (3, 2, 1), (3, 1, 1), (4, 4, 0)])
@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, jnp.asarray], ids=["numpy", "torch", "jax"])
def test_vjp_is_forward_and_backward(op, kernel, stride, padding, kind):
    for x in (X, np.random.default_rng(9).standard_normal((4, 8, 56, 56)).astype(np.float32)):
        pool = oriel.Pool(op, kernel, stride, padding, axes=(2, 3))
        y, gradient = pool.vjp(kind(x))
        assert isinstance(y, type(kind(x)))
        np.testing.assert_array_equal(np.asarray(y), pool(x))
        for seed in range(2):  # it may be called again
            dy = np.random.default_rng(seed).standard_normal(y.shape).astype(np.float32)
            dx = gradient(kind(dy))
            assert isinstance(dx, type(y))
            np.testing.assert_array_equal(np.asarray(dx), pool.backward(dy, x))


@pytest.mark.skipif(not oriel.active_target().startswith("AVX"), reason="codes pay with AVX2 and AVX-512 alone")
def test_vjp_keeps_codes_instead_of_the_input():
    x = np.random.default_rng(9).standard_normal((8, 64, 56, 56)).astype(np.float32)
    expected = oriel.max_pool_backward(np.ones((8, 64, 28, 28), np.float32), x, 3, 2, 1, axes=(2, 3))
    y, gradient = oriel.Pool("max", 3, 2, 1, axes=(2, 3)).vjp(x)
    x[:] = 0  # the gradient goes by what was kept
    np.testing.assert_array_equal(gradient(np.ones_like(y)), expected)


def test_vjp_of_lists_of_statistics_and_of_wrong_gradients():
    y, gradient = oriel.Pool("max", 2).vjp([1.0, 5.0, 2.0, 4.0])
    assert y.tolist() == [5, 4] and gradient([1.0, 10.0]).tolist() == [0, 1, 0, 10]
    y, gradient = oriel.Pool("var", 2).vjp([1.0, 5.0, 2.0, 4.0])
    assert gradient([1.0, 10.0]).tolist() == oriel.var_pool_backward([1.0, 10.0], [1.0, 5.0, 2.0, 4.0], 2).tolist()
    with pytest.raises(ValueError, match="dy must have shape"):
        gradient([1.0, 2.0, 3.0])
