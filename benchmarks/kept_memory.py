"""An epoch of ``zoo.train`` with the memory of large blocks kept, and without: two processes, in turn.

The batches are those of ``zoo.train``, in the same order in every epoch. The first epoch of a side, which traces and
compiles, is not counted. The losses of the sides are compared first. Rows go to results/kept_memory.csv.
From the repository's root, with nothing else running:

    python -m benchmarks.kept_memory lstm sst2
    python -m benchmarks.kept_memory gated_skip_tagger ewt_upos --texts 2000
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import dense_lstm_zoo as zoo
from benchmarks.speed.measure import Worker
from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.measuring.turns import compare, spread, take_turns
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.training.allocator import keep_large_blocks
from dense_lstm_zoo.training.prepare import prepare
from dense_lstm_zoo.training.request import check
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "kept_memory.csv"
KEY = ["model", "dataset", "texts"]
SIDES = {"kept": keep_large_blocks, "returned": contextlib.nullcontext}


class Side:
    """A model with the batches of ``zoo.train``, which trains in one way or the other."""

    def __init__(self, side: str, name: str, dataset: str, texts: int | None) -> None:
        corpus = zoo.load_corpus(dataset, registry.entry(name).task)
        corpus = corpus.first_texts({} if texts is None else {"train": texts})
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        request = check(name, folder / "run", {}, recipe=None, seed=1, tensorboard=False, overwrite=False)
        run = prepare(request, corpus, progress=False)
        self._model, self._data = run.model, run.job.fit_data(run.model, run.config, folder)
        self._memory = SIDES[side]
        self.sizes = {"batch": run.job.options.batch_size, "texts": len(corpus.train)}

    def epoch(self) -> Epoch:
        """Train an epoch."""
        data, before, started = self._data, _page_faults(), time.perf_counter()
        with self._memory():
            history = self._model.fit(data.training, callbacks=data.callbacks, verbose=0, shuffle=False).history
        seconds = time.perf_counter() - started
        return Epoch(seconds, float(history["loss"][0]), (_page_faults() - before) / 1e6, machine.peak_mb())


class Epoch(NamedTuple):
    """The cost of an epoch, with ``page_faults`` in millions and ``peak_mb`` of the process so far."""

    seconds: float
    loss: float
    page_faults: float
    peak_mb: float


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def measure(name: str, dataset: str, texts: int | None, repeats: int) -> dict[str, Any]:
    """Return the seconds of an epoch, its page faults and the most MB that the process held, for both sides.

    Raises:
        ValueError: An unknown model or corpus, or a number below 1.
        RuntimeError: The sides' losses differ.
    """
    for number, value in (("texts", texts), ("repeats", repeats)):
        if value is not None:
            checks.integer(number, value)
    zoo.load_corpus(dataset, registry.entry(name).task)  # what is wrong with either is said before processes start
    with contextlib.ExitStack() as stack:
        workers = {side: stack.enter_context(Worker("tensorflow")) for side in SIDES}
        cells: dict[str, Any] = {"repeats": repeats}
        for side, worker in workers.items():
            cells |= worker.ask("build_training", how=side, model=name, dataset=dataset, texts=texts)
        epochs = take_turns({side: _epoch_of(worker) for side, worker in workers.items()}, repeats + 1)
    losses = {side: [epoch.loss for epoch in epochs[side]] for side in SIDES}
    if losses["kept"] != losses["returned"]:
        raise RuntimeError(f"the sides' losses differ: {losses}")
    seconds = {side: [epoch.seconds for epoch in epochs[side][1:]] for side in SIDES}
    for side in SIDES:
        median, quartiles = spread(seconds[side])
        cells |= {f"{side}_s": round(median, 2), f"{side}_spread_s": round(quartiles, 2)}
        cells[f"{side}_million_faults"] = round(statistics.median(epoch.page_faults for epoch in epochs[side][1:]), 2)
        cells[f"{side}_peak_mb"] = round(epochs[side][-1].peak_mb)
    ratios = compare(seconds["kept"], seconds["returned"])
    return cells | {key: round(value, 2) for key, value in ratios.items()}


def _epoch_of(worker: Worker) -> Callable[[], Epoch]:
    return lambda: Epoch(*worker.ask("run", method="epoch"))


def main() -> None:
    """Measure a model on a corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("dataset", help="a corpus's name")
    parser.add_argument("--texts", type=int, help="train on the first TEXTS (default: all)")
    parser.add_argument("--repeats", type=int, default=5, help="epochs a side (default: 5)")
    options = parser.parse_args()
    cells = measure(options.model, options.dataset, options.texts, options.repeats)
    row = {"model": options.model, "dataset": options.dataset, **cells}
    row |= {"processor": machine.processor(), "cores": machine.cores()}
    texts = f" --texts {options.texts}" if options.texts else ""
    command = f"python -m benchmarks.kept_memory {options.model} {options.dataset}{texts} --repeats {options.repeats}"
    row |= {"versions": protocols.read_versions({"versions": machine.versions()}), "command": command}
    result_files.merge(RESULTS, [row], KEY)
    print(row)


if __name__ == "__main__":
    with protocols.plain_errors():
        main()
