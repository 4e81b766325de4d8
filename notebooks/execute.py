"""Run notebooks from top to bottom and keep what they show: ``python notebooks/execute.py [NOTEBOOK ...]``.

TensorFlow's start-up messages, which name the machine's parts, are left out. Anything else on stderr, such as a
warning, is an error. A cell tagged ``learned`` shows words or a choice that training on another processor may change:
the tests compare its form alone.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

# Lines of TensorFlow's C++ code ("2026-11-23 15:56:59.123456: I tensorflow/...", "E0000 00:00:17...", "WARNING: All log
# messages before absl::...") and how one of them goes on.
_START_UP = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] |[IWE]\d{4} \d\d:\d\d:|WARNING: All log messages before absl"
    r"|To enable the following instructions"
)


def run(path: Path, folder: str | Path, timeout: int = 1800) -> Any:
    """Return a notebook as it is after running in ``folder``."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=timeout, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def complaints(notebook: Any) -> list[str]:
    """Return the lines on stderr that are not TensorFlow's start-up messages."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    lines = [line for output in outputs if output.get("name") == "stderr" for line in output["text"].splitlines()]
    return [line for line in lines if line.strip() and not _START_UP.match(line)]


def execute(path: Path) -> None:
    """Run one notebook in a folder that is then deleted, and write it back."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = run(path, folder)
    if lines := complaints(notebook):
        raise SystemExit(f"{path} is left as it was: it wrote to stderr:\n" + "\n".join(lines))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for notebook in sys.argv[1:] or sorted(Path(__file__).parent.glob("*.ipynb")):
        print(notebook, flush=True)
        execute(Path(notebook))
