"""The groups of rows: steps of the workloads, memory and scaling. Those from raw text are in ``text_runs.py``."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.speed import measure
from benchmarks.speed.measure import Worker
from benchmarks.speed.networks import TIME, Architecture, Network
from benchmarks.speed.rows import (
    BFLOAT16_TOLERANCE,
    TOLERANCE,
    Row,
    long_turns,
    max_difference,
    measure_in_turn,
    note,
    row,
    start_sides,
    targets,
    times,
    versions,
)
from benchmarks.speed.text_runs import epochs, pipeline, predict_texts
from benchmarks.speed.workloads import FRESH_BATCH, SCALING, SCALING_BASE, Settings
from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring import turns

MEMORY_BATCH = 32
PEAK_SIZE = 3072  # a matrix product of 58 GFLOP


def steps_in_turn(settings: Settings, kind: str) -> Iterator[Row]:
    """Training steps or predictions of W against both peers, at each batch size, and the share of the peak."""
    shapes = [(batch, TIME) for batch in settings.batches]
    unit = "training step" if kind == "train" else "prediction of a batch"
    return _in_turn(settings, kind, unit, "classifier", settings.architecture, shapes, method=kind)


def bfloat16(settings: Settings) -> Iterator[Row]:
    """Training steps of W with bfloat16 products, against stock Keras' own and against ours in float32."""
    if not machine.has_bfloat16():
        note("The rows of W in bfloat16 are left out: this processor emulates it.")
        return
    yield from _in_turn(
        settings,
        "train_bfloat16",
        "training step",
        "classifier",
        dataclasses.replace(settings.architecture, dtype="mixed_bfloat16"),
        [(batch, TIME) for batch in settings.batches if batch > 1],
        sides=("ours", "keras", "float32"),
        tolerance=BFLOAT16_TOLERANCE,
    )


def language_model(settings: Settings) -> Iterator[Row]:
    """Training steps of the language model against both peers, and with bfloat16 products against stock Keras."""
    architecture = settings.language_model
    shapes = [(architecture.batch, architecture.time)]
    yield from _in_turn(settings, "language_model", "training step", "language_model", architecture, shapes)
    yield from _in_turn(
        settings,
        "language_model_bfloat16",
        "training step",
        "language_model",
        dataclasses.replace(architecture, dtype="mixed_bfloat16"),
        shapes,
        sides=("ours", "keras"),
        tolerance=BFLOAT16_TOLERANCE,
    )


def sampled_softmax(settings: Settings) -> Iterator[Row]:
    """Training steps over a large vocabulary, with sampled words, against stock Keras with all words."""
    long = long_turns(settings)
    for architecture in settings.sampled_softmax:
        name = f"language_model_{architecture.vocab_size}_words"
        if architecture.dtype != "float32":
            name += "_bfloat16"
        shapes = [(architecture.batch, architecture.time)]
        tolerance = TOLERANCE if architecture.dtype == "float32" else BFLOAT16_TOLERANCE
        sides = ("ours", "keras")
        tokens = architecture.batch * architecture.time
        for cells in _in_turn(
            long, name, "training step", "language_model", architecture, shapes, sides=sides, tolerance=tolerance
        ):
            rates = {f"{side}_rate": round(1e3 * tokens / cells[f"{side}_ms"]) for side in ("ours", "peer")}
            # What is counted is the work of all words, most of which a sampled softmax leaves out.
            yield cells | rates | {"rate_unit": "tokens/s", "gflops_share": ""}


def tagger(settings: Settings) -> Iterator[Row]:
    """Training steps of taggers' encoders against their cell in ``keras.layers.RNN``, and the share of the peak."""
    for architecture, batches in settings.taggers:
        shapes = [(batch, architecture.time) for batch in batches]
        name = f"tagger_{architecture.units}"
        yield from _in_turn(settings, name, "training step", "tagger", architecture, shapes, sides=("ours", "keras"))


def pooling(settings: Settings) -> Iterator[Row]:
    """Training steps of dynamic interaction against a loop over the layers, at the batch sizes of W above 1."""
    shapes = [(batch, TIME) for batch in settings.batches if batch > 1]
    architecture = settings.pooling
    return _in_turn(settings, "pooling", "training step", "pooling", architecture, shapes, sides=("ours", "keras"))


def _in_turn(
    settings: Settings,
    name: str,
    unit: str,
    network: str,
    architecture: Network,
    shapes: list[tuple[int, int]],
    *,
    method: str = "train",
    sides: tuple[str, ...] = ("ours", "keras", "torch"),
    tolerance: float = TOLERANCE,
) -> Iterator[Row]:
    """Measure ``method`` of a network's sides at each shape (batch, time)."""
    architecture = dataclasses.replace(architecture, kernel=settings.kernel)
    with start_sides(settings, sides) as workers:
        for side, worker in workers.items():
            worker.ask("build", side=side, architecture=architecture.to_dict(), network=network)
        peak = workers["ours"].ask("matmul_gflops", size=PEAK_SIZE, repeats=10)
        batch, time = min(shapes)
        differences = max_difference(workers, "logits", tolerance, batch=batch, time=time)
        for batch, time in shapes:
            seconds, steps = measure_in_turn(settings, workers, method, batch=batch, time=time)
            rate = architecture.gigaflops(method, batch, time) / turns.spread(seconds["ours"])[0]
            for peer in differences:
                yield row(
                    settings,
                    versions(workers["ours"], workers[peer]),
                    name=name,
                    batch=batch,
                    unit=unit,
                    peer=peer,
                    **times(seconds["ours"], seconds[peer]),
                    **targets(name, batch, peer),
                    steps=steps["ours"],
                    gflops_share=round(rate / peak, 3),
                    peak_gflops=round(peak),
                    max_difference=f"{differences[peer]:.1e}",
                )


def first_step(settings: Settings) -> Iterator[Row]:
    """The first training step after the model is built, tracing and all: a fresh process each time."""
    architecture = dataclasses.replace(settings.architecture, kernel=settings.kernel)

    def fresh(side: str) -> Callable[[], float]:
        def measure_step() -> float:
            with Worker("tensorflow") as worker:
                worker.ask("build", side=side, architecture=architecture.to_dict())
                return worker.ask("run", method="first_step", batch=FRESH_BATCH, time=TIME)

        return measure_step

    seconds = turns.take_turns({side: fresh(side) for side in ("ours", "keras")}, settings.fresh_repeats)
    yield row(
        settings,
        versions(),
        name="first_step",
        batch=FRESH_BATCH,
        unit="first training step in a process",
        peer="keras",
        **times(seconds["ours"], seconds["keras"]),
        **targets("first_step", FRESH_BATCH, "keras"),
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

        def measure_peak() -> float:
            with Worker("tensorflow") as worker:
                return worker.ask(
                    "training_memory", architecture=architecture.to_dict(), batch=MEMORY_BATCH, length=TIME
                )

        return measure_peak

    for depth in settings.memory_depths:
        megabytes = measure.side_by_side(
            {"remat": fresh(depth, True), "no remat": fresh(depth, False)}, settings.memory_repeats
        )
        yield row(
            settings,
            versions(),
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
    long = long_turns(settings)
    with Worker("tensorflow") as worker:
        steps, timers, sizes = {}, {}, set()
        for (depth, units, batch, length), name in names.items():
            key = f"{depth}x{units}"
            if key not in sizes:
                architecture = Architecture(depth, units, 50, 100, kernel=settings.kernel)
                worker.ask("build", side="ours", architecture=architecture.to_dict(), key=key)
                sizes.add(key)
            shape = {"method": "train", "key": key, "batch": batch, "time": length}
            worker.ask("run", **shape, steps=long.min_steps)
            seconds = worker.ask("run", **shape, steps=settings.min_steps)
            steps[name] = measure.steps_a_turn(seconds, settings.block_seconds, settings.min_steps)
            timers[name] = functools.partial(worker.ask, "run", **shape, steps=steps[name])
        seconds_of = turns.take_turns(timers, long.repeats)
        for name, point in points.items():
            at = names[tuple(point.values())]
            yield row(
                settings,
                versions(worker),
                name=name,
                batch=point["batch"],
                unit="training step",
                **times(seconds_of[at]),
                steps=steps[at],
            )


GROUPS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "train": lambda settings: steps_in_turn(settings, "train"),
    "predict": lambda settings: steps_in_turn(settings, "predict"),
    "bfloat16": bfloat16,
    "language_model": language_model,
    "sampled_softmax": sampled_softmax,
    "tagger": tagger,
    "pooling": pooling,
    "first_step": first_step,
    "epochs": epochs,
    "predict_texts": predict_texts,
    "pipeline": pipeline,
    "memory": memory,
    "scaling": scaling,
}
