# The sources of the Python module oriel._core, for python/ and for the tests that emulate a device.
set(oriel_python_sources module.cc faults.cc array.cc new_array.cc processor.cc line_memory.cc openmp.cc arguments.cc statistic.cc pyramid.cc ranks.cc tile.cc)
list(TRANSFORM oriel_python_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/src/)
