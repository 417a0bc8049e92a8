#!/bin/sh
# new_compilers.sh [SUITE:COMPILER...]: compiles the library with compilers and libraries of newer Debian suites, and checks the shared vectors with it. Unless told: trixie:g++ trixie:clang++ sid:g++ sid:clang++ (g++ 14 and 15, clang 19 and 21). Everything lies in build-compilers; needs root, for chroot.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
[ $# -gt 0 ] || set -- trixie:g++ trixie:clang++ sid:g++ sid:clang++
[ "$(id -u)" -eq 0 ] || { echo "new_compilers: the compilers run in a chroot, which only root may enter; run: sudo scripts/new_compilers.sh" >&2; exit 1; }
work=$PWD/build-compilers

for pair in "$@"; do
  suite=${pair%%:*} compiler=${pair#*:}
  case $pair in
    trixie:g++ | trixie:clang++ | sid:g++ | sid:clang++) ;;
    *) echo "new_compilers: unknown '$pair'; allowed: trixie:g++, trixie:clang++, sid:g++, sid:clang++" >&2; exit 2 ;;
  esac
  root=$work/$suite
  scripts/debian_root.sh "$root" "$suite" "$(dpkg --print-architecture)" dash coreutils g++ clang cmake ninja-build python3-minimal \
    libhwy-dev libtbb-dev libfmt-dev libgtest-dev
  mkdir -p "$root/dev" "$root/tmp" "$root/tree"
  [ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
  [ -e "$root/dev/urandom" ] || mknod -m 444 "$root/dev/urandom" c 1 9
  ln -sf dash "$root/usr/bin/sh"
  mkdir -p "$work/build-$suite-$compiler"
  echo "new_compilers: $suite has $(chroot "$root" "$compiler" --version | head -n 1)"
  # What is mounted is gone when the inner shell ends.
  # shellcheck disable=SC2016  # expanded by the inner shells
  unshare -m sh -ec 'root=$1 tree=$2 build=$3 compiler=$4 jobs=$5
    mkdir -p "$root$tree" "$root$build"
    mount --bind "$tree" "$root$tree"
    exec chroot "$root" /usr/bin/env -i PATH=/usr/bin HOME=/tmp LANG=C.UTF-8 sh -ec '\''
      cd "$0"
      cmake -S . -B "$1" -G Ninja -D CMAKE_BUILD_TYPE=None -D CMAKE_CXX_COMPILER="$2" -D CMAKE_CXX_FLAGS="-O1 -march=haswell" \
        -D ORIEL_BASELINE_TARGET_ONLY=ON -D ORIEL_BUILD_C=OFF -D ORIEL_BUILD_CLI=OFF -D ORIEL_BUILD_EXAMPLES=OFF -D ORIEL_BUILD_HDF5=OFF \
        -D ORIEL_BUILD_MPI=OFF -D ORIEL_BUILD_NN=OFF -D ORIEL_BUILD_PORTRAIT=OFF -D ORIEL_CUDA=OFF
      cmake --build "$1" -j"$3" --target hash_vectors
      "$1/bin/hash_vectors" tests/vectors/vectors.txt'\'' "$tree" "$build" "$compiler" "$jobs"' \
    sh "$root" "$PWD" "$work/build-$suite-$compiler" "$compiler" "$jobs" >"$work/$suite-$compiler.log" 2>&1 ||
    { tail -n 40 "$work/$suite-$compiler.log"; echo "new_compilers: $pair failed: $work/$suite-$compiler.log" >&2; exit 1; }
  tail -n 1 "$work/$suite-$compiler.log"
done
