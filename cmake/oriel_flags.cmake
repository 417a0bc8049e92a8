# The flags of every target of ours: oriel_flags (interface). ccache is used where it is installed.
set(ORIEL_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them; empty: none")
option(ORIEL_BASELINE_TARGET_ONLY "Compile the kernels for the compiler's own instruction set only (quick builds)" OFF)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ORIEL_CCACHE ccache)
  mark_as_advanced(ORIEL_CCACHE)
  if(ORIEL_CCACHE)
    # Paths count from the build folder: other clones, and the wheel's build folder beside this one, find these objects.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
        CCACHE_SLOPPINESS=pch_defines,time_macros ${ORIEL_CCACHE})  # without, it keeps nothing that a precompiled header was used in
  endif()
endif()

string(REGEX MATCH "x86_64|AMD64|i.86" oriel_x86 "${CMAKE_SYSTEM_PROCESSOR}")
if(oriel_x86)
  set(oriel_x86 ON)
endif()
add_library(oriel_flags INTERFACE)
set(oriel_options
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  # No fused multiply-add that the source does not spell: the same bits on every instruction set (S8).
  -ffp-contract=off
  # g++ 12 reports std::string's operator+ falsely (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Structs of more than 128 bytes are cleared and copied by the C library. GCC's own `rep stos` takes some 30 cycles to
  # begin, and waits for what was written past the caches: gradients of 2x2 took 1.8 times as long on Zen 5.
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${oriel_x86}>>:-mmemset-strategy=libcall:-1:noalign;-mmemcpy-strategy=libcall:-1:noalign>"
  # Headers of vectors for some processors only are empty for others, which clang reports where Highway names a target.
  "$<$<AND:$<CXX_COMPILER_ID:Clang>,$<NOT:$<BOOL:${oriel_x86}>>>:-Wno-pragma-clang-attribute>"
  $<$<BOOL:${ORIEL_WERROR}>:-Werror>)
target_compile_options(oriel_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${oriel_options}>")

# For code in which no time is spent (options, help, tests): a release build compiles it in about two thirds of the time.
set(oriel_quick_options "$<$<CONFIG:Release>:-O1>")
add_library(oriel_quick_to_compile INTERFACE)
target_compile_options(oriel_quick_to_compile INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${oriel_quick_options}>")

if(ORIEL_BASELINE_TARGET_ONLY)
  target_compile_definitions(oriel_flags INTERFACE HWY_COMPILE_ONLY_STATIC)
endif()
if(ORIEL_SANITIZE)
  # Everything, not only our targets, so that no object is left out; a finding ends the program. What is left out of
  # `undefined` is a third of the time that compiling takes, and a null pointer that is used is a finding without it.
  add_compile_options(-fsanitize=${ORIEL_SANITIZE} -fno-sanitize=null,object-size,pointer-overflow,vptr
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ORIEL_SANITIZE})
  if(ORIEL_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/tsan_ignorelist.txt)
  endif()
endif()
