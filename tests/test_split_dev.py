"""A dev set held out from training: stratified, complete, and the same for the same seed."""

import collections
import dataclasses

import numpy as np
import pandas as pd
import pytest

from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.job import ClassificationJob
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.corpora.loader import load_corpus


def made_corpus(counts):
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    texts = [f"text {i}" for i in range(len(labels))]
    names = tuple(f"label {label}" for label in range(len(counts)))
    return Corpus("made", names, Split(texts, labels), None, Split(["t"], [0]))


def test_with_dev_is_disjoint_and_complete_and_keeps_text_and_label_together():
    corpus = made_corpus([50, 30, 20])
    split = corpus.with_dev()
    pairs = [list(zip(part.texts, part.labels, strict=True)) for part in (split.train, split.dev)]
    assert not set(pairs[0]) & set(pairs[1])
    assert sorted(pairs[0] + pairs[1]) == sorted(zip(corpus.train.texts, corpus.train.labels, strict=True))
    assert (split.name, split.label_names, split.test) == (corpus.name, corpus.label_names, corpus.test)


@pytest.mark.parametrize(
    ("counts", "fraction", "expected"),
    [
        ([50, 30, 20], 0.1, [5, 3, 2]),
        ([500, 4, 4, 4], 0.25, [125, 1, 1, 1]),
        ([15, 15, 10], 0.1, [2, 1, 1]),
        ([1, 1, 98], 0.5, [0, 0, 50]),
        ([3, 7], 0.99, [2, 6]),
    ],
)
def test_with_dev_holds_out_each_label_in_proportion_and_leaves_each_one_example(counts, fraction, expected):
    held_out = collections.Counter(made_corpus(counts).with_dev(fraction).dev.labels)
    assert [held_out[label] for label in range(len(counts))] == expected


@pytest.mark.parametrize("seed", [1, 2, 7, 15])
def test_with_dev_leaves_each_of_several_labels_one_example(seed):
    # The two texts of the last label are divided by their other labels, which are as rare.
    labels = [[0, 20], [0], [1, 20], [1], *([i] for i in range(2, 20) for _ in range(2))]
    split = Split([f"text {i}" for i in range(40)], labels)
    corpus = Corpus("made", tuple(f"label {i:02}" for i in range(21)), split, None, None).with_dev(0.1, seed)
    assert corpus.train.targets(21).any(axis=0).all()
    assert 3 <= len(corpus.dev) <= 4
    assert len(corpus.train) + len(corpus.dev) == 40


def test_with_dev_of_several_labels_holds_out_the_same_texts_as_ever():
    split = Split([f"text {i}" for i in range(20)], [[0], [1], [0, 1], []] * 5)
    corpus = Corpus("made", ("a", "b"), split, None, None)
    assert corpus.with_dev(0.2, seed=1).dev.texts == ["text 5", "text 7", "text 8", "text 16"]


def test_with_dev_depends_on_the_seed_and_on_nothing_else():
    corpus = made_corpus([50, 50])
    assert corpus.with_dev(seed=3) == corpus.with_dev(seed=3)
    assert corpus.with_dev(seed=3).dev.texts != corpus.with_dev(seed=4).dev.texts
    # The published protocol must hold out the same questions on every machine and under every later numpy.
    assert made_corpus([4, 4]).with_dev(0.5).dev.texts == ["text 0", "text 2", "text 6", "text 7"]


def test_with_dev_of_the_real_trec_takes_a_tenth_and_leaves_every_fine_label_in_training(data_folder):
    split = load_corpus("trec_fine").with_dev()
    assert (len(split.train), len(split.dev)) == (4907, 545)
    assert set(split.train.labels) == set(range(50))


def test_with_dev_returns_a_corpus_that_has_a_dev_set_as_it_is():
    corpus = dataclasses.replace(made_corpus([5, 5]), dev=Split(["d"], [1]))
    assert corpus.with_dev() is corpus


@pytest.mark.parametrize("fraction", [0, 0.0, -0.1, 1, 1.5, float("nan"), True, "0.1", None])
def test_with_dev_refuses_an_impossible_fraction(fraction):
    with pytest.raises(ValueError, match=r"fraction must be .*; received"):
        made_corpus([5, 5]).with_dev(fraction)


def test_with_dev_refuses_to_return_an_empty_dev_set():
    with pytest.raises(ValueError, match=r"A share of 0\.5 of 3 training texts leaves none for dev"):
        made_corpus([1, 1, 1]).with_dev(0.5)
    with pytest.raises(ValueError, match=r"A share of 0\.1 of 4 training texts leaves none"):
        made_corpus([2, 2]).with_dev(0.1)


def test_with_dev_refuses_a_seed_that_is_no_natural_number():
    with pytest.raises(ValueError, match="seed must be an integer of at least 0; received -1"):
        made_corpus([5, 5]).with_dev(seed=-1)


def test_arrays_and_columns_become_lists_so_that_their_order_and_every_label_count():
    texts = pd.Series(["a", "b", "c"], index=[7, 9, 8])
    split = Split(texts, np.array([1, 0, 1]))
    assert (split.texts, split.labels) == (["a", "b", "c"], [1, 0, 1])
    many = np.zeros(2_000, int)
    other = many.copy()
    other[1_000] = 1
    corpora = [Corpus("made", ("x", "y"), Split(["a"] * 2_000, labels), None, None) for labels in (many, other)]
    assert len({ClassificationJob.fingerprint(corpus) for corpus in corpora}) == 2


@pytest.mark.parametrize(
    ("labels", "names", "error", "message"),
    [
        (["x", "y"], ("x", "y"), TypeError, "labels must be integers, .* received 'x'"),
        ([0, 2], ("x", "y"), ValueError, "labels of made's train texts must be from 0 to 1, .* received 2"),
        ([0, -1], ("x", "y"), ValueError, "received -1"),
        ([0, 1], ("x", "x"), ValueError, "label_names must differ"),
        ([0, 1], (0, 1), TypeError, "label_names must be strings; received 0"),
    ],
)
def test_labels_that_do_not_fit_their_names_are_refused(labels, names, error, message):
    with pytest.raises(error, match=message):
        Corpus("made", names, Split(["a", "b"], labels), None, None)
