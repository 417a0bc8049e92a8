#!/bin/sh
# Runs clang-tidy on the sources of src, reference, cli and apps, checks formatting and lengths.
set -eu
cd "$(dirname "$0")/.."
files=$(git ls-files 'src/*.cc' 'reference/*.cc' 'cli/*.cc' 'apps/*.cc')
status=0
# shellcheck disable=SC2086
printf '%s\n' $files | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build 2>/dev/null || status=1
git ls-files '*.h' '*.cc' '*.inl' | xargs clang-format --dry-run -Werror || status=1
scripts/check_lengths.py || status=1
[ $status -eq 0 ] && echo "lint: nothing found"
exit $status
