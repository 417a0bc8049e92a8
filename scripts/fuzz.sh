#!/bin/sh
# fuzz.sh [SECONDS]: builds every fuzz/fuzz_*.cc with the sanitizers, runs each for that long (default 60), stops at a finding.
# Inputs found before are kept in build-fuzz/corpus; those of fuzz/seeds/<name> are where it begins.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}

cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target oriel_fuzzers
found=0
rm -f build-fuzz/found.txt
for source in fuzz/fuzz_*.cc; do
  [ -e "$source" ] || { echo "fuzz: no fuzz/fuzz_*.cc was found" >&2; exit 1; }
  name=$(basename "$source" .cc)
  mkdir -p "build-fuzz/corpus/$name" "build-fuzz/findings"
  seeds=
  [ -d "fuzz/seeds/$name" ] && seeds=fuzz/seeds/$name
  echo "$name: $seconds s"
  # shellcheck disable=SC2086
  if ! "build-asan-ubsan/bin/$name" "build-fuzz/corpus/$name" $seeds \
      -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -artifact_prefix="build-fuzz/findings/$name-" -print_final_stats=1 >"build-fuzz/$name.log" 2>&1; then
    tail -n 40 "build-fuzz/$name.log"
    echo "$name: FOUND something; the input is in build-fuzz/findings"
    # In short, for whoever sees no more than the end of a long output.
    grep -m 3 -E 'ERROR: |^ +#[01] ' "build-fuzz/$name.log" | cut -c 1-300 | sed "s/^/$name: /" >>build-fuzz/found.txt
    grep '^Base64: ' "build-fuzz/$name.log" | cut -c 1-2000 | sed "s/^/$name: /" >>build-fuzz/found.txt
    found=1
    continue
  fi
  awk -v name="$name" '/stat::number_of_executed_units/ {printf "%s: %d inputs, nothing found\n", name, $2}' \
    "build-fuzz/$name.log"
done
exit $found
