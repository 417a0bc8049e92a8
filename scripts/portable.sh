#!/bin/sh
# portable.sh [PRESET...]: builds the library for foreign processors with Debian's cross compilers and runs its fast tests in emulation (qemu). Presets: arm64, s390x; both unless told. TESTS=REGEX picks tests. Ends with 77 if Debian's packages for a processor cannot be had.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
[ $# -gt 0 ] || set -- arm64 s390x

# Unpacks Debian's libraries of an architecture (LIBRARIES) into build-ARCHITECTURE/root; nothing is installed.
unpack() {
  folder=$PWD/build-$1
  [ "$(cat "$folder/root/unpacked" 2>/dev/null)" = "$libraries" ] && return
  echo "Unpacking libraries for $1 into $folder/root"
  rm -rf "$folder/root" "$folder/apt"
  mkdir -p "$folder/root" "$folder/apt/lists/partial" "$folder/apt/archives/partial"
  touch "$folder/apt/status"
  set -- -qq -o Acquire::Retries=3 -o APT::Architecture="$1" -o APT::Architectures::="$1" -o Dir::State::status="$folder/apt/status" \
    -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt" -o APT::Sandbox::User=
  # shellcheck disable=SC2086
  if ! { apt-get "$@" update && (cd "$folder/apt/archives" && apt-get "$@" download $libraries); }; then
    echo "SKIPPED: portable: Debian's packages for this processor could not be downloaded, so NOTHING was built for it: ${folder##*build-}"
    exit 77
  fi
  for package in "$folder"/apt/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
  rm -r "$folder/apt"
  echo "$libraries" >"$folder/root/unpacked"
}

libraries="libhwy-dev libhwy1 libtbb-dev libtbb12 libtbbmalloc2 libtbbbind-2-5 libfmt-dev libfmt9 libgtest-dev nlohmann-json3-dev
libzip-dev libzip4 zlib1g-dev zlib1g libbz2-1.0 liblzma5 libzstd1 libssl3"

for preset in "$@"; do
  case $preset in
    arm64 | s390x) ;;
    *) echo "portable: unknown preset '$preset'; allowed: arm64, s390x" >&2; exit 2 ;;
  esac
done
scripts/install_debian.sh debian_packages_portable.txt
for preset in "$@"; do
  unpack "$preset"
  cmake --preset "$preset" >build-configure.log 2>&1 || { cat build-configure.log; rm build-configure.log; exit 1; }
  rm build-configure.log
  # shellcheck disable=SC2086  # several targets
  cmake --build --preset "$preset" -j"$jobs" --target ${TARGETS:-all}
  ctest --preset "$preset" -j"$jobs" --no-tests=error --output-junit results.xml -L fast -R "${TESTS:-.}"
done
