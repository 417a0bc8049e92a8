#!/bin/sh
# Builds the CUDA backend with nvcc and CMake alone, runs its tests on the device bit for bit against the reference, times
# the suite beside a device copy and other libraries, writes docs/performance-gpu.md, and prints a short table last. Ends
# within 8 minutes. Usage: scripts/gpu_check.sh; JOBS, PYTHON, BUILD (a folder), ARCHITECTURE (as 90) and LIMIT (seconds) may be
# set.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build-gpu}
python=${PYTHON:-python3}
jobs=${JOBS:-$(nproc)}
started=$(date +%s)
failed=

left() { echo $((${LIMIT:-460} - ($(date +%s) - started))); }
most() {  # seconds: $1, or what is left
  l=$(left)
  if test "$l" -gt "$1"; then echo "$1"; elif test "$l" -gt 1; then echo "$l"; else echo 1; fi
}
step() { printf '\n== %s (after %d s)\n' "$1" $(($(date +%s) - started)); }
stop() { echo "gpu_check: $1"; exit 1; }

command -v cmake >/dev/null || stop "cmake is needed"
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || stop "nvcc is needed (on the path or in /usr/local/cuda/bin)"
test -e /dev/nvidiactl || command -v nvidia-smi >/dev/null || stop "there is no NVIDIA GPU"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null

step "building"
generator=  # CMake's own choice needs make
command -v make >/dev/null || generator=-GNinja
# Warnings of a compiler that nobody has tried yet are no reason to stop.
cmake -S . -B "$build" $generator -DORIEL_CPU=OFF -DORIEL_CUDA=ON -DORIEL_WERROR=OFF -DORIEL_GPU_PYTHON="$(command -v "$python")" \
  -DCMAKE_CUDA_ARCHITECTURES="${ARCHITECTURE:-native}" >"$build.log" 2>&1 &&
  timeout 240 cmake --build "$build" -j"$jobs" >>"$build.log" 2>&1 || { tail -40 "$build.log"; stop "the build failed"; }
rm "$build.log"

step "conformance on the device"
# Most of the time goes into the reference, on one thread, so the dtypes run side by side.
results=$build/conformance
rm -rf "$results" && mkdir "$results"
for list in tests/cuda/cases.txt tests/pool/cases.txt; do
  for dtype in f32 f16 bf16 u8 f64 i32; do
    name=$(dirname $list | tr / _)_$dtype
    (timeout "$(most 150)" "$build/bin/cuda_conformance" $list $dtype >"$results/$name.txt" 2>&1
      echo $? >"$results/$name.status") &
  done
done
wait
for status in "$results"/*.status; do
  name=$(basename "$status" .status)
  echo "$name: $(tail -1 "$results/$name.txt") (after $(($(date +%s) - started)) s)"
  test "$(cat "$status")" = 0 || { failed="$failed $name"; head -20 "$results/$name.txt"; }
done

step "networks on the device"
timeout 40 "$build/bin/nn_cuda_conformance" || failed="$failed networks"

step "handlers for JAX"
handlers=$build/lib/liboriel_xla_cuda.so
if test -e "$handlers" && "$python" -c 'import jax; jax.devices("cuda")' 2>/dev/null; then
  # By default JAX takes most of the device's memory at once.
  XLA_PYTHON_CLIENT_PREALLOCATE=false timeout 60 "$python" tests/cuda/device/jax_check.py "$handlers" cuda ||
    failed="$failed jax"
else
  echo "SKIPPED: $python has no JAX with CUDA, so its handlers were not called"
fi

step "oriel.torch and CuPy"
module=$(find "$build/package" -name '_core*' 2>/dev/null)
if test -n "$module"; then
  timeout "$(most 80)" "$python" tests/cuda/device/package_check.py "$module" cuda || failed="$failed package"
else
  echo "SKIPPED: $python has no nanobind, NumPy or headers (Python.h), so the package's module was not built:"
  echo "SKIPPED: oriel.torch and CuPy's arrays were NOT CHECKED on this device"
fi

step "timing"
if test "$(left)" -lt 100; then
  failed="$failed timing"
  echo "SKIPPED: $(left) s are left, too few to time anything" | tee "$build/table.txt"
elif "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  seconds=$(($(left) - 80))
  timeout $(($(left) - 40)) "$python" bench/gpu.py "$build/lib/liboriel_cuda_bridge.so" --seconds "$seconds" >"$build/table.txt" 2>"$build/errors.txt" ||
    failed="$failed timing"
  tail -5 "$build/errors.txt"
  timeout 40 "$python" bench/unet_gpu.py "$build/lib/liboriel_unet_bridge.so" --page docs/performance-gpu.md >>"$build/table.txt" 2>"$build/errors.txt" ||
    failed="$failed network-timing"
  tail -5 "$build/errors.txt"
else
  failed="$failed timing"
  echo "SKIPPED: $python has no PyTorch with CUDA, so nothing was timed" | tee "$build/table.txt"
fi

step "memory checker"
if command -v compute-sanitizer >/dev/null && test "$(left)" -gt 40; then
  head -40 tests/cuda/cases.txt >"$build/few_cases.txt"
  for tool in memcheck racecheck; do
    timeout 40 compute-sanitizer --tool $tool --error-exitcode 9 "$build/bin/cuda_conformance" "$build/few_cases.txt" f32 \
      >"$build/$tool.txt" 2>&1
    status=$?
    case $status in
    0) echo "$tool: $(tail -1 "$build/$tool.txt")" ;;
    124) echo "$tool: no error within its 40 s, not at its end" ;;
    *) tail -20 "$build/$tool.txt"; failed="$failed $tool" ;;
    esac
  done
else
  echo "SKIPPED: no compute-sanitizer, or no time"
fi

step "done"
test -z "$failed" || echo "FAILED:$failed"
cat "$build/table.txt"
test -z "$failed"
