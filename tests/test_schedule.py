"""Batch size, patience and epochs by the number of texts, where nobody sets them."""

import math

import pytest

from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.schedule import schedule
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.training import request


@pytest.mark.parametrize("number", [1, 8, 150, 959, 960, 5_000, 12_000, 10**6])
def test_every_size_has_enough_steps_and_a_batch_within_its_bounds(number):
    values = schedule(number)
    steps = math.ceil(number / values["batch_size"])
    assert 16 <= values["batch_size"] <= 200
    assert steps >= min(60, number // 16)
    assert values["patience"] >= 5
    assert values["patience"] * steps >= 100
    assert values["epochs"] >= 30
    assert values["epochs"] * steps >= 900


def scheduled(tmp_path, model="bilstm", recipe=None, **values):
    """The settings of a request for 3,000 texts."""
    texts = Split(["a text"] * 3_000, [0, 1] * 1_500)
    checked = request.check(model, tmp_path / "run", values, recipe=recipe)
    return checked.for_corpus(Corpus("texts", ("a", "b"), texts, None, None))


def test_a_run_takes_the_schedule_of_its_texts_and_says_so(tmp_path):
    run = scheduled(tmp_path)
    assert (run.options.batch_size, run.options.patience, run.options.epochs) == (50, 5, 30)
    assert run.notice.endswith("by the number of texts: batch size 50, patience 5, epochs 30")


def test_what_the_user_sets_stays(tmp_path):
    run = scheduled(tmp_path, batch_size=7, epochs=2)
    assert (run.options.batch_size, run.options.patience, run.options.epochs) == (7, 5, 2)
    assert run.notice.endswith("by the number of texts: patience 5")
    everything = scheduled(tmp_path, batch_size=7, epochs=2, patience=1)
    assert "by the number" not in everything.notice


def test_a_recipe_that_is_named_has_its_own_schedule(tmp_path):
    assert scheduled(tmp_path, recipe="ding2018").options.batch_size == 200
    assert scheduled(tmp_path, recipe="none").options.batch_size == 50


def test_the_schedule_outlives_a_change_to_trained_words(tmp_path):
    run = scheduled(tmp_path).with_trained_words()
    assert (run.options.batch_size, run.options.vectors) == (50, None)


def test_a_task_without_a_schedule_keeps_its_defaults(tmp_path):
    checked = request.check("bilstm_tagger", tmp_path / "run", {})
    assert checked.for_corpus(object()) is checked
