"""Wrong inputs to bundles and models."""

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks
from tests import model_harness as harness

TABLE = pd.DataFrame({"text": ["a fine film", "a dull film"], "label": ["up", "down"]})


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ({"a", "b"}, r"received a set, whose items have no order\. Pass a list, such as sorted\(texts\)\."),
        ({"text": ["a"], "id": [1]}, r'received a dict with the keys text, id\. Pass one of them: texts\["text"\]'),
        ("a fine film", r"received one string\. Write \['a fine film'\]"),
        (b"a fine film", r"received one string\. Write \[b'a fine film'\]"),
        (np.array([["a", "b"]]), r"received a ndarray of shape \(1, 2\)\. Pass one column"),
        (np.array("a"), r"received array\('a'"),
        (5, r"received 5 \(int\)"),
        (None, r"received None"),
        (
            ["a", None],
            r"received None \(NoneType\) as item 1, counted from 0\. It is missing: remove it \(dropna\)",
        ),
        (
            pd.Series(["a", float("nan")], index=[7, 8]),
            r"received nan \(float\) as item 1, counted from 0\. It is missing",
        ),
        (pd.Series(["a", pd.NA], dtype=object), r"received <NA> \(NAType\) as item 1, counted from 0\. It is missing"),
        (["a", 5], r"received 5 \(int\) as item 1, counted from 0\.$"),
        (["a"] * 5000 + [None], r"as item 5000, counted from 0\. It is missing"),
    ],
)
def test_what_is_not_a_sequence_of_strings_is_refused(run, items, message):
    bundle = run[0]
    for ask in (bundle.predict, bundle.probabilities, bundle.text_to_ids.encode):
        with pytest.raises(TypeError, match=message):
            ask(items)


def test_sequences_of_strings_are_taken_whatever_they_are(run):
    bundle = run[0]
    expected = [prediction.label for prediction in bundle.predict(["a fine film", "a dull film"])]
    for texts in (TABLE["text"], TABLE["text"].to_numpy(), tuple(TABLE["text"]), iter(TABLE["text"])):
        assert [prediction.label for prediction in bundle.predict(texts)] == expected
    assert bundle.predict([]) == []
    assert bundle.probabilities([]).shape == (0, 2)


def test_a_split_of_a_table_is_refused():
    with pytest.raises(TypeError, match=r'df\["text"\]'):
        zoo.Split(TABLE, [0, 1])


def test_a_taggers_and_a_language_models_texts_are_checked_alike():
    for noun in ("sentences", "texts"):
        for items in (TABLE, {"text": ["a"]}, "one string"):
            with pytest.raises(TypeError, match=f"^{noun} must be a list of strings"):
                list(checks.chunks(items, 10, noun))


IDS = np.array([[2, 3, 0]])


@pytest.mark.parametrize("name", [pytest.param("dc_bilstm", marks=pytest.mark.slow), "bilstm"])
@pytest.mark.parametrize("frozen", [0, 2])
@pytest.mark.parametrize("wrong", [-1, pytest.param(-7, marks=pytest.mark.slow), 10**6])
def test_ids_outside_the_vocabulary_get_no_answer(name, frozen, wrong):
    model = zoo.build(name, **{**harness.tiny_arguments(name), "num_frozen_words": frozen})
    size = model.get_layer("embedding").vocab_size
    bad = np.array([[2, wrong, 0]])
    with pytest.raises(ValueError, match=rf"embedding takes ids from 0 to {size - 1}; received {wrong}\."):
        model(bad)
    with pytest.raises(Exception, match="is not in") as caught:
        model.predict(bad, verbose=0)
    assert type(caught.value).__name__ == "InvalidArgumentError"
    last = np.array([[2, size - 1, 0]])
    np.testing.assert_allclose(model(last), model.predict(last, verbose=0), atol=1e-5)


def test_a_taggers_words_and_characters_and_a_language_models_words_are_checked():
    ids, _ = harness.sentences()
    tagger = harness.tiny("bilstm_tagger")
    for feature in ("token_ids", "affix_ids"):
        with pytest.raises(ValueError, match=r"takes ids from 0 to .*; received -1\."):
            tagger({**ids, feature: np.where(ids[feature] > 0, -1, ids[feature])})
    model = harness.tiny("dense_lstm_lm")
    for wrong in (-1, 20):
        with pytest.raises(ValueError, match=rf"takes ids from 0 to 19; received {wrong}\."):
            model(np.array([[1, wrong]]))


@pytest.mark.parametrize("wrong", [-1, 10**6])
def test_the_graph_of_an_export_refuses_ids_outside_the_vocabulary(run, wrong):
    import tensorflow as tf

    from dense_lstm_zoo.exports.saved_model import portable_copy

    bundle = run[0]
    model = portable_copy(bundle)
    served = tf.function(lambda ids: model(ids, training=False), input_signature=[bundle.text_to_ids.signature])
    assert served(np.array([[2, 3, 0]], np.int32)).shape == (1, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        served(np.array([[2, wrong, 0]], np.int32))
