# Toolchain of the presets arm64 and s390x: Debian's cross compiler for ORIEL_PROCESSOR, the libraries that
# scripts/portable.sh unpacks into ORIEL_FOREIGN_ROOT, and qemu to run what comes out.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ORIEL_PROCESSOR ORIEL_FOREIGN_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ORIEL_PROCESSOR})
set(CMAKE_CXX_COMPILER ${ORIEL_PROCESSOR}-linux-gnu-g++)
set(oriel_foreign ${ORIEL_FOREIGN_ROOT}/usr/lib/${ORIEL_PROCESSOR}-linux-gnu)

set(CMAKE_FIND_ROOT_PATH ${ORIEL_FOREIGN_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${oriel_foreign}/pkgconfig:${ORIEL_FOREIGN_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ORIEL_FOREIGN_ROOT})
set(oriel_foreign_base ${ORIEL_FOREIGN_ROOT}/lib/${ORIEL_PROCESSOR}-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${oriel_foreign}:${oriel_foreign_base})
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,-rpath-link,${oriel_foreign}:${oriel_foreign_base})
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-${ORIEL_PROCESSOR}-static -L /usr/${ORIEL_PROCESSOR}-linux-gnu
  -E LD_LIBRARY_PATH=/usr/${ORIEL_PROCESSOR}-linux-gnu/lib:${oriel_foreign}:${oriel_foreign_base})  # the C library of that folder, whatever others there are
