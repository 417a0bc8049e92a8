#!/bin/sh
# Times the problems of bench/suite.txt and bench/science.txt with Oriel and other libraries, what calls cost, whole networks, and pyramids; writes
# build/compare.json, build/science.json, build/frameworks.json, build/networks.json and build/pyramids.json, and from them tables and plots of
# README.md and docs/performance*.md. RUNS=3 times the suite so often, and its tables have the medians of the runs. Options go to
# bench/compare.py; with any, the documentation stays as it is.
set -eu
cd "$(dirname "$0")/.."
scripts/venv.sh bench
scripts/install_python.sh .venv-bench
cmake --preset release >/dev/null
cmake --build --preset release --target oriel_onednn oriel_cli
python=.venv-bench/bin/python
$python bench/compare.py build/compare.json "$@"
[ $# -eq 0 ] || exit 0
runs=build/compare.json
for run in $(seq 2 "${RUNS:-1}"); do
  $python bench/compare.py "build/compare-$run.json"
  runs="$runs build/compare-$run.json"
done
$python bench/science.py build/science.json
$python bench/frameworks.py build/frameworks.json
$python bench/networks.py build/networks.json
$python bench/pyramids.py build/bin/oriel --json build/pyramids.json
part='' machine=avx512
if grep -q '"target": "AVX2"' build/compare.json; then part="--beside avx2" machine=avx2; fi
# shellcheck disable=SC2086  # names without blanks
$python scripts/compare_page.py $part $runs
$python scripts/science_page.py build/science.json
$python scripts/frameworks_page.py build/frameworks.json
$python scripts/networks_page.py build/networks.json
$python scripts/pyramids_page.py build/pyramids.json
mkdir -p bench/results
for file in $runs build/science.json build/frameworks.json build/networks.json build/pyramids.json; do
  name=$(basename "$file" .json)
  cp "$file" "bench/results/$name-$machine.json"
done
echo "docs/performance*.md, README.md and docs/images have what was measured, bench/results the files that they were made of"
