#!/bin/sh
# wheel_dependencies.sh PREFIX: builds what a wheel holds besides Oriel and installs it into PREFIX: Highway and fmt as
# static libraries, oneTBB as a shared one, which auditwheel copies into the wheel. The archives, their versions and
# SHA-256 sums stand in wheel_dependencies.txt; one without a sum, or with another, is refused before it is unpacked.
# wheel_dependencies.sh --update: downloads the archives and writes their sums into that file.
# Archives that are there already are not downloaded: ORIEL_ARCHIVES names their folder (default: a temporary one).
# ORIEL_DEPENDENCIES names another list. Needs curl, sha256sum, tar, cmake and a C++ compiler.
set -eu
list=${ORIEL_DEPENDENCIES:-$(cd "$(dirname "$0")" && pwd)/wheel_dependencies.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
archives=${ORIEL_ARCHIVES:-$work/archives}
mkdir -p "$archives"

fail() {
  echo "wheel_dependencies: $*" >&2
  exit 1
}

# rows: the lines of the list that name an archive.
rows() {
  sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$list"
}

# download ARCHIVE ADDRESS: into the folder of archives, under its name only when it is whole.
download() {
  [ -f "$archives/$1" ] && return
  echo "Downloading $2"
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$archives/$1.part" "$2" ||
    fail "$2: cannot be downloaded"
  mv "$archives/$1.part" "$archives/$1"
}

sum_of() {
  sha256sum "$1" | cut -d ' ' -f 1
}

update() {
  new=$(mktemp "$list.XXXXXX")
  chmod 644 "$new"
  grep '^#' "$list" > "$new" || true
  rows > "$work/rows"
  while read -r name version old address; do
    download "$name-$version.tar.gz" "$address"
    sum=$(sum_of "$archives/$name-$version.tar.gz")
    [ "$sum" = "$old" ] || echo "$name $version: $sum (was $old)"
    echo "$name $version $sum $address" >> "$new"
  done < "$work/rows"
  mv "$new" "$list"
}

# unpack NAME VERSION SUM ADDRESS: the sources in $work/NAME, if the archive is the one that the list names.
unpack() {
  case $3 in
    missing) fail "$1 $2: $list has no SHA-256 of it; run scripts/wheel_dependencies.sh --update, and check what it writes" ;;
    *[!0-9a-f]*) fail "$1 $2: $list gives '$3'; allowed: a SHA-256 of 64 hexadecimal digits, or missing" ;;
  esac
  [ ${#3} -eq 64 ] || fail "$1 $2: $list gives '$3'; allowed: a SHA-256 of 64 hexadecimal digits, or missing"
  download "$1-$2.tar.gz" "$4"
  found=$(sum_of "$archives/$1-$2.tar.gz")
  [ "$found" = "$3" ] || fail "$1 $2: the archive's SHA-256 is $found; $list has $3; nothing was built"
  mkdir -p "$work/$1"
  tar -xzf "$archives/$1-$2.tar.gz" -C "$work/$1" --strip-components=1
}

# build NAME OPTION...: by CMake into the prefix, all as position-independent code.
build() {
  name=$1
  shift
  echo "Building $name"
  cmake -S "$work/$name" -B "$work/build-$name" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@" > "$work/log" 2>&1 &&
    cmake --build "$work/build-$name" --parallel "${JOBS:-$(nproc)}" >> "$work/log" 2>&1 &&
    cmake --install "$work/build-$name" >> "$work/log" 2>&1 || {
    tail -n 60 "$work/log" >&2
    fail "$name was not built"
  }
}

[ -f "$list" ] || fail "$list: there is no such file"
case ${1:-} in
  --update) update ;;
  '' | -*)
    echo "usage: wheel_dependencies.sh PREFIX | --update" >&2
    exit 2
    ;;
  *)
    prefix=$1
    rows > "$work/rows"
    while read -r name version sum address; do  # all of them before anything is built
      unpack "$name" "$version" "$sum" "$address"
    done < "$work/rows"
    for name in highway fmt oneTBB; do
      [ -d "$work/$name" ] || fail "$list names no $name"
    done
    build highway -DBUILD_SHARED_LIBS=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
    build fmt -DBUILD_SHARED_LIBS=OFF -DFMT_TEST=OFF -DFMT_DOC=OFF
    build oneTBB -DBUILD_SHARED_LIBS=ON -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF
    echo "$prefix holds $(rows | awk '{printf "%s%s %s", separator, $1, $2; separator = ", "}')"
    ;;
esac
