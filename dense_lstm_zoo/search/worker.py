"""Workers: each asks an oracle for trials and runs one after the other, every trial in a process of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import Protocol

from keras_tuner.engine.trial import Trial, TrialStatus

from dense_lstm_zoo import machine
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search import trouble
from dense_lstm_zoo.search.plan import Sweep
from dense_lstm_zoo.search.process import Child
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import damaged

MOST_DEATHS = 3  # of a trial that repeatedly is killed by the system or runs out of memory
_DEATHS = "deaths.txt"  # one line each


class _LostError(Exception):
    """A trial that is no longer this worker's: another worker has it, or the sweep ends."""


class TrialSource(Protocol):
    """Hands out trials: an oracle, or a client of one elsewhere."""

    def create_trial(self, tuner_id: str) -> Trial:
        """Return the trial that a worker has, or the next one."""

    def update_trial(self, trial_id: str, metrics: dict[str, float]) -> object:
        """Record a score."""

    def end_trial(self, trial: Trial) -> None:
        """Record how a trial ended."""


class Worker:
    """Asks for trials, runs each in a process and reports its result, until none is left.

    Args:
        oracle: Proposes values and keeps the results.
        sweep: The sweep.
        run_dir: The sweep's folder.
        name: By which the oracle knows it.
        heartbeat: Seconds between its signs of life, for an oracle that reassigns the trials of silent workers.
        environment: Additional environment variables of the trials.
    """

    def __init__(
        self,
        oracle: TrialSource,
        sweep: Sweep,
        run_dir: Path,
        name: str,
        *,
        heartbeat: float | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.oracle, self.sweep, self.run_dir, self.name = oracle, sweep, run_dir, name
        self._heartbeat, self._environment = heartbeat, environment
        self._stopped = threading.Event()
        self._child: Child | None = None

    def search(self) -> None:
        """Run trials until none is left, or until ``stop``."""
        while not self._stopped.is_set():
            trial = self.oracle.create_trial(self.name)
            if trial.status == TrialStatus.STOPPED:
                return
            if trial.status == TrialStatus.IDLE:  # it waits for other workers
                self._stopped.wait(1)
                continue
            try:
                score = self.run_trial(trial)
            except _LostError:
                continue
            except trouble.TrialFailedError as error:
                trial.status, trial.message = TrialStatus.FAILED, str(error)
            else:
                self.oracle.update_trial(trial.trial_id, {self.sweep.score: score})
                trial.status = TrialStatus.COMPLETED
            self.oracle.end_trial(trial)

    def stop(self) -> None:
        """End the trial that is running, and ask for no other. It is safe to call from another thread."""
        self._stopped.set()
        child = self._child  # its own thread sets it to None
        if child is not None:
            child.terminate()

    def run_trial(self, trial: Trial) -> float:
        """Return a trial's score.

        Raises:
            TrialFailedError: It has none.
            SweepPausedError: The machine needs attention first.
        """
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
        has_ended = (folder / trials.RESULT).is_file()
        while not has_ended:
            has_ended = self._train(trial, folder)
        result = trials.read_result(folder, self.sweep.score)
        if "reason" in result:
            raise trouble.TrialFailedError(result["reason"])
        return float(result[self.sweep.score])

    def _train(self, trial: Trial, folder: Path) -> bool:
        """Run a trial's process once, and return whether it left a result: a score, or the reason why it has none."""
        child = trials.start(folder, environment=self._environment)
        self._child = child
        if self._stopped.is_set():
            child.terminate()
        ended, lost = threading.Event(), threading.Event()
        beat = threading.Thread(target=self._beat, args=(trial, child, ended, lost), daemon=True)
        if self._heartbeat is not None:
            beat.start()
        try:
            trials.wait(folder, child)
            return True
        except (trouble.TrialFailedError, trouble.TrialDiedError, trouble.SweepPausedError) as error:
            if lost.is_set() or self._stopped.is_set():
                raise _LostError from None
            reason = self._verdict(trial, folder, error)
            if reason is not None:
                files.write_json(folder / trials.RESULT, {"reason": reason})
            return reason is not None
        finally:
            self._child = None
            ended.set()
            if beat.is_alive():
                beat.join()

    def _beat(self, trial: Trial, child: Child, ended: threading.Event, lost: threading.Event) -> None:
        """Give signs of life while a trial runs: ask for a trial and get the one there is.

        If it has been reassigned after a silence, its process is stopped.
        """
        while not ended.wait(self._heartbeat):
            try:
                current = self.oracle.create_trial(self.name)
            except OSError:  # the chief may return while the trial runs
                continue
            if current.trial_id != trial.trial_id:
                lost.set()
                child.terminate()
                return

    def _verdict(self, trial: Trial, folder: Path, error: Exception) -> str | None:
        """Return why a trial has failed, or None to retry it at once. Raise if the sweep pauses."""
        if isinstance(error, trouble.SweepPausedError):
            raise error
        if not isinstance(error, trouble.TrialDiedError):
            return str(error)
        times = _count_death(folder, str(error))
        if times >= MOST_DEATHS:
            return f"{error} ({times} times)"
        if error.pauses:
            reason = f"trial {trial.trial_id}: {error} (time {times}; after {MOST_DEATHS} times it counts as failed)"
            raise trouble.paused(reason) from None
        return None


@contextlib.contextmanager
def in_threads(workers: Sequence[Worker]) -> Iterator[list[futures.Future[None]]]:
    """Run workers in threads, and yield what tells how each ended. An error in this block stops them all."""
    with futures.ThreadPoolExecutor(max(len(workers), 1), thread_name_prefix="worker") as pool:
        try:
            yield [pool.submit(worker.search) for worker in workers]
        except BaseException:
            for worker in workers:
                worker.stop()
            raise


def share_of_cores(workers: int) -> dict[str, str]:
    """Return the environment of trials of which some run at a time: each uses its share of the cores.

    A variable that limits them to fewer is left as it is.
    """
    if workers < 2:  # none: all trials run on other machines
        return {}
    share = max(1, machine.cores() // workers)
    limits = {name: os.environ.get(name, "") for name in ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS")}
    limits = {name: limit.partition(",")[0].strip() for name, limit in limits.items()}  # of OpenMP's outermost level
    lower = [name for name, limit in limits.items() if limit.isdecimal() and 0 < int(limit) < share]  # 0 is no limit
    return {name: str(share) for name in limits if name not in lower}


def forget_deaths(folder: Path) -> None:
    """Begin to count a trial's deaths anew, as for one that is to be run again."""
    (folder / _DEATHS).unlink(missing_ok=True)


def _count_death(folder: Path, reason: str) -> int:
    """Record that a trial died and return how often it has."""
    with (folder / _DEATHS).open("a+", encoding="utf-8") as file:
        file.write(reason + "\n")
        file.seek(0)
        return len(file.readlines())
