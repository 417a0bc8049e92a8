# The files of floors 0, 1 and 3, relative to src/: every build of the library has them, whatever its backends.
set(oriel_core_sources
  types.cc
  element_copy.cc
  tensor.cc
  problem.cc
  problem_name.cc
  statistic_name.cc
  statistic_rules.cc
  footprint.cc
  pool.cc
)
