#!/bin/sh
# sanitize.sh [SECONDS]: the quick tests with the sanitizers for addresses and undefined behaviour, then with that for
# threads, then every fuzzer for that long (default 5). Goes on after a failure and says at the end what failed.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${JOBS:-$(nproc)}
seconds=${1:-5}
started=$(date +%s)
failed=

step() { printf '\n== %s (after %d s)\n' "$1" $(($(date +%s) - started)); }

# PRESET, further words for ctest
test_preset() {
  preset=$1
  shift
  step "building: $preset"
  if ! { cmake --preset "$preset" >build-configure.log 2>&1 || { cat build-configure.log; false; }; } ||
    ! cmake --build --preset "$preset" -j"$jobs"; then
    failed="$failed build:$preset"
    return
  fi
  step "testing: $preset"
  ctest --preset "$preset" -j"$jobs" --no-tests=error --test-output-size-passed 200000 --output-junit results.xml "$@" ||
    failed="$failed $preset"
}

# The oracle runs the reference alone.
test_preset asan-ubsan -L fast -LE 'project|docs' -E 'TheOracle'
# The threads are in the pools, so the command is not built; clang's symbolizer prints.
test_preset tsan -L fast -LE 'project|docs|python' -E 'Quiet|TheOracle'
rm -f build-configure.log
step "fuzzing: $seconds s for each target"
scripts/fuzz.sh "$seconds" || failed="$failed fuzz"

step "done"
python3 scripts/test_summary.py build-asan-ubsan/results.xml build-tsan/results.xml || exit 1
[ -n "$failed" ] || exit 0
[ ! -f build-fuzz/found.txt ] || cat build-fuzz/found.txt
echo "failed:$failed"
exit 1
