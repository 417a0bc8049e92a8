#!/bin/sh
# Times the problems of bench/suite.txt with `oriel bench`; writes build/bench.json.
set -eu
cd "$(dirname "$0")/.."
names=$(sed 's/#.*//' bench/suite.txt)
# shellcheck disable=SC2086
build/bin/oriel bench $names
# shellcheck disable=SC2086
build/bin/oriel bench --json $names > build/bench.json
echo "build/bench.json has the same as JSON"
