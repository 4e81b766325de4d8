"""The input files: found by pattern, and looked into before any work."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apache_beam.io.filesystems import FileSystems

from dense_lstm_zoo import checks
from dense_lstm_zoo.batch import streams
from dense_lstm_zoo.batch.layout import READABLE, BrokenInputError, Layout
from dense_lstm_zoo.batch.streams import Lines, open_file
from dense_lstm_zoo.batch.tables import decoded, table_rows
from dense_lstm_zoo.corpora.own_files import ENDINGS, ending, format_of
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.binary import check_is_text
from dense_lstm_zoo.data.cells import unmark_formula
from dense_lstm_zoo.data.delimited import DELIMITERS, Dialect, find_dialect, is_quoted, plain_names
from dense_lstm_zoo.data.encodings import UTF_16, utf_16
from dense_lstm_zoo.data.text_file import check_line_ends
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo.storage import pipes
from dense_lstm_zoo_runtime.paths import user_path

_FIRST_LINES = 100  # of each file of JSON lines, without blank ones


@dataclass(frozen=True)
class InputOptions:
    """The user's options for the input. See ``dense-lstm-zoo predict-batch --help``."""

    patterns: Sequence[str]
    form: str | None = None
    text_column: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    takes_tokens: bool = False
    max_chars: int = Layout.max_chars
    has_prefix: bool = False


def find_layout(options: InputOptions) -> tuple[Layout, list[str]]:
    """Return what the files hold, and the names of the columns or keys of the first rows.

    With a prefix of the user's, the keys of JSON lines are those of the first file alone.

    Raises:
        FileNotFoundError: A pattern that matches no file.
        ValueError: A pipe, a device or UTF-16. Or texts that carriage returns alone end, files of several formats,
            with other columns than the first, or without the texts' column.
        BrokenInputError: A file that cannot be read.
    """
    files = tuple(matching_files(options.patterns))
    for path in files:
        if Path(path).exists():
            pipes.regular(Path(path), "workers read their own parts of it")
    stamps = streams.stamps(files)
    form = _form(files, options.form)
    if options.text_column is not None and form == "text":
        raise ValueError("--text-column is for csv, tsv, jsonl and parquet; the input is text.")
    if options.encoding is not None and form == "parquet":
        raise ValueError("--encoding is for text, csv, tsv and jsonl; Parquet files say theirs.")
    delimiter = records.check_delimiter(form, options.delimiter)
    checks.integer("--max-chars", options.max_chars)
    layout = Layout(
        form=form,
        files=files,
        stamps=stamps,
        text_column=options.text_column or "text",
        codec=_codec(options.encoding),
        takes_tokens=options.takes_tokens,
        max_chars=options.max_chars,
    )
    if form == "parquet":
        return _parquet(layout)
    with ThreadPoolExecutor(16) as pool:  # on a remote file system, most of the time is waiting
        heads = list(pool.map(lambda path: _head(path, layout, delimiter), files))
    if form in ("csv", "tsv"):
        _check_names(layout, [names for names, _ in heads])
        names = heads[0][0]
        dialects = tuple(dialect for _, dialect in heads)
        return Layout(**{**vars(layout), "names": tuple(names), "dialects": dialects}), names
    if form == "text":
        return layout, []
    first, keys = _keys(layout)
    shares_tokens = layout.takes_tokens and layout.text_column == "tokens" and not keys.get("tokens")
    return dataclasses.replace(layout, shares_tokens=shares_tokens), list(first if options.has_prefix else keys)


def matching_files(patterns: Sequence[str]) -> list[str]:
    """Return the files that match any of the patterns, sorted, each once whatever names and links lead to it.

    The name of a file on this machine is not a pattern.

    Raises:
        FileNotFoundError: A pattern that matches no file.
    """
    patterns = [pattern if "://" in pattern else str(user_path(pattern)) for pattern in patterns]
    files = {pattern for pattern in patterns if Path(pattern).exists() and not Path(pattern).is_dir()}
    paths = {file.removeprefix("./") for file in files}
    patterns = [pattern for pattern in patterns if pattern not in files]
    # Beam does not look into the current folder.
    patterns = [pattern if "/" in pattern else f"./{pattern}" for pattern in patterns]
    for pattern, result in zip(patterns, FileSystems.match(patterns), strict=True):
        if not result.metadata_list:
            raise FileNotFoundError(
                f"No file matches {pattern!r}. Check the folder, and put a pattern in quotation marks: 'data/*.jsonl'."
            )
        paths |= {entry.path.removeprefix("./") for entry in result.metadata_list}
    names: dict[object, str] = {}
    for path in sorted(paths, key=_rank):
        names.setdefault(_identity(path), path)
    return sorted(names.values())


def _rank(path: str) -> tuple[bool, bool, str]:
    """Return what decides which name of a file is taken: one that says its format, and no link if both do."""
    return ENDINGS.get(ending(path)) in (None, "text"), Path(path).is_symlink(), path


def _identity(path: str) -> object:
    """Return what names of one file have in common."""
    if "://" in path:
        return path
    status = Path(path).stat()
    return status.st_dev, status.st_ino


def _form(files: Sequence[str], form: str | None) -> str:
    if form is not None:
        return str(checks.one_of("--input-format", form, READABLE))
    forms: dict[str, str] = {}
    for path in files:
        forms.setdefault(format_of(path, READABLE, "--input-format", otherwise="text"), path)
    if len(forms) > 1:
        examples = ", ".join(f"{path} ({form})" for form, path in forms.items())
        raise ValueError(f"The input has files of several formats: {examples}. Predict each format by itself.")
    return next(iter(forms))


def _codec(encoding: str | None) -> str:
    codec = checks.encoding("utf-8" if encoding is None else encoding)
    if "\n".encode(codec) not in (b"\n", b"\xef\xbb\xbf\n"):
        raise ValueError(
            f"--encoding {encoding} is not supported: lines cannot be found in its bytes. Convert the files to UTF-8."
        )
    return codec


def _head(path: str, layout: Layout, delimiter: str | None) -> tuple[list[str], Dialect]:
    """Return a table's column names and how it is written, or nothing for other files."""
    with open_file(path) as stream:
        lines = Lines(stream, path)
        first = next(lines, b"")
        beginning = first + stream.read(1 << 16)
        check_is_text(beginning, path)
        if first.startswith(UTF_16) or first[:200].count(b"\0") > len(first[:200]) // 4 or utf_16(beginning):
            raise ValueError(f"{path} is UTF-16 or binary by its first bytes. Convert it to UTF-8, or leave it out.")
        if layout.form == "text":
            check_line_ends(first.decode("latin-1"), path)
        if not layout.is_table:
            return [], Dialect()
    with open_file(path) as stream:
        text = decoded(Lines(stream, path, returns=True), 1, layout)
        dialect, _ = find_dialect(text, path, layout.form, [layout.text_column], delimiter)
    with open_file(path) as stream:
        text = itertools.islice(decoded(Lines(stream, path, returns=True), 1, layout), dialect.skip, None)
        dialect = dataclasses.replace(dialect, quoted=is_quoted(itertools.islice(text, 1), dialect.delimiter))
    with open_file(path) as stream:
        rows = table_rows(Lines(stream, path, returns=True), 1, layout, dialect)
        header = next(itertools.islice(rows, dialect.skip, None), None)
    if header is None or header[0] != 1 + dialect.skip:
        raise ValueError(f"{path} is empty or begins with a blank row; a table begins with a row of column names.")
    if dialect.delimiter not in ("\t" if layout.form == "tsv" else ",", delimiter):
        say(f"{path}: its columns are separated by {DELIMITERS.get(dialect.delimiter, repr(dialect.delimiter))}.")
    return plain_names(list(map(unmark_formula, header[1])), [layout.text_column]), dialect


def _repeated_name(path: str, names: Sequence[str]) -> ValueError:
    return ValueError(f"{path} has two columns of the same name: {', '.join(names):.200}. Rename one.")


def _check_names(layout: Layout, heads: Sequence[list[str]]) -> None:
    names = heads[0]
    for path, columns in zip(layout.files, heads, strict=True):
        if layout.text_column not in columns:
            raise _missing_column(path, layout.text_column, columns)
        if len(set(columns)) < len(columns):
            raise _repeated_name(path, columns)
        if columns != names:
            raise ValueError(
                f"{path} has the columns {', '.join(columns):.200}; {layout.files[0]} has {', '.join(names):.200}. All "
                "files of one output must have the same columns in the same order."
            )


def _missing_column(path: str, column: str, names: Sequence[str]) -> ValueError:
    return ValueError(
        f"{checks.unknown_name(f'column for {path}:', column, names)} Give the texts' column with --text-column."
    )


def _keys(layout: Layout) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return the keys on the first lines of the first file, and of all files, each with whether a string is under it.

    Raises:
        ValueError: Those of the first file lack the texts' key.
    """
    with ThreadPoolExecutor(16) as pool:
        first, *others = pool.map(lambda path: _keys_of(path, layout), layout.files)
    if first and layout.text_column not in first:
        raise _missing_column(layout.files[0], layout.text_column, list(first))
    keys = dict(first)
    for more in others:
        for key, has_string in more.items():
            keys[key] = keys.get(key, False) or has_string
    return first, keys


def _keys_of(path: str, layout: Layout) -> dict[str, bool]:
    keys: dict[str, bool] = {}
    for row in _first_objects(path, layout):
        for key, value in row.items():
            keys[key] = keys.get(key, False) or isinstance(value, str)
    return keys


def _first_objects(path: str, layout: Layout) -> Iterator[dict[str, Any]]:
    with open_file(path) as stream:
        for line in itertools.islice(filter(bytes.strip, Lines(stream, path)), _FIRST_LINES):
            try:
                row = json.loads(line.decode(layout.codec))
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row


def _parquet(layout: Layout) -> tuple[Layout, list[str]]:
    import pyarrow
    from pyarrow import parquet

    def schema_of(path: str) -> pyarrow.Schema:
        with open_file(path) as stream:
            try:
                return parquet.read_schema(stream).remove_metadata()
            except pyarrow.ArrowInvalid as error:
                raise BrokenInputError(f"{path} is not a whole Parquet file: {error}.") from error

    with ThreadPoolExecutor(16) as pool:
        schemas = list(pool.map(schema_of, layout.files))
    for path, schema in zip(layout.files, schemas, strict=True):
        if layout.text_column not in schema.names:
            raise _missing_column(path, layout.text_column, schema.names)
        if len(set(schema.names)) < len(schema.names):
            raise _repeated_name(path, schema.names)
        if not schema.equals(schemas[0]):
            raise ValueError(f"{path} has other columns, or columns of other types, than {layout.files[0]}.")
    kind = schemas[0].field(layout.text_column).type
    value = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    if not (pyarrow.types.is_string(value) or pyarrow.types.is_large_string(value)):
        raise ValueError(f"{layout.files[0]}: the column {layout.text_column!r} holds {kind}, not strings.")
    names = list(schemas[0].names)
    return Layout(**{**vars(layout), "names": tuple(names), "schema": schemas[0].serialize().to_pybytes()}), names
