# The flags of every target of ours: oriel_flags (interface).
add_library(oriel_flags INTERFACE)
target_compile_options(oriel_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  # No fused multiply-add that the source does not spell: the same bits on every instruction set (S8).
  -ffp-contract=off
  $<$<BOOL:${ORIEL_WERROR}>:-Werror>)
