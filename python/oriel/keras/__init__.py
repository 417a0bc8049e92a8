"""Keras 3 layers for pooling, with the names, arguments and results of `keras.layers`, computed by Oriel on CPUs.

On the PyTorch and JAX backends layers run through `oriel.torch` and `oriel.jax`: they can be compiled and
differentiated as described there. On TensorFlow they run as `tf.numpy_function` with a custom gradient: no XLA
(`jit_compile`), no second derivative, and a saved graph runs only in the process that made it; saving a Keras model and
loading it is fine. On the NumPy backend they call `oriel`. A program that loads a saved model imports `oriel.keras`
first.

>>> import keras
>>> import oriel.keras
>>> model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(4, 3), oriel.keras.MaxPooling2D(2)])
>>> model.output_shape
(None, 13, 13, 4)
"""

try:
    import keras as _keras
except ModuleNotFoundError as _error:
    if _error.name == "keras":
        raise ImportError("oriel.keras needs Keras 3.5 or newer, which is not installed: pip install keras") from None
    raise ImportError(
        f"oriel.keras needs the backend that Keras is set to, but {_error.name} is not installed: set the "
        "environment variable KERAS_BACKEND to torch or jax") from _error

if tuple(map(int, _keras.__version__.split(".")[:2])) < (3, 5):
    raise ImportError(
        f"oriel.keras needs Keras 3.5 or newer, but {_keras.__version__} is installed: pip install --upgrade keras")

from oriel.keras import adaptive, statistics, windows
from oriel.keras import global_pooling as _global
from oriel.keras.adaptive import *  # noqa: F403
from oriel.keras.global_pooling import *  # noqa: F403
from oriel.keras.statistics import *  # noqa: F403
from oriel.keras.windows import *  # noqa: F403

AvgPool1D = windows.AveragePooling1D
AvgPool2D = windows.AveragePooling2D
AvgPool3D = windows.AveragePooling3D
MaxPool1D = windows.MaxPooling1D
MaxPool2D = windows.MaxPooling2D
MaxPool3D = windows.MaxPooling3D
GlobalAvgPool1D = _global.GlobalAveragePooling1D
GlobalAvgPool2D = _global.GlobalAveragePooling2D
GlobalAvgPool3D = _global.GlobalAveragePooling3D
GlobalMaxPool1D = _global.GlobalMaxPooling1D
GlobalMaxPool2D = _global.GlobalMaxPooling2D
GlobalMaxPool3D = _global.GlobalMaxPooling3D

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]
__all__ += adaptive.__all__
__all__ += _global.__all__
__all__ += statistics.__all__
__all__ += windows.__all__
