"""Oracles without trials: what Hyperband promotes, points tried once, and what a kill leaves of their state."""

import collections
import shutil

import keras_tuner
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.search.plan import make_oracle_of
from dense_lstm_zoo.search.space import declare
from tests.fleet_harness import make_sweep
from tests.sweep_harness import make_quick

TEMPORARY = ".trial.json.0123abcd.dense-lstm-zoo"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    make_quick(monkeypatch)


def oracle_of(folder, trials=None, **options):
    oracle = make_oracle_of(make_sweep(**options), trials)
    oracle.open(folder)
    return oracle


def end(oracle, trial, score):
    if score is None:
        trial.status, trial.message = "FAILED", "the loss became nan"
    else:
        oracle.update_trial(trial.trial_id, {"dev_accuracy": score})
        trial.status = "COMPLETED"
    oracle.end_trial(trial)


def places(oracle, score_of=lambda values: values["units"] / 100):
    """Run all trials that are left, and count all trials by bracket and round."""
    while (trial := oracle.create_trial("worker1")).status == "RUNNING":
        end(oracle, trial, score_of(trial.hyperparameters.values))
    every = [trial.hyperparameters.values for trial in oracle.trials.values()]
    return collections.Counter((values["tuner/bracket"], values["tuner/round"]) for values in every)


HYPERBAND = {"tuner": "hyperband", "epochs": 9, "space": {"units": zoo.Range(1, 90)}}
EXPECTED = {(2, 0): 9, (2, 1): 3, (2, 2): 1, (1, 0): 5, (1, 1): 2, (0, 0): 3}


def test_failed_trials_do_not_keep_hyperband_from_going_on_with_the_others(tmp_path):
    failures = iter([None] * 4)
    oracle = oracle_of(tmp_path / "oracle", **HYPERBAND)
    assert places(oracle, lambda values: next(failures, values["units"] / 100)) == EXPECTED
    assert places(oracle_of(tmp_path / "whole", **HYPERBAND)) == EXPECTED
    promoted = [
        t.hyperparameters.values for t in oracle.trials.values() if "tuner/trial_id" in t.hyperparameters.values
    ]
    for values in promoted:
        assert oracle.trials[values["tuner/trial_id"]].hyperparameters.values["units"] == values["units"]


def test_hyperband_promotes_within_a_space_of_fewer_points_than_its_first_round(tmp_path):
    oracle = oracle_of(tmp_path / "oracle", **{**HYPERBAND, "space": {"units": [4, 5, 6, 7]}})
    assert places(oracle) == {(2, 0): 4, (2, 1): 2, (2, 2): 1}
    assert oracle.get_best_trials()[0].hyperparameters.values["units"] == 7


@pytest.mark.parametrize("count", [1, 9, 10, 13, 14])
def test_a_trial_that_a_kill_left_out_of_its_bracket_is_put_back(tmp_path, count):
    """The kill came after the file of the trial was written, and before that of the oracle."""
    folder = tmp_path / "oracle"
    oracle = oracle_of(folder, **HYPERBAND)
    for number in range(count):
        if number == count - 1:
            shutil.copy(folder / "oracle.json", tmp_path / "before.json")
        trial = oracle.create_trial("worker1")
        if number < count - 1:
            end(oracle, trial, trial.hyperparameters.values["units"] / 100)
    for name in ("oracle.json", "oracle.json.bak"):
        shutil.copy(tmp_path / "before.json", folder / name)
    assert places(oracle_of(folder, **HYPERBAND)) == EXPECTED


def test_bayesian_optimisation_tries_each_point_once(tmp_path):
    space = {"units": [4, 5, 6, 7, 8, 9]}
    oracle = oracle_of(tmp_path / "oracle", trials=20, tuner="bayesian", space=space)
    units = []
    while (trial := oracle.create_trial("worker1")).status == "RUNNING":
        units.append(trial.hyperparameters.values["units"])
        end(oracle, trial, units[-1] / 100)
    assert sorted(units) == space["units"]


def test_bayesian_optimisation_proposes_the_same_after_a_kill(tmp_path):
    def proposals(name, *, is_killed):
        oracle, rates = None, []
        while len(rates) < 5:  # the last two by the model of the others
            if oracle is None or is_killed:
                options = {"tuner": "bayesian", "space": {"learning_rate": zoo.Range(0.001, 0.1, log=True)}}
                oracle = oracle_of(tmp_path / name, trials=7, **options)
            trial = oracle.create_trial("worker1")
            rates.append(trial.hyperparameters.values["learning_rate"])
            end(oracle, trial, rates[-1] * (0.1 - rates[-1]))
        return rates

    assert proposals("killed", is_killed=True) == proposals("whole", is_killed=False)


def test_a_trial_that_was_killed_before_its_first_state_was_whole_begins_again(tmp_path):
    folder = tmp_path / "oracle"
    oracle = oracle_of(folder)
    end(oracle, oracle.create_trial("worker1"), 0.5)
    (folder / "trial_0001").mkdir()
    (folder / "trial_0001" / TEMPORARY).write_text('{"trial_id": "00')
    again = oracle_of(folder)
    assert again.create_trial("worker1").trial_id == "0001"
    assert not (folder / "trial_0001" / TEMPORARY).exists()


def test_a_chief_that_comes_back_knows_without_any_worker_whether_a_trial_is_left(tmp_path):
    folder = tmp_path / "oracle"
    oracle = oracle_of(folder, space={"units": [4, 5]})
    end(oracle, oracle.create_trial("worker1"), 0.5)
    between = oracle_of(folder, space={"units": [4, 5]})
    between.look_ahead()
    assert not between.is_over()
    last = between.create_trial("worker1")
    assert (last.trial_id, last.hyperparameters.values) == ("0001", {"units": 5})
    end(between, last, 0.5)
    after = oracle_of(folder, space={"units": [4, 5]})
    assert not after.is_over()
    after.look_ahead()
    assert after.is_over()


def test_steps_reach_the_end_of_a_range_and_booleans_stay_booleans():
    hyperparameters = keras_tuner.HyperParameters()
    space = {"dropout": zoo.Range(0.2, 0.5, 0.1), "l2": zoo.Range(0.1, 0.25, 0.1), "crf": [True, False], "xla": [False]}
    declare(hyperparameters, space)
    values = {parameter.name: list(parameter.values) for parameter in hyperparameters.space}
    assert values == {"dropout": [0.2, 0.3, 0.4, 0.5], "l2": [0.1, 0.2], "crf": [True, False], "xla": [False]}
    assert [type(x) for name in ("crf", "xla") for x in values[name]] == [bool] * 3
