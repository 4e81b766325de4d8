"""The runtime's ids of words, characters, affixes and cases are those that the TensorFlow layers make."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.classification.text_ids import TextToIds
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.data.token_ids import TokensToIds
from dense_lstm_zoo.language.vocabulary import SentenceToIds
from dense_lstm_zoo.tagging.batches import encode
from dense_lstm_zoo_runtime.ids import LineIds, TextIds, TokenIds
from dense_lstm_zoo_runtime.rules import VERSIONS
from dense_lstm_zoo_runtime.text import Tokenizer

WORDS = ["the", "film", "n't", "café", "1984", "9999", "strasse", "ab", "was", "?", "\ufffd"]
CHARS = "abcdefilmtéß9A"
PIECES = [
    "The",
    "film",
    "wasn't",
    "CAFÉ",
    "1984",
    "Straße",
    "a\u200db",
    "?",
    "\ud800",
    "ZZZ",
    "\u200d",
    "a\nb",
    "ǅ",
    "٣",
]
PIECES += [
    "antidisestablishmentarianism",
    "aB",
    "Ab",
    "AB",
    "A",
    "\u0345",
    "Ⅷ",
    "𝐀",
    "\x85",
    "\u3000",
    "\x1f",
    "\u180e",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=8)


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, ids in expected.items():
        assert actual[name].dtype == np.int32
        assert actual[name].tolist() == ids.tolist(), name


TEXT_OPTIONS = [{"oov": "unk"}, {"oov": "drop"}, {"oov": "drop", "chars": CHARS}, {"oov": "unk", "max_tokens": 2}]
TEXT_OPTIONS += [{"oov": "drop", "max_tokens": 3, "chars": CHARS}]
layers = [
    (TextToIds(WORDS, **options, tokenizer=version), TextIds(WORDS, Tokenizer(rules), **options))
    for options in TEXT_OPTIONS
    for version, rules in VERSIONS.items()
]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(texts.map(" ".join), min_size=1, max_size=5))
def test_a_classifiers_ids_are_those_of_the_graph(given_texts):
    for layer, runtime in layers:
        for text, expected in zip(given_texts, layer.encode(given_texts), strict=True):
            assert_same(runtime(text), expected if isinstance(expected, dict) else {"token_ids": expected})


TOKEN_OPTIONS = [{"case": "binary"}, {"case": "four_way"}, {"case": "four_way", "whole_words": True}]
taggers = [(TokensToIds(WORDS, list(CHARS), **options), TokenIds(WORDS, CHARS, **options)) for options in TOKEN_OPTIONS]


@settings(max_examples=20, deadline=None)
@given(st.lists(texts, min_size=1, max_size=5))
def test_a_taggers_ids_are_those_of_the_graph(sentences):
    for layer, runtime in taggers:
        for tokens, expected in zip(sentences, encode(layer, sentences), strict=True):
            assert_same(runtime(tokens), expected)


def test_long_tokens_are_not_kept():
    layer, runtime = TokensToIds(WORDS, list(CHARS)), TokenIds(WORDS, CHARS)
    tokens = ["film", "A" * 64, "b" * 65, "film" * 1000]
    for _ in range(2):
        assert_same(runtime(tokens), encode(layer, [tokens])[0])
    assert runtime._remembered.cache_info().currsize == 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 2])
def test_every_character_has_the_same_case_and_word(number):
    layer, runtime = taggers[number]
    tokens = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    (expected,) = encode(layer, [tokens])
    assert_same(runtime(tokens), expected)


language = SentenceToIds([*WORDS, "<eos>", "<unk>"]), LineIds([*WORDS, "<eos>", "<unk>"])


@settings(max_examples=30, deadline=None)
@given(st.lists(texts.map(" ".join) | st.text(), min_size=1, max_size=5))
def test_a_language_models_ids_are_those_of_the_graph(lines):
    expected = language[0](to_bytes(lines)).to_list()
    assert [language[1](line).tolist() for line in lines] == expected


def test_every_character_separates_words_or_not_as_in_the_graph():
    lines = [f"the{chr(code)}film" for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    expected = language[0](tf.constant(lines)).to_list()
    assert [language[1](line).tolist() for line in lines] == expected
