"""Unicode's normal form NFKC and its case folding NFKC_Casefold, of version 16, as the TensorFlow graph has them.

Python brings Unicode 14 to 15.1: what later versions added is in this file. One thing is left out: marks that are new
in 15 and 16 keep the order in which they were written, and do not compose.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import Literal

# Outlined capitals and digits (Unicode 16), Cyrillic modifier letters (15).
_CYRILLIC = "абвгдежзиклмопрстуфхцчшыэюꚉәіјөүӏабвгдежзиклопсуфхцчшъыґіѕџҫꙑұ"
_NEW_FORMS = dict(zip(range(0x1CCD6, 0x1CCFA), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", strict=True))
_NEW_FORMS |= dict(zip(range(0x1E030, 0x1E06E), _CYRILLIC, strict=True))
# Letters of Unicode 16 in lower case. The capitals of Garay are 32 before its small letters.
_NEW_CASES = {0x1C89: "\u1c8a", 0xA7CB: "\u0264", 0xA7CC: "\ua7cd", 0xA7DA: "\ua7db", 0xA7DC: "\u019b"}
_NEW_CASES |= {code: chr(code + 32) for code in range(0x10D50, 0x10D66)}
_NEW = re.compile("[\U0001ccd6-\U0001ccf9\U0001e030-\U0001e06d]")

# Default_Ignorable_Code_Point: characters without a width, which folding leaves out.
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# Characters without letters and digits, among them every one whose normal form begins with a mark.
_RUN = re.compile(r"(?:[^\w\s]|[\uff9e\uff9f]){64,}")


def normalize(text: str) -> str:
    """Return text in NFKC. A lone surrogate becomes ``?``.

    Example:
        >>> normalize("ﬁne ½"), normalize("\\ud800")
        ('fine 1⁄2', '?')
    """
    text = writable(text)
    return _normalized("NFKC", text.translate(_NEW_FORMS) if _NEW.search(text) else text)


def _normalized(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return text in a normal form. Long runs of marks are sorted before: ``unicodedata`` takes quadratic time."""
    return unicodedata.normalize(form, _RUN.sub(_sorted_marks, text))


def _sorted_marks(run: re.Match[str]) -> str:
    """Return the characters of a run decomposed, with the marks between two others in their canonical order."""
    characters = "".join(unicodedata.normalize("NFKD", character) for character in run[0])
    groups = itertools.groupby(characters, lambda character: unicodedata.combining(character) == 0)
    return "".join(itertools.chain.from_iterable(sorted(group, key=unicodedata.combining) for _, group in groups))


def writable(text: str) -> str:
    """Return text with ``?`` for each lone surrogate, which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def fold(token: str) -> str:
    """Return a token as it is looked up: in lower case, without characters that have no width.

    Example:
        >>> fold("Straße"), fold("a\\u200db")
        ('strasse', 'ab')
    """
    if token.isascii():
        return token.lower()
    return _normalized("NFC", "".join(map(_fold_character, token)))


@functools.lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if _IGNORED.fullmatch(character):
        return ""
    before, after = None, _NEW_CASES.get(ord(character), character)
    while after != before:
        before, after = after, unicodedata.normalize("NFKC", normalize(after).casefold())
    return after
