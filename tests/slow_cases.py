"""Cases of which ``make test`` runs some and ``make test-slow`` the others."""

import itertools
from collections.abc import Container, Iterable
from typing import Any

import pytest


def slow_but(quick: Container[Any], values: Iterable[Any]) -> list[Any]:
    """The values as parameters of a test, marked as slow unless they are among ``quick``."""
    return [pytest.param(value, marks=[] if value in quick else pytest.mark.slow) for value in values]


def slow_pairs_but(quick: Container[tuple[Any, Any]], firsts: Iterable[Any], seconds: Iterable[Any]) -> list[Any]:
    """Every pair of the two kinds of values as parameters of a test, marked as slow unless it is among ``quick``."""
    return [
        pytest.param(*pair, marks=[] if pair in quick else pytest.mark.slow)
        for pair in itertools.product(firsts, seconds)
    ]
