"""Run notebooks from top to bottom and keep what they show: ``python notebooks/execute.py [NOTEBOOK ...]``.

TensorFlow's start-up messages, which name the machine's parts, are left out.
"""

import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat


def execute(path: Path) -> None:
    """Run one notebook in a folder that is then deleted, and write it back."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for notebook in sys.argv[1:] or sorted(Path(__file__).parent.glob("*.ipynb")):
        print(notebook, flush=True)
        execute(Path(notebook))
