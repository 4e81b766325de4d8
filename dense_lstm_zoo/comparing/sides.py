"""The two sides of a comparison: what each was trained on, and the texts that both are scored on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import checks as bundle_checks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.corpora.corpus import AnyCorpus
from dense_lstm_zoo.corpora.dataset import Dataset, fold_of
from dense_lstm_zoo.data.label_columns import check_complete
from dense_lstm_zoo.storage.outputs import Target, check_not_read
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.training import run_file

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

Source = str | os.PathLike[str]
_NAME_TEXTS = "Name the texts to compare them on, such as --test-file FILE or --dataset NAME (in Python dataset=)"


@dataclass(frozen=True, eq=False)
class Side:
    """A trained model of a comparison, of which only small files are read so far.

    Args:
        name: Its folder or its preset, as the user named it.
        source: Its folder, or a bundle in memory.
        config: Its config.
        labels: Its labels.
    """

    name: str
    source: BundleFolder | Bundle
    config: Mapping[str, Any]
    labels: list[str]

    @classmethod
    def open(cls, source: Source | Bundle) -> Side:
        """Read the config and the labels of a bundle, a preset or a folder. See ``from_preset`` for the errors."""
        if not isinstance(source, str | os.PathLike):
            return cls(repr(source), source, source.config, source.labels)
        folder = presets.open_folder(source)
        config = folder.read_config()
        bundle_checks.refuse_encoder(folder, config)
        name = folder.path.name if isinstance(source, BundleFolder) else os.fspath(source)
        return cls(name, folder, config, bundle_checks.read_labels(folder.path / "labels.json"))

    @property
    def task(self) -> Task:
        """The task of the model."""
        return tasks.find(self.config["task"])

    def load(self) -> Bundle:
        """Return the bundle."""
        if not isinstance(self.source, BundleFolder):
            return self.source
        from dense_lstm_zoo.bundles.bundle import load

        return load(self.source, compile=False)

    def data(self) -> dict[str, Any]:
        """Return the data of its training: the name of a corpus, or files with their columns, and the fold of a run."""
        name = self.config["training"]["dataset"]
        columns = self.config["training"].get("columns", {})
        path = self.source.path / run_file.NAME if isinstance(self.source, BundleFolder) else None
        if path is None or not path.is_file():
            fold = fold_of(self.config["training"])
            return {"dataset": name, **columns, **({"folds": fold[1], "only_folds": [fold[0]]} if fold else {})}
        settings = run_file.read_settings(path)
        options = (*run_file.DATA, "folds", "only_folds")
        return {"dataset": name, **columns, **{option: settings[option] for option in options if option in settings}}


def check_pair(first: Side, second: Side) -> None:
    """Raise ``ValueError`` for a model compared with itself, models of two tasks, or models that a task refuses."""
    if first.task is not second.task:
        raise ValueError(
            f"{first.name} is for {first.task.name}, {second.name} for {second.task.name}: only models of one task "
            "can be compared."
        )
    folders = [side.source for side in (first, second)]
    if folders[0] is folders[1] or (
        isinstance(folders[0], BundleFolder)
        and isinstance(folders[1], BundleFolder)
        and folders[0].sha256 == folders[1].sha256
    ):
        raise ValueError(f"{first.name} and {second.name} are the same model.")
    first.task.module("comparison").check(first, second)


def dataset_of_training(first: Side, second: Side, split: str) -> Dataset:
    """Return the dataset that both were trained on, of their own files only the one with the texts of a split.

    The dev and test texts of a published corpus are its own. Its training texts, which folds divide, may be a file's.

    Raises:
        ValueError: They were trained on two corpora, or have no texts of this split in common.
    """
    both = [side.data() for side in (first, second)]
    names = [data["dataset"] for data in both]
    if names[0] != names[1]:
        raise ValueError(
            f"{first.name} was trained on {names[0]!r:.80}, {second.name} on {names[1]!r:.80}. {_NAME_TEXTS}."
        )
    folds = [(data.get("folds"), tuple(data.get("only_folds") or ())) for data in both]
    if folds[0] != folds[1]:
        of_fold = [
            f"fold {numbers[0]} of {count}" if count and numbers else "the whole corpus" for count, numbers in folds
        ]
        raise ValueError(
            f"{first.name} was trained on {of_fold[0]}, {second.name} on {of_fold[1]}: their test texts differ. "
            f"{_NAME_TEXTS}."
        )
    count, numbers = folds[0]
    task = first.task
    own_file = "train_file" if count else f"{split}_file"
    is_published = names[0] in task.sources
    if is_published and own_file != "train_file":
        return Dataset(names[0], task.name)
    files = [data.get(own_file) for data in both]
    # A bundle without its run.toml records that it had files or a teacher, but not where these texts are.
    has_own = [bool(side.config["training"].keys() & {"files", "taught_by"}) for side in (first, second)]
    texts = [
        names[0] if file is None and is_published and not has_file else file
        for file, has_file in zip(files, has_own, strict=True)
    ]
    if texts[0] is None and texts[1] is None:
        raise ValueError(f"{first.name} and {second.name} have no {split} texts that are known. {_NAME_TEXTS}.")
    if texts[0] != texts[1]:
        own = [f"those of {text}" if text else "none that are known" for text in texts]
        raise ValueError(
            f"The {split} texts must be the same: {first.name} has {own[0]}, {second.name} {own[1]}. {_NAME_TEXTS}."
        )
    if files[0] is None:
        return Dataset(names[0], task.name, {}, count, numbers[0] if numbers else None)
    options, others = (
        {
            name: value
            for name, value in data.items()
            if name in run_file.DATA and name != "dataset" and (name == own_file or not name.endswith("_file"))
        }
        for data in both
    )
    if options != others:
        own = [
            ", ".join(f"{name}={data[name]!r:.80}" for name in data if data[name] != other.get(name)) or "the defaults"
            for data, other in ((options, others), (others, options))
        ]
        raise ValueError(f"{first.name} was trained with {own[0]}, {second.name} with {own[1]}. {_NAME_TEXTS}.")
    return Dataset(names[0], task.name, options, count, numbers[0] if numbers else None)


def read_texts(
    first: Side, second: Side, dataset: Any, split: str, options: Mapping[str, Any], target: Target | None = None
) -> tuple[str, Any, Any]:
    """Return the name of the texts to compare on, the texts as ``evaluate`` takes them, and their label names.

    Raises:
        ValueError: No texts that are known, or ``target``, an output, is their file.
    """
    if dataset is not None and not isinstance(dataset, str | os.PathLike):
        part = getattr(dataset, split) if isinstance(dataset, AnyCorpus) else dataset
        if part is None:
            raise ValueError(f"{dataset.name} has no {split} set.")
        return getattr(dataset, "name", "texts"), part, getattr(dataset, "label_names", None)
    if dataset is None and options.get(f"{split}_file") is None:
        if options:
            raise ValueError(
                f"{', '.join(options)} would not be read: the {split} texts are compared, and no {split}_file "
                f"(--{split}-file) names them. Give one, or another split."
            )
        resolved: Dataset | None = dataset_of_training(first, second, split)
    else:
        training = first.config["training"]
        resolved = Dataset.to_score(
            None if dataset is None else os.fspath(dataset),
            options,
            first.task,
            split,
            trained_on=training["dataset"],
            columns=training.get("columns", {}),
        )
    assert resolved is not None  # a dataset or a file names it
    check_not_read(target, resolved.files, "--output")
    if resolved.fold is not None:
        corpus = resolved.load().fold(resolved.fold, resolved.folds)
        if (part := getattr(corpus, split)) is None:
            raise ValueError(f"A fold has no {split} set: each run holds out texts of its own. {_NAME_TEXTS}.")
        return f"fold {resolved.fold} of {resolved.folds} of {corpus.name}", part, corpus.label_names
    check_complete(resolved.options.get("label_columns"), first.labels)
    name, part, label_names = resolved.load_part(split)
    return name, part, label_names or None
