#!/bin/sh
# Times the problems of bench/suite.txt and bench/science.txt with Oriel and other libraries, what calls cost, whole networks, and pyramids; writes
# build/compare.json, build/science.json, build/frameworks.json, build/networks.json and build/pyramids.json, and from them tables and plots of
# README.md and docs/performance*.md. With AVX-512 the suite is timed again with Oriel and the libraries held to AVX2. RUNS=3 times the
# suite so often, and its tables have the medians of the runs. Options go to bench/compare.py; with any, the documentation stays as it is.
set -eu
cd "$(dirname "$0")/.."
scripts/venv.sh bench
scripts/install_python.sh .venv-bench
cmake --preset release >/dev/null
cmake --build --preset release --target oriel_onednn oriel_cli
python=.venv-bench/bin/python
# As many runs of the suite as are asked for, into the files that are named $1.json, $1-2.json …; the other arguments are options.
time_suite() {
  name=$1 runs="$1.json"
  shift
  $python bench/compare.py "$name.json" "$@"
  for run in $(seq 2 "${RUNS:-1}"); do
    $python bench/compare.py "$name-$run.json" "$@"
    runs="$runs $name-$run.json"
  done
}

if [ $# -gt 0 ]; then
  $python bench/compare.py build/compare.json "$@"
  exit
fi
# Pages are written when all is measured: files that differ from the commit would be part of its name in the results.
time_suite build/compare
machine=avx2 widest='' avx2=$runs
if ! grep -q '"target": "AVX2"' build/compare.json; then
  machine=avx512 widest=$runs
  time_suite build/compare-held --target AVX2
  avx2=$runs
fi
$python bench/science.py build/science.json
$python bench/frameworks.py build/frameworks.json
$python bench/networks.py build/networks.json
$python bench/pyramids.py build/bin/oriel --json build/pyramids.json
# shellcheck disable=SC2086  # names without blanks
[ -z "$widest" ] || $python scripts/compare_page.py $widest
# shellcheck disable=SC2086
$python scripts/compare_page.py --beside avx2 $avx2
$python scripts/science_page.py build/science.json
$python scripts/frameworks_page.py build/frameworks.json
$python scripts/networks_page.py build/networks.json
$python scripts/pyramids_page.py build/pyramids.json
mkdir -p bench/results
for file in $widest $avx2 build/science.json build/frameworks.json build/networks.json build/pyramids.json; do
  name=$(basename "$file" .json)
  cp "$file" "bench/results/$name-$machine.json"
done
echo "docs/performance*.md, README.md and docs/images have what was measured, bench/results the files that they were made of"
