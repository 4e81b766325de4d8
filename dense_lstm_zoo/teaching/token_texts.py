"""Sentences to tag, as lists of tokens: from lines, tables, JSON lines, files in columns, or from memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.column_layout import is_document
from dense_lstm_zoo.data.frames import check_frame, column, is_frame
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.teaching.raw_texts import RawTexts
from dense_lstm_zoo_runtime.rules import VERSIONS

if TYPE_CHECKING:
    import pandas as pd

# A file, a table in memory, or sentences: strings, or lists of words.
SentencesToLabel: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | Iterable[str | Sequence[str]]"


def read_sentences(
    source: SentencesToLabel,
    rules: int,
    *,
    text_column: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> RawTexts:
    """Read sentences to tag. Those without tokens are left out, and those that columns cannot hold.

    Args:
        source: A file with a sentence per line, in columns or JSON lines of words (``tokens``), or a table; a list of
            strings or of lists of words, or a table in memory with such a column.
        rules: The version of the rules that split a string into tokens.
        text_column: The column of the texts in a table. None means "text", or in JSON lines also "tokens".
        encoding: The encoding of a file. None means UTF-8.
        delimiter: What separates the columns of csv and tsv. None finds it out.

    Raises:
        FileNotFoundError: No such file.
        TypeError: An item that is neither a string nor a list of strings.
        ValueError: No sentences, or as for ``records.read_records``.
    """
    from dense_lstm_zoo_runtime.text import Tokenizer

    tokenize, raw = Tokenizer(VERSIONS[rules]), RawTexts()
    for sentence in _sentences(source, text_column, encoding, delimiter):
        tokens = tokenize(sentence) if isinstance(sentence, str) else list(sentence)
        add(raw, tokens)
    if not raw.texts:
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else "The list of sentences"
        raise ValueError(f"{name} holds no sentence to label.")
    return raw


def add(raw: RawTexts, tokens: list[str], tags: Sequence[str] | None = None) -> None:
    """Add a sentence with its tags, or None, unless it is empty or a file in columns cannot hold it."""
    if not tokens:
        raw.leave_out("empty")
    elif not all(len(token.split()) == 1 and token == token.strip() for token in tokens):
        raw.leave_out("with white space in a token")
    elif any("\ufeff" in token for token in tokens):
        raw.leave_out("with a byte order mark in a token")
    elif any(map(is_document, tokens)):
        raw.leave_out("with a mark between documents, such as -DOCSTART-")
    else:
        raw.append(tokens, tags)  # type: ignore[arg-type]  # of tokens


def _sentences(
    source: SentencesToLabel, text_column: str | None, encoding: str | None, delimiter: str | None
) -> Iterator[Any]:
    """Yield sentences, each a string or a list of tokens."""
    if is_frame(source):
        cells = column("the frame", check_frame("texts", source), text_column or "text").tolist()
        yield from (_checked(number, cell) for number, cell in enumerate(cells))
    elif isinstance(source, str | os.PathLike):
        yield from _of_file(files.existing_file(source), text_column, encoding, delimiter)
    else:
        checks.sequence(source)
        yield from (_checked(number, item) for number, item in enumerate(source))


def _of_file(path: Path, text_column: str | None, encoding: str | None, delimiter: str | None) -> Iterator[Any]:
    form = input_format(path, records.TAGGER_FORMATS, None, otherwise="text")
    records.check_options(form, text_column, encoding, delimiter)
    options = records.Options(form, text_column, encoding=encoding, delimiter=delimiter, tokens=True)
    with pipes.stream(path) as stream:
        for record in records.read_records(stream, str(path), options).records:
            yield record.text


def _checked(number: int, item: Any) -> str | list[str]:
    """Return a string, or a list of strings of any sequence of them."""
    items = item.tolist() if hasattr(item, "tolist") else item
    if isinstance(items, str):
        return items
    if not isinstance(items, list | tuple) or not all(isinstance(token, str) for token in items):
        raise TypeError(
            checks.not_text("texts", number, item).replace("hold strings", "be strings or lists of strings")
        )
    return list(items)
