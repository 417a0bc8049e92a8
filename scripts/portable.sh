#!/bin/sh
# portable.sh [PRESET...]: builds the library for foreign processors with Debian's cross compilers and runs its fast tests in emulation (qemu). Presets: arm64, s390x; both unless told.
set -eu
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
[ $# -gt 0 ] || set -- arm64 s390x

install() {  # Debian's name of the architecture, that of its compiler
  foreign="libhwy-dev libtbb-dev libfmt-dev libzip-dev zlib1g-dev libgtest-dev"
  packages="g++-$2 qemu-user-static nlohmann-json3-dev ninja-build cmake ccache pkg-config"
  for package in $foreign; do packages="$packages $package:$1"; done
  # shellcheck disable=SC2086
  dpkg-query -W $packages >/dev/null 2>&1 && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "Packages are missing. Run these lines, then try again:" >&2
    echo "  sudo dpkg --add-architecture $1 && sudo apt-get update" >&2
    echo "  sudo apt-get install -y --no-install-recommends $packages" >&2
    exit 1
  fi
  echo "Installing a compiler and libraries for $1"
  dpkg --add-architecture "$1"
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
}

for preset in "$@"; do
  case $preset in
    arm64) install arm64 aarch64-linux-gnu ;;
    s390x) install s390x s390x-linux-gnu ;;
    *) echo "portable: unknown preset '$preset'; allowed: arm64, s390x" >&2; exit 2 ;;
  esac
  cmake --preset "$preset" >build-configure.log || { cat build-configure.log; rm build-configure.log; exit 1; }
  rm build-configure.log
  cmake --build --preset "$preset" -j"$jobs"
  ctest --preset "$preset" -j"$jobs" --no-tests=error -L fast
done
