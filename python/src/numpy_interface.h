// NumPy's C interface, whose table of functions array.cc loads for all files.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL oriel_numpy_interface
#include <numpy/arrayobject.h>
