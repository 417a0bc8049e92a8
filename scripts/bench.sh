#!/bin/sh
# Times the problems of bench/suite.txt with `oriel bench`, then Oriel beside other frameworks; writes build/bench.json
# and build/frameworks.json, and from the latter tables and plots of docs/performance.md.
set -eu
cd "$(dirname "$0")/.."
names=$(sed 's/#.*//' bench/suite.txt)
# shellcheck disable=SC2086
build/bin/oriel bench $names
# shellcheck disable=SC2086
build/bin/oriel bench --json $names > build/bench.json
echo "build/bench.json has the same as JSON"
.venv/bin/python bench/frameworks.py build/frameworks.json
.venv/bin/python scripts/frameworks_page.py build/frameworks.json
echo "docs/performance.md and docs/images have what was measured"
