"""What the prose of results/README.md and of other pages says, and the rows of ``results/`` that say so.

``python -m benchmarks.tables --check`` fails where a sentence and its rows differ, and where a figure of the prose is
neither made from rows here nor quoted with its source.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from benchmarks.claims import (
    classification,
    depth,
    dynamic_interaction,
    fixed_vectors,
    frontier,
    language_models,
    pretraining,
    serving,
    speed,
    tagging,
)
from benchmarks.claims.rows import Claim, Quoted

SECTIONS = (
    classification.classification,
    fixed_vectors.fixed_vectors,
    depth.depth_against_width,
    dynamic_interaction.dynamic_interaction,
    language_models.language_models,
    tagging.tagging,
    serving.word_vectors,
    language_models.transfer,
    pretraining.pretraining,
    frontier.frontier,
    serving.serving,
    speed.speed,
    speed.kept_memory,
    speed.cpu_seconds,
    speed.long_texts,
)
# Decimals, percentages (but those of an interval), ratios and megabytes; other whole numbers are mostly settings.
_FIGURE = re.compile(r"\d[\d,]*\.\d+|(?!95 % interval)\b\d[\d,]*(?= %| MB\b| ms\b|x\b)")
_NOT_PROSE = re.compile(r"<!-- table: .*?<!-- end -->|!\[[^\]]*\]\([^)]*\)|^#.*?$", flags=re.DOTALL | re.MULTILINE)


def prose(page: str) -> str:
    """Return a page without its tables, pictures and headings, in one line."""
    return " ".join(_NOT_PROSE.sub("", page).replace("**", "").split())


def problems(page: str, sections: Sequence[Callable[[], Iterator[Claim | Quoted]]] | None = None) -> Iterator[str]:
    """Yield what is wrong with the sentences of a page, results/README.md without ``sections``; one line for each."""
    text = prose(page)
    claims = [claim for section in (SECTIONS if sections is None else sections) for claim in section()]
    for claim in claims:
        if claim.text not in text:
            yield f"{_kind(claim)} {claim.text!r}, and the page {_nearest(claim.text, text)}"
        elif isinstance(claim, Claim) and not claim.holds:
            yield f"the page says {claim.text!r}, and its rows do not"
    for figure in unexplained(text, (claim.text for claim in claims)):
        yield f"no row is named for a figure of {figure!r}: add a claim to benchmarks/claims"


def unexplained(text: str, claims: Iterable[str]) -> Iterator[str]:
    """Yield the surroundings of figures that stand in none of the claims.

    Example:
        >>> list(unexplained("It gains 1.5 points, and takes 20 % more.", ["gains 1.5 points"]))
        ['It gains 1.5 points, and takes 20 % more.']
    """
    covered = bytearray(len(text))
    for claim in claims:
        for found in re.finditer(re.escape(claim), text):
            covered[found.start() : found.end()] = b"\1" * (found.end() - found.start())
    for found in re.finditer(r"`[^`]*`", text):  # names and settings
        covered[found.start() : found.end()] = b"\1" * (found.end() - found.start())
    for figure in _FIGURE.finditer(text):
        if not covered[figure.start()]:
            yield text[max(0, figure.start() - 40) : figure.end() + 30]


def _kind(claim: Claim | Quoted) -> str:
    return "the rows say" if isinstance(claim, Claim) else f"{claim.source} is quoted with"


def _nearest(claim: str, text: str) -> str:
    """Return what a page says instead of a claim, as far as it can be told."""
    sentences = re.split(r"(?<=[.:;]) ", text)
    near = difflib.get_close_matches(claim, sentences, n=1, cutoff=0.4)
    return f"says {near[0]!r}" if near else "does not"
