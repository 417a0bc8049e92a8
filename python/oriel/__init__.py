from oriel import _core
