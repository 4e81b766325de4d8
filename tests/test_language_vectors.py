"""Language models that start from word vectors, keep them, or read text from its end."""

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.language.corpus import EOS, UNKNOWN
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo_runtime import Predictor
from tests.test_language_bundle import log_p_by_hand, sentence
from tests.training_harness import small_demo
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
