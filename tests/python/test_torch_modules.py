"""The modules of oriel.torch beside those of torch.nn; replace_pooling; bad arguments; a missing or old PyTorch."""

import copy
import inspect
import io
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from torch import nn

import oriel
import oriel.torch as ot
from oriel.torch import modules

LAYERS = [
    ("MaxPool1d", (3, 2, 1), (2, 3, 9)),
    ("MaxPool2d", ((3, 2), 2, (1, 0), 1, False, True), (2, 3, 9, 8)),
    ("MaxPool3d", (2,), (2, 3, 5, 6, 4)),
    ("AvgPool1d", (3, 2, 1, True, False), (2, 3, 9)),
    ("AvgPool2d", (3, 2, 1, False, True, 4), (2, 3, 9, 8)),
    ("AvgPool3d", (2,), (2, 3, 5, 6, 4)),
    ("LPPool1d", (2, 3), (2, 3, 9)),
    ("LPPool2d", (2, 3, 1), (2, 3, 9, 8)),
    ("LPPool3d", (2, 2), (2, 3, 5, 6, 4)),
    ("AdaptiveMaxPool1d", (4,), (2, 3, 9)),
    ("AdaptiveMaxPool2d", ((None, 3),), (2, 3, 9, 8)),
    ("AdaptiveMaxPool3d", (3,), (2, 3, 5, 6, 4)),
    ("AdaptiveAvgPool1d", (4,), (2, 3, 9)),
    ("AdaptiveAvgPool2d", ((None, 3),), (2, 3, 9, 8)),
    ("AdaptiveAvgPool3d", (3,), (2, 3, 5, 6, 4)),
]
BEYOND_TORCH = [("MinPool1d", (3, 2)), ("MinPool2d", (3, 2)), ("MinPool3d", (2,)), ("SumPool1d", (3, 2)),
                ("SumPool2d", (3, 2)), ("SumPool3d", (2,))]


def rand(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name, arguments, shape", LAYERS)
def test_layers_are_torchs(name, arguments, shape):
    ours, theirs = getattr(ot, name)(*arguments), getattr(nn, name)(*arguments)
    x = rand(*shape)
    torch.testing.assert_close(ours(x), theirs(x), rtol=2e-7, atol=2e-7)
    for attribute in vars(theirs):
        if not attribute.startswith("_"):
            value = getattr(theirs, attribute)
            value = value[0] if isinstance(
                value, tuple) and len(value) == 1 else value  # torch's AvgPool1d makes tuples of ints
            assert getattr(ours, attribute) == value, attribute
    assert list(ours.state_dict()) == [] and list(ours.parameters()) == []


@pytest.mark.parametrize("name", [name for name in modules.__all__ if hasattr(nn, name)])
def test_constructors_are_torchs(name):
    """The same parameters in the same order with the same defaults; those beyond come after them and are keywords."""
    ours = list(inspect.signature(getattr(ot, name)).parameters.values())
    theirs = list(inspect.signature(getattr(nn, name)).parameters.values())
    assert [(p.name, p.default) for p in ours[:len(theirs)]] == [(p.name, p.default) for p in theirs]
    assert all(p.kind is p.KEYWORD_ONLY for p in ours[len(theirs):])


@pytest.mark.parametrize("name, arguments",
                         [(name, arguments) for name, arguments, _ in LAYERS] + BEYOND_TORCH + [("MaxUnpool2d",
                                                                                                 (2, 2, 0))])
def test_layers_print_copy_and_pickle(name, arguments):
    layer = getattr(ot, name)(*arguments)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), eval(repr(layer), {"oriel": oriel})):
        assert type(other) is type(layer) and repr(other) == repr(layer)
    buffer = io.BytesIO()
    torch.save(nn.Sequential(layer), buffer)
    buffer.seek(0)
    assert repr(torch.load(buffer, weights_only=False)[0]) == repr(layer)


def test_keywords_beyond_torch_print_where_given():
    layer = ot.AvgPool2d(3, dilation=2, nan_policy="omit", count_include_pad=False)
    assert repr(
        layer
    ) == ("oriel.torch.AvgPool2d(kernel_size=3, stride=3, padding=0, dilation=2, count_include_pad=False, "
          "nan_policy='omit')")
    assert repr(pickle.loads(pickle.dumps(layer))) == repr(layer)
    x = rand(1, 1, 7, 7)
    x[0, 0, 0, 0] = torch.nan
    assert torch.equal(layer(x), ot.avg_pool2d(x, 3, dilation=2, nan_policy="omit", count_include_pad=False))


def test_attributes_may_be_changed():
    layer, x = ot.MaxPool2d(2), rand(1, 1, 6, 6)
    assert layer(x).shape == (1, 1, 3, 3)
    layer.stride = 1
    assert layer(x).shape == (1, 1, 5, 5)


def test_unpool_modules_undo_pools():
    for ndim in (1, 2, 3):
        x = rand(2, 3, *[6] * ndim)
        y, indices = getattr(ot, f"MaxPool{ndim}d")(2, return_indices=True)(x)
        ours, theirs = getattr(ot, f"MaxUnpool{ndim}d")(2)(y, indices), getattr(nn, f"MaxUnpool{ndim}d")(2)(y, indices)
        assert torch.equal(ours, theirs)
        assert getattr(ot, f"MaxUnpool{ndim}d")(2)(y, indices, output_size=[7] * ndim).shape == (2, 3, *[7] * ndim)


# -- replace_pooling


class Odd(nn.MaxPool2d):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.MaxPool2d(2)
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), self.shared),
            nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), self.shared)
        ])
        self.table = nn.ModuleDict({"avg": nn.AvgPool2d(2, 1), "odd": Odd(2, 1)})
        self.random = nn.FractionalMaxPool2d(2, output_ratio=0.5)
        self.norms = nn.ModuleList([nn.LPPool2d(2, 2), nn.LPPool2d(2, 2, ceil_mode=True), nn.LPPool2d(3, 2)])
        self.nothing = None
        self.last = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.last(self.norms[0](self.table["odd"](self.table["avg"](x))))


def test_replace_pooling_reports_what_it_did():
    model = Net()
    report = ot.replace_pooling(model)
    assert report.model is model
    assert [(path, new) for path, _, new in report.swapped] == [("shared", "oriel.torch.MaxPool2d"),
                                                                ("random", "oriel.torch.FractionalMaxPool2d"),
                                                                ("last", "oriel.torch.AdaptiveAvgPool2d"),
                                                                ("blocks.0.1", "oriel.torch.MaxPool2d"),
                                                                ("blocks.1.1", "oriel.torch.MaxPool2d"),
                                                                ("table.avg", "oriel.torch.AvgPool2d"),
                                                                ("norms.0", "oriel.torch.LPPool2d")]
    assert {path: why for path, _, why in report.left} == {
        "table.odd": "a subclass of torch.nn.MaxPool2d, which may compute something else",
        "norms.1": "in ceil mode torch scales partial windows up, Oriel does not",
        "norms.2": "for this norm_type torch sums x^p, Oriel |x|^p"
    }
    text = str(report)
    assert "7 pooling layers swapped, 3 left" in text and report.functions == report.untraced == []
    assert "  blocks.0.1: torch.nn.MaxPool2d -> oriel.torch.MaxPool2d" in text
    again = ot.replace_pooling(model)
    assert again.swapped == [] and len(again.left) == 3


def test_replace_pooling_keeps_what_the_model_has():
    torch.manual_seed(0)
    model = Net().eval()
    x, calls = rand(2, 1, 24, 24), []
    handle = model.shared.register_forward_hook(lambda *_: calls.append("hook"))
    expected = model(x)
    calls.clear()
    keys = list(model.state_dict())
    ot.replace_pooling(model)
    assert type(model.shared) is ot.MaxPool2d and model.blocks[0][1] is model.shared is model.blocks[1][1]
    assert not model.shared.training and list(model.state_dict()) == keys and list(dict(
        model.named_children())) == list(dict(Net().named_children()))
    torch.testing.assert_close(model(x), expected)
    assert calls == ["hook", "hook"]
    handle.remove()
    model(x)
    assert calls == ["hook", "hook"]
    model.train()
    assert model.shared.training


def test_replace_pooling_in_a_copy_and_of_a_layer_itself():
    model = Net()
    report = ot.replace_pooling(model, inplace=False)
    assert type(model.shared) is nn.MaxPool2d and type(
        report.model.shared) is ot.MaxPool2d and report.model is not model
    alone = ot.replace_pooling(nn.MaxPool3d(2, return_indices=True))
    assert repr(alone.model) == repr(ot.MaxPool3d(2)) and alone.model.return_indices
    with pytest.raises(TypeError, match="replace_pooling: model must be a torch.nn.Module, but is int"):
        ot.replace_pooling(3)


class UNet3d(nn.Module):
    """Two levels; goes down by maxima and averages, up by unpooling the indices of the way down."""
    def __init__(self):
        super().__init__()
        self.enter, self.middle, self.leave = nn.Conv3d(1, 4, 3,
                                                        padding=1), nn.Conv3d(4, 4, 3,
                                                                              padding=1), nn.Conv3d(8, 1, 3, padding=1)
        self.down, self.up, self.smooth = nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2), nn.AvgPool3d(3, 1, 1)

    def forward(self, x):
        x = self.enter(x).relu()
        y, indices = self.down(x)
        y = self.up(self.middle(y).relu(), indices)
        return self.leave(torch.cat([self.smooth(x), y], 1))


def small_cnn():
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(6, 8, 3), nn.ReLU(),
                         nn.AvgPool2d(2, ceil_mode=True), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(32, 4))


def losses(make, shape, target, replace, steps=12):
    torch.manual_seed(0)
    model = make()
    if replace:
        assert ot.replace_pooling(model).left == []
    x, t = rand(*shape), target
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    values = []
    for _ in range(steps):
        optimizer.zero_grad()
        y = model(x)
        loss = nn.functional.cross_entropy(y, t) if t.dtype == torch.int64 else nn.functional.mse_loss(y, t)
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values


@pytest.mark.parametrize("make, shape, target", [
    (small_cnn, (8, 1, 20, 20), torch.arange(8) % 4),
    (UNet3d, (2, 1, 8, 8, 8), rand(2, 1, 8, 8, 8)**2),
], ids=["cnn", "unet3d"])
def test_training_goes_the_same_way(make, shape, target):
    """Averages are added in another order there: losses agree to rounding, which training then carries on."""
    before, after = losses(make, shape, target, False), losses(make, shape, target, True)
    assert before[-1] < 0.9 * before[0]
    np.testing.assert_allclose(after, before, rtol=1e-4)
    assert abs(after[0] - before[0]) <= 2e-6 * before[0]


# -- Bad arguments

X = torch.zeros(1, 1, 4, 6)
CASES = [
    (lambda: ot.max_pool2d(X, 0), ValueError, "max_pool: kernel_size must be >= 1, but axis 2 has 0"),
    (lambda: ot.max_pool2d(X, 2, 0), ValueError, "max_pool: stride must be >= 1, but axis 2 has 0"),
    (lambda: ot.avg_pool2d(X, 2, padding=-1), ValueError, "avg_pool: padding must be >= 0, but axis 2 has -1"),
    (lambda: ot.avg_pool2d(X, 2, divisor_override=0), ValueError,
     "avg_pool2d: divisor_override must be >= 1 or None, but is 0"),
    (lambda: ot.max_pool2d(X, 7), ValueError, "max_pool: the window must fit in the padded input"),
    (lambda: ot.max_pool2d(X, (2, 2, 2)), ValueError, "max_pool: kernel_size must have 1 value or one per pooled axis"),
    (lambda: ot.max_pool2d(X, 2.0), TypeError,
     "max_pool2d: kernel_size must be an int or a sequence of ints, but is 2.0"),
    (lambda: ot.max_pool2d(X, 2, padding="some"), ValueError,
     "max_pool2d: padding must be 'valid', 'same' or 'same_lower'"),
    (lambda: ot.max_pool2d(X, 2, ceil_mode="yes"), TypeError,
     "max_pool2d: ceil_mode must be True or False, but is 'yes'"),
    (lambda: ot.max_pool2d(X, 2, nan_policy="raise"), ValueError,
     "nan_policy must be 'propagate' or 'omit', but is 'raise'"),
    (lambda: ot.max_pool1d(X, 2), ValueError,
     "max_pool1d: the input must have 2 axes .* or 3 .*, but has shape 1x1x4x6"),
    (lambda: ot.lp_pool2d(X, 0.5, 2), ValueError, "lp_pool: norm.* must be >= 1, but is 0.5"),
    (lambda: ot.lp_pool2d(X, "2", 2), TypeError, "lp_pool2d: norm_type must be a number, but is '2'"),
    (lambda: ot.adaptive_max_pool2d(X, 0), ValueError, "output_size must be >= 1, but axis 2 has 0"),
    (lambda: ot.adaptive_avg_pool2d(X, None), TypeError,
     "adaptive_avg_pool2d: output_size must be an int or a sequence of ints, but is None"),
    (lambda: ot.max_pool(X, 2, axes=4), ValueError, "axes must be in -4 to 3, but one is 4"),
    (lambda: ot.max_pool2d(np.zeros(
        (1, 4, 4)), 2), TypeError, "max_pool2d: input must be a torch.Tensor, but is ndarray"),
    (lambda: ot.max_pool2d(X.to(torch.complex64), 2), TypeError,
     "max_pool2d: x must have dtype float64, .*, but has torch.complex64"),
    (lambda: ot.max_unpool2d(X, X, 2), (TypeError, ValueError), "max_unpool: indices must have dtype int64, but has float32"),
    (lambda: ot.max_unpool2d(X,
                             X.long() + 500, 2), ValueError, "indices must be -1 or an index into the output's own plane"),
    (lambda: ot.max_unpool2d(X, X.long(), 2, output_size=(99, 9)), ValueError,
     r"max_unpool2d: output_size must be in \[7, 9\] on axis -2, but is 99"),
    (lambda: ot.max_unpool2d(X, X.long(), 2, output_size=(1, 2, 3)), ValueError,
     "max_unpool2d: output_size must have 2 or 4 values"),
    (lambda: ot.max_unpool2d(X, [[0]], 2), TypeError, "max_unpool: indices must be a torch.Tensor, but is list"),
    (lambda: ot.max_unpool1d(X, X.long(), 2), ValueError, "max_unpool1d: the input must have 2 axes"),
]


@pytest.mark.parametrize("call, error, text", CASES, ids=[case[2][:50] for case in CASES])
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("call, error, text", [
    (lambda x: ot.max_pool2d(x, (2, 2, 2)), ValueError, "max_pool2d: kernel_size must have 1 or 2 values, but has 3"),
    (lambda x: ot.max_pool2d(x, 2.5), TypeError,
     "max_pool2d: kernel_size must be an int or a sequence of ints, but is 2.5"),
    (lambda x: ot.max_pool2d(x, 2, padding="some"), ValueError,
     "max_pool2d: padding must be 'valid', 'same' or 'same_lower'"),
    (lambda x: ot.max_pool2d(x, 2, padding=((1, 2), 3)), TypeError, "max_pool2d: padding must be"),
    (lambda x: ot.max_pool2d(x, 9), ValueError, "max_pool: the window must fit"),
    (lambda x: ot.max_pool(x, 2, axes=4), ValueError, "axes must be in"),
    (lambda x: ot.max_pool1d(x, 2), ValueError, "max_pool1d: the input must have 2 axes"),
    (lambda x: ot.max_pool2d(x, 2, ceil_mode="yes"), TypeError, "max_pool2d: ceil_mode must be True or False"),
    (lambda x: ot.max_pool2d(x, ()), ValueError, "max_pool2d: kernel_size must have at least one value, but is empty"),
    (lambda x: ot.adaptive_max_pool2d(x, (1, 2, 3)), ValueError, "output_size must have 1 or 2 values, but has 3"),
    (lambda x: ot.max_pool(x,
                           (1, 1, 1, 1, 1)), ValueError, "an axis for each of the 5 values, but the input has rank 4"),
])
def test_bad_arguments_without_the_engine(call, error, text):
    """On tensors without data the same is refused, by other code."""
    with pytest.raises(error, match=text):
        call(X.to("meta"))


# -- What differs, as docs/semantics.md says


def test_differs_index_of_no_element():
    y, indices = torch.tensor([[[5.0, 7.0]]]), torch.tensor([[[-1, 2]]])
    with pytest.raises(RuntimeError, match="invalid max index: -1"):
        nn.functional.max_unpool1d(y, indices, 2)
    assert ot.max_unpool1d(y, indices, 2).tolist() == [[[0, 0, 7, 0]]]


@pytest.mark.parametrize("name", ["adaptive_max_pool2d", "adaptive_avg_pool2d"])
def test_differs_no_output(name):
    x = torch.ones(1, 2, 4, 4, requires_grad=True)
    empty = getattr(nn.functional, name)(x, (0, 2))
    assert empty.shape == (1, 2, 0, 2)
    with pytest.raises(RuntimeError, match="non-zero size"):
        empty.sum().backward()
    with pytest.raises(ValueError, match="output_size must be >= 1, but axis 2 has 0"):
        getattr(ot, name)(x, (0, 2))


def test_differs_channels_last_without_a_batch():
    image = rand(2, 4, 6, 6).contiguous(memory_format=torch.channels_last)[0]
    volume = rand(2, 4, 6, 6, 6).contiguous(memory_format=torch.channels_last_3d)[0]
    F = nn.functional
    kept = [pool(x).is_contiguous() for pool, x in [
        (lambda x: F.max_pool2d(x, 2), image), (lambda x: F.avg_pool2d(x, 2), image),
        (lambda x: F.avg_pool3d(x, 2), volume), (lambda x: F.max_pool3d(x, 2), volume)]]
    assert kept == [True, True, True, False]
    assert ot.max_pool2d(image, 2).is_contiguous() and ot.max_pool3d(volume, 2).is_contiguous()
    assert ot.max_pool2d(image.requires_grad_(), 2).is_contiguous()


def test_default_axes_are_named():
    """What a function of any axes pools is said by oriel.torch alone: the engine is told each axis."""
    seen = []
    real = ot.run._eager
    ot.run._eager = lambda x, *pool: seen.append(pool[6]) or real(x, *pool)
    try:
        for shape in [(8,), (8, 8), (2, 8, 8), (2, 3, 8, 8), (2, 2, 2, 8, 8), (2, 2, 2, 2, 8, 8)]:
            x = rand(*shape)
            assert torch.equal(ot.max_pool(x, 2), ot.max_pool(x, 2, axes=seen[-1]))
            ot.global_avg_pool(x)
            assert seen[-1] == seen[-2]
            if len(shape) > 1:
                ot.min_pool(x, (1, 2))
                assert seen[-1] == (-2, -1)
    finally:
        ot.run._eager = real
    assert seen[0] == (-1,) and (-6, -5, -4, -3, -2, -1) in seen and (-3, -2, -1) in seen


# -- Import


@pytest.mark.parametrize("setup, text", [
    ("sys.modules['torch'] = None",
     "oriel.torch needs PyTorch 2.10 or newer, which is not installed: pip install torch"),
    ("import types; fake = types.ModuleType('torch'); fake.Tensor = type('Tensor', (), {}); "
     "fake.__version__ = '2.4.1'; sys.modules['torch'] = fake",
     "oriel.torch needs PyTorch 2.10 or newer, but 2.4.1 is installed: pip install --upgrade torch"),
])
def test_a_missing_or_old_torch_is_one_sentence(setup, text):
    program = textwrap.dedent(f"""
        import sys
        {setup}
        try:
            import oriel.torch
        except ImportError as error:
            print(error)
    """)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == text, result.stderr


def test_the_package_itself_does_not_import_torch():
    result = subprocess.run([sys.executable, "-c", "import oriel, sys; print('torch' in sys.modules)"],
                            capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "False", result.stderr
