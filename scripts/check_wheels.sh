#!/bin/sh
# check_wheels.sh [ARCHITECTURE...]: installs the wheels of build-wheels/dist (scripts/wheels.sh) in systems that have
# nothing but Python and the libstdc++ that NumPy needs: no compiler, no library of ours, a user who is not root, and pip is
# given a folder instead of an index. There it times the installation, pools an array, and runs the tests that need no
# framework. aarch64 runs in emulation (qemu). The systems are Debian's bullseye (glibc 2.31; Python 3.13 is compiled for it,
# since its own is too old: x86_64 only), bookworm (Python 3.11), trixie (3.13) and sid (3.14); SYSTEMS names others of them.
# Needs root, for chroot.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/build-wheels
tools=$work/tools/bin
[ $# -gt 0 ] || set -- x86_64 aarch64
[ "$(id -u)" -eq 0 ] || { echo "check_wheels: chroot needs root; what is installed and run inside runs as nobody" >&2; exit 1; }
# What the tests import besides NumPy, and the tests that need no framework.
needs="pytest scipy scikit-image ml_dtypes threadpoolctl"
tests="test_block.py test_filters.py test_threads.py test_threadpool.py test_load_error.py test_tile.py"
# Those of them that start no other program, which an emulator inside chroot does not.
emulated="test_block.py test_filters.py test_tile.py"

# Architecture by the name of Debian.
debian() {
  case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) echo "check_wheels: unknown architecture '$1'; allowed: x86_64, aarch64" >&2; exit 2 ;;
  esac
}

add_emulator() {
  case $processor in "$(uname -m)") ;; *) cp "$(command -v "qemu-$processor-static")" "$root/emulator" ;; esac
}

# The bare system $root of suite $1 with the interpreter $2, and what pip installs from in its folder /wheels.
make_system() {
  case $1 in
    bullseye) basis="libc6 zlib1g libffi7" ;;
    *) basis=$2 ;;
  esac
  # shellcheck disable=SC2086
  scripts/debian_root.sh "$root" "$1" "$(debian "$processor")" $basis dash coreutils libstdc++6
  mkdir -p "$root/dev/shm"
  chmod 1777 "$root/dev/shm"
  [ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
  [ -e "$root/dev/urandom" ] || mknod -m 444 "$root/dev/urandom" c 1 9
  rm -rf "$root/trial"
  mkdir -p "$root/tmp" "$root/wheels" "$root/trial/tests"
  chmod 1777 "$root/tmp" "$root/trial"
  add_emulator
  rm -f "$root"/wheels/oriel_pool-*
  cp "$work"/dist/*.whl "$root/wheels/"
  cp tests/python/*.py "$root/trial/tests/"
  version=${2#python}
  # shellcheck disable=SC2086
  "$tools/python" -m pip download -q --disable-pip-version-check -d "$root/wheels" --only-binary=:all: --python-version "$version" \
    --platform "manylinux_2_28_$processor" --platform "manylinux_2_27_$processor" --platform "manylinux_2_17_$processor" --platform "manylinux2014_$processor" \
    pip numpy $needs
}

# Python 3.13 for glibc 2.28 or newer into the bare system $root, at /opt/python: Debian's source, compiled by zig.
make_old_python() {
  [ -f "$root/opt/python/installed" ] && return
  for library in zlib1g-dev libffi-dev; do
    scripts/debian_root.sh "$work/old-python/$library" bullseye "$(debian "$processor")" "$library"
  done
  scripts/debian_root.sh --source "$work/old-python/source" trixie python3.13
  words=$work/$processor/zig
  mkdir -p "$work/old-python/include" "$work/old-python/lib" "$work/old-python/build"
  for library in zlib1g-dev libffi-dev; do
    found=$work/old-python/$library/usr
    find "$found/include" \( -name 'z*.h' -o -name 'ffi*.h' \) -exec cp {} "$work/old-python/include/" \;
    find "$found/lib" \( -name libz.so -o -name libffi.so \) -exec cp -L {} "$work/old-python/lib/" \;
  done
  echo "Building Python 3.13 for glibc 2.28"
  include=-I$work/old-python/include libraries=-L$work/old-python/lib
  (
    cd "$work/old-python/build"
    "$work/old-python/source/python3.13/configure" -q --prefix=/opt/python --without-ensurepip --disable-test-modules CC="$words/cc" CXX="$words/c++" \
      AR="$words/ar" RANLIB="$words/ranlib" OPT="-O1 -DNDEBUG" ZLIB_CFLAGS="$include" ZLIB_LIBS="$libraries -lz" \
      LIBFFI_CFLAGS="$include" LIBFFI_LIBS="$libraries -lffi"
    make -s -j"${JOBS:-$(nproc)}"
    make -s install DESTDIR="$root"
  ) > "$work/old-python/log" 2>&1 || { tail -n 40 "$work/old-python/log" >&2; echo "check_wheels: Python was not built" >&2; exit 1; }
  touch "$root/opt/python/installed"
}

# inside WORD...: runs it in the system as nobody, in the emulator if it is of another architecture.
inside() {
  emulator=
  [ ! -e "$root/emulator" ] || emulator=/emulator
  # shellcheck disable=SC2086
  env -i HOME=/tmp PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$packages" LANG=C.UTF-8 \
    "$(command -v chroot)" --userspec=65534:65534 "$root" $emulator "$@"
}

# The installation and three lines by the interpreter $1, timed; then the tests.
check_system() {
  pip=$(basename "$root"/wheels/pip-*.whl)
  began=$(date +%s)
  packages=/trial/packages
  inside "$1" "/wheels/$pip/pip" install -q --no-index --find-links /wheels --no-compile --target /trial/packages oriel-pool
  installed=$(date +%s)
  inside "$1" -c 'import numpy as np
import oriel
print(oriel.max_pool(np.arange(16.0).reshape(4, 4), 2))' | tee "$root/tmp/said"
  [ "$(tr -d ' .\n' < "$root/tmp/said")" = '[[57][1315]]' ] || { echo "check_wheels: a wrong result" >&2; exit 1; }
  ended=$(date +%s)
  echo "check_wheels: $processor $suite $(basename "$1"): installed in $((installed - began)) s, imported and pooled in $((ended - installed)) s"
  # shellcheck disable=SC2086
  inside "$1" "/wheels/$pip/pip" install -q --no-index --find-links /wheels --no-compile --target /trial/others $needs
  packages=/trial/packages:/trial/others
  files=$tests
  if [ -e "$root/emulator" ]; then
    files=$emulated
    echo "check_wheels: left out in emulation, of: $tests; run: $emulated"
  fi
  # shellcheck disable=SC2046,SC2086
  inside "$1" -m pytest -q -rs -p no:cacheprovider --rootdir /trial/tests $(printf '/trial/tests/%s ' $files)
}

# The vectors by the library that the wheels hold, on each instruction set, in a system with an older glibc (2.31) that has
# nothing else.
check_vectors() {
  here=$work/$processor
  root=$work/systems/glibc2.31-$processor
  scripts/debian_root.sh "$root" bullseye "$(debian "$processor")" libc6
  add_emulator
  "$here/zig/c++" -std=c++20 -O1 -s -ffp-contract=off -I include -I tests -I src tests/vectors/hash_vectors.cc tests/vectors/file.cc \
    tests/vectors/names.cc tests/vectors/vector.cc "$here/build/lib/liboriel.a" "$here"/prefix/lib/lib*.a -o "$root/hash_vectors"
  cp tests/vectors/vectors.txt "$root/"
  packages=
  inside /hash_vectors --targets /vectors.txt
}

for processor in "$@"; do
  for system in ${SYSTEMS:-bookworm:python3.11 trixie:python3.13 sid:python3.14 bullseye:python3.13}; do
    suite=${system%%:*} python=${system#*:}
    root=$work/systems/$suite-$processor
    if [ "$suite" = bullseye ] && [ "$processor" != "$(uname -m)" ]; then
      echo "check_wheels: LEFT OUT: $system for $processor: Python for it is compiled for this machine's processor only"
      continue
    fi
    make_system "$suite" "$python"
    interpreter=/usr/bin/$python
    if [ "$suite" = bullseye ]; then
      make_old_python
      interpreter=/opt/python/bin/$python
    fi
    check_system "$interpreter"
  done
  check_vectors
done
echo "check_wheels: all passed: $*"
