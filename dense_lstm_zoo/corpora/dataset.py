"""Datasets, resolved from a corpus's name, a file of the user's own, or a folder with such files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.corpora.names import list_corpora
from dense_lstm_zoo.corpora.own_files import formats, input_format, read_corpus, read_split
from dense_lstm_zoo.data import soft_sentences, sources
from dense_lstm_zoo.data.frames import PART_NAMES
from dense_lstm_zoo.data.sources import Source
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime.paths import user_path

_OF_LABELS = {"label_column", "label_separator", "label_columns"}  # of a table


def fold_of(training: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return which fold of how many a model was trained without, or None. A stranger's config may hold anything.

    Args:
        training: The ``training`` of a bundle's config.

    Example:
        >>> fold_of({"fold": [1, 10]}), fold_of({"fold": "first"}), fold_of({})
        ((1, 10), None, None)
    """
    match training.get("fold"):
        case [int() as number, int() as count]:
            return number, count
    return None


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


@dataclass(frozen=True)
class Dataset:
    """A resolved dataset: a published corpus, or a user's own files, for a task.

    Args:
        name: The corpus's name, or the format of the files.
        task: The name of the task. None is the first one with such a corpus or format.
        options: The files and their columns, as ``load_corpus`` takes them. None for a published corpus.
        folds: The number of folds of a cross-validation, for the corpus of one of them.
        fold: The number of that fold, from 1.
    """

    name: str
    task: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    folds: int | None = None
    fold: int | None = None

    @property
    def files(self) -> list[Any]:
        """The user's own files, by their paths."""
        return [value for name, value in self.options.items() if name.endswith("_file")]

    @classmethod
    def resolve(
        cls,
        dataset: str | os.PathLike[str] | Dataset | None,
        options: Mapping[str, Any],
        task: str | None,
        *,
        split: str = "train",
        spelling: Callable[[str], str] = as_option,
    ) -> Dataset:
        """Return the dataset that a name, a file or a folder stands for. One that is resolved already is returned.

        Args:
            dataset: A name, file or folder. None goes by the name of the file.
            options: The files and their columns. Those that are None are left out.
            task: The task that the corpus is for. None is any.
            split: The part that a single file holds: ``train``, ``dev`` or ``test``.
            spelling: Returns the spelling of an argument in messages: ``as_option`` or ``as_argument``.

        Raises:
            ValueError: No dataset, or one that is none of the three. The message says what each looks like.
            FileNotFoundError: A file that does not exist, with near matches.
        """
        if isinstance(dataset, Dataset):
            return dataset
        options = {name: value for name, value in options.items() if value is not None}
        file, endings = f"{split}_file", _endings(task)
        if dataset is None:
            if file not in options:
                purpose = "train on" if split == "train" else "score"
                raise ValueError(f"Say what to {purpose}: {forms(task, spelling)}")
            form = input_format(files.existing_file(options[file]), endings, spelling("dataset"))
            return cls(form, task, options)
        dataset = str(dataset)
        if dataset in list_corpora():
            return cls(dataset, task, options)
        path = user_path(dataset)
        if path.is_dir():
            parts = _in_folder(path, task, spelling)
            form = input_format(parts["train_file"], endings, spelling("dataset"))
            return cls(form, task, {**parts, **options})
        if path.exists():  # a file, or a pipe
            if file in options:
                raise ValueError(
                    f"{spelling('dataset')} {dataset} and {spelling(file)} {options[file]} both name the texts; give "
                    f"one of them, or with {spelling(file)} the format as {spelling('dataset')}."
                )
            as_form = 'load_corpus("csv", train_file=...)'
            if spelling is as_option:
                as_form = f"{spelling(file)} {dataset} {spelling('dataset')}"
            return cls(input_format(path, endings, as_form), task, {file: dataset, **options})
        if path.suffix or len(path.parts) > 1:
            try:
                files.existing_file(path)
            except FileNotFoundError as error:
                raise FileNotFoundError(f"{error} Give {forms(task, spelling)}") from None
        near = difflib.get_close_matches(dataset, list_corpora(task), n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"Unknown corpus {dataset!r}.{hint} Give {forms(task, spelling)}")

    @classmethod
    def to_score(
        cls,
        dataset: str | None,
        options: Mapping[str, Any],
        task: Task,
        split: str,
        *,
        trained_on: str,
        columns: Mapping[str, Any],
    ) -> Dataset | None:
        """Return the dataset to score a trained model on, or None where only the user knows it.

        Args:
            dataset: As for ``resolve``. None is the dataset of the training.
            options: As for ``resolve``. If they name a file for the split, no other file is read.
            task: The model's task.
            split: The part to score.
            trained_on: The name of the dataset of the training.
            columns: The columns that the training read, for files of that kind where ``options`` name none.

        Raises:
            ValueError: As for ``resolve``, or a folder without that part.
        """
        file = f"{split}_file"
        options = {name: value for name, value in options.items() if value is not None}
        if dataset is not None and file not in options and dataset not in list_corpora():
            parts = cls.resolve(dataset, {}, task.name, split=split).options
            if file not in parts:
                raise ValueError(f"{dataset} holds no {split} texts; name a file with {as_option(file)}.")
            dataset, options[file] = None, parts[file]
        if file in options:
            files.existing_file(options[file])
            form = input_format(options[file], task.own_files, "--dataset", dataset, otherwise=trained_on)
            own = {name: value for name, value in options.items() if name == file or not name.endswith("_file")}
            return cls(form, task.name, {**_columns_of(form, columns, own), **own})
        has_files = trained_on in task.own_files and "train_file" in options
        if dataset is None and trained_on not in task.sources and not has_files:  # files, a frame, or made by hand
            return None
        if dataset is None and "train_file" in options:
            form = input_format(options["train_file"], task.own_files, "--dataset", None, otherwise=trained_on)
            options = {**_columns_of(form, columns, options), **options}
        return cls.resolve(dataset or trained_on, options, task.name)

    @property
    def title(self) -> str:
        """Its name in a report: that of the corpus, or of the user's own training file."""
        file = self.options.get("train_file")
        return Path(file).name if file else self.name

    @property
    def own_files(self) -> dict[str, Any]:
        """The user's own files by part, without their folders, and how they are written."""
        names = ("train_file", "dev_file", "test_file", "encoding", "delimiter", "skip_empty")
        options = {name: self.options[name] for name in names if self.options.get(name)}
        return {name: Path(value).name if name.endswith("_file") else value for name, value in options.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of ``train`` and ``run_protocol`` that make its corpus again."""
        fold = {} if self.fold is None else {"folds": self.folds, "only_folds": [self.fold]}
        return {"dataset": self.name, **self.options, **fold}

    def load(self) -> Any:
        """Return the corpus, which keeps this dataset as its ``origin``. Published files are downloaded first.

        Raises:
            ValueError: An unknown option, or unexpected content of a file.
            DownloadError: A file is not on this machine and cannot be downloaded.
            FileNotFoundError: A missing file.
        """
        if self.name not in list_corpora(self.task):
            other = next(task for task in tasks.every() if self.name in list_corpora(task.name))
            accepted = ", ".join(list_corpora(self.task))
            raise ValueError(f"Corpus {self.name!r} is for {other.name}, not for {self.task}. Accepted: {accepted}.")
        source = source_of(self.name, self.task)
        if source is None:
            corpus = read_corpus(self.name, **self.options)
        elif "train_file" in self.options:
            corpus = source.read(self.name, sources.find_files(source)).with_train(self._own_train())
        elif self.options:
            raise ValueError(
                f"Corpus {self.name!r} takes no options; received {', '.join(self.options)}. Options are for "
                f"{', '.join(formats())}."
            )
        else:
            corpus = source.read(self.name, sources.find_files(source))
        object.__setattr__(corpus, "origin", self)  # not a field: what is made of the corpus is another one
        return corpus

    def _own_train(self) -> Any:
        """Return the corpus of a training file that takes the place of the published training texts."""
        if others := [name for name in ("dev_file", "test_file") if name in self.options]:
            raise ValueError(
                f"Corpus {self.name!r} has its own dev and test texts; received {others[0]}. Only train_file takes the "
                "place of a part of a published corpus."
            )
        file = self.options["train_file"]
        return read_corpus(input_format(files.existing_file(file), _endings(self.task), "train_file"), **self.options)

    def load_part(self, split: str) -> tuple[str, Any, Sequence[str]]:
        """Return the name of a part, what ``evaluate`` takes of it, and its label names. Nothing else is read of files.

        A training file in place of a published corpus's training texts is read with the corpus, for its labels.

        Raises:
            ValueError: A corpus without that part, or as for ``load``.
        """
        file = self.options.get(f"{split}_file")
        if file is not None and source_of(self.name, self.task) is None:
            columns = {name: value for name, value in self.options.items() if not name.endswith("_file")}
            return Path(file).name, *read_split(self.name, file, **columns)
        corpus = self.load()
        part = getattr(corpus, split)
        if part is None:
            raise ValueError(f"{corpus.name} has no {split} set.")
        return corpus.name, part, getattr(corpus, "label_names", ())


def source_of(name: str, task: str | None = None) -> Source | None:
    """Return the source of a published corpus, or None for a user's own files. Without a task, the first match."""
    candidates = tasks.every() if task is None else [tasks.find(task)]
    return next((candidate.sources[name] for candidate in candidates if name in candidate.sources), None)


def _columns_of(form: str, columns: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the remembered columns that files of a format have and options do not replace."""
    of_tables = form != "columns"
    others = _OF_LABELS if options.keys() & _OF_LABELS else set[str]()
    return {
        name: value
        for name, value in columns.items()
        if (name in {"text_column", *_OF_LABELS}) == of_tables and name not in others
    }


def forms(task: str | None, spelling: Callable[[str], str] = as_option) -> str:
    """Return a sentence that names the forms of a dataset."""
    endings = _endings(task)
    names = ", ".join(name for name in list_corpora(task) if name not in endings)
    example = {"text": "mine.txt", "columns": "mine.conll"}.get(endings[0], f"mine.{endings[0]}")
    ending = Path(example).suffix
    lead = f"{spelling('dataset')} with " if spelling is as_option else ""
    return (
        f"{lead}a corpus's name ({names}), a file of your own ({', '.join(endings)}; such as {example}), "
        f"or a folder that holds train{ending} and, if you have them, dev{ending} and test{ending}."
    )


def _endings(task: str | None) -> Sequence[str]:
    return formats() if task is None else tasks.find(task).own_files


def _in_folder(folder: Path, task: str | None, spelling: Callable[[str], str]) -> dict[str, str]:
    parts: dict[str, str] = {}
    for name, stems in PART_NAMES.items():
        part = f"{name}_file"
        paths = [path for path in sorted(folder.iterdir()) if path.name.partition(".")[0] in stems and path.is_file()]
        beside = {soft_sentences.file_beside(path) for path in paths}
        paths = [path for path in paths if path not in beside]
        if len(paths) > 1:
            names = " and ".join(path.name for path in paths)
            raise ValueError(f"{folder} holds {names}; name one of them with {spelling(part)}.")
        if paths:
            parts[part] = str(paths[0])
    if "train_file" not in parts:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise ValueError(f"{folder} holds no training texts (it holds {names}). Give {forms(task, spelling)}")
    return parts
