"""A bundle is never saved with scores of other weights, and a score that is no number stops no save."""

import dataclasses
import json

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.training.checkpoint import Checkpoint
from tests.files_harness import names
from tests.saving_harness import NEEDED, same_weights, scored_bundle


@pytest.fixture(scope="module")
def plain():
    return scored_bundle(["no", "yes"])


SCORES = ("0.6250", "0.875", "test_accuracy")


def trained_further(bundle, tmp_path):
    ids = np.ones((4, 3), np.int32)
    bundle.model.run_eagerly = True  # tracing takes longer than all the rest
    bundle.model.fit(ids, np.zeros(4, np.int32), epochs=1, verbose=0)


def given_other_weights(bundle, tmp_path):
    bundle.model.set_weights([weight + 1 for weight in bundle.model.get_weights()])


def one_weight_set(bundle, tmp_path):
    variable = bundle.model.trainable_variables[-1]
    variable.assign(variable + 1e-6)


def weights_loaded(bundle, tmp_path):
    other = scored_bundle(["no", "yes"])
    given_other_weights(other, tmp_path)
    other.model.save_weights(tmp_path / "other.weights.h5")
    bundle.model.load_weights(tmp_path / "other.weights.h5")


def another_model(bundle, tmp_path):
    other = scored_bundle(["no", "yes"])
    given_other_weights(other, tmp_path)
    bundle.model = other.model


CHANGES = [(trained_further, True), (given_other_weights, True), (one_weight_set, False)]
CHANGES += [(weights_loaded, False), (another_model, False)]


@pytest.mark.parametrize(("change", "from_disk"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_weights_that_changed_are_saved_without_the_scores_of_others(tmp_path, change, from_disk):
    bundle = scored_bundle(["no", "yes"])
    if from_disk:
        bundle = zoo.load(bundle.save(tmp_path / "first"))
    change(bundle, tmp_path)
    with pytest.warns(UserWarning, match=r"saved without scores: its weights have changed .*bundle\.rescore"):
        bundle.save(tmp_path / "run")
    again = zoo.load(tmp_path / "run")
    assert same_weights(again, bundle)
    assert again.metrics == {"parameters": 100, "encoder_parameters": 50, "changed": again.metrics["changed"]}
    assert again.evaluation == {}
    assert names(tmp_path / "run") == sorted([*NEEDED.split(), "README.md"])
    texts = [repr(again), *((tmp_path / "run" / name).read_text() for name in ("README.md", "metrics.json"))]
    assert not [score for score in SCORES for text in texts if score in text]
    again.save(tmp_path / "again")  # there is nothing left to take away, and so no warning
    assert zoo.load(tmp_path / "again").metrics == again.metrics


def test_weights_that_are_scored_or_set_to_what_they_were_keep_their_scores(tmp_path):
    bundle = zoo.load(scored_bundle(["no", "yes"]).save(tmp_path / "first"))
    before = bundle.model.get_weights()
    given_other_weights(bundle, tmp_path)
    bundle.model.set_weights(before)
    bundle.predict(["the film", ""])
    bundle.save(tmp_path / "run")
    assert zoo.load(tmp_path / "run").metrics["test_accuracy"] == 0.625
    assert "0.6250" in (tmp_path / "run" / "README.md").read_text()


def test_scored_again_the_bundle_has_the_scores_of_its_weights(tmp_path):
    bundle = scored_bundle(["no", "yes"])
    given_other_weights(bundle, tmp_path)
    test = Split(["the film was good", "bad", "very long", "it"], [0, 0, 1, 0])
    predicted = [prediction.label for prediction in bundle.predict(test.texts)]
    right = np.mean([bundle.labels[y] == label for y, label in zip(test.labels, predicted, strict=True)])
    bundle.rescore(test=test)
    bundle.save(tmp_path / "run")
    again = zoo.load(tmp_path / "run")
    assert (again.metrics["test_accuracy"], again.metrics["test_texts"]) == (right, 4)
    assert again.metrics == bundle.metrics
    assert "best_epoch" not in again.metrics
    assert np.sum(again.evaluation["confusion"]) == 4
    card = (tmp_path / "run" / "README.md").read_text()
    assert f"{right:.4f}, macro F1 {bundle.metrics['test_macro_f1']:.4f} (4 texts)" in card
    assert "0.6250" not in card


def test_a_score_that_is_no_number_stops_no_save(plain, tmp_path):
    metrics = {**plain.metrics, "test_loss": float("inf"), "dev_loss": float("nan")}
    dataclasses.replace(plain, metrics=metrics).save(tmp_path / "run")
    metrics_again = zoo.load(tmp_path / "run").metrics
    assert np.isnan([metrics_again["test_loss"], metrics_again["dev_loss"]]).all()
    assert json.loads((tmp_path / "run" / "metrics.json").read_text(), parse_constant=pytest.fail)["test_loss"] is None


def test_an_epoch_of_infinite_perplexity_is_written_and_a_better_one_follows_it(tmp_path):
    model = scored_bundle(["no", "yes"]).model

    def checkpoint():
        state = Checkpoint(tmp_path / "state", {}, 3, monitor="val_perplexity", higher_is_better=False)
        state.set_model(model)
        return state

    with checkpoint() as first:
        first.on_epoch_end(0, {"loss": 120.0, "val_perplexity": float("inf")})
    json.loads((tmp_path / "state" / "state.json").read_text(), parse_constant=pytest.fail)
    with checkpoint() as second:
        assert (second.epochs, second.best_epoch) == (1, 1)
        second.resume(model)
        second.on_epoch_end(1, {"loss": 6.0, "val_perplexity": 400.0})
        assert second.best_epoch == 2
