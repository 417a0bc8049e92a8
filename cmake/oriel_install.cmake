# What `cmake --install` puts where: the library, its headers, the CMake package and the pkg-config file. The command
# and its manual install themselves (cli/CMakeLists.txt); the completions that it prints are installed here.
include(CMakePackageConfigHelpers)

get_target_property(oriel_library_type oriel TYPE)
set(oriel_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/oriel)

set(oriel_libraries oriel)
if(TARGET oriel_tile)
  list(APPEND oriel_libraries oriel_tile)
endif()
install(TARGETS ${oriel_libraries} ${ORIEL_MPI_TARGETS} EXPORT oriel_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/oriel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN nn EXCLUDE)
install(EXPORT oriel_targets NAMESPACE oriel:: FILE oriel_targets.cmake DESTINATION ${oriel_package_dir})

# The C interface is a component, `find_package(oriel COMPONENTS c)`: asked for alone, it needs no C++ and no other library.
if(TARGET oriel_c)
  install(TARGETS oriel_c EXPORT oriel_c_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT oriel_c_targets NAMESPACE oriel:: FILE oriel_c_targets.cmake DESTINATION ${oriel_package_dir})
endif()

# Networks are a component of their own, `find_package(oriel COMPONENTS nn)`: pooling needs none of what they need.
if(TARGET oriel_nn)
  install(TARGETS oriel_nn EXPORT oriel_nn_targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/oriel/nn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/oriel)
  install(EXPORT oriel_nn_targets NAMESPACE oriel:: FILE oriel_nn_targets.cmake DESTINATION ${oriel_package_dir})
endif()

# A shared library brings what it needs; a static one leaves it to the program that links it.
set(ORIEL_FIND_DEPENDENCIES "")
set(ORIEL_PC_REQUIRES "")
set(ORIEL_NN_FIND_DEPENDENCIES "")
set(ORIEL_C_ALONE FALSE)  # whether liboriel_c holds liboriel
if(oriel_library_type STREQUAL "STATIC_LIBRARY")
  set(ORIEL_FIND_DEPENDENCIES "find_dependency(hwy)\n  find_dependency(fmt)")
  set(ORIEL_PC_REQUIRES "Requires: libhwy fmt")
  if(ORIEL_THREADS STREQUAL "tbb")
    string(APPEND ORIEL_FIND_DEPENDENCIES "\n  find_dependency(Threads)\n  find_dependency(TBB)")
    string(APPEND ORIEL_PC_REQUIRES " tbb")
  endif()
  set(ORIEL_C_ALONE TRUE)
  if(TARGET oriel_nn)
    set(ORIEL_NN_FIND_DEPENDENCIES "find_dependency(PkgConfig)\n  pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)")
    if(ORIEL_WITH_ONEDNN)
      string(APPEND ORIEL_NN_FIND_DEPENDENCIES "\n  find_dependency(OpenMP COMPONENTS CXX)")
    endif()
  endif()
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/oriel-config.cmake.in
  ${PROJECT_BINARY_DIR}/oriel-config.cmake INSTALL_DESTINATION ${oriel_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/oriel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/oriel-config.cmake ${PROJECT_BINARY_DIR}/oriel-config-version.cmake
  DESTINATION ${oriel_package_dir})

# The prefix follows from where the file lies, so an installed tree can be moved.
file(RELATIVE_PATH ORIEL_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" ORIEL_PC_UP "${ORIEL_PC_UP}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/oriel.pc.in ${PROJECT_BINARY_DIR}/oriel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/oriel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET oriel_c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/oriel_c.pc.in ${PROJECT_BINARY_DIR}/oriel_c.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/oriel_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The pages, with the command; a package of the libraries alone has none.
if(TARGET oriel_cli)
  include(oriel_pages)
  oriel_install_pages(${CMAKE_INSTALL_DOCDIR})
endif()

# The completions that a program prints.
set(oriel_completions "")
function(oriel_install_completions target program)
  foreach(shell IN ITEMS bash zsh fish)
    set(file ${PROJECT_BINARY_DIR}/completion/${program}.${shell})
    add_custom_command(OUTPUT ${file} COMMAND ${target} completion ${shell} > ${file} DEPENDS ${target} VERBATIM)
    list(APPEND oriel_completions ${file})
  endforeach()
  set(oriel_completions ${oriel_completions} PARENT_SCOPE)
  install(FILES ${PROJECT_BINARY_DIR}/completion/${program}.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completion/${program}.zsh RENAME _${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completion/${program}.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion)
if(TARGET oriel_cli)
  oriel_install_completions(oriel_cli oriel)
endif()
if(TARGET oriel_portrait)
  oriel_install_completions(oriel_portrait oriel-portrait)
endif()
if(oriel_completions)
  add_custom_target(oriel_completions ALL DEPENDS ${oriel_completions})
endif()

# Everything that is installed: what `make build` builds.
add_custom_target(oriel_programs DEPENDS ${oriel_libraries} ${ORIEL_MPI_TARGETS})
foreach(target IN ITEMS oriel_c oriel_nn oriel_cli oriel_portrait oriel_completions)
  if(TARGET ${target})
    add_dependencies(oriel_programs ${target})
  endif()
endforeach()
