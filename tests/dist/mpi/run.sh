#!/bin/sh
# run.sh MPI MPIRUN PROGRAM PART RANKS [survivors]: runs a part of the tests of pools over MPI. The part `die` must end
# with an error, within 20 s; with `survivors` mpirun does not end the other ranks when one dies, so they end themselves.
set -u
mpi=$1 mpirun=$2 program=$3 part=$4 ranks=$5 survivors=${6-}
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
      "$@" -n "$ranks" "$program" "$part"
  fi
  exec "$mpirun" "$@" -n "$ranks" "$program" "$part"
}

if [ "$part" != die ]; then start; fi

case "$mpi$survivors" in
  openmpisurvivors) more=--enable-recovery ;;
  *) more= ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
begin=$(date +%s)
(start $more) >"$log" 2>&1
code=$?
took=$(($(date +%s) - begin))
cat "$log"
echo "ended with $code after $took s"
[ "$took" -le 20 ] || exit 1
if [ -n "$survivors" ]; then  # Open MPI's mpirun calls a run that recovered a good one
  grep -q 'rank 0: distributed pool: rank 1 must send its message within 3 s, but has not' "$log" || exit 1
  exit 0
fi
[ "$code" -ne 0 ]
