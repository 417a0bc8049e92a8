"""Conan 2: the library of the checkout that this file stands in. `conan create packaging/conan --build=missing`."""

import os
import re

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.4"


class OrielRecipe(ConanFile):
    name = "oriel"
    description = "Pooling of arrays with stride, forward and backward, with the same bits on every processor"
    license = "Apache-2.0"
    topics = ("pooling", "simd", "arrays", "numerics")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._checkout, "CMakeLists.txt"))
        found = re.search(r"project\(oriel VERSION ([0-9.]+)", text)
        if not found:
            raise ConanException(
                f"{self._checkout} is no checkout of Oriel; this recipe builds the one that it stands in"
            )
        self.version = self.version or found[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._checkout, self.export_sources_folder)

    def requirements(self):
        self.requires("fmt/[>=9.1 <12]")
        self.requires("highway/[>=1.0.3 <2]")
        self.requires("onetbb/[>=2021.8]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"oriel: os is {self.settings.os}; allowed: Linux")
        if self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration(f"oriel: arch is {self.settings.arch}; allowed: x86_64, armv8")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("C", "CLI", "EXAMPLES", "HDF5", "MPI", "NN", "PORTRAIT", "TESTS"):
            toolchain.cache_variables[f"ORIEL_BUILD_{part}"] = False
        toolchain.cache_variables["ORIEL_CCACHE"] = "OFF"
        toolchain.cache_variables["ORIEL_CUDA"] = "OFF"
        toolchain.cache_variables["ORIEL_WERROR"] = False
        toolchain.generate()
        dependencies = CMakeDeps(self)
        # Their recipes have names of their own for what Oriel's CMake calls hwy and TBB.
        dependencies.set_property("highway", "cmake_file_name", "hwy")
        dependencies.set_property("highway", "cmake_target_name", "hwy::hwy")
        dependencies.set_property("onetbb", "cmake_file_name", "TBB")
        dependencies.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "oriel")
        self.cpp_info.set_property("cmake_target_name", "oriel::oriel")
        self.cpp_info.set_property("cmake_target_aliases", ["oriel::tile"])
        self.cpp_info.set_property("pkg_config_name", "oriel")
        self.cpp_info.libs = ["oriel_tile", "oriel"]
        self.cpp_info.system_libs = ["pthread", "m"]
