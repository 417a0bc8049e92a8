#!/bin/sh
# Times the problems of bench/suite.txt by Oriel and other libraries, and what calls cost; writes build/compare.json and
# build/frameworks.json, and from them tables and plots of docs/performance.md. RUNS=3 times everything so often, and the
# tables have the medians of the runs. Options go to bench/compare.py; with any, the documentation stays as it is.
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
$python bench/frameworks.py build/frameworks.json
# shellcheck disable=SC2086  # names without blanks
$python scripts/compare_page.py $runs
$python scripts/frameworks_page.py build/frameworks.json
echo "docs/performance.md and docs/images have what was measured"
