"""CPU seconds of a first answer on the command line, each in a fresh process: imports, loading and one text.

Exports to ONNX in a bundle's folder are left out, so that TensorFlow answers. It prints the median, lowest and highest
of all repeats. From the repository's root:

    python -m benchmarks.first_answer predict RUN predict TAGGER score LANGUAGE_MODEL next-words LANGUAGE_MODEL
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from dense_lstm_zoo.measuring.turns import take_turns
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER

TEXT = "Who was Galileo ?"


def cpu_seconds(command: list[str]) -> float:
    """Return the user and system seconds of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for
    if process.returncode:
        raise SystemExit(f"error: {' '.join(command)} ended with {process.returncode}.")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure each command, one repeat of all after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="COMMAND BUNDLE", help="a command and the folder of a bundle")
    parser.add_argument("--repeats", type=int, default=5, help="fresh processes per command (default: 5)")
    options = parser.parse_args()
    if len(options.pairs) % 2 or options.repeats < 1:
        parser.error("give each command its bundle, and at least one repeat")
    with tempfile.TemporaryDirectory() as work:
        commands = {"import tensorflow_text": [sys.executable, "-c", "import tensorflow_text"]}
        for number, (command, bundle) in enumerate(zip(options.pairs[::2], options.pairs[1::2], strict=True)):
            copy = Path(work) / str(number)
            shutil.copytree(bundle, copy, ignore=shutil.ignore_patterns(SUBFOLDER))
            name = f"{command} {Path(bundle).name}"
            commands[name] = [sys.executable, "-m", "dense_lstm_zoo", command, str(copy), TEXT]
        turns = take_turns({name: partial(cpu_seconds, words) for name, words in commands.items()}, options.repeats)
    for name, seconds in turns.items():
        print(f"{name:<48} {statistics.median(seconds):5.2f} ({min(seconds):.2f} - {max(seconds):.2f})")


if __name__ == "__main__":
    main()
