"""Words that continue a text, written as one."""

import numpy as np
import pytest

from dense_lstm_zoo_runtime import drawing

WORDS = ["a", "b", "<eos>", "<unk>"]


def text_of(*words):
    """The text of words that are drawn in turn, without an end at ``<eos>``."""
    rows = iter([*np.where(np.eye(4)[[WORDS.index(word) for word in words]], 0.0, -9.0), np.zeros(4)])
    drawn_text = drawing.continuation(
        "",
        WORDS,
        lambda prompt: (next(rows), None),
        lambda word, states: (next(rows), None),
        len(words),
        temperature=0,
        top_k=None,
        seed=1,
        stop_at_line_end=False,
        allow_unknown=False,
    )
    return drawn_text.text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a", "<eos>", "<eos>", "b"], "a\n\nb"),
        (["<eos>", "a", "b"], "\na b"),
        (["a", "<eos>", "b", "<eos>"], "a\nb"),
        (["a", "<eos>", "<eos>", "<eos>"], "a\n\n"),
        (["<eos>"], ""),
    ],
)
def test_line_ends_have_no_spaces_beside_them(words, text):
    assert text_of(*words) == text
