"""What ``--dataset`` may be: a corpus's name, a file of the user's own, or a folder with such files."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import files
from dense_lstm_zoo import task as tasks
from dense_lstm_zoo.data.own_files import format_of

# The names of a folder's files, without their endings.
_PARTS = {"train_file": ("train",), "dev_file": ("dev", "valid", "validation"), "test_file": ("test",)}


def resolve(
    dataset: str | None, given: Mapping[str, Any], task: str, *, split: str = "train"
) -> tuple[str, dict[str, Any]]:
    """Return the corpus's name, which is the format for a user's own files, and the options of its files.

    Args:
        dataset: What was given as ``--dataset``; None goes by the name of the file.
        given: The options of files and their columns; those that are None are left out.
        task: The task that the corpus is for.
        split: Which file a single one is, ``train``, ``dev`` or ``test``.

    Raises:
        ValueError: No dataset, or one that is none of the three; the message says what each looks like.
        FileNotFoundError: A file that does not exist, with near matches.
    """
    options = {name: value for name, value in given.items() if value is not None}
    file = f"{split}_file"
    if dataset is None:
        if file not in options:
            raise ValueError(f"Say what to {'train on' if split == 'train' else 'score'}: {forms(task)}")
        return format_of(files.existing_file(options[file]), tasks.find(task).own_files, "--dataset"), options
    if dataset in zoo.list_corpora():
        return dataset, options
    path = Path(dataset).expanduser()
    if path.is_dir():
        found = _in_folder(path, task)
        return format_of(found["train_file"], tasks.find(task).own_files, "--dataset"), {**found, **options}
    if path.is_file():
        if file in options:
            raise ValueError(
                f"--dataset {dataset} and --{split}-file {options[file]} both name the texts; give one of them, or "
                f"with --{split}-file the format as --dataset."
            )
        with_format = f"--{split}-file {dataset} --dataset"
        return format_of(path, tasks.find(task).own_files, with_format), {file: dataset, **options}
    if path.suffix or len(path.parts) > 1:
        try:
            files.existing_file(path)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{error} Give {forms(task)}") from None
    near = difflib.get_close_matches(dataset, zoo.list_corpora(task), n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(f"Unknown corpus {dataset!r}.{hint} Give {forms(task)}")


def files_of(dataset: str, task: str, split: str) -> dict[str, str]:
    """Return the file of a split that ``--dataset`` names, itself or in a folder; nothing if it names a corpus.

    Raises:
        ValueError: As for ``resolve``; or a folder without that split.
    """
    if dataset in zoo.list_corpora():
        return {}
    _, found = resolve(dataset, {}, task, split=split)
    if f"{split}_file" not in found:
        raise ValueError(f"{dataset} holds no {split} texts; name a file with --{split}-file.")
    return {f"{split}_file": found[f"{split}_file"]}


def forms(task: str) -> str:
    """Return a sentence that names the forms of ``--dataset``."""
    endings = tasks.find(task).own_files
    names = ", ".join(name for name in zoo.list_corpora(task) if name not in endings)
    example = {"text": "mine.txt", "columns": "mine.conll"}.get(endings[0], f"mine.{endings[0]}")
    ending = Path(example).suffix
    return (
        f"--dataset with a corpus's name ({names}), with a file of your own ({', '.join(endings)}; such as {example}), "
        f"or with a folder that holds train{ending} and, if you have them, dev{ending} and test{ending}."
    )


def _in_folder(folder: Path, task: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for option, stems in _PARTS.items():
        own = [path for path in sorted(folder.iterdir()) if path.name.partition(".")[0] in stems and path.is_file()]
        if len(own) > 1:
            raise ValueError(
                f"{folder} holds {' and '.join(path.name for path in own)}; name one of them with "
                f"--{option.replace('_', '-')}."
            )
        if own:
            found[option] = str(own[0])
    if "train_file" not in found:
        held = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise ValueError(f"{folder} holds no training texts (it holds {held}). Give {forms(task)}")
    return found
