"""keras-tuner's loop, each of whose trials is a process."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import keras_tuner
from keras_tuner.engine.base_tuner import BaseTuner
from keras_tuner.engine.trial import Trial, TrialStatus
from keras_tuner.errors import FailedTrialError

from dense_lstm_zoo import files
from dense_lstm_zoo.tuning import trial as trials
from dense_lstm_zoo.tuning.plan import Sweep
from dense_lstm_zoo.tuning.sweep import wait

_LOST = "LOST"  # status of a trial that was given to another worker


class TrialRunner(BaseTuner):
    """Ask the oracle for a trial, run it in a process, give the result back, until there is none left.

    Args:
        oracle: Proposes values and keeps the results; on a worker keras-tuner asks the chief's in its place.
        sweep: What trials are.
        run_dir: The sweep's folder.
        heartbeat: Seconds between two signs of life of a worker.
    """

    def __init__(self, oracle: keras_tuner.Oracle, sweep: Sweep, run_dir: Path, heartbeat: float = 30.0) -> None:
        self.sweep, self.run_dir, self.heartbeat = sweep, run_dir, heartbeat
        self._ran = True
        (run_dir / "oracle").mkdir(exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):  # it would tell from which file it reloads
            super().__init__(oracle=oracle, directory=str(run_dir), project_name="oracle")

    def save(self) -> None:
        """Write the oracle's state; a loop over processes has none of its own."""
        if not self._is_worker():
            self.oracle.save()

    def reload(self) -> None:
        """Read the oracle's state."""
        if not self._is_worker():
            self.oracle.reload()

    def _get_tuner_fname(self) -> str:
        return str(Path(self.project_dir) / "oracle.json")  # whether it is there decides about reload

    def pre_create_trial(self) -> None:
        """Wait a second where the oracle had nothing to do: it waits for other workers."""
        if not self._ran:
            time.sleep(1)
        self._ran = False

    def run_trial(self, trial: Trial, *_: Any, **__: Any) -> dict[str, float]:
        """Return a trial's score; a trial that failed raises what keras-tuner takes for that."""
        folder = self.run_dir / "trials" / trial.trial_id
        folder.mkdir(parents=True, exist_ok=True)
        parent = trial.hyperparameters.values.get("tuner/trial_id")
        if parent and not (folder / "runs").exists() and (self.run_dir / "trials" / parent / "runs").exists():
            shutil.copytree(self.run_dir / "trials" / parent / "runs", folder / "runs")  # it goes on from there
        files.write_json(folder / "spec.json", self.sweep.spec(trial.hyperparameters.values))
        try:
            if not (folder / trials.RESULT).is_file():
                process = trials.start(folder)
                with _Alive(self, trial, process):
                    wait(folder, process)
            result = json.loads((folder / trials.RESULT).read_text(encoding="utf-8"))
            if "reason" in result:
                raise trials.TrialFailedError(result["reason"])
        except trials.TrialFailedError as error:
            if trial.status != _LOST:
                files.write_json(folder / trials.RESULT, {"reason": str(error)})
            raise FailedTrialError(str(error)) from None
        return {self.sweep.score: result[self.sweep.score]}

    def _try_run_and_update_trial(self, trial: Trial, *_: Any, **__: Any) -> None:
        """Run a trial and say how it ended: a failed one is no error of the sweep."""
        self._ran = True
        try:
            self._run_and_update_trial(trial)
            trial.status = TrialStatus.COMPLETED
        except FailedTrialError as error:
            if trial.status != _LOST:
                trial.status, trial.message = TrialStatus.FAILED, str(error)

    def on_trial_end(self, trial: Trial) -> None:
        """Hand in the result, unless another worker has the trial."""
        if trial.status != _LOST:
            super().on_trial_end(trial)


class _Alive:
    """A worker's signs of life while its trial runs: asking for a trial answers with the one that it has.

    If the chief gave that to another, after a silence, the process is stopped.
    """

    def __init__(self, runner: TrialRunner, trial: Trial, process: subprocess.Popen[bytes]) -> None:
        self._runner, self._trial, self._process = runner, trial, process
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        if self._runner._is_worker():
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._runner.heartbeat):
            found = self._runner.oracle.create_trial(self._runner.tuner_id)
            if found.trial_id != self._trial.trial_id:
                self._trial.status = _LOST
                self._process.terminate()
                return
