#!/bin/sh
# new_highway.sh [SUITE...]: compiles the library's kernels against the Highway of newer Debian suites (trixie, sid unless told), as for a processor whose AVX-512 that Highway knows by a newer name, and checks that none is missing.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
[ $# -gt 0 ] || set -- trixie sid

# Unpacks libhwy-dev of a suite into build-highway-SUITE/root; nothing is installed.
unpack() {
  folder=$PWD/build-highway-$1
  [ -f "$folder/root/usr/include/hwy/highway.h" ] && return
  # shellcheck disable=SC2016  # apt-get fills this in
  repository=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | grep -v security | head -n 1)
  mkdir -p "$folder/root" "$folder/apt/lists/partial" "$folder/apt/archives/partial"
  touch "$folder/apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $repository $1 main" >"$folder/apt/sources.list"
  set -- -qq -o Acquire::Retries=3 -o APT::Architectures::="$(dpkg --print-architecture)" -o Dir::State::status="$folder/apt/status" -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt" \
    -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=
  apt-get "$@" update
  (cd "$folder/apt/archives" && apt-get "$@" download libhwy-dev libhwy1t64)
  for package in "$folder"/apt/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
  rm -r "$folder/apt"
}

for suite in "$@"; do
  unpack "$suite"
  build=build-highway-$suite
  sed -n 's/.*HWY_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' "$build/root/usr/include/hwy/base.h" "$build/root/usr/include/hwy/highway.h" |
    sort -u | tr '\n' '.' | sed "s/^/new_highway: $suite has version parts /; s/\.$/\n/"
  cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS=-march=sapphirerapids \
    -D ORIEL_BASELINE_TARGET_ONLY=ON -D hwy_DIR="$PWD/$build/root/usr/lib/$(uname -m)-linux-gnu/cmake/hwy" \
    -D ORIEL_BUILD_CLI=OFF -D ORIEL_BUILD_EXAMPLES=OFF -D ORIEL_BUILD_HDF5=OFF -D ORIEL_BUILD_MPI=OFF -D ORIEL_BUILD_NN=OFF \
    -D ORIEL_BUILD_PORTRAIT=OFF -D ORIEL_BUILD_TESTS=OFF -D ORIEL_CUDA=OFF >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log"; exit 1; }
  cmake --build "$build" --target oriel -j"$jobs"
  python3 scripts/codegen.py "$build" --has AVX3
done
