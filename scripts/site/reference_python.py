"""The reference of Python: a page for each public module, its names grouped by task, and by autosummary a page for each name."""

import importlib
import inspect
import os
import re

os.environ.setdefault("KERAS_BACKEND", "torch")

MODULES = {
    "oriel": "Arrays",
    "oriel.torch": "PyTorch",
    "oriel.jax": "JAX",
    "oriel.keras": "Keras",
    "oriel.onnx": "ONNX",
    "oriel.mpi": "Distributed tensors over MPI",
    "oriel.valid_taps": "Which elements count",
    "oriel.ndimage": "SciPy's filters",
    "oriel.skimage.filters": "scikit-image's medians and thresholds",
    "oriel.skimage.filters.rank": "scikit-image's rank filters",
    "oriel.skimage.morphology": "scikit-image's grey morphology",
    "oriel.skimage.measure": "scikit-image's blocks",
    "oriel.cv2": "OpenCV's median",
    "oriel.bottleneck": "bottleneck's moving windows",
    "oriel.local": "Local statistics and filters",
    "oriel.xarray": "xarray",
    "oriel.dask": "Dask",
    "oriel.tile": "Kernels for tile accelerators",
    "oriel.threadpool": "Threads: threadpoolctl",
    "oriel.docs": "These pages",
}
GUIDES = {
    "oriel": "/python", "oriel.torch": "/python", "oriel.jax": "/python", "oriel.keras": "/python", "oriel.onnx": "/python",
    "oriel.mpi": "/distributed", "oriel.tile": "/tile",
}  # fmt: skip
# A module's tasks: (words, expression of the names); the first that matches counts. Modules that are not here have no groups.
GROUPS = {
    "oriel": (
        ("Pools over any axes", r"Pool|(max|min|avg|sum|lp)_pool"),
        ("Order, variance and other statistics of valid elements", r"(all|any|centre|count|first|geo|harm|lse|median|midrange|mode|nunique|prod|quantile|range|rms|soft|std|var)_pool"),
        ("Shapes of windows", r"ball|diamond|disk|ellipse|line|octagon|octahedron"),
        ("Pools over the last one, two or three axes", r"(max|min|avg|sum|lp)_pool[123]d"),
        ("Adaptive and global pools", r"(adaptive|global)_.*"),
        ("Gradients and unpooling", r".*_backward|max_unpool.*"),
        ("Resolution pyramids", r"[pP]yramid"),
        ("As in SciPy, scikit-image and JAX", r".*_filter|block_reduce|downscale_local_mean|reduce_window"),
        ("Threads and instruction sets", r".*threads|.*target|.*targets"),
    ),
    "oriel.torch": (
        ("Whole models", r"replace_pooling|PoolingReport|decompositions"),
        ("Which elements count", r"ValidTaps"),
        ("Layers", r"[A-Z].*"),
        ("Functions over the last one, two or three axes", r".*[123]d(_with_indices)?"),
        ("Functions over any axes", r".*"),
    ),
    "oriel.jax": (
        ("Functions", r"(?!(lse|median|quantile|soft|std|var)_)[a-z].*"),
        ("Order, variance and exponentials of valid elements", r"[a-z].*|ValidTaps"),
        ("Layers", r"[A-Z][a-z].*"),
        ("Export", r"EXPORTED_CALLS"),
    ),
    "oriel.keras": (
        ("Pools", r"(Average|Lp|Max|Min|Sum)Pooling\dD"),
        ("Order, variance and exponentials", r"(LSE|Median|Soft|Std|Var)Pooling\dD"),
        ("Adaptive pools", r"Adaptive.*"),
        ("Global pools", r"Global.*Pooling\dD"),
    ),
    "oriel.mpi": (
        ("NumPy arrays", r"DistributedPool"),
        ("PyTorch layers", r"Distributed.*|Sequential"),
        ("Grids, parts and halos", r".*"),
    ),
    "oriel.tile": (
        ("Kernels", r".*pool.*"),
        ("What a kernel becomes", r".*"),
    ),
}  # fmt: skip


def public_names(module):
    """The names of a module's interface, without modules, in the order of its __all__."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


def aliases(module):
    """name -> the name of the same class that it is another name of."""
    found = {}
    for name in public_names(module):
        value = getattr(module, name)
        if inspect.isclass(value) and value.__name__ != name and getattr(module, value.__name__, None) is value:
            found[name] = value.__name__
    return found


def grouped(name, names):
    """words of a task -> its names, which keep their order."""
    groups = GROUPS.get(name, (("", r".*"),))
    found = {words: [] for words, _ in groups}
    for each in names:
        words = next((words for words, expression in groups if re.fullmatch(expression, each)), None)
        if words is None:
            raise SystemExit(f"reference_python.py: {name}.{each} is in no group of {name}")
        found[words].append(each)
    return {words: members for words, members in found.items() if members}


def introduction(module):
    """The first paragraph of a module's docstring."""
    return inspect.getdoc(module).split("\n\n")[0].replace("\n", " ") if module.__doc__ else ""


def module_page(name, words):
    """The page of a module: a table for each task, and its other names."""
    module = importlib.import_module(name)
    heading = f"{name}: {words}"
    lines = [heading, "=" * len(heading), "", f".. currentmodule:: {name}", "", introduction(module), ""]
    lines += [f"The guide is :doc:`{GUIDES[name]}`.", ""] if name in GUIDES else []
    others = aliases(module)
    for task, members in grouped(name, [each for each in public_names(module) if each not in others]).items():
        lines += [task, "-" * len(task), ""] if task else []
        lines += [".. autosummary::", "   :toctree: generated/", "   :nosignatures:", "", *(f"   {each}" for each in members), ""]
    if others:
        lines += ["Other names", "-----------", ""]
    for other, real in others.items():
        lines += [f".. py:class:: {other}", "   :no-index-entry:", "", f"   Another name of :class:`{real}`.", ""]
    return "\n".join(lines)


def python_pages():
    """name of a page -> its text."""
    title = "Python"
    index = [title, "=" * len(title), "", "Every public name, by module and task. The guide is :doc:`/python`.", "", ".. list-table::", ""]
    pages = {}
    for name, words in MODULES.items():
        index += [f"   * - :doc:`{name} <{name}>`", f"     - {words}"]
        pages[f"python/{name}"] = module_page(name, words)
    pages["python/index"] = "\n".join([*index, "", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in MODULES), ""])
    return pages
