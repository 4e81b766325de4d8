"""From text to the ids that graphs take: the same as the TensorFlow layers of the three tasks make.

Id 0 is padding and 1 is unknown. A classifier's or tagger's first word and first character have id 2. A language
model's words have the ids of their lines, from 0.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo_runtime.unicode import fold, writable

UNKNOWN = 1
AFFIX = 5  # characters at each end of a word
MAX_CHARS = 24  # characters of a word that a character CNN reads
Row = dict[str, np.ndarray]  # the ids of a text: arrays (tokens, ...) by the name of the graph's input
_CACHED = 8192  # tokens whose ids a tagger remembers
_LONGEST_CACHED = 64  # characters. Longer tokens are rare, and would hold memory for ever
_DIGIT = re.compile("[0-9]")


def as_text(text: str | bytes) -> str:
    """Return a text as a string that can be encoded in UTF-8: what cannot be is replaced."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else writable(text)


class TextIds:
    """Ids of a classifier's texts.

    Args:
        words: Its words, folded.
        tokenize: Returns the tokens of a text.
        oov: What happens to other words: ``"unk"`` gives them id 1, ``"drop"`` leaves them out.
        chars: Its characters, folded, or empty for a model that reads none.
        max_tokens: How many tokens are read, without those that are dropped. None means all.

    Example:
        >>> TextIds(["good", "film"], str.split, oov="drop")("A GOOD film")["token_ids"].tolist()
        [2, 3]
    """

    def __init__(
        self,
        words: Sequence[str],
        tokenize: Callable[[str], list[str]],
        *,
        oov: str = "unk",
        chars: str = "",
        max_tokens: int | None = None,
    ) -> None:
        self._ids = {word: i for i, word in enumerate(words, start=2)}
        self._chars = {char: i for i, char in enumerate(chars, start=2)}
        self._tokenize, self._drops, self._max_tokens = tokenize, oov == "drop", max_tokens

    def __call__(self, text: str | bytes) -> Row:
        """Return ``token_ids`` and, with characters, ``char_ids`` of a text, for one unknown token if it has none."""
        return self.row(self.tokens(text))

    def tokens(self, text: str | bytes) -> list[str]:
        """Return the tokens of a text, also those that are not read."""
        return self._tokenize(as_text(text))

    @property
    def reads_characters(self) -> bool:
        """True if the characters of words are read, too, so that unknown words say something."""
        return bool(self._chars)

    def is_known(self, token: str) -> bool:
        """Return whether a token is one of the words."""
        return fold(token) in self._ids

    def row(self, tokens: Sequence[str]) -> Row:
        """Return the ids of a text with these tokens."""
        tokens = list(map(fold, tokens))
        if self._drops:
            tokens = [token for token in tokens if token in self._ids]
        tokens = tokens[: self._max_tokens] or [""]
        row = {"token_ids": np.array([self._ids.get(token, UNKNOWN) for token in tokens], np.int32)}
        if self._chars:
            row["char_ids"] = np.array([_first_characters(self._chars, token) for token in tokens], np.int32)
        return row


class TokenIds:
    """Ids of a tagger's tokens.

    Args:
        words: Its words, folded, with every digit as 9.
        chars: Its characters.
        case: ``"binary"`` tells capitals at the start, and ``"four_way"`` also capitals elsewhere and in all places.
        whole_words: Whether the model reads all characters of a word, besides its first and last ones.

    Example:
        >>> row = TokenIds(["in", "9999"], "in2048")(["In", "2048"])
        >>> row["token_ids"].tolist(), row["case_ids"].tolist(), row["affix_ids"][0].tolist()
        ([2, 3], [2, 1], [1, 3, 0, 0, 0, 0, 0, 0, 1, 3])
    """

    def __init__(
        self, words: Sequence[str], chars: str, *, case: str | None = "binary", whole_words: bool = False
    ) -> None:
        self._ids = {word: i for i, word in enumerate(words, start=2)}
        self._chars = {char: i for i, char in enumerate(chars, start=2)}
        self._kinds = _four_cases if case == "four_way" else _two_cases
        self._sizes = {"token_ids": (), "case_ids": (), "affix_ids": (2 * AFFIX,)}
        if whole_words:
            self._sizes["char_ids"] = (MAX_CHARS,)
        self._remembered = functools.lru_cache(maxsize=_CACHED)(self._features)

    def __call__(self, tokens: Sequence[str]) -> Row:
        """Return ``token_ids``, ``case_ids``, ``affix_ids`` and, with whole words, ``char_ids`` of tokens."""
        columns = zip(*map(self._of_token, tokens), strict=True) if tokens else ([] for _ in self._sizes)
        return {
            name: np.array(list(values), np.int32).reshape(len(tokens), *size)
            for (name, size), values in zip(self._sizes.items(), columns, strict=True)
        }

    def _of_token(self, token: str) -> tuple[int | list[int], ...]:
        return self._remembered(token) if len(token) <= _LONGEST_CACHED else self._features(token)

    def _features(self, token: str) -> tuple[int | list[int], ...]:
        token = writable(token)
        chars = [self._chars.get(char, UNKNOWN) for char in token]
        blanks = [0] * (AFFIX - len(chars))
        affixes = [*chars[:AFFIX], *blanks, *blanks, *chars[-AFFIX:]]
        features = self._ids.get(_DIGIT.sub("9", fold(token)), UNKNOWN), self._kinds(token), affixes
        return (*features, _first_characters(self._chars, token)) if "char_ids" in self._sizes else features


class LineIds:
    """Ids of a language model's sentences, each between two ``<eos>``.

    Args:
        words: Its words, ``<eos>`` and ``<unk>`` among them.
        backward: Whether the model reads a sentence from its end.

    Example:
        >>> LineIds(["to", "be", "<eos>", "<unk>"])("be what").tolist()
        [2, 1, 3, 2]
    """

    def __init__(self, words: Sequence[str], *, backward: bool = False) -> None:
        self._ids, self._step = {word: i for i, word in enumerate(words)}, -1 if backward else 1
        self.eos, self.unknown = self._ids["<eos>"], self._ids["<unk>"]

    def __call__(self, text: str | bytes) -> np.ndarray:
        """Return the ids of a sentence. Words are separated by white space."""
        words = as_text(text).split()[:: self._step]
        return np.array([self.eos, *(self._ids.get(word, self.unknown) for word in words), self.eos], np.int32)


def _first_characters(ids: dict[str, int], token: str) -> list[int]:
    char_ids = [ids.get(char, UNKNOWN) for char in token[:MAX_CHARS]]
    return char_ids + [0] * (MAX_CHARS - len(char_ids))


def _two_cases(token: str) -> int:
    return 1 + _matches("first", token)


def _four_cases(token: str) -> int:
    has_capital = _matches("capital", token)
    if has_capital and len(token) > 1 and not _matches("small", token):
        return 3
    return 2 if _matches("first", token) else 4 if has_capital else 1


_PATTERNS = {"first": r"\p{Lu}.*", "capital": r".*\p{Lu}.*", "small": r".*\p{Ll}.*"}


def _matches(pattern: str, token: str) -> bool:
    """Return whether a token holds such a letter. One with a line feed never does, as a dot does not match it."""
    return _compiled(pattern).fullmatch(token.encode()) is not None


@functools.cache
def _compiled(pattern: str) -> Any:
    import re2  # classifiers and language models do without

    return re2.compile(_PATTERNS[pattern].encode())
