#!/bin/sh
# reproducible.sh [CMAKE_OPTION...]: builds the shared libraries of this checkout twice, from copies in folders of
# different names, and compares all that is installed, byte for byte. Ends with 1 for any difference, and says where.
# No compiler cache: both are compiled. Half an hour of a processor for each; -DORIEL_BASELINE_TARGET_ONLY=ON takes less.
# JOBS: compilers at once. KEEP=1 leaves the two folders, which are named at the end.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
clean() { [ -n "${KEEP:-}" ] || rm -rf "$folder"; }
trap clean EXIT
trap 'exit 1' HUP INT TERM
jobs=${JOBS:-$(nproc)}
export CCACHE_DISABLE=1
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

# build NAME JOBS TIMEZONE LANGUAGE UMASK OPTION...: what is installed lies in $folder/installed-NAME.
build() {
  name=$1 jobs_of_it=$2
  TZ=$3
  LC_ALL=$4
  umask "$5"
  export TZ LC_ALL
  shift 5
  source=$folder/$name/oriel
  mkdir -p "$source"
  git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create | tar -x -C "$source"
  echo "Building in $source, $jobs_of_it at once"
  cmake -S "$source" -B "$source/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$source=." -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DORIEL_CCACHE=OFF \
    -DORIEL_BUILD_CLI=OFF -DORIEL_BUILD_EXAMPLES=OFF -DORIEL_BUILD_MPI=OFF -DORIEL_BUILD_NN=OFF -DORIEL_BUILD_TESTS=OFF \
    -DORIEL_CUDA=OFF "$@" > "$folder/log" 2>&1 &&
    cmake --build "$source/build" --parallel "$jobs_of_it" >> "$folder/log" 2>&1 &&
    cmake --install "$source/build" --prefix "$folder/installed-$name" >> "$folder/log" 2>&1 || {
    tail -n 60 "$folder/log" >&2
    echo "reproducible: the library was not built" >&2
    exit 1
  }
}

(build one "$jobs" UTC C 022 "$@")
(build second-and-longer "$((jobs + 1))" Pacific/Auckland C.UTF-8 002 "$@")
one=$folder/installed-one
two=$folder/installed-second-and-longer
count=$(find "$one" -type f | wc -l)
[ "$count" -gt 0 ] || { echo "reproducible: nothing was installed" >&2; exit 1; }
find "$one" -name 'liboriel.so*' -type f | grep -q . || { echo "reproducible: no liboriel.so was installed" >&2; exit 1; }
if diff -r "$one" "$two"; then
  echo "reproducible: $count files are the same in both"
  (cd "$one" && find . -name '*.so*' -type f -exec sha256sum {} +)
else
  echo "reproducible: the files above differ; diffoscope shows how (KEEP=1 leaves both in $folder)" >&2
  exit 1
fi
