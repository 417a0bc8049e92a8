#!/bin/sh
# wasm.sh: builds apps/wasm (Oriel for browsers and node) with emscripten of Debian's suite trixie and tests it in node. The tools are installed into build-wasm/root, nothing into this system; that needs root. Ends with 77 if they cannot be had. ORIEL=path names the native command to compare with (build/bin/oriel).
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
folder=$PWD/build-wasm
root=$folder/root
suite=trixie
packages="emscripten nodejs cmake ninja-build nlohmann-json3-dev"
sources="highway fmtlib"

skip() {
  echo "SKIPPED: wasm: $1, so NOTHING was built for WebAssembly"
  exit 77
}

# Runs a command in the root, in this folder. What is mounted for it is gone when it ends.
in_root() {
  # shellcheck disable=SC2016  # expanded by the inner shells
  unshare -m sh -ec 'root=$1 tree=$2; shift 2
    mount -t proc proc "$root/proc"
    mkdir -p "$root$tree"
    mount --bind "$tree" "$root$tree"
    exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      sh -ec '\''cd "$0"; exec "$@"'\'' "$tree" "$@"' sh "$root" "$PWD" "$@"
}

# The tools.
make_root() {
  [ "$(id -u)" -eq 0 ] || skip "the tools live in a root of their own, which only root can make and enter; run: sudo make wasm"
  unshare -m true 2>/dev/null || skip "this system does not let root mount (a container without CAP_SYS_ADMIN)"
  [ "$(cat "$root/ready" 2>/dev/null)" = "$suite $packages $sources" ] && return
  command -v debootstrap >/dev/null || scripts/install_debian.sh debian_packages_wasm.txt || skip "debootstrap cannot be installed"
  if ! [ -e "$root/installed" ]; then
    # shellcheck disable=SC2016  # apt-get fills this in
    repository=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | grep -v security | head -n 1)
    echo "Installing Debian's suite $suite into $root"
    rm -rf --one-file-system "$root"
    mkdir -p "$folder"
    unshare -m debootstrap --variant=minbase "$suite" "$root" "$repository" >"$folder/debootstrap.log" 2>&1 ||
      { tail -n 5 "$folder/debootstrap.log"; skip "Debian's suite $suite cannot be had (build-wasm/debootstrap.log)"; }
    printf 'deb %s %s main\ndeb-src %s %s main\n' "$repository" "$suite" "$repository" "$suite" >"$root/etc/apt/sources.list"
    touch "$root/installed"
  fi
  echo "Installing emscripten into $root"
  # shellcheck disable=SC2086  # lists
  if ! { in_root apt-get update -qq && in_root apt-get install -y -qq --no-install-recommends $packages &&
    in_root sh -ec 'mkdir -p /sources && cd /sources && apt-get source -qq --download-only "$@"' sh $sources; } \
    >"$folder/apt.log" 2>&1; then
    tail -n 5 "$folder/apt.log"
    skip "Debian's packages of $suite cannot be had (build-wasm/apt.log)"
  fi
  echo "$suite $packages $sources" >"$root/ready"
}

# Libraries that Oriel needs, from Debian's sources, into build-wasm/prefix: NAME CMAKE_ARGUMENT...
make_library() {
  library=$1
  shift
  how="$* $(cksum <cmake/wasm.cmake)"
  [ "$(cat "$folder/prefix/$library" 2>/dev/null)" = "$how" ] && return
  echo "Building $library"
  # shellcheck disable=SC2016  # expanded in the root
  in_root sh -ec 'name=$1 folder=$2 jobs=$3; shift 3
    mkdir -p "/sources/$name"
    tar -xf "/sources/${name}"_*.orig.tar.* -C "/sources/$name" --strip-components=1
    cmake -S "/sources/$name" -B "$folder/$name" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$PWD/cmake/wasm.cmake" -D CMAKE_BUILD_TYPE=Release \
      -D CMAKE_INSTALL_PREFIX="$folder/prefix" "$@"
    cmake --build "$folder/$name" -j"$jobs"
    cmake --install "$folder/$name"' sh "$library" "$folder" "$jobs" "$@" >"$folder/$library.log" 2>&1 ||
    { tail -n 20 "$folder/$library.log"; exit 1; }
  echo "$how" >"$folder/prefix/$library"
}

# The library without threads, natively: the same hashes. Its objects are those of the release build, but for one, and
# ccache finds them, as this folder lies where build/ does.
check_without_threads() {
  native=build-without-threads
  cmake -S . -B $native -G Ninja -D ORIEL_THREADS=none -D ORIEL_CUDA=OFF -D CMAKE_BUILD_TYPE=Release >"$folder/native.log" 2>&1 ||
    { cat "$folder/native.log"; exit 1; }
  cmake --build $native -j"$jobs" --target hash_vectors
  $native/bin/hash_vectors tests/vectors/vectors.txt
  if ldd $native/bin/hash_vectors | grep tbb; then
    echo "wasm: a build with ORIEL_THREADS=none must not need oneTBB" >&2
    exit 1
  fi
}

# What the native command says and computes, for the module to agree with: build-wasm/expected.
ask_command() {
  rm -rf "$folder/expected"
  in_root node apps/wasm/tests/write_inputs.mjs "$folder/expected"
  number=0
  while read -r name; do
    number=$((number + 1))
    "$oriel" explain --json --svg "$folder/expected/explain_$number.svg" "$name" >"$folder/expected/explain_$number.json"
  done <apps/wasm/tests/names.txt
  # shellcheck disable=SC2086  # words of a command
  while read -r words; do (cd "$folder/expected" && "$oriel" pool $words); done <"$folder/expected/pools.txt"
}

make_root
oriel=$(realpath -m "${ORIEL:-build/bin/oriel}")
[ -x "$oriel" ] || { echo "wasm: $oriel must be the native command (make build makes it; ORIEL=path names another)" >&2; exit 1; }
make_library highway -D HWY_ENABLE_TESTS=OFF -D HWY_ENABLE_EXAMPLES=OFF -D HWY_ENABLE_CONTRIB=OFF
make_library fmtlib -D FMT_TEST=OFF -D FMT_DOC=OFF
# shellcheck disable=SC2016  # expanded in the root
in_root sh -ec 'mkdir -p "$0/include" "$0/share/cmake"
  cp -a /usr/include/nlohmann "$0/include"
  cp -a /usr/share/cmake/nlohmann_json "$0/share/cmake"' "$folder/prefix"
in_root cmake --preset wasm >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; exit 1; }
in_root cmake --build --preset wasm -j"$jobs" --target oriel_wasm hash_vectors
in_root ctest --preset wasm --no-tests=error -R '^vectors$'
ask_command
in_root node apps/wasm/tests/module_test.mjs "$folder/build/module" "$folder/expected" apps/wasm/tests/names.txt
in_root node apps/wasm/tests/docs_test.mjs "$folder/build/module" docs/wasm.md
in_root node apps/wasm/tests/size.mjs "$folder/build/module"
check_without_threads
echo "wasm: build-wasm/build/module has oriel.wasm and oriel.mjs"
