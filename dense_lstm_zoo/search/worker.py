"""keras-tuner's loop, each of whose trials is a process."""

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

from dense_lstm_zoo import files
from dense_lstm_zoo.json_files import damaged
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search import trouble
from dense_lstm_zoo.search.plan import Sweep
from dense_lstm_zoo.search.process import Child

MOST_DEATHS = 3  # of a trial that the system kills, or that is short of memory, again and again
_LOST = "LOST"  # status of a trial that was given to another worker
_DEATHS = "deaths.txt"  # a line each


class TrialRunner(BaseTuner):
    """Ask the oracle for a trial, run it in a process, give the result back, until there is none left.

    Args:
        oracle: Proposes values and keeps the results; of a worker it says no more than what is searched for.
        sweep: What trials are.
        run_dir: The sweep's folder.
        chief: Of a worker: what asks the chief's oracle.
        worker_id: Of a worker: its name.
        heartbeat: Seconds between two signs of life of a worker.
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
        with contextlib.redirect_stdout(io.StringIO()):  # it would tell from which file it reloads
            super().__init__(oracle=oracle, directory=str(run_dir), project_name="oracle")
        if chief is not None:
            self.oracle, self.tuner_id = chief, f"worker{worker_id}"

    def _is_worker(self) -> bool:
        return self._chief is not None

    def save(self) -> None:
        """Write the oracle's state; a loop over processes has none of its own."""
        if not self._is_worker():
            self.oracle.save()

    def reload(self) -> None:
        """Read the oracle's state."""
        if not self._is_worker():
            self.oracle.reload()

    def _get_tuner_fname(self) -> str:
        # Whether it is there decides about reload: trials without a state must not be begun anew.
        folder = Path(self.project_dir)
        states = itertools.chain(folder.glob("oracle.json*"), folder.glob("trial_*/trial.json*"))
        return str(next(states, folder / "oracle.json"))

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
            with files.new_folder(folder / "runs") as runs:  # it goes on from there
                shutil.copytree(self.run_dir / "trials" / parent / "runs", runs, dirs_exist_ok=True)
        spec = self.sweep.spec(trial.hyperparameters.values)
        if (folder / trials.RESULT).is_file() and trials.read_spec(folder)["values"] != spec["values"]:
            raise damaged(folder, "it holds a trial of other values", "Name another run_dir to begin anew.")
        files.write_json(folder / trials.SPEC, spec)
        if not (folder / trials.RESULT).is_file():
            self._train(trial, folder)
        result = trials.read_result(folder, self.sweep.score)
        if "reason" in result:
            raise FailedTrialError(result["reason"])
        return {self.sweep.score: result[self.sweep.score]}

    def _train(self, trial: Trial, folder: Path) -> None:
        """Run a trial's process until it has left a result; one that dies too often has failed."""
        while True:
            child = trials.start(folder)
            try:
                with _Alive(self, trial, child):
                    trials.wait(folder, child)
                return
            except (trouble.TrialFailedError, trouble.TrialDiedError, trouble.SweepPausedError) as error:
                if trial.status == _LOST:  # it was stopped; another worker has it
                    raise FailedTrialError(str(error)) from None
                reason = self._verdict(trial, folder, error)
                if reason is not None:
                    files.write_json(folder / trials.RESULT, {"reason": reason})
                    return

    def _verdict(self, trial: Trial, folder: Path, error: Exception) -> str | None:
        """Return why a trial has failed, or None to try it again at once; raise where the sweep pauses."""
        if isinstance(error, trouble.SweepPausedError):
            raise error
        if not isinstance(error, trouble.TrialDiedError):
            return str(error)
        times = _count_death(folder, str(error))
        if times >= MOST_DEATHS:
            return f"{error} ({times} times)"
        if error.pauses:
            what = f"trial {trial.trial_id}: {error} (time {times}; after time {MOST_DEATHS} it counts as failed)"
            raise trouble.paused(what) from None
        return None

    def _try_run_and_update_trial(self, trial: Trial, *_: Any, **__: Any) -> None:
        """Run a trial and say how it ended: a failed one is no error of the sweep."""
        self._ran = True
        try:
            score = self.run_trial(trial)
            self.oracle.update_trial(trial.trial_id, score)
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
            except OSError:  # the chief may come back while the trial runs
                continue
            if found.trial_id != self._trial.trial_id:
                self._trial.status = _LOST
                self._process.terminate()
                return


def _count_death(folder: Path, reason: str) -> int:
    """Note that a trial died and return how often it has."""
    with (folder / _DEATHS).open("a+", encoding="utf-8") as file:
        file.write(reason + "\n")
        file.seek(0)
        return len(file.readlines())
