#!/bin/sh
# install_debian.sh [LIST...]: installs the Debian packages of LISTs (debian_packages.txt) that are missing; does nothing when none is.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- debian_packages.txt

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "install_debian: this is not a Debian system; install by hand what these files in scripts/ name: $*" >&2
  exit 0
fi

wanted=$(cat "$@" | sed 's/#.*//')
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f '${Package} ${Status}\n' $wanted 2>/dev/null | sed -n 's/ install ok installed$//p') || true
missing=
for package in $wanted; do
  case "
$installed
" in
    *"
$package
"*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "Packages are missing. Run this line, then try again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi
echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"; }
# What a run that was cut off left unpacked: apt-get refuses to work until it is configured.
dpkg --configure -a
apt update -qq
# shellcheck disable=SC2086
apt install -y -qq --no-install-recommends $missing
