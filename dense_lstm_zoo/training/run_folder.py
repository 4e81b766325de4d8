"""The folder a run uses beside its bundle, and what a kill may leave there."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from dense_lstm_zoo.storage import files, work_folders
from dense_lstm_zoo.storage.bundle_names import DEV_CURVE

STATE = "state.json"
_WEIGHTS = r"(epoch-\d+(-batch-\d+)?|best-\d+)\.npz"
_OTHERS = rf"{re.escape(DEV_CURVE)}|(train|dev)\.npy"  # the last two are a language model's encoded text


def state_folder(run_dir: Path) -> Path:
    """Return the folder for the state of an unfinished run."""
    return files.beside(run_dir, ".unfinished")


def is_weights(name: str) -> bool:
    """Return whether a file has a name that a run gives its weights, its optimiser state or its best weights.

    Example:
        >>> is_weights("epoch-2-batch-40.npz"), is_weights("mine.npz")
        (True, False)
    """
    return re.fullmatch(_WEIGHTS, name) is not None


def remove_state(state_dir: Path) -> None:
    """Delete the state of a run, and its folder unless others have put files there."""
    work_folders.remove(state_dir, STATE, f"{_WEIGHTS}|{_OTHERS}")


def tidy(run_dir: Path) -> None:
    """Remove the state of a run that was killed after its bundle was written."""
    state_dir = state_folder(run_dir)
    remains = (run_dir / "manifest.json", run_dir / "config.json", state_dir / work_folders.LOCK)
    if not all(path.is_file() for path in remains):
        return
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # not this run's: leave it alone
        state = state_dir / STATE  # it goes first, and what is left without it is of no use
        config = json.loads((run_dir / "config.json").read_text(encoding="utf-8"))
        settings = json.loads(state.read_text(encoding="utf-8"))["settings"] if state.exists() else config
        if _at_start(settings) == _at_start(config):
            with work_folders.lock(state_dir, "It is held."):
                remove_state(state_dir)


def _at_start(config: dict[str, Any]) -> dict[str, Any]:
    """Return a run's settings without what its end adds: its own files, its fold, and thresholds tuned on dev."""
    training = {name: value for name, value in config["training"].items() if name not in ("files", "fold")}
    return {**{name: value for name, value in config.items() if name != "thresholds"}, "training": training}
