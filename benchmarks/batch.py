"""Batch predictions: texts per second with 1 and 2 processes, beside ``predict --file``, and memory over time.

Each way is one command in a process of its own, over the same made texts: words of the model's vocabulary, with lengths
like those of SST-2 (19 words on average, at most 60). Rows go to results/batch.csv. docs/batch.md shows them. From the
repository's root, with nothing else running:

    python -m benchmarks.batch dc_bilstm_sst2 --texts 1000000
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.batch import check_beam
from dense_lstm_zoo_runtime import export_folder, sources
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "batch.csv"
KEY = ["model", "command", "processes", "texts"]
FILES = 8
_MEDIAN, _SPREAD, _LONGEST = 17, 0.45, 60  # words of a text: a log-normal distribution
_EVERY = 0.5  # seconds between looks at the memory


@dataclass(frozen=True)
class Way:
    """A way to predict the files: the name and the processes of its row, and its command."""

    name: str
    processes: int
    arguments: list[str]


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and of processors, and the memory of all processes together at each look, in MB."""

    seconds: float
    cpu: float
    memory: list[float]

    def between(self, begin: float, end: float) -> float:
        """Return the highest memory between two shares of the time.

        Example:
            >>> Cost(4.0, 4.0, [1.0, 9.0, 3.0, 4.0]).between(0.5, 1)
            4.0
        """
        count = len(self.memory)
        return max(self.memory[int(begin * count) : max(int(end * count), int(begin * count) + 1)])


def texts(words: Sequence[str], count: int, seed: int = 1) -> Iterator[str]:
    """Yield made texts. The same seed gives the same ones.

    Example:
        >>> [len(text.split()) for text in texts(["a", "b"], 5)]
        [20, 25, 20, 9, 26]
    """
    draw = np.random.default_rng(seed)
    lengths = np.clip(np.round(draw.lognormal(np.log(_MEDIAN), _SPREAD, count)), 2, _LONGEST).astype(int)
    for length in lengths:
        yield " ".join(words[i] for i in draw.integers(0, len(words), length))


def write(folder: Path, words: Sequence[str], count: int) -> float:
    """Write ``FILES`` files of JSON lines and one with all of them. Return the words per text."""
    index = total = 0
    with (folder / "all.jsonl").open("w") as single:
        for number, size in enumerate(len(part) for part in np.array_split(np.arange(count), FILES)):
            with (folder / f"part{number}.jsonl").open("w") as file:
                for text in texts(words, size, seed=number):
                    line = json.dumps({"id": index, "text": text}) + "\n"
                    file.write(line)
                    single.write(line)
                    index, total = index + 1, total + text.count(" ") + 1
    return total / count


def ways(model: str, folder: Path, names: Sequence[str]) -> list[Way]:
    """Return what is compared: ``predict --file`` for "file", and ``predict-batch`` for a number of processes."""
    program, choices = [sys.executable, "-m", "dense_lstm_zoo"], []
    for way in names:
        if way == "file":
            files = ["--file", str(folder / "all.jsonl"), "--output", str(folder / "one.jsonl")]
            choices.append(Way("predict --file", 1, [*program, "predict", model, *files]))
            continue
        files = ["--input", str(folder / "part*.jsonl"), "--output", str(folder / f"batch{way}")]
        several = [f"--direct_num_workers={way}", "--direct_running_mode=multi_processing"] if way != "1" else []
        choices.append(Way("predict-batch", int(way), [*program, "predict-batch", "--model", model, *files, *several]))
    return choices


def cost(arguments: Sequence[str]) -> Cost:
    """Run a command and return what it cost.

    Raises:
        RuntimeError: It failed. The message is what it printed.
    """
    memory: list[float] = []
    before, start = _cpu(), time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=errors, text=True)
        while process.poll() is None:
            memory.append(sum(map(_memory, [process.pid, *_children(process.pid)])))
            time.sleep(_EVERY)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"{' '.join(arguments)} failed: {errors.read()[-500:]}")
    return Cost(time.monotonic() - start, _cpu() - before, memory)


def row(model: str, way: Way, resources: Cost, count: int, words: float) -> dict[str, Any]:
    """Return the row of a way."""
    return {
        "model": model,
        "command": way.name,
        "processes": way.processes,
        "texts": count,
        "words_per_text": round(words, 1),
        "seconds": round(resources.seconds, 1),
        "texts_per_s": round(count / resources.seconds, 1),
        "cpu_ms_per_text": round(1000 * resources.cpu / count, 3),
        "peak_mb": round(max(resources.memory)),
        "mb_second_quarter": round(resources.between(0.25, 0.5)),
        "mb_last_quarter": round(resources.between(0.75, 1)),
    }


def table(rows: Sequence[dict[str, str]]) -> str:
    """Return the rows as docs/batch.md shows them."""
    lines = [
        "| command | processes | texts | texts/s | CPU per text | peak memory | in its second and last quarter |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        memory = (
            f"{int(row['peak_mb']):,} MB | {int(row['mb_second_quarter']):,} and {int(row['mb_last_quarter']):,} MB"
        )
        rate = result_files.rounded(row["texts_per_s"], "1")
        cost = result_files.rounded(row["cpu_ms_per_text"], "0.01")
        speed = f"{int(row['texts']):,} | {rate:,} | {cost} ms"
        lines.append(f"| `{row['command']}` | {row['processes']} | {speed} | {memory} |")
    return "\n".join(lines)


def _cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _memory(pid: int) -> float:
    """Return a process's share of memory in MB. Pages that processes share are counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _children(pid: int) -> list[int]:
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(child) for child in (task / "children").read_text().split() if int(child) not in children]
    except OSError:
        return []
    return [each for child in children for each in (child, *_children(child))]


def main() -> None:
    """Measure each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a preset's name, or the folder of a run with an export in onnx/")
    parser.add_argument("--texts", type=int, default=1_000_000, metavar="N", help="how many texts (default: 1000000)")
    parser.add_argument(
        "--ways",
        nargs="+",
        default=["file", "1", "2"],
        metavar="WAY",
        help='"file", or a number of processes of predict-batch (default: file 1 2)',
    )
    options = parser.parse_args()
    with protocols.plain_errors(), tempfile.TemporaryDirectory() as work:
        checks.integer("--texts", options.texts, minimum=FILES)
        for way in options.ways:
            checks.one_of("--ways", way, ["file", *map(str, range(1, 65))])
        check_beam()
        export = export_folder.read_export(sources.find(options.model))
        words = [word for word in export.words if word.isalpha()][:20_000]
        mean = write(Path(work), words, options.texts)
        shared = {"processor": machine.processor(), "cores": machine.cores()}
        versions = machine.versions() | {
            package: importlib.metadata.version(package) for package in ("apache-beam", "onnxruntime")
        }
        shared["versions"] = " ".join(f"{name}={version}" for name, version in versions.items())
        shared["script"] = " ".join(["python -m benchmarks.batch", *sys.argv[1:]])
        for way in ways(options.model, Path(work), options.ways):
            load = machine.load_average()
            result = row(Path(options.model).name, way, cost(way.arguments), options.texts, mean)
            result_files.merge(RESULTS, [{**result, "load_average": load, **shared}], KEY)
            print(result, flush=True)


if __name__ == "__main__":
    main()
