"""The language models' demo corpus: its pinned sentences, their lengths, its words, what the splits share."""

import re
from collections import Counter

from dense_lstm_zoo.language.demo import demo_language_splits
from tests.training_harness import all_sentences, tokenised


def test_the_splits_have_about_120000_and_twice_12000_tokens():
    sizes = {name: sum(len(s.split()) for s in sentences) for name, sentences in demo_language_splits().items()}
    assert list(sizes) == ["train", "dev", "test"]
    assert 120_000 <= sizes["train"] < 120_100
    assert 12_000 <= sizes["dev"] < 12_100
    assert 12_000 <= sizes["test"] < 12_100


def test_a_second_call_does_no_work():
    assert demo_language_splits() is demo_language_splits()


def test_sentences_are_5_to_35_lower_case_tokens_with_a_full_stop():
    for words in all_sentences():
        assert 5 <= len(words) <= 35, words
        assert all(re.fullmatch(r'[a-z]{1,15}|[.,:"]', word) for word in words), words
        assert words[-1] == "." or words[-2:] == [".", '"'], words
        assert words.count(".") == 1, words


def test_a_becomes_an_before_a_vowel_only():
    for sentence in demo_language_splits()["train"]:
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", sentence), sentence


def test_the_lengths_are_spread():
    lengths = Counter(len(words) for words in tokenised("train"))
    assert set(range(5, 36)) == set(lengths)
    assert max(lengths.values()) < 0.1 * sum(lengths.values())


def test_the_vocabulary_has_250_to_500_types_with_a_long_tail():
    counts = Counter(word for words in all_sentences() for word in words)
    assert 250 <= len(counts) <= 500
    frequencies = sorted(counts.values(), reverse=True)
    assert sum(frequencies[:20]) > 0.4 * sum(frequencies)
    assert sum(frequency < 0.0003 * sum(frequencies) for frequency in frequencies) > 0.25 * len(frequencies)


def test_some_words_occur_in_train_only_and_a_few_outside_it_only():
    train, valid, test = (Counter(w for words in tokenised(name) for w in words) for name in ("train", "dev", "test"))
    assert len(set(train) - set(valid) - set(test)) >= 5
    assert 2 <= len((set(valid) | set(test)) - set(train)) <= 5
    for other in (valid, test):
        unknown = sum(count for word, count in other.items() if word not in train)
        assert 0.001 < unknown / sum(other.values()) < 0.01


def test_hardly_any_sentence_of_valid_or_test_that_is_longer_than_8_tokens_is_known_from_train():
    # Chance repeats short and frequent sentences only, as each further token takes about 1.9 nats.
    # Measured: none of 605 in valid, none of 601 in test. The limit lets three through.
    train_sentences = {tuple(words) for words in tokenised("train")}
    for name in ("dev", "test"):
        long = [tuple(words) for words in tokenised(name) if len(words) > 8]
        assert sum(words in train_sentences for words in long) <= 0.005 * len(long)
