"""Readers of the published corpora's own formats: ``(name, paths) -> Corpus``, checked against the published counts."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.classification.tables import read_frames, read_table, read_table_corpus
from dense_lstm_zoo.classification.trees import Phrase, parse_tree
from dense_lstm_zoo.corpora import imdb, imdb_archive
from dense_lstm_zoo.data.sources import NLTK, About, Source, SourceFile, demo, members


def read_demo(name: str, paths: list[Path]) -> Corpus:
    """Return the generated demo corpus, which has no files."""
    from dense_lstm_zoo.classification.demo import LABEL_NAMES, demo_splits

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
    """Read a corpus with one file per label and one sentence per line: MR, Subj (Pang & Lee), CR (Hu & Liu 2004).

    The corpus has neither a dev nor a test set and is scored by cross-validation. CR's copies split "n't" into "n 't",
    as no other text does. It is joined again. CR's four blank lines are part of the published count and stay, as empty
    texts.
    """
    texts: list[str] = []
    labels: list[int] = []
    for label, (path, expected) in enumerate(zip(paths, lines, strict=True)):
        sentences = [re.sub(r"\bn 't\b", "n't", line) for line in _lines(path, expected)]
        texts += sentences
        labels += [label] * len(sentences)
    return Corpus(name, label_names, train=Split(texts, labels), dev=None, test=None)


SST_LABELS = ("very negative", "negative", "neutral", "positive", "very positive")
_SST_TREES = (8544, 1101, 2210)


def read_sst(name: str, paths: list[Path], *, binary: bool, phrases: bool) -> Corpus:
    """Read the Stanford Sentiment Treebank's trees (Socher et al. 2013).

    Args:
        name: The corpus' name.
        paths: the train, dev and test files, one bracketed tree per line.
        binary: Two labels instead of five. Neutral sentences and phrases are left out (SST-2).
        phrases: Train on every labelled phrase, each text once. Dev and test are always whole sentences.
    """
    splits = {}
    for part, path, expected in zip(("train", "dev", "test"), paths, _SST_TREES, strict=True):
        phrase_labels: dict[str, int] = {}
        sentences: list[Phrase] = []
        for number, line in enumerate(_lines(path, expected), start=1):
            try:
                tree = parse_tree(line, range(len(SST_LABELS)))
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            sentences.append(tree[0])
            if phrases and part == "train":
                phrase_labels.update((text, label) for text, label in reversed(tree) if text not in phrase_labels)
        examples = list(phrase_labels.items()) if phrase_labels else sentences
        if binary:
            examples = [(text, int(label > 2)) for text, label in examples if label != 2]
        splits[part] = Split([text for text, _ in examples], [label for _, label in examples])
    return Corpus(name, ("negative", "positive") if binary else SST_LABELS, **splits)


def read_imdb(name: str, paths: list[Path]) -> Corpus:
    """Read IMDB's labelled film reviews (Maas et al. 2011): up to 2,800 tokens each, read in full.

    As published, 124 test reviews also stand in train. There is no dev set. ``train`` holds out a tenth.

    Args:
        name: The corpus's name.
        paths: ``train.tsv.gz`` and ``test.tsv.gz``. What follows is for language models.

    Raises:
        ValueError: A file is damaged, or does not have 12,500 reviews of each label.
    """
    parts = {}
    for part, path in zip(("train", "test"), paths, strict=False):
        reviews = list(imdb.labelled_reviews(path))
        parts[part] = Split([text for _, text in reviews], [imdb.LABELS.index(label) for label, _ in reviews])
    return Corpus(name, _POLARITY, dev=None, **parts)


def _lines(path: Path, expected: int) -> list[str]:
    """Return a file's lines, stripped of white space, or raise ``ValueError`` if their number is not ``expected``."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:  # the published encoding. Copies are often converted
        text = content.decode("latin-1")
    # splitlines() would also break at control characters, which Latin-1 bytes can decode to.
    lines = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    if len(lines) != expected:
        raise ValueError(f"{path}: found {len(lines):,} lines, expected {expected:,}; it is not the published file.")
    return lines


_TREC_HOME = "https://cogcomp.seas.upenn.edu/Data/QA/QC/"
_TREC_FILES = (
    SourceFile(
        "train_5500.label",
        _TREC_HOME + "train_5500.label",
        "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
        335_858,
    ),
    SourceFile(
        "TREC_10.label",
        _TREC_HOME + "TREC_10.label",
        "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
        23_354,
    ),
)
_SST_FILES = members(
    "https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip",
    "trees",
    train=("train.txt", "e2f3f41b0b1e6d4dddc0effe3bfc2d27ed8928079aa9a03d652311614fc5feb7", 2_160_058),
    dev=("dev.txt", "0e9336aed6e4730e19f58d00a77b3f0297efdb755f7b5e598c98a05e3f97ea40", 280_825),
    test=("test.txt", "6e54806dee95cf80cd918e7dfb3f6770f6df24bf826f289a4d1f709e1c8f6761", 559_614),
)
_MR_FILES = members(
    NLTK + "sentence_polarity.zip",
    "sentence_polarity",
    negative=("rt-polarity.neg", "614274f81185a850e5a88d533d4679f916d6f62e9af6f0b4ec71fb94bf466ea5", 612_441),
    positive=("rt-polarity.pos", "c2dc6b2f55bcf725725372916287cc3f8f9b19402edaa9167de5287cb3ade421", 626_334),
)
_SUBJ_FILES = members(
    NLTK + "subjectivity.zip",
    "subjectivity",
    objective=("plot.tok.gt9.5000", "5ddc9b44dc60d64d651347fcd7bdd489b0c70661e3f768215c16eea36f51204a", 669_456),
    subjective=("quote.tok.gt9.5000", "cc5d85345896d3fa44ca6b826b108418030977f958a004eb97860043b3b37624", 630_943),
)
_CR_FILES = members(
    "https://dl.fbaipublicfiles.com/senteval/senteval_data/datasmall_NB_ACL12.zip",
    "data/customerr",
    negative=("custrev.neg", "8f29d7fa39f9862764b71f36b193f0674e0056287ffc5bf170edf6db42cc8f83", 141_095),
    positive=("custrev.pos", "15eeb0b9424043bb3755488e2d8ed97bdaeba464a5c230f213bad075125d2192", 225_449),
)


_FILM_REVIEWS = "reviews for research (Pang and Lee)"
_SENTIMENT = (
    "the sentiment of single English sentences about films",
    "other domains without a test of your own, decisions about people, texts of several sentences, irony",
)
_ABOUT_SST = About(
    f"{_FILM_REVIEWS}, Stanford Sentiment Treebank",
    *_SENTIMENT,
    "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment treebank, EMNLP",
)
_ABOUT_MR = About(
    _FILM_REVIEWS,
    *_SENTIMENT,
    "Pang and Lee 2005, Seeing stars: exploiting class relationships for sentiment categorization, ACL",
)
_ABOUT_SUBJ = About(
    _FILM_REVIEWS,
    "telling opinions on films from their plots",
    "subjectivity in other kinds of text",
    "Pang and Lee 2004, A sentimental education, ACL",
)
_ABOUT_CR = About(
    "reviews of products for research (Hu and Liu)",
    "the sentiment of sentences about products",
    "films",
    "Hu and Liu 2004, Mining and summarizing customer reviews, KDD",
)


def _trec(fine: bool) -> Source:
    about = About(
        "questions for research (Li and Roth)",
        f"the kind of answer that a short English question asks for{', in 50 classes' if fine else ''}",
        "texts that are not questions: there is no label for them",
        "Li and Roth 2002, Learning question classifiers, COLING",
    )
    return Source("trec", _TREC_FILES, functools.partial(read_trec, fine=fine), about)


def _sst(binary: bool, phrases: bool) -> Source:
    return Source("sst/trees", _SST_FILES, functools.partial(read_sst, binary=binary, phrases=phrases), _ABOUT_SST)


def _two_files(
    folder: str, files: tuple[SourceFile, ...], labels: tuple[str, str], lines: tuple[int, int], about: About
) -> Source:
    return Source(folder, files, functools.partial(read_two_files, label_names=labels, lines=lines), about)


_POLARITY = ("negative", "positive")
SOURCES = {
    "demo": demo(read_demo),
    "trec": _trec(fine=False),
    "trec_fine": _trec(fine=True),
    "sst1": _sst(binary=False, phrases=False),
    "sst1_phrases": _sst(binary=False, phrases=True),
    "sst2": _sst(binary=True, phrases=False),
    "sst2_phrases": _sst(binary=True, phrases=True),
    "mr": _two_files("mr", _MR_FILES, _POLARITY, (5331, 5331), _ABOUT_MR),
    "subj": _two_files("subj", _SUBJ_FILES, ("objective", "subjective"), (5000, 5000), _ABOUT_SUBJ),
    "cr": _two_files("cr", _CR_FILES, _POLARITY, (1368, 2407), _ABOUT_CR),
    "imdb": imdb_archive.source(
        read_imdb,
        good_for="the sentiment of whole English reviews of films",
        not_for="other domains without a test of your own, decisions about people, irony, reviews that take no side",
    ),
}
read_files, read_file, read_tables = read_table_corpus, read_table, read_frames
