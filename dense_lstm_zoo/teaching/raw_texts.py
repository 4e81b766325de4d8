"""Texts to label, from a file or from memory, without repeated ones and without copies of texts that are scored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.text_hashes import text_hash
from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import records, soft_labels
from dense_lstm_zoo.data.frames import check_frame, column, is_frame
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo_runtime.rules import NEWEST, VERSIONS


@dataclass
class RawTexts:
    """Texts, with the label of each that has one of its own, and how many were left out for which reason."""

    texts: list[str] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def append(self, text: str, label: str | None = None) -> None:
        """Add a text."""
        self.texts.append(text)
        self.labels.append(label)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count a text that is not there."""
        if count:
            self.left_out[reason] = self.left_out.get(reason, 0) + count


def read_texts(
    source: Any,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> RawTexts:
    """Read texts to label. Blank ones are left out.

    Args:
        source: A file with a text per line, a table (csv, tsv, jsonl, Parquet, xlsx, by its name), a list of strings,
            or a table in memory. A table may have labels for some of its texts.
        text_column: The column of the texts in a table. None means "text".
        label_column: The column of the labels. None means "label", if there is one.
        encoding: The encoding of a file. None means UTF-8.
        delimiter: What separates the columns of csv and tsv. None finds it out.

    Raises:
        FileNotFoundError: No such file.
        TypeError: Anything else, or an item that is not a string.
        ValueError: No texts, or as for ``records.read_records``.
    """
    raw = RawTexts()
    for text, label in _pairs(source, text_column, label_column, encoding, delimiter):
        if text.strip():
            raw.append(text.strip(), label)
        else:
            raw.leave_out("empty")
    if not raw.texts:
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else "The list of texts"
        raise ValueError(f"{name} holds no text to label.")
    return raw


def _pairs(
    source: Any, text_column: str | None, label_column: str | None, encoding: str | None, delimiter: str | None
) -> Iterator[tuple[str, str | None]]:
    """Yield each text with its label, or None."""
    if is_frame(source):
        frame = check_frame("texts", source)
        texts, name = column("the frame", frame, text_column or "text").tolist(), label_column or "label"
        own_labels = frame[name].tolist() if name in frame.columns or label_column else [None] * len(texts)
        for number, (text, label) in enumerate(zip(texts, own_labels, strict=True)):
            if not isinstance(text, str):
                raise TypeError(checks.not_text("texts", number, text))
            yield text, _label(label)
    elif isinstance(source, str | os.PathLike):
        yield from _of_file(files.existing_file(source), text_column, label_column, encoding, delimiter)
    else:
        checks.sequence(source)
        for chunk in checks.text_chunks(source, 1024):
            yield from ((text, None) for text in chunk)


def _of_file(
    path: Path, text_column: str | None, label_column: str | None, encoding: str | None, delimiter: str | None
) -> Iterator[tuple[str, str | None]]:
    form = input_format(path, records.FORMATS, "--input-format", otherwise="text")
    records.check_options(form, text_column or label_column, encoding, delimiter)
    options = records.Options(form, text_column, encoding=encoding, delimiter=delimiter)
    with pipes.stream(path) as stream:
        source = records.read_records(stream, str(path), options)
        for record in source.records:
            row = dict(zip(record.names, record.cells, strict=True)) if form != "text" else {}
            if label_column is not None and label_column not in row:
                raise checks.unknown_name(f"column of {record.location}:", label_column, map(str, row))
            yield str(record.text), _label(row.get(label_column or "label"))


def _label(value: Any) -> str | None:
    if isinstance(value, list | tuple | set) or getattr(value, "ndim", 0) > 0:
        raise soft_labels.of_several(f"A text with the labels {value!r:.80}")
    is_missing = value is None or value != value
    return None if is_missing or not str(value).strip() else str(value).strip()


def words_of(tokens: Sequence[str]) -> list[str]:
    """Return the tokens that hold a letter or a digit, by which near copies of a text are known. All if none does."""
    return [token for token in tokens if any(map(str.isalnum, token))] or list(tokens)


def keys_of(texts: Iterable[str]) -> Iterator[int]:
    """Yield a number for each text, the same for texts with the same words.

    Example:
        >>> len(set(keys_of(["A fine film !", "a fine  film", "A fine film"])))
        1
    """
    from dense_lstm_zoo_runtime.text import Tokenizer

    tokenize = Tokenizer(VERSIONS[NEWEST])  # without TensorFlow, which a teacher's machine may lack
    for text in texts:
        yield text_hash(words_of(tokenize(text.lower())))


def without_copies(raw: RawTexts, scored: Mapping[str, Iterable[str]], keys: set[int] | None = None) -> RawTexts:
    """Return texts without those that repeat an earlier one, or a text that is scored, in the same words.

    Args:
        raw: The texts.
        scored: The texts of dev and test, by the name of the part.
        keys: Keys of texts that are repeated as well. Those of the result are added.
    """
    part_of = {key: part for part, texts in scored.items() for key in keys_of(texts)}
    result, keys = RawTexts(left_out=dict(raw.left_out)), set() if keys is None else keys
    for text, label, key in zip(raw.texts, raw.labels, keys_of(raw.texts), strict=True):
        if key in part_of:
            result.leave_out(f"in {part_of[key]}")
        elif key in keys:
            result.leave_out("repeated")
        else:
            keys.add(key)
            result.append(text, label)
    return result
