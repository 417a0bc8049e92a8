#!/bin/sh
# debian_root.sh FOLDER SUITE ARCHITECTURE PACKAGE...: unpacks packages of a Debian suite, and all that they need, into
# FOLDER, for any architecture; nothing is installed here and nothing in FOLDER is configured. Needs no root.
# debian_root.sh --source FOLDER SUITE PACKAGE...: unpacks source packages, each into FOLDER/PACKAGE.
# Does nothing if FOLDER has them already.
set -eu

fail() {
  echo "debian_root: $*" >&2
  exit 1
}

# Words for apt-get, in the file $apt/words: a configuration of its own, which knows of no installed package.
private_apt() {
  rm -rf "$folder"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  touch "$apt/status"
  # shellcheck disable=SC2016  # apt-get fills this in
  repository=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | grep -v security | head -n 1)
  [ -n "$repository" ] || fail "apt-get knows no repository of Debian"
  signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
  echo "$1 $signed $repository $suite main" > "$apt/sources.list"
  cat > "$apt/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Retries "3";
Debug::NoLocking "true";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
END
  export APT_CONFIG="$apt/apt.conf"
  apt-get -qq update
}

unpack_packages() {
  # shellcheck disable=SC2086
  apt-get -qq -y --download-only install $packages > "$apt/log" 2>&1 || { cat "$apt/log" >&2; fail "$suite has not all of: $packages"; }
  for name in bin sbin lib lib64; do
    mkdir -p "$folder/usr/$name"
    ln -s "usr/$name" "$folder/$name"
  done
  for package in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -C "$folder" --keep-directory-symlink --no-same-owner -xf -
  done
}

unpack_sources() {
  for package in $packages; do
    (cd "$apt/archives" && apt-get -qq source --download-only --only-source "$package" > "$apt/log" 2>&1) || { cat "$apt/log" >&2; fail "$suite has no source package $package"; }
    dpkg-source --no-check -x "$apt/archives/${package}_"*.dsc "$folder/$package" > "$apt/log" 2>&1 || { cat "$apt/log" >&2; fail "$package was not unpacked"; }
  done
  rm -f "$folder"/*.orig.*
}

kind=deb
if [ "${1:-}" = --source ]; then
  kind=deb-src
  shift
  [ $# -ge 3 ] || { echo "usage: debian_root.sh --source FOLDER SUITE PACKAGE..." >&2; exit 2; }
  architecture=$(dpkg --print-architecture)
  folder=$1 suite=$2
  shift 2
else
  [ $# -ge 4 ] || { echo "usage: debian_root.sh FOLDER SUITE ARCHITECTURE PACKAGE..." >&2; exit 2; }
  folder=$1 suite=$2 architecture=$3
  shift 3
fi
packages=$*
what="$kind $suite $architecture $packages"
[ "$(cat "$folder/unpacked" 2>/dev/null)" = "$what" ] && exit 0
mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
apt=$folder/apt
echo "Unpacking into $folder ($suite, $architecture): $packages"
private_apt "$kind"
if [ "$kind" = deb ]; then unpack_packages; else unpack_sources; fi
rm -r "$apt"
echo "$what" > "$folder/unpacked"
