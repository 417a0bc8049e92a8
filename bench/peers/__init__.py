"""Other libraries' pools. Each module has NAME; `load(threads)`, which imports the library and returns its version; and
`contenders(problem, x, dy)`, a list of Contender, empty where the library has no such pool."""

ALL = ["torch", "jax", "onnxruntime", "openvino", "tensorflow", "opencv", "scipy", "skimage", "onednn"]


def same_size(problem):
    """Whether windows are odd, in the middle, with stride 1: as many outputs as inputs (what image filters do)."""
    return (
        problem.kind == "uniform"
        and not problem.backward
        and not problem.places
        and set(problem.stride) == {1}
        and all(
            k % 2 and lo == hi == d * (k // 2)
            for k, d, (lo, hi) in zip(problem.kernel, problem.dilation, problem.padding)
        )
    )


def blocks(problem):
    """Whether windows lie side by side and share the whole input."""
    return (
        problem.kind == "uniform"
        and not problem.backward
        and not problem.places
        and problem.kernel == problem.stride
        and set(problem.padding) == {(0, 0)}
        and set(problem.dilation) == {1}
        and all(n % k == 0 for n, k in zip(problem.spatial, problem.kernel))
    )
