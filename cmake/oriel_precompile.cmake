# Precompiled headers for builds with tests, where parsing the standard library takes a third of the time of all that is
# not a kernel. Builds without tests have none, so that a file that lacks an include is noticed.
set(oriel_precompiled
  <algorithm> <array> <atomic> <chrono> <cmath> <cstring> <filesystem> <fstream> <functional> <limits> <map> <memory>
  <mutex> <numeric> <optional> <set> <span> <string> <string_view> <thread> <tuple> <utility> <vector> <fmt/format.h>)

# oriel_precompile(TARGET): a library that is no part of the Python package.
function(oriel_precompile target)
  if(ORIEL_BUILD_TESTS)
    target_precompile_headers(${target} PRIVATE ${oriel_precompiled})
    # g++ 12 reports std::string's operator+ falsely (GCC bug 105651), here even though it is a system header's.
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()

# oriel_precompile_package(TARGET): a library that is a part of the Python package. Its build, which has no tests, then
# finds the objects of this one in the compiler cache; with sanitizers there is no package.
function(oriel_precompile_package target)
  if(ORIEL_SANITIZE)
    oriel_precompile(${target})
  endif()
endfunction()

# oriel_precompile_test(TARGET): a program with GoogleTest. All share one header, and so its definitions: those of fmt and of
# threads.
function(oriel_precompile_test target)
  if(NOT TARGET oriel_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
    add_executable(oriel_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(oriel_test_headers PRIVATE
      oriel_flags oriel_quick_to_compile fmt::fmt Threads::Threads GTest::gtest GTest::gtest_main)
    target_precompile_headers(oriel_test_headers PRIVATE ${oriel_precompiled} <random> <gtest/gtest.h>)
  endif()
  target_link_libraries(${target} PRIVATE fmt::fmt Threads::Threads)
  target_precompile_headers(${target} REUSE_FROM oriel_test_headers)
endfunction()
