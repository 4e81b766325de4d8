import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo.classification.text_ids import TextToIds
from dense_lstm_zoo.classification.vocabulary import Vocabulary, build_vocabulary


@pytest.fixture
def vectors(tmp_path):
    """Six words with vectors. The training texts' 'film' has none."""
    path = tmp_path / "vectors.txt"
    words = ["the", "good", "bad", "never", "n't", "unseen"]
    path.write_text("".join(f"{w} {i}.0 {i}.5\n" for i, w in enumerate(words, start=1)))
    return path


TEXTS = ["The GOOD film", "the bad, bad film", "isn't the good film bad"]


def test_without_vectors_every_training_word_is_known_most_frequent_first():
    vocabulary = build_vocabulary(TEXTS).vocabulary
    assert set(vocabulary.words[:3]) == {"the", "bad", "film"}
    assert set(vocabulary.words) == {"the", "bad", "film", "good", ",", "is", "n't"}
    assert (vocabulary.oov, vocabulary.num_frozen_words, vocabulary.size) == ("unk", 0, 9)
    ids = vocabulary.text_to_ids()(["Bad qwerty film", ""]).to_list()
    assert ids == [[vocabulary.words.index("bad") + 2, 1, vocabulary.words.index("film") + 2], [1]]


def test_with_vectors_words_without_one_are_dropped_and_an_empty_text_keeps_one_unknown(vectors):
    words = build_vocabulary(TEXTS, vectors=vectors)
    vocabulary = words.vocabulary
    assert set(vocabulary.words) == {"the", "bad", "good", "n't", "never", "unseen"}
    assert vocabulary.words[-2:] == ("never", "unseen")  # the file's other words, frozen, in the file's order
    assert (vocabulary.oov, vocabulary.num_frozen_words) == ("drop", 2)
    ids = vocabulary.text_to_ids()(["a film the", "film qwerty", "", "Never!"]).to_list()
    id_of = {word: i + 2 for i, word in enumerate(vocabulary.words)}
    assert ids == [[id_of["the"]], [1], [1], [id_of["never"]]]


def test_vectors_land_in_the_rows_of_their_words(vectors):
    words = build_vocabulary(TEXTS, vectors=vectors)
    assert words.matrix.shape == (words.vocabulary.size, 2)
    for word, first in (("good", 2.0), ("n't", 5.0), ("unseen", 6.0)):
        assert words.matrix[words.vocabulary.words.index(word) + 2].tolist() == [first, first + 0.5]
    assert words.matrix[0].tolist() == [0, 0]
    assert words.matrix[1].tolist() == [3.5, 4.0]


def test_coverage_counts_types_and_tokens(vectors):
    coverage = build_vocabulary(TEXTS, vectors=vectors).coverage
    assert (coverage.types, coverage.types_with_vector) == (7, 4)
    assert (coverage.tokens, coverage.tokens_with_vector) == (14, 9)
    assert "4 of 7 word types (57.1%)" in str(coverage)


def test_vector_words_limits_the_frozen_words_and_oov_unk_keeps_places(vectors):
    words = build_vocabulary(TEXTS, vectors=vectors, vector_words=0, oov="unk")
    assert words.vocabulary.num_frozen_words == 0
    assert words.vocabulary.text_to_ids()(["film never the"]).to_list()[0][:2] == [1, 1]


def test_a_vocabulary_survives_its_file(tmp_path):
    vocabulary = Vocabulary(("the", "n't", "caf\u00e9", "\u0085x".strip(), "a\u2029b"), 1, "drop")
    vocabulary.write(tmp_path / "v.txt")
    assert Vocabulary.read(tmp_path / "v.txt", num_frozen_words=1, oov="drop") == vocabulary


def test_padding_has_at_least_one_step_also_for_an_empty_batch():
    layer = TextToIds(["a", "b"], "unk")
    assert layer.padded(tf.constant(["b a b", ""])).numpy().tolist() == [[3, 2, 3], [1, 0, 0]]
    assert layer.padded(tf.constant([], tf.string)).shape == (0, 1)


def test_encoding_in_chunks_equals_encoding_at_once_and_takes_half_surrogates():
    layer = TextToIds(["a", "b"], "drop")
    rows = layer.encode(["a b"] * 4097 + ["\ud800 b", ""])
    assert len(rows) == 4099
    assert [row.tolist() for row in rows[-3:]] == [[2, 3], [3], [1]]
    assert rows[0].dtype == np.int32


def test_the_layer_is_rebuilt_from_its_config():
    layer = TextToIds(["a", "b"], "drop")
    again = TextToIds.from_config(layer.get_config())
    assert again(["b x a"]).to_list() == layer(["b x a"]).to_list() == [[3, 2]]


def test_bad_policies_and_useless_vectors_are_refused(tmp_path, vectors):
    with pytest.raises(ValueError, match="oov='drop' needs word vectors"):
        build_vocabulary(TEXTS, oov="drop")
    with pytest.raises(ValueError, match=r"Unknown value of oov: 'dorp'\. Did you mean 'drop'"):
        build_vocabulary(TEXTS, vectors=vectors, oov="dorp")
    with pytest.raises(ValueError, match="a vector for none of the 2 words"):
        build_vocabulary(["xyz zyx"], vectors=vectors)
    with pytest.raises(FileNotFoundError, match=r"vectors\.txt"):
        build_vocabulary(TEXTS, vectors=tmp_path / "vectorz.txt")
