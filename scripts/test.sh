#!/bin/sh
# Installs the Python packages, builds and runs every test: the sanitizer builds on the fast tests, brief fuzzing, then
# everything on the release build. Goes on after a failure and says at the end what failed. `make check` runs the release
# build's tests alone.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${JOBS:-$(nproc)}
started=$(date +%s)
failed=

step() { printf '\n== %s (after %d s)\n' "$1" $(($(date +%s) - started)); }

configure_and_build() {
  step "building: $1"
  cmake --preset "$1" >build-configure.log 2>&1 || { cat build-configure.log; rm build-configure.log; return 1; }
  rm build-configure.log
  cmake --build --preset "$1" -j"$jobs"
}

run_tests() {  # preset, further words for ctest
  preset=$1
  shift
  step "testing: $preset"
  ctest --preset "$preset" -j"$jobs" --no-tests=error --test-output-size-passed 200000 \
    --output-junit results.xml "$@" || failed="$failed $preset"
}

packages="test demo site portrait"
if [ -x .venv/bin/python ]; then
  # shellcheck disable=SC2086
  scripts/venv.sh $packages || exit 1
else
  # Installing takes one processor and minutes; the library does not need Python, so it is compiled meanwhile.
  step "installing Python packages, building the library and the command"
  # shellcheck disable=SC2086
  scripts/venv.sh $packages &
  installing=$!
  cmake --preset programs >/dev/null && cmake --build build --target oriel_programs -j"$jobs"
  wait "$installing" || { echo "make test: Python packages are missing"; exit 1; }
fi
configure_and_build release || { echo "make test: the release build failed"; exit 1; }
if configure_and_build asan-ubsan; then
  # The oracle runs the reference alone.
  run_tests asan-ubsan -L fast -LE 'project|docs' -E 'TheOracle'
else
  failed="$failed build:asan-ubsan"
fi
if configure_and_build tsan; then
  # The threads are in the pools, so the command is not built; clang's symbolizer prints, and the oracle is one thread.
  run_tests tsan -L fast -LE 'project|docs|python' -E 'Quiet|TheOracle'
else
  failed="$failed build:tsan"
fi
step "fuzzing briefly"
scripts/fuzz.sh "${SECONDS_EACH:-5}" || failed="$failed fuzz"
run_tests release
# The same bits: what every processor must find, and what they are tested with otherwise (`make portable`) is more.
step "foreign processors, in emulation"
foreign=
for preset in arm64 s390x; do
  TARGETS="hash_vectors reference_vectors core_test nn_test" TESTS='vectors|core_test|nn_test' scripts/portable.sh $preset
  case $? in
    0) foreign="$foreign build-$preset/results.xml" ;;
    77) ;;  # it has said so
    *) failed="$failed portable:$preset" ;;
  esac
done

step "done"
# shellcheck disable=SC2086  # none is no word
python3 scripts/test_summary.py build/results.xml build-asan-ubsan/results.xml build-tsan/results.xml $foreign || exit 1
if [ -n "$failed" ]; then
  [ ! -f build-fuzz/found.txt ] || cat build-fuzz/found.txt
  echo "failed:$failed"
  exit 1
fi
