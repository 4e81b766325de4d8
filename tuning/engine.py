"""Runs a table: its rows are the points of a sweep of keras-tuner, and what came out is merged into ``results/``."""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo import checks
from dense_lstm_zoo.cli.loading import import_tensorflow
from dense_lstm_zoo.data.sources import find_file
from dense_lstm_zoo.reports import command_line
from dense_lstm_zoo.search import sweep, trial
from dense_lstm_zoo.storage.json_files import DamagedFileError
from dense_lstm_zoo.training.protocol import chosen_folds
from tuning import protocols
from tuning.columns import Outcome, read_config, read_result
from tuning.table import Table

HOURS = 8.0  # of one command: a night
QUICK = {"train": 400, "dev": 100, "test": 100}  # texts of a corpus
_QUICK_MINUTES = 0.5

_OWN = {"budget", "chosen", "dataset", "quick", "seed", "space", "tuner"}  # what a table decides of its sweep


@dataclass(frozen=True)
class TableRequest:
    """A command's request to a table.

    Args:
        table: The table.
        dataset: A corpus's name, or the format of files of one's own.
        data: Options of ``load_corpus``: files of one's own and what is where in them.
        rows: The rows to run, by name.
        seeds: How many seeds.
        folds: Cross-validate with this many folds.
        only_folds: Run these of the folds only.
        settings: Arguments of ``train`` for all rows, as words.
        vectors: A file of word vectors: a path, or a name in the data's vectors folder.
        workers: How many rows are trained at a time.
        hours: A total estimate above it is refused.
        quick: A tenth of the widths, few texts, one epoch.
        run_dir: The folder for the runs of all its sweeps, by default ``runs/TABLE``.
    """

    table: Table
    dataset: str
    rows: Sequence[str]
    seeds: int
    data: Mapping[str, Any] = field(default_factory=dict)
    folds: int | None = None
    only_folds: Sequence[int] | None = None
    settings: Sequence[str] = ()
    vectors: str | None = None
    workers: int = 1
    hours: float = HOURS
    quick: bool = False
    run_dir: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of the sweep: one for each corpus and each choice of settings."""
        parts = [self.dataset, *self.settings, *(["quick"] if self.quick else [])]
        name = re.sub(r"[^\w.=-]", "_", "_".join(parts))
        return Path(self.run_dir or f"runs/{self.table.name}") / name

    @property
    def results(self) -> Path:
        """The file of its rows. Figures of small runs, or of a user's own texts, are not the project's."""
        own = self.quick or self.data
        return self.folder / "rows.csv" if own else tables.ROOT / "results" / f"{self.table.file}.csv"

    @property
    def setting_words(self) -> str:
        """The settings as rows tell them, with the vectors where a table has no column for these."""
        vectors = [f"vectors={Path(self.vectors).name}"] if self.vectors and "vectors" not in self.table.key else []
        return " ".join([*self.settings, *vectors])

    @property
    def runs(self) -> int:
        """The number of runs of a row."""
        folds = len(self.only_folds) if self.only_folds else self.folds or 1
        return folds * self.seeds

    @property
    def protocol(self) -> str:
        """Its seeds and folds, as rows tell them."""
        return protocols.name(self.seeds, self.folds, self.only_folds)

    def command(self, row: str) -> str:
        """Return the command that makes one row."""
        words = ["python", "-m", "tuning", self.table.name, "--dataset", self.dataset, "--rows", row]
        words += command_line.options_of(self.data)
        words += ["--folds", str(self.folds)] if self.folds else []
        words += ["--only-folds", *map(str, self.only_folds)] if self.only_folds else []
        words += ["--seeds", str(self.seeds)]
        words += ["--set", *self.settings] if self.settings else []
        words += ["--vectors", _vectors_word(self.vectors)] if self.vectors else []
        words += ["--hours", f"{self.hours:g}"] if self.hours > HOURS else []
        return shlex.join([*words, *(["--quick"] if self.quick else [])])


def _vectors_word(vectors: str) -> str:
    """Return vectors as a command names them: a file without its folder only if it is found like that."""
    path, name = find_file("vectors", vectors) or Path(vectors), Path(vectors).name
    same = find_file("vectors", name)
    return name if same is not None and same.resolve() == path.resolve() else vectors


def run(request: TableRequest) -> list[str]:
    """Run the requested rows, print them and merge them. Return the names of rows that failed.

    Raises:
        ValueError: The request is wrong, or takes longer than its hours allow. Nothing was done.
        SweepPausedError: The machine stands in the way. The same command goes on.
    """
    table = request.table
    settings = checked_settings(request)
    vectors = protocols.vector_file(request.vectors)  # a missing one fails before any training
    checks.integer("seeds", request.seeds)
    checks.integer("workers", request.workers)
    checks.positive("hours", request.hours)
    _check_folds(request)
    corpus = zoo.load_corpus(request.dataset, table.task.name, **request.data)
    if table.test == "none" and corpus.test is None and not request.folds and table.task.name == "classification":
        request = dataclasses.replace(
            request, folds=10, only_folds=(1,)
        )  # the training texts of fold 1 are searched on
    if table.test == "all" and corpus.test is None and not request.folds:
        more = " or --folds 10, which cross-validates" if table.task.name == "classification" else ""
        raise ValueError(f"{corpus.name} has no test texts, which {table.name} reports. Give --test-file{more}.")
    minutes = refuse_long(request, _count(corpus.train))
    if minutes:
        rows = "rows" if len(minutes) > 1 else "row"
        print(f"{len(minutes)} {rows} to run, about {sum(minutes.values()):,.0f} min", flush=True)
    import_tensorflow()
    planned = table.sweep(
        request.dataset,
        row_names=request.rows,
        quick=request.quick,
        seeds=request.seeds,
        folds=request.folds,
        data=request.data,
        **settings,
        **({"vectors": vectors} if vectors else {}),
    )
    planned = _as_requested(planned, request, corpus)
    merged: dict[str, bool] = {}

    def ended(folder: Path) -> None:
        name = table.name_of(trial.read_spec(folder)["values"])
        if name in request.rows and name not in merged:
            merged[name] = _merge(request, name, folder)

    trials_of_sweep = sweep.run(
        planned,
        request.folder,
        has_test=corpus.test is not None,
        keep=len(planned.rows) or len(table.points),
        workers=request.workers,
        is_chosen=lambda values: table.name_of(values) in request.rows,
        ended=ended,
    )
    for name in sorted(trials_of_sweep.trials["trial"]):
        ended(request.folder / "trials" / name)  # those of calls before this one
    return [name for name in request.rows if not merged.get(name)]


def checked_settings(request: TableRequest) -> dict[str, Any]:
    """Return the arguments of ``train`` that were given for all rows.

    Raises:
        ValueError: An argument that the table decides, or that a row sets itself: the results would name both.
    """
    table, settings = request.table, protocols.parse_settings(request.settings)
    if both := {"seeds", "folds", "data", "vectors"} & settings.keys():
        raise ValueError(f"--set takes arguments of the model and of train; {min(both)} is an option of its own.")
    if own := _OWN & settings.keys() or ({"recipe"} & settings.keys() if table.space is not None else set()):
        raise ValueError(f"--set takes arguments of the model and of train; {table.name} decides {min(own)} itself.")
    if table.space is None:
        options = {"vectors": "--vectors"} if request.vectors else {}
        for name, option in {**{name: f"--set {name}" for name in settings}, **options}.items():
            if rows := [row for row in request.rows if name in table.points[row].settings]:
                raise ValueError(
                    f"{option} is for rows that do not set {name} themselves, as these of {table.name} do: "
                    f"{', '.join(rows)}. Leave it out, or choose other --rows."
                )
    return settings


def _count(texts: Any) -> int:
    """Return how many texts a part of a corpus has, of running text how many lines."""
    return len(texts) if hasattr(texts, "__len__") else sum(1 for _ in texts)


def refuse_long(request: TableRequest, texts: int) -> dict[str, float]:
    """Return the estimated minutes of the rows that are still to be run.

    Args:
        request: The rows and their protocol.
        texts: The training texts of its corpus.

    Raises:
        ValueError: They take longer than the hours that were given.
    """
    minutes = {name: minutes_of(request, name, texts) for name in request.rows if name not in _finished(request)}
    hours = sum(minutes.values()) / 60
    if hours > request.hours:
        each = ", ".join(f"{name} {math.ceil(estimate):,} min" for name, estimate in minutes.items())
        raise ValueError(
            f"{request.table.name} on {request.dataset} would take about {hours:,.1f} hours; --hours is "
            f"{request.hours:g}. Estimated for {request.runs} {'runs' if request.runs > 1 else 'run'} per row: "
            f"{each}. "
            f"Choose fewer --rows or --seeds, or allow it: --hours {math.ceil(hours)}."
        )
    return minutes


def minutes_of(request: TableRequest, row: str, texts: int) -> float:
    """Return the estimated minutes of a row: the declared ones, in proportion to the training texts."""
    share = _QUICK_MINUTES if request.quick else request.table.minutes_of(row) * texts / request.table.texts
    return share * request.runs


def _finished(request: TableRequest) -> set[str]:
    """Return the rows that have all their runs already."""
    names = set()
    for path in request.folder.glob(f"trials/*/{trial.RESULT}"):
        try:
            spec = trial.read_spec(path.parent)
            same = (len(spec["seeds"]), spec["folds"], spec.get("only_folds"))
            if same == (request.seeds, request.folds, list(request.only_folds) if request.only_folds else None):
                names.add(request.table.name_of(spec["values"]))
        except (DamagedFileError, KeyError, StopIteration):
            continue  # the sweep says what is wrong with it
    return names


def _check_folds(request: TableRequest) -> None:
    if request.folds is not None and request.table.task.name != "classification":
        complaint = f"the texts of {request.table.name} have none"
        raise ValueError(
            f"--folds divides texts with labels, and {complaint}; received --folds {request.folds}. Leave it out."
        )
    chosen_folds(request.folds, request.only_folds)


def _as_requested(planned: sweep.Sweep, request: TableRequest, corpus: Any) -> sweep.Sweep:
    return dataclasses.replace(
        planned,
        test=request.table.test,
        only_folds=tuple(request.only_folds) if request.only_folds else None,
        texts=QUICK if request.quick else {},
        data_sha256=request.table.task.job_class.fingerprint(corpus),
    )


def _merge(request: TableRequest, name: str, folder: Path) -> bool:
    """Merge the row of a trial that ended into the results, and bring what is made of them up to date."""
    result = read_result(folder)
    if result is None:
        reason = trial.read_object(folder / trial.RESULT)["reason"]
        print(f"{name} failed: {reason}", flush=True)
        return False
    table = request.table
    outcome = Outcome(
        table=table,
        name=name,
        row=table.points[name],
        dataset=Path(request.data["train_file"]).name if request.data else request.dataset,
        settings=request.setting_words,
        vectors=Path(request.vectors).name if request.vectors else "",
        protocol=request.protocol,
        command=request.command(name),
        result=result,
        config=read_config(result),
    )
    row = table.columns(outcome)
    tables.merge(request.results, [row], list(table.key))
    print(f"{name}: {outcome.score} (paper: {row.get('paper') or '-'})", flush=True)
    if request.results.parent == request.folder:
        return True
    table.after(outcome)
    try:
        tables.update_pages()
    except ValueError as error:  # a comment that names two rows now. The next trial need not wait for a page
        print(f"warning: {name} is in {request.results.name}, but the pages are older than it: {error}", flush=True)
    return True
