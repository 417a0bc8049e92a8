# Toolchain of the preset wasm: emscripten's own, vectors of 128 bits, exceptions of WebAssembly, and the libraries that
# scripts/wasm.sh builds into build-wasm/prefix.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE oriel_emscripten
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
include(${oriel_emscripten}/cmake/Modules/Platform/Emscripten.cmake)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH oriel_tree)
list(APPEND CMAKE_FIND_ROOT_PATH ${oriel_tree}/build-wasm/prefix)
# What is sent to a browser is to be small: -Os (-Oz gave no less), and no names of types, which nothing asks for.
set(CMAKE_CXX_FLAGS_INIT "-msimd128 -fwasm-exceptions -fno-rtti")
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")  # CMake would add its -O3 to flags in .._INIT
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # code that any module can load is slower and larger
