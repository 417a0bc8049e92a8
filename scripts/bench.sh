#!/bin/sh
# Times the problems of bench/suite.txt and bench/science.txt with Oriel and other libraries, what calls cost, and whole networks; writes
# build/compare.json, build/science.json, build/frameworks.json and build/networks.json, and from them tables and plots of
# docs/performance.md and README.md. RUNS=3 times the suite so often, and its tables have the medians of the runs. Options go to
# bench/compare.py; with any, the documentation stays as it is.
set -eu
cd "$(dirname "$0")/.."
scripts/venv.sh bench
scripts/install_python.sh .venv-bench
cmake --preset release >/dev/null
cmake --build --preset release --target oriel_onednn
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
# shellcheck disable=SC2086  # names without blanks
$python scripts/compare_page.py $runs
$python scripts/science_page.py build/science.json
$python scripts/frameworks_page.py build/frameworks.json
$python scripts/networks_page.py build/networks.json
echo "docs/performance.md, README.md and docs/images have what was measured"
