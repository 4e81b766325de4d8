"""``measure``: bundles and exports one after another, each in a fresh process, with one row each."""

from __future__ import annotations

import datetime
import itertools
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.measuring import folders, rows
from dense_lstm_zoo.measuring.process import WorkerError, measure_in_fresh_process

if TYPE_CHECKING:
    import pandas as pd

MAX_TEXTS = 2000
REPEATS = 100
TIMEOUT = 900.0

RunPath = str | os.PathLike[str]


def measure(
    runs: RunPath | Sequence[RunPath],
    texts: Sequence[str] | None = None,
    *,
    repeats: int = REPEATS,
    timeout: float = TIMEOUT,
) -> pd.DataFrame:
    """Measure what trained models cost on this machine: time, memory, disk.

    Each runs in a fresh process, so loading and memory are those of a new server: a bundle is loaded with ``load``
    and then classifies, tags or scores. A SavedModel is loaded with TensorFlow only, an ONNX export with
    ``dense_lstm_zoo_runtime``. Latency is measured at 1, 32 and 200 texts per call, after a warm-up that predicts every
    batch once. The first prediction, which prepares what later ones reuse, has its own column. Run nothing else
    meanwhile.

    Args:
        runs: Folders that ``train``, ``Bundle.save`` or ``Bundle.export`` wrote, or names of presets, one or several.
        texts: Texts like those you will serve, as their length decides the cost of a call. The first 2,000 are used. By
            default, sentences of the built-in demo corpus.
        repeats: Timed calls at each size. Each size stops after a minute, but not before its third call.
        timeout: Seconds after which a run is stopped.

    Returns:
        One row per run, in order, with these columns:

        - ``run``, ``kind`` ("bundle", "export" or "onnx"), ``task``, ``model``.
        - ``start_s`` from the start of the process to its first answer (on Linux only), of which ``import_s`` are for
          imports and TensorFlow's start, ``load_s`` for the model and ``first_ms`` for the first text.
        - ``p50_ms_1``, ``p99_ms_1`` and ``calls_1``: median and 99th percentile of that many calls with one text. The
          same for 32 and 200. ``texts_per_s``: over all calls with 200.
        - ``peak_mb``: the peak of the process. ``added_mb``: the increase over the memory just before the model
          was loaded. ``disk_mb``: the size of the folder (MB are 2**20 bytes).
        - ``texts``, ``words_per_text``, ``source``, ``repeats``, ``date``, ``versions``, ``processor``, ``cores`` and
          ``load_average`` (before the first run).
        - ``error``: empty, or why a run could not be measured. The others are still measured.

    Raises:
        ValueError: Before any work: no runs, a folder that is neither bundle nor export, a damaged bundle, the same
            folder twice, no texts, a number out of range.
        FileNotFoundError: A folder that does not exist.
        TypeError: Texts that are not a sequence of strings.

    Example:
        ``zoo.measure(["runs/trec", "exports/trec/1"])[["run", "load_s", "p50_ms_1", "peak_mb"]]``
    """
    plan = prepare([runs] if isinstance(runs, str | os.PathLike) else list(runs), texts, repeats, timeout)
    import pandas as pd

    return pd.DataFrame(list(plan.rows()), columns=list(rows.COLUMNS))


@dataclass(frozen=True)
class Plan:
    """A checked measurement: runs, texts and the values that all rows share."""

    runs: list[folders.Run]
    texts: list[str]
    repeats: int
    timeout: float
    shared: dict[str, Any]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Measure one run after another and yield one row for each."""
        for run in self.runs:
            costs = self._costs_of(run)
            for message in costs.get("warnings", ()):
                warnings.warn(f"{run.name}: {message}", stacklevel=2)
            yield rows.row({**self.shared, "run": run.name, "kind": run.kind, **costs})

    def _costs_of(self, run: folders.Run) -> dict[str, Any]:
        """Return the measurements of a run, or its error."""
        request: dict[str, Any] = {"kind": run.kind, "path": str(run.path), "texts": self.texts}
        request |= {"sizes": rows.SIZES, "repeats": self.repeats}
        try:
            return {"disk_mb": folders.size_mb(run.path), **measure_in_fresh_process(self.timeout, **request)}
        except (WorkerError, OSError) as error:
            return {"error": str(error)}


def prepare(
    runs: Sequence[RunPath], texts: Sequence[str] | None, repeats: int, timeout: float, source: str = "given"
) -> Plan:
    """Check the arguments of ``measure``. ``source`` is the name of the texts in the rows."""
    checks.integer("repeats", repeats)
    checks.positive("timeout", timeout)
    sample = _texts(texts)
    folder_runs = folders.find(runs)
    from dense_lstm_zoo.machine import versions

    shared = {
        "texts": len(sample),
        "words_per_text": sum(len(text.split()) for text in sample) / len(sample),
        "source": "the demo corpus" if texts is None else source,
        "repeats": repeats,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": " ".join(f"{package}={version}" for package, version in versions().items()),
        "processor": machine.processor(),
        "cores": machine.cores(),
        "load_average": machine.load_average(),
    }
    return Plan(folder_runs, sample, repeats, timeout, shared)


def _texts(texts: Sequence[str] | None) -> list[str]:
    """Return the texts to predict, checked."""
    if texts is None:
        from dense_lstm_zoo.corpora.loader import load_corpus

        return list(load_corpus("demo").test.texts)
    sample: list[str] = list(
        itertools.islice(itertools.chain.from_iterable(checks.text_chunks(texts, 1024)), MAX_TEXTS)
    )
    sample = [text.decode(errors="replace") if isinstance(text, bytes) else text for text in sample]
    if not any(text.strip() for text in sample):
        raise ValueError(f"texts must include one that is not blank; received {len(sample)} texts, all blank.")
    return sample
