"""Language models that start from word vectors, keep them, or read text from its end."""

import contextlib

import keras
import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.language.corpus import EOS, UNKNOWN
from dense_lstm_zoo.language.encoder import word_table_of
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.training import prepare, request
from dense_lstm_zoo_runtime import Predictor
from tests.preset_harness import TABLE, write_table
from tests.test_language_bundle import log_p_by_hand, sentence
from tests.training_harness import SETTINGS, sizes, small_demo
from tests.training_harness import train_language_model as train

TEXTS = ["the king reigns .", "", "the old king the"]
FREQUENT = [
    word for word in LanguageVocabulary.from_text(small_demo("language_model").train, 12).words if word[0] != "<"
]
KNOWN = FREQUENT[:3]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A file with a vector for some words of the demo corpus."""
    path = tmp_path_factory.mktemp("vectors") / "words.txt"
    rng = np.random.default_rng(3)
    rows = {word: rng.normal(size=4).round(3) for word in (*KNOWN, "nowhere")}
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()))
    return path, rows


@pytest.fixture(scope="module")
def backward(tmp_path_factory):
    """A bundle that was trained from the end of the text, with fixed random vectors, and its folder."""
    folder = tmp_path_factory.mktemp("runs") / "backward"
    return train(folder, direction="backward", epochs=1), folder


@pytest.mark.slow
def test_fixed_vectors_stay_those_of_the_file_for_words_that_are_read_and_scored(vectors, tmp_path):
    path, rows = vectors
    fixed = {"trainable_embeddings": False, "softmax": "tied"}
    bundle = train(tmp_path / "run", vectors=str(path), embedding_dim=4, epochs=1, **fixed)
    words, embedding = bundle.vocabulary.words, bundle.network.get_layer("embedding").embeddings.numpy()
    for word in KNOWN:
        np.testing.assert_allclose(embedding[words.index(word)], rows[word], rtol=1e-6)
    known_vectors = np.array([rows[word] for word in KNOWN])
    np.testing.assert_allclose(embedding[words.index(UNKNOWN)], known_vectors.mean(axis=0), rtol=1e-5)
    assert np.ptp(embedding[words.index(EOS)]) > 0
    inputs = [keras.ops.convert_to_tensor([[1, 2]]), *bundle.model.zero_states(1)]
    logits, *_ = bundle.network(inputs)
    features = keras.Model(bundle.network.inputs, bundle.network.get_layer("projection").output)(inputs).numpy()
    expected = features @ embedding.T + bundle.network.get_layer("logits").bias.numpy()
    np.testing.assert_allclose(logits.numpy(), expected, rtol=1e-4, atol=1e-5)
    assert bundle.config["training"]["vectors"] == path.name
    again = zoo.load(tmp_path / "run")
    assert again.score(TEXTS) == bundle.score(TEXTS)


@pytest.mark.slow
def test_vectors_are_trained_unless_they_are_fixed(vectors, tmp_path):
    path, rows = vectors
    bundle = train(tmp_path / "run", vectors=str(path), embedding_dim=None, epochs=1)
    table = bundle.network.get_layer("embedding").embeddings.numpy()
    assert table.shape[1] == 4
    assert 0 < np.abs(table[bundle.vocabulary.words.index(KNOWN[0])] - rows[KNOWN[0]]).max() < 2


def test_without_vectors_a_language_model_starts_as_it_always_did(tmp_path):
    assert "vectors" not in train(tmp_path / "run", epochs=1).config["training"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding_dim": 7}, "embedding_dim=7, but .* has 4"),
        ({"direction": "sideways"}, "Unknown value of direction"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(vectors, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", vectors=str(vectors[0]), **options)
    assert not (tmp_path / "run").exists()


def test_a_file_without_any_of_the_words_is_refused(tmp_path):
    (tmp_path / "other.txt").write_text("zebra 1 2\n")
    with pytest.raises(ValueError, match="a vector for none of the"):
        train(tmp_path / "run", vectors=str(tmp_path / "other.txt"), embedding_dim=2)


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"embedding_matrix must have shape .*\(9, 4\); received \(8, 4\)"):
        zoo.build("dense_lstm_lm", vocab_size=9, embedding_dim=4, units=3, embedding_matrix=np.zeros((8, 4)))


def test_the_ids_of_a_backward_model_are_those_of_a_forward_one_from_the_end(tmp_path):
    lines = small_demo("language_model").train
    forward = LanguageVocabulary.from_text(lines)
    turned = LanguageVocabulary(forward.words, "backward")
    np.testing.assert_array_equal(turned.encode(lines), forward.encode(lines)[::-1])
    np.testing.assert_array_equal(turned.encode_to_file(lines, tmp_path / "ids.npy"), forward.encode(lines)[::-1])
    ours = turned.sentence_to_ids()(TEXTS).to_list()
    assert ours == [row[::-1] for row in forward.sentence_to_ids()(TEXTS).to_list()]


def test_a_backward_model_scores_each_word_given_those_after_it(backward):
    bundle, folder = backward
    for text, score in zip(TEXTS, zoo.load(folder).score(TEXTS), strict=True):
        expected = log_p_by_hand(bundle, sentence(bundle, text)[::-1]).sum()
        assert score.log_probability == pytest.approx(expected, rel=1e-5)
    bundle, corpus = backward[0], small_demo("language_model")
    stream = bundle.vocabulary.encode(corpus.dev)
    assert stream[0] == bundle.vocabulary.eos
    assert bundle.evaluate(corpus.dev)["perplexity"] == pytest.approx(bundle.metrics["dev_perplexity"], rel=1e-5)


def test_a_backward_model_gives_the_words_before_a_text_and_refuses_to_continue_one(backward):
    bundle, _ = backward
    probabilities = dict(bundle.next_words("king reigns .", k=len(bundle.vocabulary)))
    ids = sentence(bundle, "king reigns .")[::-1][:-1]
    logits = bundle.model(np.array([ids], np.int32)).numpy()[0, -1].astype(np.float64)
    p = np.exp(logits - logits.max())
    assert probabilities[KNOWN[0]] == pytest.approx((p / p.sum())[bundle.vocabulary.words.index(KNOWN[0])], rel=1e-4)
    with pytest.raises(ValueError, match="trained backward"):
        bundle.generate("the king")


@pytest.mark.slow
def test_exports_of_a_backward_model_read_from_the_end_as_well(backward, tmp_path):
    import tensorflow as tf

    bundle, _ = backward
    expected = [score.log_probability for score in bundle.score(TEXTS)]
    served = tf.saved_model.load(bundle.export(tmp_path / "1")).signatures["score"](text=tf.constant(TEXTS))
    np.testing.assert_allclose(served["log_probability"].numpy(), expected, rtol=1e-5)
    predictor = Predictor(bundle.export(tmp_path / "onnx", format="onnx"))
    np.testing.assert_allclose([score.log_probability for score in predictor.score(TEXTS)], expected, rtol=1e-5)
    assert predictor.next_words("king reigns .", k=3)[0][0] == bundle.next_words("king reigns .", k=3)[0][0]
    with pytest.raises(ValueError, match="trained backward"):
        predictor.generate("the king")


def test_a_model_goes_on_in_its_own_direction(backward, tmp_path):
    with pytest.raises(ValueError, match="init_from is a backward language model"):
        train(tmp_path / "run", init_from=str(backward[1]), epochs=1)


def test_the_bias_starts_from_the_frequency_that_a_word_of_its_rank_is_expected_to_have():
    model = zoo.build("dense_lstm_lm", vocab_size=50, units=3, embedding_dim=4, frequency_bias=True)
    bias = model.core.get_layer("logits").bias.numpy()
    assert np.exp(bias).sum() == pytest.approx(1, rel=1e-5)
    # by Zipf's law in its integrated form, the words up to rank r make up log(r + 1) / log(V + 1) of a text
    np.testing.assert_allclose(np.exp(bias).cumsum(), np.log(np.arange(2, 52)) / np.log(51), rtol=1e-5)
    plain = zoo.build("dense_lstm_lm", vocab_size=50, units=3, embedding_dim=4).core.get_layer("logits").bias.numpy()
    assert np.abs(plain).max() <= 0.05


def prepared(folder, *, progress=False, **options):
    """A language model that is ready to be trained."""
    settings = {**SETTINGS["language_model"], **sizes("language_model"), "embedding_dim": 4, "epochs": 1, **options}
    run = request.check("dense_lstm_lm", folder / "run", settings)
    return prepare.prepare(run, small_demo("language_model"), progress)


def test_words_keep_their_table_while_a_model_goes_on_without_training_them(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    table = write_table(tmp_path / "presets", words=FREQUENT, dim=4)
    frozen = {"vectors": TABLE, "trainable_embeddings": False}
    first = prepared(tmp_path, **frozen)
    source = first.job.bundle(first.model, first.config, pd.DataFrame({"epoch": []}), None)
    source.train_texts = np.array([1], np.uint64)
    folder = source.save(tmp_path / "source")
    new_word = LanguageVocabulary.from_text(small_demo("language_model").train, 120).words[-1]
    others = tmp_path / "others.txt"
    others.write_text(f"{new_word} 1 2 3 4\n")
    kinds = {
        "none": {},
        "the same": {"vectors": TABLE},
        "others": {"vectors": str(others)},
        "trained": {"trainable_embeddings": True},
    }
    tables = {}
    for name, options in kinds.items():
        with contextlib.nullcontext() if name != "others" else pytest.warns(UserWarning, match="vectors"):
            run = prepared(tmp_path / name, init_from=str(folder), max_words=120, **options)
        tables[name] = word_table_of(run.config)
    expected = (TABLE, table.sha256)
    assert tables == {"none": expected, "the same": expected, "others": None, "trained": None}


@pytest.mark.parametrize("options", [{}, {"vectors": "none"}])
def test_random_word_vectors_that_stay_as_they_are_are_warned_of(options, tmp_path):
    with pytest.warns(UserWarning, match=r"frozen word vectors are random\. trainable_embeddings=True"):
        prepared(tmp_path, trainable_embeddings=False, **options)


def test_a_damaged_file_of_vectors_is_said_and_recorded(vectors, tmp_path, capsys):
    path, rows = tmp_path / "comma.txt", vectors[1]
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in rows.items()]
    path.write_text("\n".join([*lines, "old 0,1 0,2 0,3 0,4"]) + "\n")
    run = prepared(tmp_path, vectors=str(path), progress=True)
    assert "Skipped, malformed: 1 (line 5)." in capsys.readouterr().out
    assert "Skipped, malformed: 1 (line 5)." in run.config["training"]["vector_report"]


def test_vectors_of_the_line_end_and_of_unknown_words_are_those_of_no_word(tmp_path):
    path = tmp_path / "german.txt"
    path.write_text("der 1 2 3 4\n<unk> 1 2 3 5\n<eos> 2 2 3 4\n")
    with pytest.raises(ValueError, match="a vector for none of the"):
        prepared(tmp_path, vectors=str(path))


def test_few_words_with_vectors_are_warned_of(vectors, tmp_path, capsys):
    run = prepared(tmp_path, vectors=str(vectors[0]), progress=True)
    warning = "warning: words.txt: vectors for 3 of 90 words. The others start from random numbers"
    assert warning in capsys.readouterr().out
    assert list(run.cautions) == ["words_without_vectors"]
