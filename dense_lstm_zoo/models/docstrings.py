"""Docstrings' texts on arguments: help texts and descriptions come from them, so that nothing is written twice."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

_ENTRY = re.compile(r"( {4,8})(\*{0,2}\w+): (.*)")
# A sentence ends at a full stop before a capital letter or the end, but not behind an abbreviation.
_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!al)\.(?=\s+[A-Z`]|$)")


@functools.cache
def argument_texts(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return what a docstring's ``Args`` say of each argument, on one line each and without marks of code.

    Example:
        >>> argument_texts(argument_texts)
        {'function': 'A function or class with a docstring as this project writes them.'}

    Args:
        function: A function or class with a docstring as this project writes them.
    """
    texts_by_name: dict[str, list[str]] = {}
    lines = (inspect.getdoc(function) or "").split("\n")
    current: list[str] | None = None
    inside = False
    for line in lines:
        if line and not line.startswith(" "):
            inside, current = line == "Args:", None
        elif inside and (entry := _ENTRY.fullmatch(line)) and len(entry[1]) == 4:
            current = texts_by_name.setdefault(entry[2].lstrip("*"), [])
            current.append(entry[3])
        elif inside and current is not None and line.strip():
            current.append(line.strip())
    return {name: plain(" ".join(texts)) for name, texts in texts_by_name.items()}


def plain(text: str) -> str:
    """Return text without the marks of code in docstrings.

    Example:
        >>> plain("``mean`` (as in the paper) or ``max``")
        'mean (as in the paper) or max'
    """
    return text.replace("``", "")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without its full stop.

    Example:
        >>> first_sentence("Width of one direction. 0 also leaves it out, as in Godin et al. 2017.")
        'Width of one direction. 0 also leaves it out, as in Godin et al. 2017'
        >>> first_sentence("Length of a vector (e). None means 200.")
        'Length of a vector (e)'
    """
    end = _SENTENCE.search(text)
    return text[: end.start()] if end else text.rstrip(".")
