"""Time and memory that `read_vectors` takes for a large plain text file when a tenth of its words are wanted.

Run from the repository's root: ``python -m benchmarks.vectors`` (a minute, 1 GB in a temporary folder).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_DIM = 300

# A fresh process for each reading: a peak of memory is the process's, and never goes down.
_READ = """
import json, resource, sys, time
from dense_lstm_zoo.data.vectors import read_vectors
path, lines = sys.argv[1], int(sys.argv[2])
words = {f"w{i}" for i in range(0, lines, 10)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
vectors = read_vectors(path, words=words)
seconds = time.perf_counter() - start
# ru_maxrss is in kilobytes on Linux, in bytes on macOS.
unit = 1 if sys.platform == "darwin" else 1024
peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit - vectors.matrix.nbytes
assert len(vectors.words) == len(words), vectors.report
print(json.dumps({"seconds": seconds, "peak_mb": peak / 1e6}))
"""


def write_file(path: Path, lines: int) -> None:
    """Write ``lines`` words, w0, w1, ..., each with 300 numbers of five decimals: the same file every time."""
    source = random.Random(0)
    # Formatting 120 million numbers would take longer than all readings; 997 vectors take turns.
    numbers = [" ".join(f"{source.gauss(0, 0.4):.5f}" for _ in range(_DIM)) for _ in range(997)]
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"w{i} {numbers[i % 997]}\n" for i in range(lines))


def measure(lines: int = 400_000, repeats: int = 3) -> dict[str, list[float]]:
    """Return ``lines_per_second`` and ``peak_mb`` (beyond the imports and the matrix kept) of each repeat."""
    results: dict[str, list[float]] = {"lines_per_second": [], "peak_mb": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.txt")
        write_file(path, lines)
        root = Path(__file__).parents[1]
        for _ in range(repeats):
            command = [sys.executable, "-c", _READ, str(path), str(lines)]
            printed = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout
            result = json.loads(printed.splitlines()[-1])
            results["lines_per_second"].append(lines / result["seconds"])
            results["peak_mb"].append(result["peak_mb"])
    return results


def main(arguments: list[str] | None = None) -> dict[str, list[float]]:
    """Measure, print medians with the lowest and highest value, and return every value."""
    parser = argparse.ArgumentParser(
        description="Writes a text file of word vectors (300 numbers each) into a temporary folder, reads it with a "
        "tenth of its words wanted, each time in a fresh process, and removes it.",
        epilog="Example: python -m benchmarks.vectors --lines 50000    (a quick look, 130 MB). "
        "Memory is the peak beyond the imports, without the matrix of the words kept.",
    )
    parser.add_argument("--lines", type=int, default=400_000, help="words in the file, 2.6 kB each (default: 400000)")
    parser.add_argument("--repeats", type=int, default=3, help="readings, each in a fresh process (default: 3)")
    options = parser.parse_args(arguments)
    if options.lines < 1 or options.repeats < 1:
        parser.error("--lines and --repeats must be at least 1")
    results = measure(options.lines, options.repeats)
    for name, unit in (("lines_per_second", "lines per second"), ("peak_mb", "MB of memory at the peak")):
        values = results[name]
        print(f"{statistics.median(values):,.0f} {unit} (from {min(values):,.0f} to {max(values):,.0f})")
    return results


if __name__ == "__main__":
    main()
