"""replace_pooling: back to torch.nn, models with tensors of other forms, functions in a forward; how layers print."""

import copy
import inspect

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import oriel.torch as ot
from oriel.torch import modules


def rand(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


# -- Back

EXPRESSED = [
    ot.MaxPool1d(3, 2, 1),
    ot.MaxPool2d((3, 2), 2, (1, 0), 1, True, True),
    ot.MaxPool2d(3, 2, ((1, 1), (0, 0)), dilation=(2, 1)),
    ot.MaxPool2d(2, padding="valid"),
    ot.MaxPool2d((3, 5), 1, "same"),
    ot.MaxPool3d(2),
    ot.AvgPool1d(3, 2, 1, True, False),
    ot.AvgPool2d(3, 2, 1, divisor_override=4),
    ot.AvgPool2d((3, 5), 1, "same", count_include_pad=False),
    ot.AvgPool3d(2),
    ot.LPPool1d(2, 3),
    ot.LPPool2d(4, 2, 1),
    ot.AdaptiveMaxPool2d((None, 3), True),
    ot.AdaptiveAvgPool3d(2),
    ot.AdaptiveAvgPool1d(4),
    ot.FractionalMaxPool2d((2, 3), (4, 5), None, True, torch.full((2, 3, 2), 0.7)),
    ot.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=torch.full((2, 3, 3), 0.2)),
]


@pytest.mark.parametrize("layer", EXPRESSED, ids=repr)
def test_back_to_torch(layer):
    model = nn.Sequential(nn.Identity(), copy.deepcopy(layer)).eval()
    name = type(layer).__name__
    report = ot.replace_pooling(model, back=True)
    assert report.swapped == [("1", f"oriel.torch.{name}", f"torch.nn.{name}")] and report.left == []
    plain = model[1]
    assert type(plain) is getattr(nn, name) and not plain.training and repr(plain).startswith(f"{name}(")
    least = [2] * (2 if name.startswith("Fractional") else len(required(getattr(nn, name))))
    assert vars(plain).keys() <= vars(getattr(nn, name)(*least)).keys()
    x = rand(2, 3, *[9, 10, 8][:layer._ndim])
    for got, expected in zip(plain(x), layer(x), strict=True):
        torch.testing.assert_close(got, expected)


def required(layer):
    return [p for p in inspect.signature(layer).parameters.values() if p.default is p.empty]


@pytest.mark.parametrize("layer, why", [
    (ot.MinPool2d(2), "torch.nn has no MinPool2d"),
    (ot.SumPool1d(2), "torch.nn has no SumPool1d"),
    (ot.MedianPool2d(2), "torch.nn has no MedianPool2d"),
    (ot.QuantilePool1d([0.1, 0.9], 2), "torch.nn has no QuantilePool1d"),
    (ot.MaxPool2d(2, nan_policy="omit"), "torch.nn has no nan_policy='omit'"),
    (ot.MaxPool2d(2, padding="same"), "torch.nn has no padding='same', which depends on the size of the input"),
    (ot.MaxPool2d(3, 2, "same_lower"), "torch.nn has no padding='same_lower', which depends on the size of the input"),
    (ot.MaxPool2d(3, 1, "same", 2), "torch.nn pads by half a window at most, but padding is 'same'"),
    (ot.MaxPool2d(3, padding=((1, 0), (1, 1))), "torch.nn pads both sides alike, but padding is ((1, 0), (1, 1))"),
    (ot.MaxPool2d(3, padding=2), "torch.nn pads by half a window at most, but padding is 2"),
    (ot.AvgPool2d(3, dilation=2), "torch.nn.AvgPool2d has no dilation, but it is 2"),
    (ot.AvgPool1d(3, divisor_override=2), "torch.nn.AvgPool1d has no divisor_override, but it is 2"),
    (ot.LPPool2d(2, 2, padding=1), "torch.nn.LPPool2d has no padding, but it is 1"),
    (ot.LPPool2d(3, 2), "for this norm_type torch sums x^p, Oriel |x|^p"),
    (ot.LPPool2d(torch.inf, 2), "for this norm_type torch sums x^p, Oriel |x|^p"),
    (ot.LPPool2d(2, 2, ceil_mode=True), "in ceil mode torch scales partial windows up, Oriel does not"),
], ids=repr)
def test_what_stays_on_the_way_back(layer, why):
    report = ot.replace_pooling(nn.ModuleList([layer]), back=True)
    assert report.left == [("0", type(layer).__name__, why)] and report.swapped == [] and report.model[0] is layer


def test_there_and_back():
    """The same model: attributes, hooks, the places of a layer that is used twice."""
    shared = nn.MaxPool2d(2)
    model = nn.Sequential(shared, nn.Sequential(shared, nn.AvgPool1d(2)), nn.MaxUnpool2d(2)).eval()
    before, calls = copy.deepcopy(model), []
    handle = shared.register_forward_hook(lambda *_: calls.append("hook"))
    ot.replace_pooling(model)
    torch.jit.script(model[1][1])  # leaves a note on the layers, which goes, too
    report = ot.replace_pooling(model, back=True)
    assert len(report.swapped) == 4 and report.left == []
    assert repr(model) == repr(before) and model[0] is model[1][0] and not model[0].training
    after = {name: value for name, value in vars(model[1][1]).items() if name != "__overloads__"}  # of torch.jit itself
    assert after == vars(before[1][1])
    model[0](rand(1, 4, 4))
    handle.remove()
    model[0](rand(1, 4, 4))
    assert calls == ["hook"]


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("size", [{"output_size": 4}, {"output_ratio": 0.6}], ids=str)
def test_fractional_layers_there_and_back(ndim, size):
    kind = f"FractionalMaxPool{ndim}d"
    x, samples = rand(2, 3, *[9, 10, 8][:ndim]), torch.rand(2, 3, ndim, generator=torch.Generator().manual_seed(1))
    model = nn.Sequential(getattr(nn, kind)(2, **size, return_indices=True, _random_samples=samples))
    before, expected = repr(model), model(x)
    assert ot.replace_pooling(model).swapped == [("0", f"torch.nn.{kind}", f"oriel.torch.{kind}")]
    assert type(model[0]) is getattr(ot, kind) and list(model.state_dict()) == ["0._random_samples"]
    assert all(torch.equal(a, b) for a, b in zip(model(x), expected, strict=True))
    scripted = torch.jit.script(model)
    assert all(torch.equal(a, b) for a, b in zip(scripted(x), expected, strict=True))
    ot.replace_pooling(model, back=True)
    assert type(model[0]) is getattr(nn, kind) and repr(model) == before
    assert all(torch.equal(a, b) for a, b in zip(model(x), expected, strict=True))


def test_subclasses_of_ours_stay():
    class Odd(ot.MaxPool2d):
        pass

    report = ot.replace_pooling(nn.Sequential(Odd(2)), back=True)
    assert report.left == [("0", "Odd", "a subclass of oriel.torch.MaxPool2d, which may compute something else")]
    assert repr(Odd(2)).startswith("Odd(kernel_size=2")


# -- Tensors of other forms


def test_models_with_quantized_layers_are_left_alone():
    q = torch.ao.nn.quantized
    model = nn.Sequential(q.Quantize(0.1, 0, torch.quint8), nn.MaxPool2d(2), q.ReLU6(), q.DeQuantize(),
                          nn.AvgPool2d(2))
    report = ot.replace_pooling(model)
    why = "the model has quantized layers (0), whose tensors Oriel does not take"
    assert report.swapped == [] and report.left == [("1", "MaxPool2d", why), ("4", "AvgPool2d", why)]
    assert model(rand(1, 2, 8, 8)).shape == (1, 2, 2, 2)


def test_layers_with_quantized_weights_alone_are_no_hindrance():
    model = nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), torch.ao.nn.quantized.dynamic.Linear(32, 3))
    report = ot.replace_pooling(model)
    assert len(report.swapped) == 1 and report.left == []
    assert model(rand(1, 2, 8, 8)).shape == (1, 3)


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this PyTorch has no mkldnn")
@pytest.mark.filterwarnings("ignore")
def test_models_with_mkldnn_layers_are_left_alone():
    from torch.utils import mkldnn

    model = mkldnn.to_mkldnn(nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2)).eval())
    x = rand(1, 3, 8, 8)
    expected = model(x.to_mkldnn()).to_dense()
    report = ot.replace_pooling(model)
    assert report.swapped == [] and report.left == [
        ("1", "MaxPool2d", "the model has mkldnn layers (0), whose tensors Oriel does not take")]
    assert torch.equal(model(x.to_mkldnn()).to_dense(), expected)


# -- Functions


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return F.avg_pool2d(self.pool(x), 3, 1, 1)


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        if x.sum() > 0:
            x = -x
        return F.adaptive_max_pool2d(self.block(x), 1)


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        y, indices = F.max_pool2d(x, 2, return_indices=True)
        x = F.max_unpool2d(y, indices, 2)
        x = torch.max_pool2d(self.block(x), 1) + ot.max_pool2d(x, 2)
        return x.mean((2, 3)) + x.amax(dim=[-2, -1]) + F.lp_pool2d(x, 2, 1).mean(-1).sum() + torch.mean(x, (1, 2, 3))


def test_functions_are_found():
    model = Functional()
    report = ot.replace_pooling(model)
    assert report.functions == [("", "max_pool2d"), ("", "max_unpool2d"), ("block", "avg_pool2d"), ("", "max_pool2d"),
                                ("", "Tensor.mean"), ("", "Tensor.amax"), ("", "lp_pool2d"), ("", "torch.mean")]
    assert report.untraced == [] and "  block: calls avg_pool2d, which was not swapped" in str(report)
    assert "  the model: calls max_pool2d, which was not swapped" in str(report)
    assert ot.replace_pooling(model, back=True).functions == [("", "oriel.torch.max_pool2d")]


def test_functions_of_valid_elements_are_found_on_the_way_back():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = ot.VarPool2d(2)

        def forward(self, x):
            x = ot.median_pool2d(self.layer(x), 2) + ot.quantile_pool(x, [0.5], 4, axes=(-2, -1))
            return ot.fractional_max_pool2d(x, 2, 2)

    report = ot.replace_pooling(Both(), back=True)
    assert report.functions == [("", "oriel.torch.median_pool2d"), ("", "oriel.torch.quantile_pool"),
                                ("", "oriel.torch.fractional_max_pool2d")]
    assert report.left == [("layer", "VarPool2d", "torch.nn has no VarPool2d")] and report.untraced == []
    assert ot.replace_pooling(Both()).functions == []


def test_a_forward_that_cannot_be_traced_is_named():
    report = ot.replace_pooling(nn.Sequential(Branching(), nn.AvgPool2d(2)))
    assert report.functions == [("0.block", "avg_pool2d")]
    assert [path for path, _ in report.untraced] == ["", "0"]
    assert "symbolically traced variables cannot be used as inputs to control flow" in report.untraced[1][1]
    assert "  0: not searched for pooling functions: symbolically traced" in str(report)


def test_looking_for_functions_leaves_no_trace():
    model, x = Functional(), rand(1, 2, 8, 8)
    seen = []
    model.block.register_forward_hook(lambda *_: seen.append("hook"))
    state, before = torch.random.get_rng_state(), {name: id(t) for name, t in model.state_dict(keep_vars=True).items()}
    ot.replace_pooling(model)
    assert torch.equal(torch.random.get_rng_state(), state) and seen == [] and model.block.calls == 0
    assert {name: id(t) for name, t in model.state_dict(keep_vars=True).items()} == before
    model(x)
    assert seen == ["hook"] and model.block.calls == 1


def test_a_model_that_cannot_be_copied_is_named():
    class Fixed(nn.Sequential):
        def __deepcopy__(self, memo):
            raise RuntimeError("one of a kind")

    report = ot.replace_pooling(Fixed(nn.MaxPool2d(2)))
    assert len(report.swapped) == 1 and report.untraced == [("", "the model cannot be copied: one of a kind")]


# -- How layers print, and what profilers see


def test_a_printed_model_shows_whose_layers_it_has():
    model = nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2))
    ot.replace_pooling(model)
    assert str(model) == (
        "Sequential(\n  (0): oriel.torch.MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)\n"
        "  (1): oriel.torch.AvgPool2d(kernel_size=2, stride=2, padding=0)\n)")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_profilers_see_pools_without_gradients(mode):
    x = rand(1, 2, 8, 8).requires_grad_()
    y, indices = ot.max_pool2d(x, 2, return_indices=True)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, record_shapes=True) as profile, mode():
        ot.max_pool2d(x, 2)
        ot.AvgPool2d(2)(x)
        ot.max_pool2d(x, 2, return_indices=True)
        ot.max_unpool2d(y, indices, 2)
    counts = {event.key: event.count for event in profile.key_averages() if event.key.startswith("oriel::")}
    assert counts == {"oriel::pool": 2, "oriel::pool_with_indices": 1, "oriel::unpool": 1}
    assert [event.input_shapes[0] for event in profile.events() if event.name == "oriel::pool"] == [[1, 2, 8, 8]] * 2


def test_profilers_change_no_results():
    x = rand(1, 2, 8, 8)
    with torch.autograd.profiler.profile():
        y = ot.max_pool2d(x, 3, 2)
    assert torch.equal(y, ot.max_pool2d(x, 3, 2))


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorized_jacobians_of_unpooling(strategy):
    y, indices = ot.max_pool2d(rand(1, 2, 7, 7), 3, 2, return_indices=True)  # some elements are named twice
    function = lambda t: ot.max_unpool2d(t * t, indices, 3, 2)  # noqa: E731
    got = torch.autograd.functional.jacobian(function, y, vectorize=True, strategy=strategy)
    assert torch.equal(got, torch.autograd.functional.jacobian(function, y))


def test_every_layer_names_its_library():
    assert repr(ot.FractionalMaxPool2d(2, 3)).startswith("oriel.torch.FractionalMaxPool2d(")
    assert repr(ot.LSEPool3d(2)).startswith("oriel.torch.LSEPool3d(")
    for name in modules.__all__:
        layer = getattr(ot, name)(*[2] * len(required(getattr(ot, name))))
        assert repr(layer).startswith(f"oriel.torch.{name}(")
