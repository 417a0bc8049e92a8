#!/bin/sh
# Installs the Python packages, builds everything and runs every test of the release build. The sanitizers and fuzzing are
# scripts/sanitize.sh (`make sanitize`), other processors scripts/portable.sh (`make portable`). `make check` runs the
# tests without installing anything. ORIEL_EVERY_CASE=1: tests that share cases out among types and kinds of data run all.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${JOBS:-$(nproc)}
started=$(date +%s)

step() { printf '\n== %s (after %d s)\n' "$1" $(($(date +%s) - started)); }

packages="test demo site portrait"
if [ -x .venv/bin/python ]; then
  # shellcheck disable=SC2086
  scripts/venv.sh $packages || exit 1
else
  # Installing takes one processor and minutes; the library does not need Python, so it is compiled meanwhile.
  step "installing Python packages, building the libraries"
  # shellcheck disable=SC2086
  scripts/venv.sh $packages &
  installing=$!
  cmake --preset programs >/dev/null && cmake --build build --target oriel oriel_tile -j"$jobs"
  wait "$installing" || { echo "make test: Python packages are missing"; exit 1; }
fi
step "building"
cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
rm build-configure.log
cmake --build --preset release -j"$jobs" || { echo "make test: the release build failed"; exit 1; }
step "testing"
failed=
ctest --preset release -j"$jobs" --no-tests=error --test-output-size-passed 200000 --output-junit results.xml || failed=yes

step "done"
python3 scripts/test_summary.py build/results.xml || exit 1
[ -z "$failed" ] || { echo "make test: ctest failed"; exit 1; }
echo "NOT RUN here: sanitizers and fuzzing (make sanitize), other processors in emulation (make portable)"
