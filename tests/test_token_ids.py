"""A tagger's ids of a token against plain Python."""

import re

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.data.token_ids import TokensToIds

WORDS, CHARS = ["the", "cat", "9-99", "\u00e9t\u00e9"], list("theCAT\u00e90")


def by_hand(token):
    """Return the ids of a token, in plain Python."""
    folded = re.sub("[0-9]", "9", token.lower())
    chars = [CHARS.index(c) + 2 if c in CHARS else 1 for c in token]
    word = WORDS.index(folded) + 2 if folded in WORDS else 1
    any_capital, small = any(c.isupper() for c in token), any(c.islower() for c in token)
    kind = 1
    if any_capital:
        kind = 3 if not small and len(token) > 1 else 2 if token[0].isupper() else 4
    affixes = (chars[:5] + [0] * 5)[:5] + ([0] * 5 + chars)[-5:]
    return word, 2 if token[:1].isupper() else 1, kind, affixes, chars[:24] + [0] * (24 - len(chars))


token = st.text(st.sampled_from("theCATxX\u00e9\u00c90159-."), max_size=9) | st.just("the-" * 7)


@given(st.lists(st.lists(token, max_size=5), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_tokens_have_the_ids_of_plain_python(sentences):
    ragged = tf.ragged.constant(sentences, dtype=tf.string, ragged_rank=1)
    binary = TokensToIds(WORDS, CHARS)(ragged)
    full = TokensToIds(WORDS, CHARS, case="four_way", whole_words=True)
    features, padded = full(ragged), full.padded(ragged)
    for b, sentence in enumerate(sentences):
        rows = [by_hand(t) for t in sentence]
        assert features["token_ids"][b].numpy().tolist() == [row[0] for row in rows]
        assert binary["case_ids"][b].numpy().tolist() == [row[1] for row in rows]
        assert features["case_ids"][b].numpy().tolist() == [row[2] for row in rows]
        assert features["affix_ids"][b].numpy().tolist() == [row[3] for row in rows]
        assert features["char_ids"][b].numpy().tolist() == [row[4] for row in rows]
        for name in ("token_ids", "affix_ids", "char_ids"):
            np.testing.assert_array_equal(padded[name][b, : len(rows)], features[name][b])
            assert not padded[name][b, len(rows) :].numpy().any()
