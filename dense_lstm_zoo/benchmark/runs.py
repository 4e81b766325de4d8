"""The groups of rows: each starts its workers, checks that the sides agree, measures them in turn and makes rows."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo.benchmark import measure
from dense_lstm_zoo.benchmark.measure import Worker, WorkerError
from dense_lstm_zoo.benchmark.workloads import (
    COLUMNS,
    LONG_REPEATS,
    SCALING,
    SCALING_BASE,
    TARGETS,
    TIME,
    Architecture,
    Settings,
)

Row = dict[str, Any]
TOLERANCE = 1e-4  # of logits of order 1, before anything is timed
FRESH_BATCH = 200
MEMORY_BATCH = 32
PEAK_SIZE = 3072  # a matrix product of 58 GFLOP


def note(text: str) -> None:
    """Tell the user, beside the results."""
    print(text, file=sys.stderr, flush=True)


def row(settings: Settings, versions: dict[str, str], **values: Any) -> Row:
    """Return a row with every column; what does not apply is empty."""
    given = {
        **values,
        "kernel": settings.kernel or "",
        "versions": " ".join(f"{name}={version}" for name, version in versions.items()),
        "processor": measure.processor(),
        "cores": measure.cores(),
        "load_average": measure.load_average(),
        "command": settings.command,
    }
    unknown = set(given) - set(COLUMNS)
    assert not unknown, unknown
    return {column: "" if given.get(column) is None else given.get(column, "") for column in COLUMNS}


def times(ours: list[float], peer: list[float] | None = None, unit: str = "ms") -> Row:
    """Return the columns of measured values: seconds with ``unit="ms"``, megabytes with ``unit="mb"``."""
    scale, digits = (1e3, 3) if unit == "ms" else (1, 1)
    found: Row = {"repeats": len(ours)}
    for name, values in (("ours", ours), ("peer", peer)):
        if values is not None:
            median, spread = measure.spread(values)
            found |= {f"{name}_{unit}": round(scale * median, digits)}
            found |= {f"{name}_spread_{unit}": round(scale * spread, digits)}
    if peer is not None:
        found |= {name: round(value, 3) for name, value in measure.compare(ours, peer).items()}
    return found


def targets(name: str, batch: int, peer: str) -> Row:
    """Return the floor and the aim of a row."""
    floor, aim = TARGETS.get((name, batch, peer), (None, None))
    return {"floor": floor, "aim": aim}


def _versions(*workers: Worker) -> dict[str, str]:
    from dense_lstm_zoo.training.loop import versions

    found = versions()
    for worker in workers:
        found |= worker.versions
    return found


@contextlib.contextmanager
def _sides(settings: Settings, names: tuple[str, ...]) -> Iterator[dict[str, Worker]]:
    """Start a worker a side, without torch where it is not wanted or not installed."""
    with contextlib.ExitStack() as stack:
        workers = {}
        for name in names:
            if name == "torch" and not settings.torch:
                continue
            try:
                workers[name] = stack.enter_context(Worker("torch" if name == "torch" else "tensorflow"))
            except WorkerError as error:
                if name != "torch" or error.kind != "ModuleNotFoundError":
                    raise
                note(
                    f"The rows against PyTorch are left out: it is not installed here, nor in ${measure.TORCH_FOLDER}."
                )
        yield workers


def _max_difference(workers: dict[str, Worker], method: str, **arguments: Any) -> dict[str, float]:
    """Give every side our weights and return each peer's largest difference from our outputs.

    Raises:
        RuntimeError: A side computes something else, so that no time of it means anything.
    """
    differences = {}
    with tempfile.TemporaryDirectory() as folder:
        weights, arrays = str(Path(folder) / "weights.npz"), str(Path(folder) / "outputs.npz")
        workers["ours"].ask("save", method="weights", path=weights)
        outputs = {}
        for name, worker in workers.items():
            worker.ask("set_weights", path=weights)
            worker.ask("save", method=method, path=arrays, **arguments)
            with np.load(arrays) as file:
                outputs[name] = file["arr_0"]
            if name != "ours":
                differences[name] = float(np.abs(outputs[name] - outputs["ours"]).max())
                if not differences[name] <= TOLERANCE:
                    raise RuntimeError(
                        f"{method} of {name} differ from ours by {differences[name]:.2g}: no comparison."
                    )
    return differences


def _measure_in_turn(
    settings: Settings, workers: dict[str, Worker], method: str, **arguments: Any
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Warm every side up, choose its steps a turn, then measure in turn; return seconds and steps by side."""
    steps = {}
    for name, worker in workers.items():
        worker.ask("run", method=method, steps=settings.min_steps, **arguments)
        seconds = worker.ask("run", method=method, steps=settings.min_steps, **arguments)
        steps[name] = measure.steps_a_turn(seconds, settings.block_seconds, settings.min_steps)

    def measured(name: str) -> Callable[[], float]:
        return lambda: workers[name].ask("run", method=method, steps=steps[name], **arguments)

    return measure.take_turns({name: measured(name) for name in workers}, settings.repeats), steps


def steps_in_turn(settings: Settings, kind: str) -> Iterator[Row]:
    """Training steps or predictions of W against both peers, at each batch size, and the share of the peak."""
    architecture = dataclasses.replace(settings.architecture, kernel=settings.kernel)
    with _sides(settings, ("ours", "keras", "torch")) as workers:
        for name, worker in workers.items():
            worker.ask("build", side=name, architecture=architecture.to_dict())
        peak = workers["ours"].ask("matmul_gflops", size=PEAK_SIZE, repeats=10)
        differences = _max_difference(workers, "logits", batch=min(settings.batches), time=TIME)
        for batch in settings.batches:
            seconds, steps = _measure_in_turn(settings, workers, kind, batch=batch, time=TIME)
            rate = architecture.gigaflops(kind, batch) / measure.spread(seconds["ours"])[0]
            for peer in differences:
                yield row(
                    settings,
                    _versions(workers["ours"], workers[peer]),
                    name=kind,
                    batch=batch,
                    unit="training step" if kind == "train" else "prediction of a batch",
                    peer=peer,
                    **times(seconds["ours"], seconds[peer]),
                    **targets(kind, batch, peer),
                    steps=steps["ours"],
                    gflops_share=round(rate / peak, 3),
                    peak_gflops=round(peak),
                    max_difference=f"{differences[peer]:.1e}",
                )


def first_step(settings: Settings) -> Iterator[Row]:
    """The first training step after the model is built, tracing and all: a fresh process each time."""
    architecture = dataclasses.replace(settings.architecture, kernel=settings.kernel)

    def fresh(side: str) -> Callable[[], float]:
        def measured() -> float:
            with Worker("tensorflow") as worker:
                worker.ask("build", side=side, architecture=architecture.to_dict())
                return worker.ask("run", method="first_step", batch=FRESH_BATCH, time=TIME)

        return measured

    seconds = measure.take_turns({side: fresh(side) for side in ("ours", "keras")}, settings.fresh_repeats)
    yield row(
        settings,
        _versions(),
        name="first_step",
        batch=FRESH_BATCH,
        unit="first training step in a process",
        peer="keras",
        **times(seconds["ours"], seconds["keras"]),
        **targets("first_step", FRESH_BATCH, "keras"),
    )


def corpora_here(settings: Settings) -> tuple[str, ...]:
    """Return the corpora whose files are on this machine, or the built-in one; nothing is downloaded."""
    from dense_lstm_zoo import checks
    from dense_lstm_zoo.data.corpora import SOURCES, find_file

    here = []
    for name in settings.corpora:
        if name not in SOURCES:
            raise checks.unknown_name("corpus", name, SOURCES)
        if all(find_file(name, file.filename) for file in SOURCES[name].files):
            here.append(name)
        else:
            note(f"The files of {name} are not in $DENSE_LSTM_ZOO_DATA: its rows are left out.")
    return tuple(here) or ("demo",)


def _text_arguments(settings: Settings, side: str, corpus: str) -> Row:
    return {"side": side, "corpus": corpus, "max_texts": settings.max_texts, "kernel": settings.kernel}


def epochs(settings: Settings) -> Iterator[Row]:
    """First and second epoch of a corpus from raw text: bucketed batches and our layers, ``padded_batch`` and stock."""
    batch = FRESH_BATCH
    for corpus in corpora_here(settings):

        def fresh(side: str, corpus: str = corpus) -> Callable[[], Any]:
            def measured() -> Any:
                with Worker("tensorflow") as worker:
                    worker.ask("build_text", **_text_arguments(settings, side, corpus))
                    worker.ask("run", method="build")
                    return worker.ask("run", method="epochs")

            return measured

        seconds = measure.take_turns({side: fresh(side) for side in ("ours", "keras")}, settings.fresh_repeats)
        for index, name in enumerate(("first_epoch", "second_epoch")):
            ours, peer = ([pair[index] for pair in seconds[side]] for side in ("ours", "keras"))  # type: ignore[index]
            yield row(
                settings,
                _versions(),
                name=name,
                batch=batch,
                corpus=corpus,
                unit="epoch in a fresh process, from raw text" if index == 0 else "epoch after it",
                peer="keras",
                **times(ours, peer),
                **targets(name, batch, "keras"),
            )


def _long_turns(settings: Settings) -> Settings:
    """Return the settings for work whose turns are long."""
    return dataclasses.replace(settings, min_steps=1, repeats=min(settings.repeats, LONG_REPEATS))


def _in_turn_on_texts(settings: Settings, name: str, method: str, unit: str, corpus: str, per: str) -> Row:
    short = _long_turns(settings)
    with _sides(settings, ("ours", "keras")) as workers:
        for side, worker in workers.items():
            sizes = worker.ask("build_text", **_text_arguments(settings, side, corpus))
        differences = _max_difference(workers, "probabilities") if method == "predict_texts" else {}
        seconds, steps = _measure_in_turn(short, workers, method)
        ours, peer = (measure.spread(seconds[side])[0] for side in ("ours", "keras"))
        return row(
            settings,
            _versions(*workers.values()),
            name=name,
            corpus=corpus,
            unit=unit,
            peer="keras",
            **times(seconds["ours"], seconds["keras"]),
            ours_rate=round(sizes[per] / ours),
            peer_rate=round(sizes[per] / peer),
            rate_unit=f"{per}/s",
            steps=steps["ours"],
            max_difference=f"{differences['keras']:.1e}" if differences else None,
        )


def predict_texts(settings: Settings) -> Iterator[Row]:
    """Labels of raw texts: a bundle's ``predict`` against the stock model over padded batches."""
    for corpus in corpora_here(settings):
        yield _in_turn_on_texts(
            settings, "predict_texts", "predict_texts", "all training texts, raw, to labels", corpus, "texts"
        )


def pipeline(settings: Settings) -> Iterator[Row]:
    """The input pipeline without a model: batches of an epoch, and texts to ids (which has no peer)."""
    for corpus in corpora_here(settings):
        yield _in_turn_on_texts(
            settings, "training_batches", "iterate_batches", "an epoch of batches, no model", corpus, "tokens"
        )
        with Worker("tensorflow") as worker:
            sizes = worker.ask("build_text", **_text_arguments(settings, "ours", corpus))
            short = _long_turns(settings)
            seconds, steps = _measure_in_turn(short, {"ours": worker}, "encode_texts")
            yield row(
                settings,
                _versions(worker),
                name="text_to_ids",
                corpus=corpus,
                unit="all training texts to ids",
                **times(seconds["ours"]),
                ours_rate=round(sizes["tokens"] / measure.spread(seconds["ours"])[0]),
                rate_unit="tokens/s",
                steps=steps["ours"],
            )


def memory(settings: Settings) -> Iterator[Row]:
    """Peak memory of a training step by depth, with ``remat`` (ours) and without (the peer)."""
    if not Path("/proc/self/clear_refs").exists():
        note("The rows of peak memory are left out: they need Linux.")
        return

    def fresh(depth: int, remat: bool) -> Callable[[], float]:
        architecture = dataclasses.replace(
            settings.architecture, num_dense_layers=depth, remat=remat, kernel=settings.kernel
        )

        def measured() -> float:
            with Worker("tensorflow") as worker:
                return worker.ask(
                    "training_memory", architecture=architecture.to_dict(), batch=MEMORY_BATCH, length=TIME
                )

        return measured

    for depth in settings.memory_depths:
        megabytes = measure.take_turns(
            {"remat": fresh(depth, True), "no remat": fresh(depth, False)}, settings.memory_repeats
        )
        yield row(
            settings,
            _versions(),
            name=f"memory_{depth}_layers",
            batch=MEMORY_BATCH,
            unit="peak MB of a training step, remat=True against remat=False",
            peer="no remat",
            **times(megabytes["remat"], megabytes["no remat"], "mb"),
        )


def scaling(settings: Settings) -> Iterator[Row]:
    """Our training step against depth, width, batch and length, one at a time around a small base."""
    points: dict[str, dict[str, int]] = {}
    for curve in settings.scaling:
        field, values = SCALING[curve]
        points |= {f"scaling_{curve}_{value}": {**SCALING_BASE, field: value} for value in values}
    # Curves meet at the base: it is measured once.
    names = {tuple(point.values()): name for name, point in points.items()}
    long = _long_turns(settings)
    with Worker("tensorflow") as worker:
        steps, measured = {}, {}
        for (depth, units, batch, length), name in names.items():
            architecture = Architecture(depth, units, 50, 100, kernel=settings.kernel)
            worker.ask("build", side="ours", architecture=architecture.to_dict(), key=name)
            shape = {"method": "train", "key": name, "batch": batch, "time": length}
            worker.ask("run", **shape, steps=long.min_steps)
            seconds = worker.ask("run", **shape, steps=settings.min_steps)
            steps[name] = measure.steps_a_turn(seconds, settings.block_seconds, settings.min_steps)
            measured[name] = functools.partial(worker.ask, "run", **shape, steps=steps[name])
        found = measure.take_turns(measured, long.repeats)
        for name, point in points.items():
            at = names[tuple(point.values())]
            yield row(
                settings,
                _versions(worker),
                name=name,
                batch=point["batch"],
                unit="training step",
                **times(found[at]),
                steps=steps[at],
            )


GROUPS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "train": lambda settings: steps_in_turn(settings, "train"),
    "predict": lambda settings: steps_in_turn(settings, "predict"),
    "first_step": first_step,
    "epochs": epochs,
    "predict_texts": predict_texts,
    "pipeline": pipeline,
    "memory": memory,
    "scaling": scaling,
}
