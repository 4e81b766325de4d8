"""Characters of words: ids by hand, and classifiers and taggers that read them, from raw text to a loaded bundle."""

import json

import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.text_ids import TextToIds
from dense_lstm_zoo.classification.vocabulary import build_vocabulary
from tests import training_harness
from tests.bundle_harness import bundle as made
from tests.bundle_harness import with_random_weights
from tests.slow_cases import slow_but

FEW = {"char_filters": 4, "char_dim": 3}


def test_characters_are_those_of_the_words_that_are_read():
    layer = TextToIds(["good", "film"], "drop", "ofg")
    tokens, features = layer.read(["A GoOd zzz film", ""])
    assert tokens.to_list() == [[b"GoOd", b"film"], [b""]]
    assert features["token_ids"].to_list() == [[2, 3], [1]]
    good, film = [4, 2, 2, 1], [3, 1, 1, 1]
    rows = [[*word, *[0] * (24 - len(word))] for word in (good, film, [])]
    assert [row.tolist() for row in features["char_ids"].values.numpy()] == rows
    padded = layer.padded(["A GoOd zzz film", ""])
    assert padded["char_ids"].numpy().tolist() == [rows[:2], [rows[2], rows[2]]]
    assert layer.padded(tf.constant([], tf.string))["char_ids"].shape == (0, 1, 24)
    encoded = layer.encode(["A GoOd zzz film", ""])
    assert [row["char_ids"].tolist() for row in encoded] == [rows[:2], rows[2:]]
    again = TextToIds.from_config(layer.get_config())
    np.testing.assert_array_equal(again.padded(["film"])["char_ids"], [rows[1:2]])


def test_characters_past_the_24th_do_not_count_and_the_alphabet_is_by_frequency():
    layer = TextToIds(["x"], "unk", "ab")
    long, longer = layer.read(["a" * 24 + " " + "a" * 24 + "b"])[1]["char_ids"].values.numpy()
    assert long.tolist() == longer.tolist() == [2] * 24
    assert build_vocabulary(["No film, no FUN"]).with_chars.chars == "nfo,ilmu"


@pytest.mark.parametrize("name", slow_but(("bilstm", "cnn_mc"), zoo.list_models(task="classification")))
def test_a_classifier_reads_characters_and_padding_and_company_change_nothing(name):
    bundle = with_random_weights(made(name, **FEW), seed=1, scale=0.5)
    texts = ["the film was very long", "qwerty", "zzz", ""]
    together = bundle.probabilities(texts)
    for text, expected in zip(texts, together, strict=True):
        np.testing.assert_allclose(bundle.probabilities([text])[0], expected, atol=1e-5)
    assert np.abs(together[1] - together[2]).max() > 1e-4  # both are unknown words


def test_saliency_is_that_of_the_vector_and_the_characters_of_a_word():
    bundle = made("bilstm", **FEW)
    explanation = bundle.explain("the zzz film")
    ids = bundle.text_to_ids.padded(["the zzz film"])
    model, word_inputs = bundle.model, bundle.model.get_layer("channels").output
    vectors = zoo_model(model.inputs, word_inputs)(tf.nest.flatten({key: ids[key] for key in sorted(ids)}))
    upper_model = zoo_model([*model.inputs, word_inputs], model.output)
    best = bundle.labels.index(explanation.label)
    for t in range(3):
        slopes = []
        for scale in (1.01, 0.99):
            grown = vectors.numpy()
            grown[0, t] *= scale
            slopes.append(upper_model([ids["char_ids"], ids["token_ids"], tf.constant(grown)]).numpy()[0, best])
        assert explanation.saliency[t] == pytest.approx((slopes[0] - slopes[1]) / 0.02, abs=1e-3)
    assert np.abs(explanation.saliency).max() > 1e-3


def zoo_model(inputs, outputs):
    import keras

    return keras.Model(inputs, outputs)


@pytest.mark.slow
def test_a_trained_classifier_with_characters_loads_the_same(tmp_path):
    bundle = training_harness.train(tmp_path / "run", epochs=2, **FEW)
    chars = bundle.vocabulary.chars
    assert set(chars) == set(json.loads((tmp_path / "run" / "config.json").read_text())["text"]["chars"])
    assert {"a", "."} <= set(chars)
    texts = ["the soup was cold", "qwerty"]
    assert zoo.load(tmp_path / "run").predict(texts) == bundle.predict(texts)
    fresh = zoo.build("bilstm", **bundle.config["arguments"]).get_layer("characters").get_weights()
    trained = bundle.model.get_layer("characters").get_weights()
    assert all(np.abs(a - b).max() > 0 for a, b in zip(fresh, trained, strict=True))


@pytest.mark.slow
def test_a_trained_tagger_with_a_convolution_over_characters_loads_and_serves_the_same(tmp_path):
    bundle = training_harness.train_tagger(tmp_path / "run", epochs=1, char_filters=4)
    assert bundle.vocabulary.whole_words
    arguments = bundle.config["arguments"]
    assert bundle.metrics["encoder_parameters"] == zoo.count_encoder_parameters("gated_skip_tagger", **arguments)
    without = zoo.count_encoder_parameters("gated_skip_tagger", **{**arguments, "char_filters": 0})
    assert bundle.metrics["encoder_parameters"] == without + 2 * 4 * 4 * 4
    sentences = ["The old man saw her watch.", "qwerty zzz", ""]
    assert zoo.load(tmp_path / "run").predict(sentences) == bundle.predict(sentences)
    served = tf.saved_model.load(str(bundle.export(tmp_path / "1"))).signatures["serving_default"]
    outputs = served(text=tf.constant(sentences))
    expected = bundle.predict(sentences)
    served = (outputs[name].numpy() for name in ("tags", "probabilities", "row_lengths"))
    for row, tags, shares, length in zip(expected, *served, strict=True):
        assert [tag.decode() for tag in tags[:length]] == row.tags
        np.testing.assert_allclose(shares[:length], row.probabilities, atol=1e-5)
