"""Models of oriel.torch given to every exporter of PyTorch; what it writes is read back and run by the runtime that is
meant to read it."""

import importlib.util
import io
import shutil

import numpy as np
import pytest
import torch
from torch import nn

import oriel.torch as ot
from oriel.torch import operators

pytestmark = pytest.mark.filterwarnings("ignore")  # the exporters' own


def rand(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def replaced(pools, channels=4):
    """A model with layers of torch.nn, eval, its results, and the same model with those of Oriel."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, channels, 3), nn.ReLU(), *pools).eval()
    x = rand(2, 3, 20, 21)
    expected = model(x).detach()
    report = ot.replace_pooling(model)
    assert len(report.swapped) == len(pools) and report.left == []
    return model, x, expected


def usual_pools():
    return [
        nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        nn.AvgPool2d(3, 1, 1, count_include_pad=False),
        nn.LPPool2d(2, 2),
        nn.AdaptiveAvgPool2d(1)
    ]


class BeyondTorch(nn.Module):
    """Pools that torch.nn does not have, and functions."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            ot.MaxPool2d(3, 2, "same"),
            ot.MaxPool2d(2, 2, ((1, 0), (0, 1))),
            ot.MinPool2d(3, 2, 1),
            ot.SumPool2d((2, 3), 2),
            ot.AvgPool2d(2, 1, dilation=2),
            ot.AvgPool2d(3, 2, ((2, 0), (0, 1)), count_include_pad=False),
            ot.AvgPool2d(2, 2, divisor_override=3),
            ot.LPPool2d(3, 2)
        ])

    def forward(self, x):
        return (*(layer(x) for layer in self.layers), ot.global_avg_pool(x), ot.global_max_pool(x, axes=1),
                ot.avg_pool(x, 2, axes=(1, 3)))


def run_onnx(model, *inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(model)
    named = dict(zip([value.name for value in session.get_inputs()], [x.numpy() for x in inputs], strict=True))
    return [torch.from_numpy(y) for y in session.run(None, named)]


def export_by_dynamo(model, x):
    return torch.onnx.export(model, (x,), dynamo=True, verbose=False).model_proto.SerializeToString()


def export_by_torchscript(model, x):
    file = io.BytesIO()
    torch.onnx.export(model, (x,), file, dynamo=False, opset_version=17)
    return file.getvalue()


def export_a_program(model, x):
    program = torch.export.export(model, (x,)).run_decompositions(ot.decompositions())
    return torch.onnx.export(program, verbose=False).model_proto.SerializeToString()


ONNX = pytest.mark.parametrize("export", [export_by_dynamo, export_by_torchscript, export_a_program])


@ONNX
def test_onnx(export):
    model, x, expected = replaced(usual_pools())
    torch.testing.assert_close(run_onnx(export(model, x), x), [expected])


@ONNX
def test_onnx_of_pools_beyond_torch(export):
    model, x = BeyondTorch(), rand(2, 3, 9, 10)
    torch.testing.assert_close(run_onnx(export(model, x), x), list(model(x)))


@ONNX
def test_onnx_of_indices_and_unpooling(export):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = ot.MaxPool2d(2, return_indices=True), ot.MaxUnpool2d(2)

        def forward(self, x):
            y, indices = self.down(x)
            return y, indices, self.up(y, indices)

    x = rand(1, 2, 6, 8)
    torch.testing.assert_close(run_onnx(export(Net(), x), x), list(Net()(x)))


def test_onnx_with_a_batch_of_any_size():
    model, x, _ = replaced(usual_pools())
    proto = torch.onnx.export(model, (x,), dynamo=True, verbose=False,
                              dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},)).model_proto
    many = rand(5, 3, 20, 21)
    torch.testing.assert_close(run_onnx(proto.SerializeToString(), many), [model(many)])


REFUSED = "sum_pool: this pool of float32 values cannot be exported to ONNX: PyTorch's operators do not express it"


def test_onnx_refuses_in_a_sentence():
    with pytest.raises(ValueError, match=REFUSED):
        export_by_torchscript(AdaptiveSum(), rand(1, 2, 6, 8))
    with pytest.warns(UserWarning, match=REFUSED), pytest.raises(Exception, match="oriel.pool"):
        export_by_dynamo(AdaptiveSum(), rand(1, 2, 6, 8))


class AdaptiveSum(nn.Module):
    def forward(self, x):
        return ot.adaptive_sum_pool(x, 4, axes=(2, 3))


@pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor compiles with g++, which is not installed")
def test_aotinductor(tmp_path):
    """Oriel's own operators, called from the compiled model; and a program without them, which C++ may load."""
    model = nn.Sequential(ot.MaxPool2d(3, 2, 1, ceil_mode=True), ot.LPPool2d(3, 2), ot.AdaptiveMaxPool2d(2),
                          ot.SumPool2d(2, padding="same")).eval()
    x = rand(2, 3, 20, 21)
    program = torch.export.export(model, (x,))
    for name, exported in (("oriel", program), ("plain", program.run_decompositions(ot.decompositions()))):
        package = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / f"{name}.pt2"))
        torch.testing.assert_close(torch._inductor.aoti_load_package(package)(x), model(x))


# -- ExecuTorch


def executorch_program(exported):
    if importlib.util.find_spec("executorch") is None:
        pytest.skip("ExecuTorch is not installed (scripts/requirements-test-alone.txt): its export is NOT tested here")
    from executorch.exir import to_edge

    return to_edge(exported).to_executorch()


def operators_of(program):
    return {f"{o.name}.{o.overload}" for o in program.executorch_program.execution_plan[0].operators}


def test_executorch_runs_programs_of_torchs_operators():
    model, x, expected = replaced(usual_pools())
    program = executorch_program(torch.export.export(model, (x,)).run_decompositions(ot.decompositions()))
    from executorch.extension.pybindings import portable_lib

    torch.testing.assert_close(portable_lib._load_for_executorch_from_buffer(program.buffer).forward([x]), [expected])


def test_executorch_takes_the_operators_themselves():
    class Net(nn.Module):
        def forward(self, x):
            y, indices = ot.max_pool2d(x, 2, return_indices=True)
            return ot.avg_pool2d(x, 3), ot.max_unpool2d(y, indices, 2)

    program = executorch_program(torch.export.export(Net(), (rand(1, 2, 6, 8),)))
    assert {"oriel::pool.out", "oriel::pool_with_indices.out", "oriel::unpool.out"} <= operators_of(program)


def test_variants_that_write_into_tensors():
    x = rand(2, 3, 8, 9)
    pool = ot.arguments.operator_arguments(4, "max", 3, 2, 1, 1, None, None, False, True, None, None, False, 2)
    y, indices = operators.pool_with_indices(x, *pool)
    dx = operators.pool_backward(y, x, x.shape, False, *pool)
    whole = operators.unpool(y, indices, x.shape, [-2, -1])
    library = torch.ops.oriel
    for shape in (y.shape, (0,)):  # one of another shape is resized, as PyTorch's are
        out, places = torch.empty(shape), torch.empty(shape, dtype=torch.int64)
        assert library.pool.out(x, *pool, out=out) is out and torch.equal(out, y)
        library.pool_with_indices.out(x, *pool, out=out.zero_(), indices=places)
        assert torch.equal(out, y) and torch.equal(places, indices)
    assert torch.equal(library.pool_backward.out(y, x, x.shape, False, *pool, out=torch.empty_like(x)), dx)
    assert torch.equal(library.unpool.out(y, indices, x.shape, [-2, -1], out=torch.empty_like(x)), whole)
    meta = torch.empty(y.shape, device="meta")
    assert library.pool.out(x.to("meta"), *pool, out=meta) is meta


def test_no_argument_of_an_operator_is_an_empty_list():
    """An exporter may write one as None, which is no list."""
    graphs = [torch.export.export(model, (rand(2, 3, 20, 21),)).graph for model in (BeyondTorch(), AdaptiveSum())]
    calls = [node for graph in graphs for node in graph.nodes if "oriel" in str(node.target)]
    assert len(calls) == 12
    assert all(len(value) for node in calls for value in node.args if isinstance(value, (list, tuple)))


# -- TorchScript


def loaded_again(scripted):
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    return torch.jit.load(file)


def test_scripted_models():
    model, x, expected = replaced(usual_pools())
    scripted = torch.jit.script(model)
    assert torch.equal(scripted(x), model(x)) and torch.equal(loaded_again(scripted)(x), model(x))
    assert "oriel::pool" in str(scripted.inlined_graph)
    torch.testing.assert_close(scripted(x), expected)
    assert type(model[2]) is ot.MaxPool2d  # the model itself is as before


@pytest.mark.parametrize("layer", [
    ot.MaxPool2d((3, 2), 2, (1, 0), 1, True), ot.MinPool2d(2), ot.SumPool2d(3, 1, "same"),
    ot.AvgPool2d(3, 2, 1, divisor_override=4, nan_policy="omit"), ot.LPPool2d(1.5, 2), ot.AdaptiveMaxPool2d(2, True),
    ot.AdaptiveAvgPool2d((2, 3)), ot.MaxPool2d(2, padding=((1, 0), (0, 1)))
], ids=repr)
def test_scripted_layers(layer):
    x = rand(2, 3, 8, 9)
    for got, expected in zip(torch.jit.script(layer)(x), layer(x), strict=True):
        assert torch.equal(got, expected)


def test_scripted_unpooling_and_gradients():
    x = rand(2, 3, 8, 8).requires_grad_()
    y, indices = ot.MaxPool2d(2, return_indices=True)(x)
    layer = ot.MaxUnpool2d(2, 2, (0, 0))
    scripted = torch.jit.script(layer)
    for size in (None, [9, 8], [2, 3, 8, 9]):
        assert torch.equal(scripted(y, indices, size), layer(y, indices, size))
    pool = ot.MaxPool2d(3, 2)
    got, expected = (torch.autograd.grad(f(x).square().sum(), x)[0] for f in (torch.jit.script(pool), pool))
    assert torch.equal(got, expected)


def test_scripting_refuses_in_a_sentence():
    with pytest.raises(ValueError, match=r"torch.jit.script: output_size of oriel.torch.AdaptiveMaxPool2d must have no "
                       r"None, but is \(None, 2\)"):
        torch.jit.script(ot.AdaptiveMaxPool2d((None, 2)))


def test_traced_models_keep_the_operators():
    model, x, _ = replaced(usual_pools())
    traced = loaded_again(torch.jit.trace(model, x))
    np.testing.assert_array_equal(traced(x).detach(), model(x).detach())
    assert "oriel::pool" in str(traced.inlined_graph)
