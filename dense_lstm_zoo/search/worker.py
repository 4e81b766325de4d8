"""keras-tuner's loop, with each trial in its own process."""

from __future__ import annotations

import contextlib
import io
import itertools
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import keras_tuner
from keras_tuner.engine.base_tuner import BaseTuner
from keras_tuner.engine.trial import Trial, TrialStatus
from keras_tuner.errors import FailedTrialError

from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search import trouble
from dense_lstm_zoo.search.plan import Sweep
from dense_lstm_zoo.search.process import Child
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import damaged

MOST_DEATHS = 3  # of a trial that repeatedly is killed by the system or runs out of memory
_LOST = "LOST"  # status of a trial that was given to another worker
_DEATHS = "deaths.txt"  # one line each


class TrialRunner(BaseTuner):
    """Ask the oracle for trials, run each in a process and return its result, until none is left.

    Args:
        oracle: Proposes values and keeps the results; on a worker, it only defines the objective.
        sweep: The sweep.
        run_dir: The sweep's folder.
        chief: On a worker: the client of the chief's oracle.
        worker_id: On a worker: its name.
        heartbeat: Seconds between a worker's signs of life.
    """

    def __init__(
        self,
        oracle: keras_tuner.Oracle,
        sweep: Sweep,
        run_dir: Path,
        *,
        chief: Any = None,
        worker_id: str = "0",
        heartbeat: float = 30.0,
    ) -> None:
        self.sweep, self.run_dir, self.heartbeat = sweep, run_dir, heartbeat
        self._chief, self._ran = chief, True
        (run_dir / "oracle").mkdir(exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):  # it would print the file that it reloads
            super().__init__(oracle=oracle, directory=str(run_dir), project_name="oracle")
        if chief is not None:
            self.oracle, self.tuner_id = chief, f"worker{worker_id}"

    def _is_worker(self) -> bool:
        return self._chief is not None

    def save(self) -> None:
        """Write the oracle's state; the loop itself has none."""
        if not self._is_worker():
            self.oracle.save()

    def reload(self) -> None:
        """Read the oracle's state."""
        if not self._is_worker():
            self.oracle.reload()

    def _get_tuner_fname(self) -> str:
        # Its existence triggers a reload: trials without a state must not be started over.
        folder = Path(self.project_dir)
        states = itertools.chain(folder.glob("oracle.json*"), folder.glob("trial_*/trial.json*"))
        return str(next(states, folder / "oracle.json"))

    def pre_create_trial(self) -> None:
        """Wait a second if the oracle had no trial because it waits for other workers."""
        if not self._ran:
            time.sleep(1)
        self._ran = False

    def run_trial(self, trial: Trial, *_: Any, **__: Any) -> dict[str, float]:
        """Return a trial's score; a failed trial raises keras-tuner's error for that."""
        folder = self.run_dir / "trials" / trial.trial_id
        folder.mkdir(parents=True, exist_ok=True)
        parent = trial.hyperparameters.values.get("tuner/trial_id")
        if parent and not (folder / "runs").exists() and (self.run_dir / "trials" / parent / "runs").exists():
            with files.new_folder(folder / "runs") as runs:  # the trial resumes from there
                shutil.copytree(self.run_dir / "trials" / parent / "runs", runs, dirs_exist_ok=True)
        spec = self.sweep.spec(trial.hyperparameters.values)
        if (folder / trials.RESULT).is_file() and trials.read_spec(folder)["values"] != spec["values"]:
            raise damaged(
                folder, "it holds a trial with other values", "Choose another run_dir (--run-dir) to start over."
            )
        files.write_json(folder / trials.SPEC, spec)
        if not (folder / trials.RESULT).is_file():
            self._train(trial, folder)
        result = trials.read_result(folder, self.sweep.score)
        if "reason" in result:
            raise FailedTrialError(result["reason"])
        return {self.sweep.score: result[self.sweep.score]}

    def _train(self, trial: Trial, folder: Path) -> None:
        """Run a trial's process until it leaves a result; a trial that dies too often has failed."""
        while True:
            child = trials.start(folder)
            try:
                with _Alive(self, trial, child):
                    trials.wait(folder, child)
                return
            except (trouble.TrialFailedError, trouble.TrialDiedError, trouble.SweepPausedError) as error:
                if trial.status == _LOST:  # stopped here; another worker has it
                    raise FailedTrialError(str(error)) from None
                reason = self._verdict(trial, folder, error)
                if reason is not None:
                    files.write_json(folder / trials.RESULT, {"reason": reason})
                    return

    def _verdict(self, trial: Trial, folder: Path, error: Exception) -> str | None:
        """Return why a trial has failed, or None to retry it at once; raise if the sweep pauses."""
        if isinstance(error, trouble.SweepPausedError):
            raise error
        if not isinstance(error, trouble.TrialDiedError):
            return str(error)
        times = _count_death(folder, str(error))
        if times >= MOST_DEATHS:
            return f"{error} ({times} times)"
        if error.pauses:
            what = f"trial {trial.trial_id}: {error} (time {times}; after {MOST_DEATHS} times it counts as failed)"
            raise trouble.paused(what) from None
        return None

    def _try_run_and_update_trial(self, trial: Trial, *_: Any, **__: Any) -> None:
        """Run a trial and report how it ended; a failed trial is not an error of the sweep."""
        self._ran = True
        try:
            score = self.run_trial(trial)
            self.oracle.update_trial(trial.trial_id, score)
            trial.status = TrialStatus.COMPLETED
        except FailedTrialError as error:
            if trial.status != _LOST:
                trial.status, trial.message = TrialStatus.FAILED, str(error)

    def on_trial_end(self, trial: Trial) -> None:
        """Submit the result, unless another worker has the trial."""
        if trial.status != _LOST:
            super().on_trial_end(trial)


class _Alive:
    """A worker's signs of life while its trial runs: it asks for a trial and gets the one it has.

    If the chief has reassigned that trial after a silence, the process is stopped.
    """

    def __init__(self, runner: TrialRunner, trial: Trial, process: Child) -> None:
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
            try:
                found = self._runner.oracle.create_trial(self._runner.tuner_id)
            except OSError:  # the chief may return while the trial runs
                continue
            if found.trial_id != self._trial.trial_id:
                self._trial.status = _LOST
                self._process.terminate()
                return


def _count_death(folder: Path, reason: str) -> int:
    """Record that a trial died and return how often it has."""
    with (folder / _DEATHS).open("a+", encoding="utf-8") as file:
        file.write(reason + "\n")
        file.seek(0)
        return len(file.readlines())
