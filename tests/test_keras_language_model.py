"""A language model as a Keras model: one stream of text to learn from, and texts to score and to continue."""

import json
import re

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data.text_file import TextFile
from dense_lstm_zoo.language.batches import TrainingWindows
from tests.keras_task_harness import refused

LINES = ["to be or not to be", "to do is to be", "do be do be do"] * 30
TINY = {"units": 4, "num_layers": 1, "num_steps": 7, "kernel": "native"}


def new_model(**options):
    keras.utils.set_random_seed(7)
    return zoo.LanguageModel("stacked_lstm_lm", texts=LINES, **{**TINY, **options})


@pytest.fixture(scope="module")
def trained():
    """A trained model. No test changes it."""
    model = new_model()
    model.fit(LINES, batch_size=5, epochs=2, validation_split=0.2, verbose=0)
    return model


def test_fit_reads_the_windows_of_train(trained):
    data = trained._read(LINES)
    ids = trained.preprocessor.vocabulary.encode(LINES)
    expected = list(TrainingWindows(ids, batch_size=20, num_steps=7))
    windows = list(data.training(None, 0, 0, True).as_numpy_iterator())
    assert len(windows) == len(expected)
    for (inputs, targets), (right, right_targets) in zip(windows, expected, strict=True):
        np.testing.assert_array_equal(inputs["token_ids"], right["token_ids"])
        np.testing.assert_array_equal(targets, right_targets)
    assert trained.history.history["perplexity"][1] < trained.history.history["perplexity"][0] < 9


def test_all_forms_of_text_have_the_perplexity_of_the_bundle(trained, write):
    expected = trained.to_bundle().evaluate(LINES)["perplexity"]
    dataset = tf.data.Dataset.from_tensor_slices(LINES).batch(8)
    for text in (LINES, np.array(LINES), pd.Series(LINES), dataset, TextFile(write("\n".join(LINES), "text.txt"))):
        scores = trained.evaluate(text, verbose=0, return_dict=True)
        assert scores["perplexity"] == pytest.approx(expected, rel=1e-5)


def test_steps_count_windows_of_a_text_and_batches_of_texts(trained):
    windows = list(trained._read(LINES).evaluation(4).as_numpy_iterator())
    assert len(windows) > 2
    assert len(trained._read(LINES).evaluation(4, 2)) == 2
    every = trained.predict(LINES)
    np.testing.assert_allclose(trained.predict(LINES, batch_size=2, steps=3), every[:6], rtol=1e-5)
    np.testing.assert_allclose(trained.predict(LINES, steps=3), every, rtol=1e-5)
    first, score = (trained.evaluate(LINES, batch_size=4, verbose=0, **few) for few in ({"steps": 2}, {}))
    assert first != score


def test_texts_are_scored_by_themselves_and_continued_as_by_the_bundle(trained):
    bundle, texts = trained.to_bundle(), ["to be", "", "qwer \ud800", "do do do"]
    scores = bundle.score(texts)
    np.testing.assert_allclose(trained.predict(texts), [score.log_probability for score in scores], rtol=1e-5)
    assert [score.unknown_words for score in trained.score(texts)] == [0, 0, 2, 0]
    assert trained.predict([]).shape == (0,)
    assert trained.generate("to", 5, seed=1).text == bundle.generate("to", 5, seed=1).text
    ids = trained.preprocessor(["to be"])
    np.testing.assert_allclose(trained(["to be"]), trained(ids), atol=1e-6)
    shares = keras.ops.log_softmax(trained(ids))[0]
    total = sum(float(shares[i, word]) for i, word in enumerate(np.asarray(ids)[0, 1:]))
    assert trained.predict(["to be"])[0] == pytest.approx(total, rel=1e-5)


def test_saving_keeps_answers_words_and_windows(trained, tmp_path):
    trained.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert type(again) is zoo.LanguageModel
    assert again.num_steps == 7
    np.testing.assert_array_equal(again.predict(LINES[:3]), trained.predict(LINES[:3]))
    assert again.evaluate(LINES, verbose=0) == pytest.approx(trained.evaluate(LINES, verbose=0))
    config = json.loads(json.dumps(trained.get_config()))
    assert zoo.LanguageModel.from_config(config).get_config() == trained.get_config()


def test_presets_and_bundles_have_the_same_answers(trained, tmp_path):
    expected = trained.predict(LINES[:3])
    folder = trained.save_to_preset(tmp_path / "preset")
    for model in (zoo.LanguageModel.from_preset(folder), trained.to_bundle().as_keras()):
        np.testing.assert_allclose(model.predict(LINES[:3]), expected, rtol=1e-5)
        assert model.num_steps == 7
    assert trained.to_bundle().history["val_perplexity"].notna().all()


def test_a_model_that_is_trained_further_says_what_it_was_trained_on_before():
    bundle = new_model().to_bundle()
    bundle.config["training"]["dataset"] = "ptb"
    model = bundle.as_keras()
    assert model.to_bundle().config["training"]["dataset"] == "ptb"
    model.fit(LINES, batch_size=5, verbose=0)
    training = model.to_bundle().config["training"]
    assert (training["dataset"], training["init_from"]["dataset"], training["num_steps"]) == ("texts", "ptb", 7)


def test_a_backward_model_reads_from_the_end_and_a_sampled_softmax_knows_its_words():
    model = new_model(direction="backward", sampled_softmax=3, max_words=6)
    assert len(model.preprocessor.vocabulary) == 6
    assert np.isfinite(model.fit(LINES, batch_size=5, verbose=0).history["loss"][0])
    counts = np.bincount(model.preprocessor.vocabulary.encode(LINES), minlength=6)
    np.testing.assert_array_equal(model._carried.order, np.argsort(-counts, kind="stable"))
    again = zoo.LanguageModel.from_config(model.get_config())
    assert (again.preprocessor.vocabulary.direction, again.sampled_softmax) == ("backward", 3)
    with pytest.raises(ValueError, match="backward"):
        model.generate("to")


BAD_DATA = {
    "labels": ((LINES, [1] * 90), {}, "takes neither y nor sample_weight"),
    "weights": ((LINES,), {"sample_weight": [1.0] * 90}, "takes neither y nor sample_weight"),
    "class weights": ((LINES,), {"class_weight": {0: 1.0}}, "class_weight is for classifiers and taggers"),
    "a short text": ((["a"],), {}, "20 streams of 7 steps need at least 160 tokens; received 2"),
    "no text": (([],), {}, "no line with text in it"),
    "one string": (("to be",), {}, "received one string"),
    "a missing text": (([None, "to be"],), {}, "item 0, counted from 0. It is missing"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_data_that_do_not_fit_are_refused_in_one_clear_error(trained, name):
    data, options, message = BAD_DATA[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        trained.fit(*data, verbose=0, **options)


DAMAGE = {
    "more words": (("preprocessor", "words"), ["<eos>", "<unk>"], "vocab_size is 8; it has 2 words"),
    "no line end": (("preprocessor", "words"), [f"w{i}" for i in range(8)], "words must hold <eos> and <unk>"),
    "a direction": (("preprocessor", "direction"), "up", "direction"),
    "steps": (("training", "num_steps"), 0, "num_steps must be an integer"),
    "a model": (("model",), "bilstm", "bilstm is for classification"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_config_from_a_stranger_is_checked_before_memory_is_taken(trained, name):
    refused(trained, *DAMAGE[name])


def test_a_network_of_ids_that_is_given_text_names_the_class_that_takes_it():
    network = zoo.build("dense_lstm_lm", vocab_size=9, units=3)
    for text in (LINES, tf.data.Dataset.from_tensor_slices(LINES).batch(8)):
        with pytest.raises(TypeError, match=r"reads ids of words; received raw text\. zoo\.LanguageModel is"):
            network.fit(text)
