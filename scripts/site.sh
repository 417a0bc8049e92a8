#!/bin/sh
# site.sh [OUT]: builds the documentation site into OUT (build/site). Needs the commands (make build), doxygen, and the package
# oriel with the tools of scripts/requirements-site.txt in .venv. Warnings are errors; a site that failed replaces nothing.
set -eu
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/site}")
build=${ORIEL_BUILD:-build}
python=${PYTHON:-.venv/bin/python}
oriel=${ORIEL_COMMAND:-$build/bin/oriel}
portrait=${ORIEL_PORTRAIT:-$build/bin/oriel-portrait}
command -v doxygen >/dev/null || { echo "site: doxygen is missing; scripts/install_debian.sh debian_packages_test.txt installs it" >&2; exit 1; }
"$python" -c 'import oriel, sphinx' || { echo "site: $python needs oriel and scripts/requirements-site.txt: make python; scripts/venv.sh site" >&2; exit 1; }

mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$(dirname "$out")/site-XXXXXX")
trap 'rm -rf "$work"' EXIT
export KERAS_BACKEND=torch JAX_PLATFORMS=cpu

doxygen -q - <<END
PROJECT_NAME = Oriel
INPUT = include/oriel
INPUT_FILTER = "$python scripts/site/header_comments.py"
INCLUDE_PATH = include
RECURSIVE = YES
FILE_PATTERNS = *.h
OUTPUT_DIRECTORY = $work/doxygen
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = YES
PREDEFINED = ORIEL_API= ORIEL_C_API= ORIEL_HD= __extension__=
EXCLUDE_SYMBOLS = *::detail *::detail::* given_by_name operator==
EXTRACT_ALL = YES
WARN_AS_ERROR = FAIL_ON_WARNINGS
QUIET = YES
STRIP_FROM_PATH = .
END

"$python" scripts/site/sources.py "$work/pages" "$work/doxygen/xml" "$oriel" "$portrait"
"$python" scripts/site/window.py "$work/pages" "${ORIEL_WASM:-build-wasm/build/module}"
ORIEL_SITE_ROOT=$(pwd) ORIEL_SITE_XML="$work/doxygen/xml" \
  "$python" -m sphinx -q -W --keep-going -b html -d "$work/doctrees" "$work/pages" "$work/html"
"$python" scripts/site/copies.py "$work/pages" "$work/html"
rm -rf "$out.old"
[ ! -e "$out" ] || mv "$out" "$out.old"
mv "$work/html" "$out"
rm -rf "$out.old"
echo "$out/index.html"
