"""Readers of the published corpora's own formats: ``(name, paths) -> Corpus``, checked against the published counts."""

from __future__ import annotations

import re
from pathlib import Path

from dense_lstm_zoo.classification.corpus import Corpus, Split
from dense_lstm_zoo.classification.trees import Phrase, parse_tree
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.tagging.corpus import TaggingCorpus


def read_demo(name: str, paths: list[Path]) -> Corpus:
    """Return the generated demo corpus; it has no files."""
    from dense_lstm_zoo.classification.demo import LABEL_NAMES, demo_splits

    return Corpus(name, tuple(LABEL_NAMES), **{part: Split(*split) for part, split in demo_splits().items()})


def read_demo_language(name: str, paths: list[Path]) -> LanguageCorpus:
    """Return the generated demo corpus for language models; it has no files."""
    from dense_lstm_zoo.language.demo import demo_language_splits

    return LanguageCorpus(name, **demo_language_splits())


def read_demo_tagging(name: str, paths: list[Path]) -> TaggingCorpus:
    """Return the generated demo corpus for taggers; it has no files."""
    from dense_lstm_zoo.tagging.demo import demo_tagging_splits

    return TaggingCorpus(name, **demo_tagging_splits())


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
    examples = []
    for number, line in enumerate(_lines(path, expected), start=1):
        match = _TREC_LINE.fullmatch(line)
        if not match:
            raise ValueError(
                f"{path}, line {number}: expected 'COARSE:fine question', as in TREC; found {line[:80]!r}."
            )
        examples.append((match[2], match[1] if fine else match[1].partition(":")[0]))
    return examples


def read_two_files(name: str, paths: list[Path], *, label_names: tuple[str, str], lines: tuple[int, int]) -> Corpus:
    """Read a corpus with one file a label and one sentence a line: MR, Subj (Pang & Lee), CR (Hu & Liu 2004).

    It has neither dev nor test set: it is scored by cross-validation. CR's copies split "n't" into "n 't", which no
    other text does: it is joined again. CR's four blank lines count as published and stay, as empty texts.
    """
    texts: list[str] = []
    labels: list[int] = []
    for label, (path, expected) in enumerate(zip(paths, lines, strict=True)):
        found = [re.sub(r"\bn 't\b", "n't", line) for line in _lines(path, expected)]
        texts += found
        labels += [label] * len(found)
    return Corpus(name, label_names, train=Split(texts, labels), dev=None, test=None)


SST_LABELS = ("very negative", "negative", "neutral", "positive", "very positive")
_SST_TREES = (8544, 1101, 2210)


def read_sst(name: str, paths: list[Path], *, binary: bool, phrases: bool) -> Corpus:
    """Read the Stanford Sentiment Treebank's trees (Socher et al. 2013).

    Args:
        name: The corpus' name.
        paths: train, dev and test, a bracketed tree a line.
        binary: Two labels in place of five: neutral sentences and phrases are left out (SST-2).
        phrases: Train on every labelled phrase, each text once; dev and test are whole sentences always.
    """
    splits = {}
    for part, path, expected in zip(("train", "dev", "test"), paths, _SST_TREES, strict=True):
        found: dict[str, int] = {}
        sentences: list[Phrase] = []
        for number, line in enumerate(_lines(path, expected), start=1):
            try:
                tree = parse_tree(line, range(len(SST_LABELS)))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            sentences.append(tree[0])
            if phrases and part == "train":
                found.update((text, label) for text, label in reversed(tree) if text not in found)
        examples = list(found.items()) if found else sentences
        if binary:
            examples = [(text, int(label > 2)) for text, label in examples if label != 2]
        splits[part] = Split([text for text, _ in examples], [label for _, label in examples])
    return Corpus(name, ("negative", "positive") if binary else SST_LABELS, **splits)


def _lines(path: Path, expected: int) -> list[str]:
    """Return a file's lines without surrounding white space; ``ValueError`` where they are not ``expected`` many."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # as published; copies are often converted
        text = content.decode("latin-1")
    # Not splitlines(), which also breaks at control characters that Latin-1 bytes can become.
    lines = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    if len(lines) != expected:
        raise ValueError(f"{path}: found {len(lines):,} lines, expected {expected:,}; it is not the published file.")
    return lines
