"""Words that continue a text, written as one."""

import numpy as np
import pytest

from dense_lstm_zoo_runtime import drawing

WORDS = ["a", "b", "<eos>", "<unk>"]


def told(*drawn):
    """The text of words that are drawn in turn, without an end at ``<eos>``."""
    rows = iter([*np.where(np.eye(4)[[WORDS.index(word) for word in drawn]], 0.0, -9.0), np.zeros(4)])
    found = drawing.continuation(
        "",
        WORDS,
        lambda prompt: (next(rows), None),
        lambda word, states: (next(rows), None),
        len(drawn),
        temperature=0,
        top_k=None,
        seed=1,
        stop_at_line_end=False,
        allow_unknown=False,
    )
    return found.text


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (["a", "<eos>", "<eos>", "b"], "a\n\nb"),
        (["<eos>", "a", "b"], "\na b"),
        (["a", "<eos>", "b", "<eos>"], "a\nb"),
        (["a", "<eos>", "<eos>", "<eos>"], "a\n\n"),
        (["<eos>"], ""),
    ],
)
def test_line_ends_have_no_spaces_beside_them(drawn, text):
    assert told(*drawn) == text
