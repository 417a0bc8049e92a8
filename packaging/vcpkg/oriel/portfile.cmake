# Builds the checkout that this file stands in. In a registry, vcpkg_from_github or vcpkg_from_git takes its place.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/oriel/pool.h")
  message(FATAL_ERROR "${SOURCE_PATH} is no checkout of Oriel; this port builds the checkout that it stands in")
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DORIEL_BUILD_C=OFF  # a shared library always, which a static triplet must not have
    -DORIEL_BUILD_CLI=OFF
    -DORIEL_BUILD_EXAMPLES=OFF
    -DORIEL_BUILD_HDF5=OFF
    -DORIEL_BUILD_MPI=OFF
    -DORIEL_BUILD_NN=OFF
    -DORIEL_BUILD_PORTRAIT=OFF
    -DORIEL_BUILD_TESTS=OFF
    -DORIEL_CCACHE=OFF
    -DORIEL_CUDA=OFF
    -DORIEL_WERROR=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/oriel)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
