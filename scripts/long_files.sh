#!/bin/sh
# Prints the source files of more than 500 lines: where a newcomer would not know where to look.
cd "$(dirname "$0")/.." || exit 1
git ls-files '*.cc' '*.h' '*.inl' '*.cu' '*.cuh' '*.py' '*.sh' '*.def' | xargs wc -l |
  awk '$2 != "total" && $1 > 500 {print $1, $2; n++} END {if (!n) print "no file has more than 500 lines"}'
