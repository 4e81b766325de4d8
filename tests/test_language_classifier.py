"""A classifier over a language model's layers: its states are the language model's, and its words too."""

import json

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.language.encoder import TextEncoder
from dense_lstm_zoo.training import prepare, request
from tests import bundle_harness, model_harness
from tests.bundle_harness import WORDS
from tests.transfer_harness import TESTS, classification

SEEN = [["a", "text", "seen", "before"]]


def language_model(seed, direction="forward", **arguments):
    """An untrained language model whose weights are large enough for anything to show."""
    bundle = bundle_harness.bundle("dense_lstm_lm", **{"num_layers": 2, "embedding_dim": 7, **arguments})
    bundle_harness.with_random_weights(bundle, seed)
    bundle.config["text"]["direction"] = direction
    bundle.train_texts = text_hashes.hash_texts(SEEN)
    return bundle


@pytest.fixture(scope="module")
def pair():
    """A forward and a backward language model over the same words and vectors."""
    forward, backward = language_model(1), language_model(2, "backward")
    vectors = forward.network.get_layer("embedding").embeddings
    backward.network.get_layer("embedding").embeddings.assign(vectors)
    return forward, backward


@pytest.fixture(scope="module")
def folder(pair, tmp_path_factory):
    """Their text encoder."""
    return TextEncoder.from_bundles(*pair).save(tmp_path_factory.mktemp("encoders") / "encoder", dtype="float32")


def prepared(source, folder, data=None, **options):
    """A run that is ready to start."""
    options = {"epochs": 2, "init_from": source, **options}
    return prepare.prepare(
        request.check("lm_classifier", folder / "run", options), data or classification(), progress=False
    )


def final_states(bundle, words):
    """The last state of each layer after the language model has read words behind a line's end, step by step."""
    vocabulary = bundle.vocabulary.words
    states = [np.zeros((1, x.shape[-1]), np.float32) for x in bundle.network.inputs[1:]]
    for word in ("<eos>", *words):
        ids = np.array([[vocabulary.index(word if word in vocabulary else "<unk>")]])
        _, *states = (np.asarray(x) for x in bundle.network([ids, *states]))
    return [h[0] for h in states[::2]]


def pooled(run, text, name):
    """Return the output of a pooling of the run's model for a text."""
    ids = run.job.words.vocabulary.text_to_ids().encode([text])[0]
    layer = run.model.get_layer(name)
    return np.asarray(keras.Model(run.model.input, layer.output)(np.array([ids])))[0]


@pytest.mark.parametrize("text", ["the film was good", "bad", "splendour was bad"])
def test_its_last_states_are_those_of_the_language_models(text, pair, folder, tmp_path):
    run, words = prepared(folder, tmp_path), text.split()
    forward, backward = final_states(pair[0], words), final_states(pair[1], words[::-1])
    for layer, name in enumerate(("pooling_1", "pooling")):
        expected = np.concatenate([forward[layer], backward[layer]])
        np.testing.assert_allclose(pooled(run, text, name)[: len(expected)], expected, atol=1e-5)


def test_an_encoder_decides_the_sizes_and_gives_its_words_and_the_record_says_so(folder, tmp_path):
    run = prepared(folder, tmp_path)
    arguments, origin = run.config["arguments"], run.config["training"]["init_from"]
    assert {x: arguments[x] for x in ("num_layers", "units", "wiring", "cell", "directions", "embedding_dim")} == {
        **{"num_layers": 2, "units": 6, "wiring": "dense", "cell": "lstm", "directions": 2, "embedding_dim": 7},
    }
    assert (origin["name"], origin["model"], origin["head"]) == ("encoder", "dense_lstm_lm", "new")
    encoder, matrix = TextEncoder.load(folder), run.model.get_layer("embedding").get_matrix()
    words = run.job.words.vocabulary.words
    assert set(words) == {*WORDS, "splendid"}  # "dull" occurs once
    assert not {"<eos>", "<unk>"} & set(words)
    rows = [2 + words.index(word) for word in WORDS]
    np.testing.assert_allclose(matrix[rows], encoder.word_vectors(WORDS), atol=1e-6)
    np.testing.assert_allclose(matrix[1], encoder.word_vectors(["<unk>"])[0], atol=1e-6)
    assert not matrix[0].any()


def test_a_forward_language_model_is_a_source_too(pair, tmp_path):
    run = prepared(pair[0].save(tmp_path / "lm"), tmp_path)
    assert run.config["arguments"]["directions"] == 1
    expected = final_states(pair[0], ["good", "film"])[1]
    np.testing.assert_allclose(pooled(run, "good film", "pooling")[: len(expected)], expected, atol=1e-5)


@pytest.mark.slow
def test_a_model_of_its_own_name_goes_on_with_all_its_weights(folder, tmp_path):
    run = prepared(folder, tmp_path)
    bundle = run.job.bundle(run.model, run.config, bundle_harness.bundle("bilstm").history, None)
    bundle.train_texts = text_hashes.hash_texts(SEEN)
    again = prepared(bundle.save(tmp_path / "first"), tmp_path)
    assert again.config["training"]["init_from"]["head"] == "kept"
    texts = ["the film was very good", "bad !"]
    ours = again.job.bundle(again.model, again.config, None, None).predict(texts)
    for our, their in zip(ours, bundle.predict(texts), strict=True):
        assert our.probabilities == pytest.approx(their.probabilities)


@pytest.mark.slow
def test_it_is_trained_from_the_top_down_and_loads_again(folder, tmp_path):
    options = {"init_from": folder, "unfreeze": "gradual", "layer_decay": 2.6, "progress": False}
    with pytest.raises(ValueError, match=r"takes this model 4 epochs; received epochs=3"):
        zoo.train("lm_classifier", classification(), tmp_path / "run", epochs=3, **options)
    bundle = zoo.train("lm_classifier", classification(), tmp_path / "run", epochs=4, batch_size=3, **options)
    encoder = bundle.model.get_layer("encoder")
    assert bundle.history["loss"].is_monotonic_decreasing or len(bundle.history) == 4
    again = zoo.load(tmp_path / "run")
    assert again.predict(TESTS) == bundle.predict(TESTS)
    for ours, theirs in zip(again.model.get_layer("encoder").get_weights(), encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    origin = json.loads((tmp_path / "run" / "config.json").read_text())["training"]["init_from"]
    assert (origin["unfreeze"], origin["layer_decay"]) == ("gradual", 2.6)


def test_test_texts_that_the_language_model_has_read_are_refused_and_dev_texts_counted(pair, tmp_path):
    forward = pair[0]
    for place, tests in (("test", TESTS), ("dev", TESTS[::-1])):
        forward.train_texts = text_hashes.hash_texts([["it", "was", "bad", "and", "dull", "!"]])
        source = TextEncoder.from_bundles(forward).save(tmp_path / place)
        forward.train_texts = text_hashes.hash_texts(SEEN)
        if place == "test":
            with pytest.raises(ValueError, match=r"trained on test texts of mine: 1 of 1"):
                prepared(source, tmp_path, classification(tests=tests))
            assert prepared(source, tmp_path, classification(tests=tests), force_overlap=True)
        else:
            run = prepared(source, tmp_path, classification(tests=tests))
            assert run.config["training"]["init_from"]["overlap"] == {"dev": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": 5}, r"encoder of another width or kind: units=6; received units=5"),
        ({"directions": 1}, r"another width or kind: directions=2; received directions=1"),
        ({"wiring": "stacked"}, r"another width or kind: wiring='dense'; received wiring='stacked'"),
        ({"char_filters": 4}, r"another width or kind: char_filters=0; received char_filters=4"),
    ],
)
def test_arguments_for_another_encoder_are_refused(options, message, folder, tmp_path):
    with pytest.raises(ValueError, match=message):
        prepared(folder, tmp_path, **options)


def test_other_classifiers_take_no_encoder_and_say_what_they_take(folder, tmp_path):
    options = {"epochs": 2, "init_from": folder}
    with pytest.raises(ValueError, match=r"is a dense_lstm_lm for language_model; received bilstm .* lm_classifier"):
        prepare.prepare(request.check("bilstm", tmp_path / "run", options), classification(), progress=False)


def test_all_layers_are_read_where_the_language_model_reads_all_and_else_the_top():
    for wiring, width in (("dense", 3 * 3 * 8), ("stacked", 3 * 8)):
        model = model_harness.tiny("lm_classifier", wiring=wiring)
        assert model.get_layer("logits").kernel.shape[0] == width


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directions": 3}, r"directions must be 1 \(forward\) or 2 .*; received 3"),
        ({"wiring": "denes"}, r"value of wiring: 'denes'\. Did you mean 'dense'"),
        ({"pooling": "avg"}, r"value of pooling: 'avg'"),
        ({"cell": "rnn"}, r"value of cell: 'rnn'"),
    ],
)
def test_bad_arguments_are_refused_with_what_is_accepted(options, message):
    with pytest.raises(ValueError, match=message):
        model_harness.tiny("lm_classifier", **options)
