"""CPU seconds of two or more ways to the same training, in turns: measuring them, and their rows in results/."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dense_lstm_zoo import machine
from tuning import protocols, result_files
from tuning.table_cells import rows_table

RESULTS = result_files.ROOT / "results" / "cpu_seconds.csv"


def of(work: Callable[[], Any]) -> float:
    """Return the CPU seconds that this process spends on some work."""
    before = _so_far()
    work()
    return _so_far() - before


def _so_far() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def write(
    work: str,
    dataset: str,
    seconds: Mapping[str, Sequence[float]],
    command: str,
    perplexities: Mapping[str, str] | None = None,
) -> None:
    """Put a row for each way into results/cpu_seconds.csv, with its dev perplexity if there is one, and print it."""
    shared = {"processor": machine.processor(), "cores": str(machine.cores())}
    shared |= {"versions": protocols.read_versions({"versions": machine.versions()}), "command": command}
    rows = []
    for way, values in seconds.items():
        row = {"what": work, "dataset": dataset, "way": way, "cpu_s": f"{statistics.median(values):.1f}"}
        row |= {"cpu_s_low": f"{min(values):.1f}", "cpu_s_high": f"{max(values):.1f}", "repeats": str(len(values))}
        row |= {"dev_perplexity": (perplexities or {}).get(way, "")}
        print(" ".join(f"{name}={value}" for name, value in row.items()))
        rows.append(row | shared)
    result_files.merge(RESULTS, rows, ["what", "dataset", "way"])


def table() -> str:
    """Return the table of CPU seconds."""
    return rows_table(
        result_files.read_rows(RESULTS),
        ["what", "dataset"],
        ("what", "corpus", "way", "CPU seconds", "repeats", "dev perplexity"),
        lambda row: (
            *(row.what, row.dataset, row.way, f"{row.cpu_s} ({row.cpu_s_low} to {row.cpu_s_high})", row.repeats),
            row.dev_perplexity or "-",
        ),
    )
