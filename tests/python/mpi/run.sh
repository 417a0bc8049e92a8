#!/bin/sh
# run.sh MPI MPIRUN PYTHON RANKS PROGRAM: runs PROGRAM.py on so many ranks of an MPI, whose library mpi4py finds by these
# variables. `killed` must end with an error, within 20 s.
set -u
mpi=$1 mpirun=$2 python=$3 ranks=$4 program=$5
folder=$(cd "$(dirname "$0")" && pwd)
if [ -z "$mpirun" ] || [ ! -x "$mpirun" ]; then
  echo "run.sh: there is no mpirun for $mpi, so nothing was tested" >&2
  exit 1
fi
export OMP_NUM_THREADS=1 MPI4PY_MPIABI="$mpi" ORIEL_EXPECTED_MPI="$mpi" PYTHONPATH="$folder/..${PYTHONPATH+:$PYTHONPATH}"
names=$(mktemp -d)
trap 'rm -rf "$names"' EXIT

start() {  # an exception on one rank ends all (-m mpi4py)
  if [ "$mpi" = openmpi ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # As in tests/distributed/mpi/run.sh.
    "$mpirun" --oversubscribe --bind-to none --mca btl self,vader --mca btl_vader_single_copy_mechanism none \
      -n "$ranks" "$python" -m mpi4py "$folder/$program.py"
    return
  fi
  # mpi4py looks for MPICH by the name libmpi.so.12, which Debian calls libmpich.so.12.
  library=$(ldconfig -p | sed -n 's/.* => \(.*libmpich\.so\.12\)$/\1/p' | head -n 1)
  [ -z "$library" ] || ln -s "$library" "$names/libmpi.so.12"
  LD_LIBRARY_PATH="$names${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH}" \
    "$mpirun" -n "$ranks" "$python" -m mpi4py "$folder/$program.py"
}

if [ "$program" != killed ]; then
  start
  exit
fi
begin=$(date +%s)
start >"$names/log" 2>&1
code=$?
took=$(($(date +%s) - begin))
cat "$names/log"
echo "ended with $code after $took s"
grep -q 'rank 1 is killed' "$names/log" && ! grep -q 'all exchanges were made' "$names/log" && [ "$took" -le 20 ] &&
  [ "$code" -ne 0 ]
