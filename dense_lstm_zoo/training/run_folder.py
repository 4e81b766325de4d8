"""What a run writes beside its bundle, and what a kill may leave there."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from dense_lstm_zoo import files, leftovers


def state_folder(run_dir: Path) -> Path:
    """Return where the state of an unfinished run is kept."""
    return files.beside(run_dir, ".unfinished")


def tidy(run_dir: Path) -> None:
    """Remove the state of a run whose bundle is written: a kill came between the two."""
    state_dir = state_folder(run_dir)
    leftovers.sweep(state_dir)
    if not (run_dir / "manifest.json").is_file() or not state_dir.is_dir():
        return
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # it is another run's, or no run's: left alone
        settings = json.loads((state_dir / "state.json").read_text(encoding="utf-8"))["settings"]
        if settings == json.loads((run_dir / "config.json").read_text(encoding="utf-8")):
            with files.Lock(state_dir / "lock", "It is held."):
                files.remove_folder(state_dir)
