"""Files of a user's own, by format: up to three as a corpus, or one alone to score a model on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.data.encodings import UTF_16
from dense_lstm_zoo.data.endings import ENDINGS, ending
from dense_lstm_zoo.data.text_file import unpacked
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime.paths import user_path

# Formats that a file has only if its name says so: text that is not in them could not be told from text that is broken.
_BY_NAME = ("auto", "pos", "mrg")
# Formats that no reader supports, but that would be accepted as lines of text.
_BEGINNING = 1 << 14  # bytes
_WAYS_OUT = {
    "json": ' pandas.read_json("old.json").to_json("new.jsonl", orient="records", lines=True) writes JSON lines.',
    **dict.fromkeys(("xls", "ods"), " Save it as .xlsx or .csv."),
}
_FOREIGN = ("json", "xls", "ods", "feather", "arrow", "pickle", "pkl", "xml", "html", "pdf", "docx")


def format_of(
    path: str | Path,
    accepted: Sequence[str],
    option: str | None,
    form: str | None = None,
    *,
    otherwise: str | None = None,
) -> str:
    """Return the format of a file: the one asked for, else by its name, else a default.

    Args:
        path: The file. Only its name matters. ".txt" does not decide, as many tables have it.
        accepted: The formats that can be read, or written.
        option: The option that sets the format, such as "--dataset", or None if the name alone does.
        form: The format that the user asked for.
        otherwise: The format if the name does not decide. Not needed if only one can be meant.

    Raises:
        ValueError: A format that is not accepted, or a name that does not decide.

    Example:
        >>> format_of("reviews.csv.gz", ["csv", "tsv"], "--dataset")
        'csv'
    """
    if form is not None:
        return str(checks.one_of(option or "format", form, accepted))
    suffix = ending(path)
    form = ENDINGS.get(suffix)
    if form is not None and form in accepted:
        return form
    choice = f"Accepted: {', '.join(accepted)}."
    advice = "rename it" if option is None else f"give its format with {option}"
    if form not in (None, "text") or suffix in _FOREIGN:
        way_out = _WAYS_OUT.get(suffix, "") if option != "--format" else ""
        raise ValueError(f"{path} is {form or suffix} by its name. If it is not, {advice}. {choice}{way_out}")
    usual = [form for form in accepted if form not in _BY_NAME]
    only = usual[0] if len(usual) == 1 else None
    if (default := only or otherwise) not in accepted:
        advice = "rename it" if option is None else f"give it with {option}"
        raise ValueError(f"{path}: its name does not show its format; {advice}. {choice}")
    return str(default)


def input_format(
    path: str | Path,
    accepted: Sequence[str],
    option: str | None,
    form: str | None = None,
    *,
    otherwise: str | None = None,
) -> str:
    """Return the format of a file to read: that of ``format_of``, but tsv for a table that Excel wrote as text.

    Excel's "Unicode Text" is UTF-16 with tabs, and its name ends in ``.txt``.
    """
    may_be_table = form is None and "tsv" in accepted and ENDINGS.get(ending(path), "text") == "text"
    if may_be_table and ending(path) not in _FOREIGN and _is_excel_text(user_path(path)):
        return "tsv"
    return format_of(path, accepted, option, form, otherwise=otherwise)


def _is_excel_text(path: Path) -> bool:
    if not path.is_file():  # a pipe can be read only once
        return False
    with path.open("rb") as file:
        beginning = unpacked(file).read(_BEGINNING)
    if not beginning.startswith(UTF_16):
        return False
    return "\t" in beginning[: len(beginning) // 2 * 2].decode("utf-16", "ignore").partition("\n")[0]


def formats() -> list[str]:
    """Return the formats of a user's own files, of all tasks."""
    return [form for task in tasks.every() for form in task.own_files]


def read_corpus(form: str, **options: Any) -> Any:
    """Read a corpus from one to three files. See ``load_corpus``.

    Args:
        form: One of ``formats()``.
        options: Arguments of the format's reader, the ``read_files`` of its task.

    Raises:
        ValueError: An unknown option, no training file, or an error in a file.
    """
    reader = _task_of(form).read_files
    _check_options(reader, form, options)
    if options.get("train_file") is None:
        raise ValueError(f"Corpus {form!r} reads your own files; give them with train_file=, dev_file=, test_file=.")
    return reader(form, **options)


def read_split(form: str, path: str | Path, **options: Any) -> tuple[Any, tuple[str, ...]]:
    """Read one file to score a model on. Unlike for training, a single label or sentence is enough.

    Args:
        form: One of ``formats()``.
        path: The file.
        options: Arguments of the format's reader, the ``read_file`` of its task.

    Returns:
        The input of a bundle's ``evaluate``, and for labelled texts the label names.

    Raises:
        FileNotFoundError: No such file. The message names similar ones beside it.
        ValueError: An unknown option, or an error in the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "praise.csv")
        ...     _ = path.write_text("text,label\\nA fine film .,good\\n")
        ...     read_split("csv", path)
        (<Split: 1 texts>, ('good',))
    """
    reader = _task_of(form).read_file
    _check_options(reader, form, options)
    return reader(form, path, **options)


def _task_of(form: str) -> Task:
    return next(task for task in tasks.every() if form in task.own_files)


def _check_options(reader: Callable[..., Any], form: str, options: dict[str, Any]) -> None:
    accepted = set(inspect.signature(reader).parameters) - {"form", "kind", "name", "path"}
    for option in options:
        if option not in accepted:
            raise checks.unknown_name(f"option of corpus {form!r}:", option, accepted)
