"""What a dataset may be: a corpus's name, a file of the user's own, or a folder with such files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.corpora.names import list_corpora
from dense_lstm_zoo.corpora.own_files import formats, input_format
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime.paths import user_path

# The names of a folder's files, without their endings.
_PARTS = {"train_file": ("train",), "dev_file": ("dev", "valid", "validation"), "test_file": ("test",)}


def as_option(name: str) -> str:
    """Return how the command line spells an argument.

    Example:
        >>> as_option("train_file"), as_argument("train_file")
        ('--train-file', 'train_file=')
    """
    return f"--{name.replace('_', '-')}"


def as_argument(name: str) -> str:
    """Return how Python spells an argument."""
    return f"{name}="


def is_frame(dataset: Any) -> bool:
    """Return whether a dataset is a frame of pandas, or a table that has ``to_pandas``. None of them is imported."""
    kind = type(dataset)
    return callable(getattr(kind, "to_pandas", None)) or (kind.__name__ == "DataFrame" and hasattr(kind, "iloc"))


def resolve(
    dataset: str | None,
    given: Mapping[str, Any],
    task: str | None,
    *,
    split: str = "train",
    spelt: Callable[[str], str] = as_option,
) -> tuple[str, dict[str, Any]]:
    """Return the corpus's name, which is the format for a user's own files, and the options of its files.

    Args:
        dataset: A name, file or folder; None goes by the name of the file.
        given: The options of files and their columns; those that are None are left out.
        task: The task that the corpus is for; None is any.
        split: Which file a single one is, ``train``, ``dev`` or ``test``.
        spelt: How messages spell an argument: ``as_option`` or ``as_argument``.

    Raises:
        ValueError: No dataset, or one that is none of the three; the message says what each looks like.
        FileNotFoundError: A file that does not exist, with near matches.
    """
    options = {name: value for name, value in given.items() if value is not None}
    file, endings = f"{split}_file", _endings(task)
    if dataset is None:
        if file not in options:
            raise ValueError(f"Say what to {'train on' if split == 'train' else 'score'}: {forms(task, spelt)}")
        return input_format(files.existing_file(options[file]), endings, spelt("dataset")), options
    if dataset in list_corpora():
        return dataset, options
    path = user_path(dataset)
    if path.is_dir():
        found = _in_folder(path, task, spelt)
        return input_format(found["train_file"], endings, spelt("dataset")), {**found, **options}
    if path.exists():  # a file, or a pipe
        named, whole = spelt(file), spelt("dataset")
        if file in options:
            raise ValueError(
                f"{whole} {dataset} and {named} {options[file]} both name the texts; give one of them, or "
                f"with {named} the format as {whole}."
            )
        with_format = f"{named} {dataset} {whole}" if spelt is as_option else 'load_corpus("csv", train_file=...)'
        return input_format(path, endings, with_format), {file: dataset, **options}
    if path.suffix or len(path.parts) > 1:
        try:
            files.existing_file(path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{error} Give {forms(task, spelt)}") from None
    near = difflib.get_close_matches(dataset, list_corpora(task), n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(f"Unknown corpus {dataset!r}.{hint} Give {forms(task, spelt)}")


def files_of(dataset: str, task: str, split: str) -> dict[str, str]:
    """Return the file of a split that ``--dataset`` names, itself or in a folder; nothing if it names a corpus.

    Raises:
        ValueError: As for ``resolve``; or a folder without that split.
    """
    if dataset in list_corpora():
        return {}
    _, found = resolve(dataset, {}, task, split=split)
    if f"{split}_file" not in found:
        raise ValueError(f"{dataset} holds no {split} texts; name a file with --{split}-file.")
    return {f"{split}_file": found[f"{split}_file"]}


def forms(task: str | None, spelt: Callable[[str], str] = as_option) -> str:
    """Return a sentence that names the forms of a dataset."""
    endings = _endings(task)
    names = ", ".join(name for name in list_corpora(task) if name not in endings)
    example = {"text": "mine.txt", "columns": "mine.conll"}.get(endings[0], f"mine.{endings[0]}")
    ending = Path(example).suffix
    lead = f"{spelt('dataset')} with " if spelt is as_option else ""
    return (
        f"{lead}a corpus's name ({names}), a file of your own ({', '.join(endings)}; such as {example}), "
        f"or a folder that holds train{ending} and, if you have them, dev{ending} and test{ending}."
    )


def _endings(task: str | None) -> Sequence[str]:
    return formats() if task is None else tasks.find(task).own_files


def _in_folder(folder: Path, task: str | None, spelt: Callable[[str], str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part, stems in _PARTS.items():
        own = [path for path in sorted(folder.iterdir()) if path.name.partition(".")[0] in stems and path.is_file()]
        if len(own) > 1:
            held = " and ".join(path.name for path in own)
            raise ValueError(f"{folder} holds {held}; name one of them with {spelt(part)}.")
        if own:
            found[part] = str(own[0])
    if "train_file" not in found:
        held = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise ValueError(f"{folder} holds no training texts (it holds {held}). Give {forms(task, spelt)}")
    return found
