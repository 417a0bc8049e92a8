#!/bin/sh
# Runs clang-tidy on the sources of src, reference, cli and apps; checks formatting, lengths, floors of includes and imports,
# shell scripts, and with the tools of .venv Python and spelling. .pre-commit-config.yaml has the same but clang-tidy.
set -eu
cd "$(dirname "$0")/.."
files=$(git ls-files 'src/*.cc' 'reference/*.cc' 'cli/*.cc' 'apps/*.cc')
status=0
# shellcheck disable=SC2086
printf '%s\n' $files | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build 2>/dev/null || status=1
git ls-files '*.h' '*.cc' '*.inl' | xargs clang-format --dry-run -Werror || status=1
scripts/check_lengths.py || status=1
scripts/check_floors.py || status=1
git ls-files '*.sh' .ci/run | xargs shellcheck --severity=warning || status=1
for tool in ruff codespell; do
  if [ ! -x .venv/bin/$tool ]; then
    echo "lint: NOT CHECKED: there is no .venv/bin/$tool; make check makes .venv" >&2
    continue
  fi
  case $tool in
    ruff) .venv/bin/ruff check --quiet . || status=1 ;;
    codespell) git ls-files | xargs .venv/bin/codespell || status=1 ;;
  esac
done
[ $status -eq 0 ] && echo "lint: nothing found"
exit $status
