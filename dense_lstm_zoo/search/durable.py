"""The base class of oracles: complete files with a backup, tolerance of kills and of failed trials."""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import keras_tuner
from keras_tuner.engine.trial import Trial, TrialStatus

from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import DamagedFileError, Kind, check_fields, damaged, read_object

_ENDED = (TrialStatus.COMPLETED, TrialStatus.FAILED)
_CHIEF = "chief"  # no worker's name
_ADVICE = "Its backup is damaged or missing too; choose another run_dir (--run-dir) to start over."
# Errors that a state with unexpected values can cause, DamagedFileError among them.
_UNFIT = (FileNotFoundError, KeyError, TypeError, ValueError, AttributeError, IndexError)

Method = TypeVar("Method", bound=Callable[..., Any])


class UnknownTrialError(LookupError):
    """An id that no trial has."""


def locked(method: Method) -> Method:
    """Allow one thread at a time to call an oracle's methods, like ``keras_tuner.synchronized``.

    That decorator never releases its lock if the method raises, so it gets a function that does not raise.
    """

    @keras_tuner.synchronized
    def caught(self: keras_tuner.Oracle, *arguments: Any, **options: Any) -> tuple[Any, BaseException | None]:
        try:
            return method(self, *arguments, **options), None
        except BaseException as error:
            return None, error

    @functools.wraps(method)
    def call(self: keras_tuner.Oracle, *arguments: Any, **options: Any) -> Any:
        value, error = caught(self, *arguments, **options)
        if error is not None:
            raise error
        return value

    return cast(Method, call)


class Durable(keras_tuner.Oracle):
    """The base class of a sweep's oracles, for everything but proposing values.

    - Its state and its trials are written whole or not at all, each with a backup that is read if the file is damaged.
    - After any kill, each trial is as in its file: finished ones are kept, and the others run again first.
    - Failed trials never stop the search.
    - A worker that has been silent for too long loses its trial to the next worker that asks.
    - An error in a call only affects its caller. The next call is answered.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.last_seen: dict[str, float] = {}
        self.started: dict[str, float] = {}  # when each trial started, by this process's clock
        self.on_end: Callable[[Trial], Any] | None = None
        self.is_chosen: Callable[[Mapping[str, Any]], bool] = lambda values: True
        self.has_ended = False  # a worker was told that no trial is left
        self.verbose = 0  # a sweep prints its own progress

    def open(self, folder: Path) -> None:
        """Keep the state in a folder, and continue from the state that is there."""
        folder.mkdir(exist_ok=True)
        self._set_project_dir(str(folder.parent), folder.name)
        # Trials without a state must not be started over.
        if any(folder.glob("oracle.json*")) or any(folder.glob("trial_*/trial.json*")):
            self.reload()
        self.save()

    @property
    def _file(self) -> Path:
        return Path(self._project_dir) / "oracle.json"

    @locked
    def save(self) -> None:
        """Write the state."""
        _write_state(self._file, self.get_state())

    def _save_trial(self, trial: Trial) -> None:
        _write_state(Path(self._get_trial_dir(trial.trial_id)) / "trial.json", trial.get_state())

    def reload(self) -> None:
        """Read the state and the trials again. See the class.

        Raises:
            DamagedFileError: A file and its backup are damaged or missing.
        """
        for folder in sorted(Path(self._project_dir).glob("trial_*/")):
            if any(folder.glob("trial.json*")):  # otherwise it was killed before the trial's first state
                _read_state(folder / "trial.json", self._take_trial)
        _read_state(self._file, self._take_state)
        for trial in self.trials.values():
            self._record_values(trial)  # a kill may have come between the trial's file and the state
        ended = [trial_id for trial_id, trial in self.trials.items() if trial.status in _ENDED]
        self.end_order += [trial_id for trial_id in ended if trial_id not in self.end_order]
        self.start_order += [trial_id for trial_id in self.trials if trial_id not in self.start_order]
        # Workers that ask again continue their trials.
        for tuner_id, trial in list(self.ongoing_trials.items()):
            if trial.trial_id in ended:
                del self.ongoing_trials[tuner_id]
        self.last_seen = dict.fromkeys(self.ongoing_trials, time.monotonic())
        assigned = {*ended, *(trial.trial_id for trial in self.ongoing_trials.values())}
        self._retry_queue = [trial_id for trial_id in reversed(list(self.trials)) if trial_id not in assigned]

    def _take_trial(self, path: Path, state: dict[str, Any]) -> None:
        """Set a trial from the state that was read."""
        check_fields(path, state, {"trial_id": str, "hyperparameters": dict, "metrics": dict, "status": str})
        if f"trial_{state['trial_id']}" != path.parent.name:
            raise damaged(path, f"it belongs to trial {state['trial_id']}")
        self.trials[state["trial_id"]] = Trial.from_state(state)

    def _take_state(self, path: Path, state: dict[str, Any]) -> None:
        """Set the oracle from the state that was read."""
        number = (int, float)
        kinds: dict[type, Kind] = {list: list, dict: dict, str: str, int: number, float: number}
        fields = {name: kinds.get(type(value), object) for name, value in self.get_state().items()}
        check_fields(path, state, fields)
        orders = (state["start_order"], state["end_order"], state["retry_queue"], state["ongoing_trials"].values())
        for trial_id in itertools.chain(*orders):
            if trial_id not in self.trials:
                raise damaged(path, f"it names trial {trial_id!r}, which has no file")
        self.set_state(state)

    def _check_consecutive_failures(self) -> None:
        """Do nothing: failed trials never stop the search."""

    @locked
    def create_trial(self, tuner_id: str) -> Trial:
        """Return the trial that a worker has, or the next one. It also counts as a sign of life."""
        self.last_seen[tuner_id] = time.monotonic()
        trial = super().create_trial(tuner_id)
        if trial.status == TrialStatus.STOPPED and self.ongoing_trials:
            # Another worker's trial may return to the queue, so workers wait until the last trial has ended.
            trial.status = TrialStatus.IDLE
            self.tuner_ids.add(tuner_id)
        if trial.status == TrialStatus.STOPPED:
            self.last_seen.pop(tuner_id, None)
            self.has_ended = True
        self.started.setdefault(trial.trial_id, time.monotonic())
        return trial

    def get_trial(self, trial_id: str) -> Trial:
        """Return a trial.

        Raises:
            UnknownTrialError: There is no trial with this id.
        """
        if trial_id not in self.trials:
            raise UnknownTrialError(f"There is no trial {trial_id!r}.")
        return self.trials[trial_id]

    @locked
    def update_trial(self, trial_id: str, metrics: dict[str, float], step: int = 0) -> Trial:
        """Record a score. A trial that has ended keeps its score."""
        trial = self.get_trial(trial_id)
        return trial if trial_id in self.end_order else super().update_trial(trial_id, metrics, step=step)

    @locked
    def end_trial(self, trial: Trial) -> None:
        """Record a result. An earlier one, from a worker that had been given up, takes precedence."""
        self.get_trial(trial.trial_id)
        if trial.trial_id in self.end_order:
            return
        if trial.trial_id in self._retry_queue:
            self._retry_queue.remove(trial.trial_id)
        super().end_trial(trial)
        self.save()  # without it among the running ones
        if self.on_end is not None:
            self.on_end(trial)

    @locked
    def requeue_silent(self, seconds: float) -> list[str]:
        """Requeue the trials of workers that have been silent for ``seconds``, and return the workers' names."""
        now = time.monotonic()
        silent = [tuner_id for tuner_id, time_of_sign in self.last_seen.items() if now - time_of_sign >= seconds]
        self._requeue(silent)
        return silent

    def _requeue(self, tuner_ids: Sequence[str]) -> None:
        """Forget workers, and queue the trials that they have."""
        for tuner_id in tuner_ids:
            del self.last_seen[tuner_id]
            self.tuner_ids.discard(tuner_id)
            if (trial := self.ongoing_trials.pop(tuner_id, None)) is not None:
                self._retry_queue.append(trial.trial_id)
        if tuner_ids:
            self.save()

    @locked
    def run_again(self, trial_ids: Iterable[str]) -> None:
        """Put trials that had ended back into the queue, their scores forgotten."""
        ended = [trial_id for trial_id in trial_ids if trial_id in self.end_order and self._is_trial_chosen(trial_id)]
        for trial_id in ended:
            trial = self.trials[trial_id]
            trial.status, trial.score, trial.message = TrialStatus.RUNNING, None, None
            trial.metrics = type(trial.metrics)()
            self.end_order.remove(trial_id)
            self._save_trial(trial)
        if ended:
            self._retry_queue += reversed(ended)
            self.save()

    @locked
    def look_ahead(self) -> None:
        """Find out whether a trial is left, before any worker asks. The trial goes to the first one that does.

        Without it, a chief that was started again for nothing but the end of its sweep would wait for a worker.
        """
        if self.ongoing_trials or self._retry_queue:
            return
        trial = self.create_trial(_CHIEF)
        if trial.status != TrialStatus.STOPPED:
            self.started.pop(trial.trial_id, None)
            self._requeue([_CHIEF])

    @locked
    def choose_points(self, is_chosen: Callable[[Mapping[str, Any]], bool]) -> None:
        """Run only trials whose values are chosen. The others wait for a sweep that chooses them.

        It decides which points of a grid are proposed, and which trials that were cut off are run again.
        """
        self.is_chosen = is_chosen
        waiting = [trial_id for trial_id in self._retry_queue if self._is_trial_chosen(trial_id)]
        self._retry_queue = waiting

    def _is_trial_chosen(self, trial_id: str) -> bool:
        return self.is_chosen(self.trials[trial_id].hyperparameters.values)

    @locked
    def is_over(self) -> bool:
        """Return whether no trial is running and every worker knows that none is left."""
        return self.has_ended and not self.ongoing_trials and not self.tuner_ids


def _write_state(path: Path, state: dict[str, Any]) -> None:
    """Write a state, then its backup, so that one survives damage to the other."""
    for name in (path, _backup(path)):
        with files.new_file(name, "w") as file:
            json.dump(state, file)


def _read_state(path: Path, take: Callable[[Path, dict[str, Any]], Any]) -> None:
    """Read a state, or its backup if it is damaged or missing."""
    try:
        take(path, read_object(path))
    except _UNFIT as error:
        try:
            take(path, read_object(_backup(path)))
        except _UNFIT:
            if isinstance(error, DamagedFileError):
                raise DamagedFileError(f"{error} {_ADVICE}") from None
            reason = "it is missing" if isinstance(error, FileNotFoundError) else f"{type(error).__name__}: {error}"
            raise damaged(path, reason, _ADVICE) from None


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".bak")
