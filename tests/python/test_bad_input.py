"""Bad arguments: the exception's type, and a text that names the function, the argument, its value and what is allowed."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import oriel

X = np.zeros((1, 1, 4, 6), np.float32)
Y = (1, 1, 2, 3)

CASES = [
    # windows
    (lambda: oriel.max_pool(X, 0), ValueError, "max_pool: kernel_size must be >= 1, but axis 2 has 0"),
    (lambda: oriel.max_pool(X, -3), ValueError, "kernel_size must be >= 1, but axis 2 has -3"),
    (lambda: oriel.max_pool(X, 2, 0), ValueError, "max_pool: stride must be >= 1, but axis 2 has 0"),
    (lambda: oriel.min_pool(X, 2, (1, -1)), ValueError, "min_pool: stride must be >= 1, but axis 3 has -1"),
    (lambda: oriel.avg_pool(X, 2, padding=-1), ValueError, "avg_pool: padding must be >= 0, but axis 2 has -1"),
    (lambda: oriel.sum_pool(X, 2, dilation=0), ValueError, "sum_pool: dilation must be >= 1, but axis 2 has 0"),
    (lambda: oriel.max_pool(X, 7), ValueError, "the window must fit in the padded input, but on axis 2 it spans 7 and the padded input is 4"),
    (lambda: oriel.max_pool(X, (2, 2, 2, 2, 2)), ValueError, "an axis for each of the 5 values, but the input has rank 4"),
    (lambda: oriel.max_pool(X, (2, 2), (1, 1, 1)), ValueError, r"kernel_size must have 1 value or one per pooled axis \(3\), but has 2"),
    (lambda: oriel.max_pool(X, ()), ValueError, "kernel_size must have at least one value, but is empty"),
    (lambda: oriel.max_pool(X, 2**70), ValueError, "kernel_size must fit 64 bits, but is 1180591620717411303424"),
    (lambda: oriel.max_pool(X, 2**62, dilation=2**62), ValueError, "max_pool: "),
    (lambda: oriel.max_pool(X, 2, padding=2**63 - 1), ValueError, "max_pool: "),
    (lambda: oriel.max_pool(X, 2.0), TypeError, "max_pool: kernel_size must be an int or a sequence of ints, but is 2.0"),
    (lambda: oriel.max_pool(X, "2"), TypeError, "kernel_size must be an int or a sequence of ints, but is '2'"),
    (lambda: oriel.max_pool(X, True), TypeError, "kernel_size must be an int or a sequence of ints, but is True"),
    (lambda: oriel.max_pool(X, (2, None)), TypeError, r"kernel_size must be an int or a sequence of ints, but is \(2, None\)"),
    (lambda: oriel.max_pool(X, 2, padding="some"), ValueError, "padding must be 'valid', 'same' or 'same_lower' where it is a word, but is 'some'"),
    (lambda: oriel.max_pool(X, 2, padding=((1, 2), 3)), TypeError, r"\(before, after\) pairs.*but is \(\(1, 2\), 3\)"),
    (lambda: oriel.max_pool(X, 2, padding=1.5), TypeError, "padding must be an int.*but is 1.5"),
    (lambda: oriel.max_pool(X, 2, axes=4), ValueError, "axes must be in -4 to 3, but one is 4"),
    (lambda: oriel.max_pool(X, 2, axes=(2, -2)), ValueError, "axes must each be named once, but 2 is named twice"),
    (lambda: oriel.max_pool(X, 2, ceil_mode="yes"), TypeError, "max_pool: ceil_mode must be True or False, but is 'yes'"),
    (lambda: oriel.max_pool(X, 2, nan_policy="raise"), ValueError, "nan_policy must be 'propagate' or 'omit', but is 'raise'"),
    (lambda: oriel.max_pool(X, 2, return_indices="place"), ValueError, "'plane', the 'tensor' or the 'window'.*'place'"),
    (lambda: oriel.avg_pool(X, 2, divisor_override=0), ValueError, "avg_pool: divisor_override must be >= 1 or None, but is 0"),
    (lambda: oriel.lp_pool(X, 0.5, 2), ValueError, "norm.*0.5"),
    (lambda: oriel.lp_pool(X, "two", 2), TypeError, "lp_pool: norm_type must be a number, but is 'two'"),
    (lambda: oriel.adaptive_max_pool(X, 0), ValueError, "adaptive.*0|output_size must be >= 1"),
    (lambda: oriel.adaptive_avg_pool(X, None), TypeError, "output_size must be an int or a sequence of ints, but is None"),
    (lambda: oriel.adaptive_max_pool1d(X[0], None), TypeError, "output_size must be an int or a sequence of ints, but is None"),
    (lambda: oriel.max_pool2d(X[0, 0], 2), ValueError, "max_pool2d: the input must have 3 axes .* or 4 .*, but has shape 4x6"),
    (lambda: oriel.avg_pool1d(X, 2), ValueError, "avg_pool1d: the input must have 2 axes .* or 3 .*, but has shape 1x1x4x6"),
    (lambda: oriel.max_pool(np.zeros((1, 1, 0, 4)), 2), ValueError, "pooled axes must have extent >= 1, but axis 2 has 0"),
    (lambda: oriel.max_pool(np.zeros((1,) * 17), 2), ValueError, "at most 16 axes"),
    (lambda: oriel.max_pool(np.float32(3), 2), ValueError, "max_pool: "),
    # arrays
    (lambda: oriel.max_pool(None, 2), TypeError, "max_pool: x must have dtype float64.*, but has object"),
    (lambda: oriel.max_pool("image", 2), TypeError, "x must have dtype .* but has <U5"),
    (lambda: oriel.max_pool(X.astype(complex), 2), TypeError, "x must have dtype .* but has complex128"),
    (lambda: oriel.max_pool(X.astype(np.longdouble), 2), TypeError, "x must have dtype .* but has float128"),
    (lambda: oriel.max_pool(X.astype(object), 2), TypeError, "x must have dtype .* but has object"),
    (lambda: oriel.max_pool(np.zeros(4, [("a", "f4")]), 2), TypeError, "x must have dtype .* but has"),
    (lambda: oriel.max_pool(np.zeros(4, "M8[s]"), 2), TypeError, "x must have dtype .* but has datetime64"),
    (lambda: oriel.max_pool(X.astype(">f4"), 2), TypeError, "x must be in the machine's byte order, but its dtype is >f4"),
    (lambda: oriel.max_pool(np.ma.masked_array(X, X > 0), 2), TypeError, "x must be an array without a mask, but is MaskedArray"),
    (lambda: oriel.max_pool([[1, 2], [3]], 2), TypeError, "x must be an array, but is list"),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4, dtype=torch.complex64), 2), TypeError, "x must have dtype .* but has torch.complex64"),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4, device="meta"), 2), ValueError, "x cannot be read: .*meta"),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4).to_sparse(), 2), ValueError, "x cannot be read: "),
    (lambda: oriel.max_pool(torch.zeros(1, 1, 4, 4, requires_grad=True), 2), ValueError, "x must not require grad here; oriel.torch"),
    (lambda: oriel.max_pool(jnp.zeros((1, 1, 4, 4), jnp.complex64), 2), TypeError, "x must have dtype .* but has complex64"),
    # out
    (lambda: oriel.max_pool(X, 2, out=np.zeros(Y)), TypeError, "max_pool: out must have dtype f32, but has f64"),
    (lambda: oriel.max_pool(X, 2, out=np.zeros((1, 1, 2, 2), np.float32)), ValueError, "out must have shape 1x1x2x3, but has 1x1x2x2"),
    (lambda: oriel.max_pool(X, 2, out=[0] * 6), TypeError, "out must be a writable array, but is list"),
    (lambda: oriel.max_pool(X, 2, out=torch.zeros(Y)), TypeError, "x and out must be arrays of one kind, but are ndarray and Tensor"),
    (lambda: oriel.max_pool(torch.from_numpy(X), 2, out=np.zeros(Y, np.float32)), TypeError, "are Tensor and ndarray"),
    (lambda: oriel.max_pool(torch.from_numpy(X), 2, out=torch.zeros(Y, requires_grad=True)), ValueError, "out must not require grad"),
    (lambda: oriel.max_pool(X, 2, out=np.broadcast_to(np.zeros(1, np.float32), Y)), ValueError, "out must be writable, but is read-only"),
    (lambda: oriel.max_pool(jnp.asarray(X), 2, out=jnp.zeros(Y)), TypeError, "out must be a writable array"),
    (lambda: oriel.max_pool(X, 1, out=X), ValueError, "out must not share memory with the input"),
    (lambda: oriel.max_pool(X, 2, return_indices=True, out=np.zeros(Y, np.float32)), TypeError, "out must be a tuple of two arrays"),
    (lambda: oriel.max_pool(X, 2, return_indices=True, out=(np.zeros(Y, np.float32), np.zeros(Y, np.int32))), TypeError,
     r"out\[1\] must have dtype i64, but has i32"),
    (lambda: oriel.global_max_pool(X, keepdims=False, out=np.zeros((1, 1), np.float32)), ValueError, "out must"),
    # gradients
    (lambda: oriel.max_pool_backward(np.zeros(Y, np.float64), X, 2), ValueError, "dy must have dtype f32, but has f64"),
    (lambda: oriel.max_pool_backward(np.zeros((1, 1, 2, 2), np.float32), X, 2), ValueError, "dy must have shape 1x1x2x3, but has 1x1x2x2"),
    (lambda: oriel.avg_pool_backward(np.zeros(Y, np.float32), (1, 1, 4, -6), 2), ValueError, r"input_shape must have extents >= 0, but is \(1, 1, 4, -6\)"),
    (lambda: oriel.avg_pool_backward(np.zeros(Y, np.int32), X.shape, 2), ValueError, "a gradient of avg needs dtype"),
    (lambda: oriel.avg_pool_backward(np.zeros(Y, np.float32), X.shape, 2, nan_policy="omit"), ValueError, "needs x as well"),
    (lambda: oriel.max_pool_backward(torch.zeros(Y), X, 2), TypeError, "x and dy must be arrays of one kind"),
    (lambda: oriel.max_pool_backward(np.zeros(Y, np.float32), X, 2, indices=np.full(Y, 99)), ValueError, "99"),
    (lambda: oriel.Pool("max", 2).backward(np.zeros(Y, np.float32)), ValueError, "x or input_shape must be given"),
    (lambda: oriel.Pool("sum", 2).with_indices(X), ValueError, "indices exist for max and min only"),
    (lambda: oriel.Pool("median", 2), ValueError, "median"),
    (lambda: oriel.Pool(3, 2), TypeError, "op must be a str, but is 3"),
    # unpooling
    (lambda: oriel.max_unpool(np.zeros(Y), np.full(Y, 24), 2), ValueError, "unpool: .*24"),
    (lambda: oriel.max_unpool(np.zeros(Y), np.zeros(Y, np.int32), 2), ValueError, "indices must have dtype i64, but has i32"),
    (lambda: oriel.max_unpool(np.zeros(Y), np.zeros((1, 1, 2, 2), np.int64), 2), ValueError, "indices must have shape 1x1x2x3, but has 1x1x2x2"),
    (lambda: oriel.max_unpool2d(np.zeros(Y), np.zeros(Y, np.int64), 2, output_size=(1, 2, 3)), ValueError, r"max_unpool2d: output_size must have 2 or 4 values"),
    (lambda: oriel.set_threads(-1), ValueError, "n must be >= 0"),
]


@pytest.mark.parametrize(("call", "kind", "text"), CASES, ids=[f"{i}-{text[:40]}" for i, (_, _, text) in enumerate(CASES)])
def test_bad_input_is_named(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


def test_nothing_is_written_when_arguments_are_bad():
    out = np.full(Y, 7, np.float32)
    with pytest.raises(ValueError):
        oriel.max_pool(X, 9, out=out)
    assert (out == 7).all()
