"""The tokeniser: the rules of an export, run by RE2 on UTF-8, with the same tokens as the TensorFlow graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dense_lstm_zoo_runtime import rules as known
from dense_lstm_zoo_runtime.unicode import normalize

_Step = Callable[[Any], Any]
_MOST_RULES = 200
_LONGEST_REPLACEMENT = 32  # characters
_GROWTH = 16, 1024  # a text may become so many times as long as in normal form, and so many bytes beside
_TEMPLATE = re.compile(r"(?:[^\\]|\\([1-9]))*")


class Tokenizer:
    """Split raw text into tokens.

    Rules are applied as bytes: RE2's replacement templates corrupt strings that are not ASCII. A rule is not searched
    for in texts without the characters that it needs. Text that is ASCII, at least after the first rules, goes through
    Python's regular expressions, which replace ten times as fast. There both engines give the same.

    The two copies of RE2 know different versions of Unicode: next to an ideograph that is new in 15.1 (CJK extension
    I), a clitic or the period of an initial is not split as in the graph.

    Args:
        rules: (pattern, replacement), in RE2's syntax.

    Raises:
        ValueError: Too many rules, a pattern that RE2 refuses, or a replacement that is too long or names a group that
            the pattern lacks. Also on a call, if the rules make a text many times as long.

    Example:
        >>> Tokenizer(known.VERSIONS[2])("It doesn't cost $5, Mr. Smith: www.zoo.org/?a=b.")
        ['It', 'does', "n't", 'cost', '$', '5', ',', 'Mr.', 'Smith', ':', 'www.zoo.org/?a=b', '.']
    """

    def __init__(self, rules: Sequence[tuple[str, str]]) -> None:
        rules = tuple((pattern, replacement) for pattern, replacement in rules)
        is_known = rules in known.VERSIONS.values()
        if len(rules) > _MOST_RULES:
            raise ValueError(f"the tokeniser has {len(rules):,} rules; at most {_MOST_RULES} are accepted")
        first = known.NUM_CLEANING if is_known else len(rules)
        # Compiled when a text first needs them: most texts are ASCII.
        self._rules, self._first = rules, first
        self._cleaning: list[_Step] | None = None
        self._splitting: list[_Step] | None = None
        self._ascii = _AsciiRules(rules[first:]) if is_known else None
        if not is_known:
            self._cleaning = [_re2_step(*rule) for rule in rules]

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        if self._ascii and text.isascii():
            return self._ascii(text).split()
        if self._cleaning is None:
            self._cleaning = [_re2_step(*rule) for rule in self._rules[: self._first]]
        data = normalize(text).encode()
        most = _GROWTH[0] * len(data) + _GROWTH[1]
        for step in self._cleaning:
            data = _bounded(step(data), most)
        if self._ascii and data.isascii():
            return self._ascii(data.decode()).split()
        if self._splitting is None:
            self._splitting = [_re2_step(*rule) for rule in self._rules[self._first :]]
        for step in self._splitting:
            data = _bounded(step(data), most)
        return [token.decode("utf-8", "replace") for token in data.split()]


def _bounded(data: bytes, most: int) -> bytes:
    """Return a text that rules have changed, unless they have made it too long."""
    if len(data) > most:
        raise ValueError(
            f"The export's tokeniser makes a text more than {_GROWTH[0]} times as long. Export the model again."
        )
    return data


def _re2_step(pattern: str, replacement: str) -> _Step:
    """Return a function from UTF-8 to UTF-8 that applies a rule."""
    import re2  # most texts do without

    try:
        compiled = re2.compile(pattern.encode())
    except re2.error as error:
        raise ValueError(f"RE2 refuses the tokeniser's pattern {pattern!r:.80}: {error}") from error
    groups = [int(digit) for digit in re.findall(r"\\([0-9])", replacement)]
    if not _TEMPLATE.fullmatch(replacement) or len(replacement) > _LONGEST_REPLACEMENT:
        raise ValueError(f"the tokeniser's replacement {replacement!r:.80} is too long or has an unknown escape")
    if max(groups, default=0) > compiled.groups:
        raise ValueError(f"the tokeniser's replacement {replacement!r:.80} names a group that {pattern!r:.80} lacks")
    template = replacement.encode()
    needs = tuple(need.encode() for need in known.NEEDS.get(pattern, ()))

    def step(data: bytes) -> bytes:
        return compiled.sub(template, data) if not needs or any(need in data for need in needs) else data

    return step


class _AsciiRules:
    """The known rules after the cleaning ones, on ASCII text."""

    def __init__(self, rules: Sequence[tuple[str, str]]) -> None:
        self._spaces = re.compile(r"[\s\x00-\x1f\x7f]+")
        # Only from the start of a word: from each of its letters, a word without a period would take quadratic time.
        self._before_period = re.compile(r"(?<![a-zA-Z])[a-zA-Z]+(?=\.)")
        # Private-use characters stand in the text for a while: patterns must not become bytes.
        self._rules = [
            (
                known.NEEDS[pattern],
                known.WORDS_BEFORE_PERIOD.get(pattern),
                re.compile(_python_pattern(pattern), re.ASCII).sub,
                replacement,
            )
            for pattern, replacement in rules
        ]

    def __call__(self, text: str) -> str:
        if not text.isprintable() or "  " in text:
            text = self._spaces.sub(" ", text)
        letters: set[str] | None = None
        for needs, words, substitute, replacement in self._rules:
            for need in needs:
                if need in text:
                    break
            else:
                continue
            if words is not None:
                if letters is None:  # no rule before the last one with words adds letters before a period
                    letters = {letter.lower() for letter in self._before_period.findall(text)}
                if words.isdisjoint(letters):
                    continue
            text = substitute(replacement, text)
        return text


def _python_pattern(pattern: str) -> str:
    r"""Return a known pattern in Python's syntax, for ASCII: the same, but for the letters ``\pL``."""
    return re.sub(r"(\[\^?)\\pL", r"\1a-zA-Z", pattern).replace(r"\pL", "[a-zA-Z]")
