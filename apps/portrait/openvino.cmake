# The optional part of oriel-portrait that runs .onnx and .tflite files, by OpenVINO's C++ libraries: a shared library that
# the program loads when such a file is named. The PyPI wheel `openvino` has the libraries, headers and CMake files.
file(GLOB oriel_wheels ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/openvino/cmake)
set(ORIEL_OPENVINO "" CACHE STRING "Folder of OpenVINOConfig.cmake; empty: OpenVINO in .venv, if it is there; OFF: none")
set(ORIEL_PORTRAIT_NETWORK_FILES FALSE PARENT_SCOPE)
set(oriel_openvino "${ORIEL_OPENVINO}")
if("${oriel_openvino}" STREQUAL "" AND NOT ORIEL_SANITIZE)  # the libraries were built without sanitizers
  if(oriel_wheels)
    list(GET oriel_wheels -1 oriel_openvino)  # an environment made again by another Python has both
  endif()
endif()
if(NOT oriel_openvino)
  message(STATUS "OpenVINO: not found, so oriel-portrait says so for .onnx and .tflite models (scripts/venv.sh portrait installs it)")
  return()
endif()
# Only the imported targets: the package would define macros for all of the project.
include(${oriel_openvino}/OpenVINOTargets.cmake)
add_library(oriel_portrait_openvino MODULE runtime/openvino.cc)
get_target_property(oriel_openvino_library openvino::runtime IMPORTED_LOCATION_RELEASE)
cmake_path(GET oriel_openvino_library PARENT_PATH oriel_openvino_libraries)
# The folder of the libraries is named, not found by CMake, which warns that the wheel has a oneTBB too: the program has
# loaded the system's by then.
set_target_properties(oriel_portrait_openvino PROPERTIES PREFIX "" SUFFIX .so
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/oriel
  INSTALL_RPATH ${oriel_openvino_libraries} BUILD_WITH_INSTALL_RPATH TRUE)
target_include_directories(oriel_portrait_openvino PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(oriel_portrait_openvino PRIVATE oriel_flags openvino::runtime openvino::frontend::tensorflow_lite)
install(TARGETS oriel_portrait_openvino LIBRARY DESTINATION ${oriel_plugins})
set(ORIEL_PORTRAIT_NETWORK_FILES TRUE PARENT_SCOPE)
