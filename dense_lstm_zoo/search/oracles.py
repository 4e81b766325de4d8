"""The oracles that propose a sweep's values: random, Bayesian, Hyperband and a resumable grid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import keras_tuner
import numpy as np
from keras_tuner.engine.trial import TrialStatus

from dense_lstm_zoo import checks
from dense_lstm_zoo.search import TUNERS
from dense_lstm_zoo.search.durable import Durable


class RandomOracle(Durable, keras_tuner.oracles.RandomSearchOracle):
    """Random search."""


class BayesianOracle(Durable, keras_tuner.oracles.BayesianOptimizationOracle):
    """Bayesian optimisation with a Gaussian process. No point is tried twice."""

    def populate_space(self, trial_id: str) -> dict[str, Any]:
        """Return the most promising values, or random ones if those were tried."""
        # keras-tuner's generator starts over after a kill; one for each trial proposes the same without a kill.
        self._random_state = np.random.RandomState((self.seed + len(self.trials)) % 2**32)
        response: dict[str, Any] = super().populate_space(trial_id)
        if response["status"] == TrialStatus.RUNNING and self._duplicate(response["values"]):
            response = self._random_populate_space()
        return response


class HyperbandOracle(Durable, keras_tuner.oracles.HyperbandOracle):
    """Hyperband: many trials for few epochs, of which the better ones continue.

    Unlike keras-tuner's, trials that failed count among those that a round throws out, and a bracket for which the
    space has too few values goes on with those that there are.
    """

    def populate_space(self, trial_id: str) -> dict[str, Any]:
        """Return the values of a new trial, or those of a better one of the round before, to go on with."""
        self._remove_completed_brackets()
        while True:
            for bracket in self._brackets:
                values = self._new_values(bracket, trial_id) or self._promoted_values(bracket, trial_id)
                if values:
                    return {"status": TrialStatus.RUNNING, "values": values}
            if self._current_bracket == 0 and self._current_iteration + 1 == self.hyperband_iterations:
                return {"status": TrialStatus.IDLE if self.ongoing_trials else TrialStatus.STOPPED}
            self._increment_bracket_num()
            self._start_new_bracket()

    def _new_values(self, bracket: dict[str, Any], trial_id: str) -> dict[str, Any] | None:
        """Return random values for a bracket's first round, unless it is full or no others are left."""
        number, trials = bracket["bracket_num"], bracket["rounds"][0]
        if bracket.get("exhausted") or len(trials) >= self._get_size(number, 0):
            return None
        values: dict[str, Any] | None = self._random_values()
        if values is None:
            bracket["exhausted"] = True
            return None
        trials.append({"past_id": None, "id": trial_id})
        return values | self._place(number, 0)

    def _promoted_values(self, bracket: dict[str, Any], trial_id: str) -> dict[str, Any] | None:
        """Return the values of the best trial that may enter a bracket's next round, or None."""
        number, sizes = bracket["bracket_num"], self._sizes(bracket)
        for round_number in range(1, len(sizes)):
            before, trials = bracket["rounds"][round_number - 1], bracket["rounds"][round_number]
            selected = {place["past_id"] for place in trials}
            waiting = [self.trials[place["id"]] for place in before if place["id"] not in selected]
            completed = [trial for trial in waiting if trial.status == TrialStatus.COMPLETED]
            num_failed = sum(trial.status == TrialStatus.FAILED for trial in waiting)
            # As many of them are ready as will be thrown out, and one more, which is better than those.
            if completed and len(completed) + num_failed > sizes[round_number - 1] - sizes[round_number]:
                best = (max if self.objective.direction == "max" else min)(completed, key=lambda trial: trial.score)
                trials.append({"past_id": best.trial_id, "id": trial_id})
                values = {**best.hyperparameters.values, "tuner/trial_id": best.trial_id}
                return values | self._place(number, round_number)
        return None

    def _sizes(self, bracket: dict[str, Any]) -> list[int]:
        """Return the number of trials in each round of a bracket."""
        sizes = [self._get_size(bracket["bracket_num"], number) for number in range(len(bracket["rounds"]))]
        if bracket.get("exhausted"):
            sizes[0] = len(bracket["rounds"][0])
            for number in range(1, len(sizes)):
                sizes[number] = min(sizes[number], math.ceil(sizes[number - 1] / self.factor))
        return sizes

    def _place(self, bracket_number: int, round_number: int) -> dict[str, int]:
        """Return where a trial stands, as keras-tuner and ``Sweep.spec`` read it."""
        return {
            "tuner/epochs": self._get_epochs(bracket_number, round_number),
            "tuner/initial_epoch": 0 if round_number == 0 else self._get_epochs(bracket_number, round_number - 1),
            "tuner/bracket": bracket_number,
            "tuner/round": round_number,
        }

    def reload(self) -> None:
        """Read the state and the trials again, and put a trial back in its place that a kill left without one."""
        super().reload()
        ids = {place["id"] for bracket in self._brackets for trials in bracket["rounds"] for place in trials}
        for trial_id in sorted(self.trials.keys() - ids):
            values = self.trials[trial_id].hyperparameters.values
            number, round_number = values.get("tuner/bracket", -1), values.get("tuner/round", 0)
            while self._current_bracket > number >= 0:
                self._increment_bracket_num()
                self._start_new_bracket()
            bracket = next((each for each in self._brackets if each["bracket_num"] == number), None)
            if bracket is None or round_number >= len(bracket["rounds"]):
                continue  # its bracket is complete
            past_id = values.get("tuner/trial_id") if round_number else None
            if round_number and past_id not in {place["id"] for place in bracket["rounds"][round_number - 1]}:
                continue
            bracket["rounds"][round_number].append({"past_id": past_id, "id": trial_id})


class GridOracle(Durable, keras_tuner.Oracle):
    """Every chosen combination once, in order. A resumed search needs to know only which were tried."""

    def populate_space(self, trial_id: str) -> dict[str, Any]:
        """Return the next combination."""
        names = [hp.name for hp in self.hyperparameters.space]
        for values in itertools.product(*(hp.values for hp in self.hyperparameters.space)):
            point = dict(zip(names, values, strict=True))
            if self.is_chosen(point) and not self._duplicate(point):
                return {"status": TrialStatus.RUNNING, "values": point}
        return {"status": TrialStatus.STOPPED, "values": None}


_FOR_0 = 2**32 - 1


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
    # keras-tuner draws a seed in the place of 0.
    shared: dict[str, Any] = {"objective": objective, "seed": seed or _FOR_0, "hyperparameters": hyperparameters}
    if tuner == "hyperband":
        return HyperbandOracle(max_epochs=epochs, **shared)
    if tuner == "grid":
        return GridOracle(max_trials=trials, **shared)
    if tuner == "random":
        return RandomOracle(max_trials=trials, **shared)
    return BayesianOracle(max_trials=trials, **shared)
