"""cuDNN's pooling, by ctypes from the library that PyTorch brings: no module binds it."""

import ctypes

import torch

FLOAT, DOUBLE, HALF, BFLOAT16 = 0, 1, 2, 9
KINDS = {"f32": FLOAT, "f64": DOUBLE, "f16": HALF, "bf16": BFLOAT16}
MAX, AVERAGE_INCLUDE, AVERAGE_EXCLUDE = 0, 1, 2
PROPAGATE_NAN = 1


def library():
    """libcudnn with a handle, or None where it cannot be loaded."""
    for name in ("libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"):
        try:
            found = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        return None
    handle = ctypes.c_void_p()
    return (found, handle) if found.cudnnCreate(ctypes.byref(handle)) == 0 else None


def _descriptor(cudnn, kind, t):
    made = ctypes.c_void_p()
    cudnn.cudnnCreateTensorDescriptor(ctypes.byref(made))
    numbers = [*t.shape, *t.stride()]
    status = cudnn.cudnnSetTensor4dDescriptorEx(made, kind, *[int(n) for n in numbers])
    return made if status == 0 else None


def forward(found, problem, x, y):
    """A function that pools x into y on the current stream, or None for what cuDNN has not."""
    plain = problem["kind"] == 0 and len(problem["kernel"]) == 2 and not problem["ceil"] and not problem["same"]
    if not plain or problem["op"] not in ("max", "avg") or problem["divisor"] or problem["dtype"] not in KINDS:
        return None
    if set(problem["dilation"]) != {1} or problem["omit"] or problem["indices"]:
        return None
    cudnn, handle = found
    double = problem["dtype"] == "f64"
    one, zero = ((ctypes.c_double if double else ctypes.c_float)(v) for v in (1, 0))
    mode = MAX if problem["op"] == "max" else AVERAGE_INCLUDE if problem["include"] else AVERAGE_EXCLUDE
    pool = ctypes.c_void_p()
    cudnn.cudnnCreatePoolingDescriptor(ctypes.byref(pool))
    words = [*problem["kernel"], *problem["before"], *problem["stride"]]
    if cudnn.cudnnSetPooling2dDescriptor(pool, mode, PROPAGATE_NAN, *words) != 0:
        return None
    kind = KINDS[problem["dtype"]]
    into, out = _descriptor(cudnn, kind, x), _descriptor(cudnn, kind, y)
    if into is None or out is None:
        return None
    cudnn.cudnnSetStream(handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def run():
        status = cudnn.cudnnPoolingForward(
            handle, pool, ctypes.byref(one), into, ctypes.c_void_p(x.data_ptr()), ctypes.byref(zero), out,
            ctypes.c_void_p(y.data_ptr()),
        )  # fmt: skip
        if status != 0:
            raise RuntimeError(f"cudnnPoolingForward: status {status}")

    return run
