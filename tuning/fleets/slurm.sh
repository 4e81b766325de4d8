#!/bin/sh
# A sweep on Slurm: task 0 of the array is the chief, the others are workers; all see $RUN_DIR.
# A requeued task keeps its index, and a worker so its trial.  sbatch tuning/fleets/slurm.sh
# The chief writes the sweep's token to $RUN_DIR/token for its workers, which run as the same user. It listens for the whole
# network of the cluster, in plain text: others cannot take part, but who can read the network can read it.
#SBATCH --job-name=sweep
#SBATCH --array=0-4
#SBATCH --cpus-per-task=2
#SBATCH --mem=8G
#SBATCH --requeue

RUN_DIR=${RUN_DIR:-$HOME/sweeps/trec}
PORT=${PORT:-8000}
SWEEP="dc_bilstm --dataset trec --tuner random --trials 40 --budget 1.44M --run-dir $RUN_DIR \
  --search num_dense_layers=5:20:5 dropout=0.2:0.6:0.1 learning_rate=0.0005:0.005:log"

mkdir -p "$RUN_DIR.chief"
HOST_FILE=$RUN_DIR.chief/$SLURM_ARRAY_JOB_ID
if [ "$SLURM_ARRAY_TASK_ID" -eq 0 ]; then
  hostname > "$HOST_FILE"
  # shellcheck disable=SC2086
  exec dense-lstm-zoo tune $SWEEP --role chief --oracle "0.0.0.0:$PORT"
fi
until [ -s "$HOST_FILE" ]; do sleep 2; done
# shellcheck disable=SC2086
exec dense-lstm-zoo tune $SWEEP --role worker --oracle "$(cat "$HOST_FILE"):$PORT"
