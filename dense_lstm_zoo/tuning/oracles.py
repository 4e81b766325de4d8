"""keras-tuner's oracles, made to survive: whole files, a backup, a grid that resumes, failures that stop nothing."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras_tuner
from keras_tuner.engine.trial import Trial, TrialStatus

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.tuning import TUNERS

_ENDED = (TrialStatus.COMPLETED, TrialStatus.FAILED)


class Durable(keras_tuner.Oracle):
    """What every oracle of a sweep does beside proposing values.

    - Its state and its trials are written whole or not at all, the state with a copy of the one before.
    - After any kill it finds each trial as its file says: those that had ended are kept, the others run again first.
    - Any number of failed trials stops nothing.
    - A worker that has been silent for too long loses its trial to the next that asks.
    """

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.last_seen: dict[str, float] = {}
        self.started: dict[str, float] = {}  # when each trial began, by this process's clock
        self.on_end: Callable[[Trial], Any] | None = None
        self.verbose = 0  # a sweep prints its own progress

    @property
    def _file(self) -> Path:
        return Path(self._project_dir) / "oracle.json"

    def save(self) -> None:
        """Write the state."""
        if self._file.is_file():
            with files.new_file(self._file.with_suffix(".json.bak")) as backup:
                backup.write(self._file.read_bytes())
        with files.new_file(self._file, "w") as file:
            json.dump(self.get_state(), file)

    def _save_trial(self, trial: Trial) -> None:
        with files.new_file(Path(self._get_trial_dir(trial.trial_id)) / "trial.json", "w") as file:
            json.dump(trial.get_state(), file)

    def reload(self) -> None:
        """Read the state and the trials again; see the class."""
        for path in sorted(Path(self._project_dir).glob("trial_*/trial.json")):
            trial = Trial.from_state(json.loads(path.read_text(encoding="utf-8")))
            self.trials[trial.trial_id] = trial
        self.set_state(self._read_state())
        ended = [trial_id for trial_id, trial in self.trials.items() if trial.status in _ENDED]
        self.end_order += [trial_id for trial_id in ended if trial_id not in self.end_order]
        self.start_order += [trial_id for trial_id in self.trials if trial_id not in self.start_order]
        # Workers that ask again go on with what they have.
        for tuner_id, trial in list(self.ongoing_trials.items()):
            if trial.trial_id in ended:
                del self.ongoing_trials[tuner_id]
        self.last_seen = dict.fromkeys(self.ongoing_trials, time.monotonic())
        taken = {*ended, *(trial.trial_id for trial in self.ongoing_trials.values())}
        self._retry_queue = [trial_id for trial_id in reversed(list(self.trials)) if trial_id not in taken]

    def _read_state(self) -> dict[str, Any]:
        state: dict[str, Any]
        for path in (self._file, self._file.with_suffix(".json.bak")):
            try:
                state = json.loads(path.read_text(encoding="utf-8"))
                return state
            except (OSError, ValueError):
                continue
        raise ValueError(f"{self._file} and its backup are missing or damaged: name another run_dir to begin anew.")

    def _check_consecutive_failures(self) -> None:
        """Let no number of failures stop the search."""

    @keras_tuner.synchronized
    def create_trial(self, tuner_id: str) -> Trial:
        """Return the trial that a worker has, or the next one; the worker is alive."""
        self.last_seen[tuner_id] = time.monotonic()
        trial = super().create_trial(tuner_id)
        if trial.status == TrialStatus.STOPPED and self.ongoing_trials:
            # Another's trial may still come back to the queue: nobody is sent home before the last has ended.
            trial.status = TrialStatus.IDLE
            self.tuner_ids.add(tuner_id)
        if trial.status == TrialStatus.STOPPED:
            self.last_seen.pop(tuner_id, None)
        self.started.setdefault(trial.trial_id, time.monotonic())
        return trial

    @keras_tuner.synchronized
    def end_trial(self, trial: Trial) -> None:
        """Take a result; one that came before, from a worker that had been given up, counts."""
        if trial.trial_id in self.end_order:
            return
        if trial.trial_id in self._retry_queue:
            self._retry_queue.remove(trial.trial_id)
        super().end_trial(trial)
        if self.on_end is not None:
            self.on_end(trial)

    @keras_tuner.synchronized
    def requeue_silent(self, seconds: float) -> list[str]:
        """Take the trials of workers that have been silent for so long; return the workers' names."""
        now = time.monotonic()
        silent = [tuner_id for tuner_id, seen in self.last_seen.items() if now - seen >= seconds]
        for tuner_id in silent:
            del self.last_seen[tuner_id]
            self.tuner_ids.discard(tuner_id)
            if (trial := self.ongoing_trials.pop(tuner_id, None)) is not None:
                self._retry_queue.append(trial.trial_id)
        if silent:
            self.save()
        return silent


class RandomOracle(Durable, keras_tuner.oracles.RandomSearchOracle):
    """Random search."""


class BayesianOracle(Durable, keras_tuner.oracles.BayesianOptimizationOracle):
    """Bayesian optimisation with a Gaussian process."""


class HyperbandOracle(Durable, keras_tuner.oracles.HyperbandOracle):
    """Hyperband: many trials for few epochs, the better ones go on."""


class GridOracle(Durable, keras_tuner.Oracle):
    """Every combination once, in order; what was tried is all that a resumed search needs to know."""

    def populate_space(self, trial_id: str) -> dict[str, Any]:
        """Return the next combination."""
        names = [hp.name for hp in self.hyperparameters.space]
        for values in itertools.product(*(hp.values for hp in self.hyperparameters.space)):
            chosen = dict(zip(names, values, strict=True))
            if not self._duplicate(chosen):
                return {"status": TrialStatus.RUNNING, "values": chosen}
        return {"status": TrialStatus.STOPPED, "values": None}


def make_oracle(
    tuner: str,
    *,
    objective: keras_tuner.Objective,
    trials: int | None,
    epochs: int,
    seed: int,
    hyperparameters: keras_tuner.HyperParameters,
) -> Durable:
    """Return an oracle by name.

    Raises:
        ValueError: An unknown name, or Bayesian optimisation without its packages.
    """
    checks.one_of("tuner", tuner, TUNERS)
    shared: dict[str, Any] = {"objective": objective, "seed": seed, "hyperparameters": hyperparameters}
    if tuner == "hyperband":
        return HyperbandOracle(max_epochs=epochs, **shared)
    if tuner == "grid":
        return GridOracle(max_trials=trials, **shared)
    if tuner == "random":
        return RandomOracle(max_trials=trials, **shared)
    try:
        return BayesianOracle(max_trials=trials, **shared)
    except ImportError:
        raise ValueError(
            "tuner='bayesian' needs SciPy and scikit-learn: pip install dense-lstm-zoo[bayesian]."
        ) from None
