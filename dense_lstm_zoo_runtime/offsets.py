"""Places of tokens in the text that they were split from, in characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from dense_lstm_zoo_runtime.unicode import normalize

Place = tuple[int, int]  # the first character and the one after the last
# What the tokeniser's first rules make of characters, and what they take for a space beside white space.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\ue000\ue001\ue002\ue003", "\ufffd"),
        **dict.fromkeys("“”„‟«»", '"'),
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("—―", "--"),
        **dict.fromkeys("–‐‑", "-"),
    }
)
_SPACES = "\u200b\u2060\ufeff"


def places(text: str, tokens: Sequence[str]) -> list[Place]:
    """Return where in a raw text its tokens are.

    The tokeniser changes characters (a ligature becomes letters, typographic quotes become plain) and puts spaces
    between tokens, but keeps their order. A character that becomes several tokens is the place of each of them. Tokens
    of other rules, which cannot be followed so, are searched for one after the other.

    Args:
        text: The text as it was given.
        tokens: Its tokens by ``Tokenizer``.

    Example:
        >>> text = "Dr.  Zoë\u2019s  ﬁsh 😀"
        >>> [text[start:end] for start, end in places(text, ["Dr.", "Zoë", "'s", "fish", "😀"])]
        ['Dr.', 'Zoë', '’s', 'ﬁsh', '😀']
    """
    characters, origins = _plain(text)
    has_other_rules = "".join(tokens) != characters
    token_places, at = [], 0
    for token in tokens:
        if has_other_rules:
            at = max(characters.find(token, at), at)
        end = min(at + len(token), len(origins))
        # An empty place at the end stands for a token for which no character is left.
        token_places.append((origins[at][0], origins[end - 1][1]) if at < end else (len(text), len(text)))
        at = end
    return token_places


def places_between_spaces(tokens: Sequence[str]) -> list[Place]:
    """Return where tokens are in the text that joins them by single spaces.

    Example:
        >>> places_between_spaces(["New", "York"])
        [(0, 3), (4, 8)]
    """
    token_places, at = [], 0
    for token in tokens:
        token_places.append((at, at + len(token)))
        at += len(token) + 1
    return token_places


def _plain(text: str) -> tuple[str, list[Place]]:
    """Return the characters of a text as tokens have them, without spaces, and the place of each in the text."""
    characters: list[str] = []
    origins: list[Place] = []
    if text.isascii():
        for i, character in enumerate(text):
            if not _is_space(character):
                characters.append(character)
                origins.append((i, i + 1))
    else:
        for start, end in _clusters(text):
            plain = [c for c in normalize(text[start:end]).translate(_PLAIN) if not _is_space(c)]
            characters += plain
            while start < end - 1 and _is_space(text[start]):  # a mark after a space stands alone
                start += 1
            origins += [(start, end)] * len(plain)
    return "".join(characters), origins


def _is_space(character: str) -> bool:
    return character.isspace() or character in _SPACES or unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp")


def _clusters(text: str) -> Iterator[Place]:
    """Yield the shortest parts of a text that its normal form can be made of, one by one.

    A mark belongs to the letter before it, since the two may become one character.
    """
    start = 0
    for i in range(1, len(text)):
        if text[i].isascii() or _is_apart(text[start:i], text[i]):
            yield start, i
            start = i
    if text:
        yield start, len(text)


def _is_apart(before: str, character: str) -> bool:
    """Return whether a character's normal form does not depend on what is before it."""
    own = normalize(character)
    return unicodedata.combining(own[0]) == 0 and normalize(before + character) == normalize(before) + own
