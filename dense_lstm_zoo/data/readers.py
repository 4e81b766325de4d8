"""Readers of the published corpora's own formats: ``(name, paths) -> Corpus``, checked against the published counts."""

from __future__ import annotations

import re
from pathlib import Path

from dense_lstm_zoo.data.corpus import Corpus, Split


def read_demo(name: str, paths: list[Path]) -> Corpus:
    """Return the generated demo corpus; it has no files."""
    from dense_lstm_zoo.data.demo import LABEL_NAMES, demo_splits

    return Corpus(name, tuple(LABEL_NAMES), **{part: Split(*split) for part, split in demo_splits().items()})


_TREC_LINES = (5452, 500)
_TREC_LINE = re.compile(r"((?:ABBR|DESC|ENTY|HUM|LOC|NUM):[a-z]+)\s+(\S.*)")


def read_trec(name: str, paths: list[Path], *, fine: bool) -> Corpus:
    """Read TREC (Li & Roth 2002): questions with 6 coarse labels ("NUM") or 50 fine ones ("NUM:dist")."""
    train, test = (_trec_examples(path, count, fine) for path, count in zip(paths, _TREC_LINES, strict=True))
    label_names = tuple(sorted({label for _, label in train}))
    expected = 50 if fine else 6
    if len(label_names) != expected:
        raise ValueError(f"{paths[0]}: found {len(label_names)} labels, expected {expected}: {', '.join(label_names)}.")
    for number, (_, label) in enumerate(test, start=1):
        if label not in label_names:
            raise ValueError(f"{paths[1]}, line {number}: the label {label!r} does not occur in {paths[0].name}.")
    splits = [Split([t for t, _ in part], [label_names.index(label) for _, label in part]) for part in (train, test)]
    return Corpus(name, label_names, train=splits[0], dev=None, test=splits[1])


def _trec_examples(path: Path, expected: int, fine: bool) -> list[tuple[str, str]]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # as published, with one byte that is not ASCII; copies are often converted
        text = content.decode("latin-1")
    examples = []
    # Not splitlines(), which also breaks at control characters that Latin-1 bytes can become.
    for number, line in enumerate(text.rstrip().split("\n") if text.strip() else [], start=1):
        match = _TREC_LINE.fullmatch(line.strip())
        if not match:
            shown = line.strip()[:80]
            raise ValueError(f"{path}, line {number}: expected 'COARSE:fine question', as in TREC; found {shown!r}.")
        examples.append((match[2], match[1] if fine else match[1].partition(":")[0]))
    if len(examples) != expected:
        raise ValueError(f"{path}: found {len(examples):,} lines, expected {expected:,}; the file is not TREC's own.")
    return examples
