"""The files of an interrupted run: checksummed to detect any changed byte, and read without trusting their content."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from dense_lstm_zoo import files

FORMAT = 2  # format 1 had no checksum
_SEAL = "seal"


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write a state as JSON with its sha256, whole or not at all."""
    state = {"format": FORMAT, **state}
    files.write_json(path, {**state, _SEAL: _seal(state)})


def read_state(path: Path) -> dict[str, Any]:
    """Return what ``write_state`` wrote.

    Raises:
        ValueError: It was changed since, or is not a state file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        state = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(state, dict):
        raise ValueError(f"it holds a {type(state).__name__}, not an object")
    seal = state.pop(_SEAL, None)
    if state.get("format") == 1 and seal is None:
        return state
    if state.get("format") != FORMAT:
        raise ValueError(f"it has format {state.get('format')!r}; this version reads format {FORMAT}")
    if seal != _seal(state) or text != files.to_json({**state, _SEAL: seal}):
        raise ValueError("it was changed since it was written")
    return state


def read_progress(state: dict[str, Any], monitor: str) -> tuple[list[dict[str, float]], int, dict[str, str]]:
    """Return the history, the best epoch and the file checksums of a state.

    Raises:
        ValueError: One of them is missing or not what it should be.
    """
    history, best, sums = (state.get(name) for name in ("history", "best_epoch", "sha256"))
    if not isinstance(history, list) or not all(isinstance(row, dict) for row in history):
        raise ValueError("its history is not a list of epochs")
    for row in history:
        for name, value in {monitor: None, **row}.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{name} of an epoch is {value!r}, not a number")
    if isinstance(best, bool) or not isinstance(best, int) or not 1 <= best <= len(history):
        raise ValueError(f"its best epoch is {best!r}, of {len(history)}")
    if not isinstance(sums, dict):
        raise ValueError("it has no checksums")
    return history, best, sums


def read_arrays(path: Path, variables: Sequence[keras.Variable]) -> list[np.ndarray]:
    """Return the arrays of an npz file, one for each variable, after comparing shapes before memory is allocated.

    Raises:
        ValueError: The file holds something else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [f"arr_{i}.npy" for i in range(len(variables))]
            if archive.namelist() != names:
                raise ValueError(f"it holds {len(archive.namelist())} arrays for {len(names)} variables")
            for name, variable in zip(names, variables, strict=True):
                if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"{name} is compressed")
                shape = _shape(archive, name)
                if shape != tuple(variable.shape):
                    raise ValueError(f"{name} has shape {shape}; {variable.path} has {tuple(variable.shape)}")
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name.removesuffix(".npy")] for name in names]
    except (OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from None


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError(f"{name} has NumPy format {version}")
        shape, _, _ = read(file)
    return shape


def _seal(state: dict[str, Any]) -> str:
    return hashlib.sha256(files.to_json(state).encode()).hexdigest()
