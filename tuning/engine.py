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
from dense_lstm_zoo.search import sweep, trial
from dense_lstm_zoo.storage.json_files import DamagedFileError
from dense_lstm_zoo.training.protocol import chosen_folds
from tuning import protocols
from tuning.columns import Found, read_config, read_result
from tuning.table import Table

HOURS = 8.0  # of one command: a night
QUICK = {"train": 400, "dev": 100, "test": 100}  # texts of a corpus
_QUICK_MINUTES = 0.5

_OWN = {"budget", "chosen", "dataset", "quick", "seed", "space", "tuner"}  # what a table decides of its sweep


@dataclass(frozen=True)
class Asked:
    """What one command asks of a table.

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
        run_dir: The folder for the runs of all its sweeps; None is ``runs/TABLE``.
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
        """Where rows go: figures of small runs, or of a user's own texts, are none of the project's."""
        own = self.quick or self.data
        return self.folder / "rows.csv" if own else tables.ROOT / "results" / f"{self.table.file}.csv"

    @property
    def told(self) -> str:
        """The settings as rows tell them, with the vectors where a table has no column for these."""
        vectors = [f"vectors={Path(self.vectors).name}"] if self.vectors and "vectors" not in self.table.key else []
        return " ".join([*self.settings, *vectors])

    @property
    def runs(self) -> int:
        """How many runs a row has."""
        folds = len(self.only_folds) if self.only_folds else self.folds or 1
        return folds * self.seeds

    @property
    def protocol(self) -> str:
        """Its seeds and folds, as rows tell them."""
        return protocols.name(self.seeds, self.folds, self.only_folds)

    def command(self, row: str) -> str:
        """Return the command that makes one row."""
        words = ["python -m tuning", self.table.name, "--dataset", self.dataset, "--rows", row]
        words += [f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in self.data.items()]
        words += [f"--folds {self.folds}"] if self.folds else []
        words += [f"--only-folds {' '.join(map(str, self.only_folds))}"] if self.only_folds else []
        words += [f"--seeds {self.seeds}"]
        words += [f"--set {shlex.join(self.settings)}"] if self.settings else []
        words += [f"--vectors {shlex.quote(Path(self.vectors).name)}"] if self.vectors else []
        return " ".join([*words, *(["--quick"] if self.quick else [])])


def run(asked: Asked) -> list[str]:
    """Run what was asked for, print the rows and merge them; return the names of rows that failed.

    Raises:
        ValueError: What was asked for is wrong, or takes longer than its hours allow; nothing was done.
        SweepPausedError: The machine stands in the way; the same command goes on.
    """
    table = asked.table
    settings = checked_settings(asked)
    vectors = protocols.vector_file(asked.vectors)  # a missing one fails before any training
    checks.integer("seeds", asked.seeds)
    checks.integer("workers", asked.workers)
    checks.positive("hours", asked.hours)
    _check_folds(asked)
    corpus = zoo.load_corpus(asked.dataset, table.task.name, **asked.data)
    if table.test == "none" and corpus.test is None and not asked.folds and table.task.name == "classification":
        asked = dataclasses.replace(asked, folds=10, only_folds=(1,))  # the training texts of fold 1 are searched on
    if table.test == "all" and corpus.test is None and not asked.folds:
        more = " or --folds 10, which cross-validates" if table.task.name == "classification" else ""
        raise ValueError(f"{corpus.name} has no test texts, which {table.name} reports. Give --test-file{more}.")
    minutes = refuse_long(asked, _count(corpus.train))
    if minutes:
        rows = "rows" if len(minutes) > 1 else "row"
        print(f"{len(minutes)} {rows} to run, about {sum(minutes.values()):,.0f} min", flush=True)
    import_tensorflow()
    planned = table.sweep(
        asked.dataset,
        chosen=asked.rows,
        quick=asked.quick,
        seeds=asked.seeds,
        folds=asked.folds,
        data=asked.data,
        **settings,
        **({"vectors": vectors} if vectors else {}),
    )
    planned = _as_asked(planned, asked, corpus)
    merged: dict[str, bool] = {}

    def ended(folder: Path) -> None:
        name = table.name_of(trial.read_spec(folder)["values"])
        if name in asked.rows and name not in merged:
            merged[name] = _merge(asked, name, folder)

    found = sweep.run(
        planned,
        asked.folder,
        has_test=corpus.test is not None,
        keep=len(planned.rows) or len(table.points),
        workers=asked.workers,
        wanted=lambda values: table.name_of(values) in asked.rows,
        ended=ended,
    )
    for name in sorted(found.trials["trial"]):
        ended(asked.folder / "trials" / name)  # those of calls before this one
    return [name for name in asked.rows if not merged.get(name)]


def checked_settings(asked: Asked) -> dict[str, Any]:
    """Return the arguments of ``train`` that were given for all rows.

    Raises:
        ValueError: An argument that the table decides, or that a row sets itself: the results would name both.
    """
    table, settings = asked.table, protocols.parse_settings(asked.settings)
    if both := {"seeds", "folds", "data", "vectors"} & settings.keys():
        raise ValueError(f"--set takes arguments of the model and of train; {min(both)} is an option of its own.")
    if own := _OWN & settings.keys() or ({"recipe"} & settings.keys() if table.space is not None else set()):
        raise ValueError(f"--set takes arguments of the model and of train; {table.name} decides {min(own)} itself.")
    if table.space is None:
        options = {"vectors": "--vectors"} if asked.vectors else {}
        for name, option in {**{name: f"--set {name}" for name in settings}, **options}.items():
            if rows := [row for row in asked.rows if name in table.points[row].settings]:
                raise ValueError(
                    f"{option} is for rows that do not set {name} themselves, as these of {table.name} do: "
                    f"{', '.join(rows)}. Leave it out, or choose other --rows."
                )
    return settings


def _count(texts: Any) -> int:
    """Return how many texts a part of a corpus has, of running text how many lines."""
    return len(texts) if hasattr(texts, "__len__") else sum(1 for _ in texts)


def refuse_long(asked: Asked, texts: int) -> dict[str, float]:
    """Return the estimated minutes of the rows that are still to be run.

    Args:
        asked: What was asked for.
        texts: The training texts of its corpus.

    Raises:
        ValueError: They take longer than the hours that were given.
    """
    minutes = {name: minutes_of(asked, name, texts) for name in asked.rows if name not in _finished(asked)}
    hours = sum(minutes.values()) / 60
    if hours > asked.hours:
        each = ", ".join(f"{name} {math.ceil(found):,} min" for name, found in minutes.items())
        raise ValueError(
            f"{asked.table.name} on {asked.dataset} would take about {hours:,.1f} hours; --hours is {asked.hours:g}. "
            f"Estimated for {asked.runs} {'runs' if asked.runs > 1 else 'run'} a row: {each}. "
            f"Choose fewer --rows or --seeds, or allow it: --hours {math.ceil(hours)}."
        )
    return minutes


def minutes_of(asked: Asked, row: str, texts: int) -> float:
    """Return the estimated minutes of a row: the declared ones, in proportion to the training texts."""
    share = _QUICK_MINUTES if asked.quick else asked.table.minutes_of(row) * texts / asked.table.texts
    return share * asked.runs


def _finished(asked: Asked) -> set[str]:
    """Return the rows that have all their runs already."""
    found = set()
    for path in asked.folder.glob(f"trials/*/{trial.RESULT}"):
        try:
            spec = trial.read_spec(path.parent)
            same = (len(spec["seeds"]), spec["folds"], spec.get("only_folds"))
            if same == (asked.seeds, asked.folds, list(asked.only_folds) if asked.only_folds else None):
                found.add(asked.table.name_of(spec["values"]))
        except (DamagedFileError, KeyError, StopIteration):
            continue  # the sweep says what is wrong with it
    return found


def _check_folds(asked: Asked) -> None:
    if asked.folds is not None and asked.table.task.name != "classification":
        what = f"the texts of {asked.table.name} have none"
        raise ValueError(
            f"--folds divides texts with labels, and {what}; received --folds {asked.folds}. Leave it out."
        )
    chosen_folds(asked.folds, asked.only_folds)


def _as_asked(planned: sweep.Sweep, asked: Asked, corpus: Any) -> sweep.Sweep:
    return dataclasses.replace(
        planned,
        test=asked.table.test,
        only_folds=tuple(asked.only_folds) if asked.only_folds else None,
        texts=QUICK if asked.quick else {},
        data_sha256=asked.table.task.job_class.fingerprint(corpus),
    )


def _merge(asked: Asked, name: str, folder: Path) -> bool:
    """Merge the row of a trial that ended into the results, and bring what is made of them up to date."""
    result = read_result(folder)
    if result is None:
        reason = trial.read_object(folder / trial.RESULT)["reason"]
        print(f"{name} failed: {reason}", flush=True)
        return False
    table = asked.table
    found = Found(
        table=table,
        name=name,
        row=table.points[name],
        dataset=Path(asked.data["train_file"]).name if asked.data else asked.dataset,
        settings=asked.told,
        vectors=Path(asked.vectors).name if asked.vectors else "",
        protocol=asked.protocol,
        command=asked.command(name),
        result=result,
        config=read_config(result),
    )
    row = table.columns(found)
    tables.merge(asked.results, [row], list(table.key))
    print(f"{name}: {found.told} (paper: {row.get('paper') or '-'})", flush=True)
    if asked.results.parent == asked.folder:
        return True
    table.after(found)
    tables.update_pages()
    return True
