#!/bin/sh
# wheels.sh [ARCHITECTURE...]: builds wheels of the Python package (x86_64 and aarch64 unless told) that run on every Linux
# with glibc 2.28 or newer, into build-wheels/dist: one for Python 3.11, one for 3.12 and all later ones (stable ABI), and, if
# FREE_THREADED names a free-threaded Python 3.13 or newer, which Debian does not have, one for that. The compiler is zig's
# clang from PyPI; what Oriel needs is built from Debian's source packages. Needs no container and no root.
# wheels.sh --check [ARCHITECTURE...]: installs them in bare systems and runs tests there (scripts/check_wheels.sh).
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
work=$PWD/build-wheels
tools=$work/tools/bin
suite=bookworm  # of the source packages
newer=trixie    # of the Python that the wheel for 3.12 and newer is built with, $newer_python
newer_python=3.13

if [ "${1:-}" = --check ]; then
  shift
  exec scripts/check_wheels.sh "$@"
fi
[ $# -gt 0 ] || set -- x86_64 aarch64
for processor in "$@"; do
  case $processor in
    x86_64 | aarch64) ;;
    *) echo "wheels: unknown architecture '$processor'; allowed: x86_64, aarch64" >&2; exit 2 ;;
  esac
done

if [ -n "${FREE_THREADED:-}" ]; then
  "$FREE_THREADED" -c 'import sys, sysconfig; sys.exit(sys.version_info < (3, 13) or not sysconfig.get_config_var("Py_GIL_DISABLED"))' ||
    { echo "wheels: FREE_THREADED must be a free-threaded Python 3.13 or newer, but is $FREE_THREADED: $("$FREE_THREADED" --version)" >&2; exit 2; }
fi

# quietly LOG COMMAND...: runs it; shows what it said only if it fails.
quietly() {
  log=$1
  shift
  "$@" > "$log" 2>&1 || { tail -n 60 "$log" >&2; echo "wheels: failed: $*" >&2; exit 1; }
}

make_tools() {
  hash=$(sha256sum scripts/requirements-wheels.txt)
  [ "$(cat "$work/tools/installed" 2>/dev/null)" = "$hash" ] && return
  echo "Installing the Python packages of scripts/requirements-wheels.txt"
  python=${PYTHON:-python3}
  [ "$("$python" -c 'import sys; print(*sys.version_info[:2], sep=".")')" = 3.11 ] ||
    { echo "wheels: PYTHON must be a Python 3.11, but is $python: $("$python" --version)" >&2; exit 1; }
  "$python" -m venv --clear "$work/tools"
  quietly "$work/tools.log" "$tools/python" -m pip install --disable-pip-version-check -r scripts/requirements-wheels.txt
  echo "$hash" > "$work/tools/installed"
}

# The newer Python: unpacked, run by its own C library, with the same packages beside it as the tools have.
make_newer_python() {
  root=$work/python$newer_python
  scripts/debian_root.sh "$root" $newer "$(dpkg --print-architecture)" python$newer_python libpython$newer_python-dev
  python=$root/usr/bin/python
  [ -f "$root/packages/installed" ] && return
  loader=$(find "$root/usr/lib64/" "$root/usr/lib/" -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1)
  cat > "$python" <<END
#!/bin/sh
export PYTHONPATH="$root/packages"
exec "$loader" --argv0 "\$0" \\
  --library-path "$root/usr/lib/$(uname -m)-linux-gnu" "$root/usr/bin/python$newer_python" "\$@"
END
  chmod +x "$python"
  # shellcheck disable=SC2046
  quietly "$work/packages.log" "$tools/python" -m pip --python "$python" install --disable-pip-version-check \
    --target "$root/packages" $(grep -E '^(build|scikit-build-core|nanobind|numpy)==' scripts/requirements-wheels.txt)
  touch "$root/packages/installed"
}

# The free-threaded Python of FREE_THREADED, with the same packages.
make_free_threaded() {
  folder=$work/free-threaded
  [ -f "$folder/installed" ] && return
  "$FREE_THREADED" -m venv --clear "$folder"
  # shellcheck disable=SC2046
  quietly "$work/free-threaded.log" "$folder/bin/python" -m pip install --disable-pip-version-check \
    $(grep -E '^(build|scikit-build-core|nanobind|numpy)==' scripts/requirements-wheels.txt)
  touch "$folder/installed"
}

# headers PYTHON FOLDER: that Python's, with the pyconfig.h that Debian keeps elsewhere. Between the two architectures that
# file differs in nothing that an extension asks for.
headers() {
  include=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  config=$(dirname "$include")/$(uname -m)-linux-gnu/$(basename "$include")/pyconfig.h
  rm -rf "$2"
  cp -rL "$include" "$2"
  [ ! -f "$config" ] || cp "$config" "$2/pyconfig.h"
}

# The words that make CMake use zig for $processor; each of them goes behind $1.
zig_words() {
  for word in "CMAKE_TOOLCHAIN_FILE=$PWD/cmake/zig.cmake" "ORIEL_ZIG=$zig" "ORIEL_ZIG_PROCESSOR=$processor" "ORIEL_ZIG_FOLDER=$here/zig"; do
    printf '%s%s\n' "$1" "$word"
  done
}

# library NAME OPTION...: builds the source package into the prefix, as a static library whose symbols nobody else sees.
library() {
  name=$1
  shift
  [ -f "$here/$name.built" ] && return
  echo "Building $name for $processor"
  # shellcheck disable=SC2046
  quietly "$here/$name.log" "$tools/cmake" -S "$work/sources/$name" -B "$here/$name" -G Ninja $(zig_words -D) \
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_INSTALL_PREFIX="$here/prefix" -D CMAKE_INSTALL_LIBDIR=lib -D BUILD_SHARED_LIBS=OFF \
    -D CMAKE_POSITION_INDEPENDENT_CODE=ON -D CMAKE_CXX_VISIBILITY_PRESET=hidden -D CMAKE_VISIBILITY_INLINES_HIDDEN=ON \
    -D CMAKE_CXX_COMPILER_LAUNCHER=ccache -D CMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
  quietly "$here/$name.log" "$tools/cmake" --build "$here/$name" -j"$jobs"
  quietly "$here/$name.log" "$tools/cmake" --install "$here/$name"
  touch "$here/$name.built"
}

libraries() {
  library highway -D BUILD_TESTING=OFF -D HWY_ENABLE_CONTRIB=OFF -D HWY_ENABLE_EXAMPLES=OFF
  library fmtlib -D FMT_TEST=OFF -D FMT_DOC=OFF
  library onetbb -D TBB_TEST=OFF -D TBB_STRICT=OFF -D TBB_ENABLE_IPO=OFF -D TBBMALLOC_BUILD=OFF -D TBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON
}

# wheel PYTHON: that Python's wheel, into build-wheels/dist.
wheel() {
  version=$("$1" -c 'import sys; print("cp%d%d%s" % (*sys.version_info[:2], sys.abiflags))')
  echo "Building the wheel of $version for $processor"
  headers "$1" "$here/include-$version"
  if [ "$processor" != "$(uname -m)" ]; then  # the stubs come from the module that this system can import
    mkdir -p "$here/build/python"
    for file in _core.pyi py.typed; do
      cp "$work/$(uname -m)/build/python/$file" "$here/build/python/" ||
        { echo "wheels: the type stubs come from the wheel for $(uname -m): build that before" >&2; exit 1; }
    done
    targets=-Cbuild.targets=_core
  else
    targets=-Cbuild.targets=all
  fi
  suffix=$("$1" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))' | sed "s/$(uname -m)/$processor/")
  rm -rf "$here/wheel"
  # shellcheck disable=SC2046
  CMAKE_PREFIX_PATH="$here/prefix" PATH="$tools:$PATH" _PYTHON_HOST_PLATFORM="linux-$processor" SETUPTOOLS_EXT_SUFFIX="$suffix" ORIEL_STABLE_ABI=1 \
    CMAKE_BUILD_PARALLEL_LEVEL="$jobs" SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) CMAKE_GENERATOR=Ninja \
    quietly "$here/wheel.log" "$1" -m build --wheel --no-isolation --skip-dependency-check -o "$here/wheel" $(zig_words -Ccmake.define.) \
    -Cbuild-dir="$here/build" "$targets" -Ccmake.define.BUILD_SHARED_LIBS=OFF -Ccmake.define.ORIEL_WERROR=OFF \
    -Ccmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -Ccmake.define.ORIEL_CUDA=OFF -Ccmake.define.Python_INCLUDE_DIR="$here/include-$version" .
  # auto: for another processor than this auditwheel knows no names of platforms; inspect_wheels.py wants glibc 2.28 or older.
  PATH="$tools:$PATH" quietly "$here/repair.log" "$tools/auditwheel" repair --plat auto -w "$work/dist" "$here"/wheel/*.whl
}

scripts/install_debian.sh debian_packages_wheels.txt
mkdir -p "$work/dist"
make_tools
zig=$("$tools/python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')
export ZIG_GLOBAL_CACHE_DIR="$work/zig-cache" ZIG_LOCAL_CACHE_DIR="$work/zig-cache"
scripts/debian_root.sh --source "$work/sources" $suite highway fmtlib onetbb
make_newer_python
if [ -n "${FREE_THREADED:-}" ]; then
  make_free_threaded
else
  echo "wheels: LEFT OUT: the wheel for free-threaded Python; FREE_THREADED=PATH names one that builds it"
fi
for processor in "$@"; do
  here=$work/$processor
  mkdir -p "$here"
  rm -f "$work"/dist/*_"$processor".whl
  libraries
  wheel "$tools/python"
  wheel "$work/python$newer_python/usr/bin/python"
  [ -z "${FREE_THREADED:-}" ] || wheel "$work/free-threaded/bin/python"
done
"$tools/python" scripts/inspect_wheels.py "$work"/dist/*.whl
