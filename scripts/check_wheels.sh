#!/bin/sh
# check_wheels.sh [ARCHITECTURE...]: installs the wheels of build-wheels/dist (scripts/wheels.sh) in systems that have
# nothing but Python and the libstdc++ that NumPy needs: no compiler, no library of ours, a user who is not root, and pip is
# given a folder instead of an index. There it times the installation, pools an array, and runs the tests that need no
# framework. aarch64 runs in emulation (qemu). The systems are Debian's bookworm (Python 3.11), trixie (3.13) and sid
# (3.14); SYSTEMS names others of them. Needs root, for chroot.
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
  scripts/debian_root.sh "$root" "$1" "$(debian "$processor")" "$2" dash coreutils libstdc++6
  mkdir -p "$root/dev"
  [ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
  [ -e "$root/dev/urandom" ] || mknod -m 444 "$root/dev/urandom" c 1 9
  rm -rf "$root/work"
  mkdir -p "$root/tmp" "$root/wheels" "$root/work/tests"
  chmod 1777 "$root/tmp" "$root/work"
  add_emulator
  rm -f "$root"/wheels/oriel_pool-*
  cp "$work"/dist/*.whl "$root/wheels/"
  cp tests/python/*.py "$root/work/tests/"
  version=${2#python}
  # shellcheck disable=SC2086
  "$tools/python" -m pip download -q --disable-pip-version-check -d "$root/wheels" --only-binary=:all: --python-version "$version" \
    --platform "manylinux_2_28_$processor" --platform "manylinux_2_27_$processor" --platform "manylinux_2_17_$processor" --platform "manylinux2014_$processor" \
    pip numpy $needs
}

# inside WORD...: runs it in the system as nobody, in the emulator if it is of another architecture.
inside() {
  emulator=
  [ ! -e "$root/emulator" ] || emulator=/emulator
  # shellcheck disable=SC2086
  env -i HOME=/tmp PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$packages" LANG=C.UTF-8 \
    "$(command -v chroot)" --userspec=65534:65534 "$root" $emulator "$@"
}

# The installation and three lines, timed; then the tests.
check_system() {
  pip=$(basename "$root"/wheels/pip-*.whl)
  began=$(date +%s)
  packages=/work/packages
  inside "/usr/bin/$1" "/wheels/$pip/pip" install -q --no-index --find-links /wheels --no-compile --target /work/packages oriel-pool
  installed=$(date +%s)
  inside "/usr/bin/$1" -c 'import numpy as np
import oriel
print(oriel.max_pool(np.arange(16.0).reshape(4, 4), 2))' | tee "$root/tmp/said"
  [ "$(tr -d ' .\n' < "$root/tmp/said")" = '[[57][1315]]' ] || { echo "check_wheels: a wrong result" >&2; exit 1; }
  ended=$(date +%s)
  echo "check_wheels: $processor $1: installed in $((installed - began)) s, imported and pooled in $((ended - installed)) s"
  # shellcheck disable=SC2086
  inside "/usr/bin/$1" "/wheels/$pip/pip" install -q --no-index --find-links /wheels --no-compile --target /work/others $needs
  packages=/work/packages:/work/others
  files=$tests
  if [ -e "$root/emulator" ]; then
    files=$emulated
    echo "check_wheels: left out in emulation, of: $tests; run: $emulated"
  fi
  # shellcheck disable=SC2046,SC2086
  inside "/usr/bin/$1" -m pytest -q -p no:cacheprovider --rootdir /work/tests $(printf '/work/tests/%s ' $files)
}

# The vectors by the library that the wheels hold, on each instruction set, in a system with an older glibc (2.31) that has
# nothing else; it has no Python that is new enough for the wheels.
check_vectors() {
  here=$work/$processor
  root=$work/systems/bullseye-$processor
  scripts/debian_root.sh "$root" bullseye "$(debian "$processor")" libc6
  add_emulator
  "$here/zig/c++" -std=c++20 -O1 -s -ffp-contract=off -I include -I tests -I src tests/vectors/hash_vectors.cc tests/vectors/file.cc \
    tests/vectors/names.cc tests/vectors/vector.cc "$here/build/lib/liboriel.a" "$here"/prefix/lib/lib*.a -o "$root/hash_vectors"
  cp tests/vectors/vectors.txt "$root/"
  packages=
  inside /hash_vectors --targets /vectors.txt
}

for processor in "$@"; do
  for system in ${SYSTEMS:-bookworm:python3.11 trixie:python3.13 sid:python3.14}; do
    suite=${system%%:*} python=${system#*:}
    root=$work/systems/$suite-$processor
    make_system "$suite" "$python"
    check_system "$python"
  done
  check_vectors
done
echo "check_wheels: all passed: $*"
