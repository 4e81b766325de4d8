"""A user's own table as a corpus: csv, tsv, jsonl, Parquet or xlsx, one example per row, checked before use."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.classification import soft_rows
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.data import labels, soft_labels
from dense_lstm_zoo.data.frames import column
from dense_lstm_zoo.data.label_columns import (
    Label,
    LabelColumns,
    check_separated,
    common_kind,
    indices_of,
    kind_of,
    names_of,
    too_few_labels,
    unified,
)
from dense_lstm_zoo.data.tables import ReadingOptions, Table, read_tables
from dense_lstm_zoo.display.notes import say

if TYPE_CHECKING:
    import pandas as pd


def read_table_corpus(
    kind: str,
    *,
    train_file: str | Path,
    dev_file: str | Path | None = None,
    test_file: str | Path | None = None,
    text_column: str = "text",
    label_column: str = "label",
    label_separator: str | None = None,
    label_columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    skip_empty: bool = False,
) -> Corpus:
    """Read a corpus from one to three files of your own.

    Texts and labels are taken as written, "NA" too. Only the spaces around a label are removed, and in csv and tsv the
    apostrophe that keeps a spreadsheet from reading a cell as a formula (``'=1``, ``'-x``). Labels that are equal
    numbers, such as "5" and "5.0", are one label, and so are "True" and "true". Labels are sorted, by value if all of
    them are integers. Rows that repeat the column names are left out. A line on standard error counts them.

    Texts may have several labels: as a list in jsonl and Parquet, as a string with ``label_separator``, or as a column
    of 0 and 1 for each label. An empty list, or zeros in all columns, says that a text has none of the labels. An empty
    cell says nothing, and is an error.

    The training file may hold soft labels: columns ``probability_NAME``, one for each label, or in jsonl an object
    ``probabilities``. A row with probabilities needs no label, and a row with a label needs none. A column ``teacher``
    says who gave them. Those of a text add up to 1, unless the training file, another file or the options say that
    texts may have several labels.

    Args:
        kind: "csv", "tsv", "jsonl" (one object per line), "parquet" or "xlsx". All but jsonl have a row of column
            names. In csv and tsv it shows whether commas, semicolons, tabs or vertical bars separate them. Quoted cells
            may hold delimiters and line breaks. Where tabs or vertical bars separate cells, the file shows whether
            quotation marks are quoting. Of a workbook, the first sheet with the columns is read. In Parquet, integers
            that Hugging Face saved as a ``ClassLabel`` become the names of their classes.
        train_file: The file to train on. Its labels are the corpus's labels.
        dev_file: The file to choose the best epoch on, if there is one. It has the format that its name says, else
            ``kind``, as it has if the name of ``train_file`` says another format than ``kind``.
        test_file: The file to report the final score on, if there is one. Its format is as for ``dev_file``.
        text_column: The column, or key, of the text.
        label_column: The column, or key, of the label: a string, or in jsonl also a number or a boolean, or a list of
            them for texts with several labels.
        label_separator: What is between two labels of a text, such as ``|``, where a string holds several.
        label_columns: The columns that are labels themselves, in place of ``label_column``: 1 where a text has the
            label, else 0. They are the labels in this order.
        encoding: How csv, tsv and jsonl are encoded.
        delimiter: The character between two cells of csv and tsv. None finds it out.
        skip_empty: Whether rows without a text or a label are left out. A line on standard error counts them.

    Returns:
        A ``Corpus`` whose name is ``kind``.

    Raises:
        FileNotFoundError: If a file does not exist. The message names similar files in the same folder.
        ValueError: If a file cannot be decoded or parsed, lacks a column, has empty texts or labels, a label that is
            longer than 1,000 characters or cannot be encoded, fewer than two labels in training, or a label in dev or
            test that does not occur in training. The message names the file and the lines.

    Example:
        >>> import pathlib, tempfile
        >>> from dense_lstm_zoo.classification.tables import read_table_corpus
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "train.csv")
        ...     _ = path.write_text("text,label\\nA fine film .,good\\nA dull film .,bad\\n")
        ...     print(read_table_corpus("csv", train_file=path))
        csv: 2 train; 2 labels: bad, good
    """
    paths = {"train": train_file, "dev": dev_file, "test": test_file}
    columns = LabelColumns.of_options(label_column, label_separator, label_columns)
    tables = read_tables(kind, paths, ReadingOptions(text_column, columns, encoding, delimiter, skip_empty))
    train = tables["train"]
    are_several = common_kind({str(table.path): kind_of(table.labels.spellings, columns) for table in tables.values()})
    if train.soft is None:
        check_separated(train.labels.spellings, label_separator, str(train.path))
        names = unified(columns, train.labels.spellings, str(train.path))
    else:
        names = soft_rows.unified(train.soft, columns, train.labels.spellings, train.path.name)
    label_names = columns.label_names or labels.sorted_labels(names.values())
    if len(label_names) < 2:
        if are_several:
            raise too_few_labels(str(train.path), label_names)
        raise ValueError(
            f"{train.path}: every row has the label {label_names[0]!r}; training needs at least two labels."
        )

    def strangers(label: Label) -> list[str]:
        return [name for name in names_of(label) if labels.name_of(name, names) not in label_names]

    for table in (table for part, table in tables.items() if part != "train"):
        if places := table.labels.places(lambda label: bool(strangers(label))):
            rows = table.name_rows([table.lines[place] for place in places])
            label = strangers(table.labels[places[0]])[0]
            raise ValueError(
                f"{rows} with a label that does not occur in {train.path.name}; the first "
                f"is {label!r}.{labels.hint(label, label_names)} Labels of {train.path.name}: {', '.join(label_names)}."
            )
    splits = {part: _split(table, names, label_names, are_several) for part, table in tables.items()}
    remembered = {"text_column": text_column, **columns.options}
    return Corpus(kind, label_names, splits["train"], splits.get("dev"), splits.get("test"), columns=remembered)


def read_table(
    kind: str,
    path: str | Path,
    *,
    text_column: str = "text",
    label_column: str = "label",
    label_separator: str | None = None,
    label_columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    skip_empty: bool = False,
) -> tuple[Split, tuple[str, ...]]:
    """Read one of your own files to score a model on. A single label is enough.

    Args:
        kind: As in ``read_table_corpus``.
        path: The file.
        text_column: As in ``read_table_corpus``.
        label_column: As in ``read_table_corpus``.
        label_separator: As in ``read_table_corpus``.
        label_columns: As in ``read_table_corpus``.
        encoding: As in ``read_table_corpus``.
        delimiter: As in ``read_table_corpus``.
        skip_empty: As in ``read_table_corpus``.

    Returns:
        The texts, and the names of the labels that they have.

    Raises:
        FileNotFoundError: As for ``read_table_corpus``.
        ValueError: As for ``read_table_corpus``, except that one label is enough.
    """
    columns = LabelColumns.of_options(label_column, label_separator, label_columns)
    options = ReadingOptions(text_column, columns, encoding, delimiter, skip_empty)
    table = read_tables(kind, {"test": path}, options)["test"]
    names = unified(columns, table.labels.spellings, str(table.path))
    label_names = columns.label_names or labels.sorted_labels(names.values())
    are_several = common_kind({"test": kind_of(table.labels.spellings, columns)})
    return _split(table, names, label_names, are_several), label_names


def read_frames(
    frames: Mapping[str, pd.DataFrame],
    *,
    text_column: Hashable = "text",
    label_column: Hashable = "label",
    label_separator: str | None = None,
    label_columns: Sequence[Any] | None = None,
    skip_empty: bool = False,
) -> Corpus:
    """Return the corpus of pandas' frames by part. A dev or test frame without any label is left out.

    Args:
        frames: The frame of each part, of which there is one for ``train``.
        text_column: The column of the texts.
        label_column: The column of the labels.
        label_separator: As for ``Corpus.from_frame``.
        label_columns: As for ``Corpus.from_frame``.
        skip_empty: Whether rows without a text or a label are left out.

    Raises:
        ValueError: As for ``Corpus.from_frame``.
    """
    label_column = None if label_columns is not None and label_column == "label" else label_column
    first = label_column if label_columns is None else next(iter(label_columns), None)
    labelled = {part: frame for part, frame in frames.items() if not _has_no_labels(part, frame, first)}
    return Corpus.from_frame(
        frames["train"],
        text=text_column,
        label=label_column,
        label_separator=label_separator,
        label_columns=label_columns,
        dev=labelled.get("dev"),
        test=labelled.get("test"),
        skip_empty=skip_empty,
    )


def _has_no_labels(part: str, frame: pd.DataFrame, label_column: Hashable) -> bool:
    """Return whether a dev or test frame has only missing labels. A line on standard error says so."""
    if part == "train" or not len(frame) or not column(f"the {part} frame", frame, label_column).isna().all():
        return False
    say(f"the {part} frame has no labels, and is left out.")
    return True


def _split(table: Table, names: dict[str, str], label_names: tuple[str, ...], are_several: bool) -> Split:
    place_of: list[Any] = [
        indices_of(label, names, label_names) if label != "" else None for label in table.labels.spellings
    ]
    places_of_texts = map(place_of.__getitem__, table.labels.codes)
    are_lists = are_several or table.soft is not None
    places: Sequence[Any] = list(places_of_texts) if are_lists else array("i", places_of_texts)
    soft: dict[str, Any] = {}
    if table.soft is not None:

        def locate(place: int) -> str:
            return f"{table.path}, {table.unit} {table.lines[place]}"

        shares = soft_rows.with_labels(soft_rows.in_order(table.soft, label_names), places)
        shares = soft_labels.checked(shares, locate, is_several=are_several)
        soft = {"probabilities": shares, "teachers": table.soft.teachers, "several": are_several}
    if isinstance(table.texts, list):
        return Split(table.texts, list(places), table.lines.tolist(), table.unit, **soft)
    return Split(table.texts, places, table.lines, table.unit, **soft)
