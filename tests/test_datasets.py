"""Batches for plain Keras users: they are those of ``train``, and whatever is wrong with the data is said first."""

import re

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from tests.model_harness import tiny_arguments
from tests.training_harness import TINY, small_demo

TEXTS = [" ".join(["w"] * (1 + i % 13) + [f"t{i}"]) for i in range(150)]  # the last word tells which text it is
IDS = [[3] * (i % 13) + [i + 10] for i in range(150)]
LABELS = [i % 3 for i in range(150)]


def contents(dataset):
    return list(dataset.as_numpy_iterator())


def order(batches):
    """The texts of ``IDS`` in the order of the batches."""
    return [int(row[row > 0][-1]) - 10 for batch in batches for row in batch[0]]


@pytest.mark.slow
def test_fit_on_a_text_dataset_learns_exactly_what_train_learns(run):
    bundle, _ = run
    demo = small_demo()
    keras.utils.set_random_seed(5)
    options = {"label_names": demo.label_names, "seed": 5}
    train = zoo.text_dataset(demo.train.texts, demo.train.labels, batch_size=50, **options)
    dev = zoo.text_dataset(
        demo.dev.texts, demo.dev.labels, batch_size=256, shuffle=False, vocabulary=train.vocabulary, **options
    )
    model = zoo.build("bilstm", **TINY, **train.model_arguments)
    history = model.fit(train, validation_data=dev, epochs=3, shuffle=False, verbose=0).history
    for name, values in history.items():
        np.testing.assert_allclose(values, bundle.history[name], rtol=1e-6, err_msg=name)
    assert train.vocabulary == bundle.vocabulary
    texts = zoo.text_dataset(demo.dev.texts, vocabulary=train.vocabulary, batch_size=7)
    best = model.predict(texts, verbose=0).argmax(axis=1)
    assert np.isclose((best == demo.dev.labels).mean(), history["val_accuracy"][-1])


def test_each_pass_is_another_epoch_with_every_text_once_and_the_seed_alone_sets_the_order():
    dataset = zoo.bucketed(IDS, LABELS, batch_size=20, seed=3)
    first, second = contents(dataset), contents(dataset)
    assert sorted(order(first)) == sorted(order(second)) == list(range(150))
    assert order(first) != order(second)
    again = zoo.bucketed(IDS, LABELS, batch_size=20, seed=3)
    assert order(contents(again)) == order(first)
    assert order(contents(again)) == order(second)
    assert order(contents(zoo.bucketed(IDS, LABELS, batch_size=20, seed=4))) != order(first)
    assert [len(labels) for _, labels in first].count(20) == 7
    assert int(dataset.cardinality()) == len(first) == 8


def test_a_label_and_a_weight_stay_with_their_text():
    weights = np.arange(150) / 100
    for shuffle in (True, False):
        for ids, labels, batch_weights in contents(zoo.bucketed(IDS, LABELS, sample_weight=weights, shuffle=shuffle)):
            texts = order([(ids,)])
            assert labels.tolist() == [LABELS[i] for i in texts]
            np.testing.assert_allclose(batch_weights, weights[texts], rtol=1e-6)


def test_without_labels_the_texts_stay_in_their_order_and_a_row_of_predictions_belongs_to_each():
    dataset = zoo.bucketed(IDS, batch_size=20)
    assert order([(ids,) for ids in contents(dataset)]) == list(range(150))
    model = zoo.build("bilstm", **{**tiny_arguments("bilstm"), "vocab_size": 170, "num_classes": 3, "kernel": "native"})
    probabilities = model.predict(dataset, verbose=0)
    alone = np.concatenate([model.predict_on_batch(np.array([row])) for row in IDS[:30]])
    np.testing.assert_allclose(probabilities[:30], alone, atol=1e-6)  # padding never changes the result
    assert probabilities.shape == (150, 3)


def test_all_forms_of_ids_give_the_same_batches():
    padded = np.zeros((150, 20), np.int64)
    for row, ids in zip(padded, IDS, strict=True):
        row[: len(ids)] = ids
    lengths = [len(ids) for ids in IDS]
    forms = [padded, [np.array(ids) for ids in IDS], tf.ragged.constant(IDS), tf.constant(padded), padded.tolist()]
    datasets = [zoo.bucketed(form, LABELS) for form in forms]
    datasets.append(zoo.bucketed(np.where(padded, padded, 0), LABELS, lengths=lengths))
    expected = contents(zoo.bucketed(IDS, LABELS))
    for dataset in datasets:
        for (ids, labels), (right, right_labels) in zip(contents(dataset), expected, strict=True):
            np.testing.assert_array_equal(ids, right)
            np.testing.assert_array_equal(labels, right_labels)
    (batch,) = contents(zoo.bucketed(np.array([[5, 6, 7], [8, 9, 9]]), lengths=[2, 1]))
    assert batch.tolist() == [[5, 6, 0, 0], [8, 0, 0, 0]]


def test_a_text_without_ids_becomes_one_unknown_word():
    (ids,) = contents(zoo.bucketed([[], [0, 0], [5]]))
    assert ids.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [5, 0, 0, 0]]


@pytest.mark.slow
def test_models_that_read_characters_are_fitted_on_dictionaries_from_texts_and_from_ids():
    dataset = zoo.text_dataset(TEXTS, LABELS, chars=True, batch_size=50)
    (ids, _) = next(iter(dataset))
    assert ids["char_ids"].shape == (*ids["token_ids"].shape, 24)
    arguments = {**tiny_arguments("bilstm"), **dataset.model_arguments, "char_filters": 2, "char_dim": 2}
    model = zoo.build("bilstm", **{**arguments, "kernel": "native"})
    assert model.fit(dataset, shuffle=False, verbose=0).history["loss"][0] < 2
    rows = dataset.vocabulary.text_to_ids().encode(TEXTS)
    ids_by_name = {name: [row[name] for row in rows] for name in ("token_ids", "char_ids")}
    from_texts = zoo.text_dataset(TEXTS, vocabulary=dataset.vocabulary)
    for batch, expected in zip(contents(zoo.bucketed(ids_by_name)), contents(from_texts), strict=True):
        assert batch.keys() == expected.keys() == {"token_ids", "char_ids"}
        for name in batch:
            np.testing.assert_array_equal(batch[name], expected[name])


def test_names_of_labels_are_sorted_and_validation_data_get_the_same_indices():
    train = zoo.text_dataset(["a", "b", "c"], pd.Series(["10", "9", "10"]))
    assert train.label_names == ("9", "10")
    dev = zoo.text_dataset(["a"], ["10"], vocabulary=train.vocabulary, label_names=train.label_names)
    assert [labels.tolist() for _, labels in contents(dev)] == [[1]]
    assert zoo.text_dataset(["a", "b"], np.array([0, 2])).label_names == ("0", "1", "2")
    assert train.model_arguments == {"vocab_size": 5, "num_frozen_words": 0, "num_classes": 2}


def test_word_vectors_are_those_that_train_starts_from(write):
    vectors = write("fine 1 2\ngood 3 4\nother 5 6\n", "vectors.txt")
    train = zoo.text_dataset(["a fine film", "good"], [0, 1], vectors=vectors)
    arguments = dict(train.model_arguments)
    np.testing.assert_array_equal(arguments.pop("embedding_matrix")[2:], [[1, 2], [3, 4], [5, 6]])
    assert arguments == {"vocab_size": 5, "num_frozen_words": 1, "num_classes": 2, "embedding_dim": 2}
    assert [ids.tolist() for ids, _ in contents(train)] == [[[2, 0, 0, 0], [3, 0, 0, 0]]]  # other words are dropped


def test_very_long_texts_to_predict_make_small_batches_in_their_order():
    rows = [[7] * n for n in (5, 30_000, 6, 30_000, 30_000, 3)]
    batches = contents(zoo.bucketed(rows, batch_size=4))
    assert [int((row > 0).sum()) for ids in batches for row in ids] == [len(row) for row in rows]
    assert max(ids.size for ids in batches) <= 65_536


KNOWN = Vocabulary(("a", "b"))
BAD_TEXTS = {
    "none": (([], []), {}, "text_dataset needs at least one text; received none"),
    "one string": (("a text", [0]), {}, "received one string"),
    "a missing text": ((["a", None], [0, 1]), {}, "It is missing"),
    "another number": ((["a", "b"], [0]), {}, "labels must be one per text; received 1 for 2 texts"),
    "one hot": ((["a", "b"], np.eye(2)), {}, r"received shape (2, 2). Turn one-hot rows into integers: argmax"),
    "mixed": ((["a", "b"], ["x", 1]), {}, "Labels must be all strings or all integers; item 1, counted from 0, is 1"),
    "floats": ((["a", "b"], [0.0, 1.0]), {}, "is 0.0 (float)"),
    "negative": ((["a", "b"], [0, -1]), {}, "item 1, counted from 0, is -1"),
    "one label": ((["a", "b"], ["x", "x"]), {}, "at least two labels; received only 'x'"),
    "unknown and empty": ((["a", "b"], ["", "x"]), {"label_names": ["x", "y"]}, "Unknown label ''. Accepted: x, y."),
    "unknown": ((["a", "b"], ["x", "posit"]), {"label_names": ["x", "positive"]}, "Did you mean 'positive'"),
    "out of range": ((["a", "b"], [0, 2]), {"label_names": ["x", "y"]}, "Labels must be from 0 to 1; item 1"),
    "a large number": ((["a", "b"], [0, 2_000_000_000]), {}, "the largest of 2 different ones is 2000000000. Number"),
    "beyond integers": ((["a", "b"], [0, 2**70]), {}, "Labels must be from 0 to 2147483647; item 1"),
    "names twice": ((["a", "b"], [0, 1]), {"label_names": ["x", "x"]}, "label_names must be different strings"),
    "no vocabulary": ((["a"],), {}, "vocabulary=train.vocabulary"),
    "no names": ((["a"], [0]), {"vocabulary": KNOWN}, "label_names=train.label_names"),
    "words": ((["a"],), {"vocabulary": ["a", "b"]}, "received list. Give train.vocabulary or bundle.vocabulary"),
    "two ways": ((["a"],), {"vocabulary": KNOWN, "chars": True}, "chars belong to a vocabulary that is built"),
    "weights alone": ((["a"],), {"vocabulary": KNOWN, "sample_weight": [1]}, "sample_weight is for texts with labels"),
    "weights": ((["a", "b"], [0, 1]), {"sample_weight": [1, float("nan")]}, "sample_weight, item 1, counted from 0,"),
    "batch": ((["a", "b"], [0, 1]), {"batch_size": 0}, "batch_size must be an integer of at least 1; received 0"),
    "seed": ((["a", "b"], [0, 1]), {"seed": -1}, "seed must be an integer of at least 0"),
}
BAD_IDS = {
    "none": (([], []), {}, "token_ids holds no texts"),
    "strings": (([["a"]], [0]), {}, "row 0, counted from 0, is array(['a']"),
    "floats": ((np.ones((2, 3)), [0, 1]), {}, "floats need astype('int32')"),
    "one row": (([2, 3], [0, 1]), {}, "token_ids must hold rows of integers"),
    "a number": ((7, [0]), {}, "token_ids must be a list of rows of ids, or an array (texts, time); received int"),
    "negative": (([[2], [3, -4]], [0, 1]), {}, "row 1, counted from 0, has -4"),
    "too large": (([[2], [9]], [0, 1]), {"vocab_size": 9}, "token_ids must be from 0 to 8; row 1"),
    "on the left": (([[2], [0, 3]], [0, 1]), {}, "row 1, counted from 0, has it before. Pad on the right"),
    "too short": (([[2], [3]], [0, 1]), {"lengths": [1, 2]}, "A row of 1 ids cannot have 2 real ones (row 1"),
    "lengths": (([[2], [3]], [0, 1]), {"lengths": [1]}, "lengths must be one integer per row: (2,); received shape (1"),
    "inside": (([[2, 0, 3]], [0]), {"lengths": [3]}, "row 0, counted from 0, has it before"),
    "another number": (([[2], [3]], [0, 1, 1]), {}, "labels must be one per text; received 3 for 2 texts"),
    "out of range": (([[2], [3]], [0, 5]), {"num_classes": 3}, "Labels must be from 0 to 2; item 1"),
    "names": (([[2], [3]], ["x", "y"]), {"num_classes": 2}, "text_dataset also takes names"),
    "no tokens": (({"char_ids": [[2]]}, [0]), {}, "needs 'token_ids'; received char_ids"),
    "unaligned": (({"token_ids": [[2, 3]], "char_ids": [[[2]]]}, [0]), {}, "Row 0 of char_ids has 1 tokens"),
    "fewer rows": (({"token_ids": [[2], [3]], "char_ids": [[[2]]]}, [0, 1]), {}, "char_ids needs a row for each of 2"),
    "three dimensions": (([[[2]]], [0]), {}, "token_ids must be (texts, time)"),
}
CASES = [(zoo.text_dataset, *case) for case in BAD_TEXTS.values()] + [(zoo.bucketed, *x) for x in BAD_IDS.values()]
NAMES = [f"{kind}: {name}" for kind, cases in (("texts", BAD_TEXTS), ("ids", BAD_IDS)) for name in cases]


@pytest.mark.parametrize(("make", "arguments", "options", "message"), CASES, ids=NAMES)
def test_what_is_wrong_with_the_data_is_said_with_what_is_accepted(make, arguments, options, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        make(*arguments, **options)
