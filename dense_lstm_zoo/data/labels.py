"""Labels as they are written in files and frames: which are one label, and which only look alike."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal
from typing import Any

from dense_lstm_zoo.display.notes import say

# Numbers as programs write them: with zeros before them, they are codes, such as 007.
_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*|(?=\.[0-9]))(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_EXACT = Context(prec=60)  # digits: more than a label has that is compared as a number
_UNSEEN = ("Cc", "Cf")  # Unicode's categories of characters without a picture


class CodedLabels:
    """The labels of many texts: a small number for each, and each spelling once. Texts may have several, in a tuple.

    Example:
        >>> labels = CodedLabels()
        >>> labels.append("good"), labels.append("bad"), labels.append("good")
        (None, None, None)
        >>> labels.spellings, labels.codes.tolist(), labels.places(lambda label: label == "good")
        (['good', 'bad'], [0, 1, 0], [0, 2])
    """

    def __init__(self) -> None:
        self._code_of: dict[Any, int] = {}
        self.codes = array("i")

    def append(self, label: str | tuple[str, ...]) -> None:
        """Add the label of the next text, or its labels."""
        self.codes.append(self._code_of.setdefault(label, len(self._code_of)))

    def __getitem__(self, place: int) -> str | tuple[str, ...]:
        return self.spellings[self.codes[place]]

    @property
    def spellings(self) -> list[Any]:
        """The spelling of each code, as it first occurs."""
        return list(self._code_of)

    def places(self, condition: Callable[[Any], bool]) -> list[int]:
        """Return the places of the texts, from 0, whose label meets a condition."""
        codes = {code for label, code in self._code_of.items() if condition(label)}
        return [place for place, code in enumerate(self.codes) if code in codes] if codes else []


def key(label: str) -> str:
    """Return the same string for labels that are one label: equal numbers, and true or false however written.

    Example:
        >>> [key(label) for label in ("5", "5.0", "+5", "05", "5 stars", "TRUE")]
        ['5', '5', '5', '05', '5 stars', 'true']
    """
    if len(label) <= 40 and _NUMBER.fullmatch(label):
        number = Decimal(label)
        return f"{number.normalize(_EXACT):f}" if number else "0"
    return label.lower() if label.lower() in ("true", "false") else label


def unify(labels: Iterable[str], location: str) -> dict[str, str]:
    """Return the name of each label's ``key``: of several spellings of one label, the shortest.

    Labels that were made one, and those that merely look alike, are named in a line on standard error.

    Args:
        labels: The labels of the training texts.
        location: Where they are, for the line.
    """
    spellings: dict[str, list[str]] = {}
    for label in sorted(set(labels), key=lambda label: (len(label), label)):
        spellings.setdefault(key(label), []).append(label)
    names = {key: same[0] for key, same in spellings.items()}
    joined = [f"{', '.join(map(ascii, same[1:]))} is {same[0]!a}" for same in spellings.values() if len(same) > 1]
    if joined:
        say(f"{location}: equal labels are one label: {'; '.join(joined[:5])}{'; ...' if len(joined) > 5 else ''}.")
    alike: dict[str, list[str]] = {}
    for name in names.values():
        alike.setdefault(_looks(name), []).append(name)
    groups = [" and ".join(map(ascii, same)) for same in alike.values() if len(same) > 1]
    if groups:
        say(
            f"{location}: labels that look alike are different labels: {'; '.join(groups[:5])}"
            f"{'; ...' if len(groups) > 5 else ''}. Write them alike if they mean the same."
        )
    return names


def name_of(label: str, names: Mapping[str, str]) -> str:
    """Return the name of a label among those that ``unify`` returned. A label that is none of them is its own name."""
    return names.get(key(label), label)


def hint(label: str, names: Iterable[str]) -> str:
    """Return a sentence for an unknown label that looks like a known one, else nothing."""
    same = next((name for name in names if _looks(name) == _looks(label)), None)
    return "" if same is None else f" It looks like {same!a}, but is written {label!a}."


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return sorted labels: by value if all are integers, else by name."""
    labels = set(labels)
    if all(re.fullmatch(r"[+-]?[0-9]+", label) for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))  # far below Python's limit of digits
    return tuple(sorted(labels))


def _looks(label: str) -> str:
    """Return what a label looks like, without case, spaces, accents' order, unseen characters and zeros in front."""
    visible = "".join(char for char in label if unicodedata.category(char) not in _UNSEEN)
    folded = " ".join(unicodedata.normalize("NFKC", visible).casefold().split())
    number = re.sub(r"^([+-]?)0+(?=[0-9])", r"\1", folded.replace(",", ".", 1))
    return key(number) if _NUMBER.fullmatch(number) else folded
