# Copyright The Oriel authors.
#
# SPDX-License-Identifier: Apache-2.0

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Oriel(CMakePackage):
    """Pooling of arrays (max, min, average, sum and Lp windows with stride), forward and backward, with the same bits
    on every instruction set, thread count and memory layout."""

    license("Apache-2.0")

    # No archive is published yet: `spack dev-build` builds a checkout.
    version("0.2.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("cli", default=False, description="Build the oriel command")
    variant("hdf5", default=True, when="+cli", description="Let the command read and write HDF5 files")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build", when="+cli")
    depends_on("fmt@9.1:11")
    depends_on("highway@1.0.3:")
    depends_on("tbb")
    with when("+cli"):
        depends_on("cli11")
        depends_on("libvips+jpeg+tiff+png")
        depends_on("libzip")
        depends_on("c-blosc")
        depends_on("expat")
        depends_on("libtiff@4.5:+jpeg+zlib")
        depends_on("lz4")
        depends_on("zlib-api")
        depends_on("zstd")
        depends_on("nlohmann-json@3.10:")
        depends_on("hdf5", when="+hdf5")

    conflicts("%gcc@:11", msg="Oriel needs g++ 12 or newer")
    conflicts("%clang@:13", msg="Oriel needs clang 14 or newer")

    generator("ninja")

    def cmake_args(self):
        left_out = ("EXAMPLES", "MPI", "NN", "PORTRAIT", "TESTS")
        return [
            *(self.define(f"ORIEL_BUILD_{part}", False) for part in left_out),
            self.define("ORIEL_CCACHE", False),
            self.define("ORIEL_CUDA", "OFF"),
            self.define("ORIEL_WERROR", False),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("ORIEL_BUILD_CLI", "cli"),
            self.define("ORIEL_BUILD_HDF5", self.spec.satisfies("+cli+hdf5")),
        ]
