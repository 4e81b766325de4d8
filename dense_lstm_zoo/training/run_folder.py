"""The folder a run uses beside its bundle, and what a kill may leave there."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from dense_lstm_zoo.storage import files, temporary
from dense_lstm_zoo.storage.lock import Lock


def state_folder(run_dir: Path) -> Path:
    """Return the folder for the state of an unfinished run."""
    return files.beside(run_dir, ".unfinished")


def tidy(run_dir: Path) -> None:
    """Remove the state of a run that was killed after its bundle was written."""
    state_dir = state_folder(run_dir)
    temporary.sweep(state_dir)
    remains = (run_dir / "manifest.json", run_dir / "config.json", state_dir / "state.json")
    if not all(path.is_file() for path in remains):
        return
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # not this run's: leave it alone
        settings = json.loads((state_dir / "state.json").read_text(encoding="utf-8"))["settings"]
        if settings == json.loads((run_dir / "config.json").read_text(encoding="utf-8")):
            with Lock(state_dir / "lock", "It is held."):
                files.remove_folder(state_dir)
