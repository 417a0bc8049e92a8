#!/bin/sh
# build_deb.sh [--lint] [--check] [FOLDER]: builds the Debian packages liboriel0.2, liboriel-c1, liboriel-dev and oriel
# of this checkout into FOLDER (build-deb), by packaging/debian and the install rules of CMake. Installs nothing.
#   --lint   runs lintian on them; an error or a warning is a failure
#   --check  as root: installs them in a new system that debootstrap makes, and runs packaging/debian/tests there
# SUITE and MIRROR name that system's suite and archive (those of this machine); JOBS the compilers at once.
# DEB_BUILD_OPTIONS and the DEB_*_SET variables of dpkg-buildflags are respected.
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "build_deb: $*" >&2
  exit 1
}

# need PROGRAM PACKAGE: fails with the line to run if the program is not there.
need() {
  command -v "$1" >/dev/null 2>&1 || fail "there is no $1; run: apt-get install -y --no-install-recommends $2"
}

lint=no
check=no
folder=build-deb
for word in "$@"; do
  case $word in
    --lint) lint=yes ;;
    --check) check=yes ;;
    -*)
      echo "usage: build_deb.sh [--lint] [--check] [FOLDER]" >&2
      exit 2
      ;;
    *) folder=$word ;;
  esac
done

need dpkg-buildpackage dpkg-dev
need dh debhelper
[ $lint = no ] || need lintian lintian
if [ $check = yes ]; then
  need debootstrap debootstrap
  need unshare util-linux
  [ "$(id -u)" -eq 0 ] || fail "--check makes a system with debootstrap, which needs root"
fi
version=$(sed -n 's/^project(oriel VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
packaged=$(sed -n '1s/^oriel (\([^)]*\)-[^-)]*).*/\1/p' packaging/debian/changelog)
[ "$version" = "$packaged" ] || fail "CMakeLists.txt has version $version, packaging/debian/changelog $packaged"
dpkg-checkbuilddeps packaging/debian/control || fail "install what dpkg-checkbuilddeps names above"

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tree=$folder/oriel-$version
rm -rf "$tree"
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard -- . ':!packaging' | tar --null --files-from=- --create | tar -x -C "$tree"
cp -R packaging/debian "$tree/debian"

# The compiler cache, if there is one, is that of other builds: debhelper gives compilers a home of their own.
export CCACHE_DIR="${CCACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ccache}"
export DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)} noautodbgsym ${DEB_BUILD_OPTIONS:-}"
rm -f "$folder"/*.deb "$folder"/*.changes "$folder"/*.buildinfo
(cd "$tree" && dpkg-buildpackage --build=binary --unsigned-changes --unsigned-source)
for package in liboriel0.2 liboriel-c1 liboriel-dev oriel; do
  ls "$folder/${package}_$version"-*.deb
done
rm -rf "$tree"

if [ $lint = yes ]; then
  # There is no bug of Debian's that asks for these packages.
  lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --allow-root "$folder"/*.changes
  echo "lintian: nothing found"
fi
[ $check = yes ] || exit 0

suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
# shellcheck disable=SC2016  # the words are apt-get's
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 'Created-By: Packages' | head -n 1)}
[ -n "$mirror" ] || fail "this machine's sources of apt have no suite $suite; allowed: SUITE and MIRROR that belong together"
system=$folder/system
rm -rf "$system"
debootstrap --variant=minbase "$suite" "$system" "$mirror"
mkdir "$system/packages"
cp "$folder"/*.deb packaging/debian/tests/command packaging/debian/tests/consumer "$system/packages/"
cat > "$system/packages/run" << 'RUN'
set -eu
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "$@"; }
install /packages/liboriel0.2_*.deb /packages/oriel_*.deb
/packages/command
install /packages/liboriel-c1_*.deb /packages/liboriel-dev_*.deb cmake g++ make pkg-config
/packages/consumer
dpkg --purge oriel liboriel-dev liboriel-c1 liboriel0.2
test ! -e /usr/bin/oriel && test ! -e /usr/include/oriel
RUN
# In a space of mounts of its own, so that nothing stays mounted.
# shellcheck disable=SC2016  # the inner shell's
unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" sh /packages/run' "$system"
rm -rf "$system"
echo "build_deb: installed, used and purged in a new system of $suite"
