"""A Keras model of several labels per text: forms of labels, losses, weights, thresholds and saved files."""

import re

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.calibration import sigmoid
from dense_lstm_zoo.models.label_sets import ExactMatch, LabelSetCrossentropy
from tests import bundle_harness
from tests.keras_task_harness import refused
from tests.several_labels_harness import LABELS, examples

TEXTS, NAMES = map(list, zip(*examples(60, 1), strict=True))
PLACES = [[LABELS.index(name) for name in names] for names in NAMES]
MATRIX = np.array([[name in names for name in LABELS] for names in NAMES]).astype(int)
FRAME = pd.DataFrame(MATRIX, columns=LABELS)
TINY = {"units": 3, "embedding_dim": 4, "kernel": "native", "dropout": 0.0, "embedding_dropout": 0.0}


def new_model(**options):
    """A classifier of ``TEXTS``, with the same weights in each test."""
    keras.utils.set_random_seed(7)
    options = {"label_names": LABELS, "labels": "several", **TINY, **options}
    return zoo.TextClassifier("lstm", texts=TEXTS, **options)


@pytest.fixture(scope="module")
def trained():
    """A trained model. No test changes it."""
    model = new_model(learning_rate=0.05)
    model.fit(TEXTS, NAMES, epochs=2, verbose=0)
    return model


@pytest.fixture(scope="module")
def untrained():
    """A model that no test changes."""
    return new_model()


def in_batches(*columns, size=20):
    return tf.data.Dataset.from_tensor_slices(columns).batch(size)


def test_fit_takes_the_batches_and_the_loss_of_train(trained):
    dataset = zoo.text_dataset(
        TEXTS, PLACES, label_names=LABELS, vocabulary=trained.preprocessor.vocabulary, batch_size=16, seed=5
    )
    ours = trained._read(TEXTS, NAMES).training(None, 5, 0, True)
    for batch, expected in zip(ours.as_numpy_iterator(), dataset.as_numpy_iterator(), strict=True):
        for values, right in zip(batch, expected, strict=True):
            np.testing.assert_array_equal(values, right)
    assert isinstance(trained.loss, LabelSetCrossentropy)
    assert trained.history.history["loss"][1] < trained.history.history["loss"][0]


def test_all_forms_of_labels_are_the_same_labels(trained):
    scores = trained.evaluate(TEXTS, NAMES, verbose=0, return_dict=True)
    logits = np.log((shares := trained.predict(TEXTS, verbose=0)) / (1 - shares))
    loss = np.sum(np.logaddexp(0, logits) - MATRIX * logits, axis=1).mean()
    penalty = float(keras.ops.sum(keras.ops.stack(trained.losses)))
    accuracy = ((shares >= 0.5) == MATRIX).all(axis=1).mean()
    assert scores == pytest.approx({"loss": loss + penalty, "accuracy": accuracy}, rel=1e-4)
    assert trained.evaluate(in_batches(TEXTS, MATRIX), verbose=0, return_dict=True) == pytest.approx(scores, rel=1e-5)
    in_memory = [NAMES, PLACES, pd.Series(NAMES), pd.DataFrame({"labels": NAMES}), MATRIX, MATRIX.astype(bool)]
    in_memory += [MATRIX.astype("float32"), tf.constant(MATRIX), FRAME, FRAME[["staff", "food", "price"]]]
    for labels in in_memory:
        np.testing.assert_array_equal(trained._read(TEXTS, labels).labels, MATRIX)
    rows = [np.array(row, np.int64) for row in PLACES]
    places = tf.RaggedTensor.from_row_lengths(np.concatenate(rows), list(map(len, rows)))
    for labels in (tf.ragged.constant(NAMES), places, MATRIX, MATRIX.astype(bool)):
        targets = trained.preprocessor(TEXTS, labels)[1]
        assert targets.dtype == tf.float32
        np.testing.assert_array_equal(targets, MATRIX)
    np.testing.assert_array_equal(trained._batch(TEXTS, NAMES)[1], MATRIX)


def test_labels_in_ragged_tensors_and_bytes_are_those_of_lists(untrained):
    names, places = tf.ragged.constant(NAMES), tf.ragged.constant(PLACES, tf.int32)
    for labels in (names, places, [[name.encode() for name in row] for row in NAMES]):
        np.testing.assert_array_equal(untrained._read(TEXTS, labels).labels, MATRIX)
    np.testing.assert_array_equal(untrained._batch(TEXTS, names)[1], MATRIX)


def test_probabilities_are_those_of_each_label_by_itself(trained):
    shares = trained.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(shares, sigmoid(trained(TEXTS).numpy()), atol=1e-6)
    for texts in (in_batches(TEXTS), in_batches(TEXTS, MATRIX)):
        np.testing.assert_allclose(trained.predict(texts, verbose=0), shares, atol=1e-6)
    assert not np.allclose(shares.sum(axis=1), 1, atol=0.01)
    unknown = ["", "qwer"]
    np.testing.assert_allclose(trained.predict(unknown, verbose=0), sigmoid(trained(unknown).numpy()), atol=1e-6)
    assert trained.predict([], verbose=0).shape == (0, 3)
    np.testing.assert_allclose(trained.to_bundle().probabilities(TEXTS), shares, atol=1e-6)


def test_classes_weigh_the_decisions_of_their_texts_as_in_train(untrained):
    logits = untrained(TEXTS).numpy()
    losses = np.logaddexp(0, logits) - MATRIX * logits
    rows = (np.arange(60) / 20).astype("float32")
    penalty = float(keras.ops.sum(keras.ops.stack(untrained.losses)))
    expected = (losses * np.where(MATRIX > 0, [0.5, 1, 3], 1) * rows[:, None]).sum(axis=1).mean() + penalty
    weights = {"staff": 3.0, 0: 0.5}
    options = {"sample_weight": rows, "batch_size": 60, "verbose": 0}
    history = new_model().fit(TEXTS, NAMES, class_weight=weights, **options).history
    assert history["loss"] == pytest.approx([expected], rel=1e-5)
    batches = untrained._mapped(in_batches(TEXTS, MATRIX, rows))
    _, targets, of_decisions = next(iter(untrained._weighted(batches, weights, None)[0]))
    np.testing.assert_allclose(of_decisions, np.where(targets > 0, [0.5, 1, 3], 1) * rows[:20, None])
    data = untrained._read(TEXTS, NAMES)
    _, targets, of_decisions = next(iter(untrained._weighted(data.evaluation(20), "balanced", data)[0]))
    balanced = (60 - MATRIX.sum(axis=0)) / MATRIX.sum(axis=0)
    np.testing.assert_allclose(of_decisions, np.where(targets > 0, balanced, 1), rtol=1e-6)


def test_one_step_weighs_decisions_as_fit_does(untrained, monkeypatch):
    monkeypatch.setattr(keras.Model, "train_on_batch", lambda model, *batch, **options: (*batch, options))
    rows = (np.arange(60) / 20).astype("float32")
    expected = np.where(MATRIX > 0, [0.5, 1, 3], 1)
    for labels in (NAMES, MATRIX):
        batch = untrained.train_on_batch(TEXTS, labels, rows, class_weight={"staff": 3.0, 0: 0.5})
        np.testing.assert_array_equal(batch[1], MATRIX)
        np.testing.assert_allclose(batch[2], expected * rows[:, None])
        assert batch[3] == {"class_weight": None}  # which Keras would apply to the likeliest label alone
    ids = untrained.preprocessor(TEXTS)
    np.testing.assert_allclose(untrained.train_on_batch(ids, MATRIX, class_weight={2: 3.0, 0: 0.5})[2], expected)


def test_accuracy_in_any_form_is_the_share_of_texts_with_exactly_the_right_labels(trained):
    model = new_model(compile=False)
    model.set_weights(trained.get_weights())
    model.compile(metrics=("accuracy",), weighted_metrics={"logits": ["Accuracy"]})
    weights = np.arange(60) / 20
    scores = model.evaluate(TEXTS, NAMES, sample_weight=weights, verbose=0, return_dict=True)
    right = ((trained.predict(TEXTS, verbose=0) >= 0.5) == MATRIX).all(axis=1)
    expected = {"accuracy": right.mean(), "weighted_accuracy": np.average(right, weights=weights)}
    assert {name: scores[name] for name in expected} == pytest.approx(expected, rel=1e-5)
    assert 0 < right.mean() < 1


def test_a_loss_of_keras_and_its_accuracy_are_on_logits(untrained):
    model = new_model(compile=False)
    with pytest.raises(ValueError, match=r"binary_crossentropy takes probabilities\. .*\.BinaryCrossentropy\(from_log"):
        model.compile(loss="binary_crossentropy")
    model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    scores = model.evaluate(TEXTS, MATRIX, verbose=0, return_dict=True)
    expected = untrained.evaluate(TEXTS, MATRIX, verbose=0, return_dict=True)
    penalty = float(keras.ops.sum(keras.ops.stack(model.losses)))
    assert scores["accuracy"] == pytest.approx(expected["accuracy"])
    assert scores["loss"] - penalty == pytest.approx((expected["loss"] - penalty) / 3, rel=1e-5)
    with pytest.raises(ValueError, match="the model is compiled with another"):
        model.fit(TEXTS, MATRIX, class_weight={"food": 2.0})
    model.compile(weighted_metrics=["accuracy"])
    with pytest.raises(ValueError, match="weighted_metrics take a weight for each text"):
        model.fit(TEXTS, MATRIX, class_weight={"food": 2.0})


def test_files_presets_and_bundles_keep_labels_and_thresholds(trained, tmp_path):
    bundle = trained.to_bundle()
    assert bundle.is_several
    thresholds = bundle.tune_thresholds(zoo.Split(TEXTS, PLACES))
    model, labels = bundle.as_keras(), [each.labels for each in bundle.predict(TEXTS)]
    assert len(set(map(tuple, labels))) > 1
    model.save(tmp_path / "x.keras")
    model.save_to_preset(tmp_path / "preset")
    again = [keras.saving.load_model(tmp_path / "x.keras"), zoo.TextClassifier.from_preset(tmp_path / "preset")]
    for other in again:
        assert other.is_several
        np.testing.assert_allclose(other.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0), atol=1e-6)
        same = other.to_bundle()
        assert same.config["thresholds"] == thresholds
        assert [each.labels for each in same.predict(TEXTS)] == labels
    assert isinstance(again[0].loss, LabelSetCrossentropy)
    assert int(again[0].optimizer.iterations) == int(trained.optimizer.iterations)
    assert zoo.load(tmp_path / "preset").predict(TEXTS) == bundle.predict(TEXTS)
    again[0].train_on_batch(TEXTS, NAMES)
    assert "thresholds" not in again[0].to_bundle().config  # they were chosen for other weights


def test_a_trained_model_of_one_label_gets_a_last_layer_for_several_and_the_reverse(tmp_path):
    bundle = bundle_harness.bundle("bilstm")
    for labels, loss, metric in (
        ("several", LabelSetCrossentropy, ExactMatch),
        ("one", keras.losses.SparseCategoricalCrossentropy, keras.metrics.SparseCategoricalAccuracy),
    ):
        model = zoo.TextClassifier.from_preset(bundle.save(tmp_path / labels), label_names=LABELS, labels=labels)
        assert isinstance(model.loss, loss)
        assert isinstance(model.get_compile_config()["metrics"], list)
        assert model.get_compile_config()["metrics"][0]["class_name"].endswith(metric.__name__)
        y = NAMES if labels == "several" else ["food", "price", "staff"] * 20
        assert np.isfinite(model.test_on_batch(TEXTS, y)[0])
        assert model.is_several == (labels == "several")
        bundle = model.to_bundle()
        assert bundle.config["training"]["init_from"]["head"] == "new"
    with pytest.raises(ValueError, match="Unknown value of labels: 'many'"):
        zoo.TextClassifier.from_bundle(bundle, labels="many")


BAD_DATA = {
    "one label each": ((TEXTS, ["food"] * 60), {}, "y must hold a list of labels for each text, or be a matrix"),
    "indices": ((TEXTS, np.zeros(60, int)), {}, "must hold a list of labels for each text"),
    "an unknown label": ((TEXTS[:2], [["food"], ["stuff"]]), {}, "Did you mean 'staff'"),
    "a single one": ((TEXTS[:2], [["food"], "staff"]), {}, "item 1, counted from 0, is 'staff' among lists"),
    "rows in lists": ((TEXTS, MATRIX.tolist()), {}, "labels, or rows of a matrix? Give np.array(y)"),
    "a number": ((TEXTS, MATRIX + 1), {}, "row 0, counted from 0, holds"),
    "shares": ((TEXTS, MATRIX * 0.5), {}, "y must be a matrix of 0 and 1 (texts, 3)"),
    "columns": ((TEXTS, MATRIX[:, :2]), {}, "(texts, 3); received shape (60, 2)"),
    "names of columns": (
        (TEXTS, FRAME.rename(columns={"food": "meal"})),
        {},
        "The columns of y must be the labels, food",
    ),
    "fewer rows": ((TEXTS, MATRIX[:4]), {}, "a row for each text; received 4 for 60 texts"),
    "fewer lists": ((TEXTS, NAMES[:4]), {}, "received 4 for 60 texts"),
    "a dataset's label": ((in_batches(TEXTS[:1], tf.ragged.constant([["nag"]])),), {}, "Unknown label nag. Accepted"),
    "a dataset's numbers": ((in_batches(TEXTS, MATRIX * 2),), {}, "Labels must be 0 and 1, a column for each"),
    "a dataset's columns": ((in_batches(TEXTS, MATRIX[:, :2]),), {}, "labels must be 0 and 1 (batch, 3)"),
    "a dataset's single labels": ((in_batches(TEXTS, ["food"] * 60),), {}, "received string of shape (None,)"),
    "a class": ((TEXTS, NAMES), {"class_weight": {"stuff": 1.0}}, "Unknown label in class_weight: 'stuff'. Did you"),
    "a class out of range": ((TEXTS, NAMES), {"class_weight": {3: 1.0}}, "Unknown label in class_weight: 3"),
    "a class twice": ((TEXTS, NAMES), {"class_weight": {0: 1.0, "food": 2}}, "two weights for 'food'"),
    "a weight": ((TEXTS, NAMES), {"class_weight": {"food": -1}}, "class_weight['food'] must be"),
    "a word": ((TEXTS, NAMES), {"class_weight": "balance"}, "Did you mean 'balanced'"),
    "a list": ((TEXTS, NAMES), {"class_weight": [1, 2, 3]}, "class_weight must be 'balanced', or a weight for each"),
    "no counts": (
        (in_batches(TEXTS, MATRIX),),
        {"class_weight": "balanced"},
        "counts the labels of raw text",
    ),
    "ids": ((np.ones((4, 4), int), MATRIX[:4]), {"class_weight": {"food": 2}}, "received ids in memory"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_data_that_do_not_fit_are_refused_in_one_clear_error(untrained, name):
    data, options, message = BAD_DATA[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        untrained.fit(*data, verbose=0, **options)


def test_a_config_from_a_stranger_is_checked(untrained):
    refused(untrained, ("arguments", "labels"), "many", "the labels of a text must be one or several")
    refused(untrained, ("thresholds",), {"nag": 0.5}, "a threshold is for 'nag'")
    refused(untrained, ("preprocessor", "labels"), "one", "multiple values for keyword argument 'labels'")
    with pytest.raises(ValueError, match="Unknown value of labels: 'many'"):
        zoo.TextClassifier("lstm", texts=TEXTS, label_names=LABELS, labels="many")
