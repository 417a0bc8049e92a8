#!/bin/sh
# install_python.sh [VENV]: builds the Python package and installs it into .venv or VENV. Quick when nothing changed: the build folder is kept.
set -eu
cd "$(dirname "$0")/.."

# The compiler by the name that CMake gives it elsewhere: a compiler cache then knows most objects from the release build.
export CXX="${CXX:-c++}"
python=${1:-.venv}/bin/python
# Installed under its former name, it would go on claiming the files of the new one.
if "$python" -m pip show oriel 2>/dev/null | grep -q '^Summary: The pooling engine'; then
  "$python" -m pip uninstall -q -y oriel
fi
"$python" -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall .
