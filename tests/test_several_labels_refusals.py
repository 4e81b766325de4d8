"""Refusals of several labels per text, in one clear line: by tables, options and a Keras task of one label."""

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo_runtime.answers import Prediction, TaggedSentence, fields
from tests import bundle_harness
from tests.several_labels_harness import corpus, train


@pytest.fixture(scope="module")
def bundle():
    """An untrained model of several labels, which no test changes."""
    return bundle_harness.bundle("bilstm", labels="several")


def test_columns_that_are_labels_may_begin_as_probabilities_do(tmp_path):
    frame = pd.DataFrame({"text": ["a", "b"], "probability_x": [1, 0], "probability_y": [1, 1]})
    names = ["probability_x", "probability_y"]
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (tmp_path / "a.csv", frame):
        assert zoo.load_corpus(source, label_columns=names).train.labels == [(0, 1), (1,)]


def test_a_frame_without_labels_needs_probabilities():
    frame = pd.DataFrame({"text": ["a", "b"], **{name: [0.25, 0.75] for name in ("probability_x",)}})
    with pytest.raises(ValueError, match="Name the column of the labels with label="):
        Corpus.from_frame(frame, text="text")
    frame["probability_y"] = 1 - frame["probability_x"]
    soft = Corpus.from_frame(frame, text="text")
    assert soft.train.labels == [1, 0]
    assert soft.columns == {"text_column": "text", "label_column": "label"}


def test_training_texts_of_another_kind_do_not_replace_a_corpus():
    one = Corpus("one", ("food", "price", "staff"), Split(["a", "b", "c"], [0, 1, 2]), None, None)
    with pytest.raises(ValueError, match="meals's training texts have several labels each; those of one have one"):
        one.with_train(corpus(20))
    assert corpus(20).with_train(corpus(40)).train.labels == corpus(40).train.labels


def test_a_keras_task_of_one_label_per_text_says_how_to_have_several():
    model = zoo.TextClassifier("bilstm", texts=["a b"], label_names=["no", "yes"], units=2, embedding_dim=2)
    with pytest.raises(ValueError, match=r"received lists of labels. labels='several' makes"):
        model.fit(["a", "b"], [["no"], ["no", "yes"]])
    ragged = tf.ragged.constant([["no"], ["no", "yes"]])
    for labels in ([[1, 0], [1, 1]], ragged):
        dataset = tf.data.Dataset.from_tensors((["a", "b"], labels))
        with pytest.raises(ValueError, match=r"labels must be \(batch,\); received shape \(2, .*labels=\"several\""):
            model.fit(dataset)
    with pytest.raises(ValueError, match=r"labels must be \(batch,\); received shape \(2, 2\)"):
        model.train_on_batch(["a", "b"], np.array([[1, 0], [1, 1]]))


def test_thresholds_go_with_the_keras_task_until_it_learns():
    before = bundle_harness.bundle("lstm", num_classes=2)
    before.labels, before.config["thresholds"] = ["no", "yes"], {"yes": 0.9}
    model = before.as_keras()
    assert model.to_bundle().config["thresholds"] == {"yes": 0.9}
    assert type(model).from_config(model.get_config()).to_bundle().config["thresholds"] == {"yes": 0.9}
    model.train_on_batch(["good"], ["no"])
    assert "thresholds" not in model.to_bundle().config


def test_answers_have_labels_only_where_there_may_be_several():
    one, none = Prediction("a", "x", 0.5, {"x": 0.5}), Prediction("a", "", 0.5, {"x": 0.5}, labels=[])
    assert fields(one) == {"label": "x", "probability": 0.5, "probabilities": {"x": 0.5}, "known_words": None}
    assert fields(none)["labels"] == []
    assert fields(TaggedSentence(["a"], ["O"], [1.0], "a", []))["spans"] == []
    assert "spans" not in fields(TaggedSentence(["a"], ["NOUN"], [1.0]))


def test_options_of_soft_labels_need_them(tmp_path):
    with pytest.raises(ValueError, match=r"temperature=2.0 is for training texts with soft labels"):
        train(tmp_path / "run", corpus(20), temperature=2.0)
