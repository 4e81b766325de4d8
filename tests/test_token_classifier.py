"""A tagger as a Keras model: sentences in any form have the same tags, and its batches are those of ``train``."""

import functools
import json
import random
import re

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from sklearn.utils.class_weight import compute_class_weight

import dense_lstm_zoo as zoo
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from tests.keras_task_harness import refused

WORDS = ("Dogs", "bark", "Cats", "sleep", "2048", ".")
TAGS = ("NOUN", "VERB", "NOUN", "VERB", "NUM", "PUNCT")
PLACES = [[(i * j + 3 * j) % 6 for j in range(1, 2 + i % 7)] for i in range(60)]
TOKENS = [[WORDS[place] for place in row] for row in PLACES]
NAMES = [[TAGS[place] for place in row] for row in PLACES]
RAW = [" ".join(tokens) for tokens in TOKENS]
LABELS = ["NOUN", "NUM", "PUNCT", "VERB"]
INDICES = [[LABELS.index(tag) for tag in tags] for tags in NAMES]
TINY = {"units": 3, "embedding_dim": 4, "char_dim": 2, "kernel": "native", "dropout": 0.0, "window_dropout": 0.0}
TINY |= {"optimizer": "adam", "learning_rate": 0.02}


def new_model(**options):
    keras.utils.set_random_seed(7)
    return zoo.TokenClassifier("bilstm_tagger", texts=TOKENS, **{"label_names": LABELS, **TINY, **options})


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["softmax", "crf"])
def trained(request):
    """A trained model. No test changes it."""
    model = new_model(crf=request.param)
    model.fit(TOKENS, NAMES, epochs=2, verbose=0)
    return model


@functools.cache
def untrained():
    return new_model()


def in_batches(*columns, size=16):
    columns = tuple(tf.ragged.constant(column) if isinstance(column[0], list) else column for column in columns)
    return tf.data.Dataset.from_tensor_slices(columns if len(columns) > 1 else columns[0]).batch(size)


def test_fit_takes_the_batches_of_train_with_weights_in_their_places():
    keras.utils.set_random_seed(5)
    seed = random.randrange(1 << 31)
    weights = np.arange(60) / 7
    model = new_model()
    data = model._read(TOKENS, NAMES, weights)
    batches = list(data.training(None, seed, 0, True).as_numpy_iterator())
    assert len(batches) == 2  # of 32 sentences, as train takes
    places = {}
    for ids, tags, batch_weights in batches:
        assert tags.shape[1] == ids["token_ids"].shape[1]
        for row, weight in zip(tags, batch_weights, strict=True):
            places[round(float(weight) * 7)] = [int(tag) for tag in row if tag >= 0]
    assert [places[i] for i in range(60)] == INDICES
    longest = max(map(len, TOKENS))
    assert sum(tags.size for _, tags, _ in batches) < 64 * longest


def test_all_forms_of_sentences_have_the_same_probabilities_and_tags(trained):
    expected = trained.predict(TOKENS)
    assert [shares.shape for shares in expected] == [(len(tokens), 4) for tokens in TOKENS]
    forms = [
        RAW,
        np.array(RAW),
        np.array(RAW)[:, None],
        tuple(TOKENS),
        in_batches(TOKENS),
        in_batches(RAW),
        in_batches(TOKENS, NAMES),
    ]
    forms += [tf.ragged.constant(TOKENS), pd.Series(TOKENS)]
    for sentences in forms:
        for shares, right in zip(trained.predict(sentences), expected, strict=True):
            np.testing.assert_allclose(shares, right, atol=1e-5)


def test_tags_are_those_of_the_bundle_and_no_sentences_have_none(trained):
    expected, answers = trained.predict(TOKENS), trained.to_bundle().predict(TOKENS)
    assert trained.tag(RAW) == trained.tag(TOKENS) == [answer.tags for answer in answers]
    for shares, answer in zip(expected, answers, strict=True):
        chosen = [shares[i, LABELS.index(tag)] for i, tag in enumerate(answer.tags)]
        np.testing.assert_allclose(chosen, answer.probabilities, atol=1e-5)
    column = np.array(RAW)[:, None]
    assert trained.tag(column) == trained.tag(RAW)
    np.testing.assert_array_equal(trained(column), trained(RAW))
    np.testing.assert_array_equal(trained.predict_on_batch(column), trained.predict_on_batch(RAW))
    assert [shares.shape for shares in trained.predict([np.array([], str), np.array(["don't"])])] == [(0, 4), (1, 4)]
    padded = trained.predict(trained.preprocessor(RAW), verbose=0)
    np.testing.assert_allclose(padded[5, : len(TOKENS[5])], expected[5], atol=1e-5)
    assert trained.predict([]) == trained.tag([]) == []
    assert [shares.shape for shares in trained.predict([[], ["caf\u00e9", "\ud800"], ""])] == [(0, 4), (2, 4), (0, 4)]
    assert [shares.shape for shares in trained.predict(["", "Dogs bark."])] == [(0, 4), (3, 4)]


@pytest.fixture
def crf_answers():
    """A model with a random field, and what its bundle answers."""
    model = new_model(crf=True)
    return model, model.to_bundle().predict(RAW[:9])


def test_a_crf_gives_the_probabilities_of_its_tags(crf_answers):
    model, answers = crf_answers
    shares = model.predict(RAW[:9])
    assert model.tag(RAW[:9]) == [answer.tags for answer in answers]
    for row, answer in zip(shares, answers, strict=True):
        np.testing.assert_allclose(row.sum(axis=1), 1, rtol=1e-5)
        chosen = [row[i, LABELS.index(tag)] for i, tag in enumerate(answer.tags)]
        np.testing.assert_allclose(chosen, answer.probabilities, atol=1e-5)


def test_tags_in_another_order_keep_the_last_layer_and_the_crf():
    model, rng, order = new_model(crf=True), np.random.default_rng(3), [2, 0, 3, 1]
    model.crf.set_weights([rng.normal(size=weight.shape) for weight in model.crf.get_weights()])
    other = zoo.TokenClassifier.from_bundle(model.to_bundle(), [LABELS[place] for place in order])
    (shares,), (expected,) = other.predict(RAW[6:7]), model.predict(RAW[6:7])
    assert len(expected) == 7
    np.testing.assert_allclose(shares, expected[:, order], atol=1e-5)


def test_tags_in_tensors_and_arrays_of_bytes_are_names():
    for tags in (tf.ragged.constant(NAMES), [np.array(row, "S") for row in NAMES]):
        assert untrained()._read(TOKENS, tags).split.tags == untrained()._read(TOKENS, NAMES).split.tags


def test_scores_are_those_of_the_bundle(trained):
    scores = trained.evaluate(TOKENS, NAMES, verbose=0, return_dict=True)
    assert scores["accuracy"] == pytest.approx(trained.to_bundle().evaluate(TaggedSplit(TOKENS, NAMES))["accuracy"])


def test_steps_take_the_first_sentences_and_not_the_shortest(trained):
    scores = trained.evaluate(TOKENS[:8], NAMES[:8], verbose=0)
    assert trained.evaluate(TOKENS, NAMES, 4, steps=2, verbose=0) == pytest.approx(scores)
    sizes = [len(tokens) for tokens in TOKENS]
    for options, number in (({"batch_size": 4, "steps": 2}, 8), ({"steps": 2}, 60)):
        assert [len(shares) for shares in trained.predict(TOKENS, **options)] == sizes[:number]
    for options in ({}, {"batch_size": 4}):  # of a dataset, whose batches have their sizes, as Keras counts them
        assert [len(shares) for shares in trained.predict(in_batches(RAW), steps=2, **options)] == sizes[:32]
    for answer in (trained.predict, trained.tag):
        with pytest.raises(ValueError, match=r"batches of texts \(texts,\).* it holds shape \(None, 1\)"):
            answer(tf.data.Dataset.from_tensor_slices([[text] for text in RAW]).batch(4))


def test_all_forms_of_tags_have_the_same_scores(trained):
    scores = trained.evaluate(TOKENS, NAMES, verbose=0, return_dict=True)
    for data in ((RAW, INDICES), (in_batches(TOKENS, NAMES),), (in_batches(RAW, INDICES),)):
        assert trained.evaluate(*data, verbose=0, return_dict=True) == pytest.approx(scores, rel=1e-5)


def test_classes_weigh_their_tokens_as_in_train():
    losses, weights = [], {"VERB": 3.0, 0: 0.5}
    rows = (np.arange(60) / 20).astype("float32")
    for shares, tags in zip(untrained().predict(TOKENS), INDICES, strict=True):
        own = -np.log(shares[np.arange(len(tags)), tags])
        losses.append((own * np.array([0.5, 1, 1, 3])[tags]).mean())
    options = {"class_weight": weights, "sample_weight": rows, "batch_size": 60, "verbose": 0}
    history = new_model().fit(TOKENS, NAMES, **options).history
    assert history["loss"] == pytest.approx([(losses * rows).mean()], rel=1e-5)


def test_weights_of_classes_are_balanced_on_request_and_multiply_those_of_sentences():
    weights, rows = {"VERB": 3.0, 0: 0.5}, (np.arange(60) / 20).astype("float32")
    data = untrained()._read(TOKENS, NAMES)
    (_, tags, of_tokens), *_ = untrained()._weighted(data.evaluation(60), "balanced", data)[0]
    flat = np.concatenate(INDICES)
    balanced = compute_class_weight("balanced", classes=np.arange(4), y=flat)
    np.testing.assert_allclose(of_tokens[tags >= 0], balanced[tags[tags >= 0]], rtol=1e-6)
    batches = untrained()._mapped(in_batches(RAW, NAMES, rows))
    (_, tags, of_tokens), *_ = untrained()._weighted(batches, weights, None)[0]
    expected = np.array([0.5, 1, 1, 3])[tags] * rows[:16, None]
    np.testing.assert_allclose(of_tokens[tags >= 0], expected[tags >= 0], rtol=1e-6)


def test_one_step_weighs_tokens_by_their_tags(monkeypatch):
    monkeypatch.setattr(keras.Model, "train_on_batch", lambda model, *batch, **options: (*batch, options))
    _, tags, weights, options = untrained().train_on_batch(
        RAW, tf.ragged.constant(NAMES), class_weight={"VERB": 3.0, 0: 0.5}
    )
    is_real = tags.numpy() >= 0
    np.testing.assert_allclose(weights[is_real], np.array([0.5, 1, 1, 3])[np.concatenate(INDICES)])
    assert options == {"class_weight": None}


def test_a_crf_has_no_loss_of_each_tag_to_weigh():
    with pytest.raises(ValueError, match="class_weight weighs the loss of each tag, and crf=True has none"):
        new_model(crf=True).fit(TOKENS, NAMES, class_weight={"NOUN": 2.0})


def test_the_last_sentences_are_held_out():
    model = new_model()
    history = model.fit(TOKENS, NAMES, validation_split=0.25, verbose=0).history
    scores = model.evaluate(TOKENS[45:], NAMES[45:], verbose=0, return_dict=True)
    assert scores == pytest.approx({"loss": history["val_loss"][0], "accuracy": history["val_accuracy"][0]})


def test_saving_keeps_answers_and_the_state_of_the_optimiser(trained, tmp_path):
    trained.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert type(again) is zoo.TokenClassifier
    for shares, right in zip(again.predict(RAW), trained.predict(RAW), strict=True):
        np.testing.assert_array_equal(shares, right)
    assert int(again.optimizer.iterations) == int(trained.optimizer.iterations) == 4
    config = json.loads(json.dumps(trained.get_config()))
    assert zoo.TokenClassifier.from_config(config).get_config() == trained.get_config()


@pytest.mark.slow
def test_presets_and_bundles_have_the_same_answers(trained, tmp_path):
    folder = trained.save_to_preset(tmp_path / "preset")
    expected = trained.predict(RAW)
    for model in (zoo.TokenClassifier.from_preset(folder), trained.to_bundle().as_keras()):
        for shares, right in zip(model.predict(RAW), expected, strict=True):
            np.testing.assert_allclose(shares, right, atol=1e-6)
    other = zoo.TokenClassifier.from_preset(folder, num_classes=2)
    assert (other.crf is None) == (trained.crf is None)
    ids = trained.preprocessor(RAW[:4])
    np.testing.assert_allclose(other.backbone(ids), trained.backbone(ids), atol=1e-6)
    other.train_on_batch(RAW[:4], tf.ragged.constant([[len(word) % 2 for word in row] for row in TOKENS[:4]]))
    assert {tag for tags in other.tag(RAW) for tag in tags} <= {"0", "1"}
    assert other.to_bundle().config["training"]["init_from"]["head"] == "new"


BAD_DATA = {
    "no tags": ((TOKENS,), {}, "y is missing"),
    "an unknown tag": ((TOKENS, [["NOUM"] * len(row) for row in TOKENS]), {}, "Did you mean 'NUM' or 'NOUN'"),
    "out of range": ((TOKENS, [[4] * len(row) for row in TOKENS]), {}, "Tags must be from 0 to 3; received 4"),
    "fewer tags": (
        (TOKENS, [tags[:1] for tags in NAMES]),
        {},
        "Sentence 2 needs at least one token and a tag",
    ),
    "fewer rows": ((TOKENS, NAMES[:4]), {}, "received 60 sentences and tags for 4"),
    "no sentences": (([], []), {}, "x holds no sentences"),
    "one string": (("Dogs bark", NAMES), {}, "received one string"),
    "a float": (([["a"]], [[1.0]]), {}, "Tags must be names or integers; received 1.0"),
    "a class": ((TOKENS, NAMES), {"class_weight": {"NOUM": 2.0}}, "Unknown tag in class_weight: 'NOUM'. Did you mean"),
    "a weight": ((TOKENS, NAMES), {"class_weight": {1: -2.0}}, "class_weight[1] must be"),
    "no counts": ((in_batches(TOKENS, NAMES),), {"class_weight": "balanced"}, "counts the tags of raw text in memory"),
    "a dataset": ((in_batches(TOKENS, [["x"] * len(row) for row in TOKENS]),), {}, "Unknown label x. Accepted: NOUN"),
    "a dataset's rows": ((in_batches(TOKENS, [["NOUN"]] * 60),), {}, "another number of tags than of tokens"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_data_that_do_not_fit_are_refused_in_one_clear_error(name):
    data, options, message = BAD_DATA[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        untrained().fit(*data, verbose=0, **options)


DAMAGE = {
    "characters": (("preprocessor", "chars"), "abc", "num_chars is"),
    "a case": (("preprocessor", "case"), "exec", "'case' in 'text' is 'exec'"),
    "tags": (("labels",), ["x", "y"], "num_tags is 4"),
    "a model": (("model",), "bilstm", "bilstm is for classification"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_config_from_a_stranger_is_checked_before_memory_is_taken(name):
    refused(untrained(), *DAMAGE[name])


@pytest.mark.parametrize("crf", [False, True])
def test_a_network_of_ids_that_is_given_sentences_names_the_class_that_takes_them(crf):
    network = zoo.build("bilstm_tagger", vocab_size=9, num_tags=3, num_chars=5, crf=crf, **TINY)
    for texts in (TOKENS, RAW, in_batches(TOKENS)):
        with pytest.raises(TypeError, match=r"reads ids of words; received raw text\. zoo\.TokenClassifier is"):
            network.predict(texts)
