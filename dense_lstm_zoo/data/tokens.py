"""The words of raw texts, as classifiers and language models on raw text see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dense_lstm_zoo_runtime.rules import NEWEST

_AT_ONCE = 4096  # texts tokenised in one call


def tokenize(texts: Iterable[str]) -> list[list[str]]:
    """Return the tokens of each text in lower case, as classifiers look words up.

    A language model takes words as they stand between white space. Trained on these tokens, it knows a classifier's
    words. URLs and e-mail addresses are one word each.

    Args:
        texts: Raw or tokenised texts. Tokens of tokenised text stay as they are.

    Raises:
        TypeError: A single string, or an item that is not a string. The message gives its position.

    Example:
        >>> tokenize(["It DOESN'T."])
        [['it', 'does', "n't", '.']]
    """
    return list(token_stream(texts))


def token_stream(texts: Iterable[str], *, tokenizer: int = NEWEST) -> Iterator[list[str]]:
    """Yield what ``tokenize`` returns, text by text, in constant memory.

    ``tokenizer`` is the version of the tokeniser's rules.
    """
    from dense_lstm_zoo.data.text import folded

    for rows in folded(texts, _AT_ONCE, tokenizer=tokenizer):
        yield from ([token.decode() for token in row] for row in rows.to_list())
