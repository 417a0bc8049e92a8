#!/bin/sh
# venv.sh NAME...: makes .venv hold what scripts/requirements-NAME.txt pins (.venv-bench for bench). Quick when it already does.
set -eu
cd "$(dirname "$0")/.."

find_python() {
  for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  echo "venv: no python3 >= 3.11 with the venv module was found; install python3-venv or set PYTHON" >&2
  exit 1
}

[ $# -gt 0 ] || { echo "usage: venv.sh NAME..." >&2; exit 2; }
for name in "$@"; do
  list=scripts/requirements-$name.txt
  alone=scripts/requirements-$name-alone.txt  # if there is one: packages without what they require
  folder=.venv
  [ "$name" = bench ] && folder=.venv-bench
  stamp=$folder/installed-$name
  [ -f "$alone" ] || alone=
  # shellcheck disable=SC2086  # none is no word
  hash=$(sha256sum "$list" $alone)
  [ -x $folder/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$hash" ] && continue
  if [ ! -x $folder/bin/python ]; then
    python=$(find_python)
    echo "Making $folder with $("$python" --version)"
    "$python" -m venv --clear $folder
  fi
  echo "Installing the Python packages of $list"
  # --no-compile: what is imported is compiled then; most of it never is.
  $folder/bin/python -m pip install -qq --disable-pip-version-check --no-compile -r "$list"
  [ -z "$alone" ] || $folder/bin/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps -r "$alone"
  echo "$hash" > "$stamp"
done
