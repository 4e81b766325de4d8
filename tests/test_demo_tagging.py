import functools
import re
from collections import Counter, defaultdict

import pytest

from dense_lstm_zoo.tagging.demo import demo_tagging_splits

# What two taggers that look to the left reach on test, the floor for a Bi-LSTM.
MOST_FREQUENT_TAG_ACCURACY = 0.8356
TAG_AFTER_TAG_ACCURACY = 0.8676


# What follows is a reader's knowledge of English, and does not come from the code under test.
TAGS = "ADJ ADP ADV AUX CCONJ DET NOUN NUM PART PRON PROPN PUNCT SCONJ VERB"
READINGS_OF_A_WORD = {
    "light": {"ADJ", "NOUN", "VERB"},
    "open": {"ADJ", "VERB"},
    "film": {"NOUN", "VERB"},
    "watch": {"NOUN", "VERB"},
    "guards": {"NOUN", "VERB"},
    "saw": {"NOUN", "VERB"},
    "patient": {"ADJ", "NOUN"},
    "cold": {"ADJ", "NOUN"},
    "painted": {"ADJ", "VERB"},
    "boring": {"ADJ", "VERB"},
    "that": {"DET", "PRON", "SCONJ"},
    "this": {"DET", "PRON"},
    "her": {"DET", "PRON"},
    "to": {"ADP", "PART"},
    "'s": {"AUX", "PART"},
    "before": {"ADP", "SCONJ"},
    "outside": {"ADP", "ADV"},
    "still": {"ADJ", "ADV"},
    "has": {"AUX", "VERB"},
    "will": {"AUX", "NOUN", "PROPN"},
}


def tagged(name):
    split = demo_tagging_splits()[name]
    return [list(zip(tokens, tags, strict=True)) for tokens, tags in zip(split.tokens, split.tags, strict=True)]


@functools.cache
def all_sentences():
    return [sentence for name in ("train", "dev", "test") for sentence in tagged(name)]


def most_frequent(counts):
    return max(counts, key=lambda tag: (counts[tag], tag))


def accuracies(train, test):
    """Of the tag that is most frequent for a word, and of the one most frequent after the tag given to its left."""
    by_word, by_both = defaultdict(Counter), defaultdict(Counter)
    for sentence in train:
        previous = "start"
        for word, tag in sentence:
            by_word[word][tag] += 1
            by_both[previous, word][tag] += 1
            previous = tag
    right_by_word = right_by_both = 0
    for sentence in test:
        previous = "start"
        for word, tag in sentence:
            guess = most_frequent(by_word.get(word, {"NOUN": 1}))
            previous = most_frequent(by_both.get((previous, word), {guess: 1}))
            right_by_word += guess == tag
            right_by_both += previous == tag
    size = sum(map(len, test))
    return right_by_word / size, right_by_both / size


def lower_case(sentences):
    return [[(word.lower(), tag) for word, tag in sentence] for sentence in sentences]


def test_the_splits_have_3000_500_and_500_sentences_no_two_of_them_the_same():
    assert {name: len(split) for name, split in demo_tagging_splits().items()} == {
        "train": 3000,
        "dev": 500,
        "test": 500,
    }
    assert len({" ".join(word for word, _ in sentence) for sentence in all_sentences()}) == 4000


def test_a_second_call_does_no_work():
    assert demo_tagging_splits() is demo_tagging_splits()


def test_every_split_has_all_tags_and_no_other():
    for split in demo_tagging_splits().values():
        assert sorted(set().union(*split.tags)) == TAGS.split()


def test_sentences_are_3_to_25_tokens_with_a_capital_and_an_end():
    for sentence in all_sentences():
        words = [word for word, _ in sentence]
        assert 3 <= len(words) <= 25, words
        assert re.match("[A-Z]|[0-9]", words[0]), words
        assert words[-1] in (".", "?"), words
        assert all(re.fullmatch(r"[A-Z]|[A-Z]?[a-z]+|[0-9]{2,4}|'s|[.,?]", word) for word in words), words
        assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]", " ".join(words)), words


def test_tags_are_those_that_a_reader_gives_by_spelling_and_by_the_next_word():
    for sentence in all_sentences():
        for place, (word, tag) in enumerate(sentence):
            following = sentence[place + 1][1] if place + 1 < len(sentence) else None
            assert (tag == "PUNCT") == (word in {".", ",", "?"}), sentence
            assert not word.isdigit() or tag == "NUM", sentence
            assert not word.endswith("ly") or word in {"family", "Family", "lonely", "Lonely"} or tag == "ADV", sentence
            assert (tag == "PROPN") >= (place > 0 and word[0].isupper()), sentence
            if tag == "DET":
                assert following in {"NOUN", "ADJ"}, sentence
            if tag == "PART":
                assert following in ({"NOUN", "ADJ"} if word == "'s" else {"VERB", "ADJ"}), sentence
            if word == "to" and tag == "ADP":
                assert following in {"DET", "PRON", "PROPN", "NUM"}, sentence
        assert {"VERB", "AUX"} & {tag for _, tag in sentence}, sentence


def test_words_with_several_tags_have_each_of_them_often_and_are_nearly_half_of_all():
    tags_of = defaultdict(Counter)
    for sentence in lower_case(all_sentences()):
        for word, tag in sentence:
            tags_of[word][tag] += 1
    for word, expected in READINGS_OF_A_WORD.items():
        assert set(tags_of[word]) == expected, word
        assert min(tags_of[word].values()) >= 5, word
    ambiguous = sum(sum(counts.values()) for counts in tags_of.values() if len(counts) > 1)
    assert 0.4 < ambiguous / sum(sum(counts.values()) for counts in tags_of.values()) < 0.5


def test_names_numbers_and_regular_forms_occur_that_train_has_not():
    train_words = {word for sentence in lower_case(tagged("train")) for word, _ in sentence}
    for name in ("dev", "test"):
        sentences = tagged(name)
        new = [(word, tag) for sentence in sentences for word, tag in sentence if word.lower() not in train_words]
        assert 0.005 < len(new) / sum(map(len, sentences)) < 0.03
        for pattern, expected in (("[0-9]+", "NUM"), ("[A-Z].+", "PROPN"), (".+ly", "ADV"), (".+(ing|ed)", "VERB")):
            tags = Counter(tag for word, tag in new if re.fullmatch(pattern, word))
            assert tags[expected] >= 3, (name, pattern)
            assert tags[expected] == sum(tags.values()), (name, pattern)


def test_the_two_taggers_have_the_accuracies_worked_by_hand():
    train = [[("the", "DET"), ("light", "NOUN")], [("light", "ADJ"), ("light", "NOUN")], [("light", "ADJ")]]
    train += [[("the", "DET"), ("old", "ADJ"), ("light", "ADJ")]]
    # By itself "light" is ADJ (3 of 5); after DET and ADJ it is NOUN or a tie that goes to NOUN, and "odd" is NOUN.
    test = [
        [("the", "DET"), ("light", "NOUN"), ("light", "ADJ")],
        [("light", "ADJ"), ("light", "NOUN"), ("odd", "NOUN")],
    ]
    assert accuracies(train, test) == pytest.approx((4 / 6, 6 / 6))


def test_looking_to_the_left_stays_far_below_a_bi_lstm():
    # With capitals and without them, which tell names but hide the words that a sentence begins with.
    train, test = tagged("train"), tagged("test")
    for scores in (accuracies(train, test), accuracies(lower_case(train), lower_case(test))):
        assert scores == pytest.approx((MOST_FREQUENT_TAG_ACCURACY, TAG_AFTER_TAG_ACCURACY), abs=0.005)
        assert scores[0] < 0.85
        assert scores[1] < 0.92
