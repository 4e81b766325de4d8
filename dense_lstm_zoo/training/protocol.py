"""Protocols: one model trained with several seeds or on the folds of a cross-validation, resumable."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import gc
import itertools
import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.bundles.checks import BundleError
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.json_files import read_object
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import RUNNING
from dense_lstm_zoo.training import run_folder
from dense_lstm_zoo.training.loop import train
from dense_lstm_zoo_runtime.streams import unread_output

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.corpora.corpus import AnyCorpus

_SPLITS = ("test", "dev", "cross_validation")  # the first that runs are scored on is the one to compare
SETTINGS = "protocol.json"  # in the folder of several runs: what they share
_RESULTS = ("runs.csv", "summary.txt")  # beside it


@dataclass(frozen=True, eq=False)
class ProtocolResult:
    """The results of several runs of one model. ``print`` shows them as a table.

    Args:
        runs: One row per run: ``run`` (its folder's name), ``seed``, ``fold`` and the bundle's metrics.
        run_dir: The folder that holds the runs' bundles, as it was given.
        task: The model's task.
    """

    runs: pd.DataFrame
    run_dir: Path
    task: Task

    @property
    def measure(self) -> str:
        """``test_accuracy`` or ``test_perplexity``, or of texts with several labels ``test_micro_f1``.

        Without a test set, it is that of dev, or of a cross-validation.
        """
        return f"{self._split}_{self.task.measure_of(self.runs, self._split)}"

    @property
    def _split(self) -> str:
        return next(split for split in _SPLITS if f"{split}_{self.task.measure}" in self.runs)

    @property
    def mean(self) -> float:
        """Mean of ``measure`` over the runs."""
        return float(self.runs[self.measure].mean())

    @property
    def std(self) -> float | None:
        """Standard deviation (n - 1) of ``measure`` over the runs, or None for a single one."""
        return float(self.runs[self.measure].std()) if len(self.runs) > 1 else None

    def __str__(self) -> str:
        split, score = self._split, self.measure.removeprefix(f"{self._split}_")
        digits = self.task.digits
        lines = [
            f"{run.run:<14} best epoch {run.best_epoch:>3} of {run.epochs:>3}   "
            + "".join(
                f"{part} {getattr(run, f'{part}_{score}'):.{digits}f}   "
                for part in dict.fromkeys(("dev", split))
                if f"{part}_{score}" in self.runs
            )
            + f"{run.seconds:,.0f} s"
            for run in self.runs.itertuples()
        ]
        spread = "" if self.std is None else f" ± {self.std:.{digits}f} (standard deviation)"
        place = escape_controls(str(self.run_dir))
        total = f"{split.replace('_', '-')} {score} {self.mean:.{digits}f}{spread}, {len(lines)} runs in {place}"
        return "\n".join([*lines, total])


def chosen_folds(folds: int | None, only_folds: Sequence[int] | None = None) -> list[int | None]:
    """Return the numbers of the folds to run, in order: ``[None]`` without folds, all without ``only_folds``.

    Raises:
        TypeError: ``only_folds`` is no list.
        ValueError: It is empty, needs folds, or names one that there is not, or one twice, or fewer than 2 ``folds``.
    """
    if only_folds is not None and (isinstance(only_folds, str) or not isinstance(only_folds, Sequence)):
        raise TypeError(f"only_folds must be a list, such as [1, 2]; received {only_folds!r}.")
    if folds is None:
        if only_folds is not None:
            raise ValueError(f"only_folds={list(only_folds)} needs folds, such as folds=10.")
        return [None]
    checks.integer("folds", folds, minimum=2)
    if only_folds is None:
        return list(range(1, folds + 1))
    for fold in only_folds:
        if checks.integer("only_folds", fold) > folds:
            raise ValueError(f"only_folds must be from 1 to {folds}; received {fold}.")
    if not only_folds:
        raise ValueError("only_folds is empty; omit it to run all folds.")
    if len(set(only_folds)) < len(only_folds):
        raise ValueError(f"only_folds names a fold twice: {list(only_folds)}.")
    return list(only_folds)


@unread_output()
def run_protocol(
    name: str,
    /,
    dataset: str | Path | AnyCorpus,
    run_dir: str | Path,
    *,
    seeds: int = 1,
    folds: int | None = None,
    only_folds: Sequence[int] | None = None,
    seed: int = 1,
    progress: bool = True,
    **training: Any,
) -> ProtocolResult:
    """Train one model with several seeds, or on the folds of a cross-validation, and summarise the runs.

    Every run is a bundle in ``run_dir``: ``seed1``, or ``fold01_seed1`` with folds. A repeated call keeps finished runs
    and resumes an interrupted one. Asking for more seeds or folds adds runs. The folds are stratified, and the same for
    every model and seed. Each keeps 10 % of its training texts for dev. The epoch is chosen on dev, and test texts are
    scored once per run.

    Args:
        name: A registered model.
        dataset: As for ``train``. With folds, its training texts are divided, and its others are not used.
        run_dir: The folder for the runs.
        seeds: How many seeds: ``seed``, ``seed + 1``, ...
        folds: Cross-validate with this many folds, at least 2.
        only_folds: Run these folds only, such as ``[1, 2, 3]``.
        seed: The first seed.
        progress: Whether to print progress.
        **training: Arguments of ``train``, except ``overwrite``.

    Raises:
        TypeError: ``only_folds`` that is no list.
        ValueError: As for ``train``. Or ``run_dir`` holds runs with other settings, which the message lists.
        FileExistsError: ``run_dir`` is a bundle, or holds runs, a ``runs.csv`` or a ``summary.txt`` but no
            ``protocol.json``: another command or you made them.

    Example:
        ``print(zoo.run_protocol("dc_bilstm", "mr", "runs/mr", folds=10, recipe="ding2018"))``
    """
    from dense_lstm_zoo.corpora.loader import as_corpus
    from dense_lstm_zoo.training.callbacks import DivergenceError

    checks.integer("seeds", seeds)
    seed, training = checks.seed(seed, seeds), checks.plain(training)
    named_dir, run_dir = files.folder_name(run_dir), files.resolved(run_dir)
    if (run_dir / "manifest.json").exists():
        raise FileExistsError(f"{named_dir} is a bundle; choose another folder for several runs.")
    files.check_new_folder(run_dir / "seed1", "any")
    if "overwrite" in training:
        raise ValueError(
            "run_protocol keeps finished runs and takes no overwrite; choose another run_dir (--run-dir) instead."
        )
    fold_numbers = chosen_folds(folds, only_folds)
    vectors = word_source.name_or_path(training.get("vectors"))
    if len(fold_numbers) * seeds > 1 and vectors not in (None, word_source.NONE) and word_source.table(vectors) is None:
        pipes.regular(files.existing_file(vectors), "every run reads it")
    task = tasks.find(registry.entry(name).task)
    check_tensorflow("Trainings by zoo.run_protocol")
    corpus: AnyCorpus = as_corpus(dataset, task.name)
    job_class = task.job_class
    job_class.check_corpus(corpus)
    fingerprint = job_class.fingerprint(corpus)
    parts = {fold: corpus if fold is None else _fold(corpus, fold, folds or 0) for fold in fold_numbers}
    shared = {"model": name, "dataset": corpus.name, "data_sha256": fingerprint, "folds": folds, **training}
    if training.get("vectors") is not None:
        shared["vectors"] = word_source.name_or_path(training["vectors"])  # however its path is written
    if training.get("init_from") is not None:
        from dense_lstm_zoo.training import transfer

        shared["init_from"] = transfer.resolved_path(training["init_from"])
    if training.get("context") is not None:
        shared["context"] = str(presets.locate(training["context"]).resolve())
    _check_settings(run_dir, shared)
    plan = [(fold, seed + i) for fold in fold_numbers for i in range(seeds)]
    rows = []
    for number, (fold, run_seed) in enumerate(plan, start=1):
        run = run_name(fold, run_seed)
        manifest = run_dir / run / "manifest.json"
        if not manifest.is_file():
            if progress:
                notes.show(f"\nrun {number} of {len(plan)}: {run}")
            with _claim(run_dir, shared):
                _train_alone(name, parts[fold], run_dir / run, seed=run_seed, progress=progress, **training)
        run_folder.tidy(run_dir / run)
        metrics = _metrics(run_dir / run)
        if "diverged" in metrics:
            raise DivergenceError(f"{named_dir / run}: {metrics['diverged']}")
        if not has_scores(metrics):
            raise ValueError(
                f"{named_dir / run} is a run without scores: its texts could not be read when it ended. Delete it, and "
                "the same call trains it again."
            )
        rows.append({"run": run, "seed": run_seed, "fold": fold, **metrics})
    import pandas as pd

    result = ProtocolResult(pd.DataFrame(rows), named_dir, task)
    frame = pd.DataFrame([*rows, *finished_runs(run_dir, {row["run"] for row in rows})]).sort_values("run")
    every = ProtocolResult(frame, named_dir, task)
    table, summary = (run_dir / name for name in _RESULTS)
    with files.new_file(table, "w") as file:
        every.runs.to_csv(file, index=False)
    with files.new_file(summary, "w") as file:
        file.write(f"{every}\n")
    if progress:
        notes.show(f"\n{result}")
    return result


def has_scores(metrics: Collection[str]) -> bool:
    """Return whether a run was scored: one whose texts could no longer be read at its end is saved without scores."""
    return any(name.startswith(f"{split}_") for name in metrics for split in _SPLITS)


def _metrics(run: Path) -> dict[str, Any]:
    metrics: dict[str, Any] = json.loads((BundleFolder.open(run).path / "metrics.json").read_text(encoding="utf-8"))
    return metrics


def finished_runs(run_dir: Path, without: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield a row for each finished run in the folder of ``run_protocol``. Damaged and unscored ones are left out.

    Args:
        run_dir: The folder.
        without: The names of runs to leave out.
    """
    for run, (fold, seed) in _finished(run_dir).items():
        if run in without:
            continue
        with contextlib.suppress(BundleError):
            metrics = _metrics(run_dir / run)
            if "diverged" not in metrics and has_scores(metrics):
                yield {"run": run, "seed": seed, "fold": fold, **metrics}


def run_name(fold: int | None, seed: int) -> str:
    """Return the name of a run, which is that of its folder."""
    return (f"fold{fold:02}_" if fold else "") + f"seed{seed}"


def _finished(run_dir: Path) -> dict[str, tuple[int | None, int]]:
    """Return the fold and the seed of each finished run in a folder, by the run's name."""
    runs = {}
    for path in run_dir.glob("*/manifest.json"):
        if match := re.fullmatch(r"(?:fold(\d+)_)?seed(\d+)", path.parent.name):
            fold, seed = match.groups()
            runs[path.parent.name] = (int(fold) if fold else None, int(seed))
    return runs


def _fold(corpus: AnyCorpus, fold: int, folds: int) -> AnyCorpus:
    """Return the corpus of a fold, which remembers how it is made again if the whole one does.

    Its dev and test files are left out: a fold is made of training texts alone.
    """
    part = corpus.fold(fold, folds)
    if corpus.origin is not None:
        options = {name: x for name, x in corpus.origin.options.items() if name not in ("dev_file", "test_file")}
        origin = dataclasses.replace(corpus.origin, options=options, folds=folds, fold=fold)
        object.__setattr__(part, "origin", origin)
    return part


def _train_alone(*arguments: Any, **options: Any) -> None:
    """Train a run and free what Keras keeps of it. XLA keeps its compiled programs until the process ends."""
    import keras

    train(*arguments, **options)
    keras.backend.clear_session()
    gc.collect()


@contextlib.contextmanager
def _claim(run_dir: Path, settings: dict[str, Any]) -> Iterator[None]:
    """Write what the runs of a folder share while one is trained, so that no kill leaves a run of unknown settings.

    If the training fails before it writes anything, the folder is left as it was, unless another process uses it.
    """
    path, new_folders = run_dir / SETTINGS, [folder for folder in (run_dir, *run_dir.parents) if not folder.exists()]
    before = {file.name for file in run_dir.glob("*")}
    with contextlib.ExitStack() as shared:
        while not shared.enter_context(_locked(path, fcntl.LOCK_SH)) or _differences(path, settings):
            shared.close()
            _check_settings(run_dir, settings)
            with _locked(path, fcntl.LOCK_EX) as is_alone:
                if not path.exists() or (is_alone and not _has_runs(run_dir)):
                    with files.new_file(path, "w") as file:
                        file.write(_settings(settings))
        try:
            yield
        except BaseException:
            shared.close()
            with _locked(path, fcntl.LOCK_EX) as is_alone:
                if is_alone and {file.name for file in run_dir.glob("*")} - before == {SETTINGS}:
                    path.unlink()
                    with contextlib.suppress(OSError):
                        for folder in new_folders:
                            folder.rmdir()
            raise


@contextlib.contextmanager
def _locked(path: Path, kind: int) -> Iterator[bool]:
    """Lock a file, if it is there and no lock of another process forbids it, and yield whether it is locked."""
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb" if kind == fcntl.LOCK_SH else "rb+"))
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            is_in_place = os.path.samestat(os.fstat(file.fileno()), path.stat())  # else it was replaced meanwhile
        except (FileNotFoundError, PermissionError, BlockingIOError):
            is_in_place = False
        yield is_in_place


def _has_runs(run_dir: Path) -> bool:
    """Return whether a folder holds a finished run, the state of an unfinished one, or results of runs."""
    states = itertools.chain.from_iterable(run_dir.glob(f"{place}/{run_folder.STATE}") for place in ("*", "*/*"))
    return bool(_finished(run_dir)) or any(states) or any((run_dir / name).exists() for name in _RESULTS)


def _differences(path: Path, settings: dict[str, Any]) -> str:
    """Return what differs between the settings in a file and others."""
    try:
        previous, current = _of_effect(read_settings(path)), json.loads(_settings(settings))
    except FileNotFoundError:  # another process was interrupted at this moment
        return ""
    return "" if previous == current else checks.difference(previous, current)


def _check_settings(run_dir: Path, settings: dict[str, Any]) -> None:
    """Raise an error if a folder has runs with other settings, or runs or results that no ``run_protocol`` wrote.

    Of other settings without a run, as a kill leaves them, no process may make use now.
    """
    path = run_dir / SETTINGS
    if path.exists():
        if differences := _differences(path, settings):
            with _locked(path, fcntl.LOCK_EX) as is_alone:
                if is_alone and not _has_runs(run_dir):
                    return
            raise ValueError(
                f"{run_dir} holds runs with other settings: {differences}. Choose another run_dir (--run-dir)."
            )
        return
    if others := [*sorted(_finished(run_dir)), *(name for name in _RESULTS if (run_dir / name).exists())]:
        raise FileExistsError(
            f"{run_dir} holds {', '.join(others)} but no {SETTINGS}, so that what is there may be of another model or "
            "yours. Choose another run_dir (--run-dir), or move it."
        )


def read_settings(path: Path) -> dict[str, Any]:
    """Return what the runs of a folder share, from its ``protocol.json``."""
    advice = "Put back a copy of it, or choose another run_dir (--run-dir)."
    return read_object(path, {"model": str, "dataset": str}, advice=advice)


def _settings(settings: dict[str, Any]) -> str:
    effective = _of_effect(settings)
    return files.to_json({name: str(value) if isinstance(value, Path) else value for name, value in effective.items()})


def _of_effect(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without those that results do not depend on, and options that are not given."""
    arguments = registry.entry(settings["model"]).arguments
    idle = {"callbacks", "tensorboard", "pause_after", *(option.name for option in RUNNING)}
    return {
        name: value for name, value in settings.items() if name not in idle and (value is not None or name in arguments)
    }
