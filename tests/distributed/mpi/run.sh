#!/bin/sh
# run.sh MPI MPIRUN PROGRAM PARTS RANKS [survivors]: runs parts (a+b) of the tests of pools over MPI. The part `die` must
# end with an error, within 20 s, for each way of messages; with `survivors` mpirun does not end the other ranks when one dies, so they end themselves.
set -u
mpi=$1 mpirun=$2 program=$3 part=$(echo "$4" | tr + " ") ranks=$5 survivors=${6-}
if [ -z "$mpirun" ] || [ ! -x "$mpirun" ]; then
  echo "run.sh: there is no mpirun for $mpi, so nothing was tested" >&2
  exit 1
fi

start() {  # further words for mpirun
  if [ "$mpi" = openmpi ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # Containers forbid reading other processes' memory, which the fast way between processes is; nothing is bound, since
    # ranks share the few cores; no network is needed.
    exec "$mpirun" --oversubscribe --bind-to none --mca btl self,vader --mca btl_vader_single_copy_mechanism none \
      "$@" -n "$ranks" "$program" $part
  fi
  exec "$mpirun" "$@" -n "$ranks" "$program" $part
}

if [ "$part" != die ]; then start; fi

case "$mpi$survivors" in
  openmpisurvivors) more=--enable-recovery ;;
  *) more= ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for method in 0 1 2; do  # MpiMethod
  export ORIEL_TEST_METHOD=$method
  begin=$(date +%s)
  (start $more) >"$log" 2>&1
  code=$?
  took=$(($(date +%s) - begin))
  cat "$log"
  echo "method $method ended with $code after $took s"
  [ "$took" -le 20 ] || exit 1
  if [ -n "$survivors" ]; then  # Open MPI's mpirun calls a run that recovered a good one
    grep -q 'rank 0: distributed pool: .* within 3 s, but' "$log" || exit 1
  elif [ "$code" -eq 0 ]; then
    exit 1
  fi
done
