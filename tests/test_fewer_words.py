"""Exports with fewer words: smaller, and the same for texts of words that were kept."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401 - registers the ops of an export

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles.fewer_words import with_words
from dense_lstm_zoo.data.word_table import quantised

KNOWN = ["good", "bad", "film"]


@pytest.fixture(scope="module", params=["trained", pytest.param("fixed", marks=pytest.mark.slow)])
def bundle(request, tmp_path_factory):
    """A classifier with three training words and 400 frozen ones."""
    folder = tmp_path_factory.mktemp("fewer")
    words = [*KNOWN, *(f"w{i}" for i in range(400))]
    matrix = np.random.default_rng(0).normal(size=(len(words), 30))
    quantised("zoo_600d", words, matrix).write(folder / "presets" / "vectors" / "zoo_600d")
    split = zoo.Split(["good film", "bad film"] * 10, [1, 0] * 10)
    corpus = zoo.Corpus("tiny", ("neg", "pos"), split, split, split)
    fixed = {"trainable_embeddings": request.param == "trained"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DENSE_LSTM_ZOO_PRESETS", str(folder / "presets"))
        sizes = {"num_dense_layers": 1, "dense_units": 3, "top_units": 4, "epochs": 1, "progress": False}
        return zoo.train("dc_bilstm", corpus, folder / "run", **sizes, **fixed)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 50, 403, 9999])
def test_texts_of_the_words_that_were_kept_get_the_same(bundle, count):
    words = bundle.vocabulary.words[:count]
    texts = [" ".join(words[:5]), words[-1], f"{words[0]} {words[-1]}"]
    fewer = with_words(bundle, count)
    assert fewer.vocabulary.words == words
    np.testing.assert_allclose(fewer.probabilities(texts), bundle.probabilities(texts), rtol=1e-6)
    assert not fewer.metrics
    assert len(bundle.vocabulary.words) == 403


def test_a_dropped_word_is_read_as_an_unknown_one(bundle):
    dropped, never = bundle.vocabulary.words[60], "zyzzyva"
    fewer = with_words(bundle, 50)
    ours, theirs = fewer.probabilities([f"good {dropped}"]), fewer.probabilities([f"good {never}"])
    np.testing.assert_array_equal(ours, theirs)
    assert (bundle.probabilities([f"good {dropped}"]) != bundle.probabilities([f"good {never}"])).any()


@pytest.mark.slow
def test_an_export_keeps_the_words_asked_for(bundle, tmp_path):
    full, small = bundle.export(tmp_path / "full"), bundle.export(tmp_path / "small", max_words=10)
    sizes = [sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) for folder in (full, small)]
    assert sizes[0] - sizes[1] > 390 * 30 * 4  # the vectors of 393 words
    served = tf.saved_model.load(str(small)).signatures["serving_default"](tf.constant(["good film"]))
    np.testing.assert_allclose(served["probabilities"], bundle.probabilities(["good film"]), rtol=1e-5)


@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_a_wrong_number_is_refused_before_anything_is_written(bundle, tmp_path, count):
    with pytest.raises(ValueError, match="max_words must be an integer of at least 1"):
        bundle.export(tmp_path / "export", max_words=count)
    assert not (tmp_path / "export").exists()


@pytest.mark.slow
def test_a_tagger_loses_words_likewise(tmp_path):
    corpus = zoo.load_corpus("demo", task="tagging")
    bundle = zoo.train("bilstm_tagger", corpus, tmp_path / "run", units=4, embedding_dim=5, epochs=1)
    fewer = with_words(bundle, 30)
    sentence = list(bundle.vocabulary.words[:4])
    assert fewer.vocabulary.words == bundle.vocabulary.words[:30]
    assert fewer.predict([sentence])[0].tags == bundle.predict([sentence])[0].tags


@pytest.mark.slow
def test_a_tagger_keeps_its_transitions(tmp_path):
    corpus = zoo.load_corpus("demo", task="tagging")
    sizes = {"units": 4, "embedding_dim": 5, "num_layers": 1, "epochs": 1, "crf": True, "progress": False}
    bundle = zoo.train("gated_skip_tagger", corpus, tmp_path / "run", **sizes)
    rng = np.random.default_rng(1)
    for variable in bundle.model.crf.weights:
        variable.assign(rng.normal(size=variable.shape, scale=3))
    fewer = with_words(bundle, 30)
    sentences = [list(bundle.vocabulary.words[start : start + 6]) for start in range(0, 24, 3)]
    for ours, theirs in zip(fewer.predict(sentences), bundle.predict(sentences), strict=True):
        assert ours.tags == theirs.tags
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, rtol=1e-5)


def calibrated_copy(bundle):
    calibrated = with_words(bundle, 403)
    calibrated.metrics["temperature"] = 2.5
    return calibrated


def test_a_calibrated_classifier_stays_calibrated(bundle):
    calibrated = calibrated_copy(bundle)
    fewer = with_words(calibrated, 10)
    np.testing.assert_allclose(fewer.probabilities(["good film"]), calibrated.probabilities(["good film"]), rtol=1e-6)
    assert (fewer.probabilities(["good film"]) != bundle.probabilities(["good film"])).all()


@pytest.mark.slow
def test_the_export_of_a_calibrated_classifier_stays_calibrated(bundle, tmp_path):
    calibrated = calibrated_copy(bundle)
    small = calibrated.export(tmp_path / "small", max_words=10)
    served = tf.saved_model.load(str(small)).signatures["serving_default"](tf.constant(["good film"]))
    np.testing.assert_allclose(served["probabilities"], calibrated.probabilities(["good film"]), rtol=1e-5)


@pytest.mark.slow
def test_a_language_model_keeps_its_words(tmp_path):
    corpus = zoo.load_corpus("demo", task="language_model")
    sizes = {"num_layers": 1, "units": 4, "embedding_dim": 4, "epochs": 1, "progress": False}
    bundle = zoo.train("stacked_lstm_lm", corpus, tmp_path / "run", **sizes)
    with pytest.raises(ValueError, match="a language model predicts every word"):
        bundle.export(tmp_path / "export", max_words=10)
