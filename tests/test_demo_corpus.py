import copy
import functools
import re

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dense_lstm_zoo.classification.demo import LABEL_NAMES, demo_splits, generate


def words(text):
    return re.findall(r"[a-z']+", text.lower())


@functools.cache
def all_pairs():
    return [pair for texts, labels in demo_splits().values() for pair in zip(texts, labels, strict=True)]


def test_the_splits_have_4000_500_and_1000_sentences():
    sizes = {name: (len(texts), len(labels)) for name, (texts, labels) in demo_splits().items()}
    assert sizes == {"train": (4000, 4000), "dev": (500, 500), "test": (1000, 1000)}


def test_half_of_every_split_is_positive():
    for _, labels in demo_splits().values():
        assert set(labels) == {0, 1}
        assert abs(sum(labels) / len(labels) - 0.5) <= 0.02


def test_no_sentence_occurs_twice_even_when_case_and_punctuation_are_dropped():
    sentences = [tuple(words(text)) for text, _ in all_pairs()]
    assert len(set(sentences)) == len(sentences) == 5500


def test_sentences_are_raw_english_of_5_to_25_words():
    for text, _ in all_pairs():
        assert 5 <= len(text.split()) <= 25, text
        assert re.fullmatch(r"[A-Z][A-Za-z', ]+[a-z]\.", text), text
        assert not re.search(r"\ba [aeio]|\ban [^aeiou]", text), text


def test_the_vocabulary_has_200_to_500_words():
    vocabulary = {word for text, _ in all_pairs() for word in words(text)}
    assert 200 <= len(vocabulary) <= 500


def test_every_call_returns_the_same_corpus_in_new_lists():
    first = demo_splits()
    before = copy.deepcopy(first)
    first["train"][0].clear()
    assert demo_splits() == before


def test_generate_repeats_itself_by_seed_and_a_longer_run_starts_with_the_shorter():
    texts, labels = generate(40, seed=3)
    assert generate(40, seed=3) == (texts, labels)
    longer_texts, longer_labels = generate(60, seed=3)
    assert (longer_texts[:40], longer_labels[:40]) == (texts, labels)
    assert generate(40, seed=4)[0] != texts


def test_generate_balances_the_labels_and_can_return_nothing():
    assert sum(generate(40, seed=3)[1]) == 20
    assert sum(generate(41, seed=3)[1]) in (20, 21)
    assert generate(0, seed=3) == ([], [])


@pytest.mark.parametrize(
    ("text", "label_name"),
    [
        ("The software was quite dull.", "negative"),
        ("The website was quite confusing, but the tutorial was really helpful.", "positive"),
        ("Although the screen impressed my brother, the keyboard was quite atrocious.", "negative"),
        ("The waitress was quite friendly, though the curry was simply annoying.", "positive"),
        ("Despite the terrific waiter, the bread was quite rubbery.", "negative"),
        ("Neither the villain nor the comedian was disappointing.", "positive"),
        ("The ending was really memorable, and the story did nothing to bore us.", "positive"),
        ("The bread was never less than laughable.", "negative"),
        ("The pie was too tiresome not to disappoint us, and the waiter was really amateurish.", "negative"),
        ("It isn't true that the hero couldn't be called engrossing, despite the unconvincing detective.", "positive"),
        ("Nobody could claim that it isn't true that the risotto was really galling.", "negative"),
        ("They told us that the dialogue was never dull, but they were wrong.", "negative"),
        ("The critics wrote that the opening delighted us, and they weren't wrong.", "positive"),
        ("I got a dull tablet although I expected a likeable one.", "negative"),
        ("The tablet would have been awful if the helpline hadn't been so clear.", "positive"),
        ("If the opening had been gripping, the show would have been wonderful.", "negative"),
        ("This sequel was far less boring than the last one.", "positive"),
        ("I can't say that the last meal was much less tiresome than this one.", "positive"),
    ],
)
def test_the_label_is_the_one_that_a_reader_gives(text, label_name):
    assert LABEL_NAMES[dict(all_pairs())[text]] == label_name


def test_sentences_with_the_same_bag_of_words_occur_under_opposite_labels():
    labels_of = {}
    for text, label in all_pairs():
        labels_of.setdefault(tuple(sorted(words(text))), set()).add(label)
    assert sum(len(labels) == 2 for labels in labels_of.values()) >= 3


def test_a_bag_of_words_stays_between_chance_and_80_percent():
    splits = demo_splits()
    bag_of_words = make_pipeline(CountVectorizer(token_pattern=r"[\w']+"), LogisticRegression(max_iter=2000))
    bag_of_words.fit(*splits["train"])
    assert 0.55 < bag_of_words.score(*splits["test"]) < 0.80
