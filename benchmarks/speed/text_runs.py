"""The groups of rows that start from raw text: epochs, predictions, the input pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.speed.measure import Worker
from benchmarks.speed.rows import (
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
from benchmarks.speed.workloads import FRESH_BATCH, Settings
from dense_lstm_zoo.measuring import turns


def corpora_here(settings: Settings) -> tuple[str, ...]:
    """Return the corpora whose files are on this machine, or the built-in one. Nothing is downloaded."""
    from dense_lstm_zoo import checks
    from dense_lstm_zoo.corpora.loader import is_here, published

    present = []
    for name in settings.corpora:
        if name not in published():
            raise checks.unknown_name("corpus", name, published())
        if is_here(name):
            present.append(name)
        else:
            note(f"The files of {name} are not in $DENSE_LSTM_ZOO_DATA: its rows are left out.")
    if not present:
        note("The built-in corpus stands in.")
    return tuple(present) or ("demo",)


def _text_arguments(settings: Settings, side: str, corpus: str) -> Row:
    return {"side": side, "corpus": corpus, "max_texts": settings.max_texts, "kernel": settings.kernel}


def epochs(settings: Settings) -> Iterator[Row]:
    """First and second epoch of a corpus from raw text: bucketed batches and our layers, ``padded_batch`` and stock."""
    batch = FRESH_BATCH
    for number, corpus in enumerate(corpora_here(settings)):

        def fresh(side: str, corpus: str = corpus) -> Callable[[], Any]:
            def measure_epochs() -> Any:
                with Worker("tensorflow") as worker:
                    worker.ask("build_text", **_text_arguments(settings, side, corpus))
                    worker.ask("run", method="build")
                    return worker.ask("run", method="epochs")

            return measure_epochs

        seconds = turns.take_turns(
            {side: fresh(side) for side in ("ours", "keras")}, 1 if number else settings.epoch_repeats
        )
        for index, name in enumerate(("first_epoch", "second_epoch")):
            ours, peer = ([pair[index] for pair in seconds[side]] for side in ("ours", "keras"))
            yield row(
                settings,
                versions(),
                name=name,
                batch=batch,
                corpus=corpus,
                unit="epoch in a fresh process, from raw text" if index == 0 else "epoch after it",
                peer="keras",
                **times(ours, peer),
                **targets(name, batch, "keras"),
            )


def _in_turn_on_texts(settings: Settings, name: str, method: str, unit: str, corpus: str, per: str) -> Row:
    short = long_turns(settings)
    with start_sides(settings, ("ours", "keras")) as workers:
        for side, worker in workers.items():
            sizes = worker.ask("build_text", **_text_arguments(settings, side, corpus))
        differences = max_difference(workers, "probabilities") if method == "predict_texts" else {}
        seconds, steps = measure_in_turn(short, workers, method)
        ours, peer = (turns.spread(seconds[side])[0] for side in ("ours", "keras"))
        return row(
            settings,
            versions(*workers.values()),
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
    for corpus in corpora_here(settings)[:1]:
        yield _in_turn_on_texts(
            settings, "predict_texts", "predict_texts", "all training texts, raw, to labels", corpus, "texts"
        )


def pipeline(settings: Settings) -> Iterator[Row]:
    """The input pipeline without a model: batches of an epoch, and texts to ids (which has no peer)."""
    for corpus in corpora_here(settings)[:1]:
        yield _in_turn_on_texts(
            settings, "training_batches", "iterate_batches", "an epoch of batches, no model", corpus, "tokens"
        )
        with Worker("tensorflow") as worker:
            sizes = worker.ask("build_text", **_text_arguments(settings, "ours", corpus))
            short = long_turns(settings)
            seconds, steps = measure_in_turn(short, {"ours": worker}, "encode_texts")
            yield row(
                settings,
                versions(worker),
                name="text_to_ids",
                corpus=corpus,
                unit="all training texts to ids",
                **times(seconds["ours"]),
                ours_rate=round(sizes["tokens"] / turns.spread(seconds["ours"])[0]),
                rate_unit="tokens/s",
                steps=steps["ours"],
            )
