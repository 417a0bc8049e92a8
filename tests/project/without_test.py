"""A build without MPI and HDF5: it configures, and what stands in for them refuses with one clear line."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = os.environ["CMAKE_COMMAND"]
CXX = os.environ["CXX"]

# Every way into HDF5, and what it says.
PROGRAM = r"""
#include <cstdio>
#include "cli/ranks_hdf5.h"
#include "io/hdf5.h"
using namespace oriel;
template <class Call> void refused(const Call& call) {
  try {
    call();
    std::puts("accepted");
  } catch (const Error& e) {
    std::puts(e.what());
  }
}
int main() {
  const io::Hdf5Path path{"x.h5", "/data"};
  std::printf("version '%s'\n", io::hdf5_version().c_str());
  refused([&] { io::open_hdf5_volume(path, {}); });
  refused([&] { io::check_hdf5_output("oriel", path); });
  refused([&] { io::create_hdf5_volume("oriel", path, {}, true); });
  refused([&] { io::open_hdf5_output("oriel", path, {}, {}); });
  cli::use_ranks_for_hdf5(0);
}
"""


def run(*command, code=0, **keywords):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def configured(tmp_path_factory):
    """The build folder of a configuration without both, as on a machine that has neither."""
    folder = tmp_path_factory.mktemp("without")
    words = run(CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CXX}", "-DORIEL_BUILD_MPI=OFF",
                "-DORIEL_BUILD_HDF5=OFF", "-DORIEL_BUILD_TESTS=OFF", "-DORIEL_BUILD_EXAMPLES=OFF")
    return folder, words.stdout + words.stderr


def test_it_configures_and_says_what_is_missing(configured):
    folder, words = configured
    assert "HDF5: none for serial, so `oriel pool` reads and writes no .h5 files there" in words
    targets = run("ninja", "-C", folder, "-t", "targets", "all").stdout
    assert "oriel_cli:" in targets and "hdf5_none.cc.o" in targets
    assert "src/distributed/mpi" not in targets and "ranks_main" not in targets and "/hdf5.cc.o" not in targets


def test_an_mpi_that_is_not_there(tmp_path):
    """Found by the names of their compilers; without these the build goes on without them."""
    script = tmp_path / "find.cmake"
    script.write_text(f"include({ROOT}/cmake/oriel_mpi.cmake)\nmessage(STATUS \"MPIs: '${{ORIEL_MPIS}}'\")\n")
    words = run(CMAKE, "-DORIEL_MPICXX_openmpi=ORIEL_MPICXX_openmpi-NOTFOUND", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
                "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF", "-P", script).stdout
    for mpi in ("openmpi", "mpich"):
        assert f"MPI: no mpicxx.{mpi}, so liboriel_{mpi} is not built" in words
    assert "MPIs: ''" in words


def test_what_stands_in_for_hdf5_refuses(tmp_path):
    source = tmp_path / "program.cc"
    source.write_text(PROGRAM)
    library = Path(os.environ["ORIEL_BUILD"]) / "lib"
    run(CXX, "-std=c++20", "-Wall", "-Wextra", "-I", ROOT / "include", "-I", ROOT / "src", "-I", ROOT, source,
        ROOT / "src/io/hdf5_none.cc", ROOT / "cli/ranks_hdf5_none.cc", "-L", library, "-loriel", "-o",
        tmp_path / "program")
    lines = run(tmp_path / "program", env={**os.environ, "LD_LIBRARY_PATH": str(library)}).stdout.splitlines()
    assert lines[0] == "version ''"
    assert lines[1:] == ["x.h5: this build of oriel has no HDF5; allowed: .npy, or a build with libhdf5-dev (and for mpirun libhdf5-openmpi-dev or libhdf5-mpich-dev)"] * 4


@pytest.mark.parametrize("mpi, variables", [("openmpi", {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "0"}),
                                            ("mpich", {"PMI_SIZE": "3", "PMI_RANK": "0"})])
def test_a_command_without_its_program_for_ranks(tmp_path, mpi, variables):
    """What a build without that MPI says under its mpirun: rank 0 one line, the others nothing."""
    alone = tmp_path / "bin" / "oriel"
    alone.parent.mkdir()
    shutil.copy(os.environ["ORIEL_COMMAND"], alone)
    library = Path(os.environ["ORIEL_BUILD"]) / "lib"
    environment = {**os.environ, **variables, "LD_LIBRARY_PATH": str(library)}
    environment.pop("ORIEL_MPI", None)
    words = [alone, "pool", "x.npy", "y.npy", "-k", "2"]
    text = run(*words, code=2, env=environment).stderr
    assert text.count("\n") == 1 and text.startswith(f"oriel pool: mpirun of {mpi} started 3 ranks, but ")
    assert f"allowed: a build with that MPI's development files (lib{mpi}-dev), one rank, or ORIEL_MPI=none" in text
    rank = "OMPI_COMM_WORLD_RANK" if mpi == "openmpi" else "PMI_RANK"
    assert run(*words, code=1, env={**environment, rank: "1"}).stderr == ""
