"""The figures of README.md: starts the server with several settings and runs the load test on each.

``python measure.py --model EXPORT --csv mine.csv`` replaces the file's rows. Run nothing else
meanwhile. The column ``machine_load`` shows whether something did.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
# What is compared: settings of the server, and of the load. Short, except the last, which shows what memory does.
SHORT = "--requests 4000 --seconds 15"
ROWS = [
    *(("", f"{SHORT} --clients {clients}") for clients in (1, 8, 32)),
    *((f"--max-batch {size}", f"{SHORT} --clients {clients}") for clients in (8, 32) for size in (1, 4, 16, 32)),
    *((f"--max-wait-ms {wait}", f"{SHORT} --clients {clients}") for clients in (1, 8) for wait in (2, 5)),
    *((setting, f"{SHORT} --clients {clients}") for clients in (1, 8) for setting in ("--workers 2", "--threads 2")),
    ("", f"{SHORT} --clients 8 --tokens 1-60"),
    ("", f"{SHORT} --clients 8 --texts 8"),
]
LAST = ("", "--requests {requests} --seconds {seconds} --clients 32")


@contextlib.contextmanager
def server(model: str, port: int, settings: Sequence[str]) -> Iterator[str]:
    """Start the server as a process of its own and give its address, once it can be asked."""
    options = [f"model={model}", "--port", str(port), *settings]
    command = [sys.executable, "-m", "dense_lstm_zoo_runtime.serve", *options]
    with subprocess.Popen(command, cwd=HERE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = list(_until_it_runs(process.stderr))
            match = re.search(r"running on (http://\S+)", lines[-1]) if lines else None
            if match is None:
                raise SystemExit("".join(lines) or "The server did not start.")
            yield match[1]
        finally:
            process.terminate()


def _until_it_runs(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line
        if "running on" in line:
            return


def main() -> None:
    """Measure every row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="an ONNX export's folder or a preset's name")
    parser.add_argument("--csv", type=Path, required=True, help="the file that the rows replace")
    parser.add_argument("--requests", type=int, default=100_000, help="of the last row (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=420, help="at most, for the last row (default %(default)s)")
    parser.add_argument("--port", type=int, default=8765, help="a free port (default %(default)s)")
    parser.add_argument("--only-last", action="store_true", help="append the last row and measure no other")
    options = parser.parse_args()
    model = str(Path(options.model).resolve()) if Path(options.model).exists() else options.model
    target = options.csv.resolve()
    last = (LAST[0], LAST[1].format(requests=options.requests, seconds=options.seconds))
    with tempfile.TemporaryDirectory() as work:
        rows = target if options.only_last else Path(work) / "rows.csv"
        for settings, load in [last] if options.only_last else [*ROWS, last]:
            print(f"\n{settings or 'defaults'}, {load}", flush=True)
            with server(model, options.port, shlex.split(settings)) as url:
                command = [sys.executable, "load.py", *shlex.split(load), "--warm-up", "100", "--url", url]
                subprocess.run([*command, "--csv", str(rows)], cwd=HERE, check=True)
        if rows != target:  # the earlier rows stay until there are others
            replacement = target.with_name(f"{target.name}.new")
            shutil.copyfile(rows, replacement)
            replacement.replace(target)


if __name__ == "__main__":
    main()
