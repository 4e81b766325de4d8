"""Write predictions: each as a line of text, a row of a table or a JSON object, or as columns with tags."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from dense_lstm_zoo.cli import written_columns
from dense_lstm_zoo.data.cells import csv_line, escape_controls, escape_json, mark_formula
from dense_lstm_zoo.data.records import Record, Source
from dense_lstm_zoo.storage import json_files

FORMATS = ("text", "csv", "jsonl", "json")
SPAN_FORMATS = ("spacy", "brat")
TAGGER_FORMATS = ("text", "columns", "jsonl", "json", *SPAN_FORMATS)


@dataclass(frozen=True)
class Shapes:
    """The forms of one prediction, by format.

    Args:
        columns: The names of what ``row`` returns.
        line: Returns the strings that a line of text joins with tabs.
        row: Returns the cells. Numbers are strings with their digits.
        fields: Returns the keys that a JSON object gains.
        shared: Names of those keys that the input may already hold, with the same value.
        tags: The tags of a tagger.
    """

    columns: list[str]
    line: Callable[[Any], list[str]]
    row: Callable[[Any], list[str]]
    fields: Callable[[Any], dict[str, Any]]
    shared: frozenset[str] = frozenset()
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class Options:
    """The form of the output.

    Args:
        form: One of ``FORMATS`` or ``TAGGER_FORMATS``, of which ``SPAN_FORMATS`` hold spans alone.
        prefix: The beginning of new columns' names. None means no prefix, or "predicted_" if the input has such
            columns already.
        raw: Whether to leave formulas in csv and control characters in text unescaped.
        separator: columns: the separator of the input's columns. None means spaces and tabs.
        conllu: columns: whether to write CoNLL-U.
    """

    form: str
    prefix: str | None = None
    raw: bool = False
    separator: str | None = None
    conllu: bool = False


def write(target: IO[str], options: Options, source: Source, predict: Callable[..., Any], shapes: Shapes) -> None:
    """Write the predictions for a source's texts one by one, each with the row its text came in.

    Lines of columns without a token, such as ``-DOCSTART-``, are a text only where they are written as they are.
    """
    records = (record for record in source.records if record.text or record.lines is None or options.form == "columns")
    beside, texts = itertools.tee(records)
    pairs = zip(beside, predict(record.text for record in texts), strict=True)
    writers = {
        "text": _write_text,
        "csv": _write_csv,
        "jsonl": _write_json_lines,
        "json": _write_json,
        "columns": _write_columns,
        "spacy": _write_spacy,
        "brat": _write_brat,
    }
    writers[options.form](target, options, source, pairs, shapes)


_Pairs = Iterable[tuple[Record, Any]]


def _write_text(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    escape = _as_is if options.raw else escape_controls
    for _, prediction in pairs:
        target.write("\t".join(map(escape, shapes.line(prediction))) + "\n")


def _write_csv(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    pairs = iter(pairs)
    first = next(pairs, None)
    names = source.names if first is None else first[0].names
    new = _new_names(names, shapes.columns, options, shapes, first)
    target.write(table_row([*names, *new], raw=options.raw))
    for record, prediction in itertools.chain([] if first is None else [first], pairs):
        cells = record.cells
        if record.names is not names and record.names != names:
            cells_by_name = dict(zip(record.names, record.cells, strict=True))
            if extra := [name for name in cells_by_name if name not in names]:
                raise ValueError(
                    f"{record.location} has the key {extra[0]!r}, which the first line lacks; csv has the columns of "
                    "the first line. Use --format jsonl."
                )
            cells = [cells_by_name.get(name, "") for name in names]
        target.write(table_row([*cells, *shapes.row(prediction)], raw=options.raw))


def table_row(cells: Iterable[Any], *, raw: bool = False) -> str:
    """Return a line of csv, with its end, from cells of any kind. Unless ``raw``, formulas are marked as text."""
    texts = map(_cell, cells)
    return csv_line(texts if raw else map(mark_formula, texts))


def _write_json_lines(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    for item in _json_objects(options, pairs, shapes):
        target.write(f"{item}\n")


def _write_json(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    """Write an array, whose items are written as they are ready."""
    between = "["
    for item in _json_objects(options, pairs, shapes):
        target.write(f"{between}\n{item}")
        between = ","
    target.write("\n]\n" if between == "," else "[]\n")


def _json_objects(options: Options, pairs: _Pairs, shapes: Shapes) -> Iterator[str]:
    """Yield an object for each prediction, on a line without its end."""
    new: dict[str, str] = {}
    for number, (record, prediction) in enumerate(pairs):
        fields = shapes.fields(prediction)
        if number == 0:
            names = _new_names(record.names, list(fields), options, shapes, (record, prediction))
            new = dict(zip(fields, names, strict=True))
        item = dict(zip(record.names, record.cells, strict=True))
        if len(item) < len(record.names):
            twice = next(name for name in record.names if record.names.count(name) > 1)
            raise ValueError(f"{record.location}: two columns are named {twice!r}, which JSON cannot hold. Use csv.")
        for name, value in fields.items():
            if new[name] in item and (name not in shapes.shared or item[new[name]] != value):
                raise _occupied_name(record, new[name])
            item[new[name]] = value
        yield escape_json(json_files.to_line(item))


def _write_columns(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    column = written_columns.conllu_column(shapes.tags)
    for record, sentence in pairs:
        if not options.conllu:
            rows = written_columns.with_tags(record, sentence, options.separator)
        elif sentence.tokens:
            rows = written_columns.as_conllu(record, sentence, column)
        else:
            continue  # CoNLL-U has no empty sentences
        target.write("".join(f"{row}\n" for row in [*rows, ""]))


def _write_spacy(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    for _, sentence in pairs:
        target.write(f"{escape_json(json_files.to_line(sentence.to_spacy()))}\n")


def _write_brat(target: IO[str], options: Options, source: Source, pairs: _Pairs, shapes: Shapes) -> None:
    """Write the spans of all texts, with their places in the file that has one text per line."""
    number, offset = 1, 0
    for record, sentence in pairs:
        offset += record.mark
        target.write(sentence.to_brat(number, offset))
        number, offset = number + len(sentence.spans), offset + len(sentence.text) + record.line_end


def _new_names(
    names: list[str], new: list[str], options: Options, shapes: Shapes, first: tuple[Record, Any] | None
) -> list[str]:
    """Return the names of the added columns. Except for shared names, the input must not have them."""
    prefix, shared = options.prefix, shapes.shared if options.prefix is None else frozenset[str]()
    occupied = set(names) - shared
    if prefix is None:
        prefix = "predicted_" if occupied.intersection(new) else ""
    columns = [name if name in shared else f"{prefix}{name}" for name in new]
    if both := occupied.intersection(columns):
        raise _occupied_name(first[0] if first else None, min(both))
    return columns


def _occupied_name(record: Record | None, name: str) -> ValueError:
    row = record.location if record else "The input"
    return ValueError(
        f"{row} already has {name!r}, the name of a new column. Choose a prefix for new names, such as --prefix new_."
    )


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _as_is(text: str, keep: str = "") -> str:
    return text
