"""The files of an interrupted run: checksummed to detect any changed byte, and read without trusting their content."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo.storage import files

FORMAT = 3
_SEAL = "seal"


class OtherVersionError(ValueError):
    """A state in the format of another version. The message names both formats."""


@dataclass(frozen=True)
class Inside:
    """A place inside an epoch: the number of batches that are done, and the states of callbacks by ``KEY``."""

    batches: int
    callbacks: Mapping[str, Mapping[str, float]]


@dataclass
class Progress:
    """The progress of a run: its finished epochs, the best of them, and its place inside the next."""

    history: list[dict[str, float]]
    best_epoch: int | None = None
    inside: Inside | None = None

    def state_name(self) -> str:
        """Return the name of the file of everything that training changes."""
        return f"epoch-{len(self.history)}{f'-batch-{self.inside.batches}' if self.inside else ''}.npz"

    def best_name(self) -> str | None:
        """Return the name of the file of the best epoch's weights, or None before there is one."""
        return None if self.best_epoch is None else f"best-{self.best_epoch}.npz"

    def names(self) -> list[str]:
        """Return the names of both files."""
        return [name for name in (self.state_name(), self.best_name()) if name]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write a state as JSON with its sha256, whole or not at all."""
    state = {"format": FORMAT, **state}
    files.write_json(path, {**state, _SEAL: _seal(state)})


def read_state(path: Path) -> dict[str, Any]:
    """Return what ``write_state`` wrote.

    Raises:
        OtherVersionError: Another version wrote it.
        ValueError: It was changed since, or is not a state file.
    """
    if path.exists() and not path.is_file():  # a pipe would wait for its writer
        raise ValueError("it is not a file")
    try:
        text = path.read_text(encoding="utf-8")
        state = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(state, dict):
        raise ValueError(f"it holds a {type(state).__name__}, not an object")
    seal = state.pop(_SEAL, None)
    has_no_seal = state.get("format") == 1 and seal is None  # the first format had none
    if not has_no_seal and (seal != _seal(state) or text != files.to_json({**state, _SEAL: seal})):
        raise ValueError("it was changed since it was written")
    if state.get("format") != FORMAT:
        raise OtherVersionError(f"state format {state.get('format')!r}; this version reads {FORMAT}")
    return state


def read_progress(state: dict[str, Any], monitor: str) -> tuple[Progress, dict[str, str]]:
    """Return how far the run of a state has come, and the checksums of its files.

    Raises:
        ValueError: Part of it is missing or not what it should be.
    """
    history, best, sums = (state.get(name) for name in ("history", "best_epoch", "sha256"))
    inside = None if state.get("inside") is None else _inside(state["inside"])
    if not isinstance(history, list) or not all(isinstance(row, dict) for row in history):
        raise ValueError("its history is not a list of epochs")
    for row in history:
        _check_numbers({monitor: None, **row}, "an epoch")
    no_epoch = best is None and not history and inside
    if not no_epoch and (isinstance(best, bool) or not isinstance(best, int) or not 1 <= best <= len(history)):
        raise ValueError(f"its best epoch is {best!r}, of {len(history)}")
    if not isinstance(sums, dict):
        raise ValueError("it has no checksums")
    return Progress(history, best, inside), sums


def _inside(place: object) -> Inside:
    batches, callbacks = (place.get(name) if isinstance(place, dict) else None for name in ("batches", "callbacks"))
    if isinstance(batches, bool) or not isinstance(batches, int) or batches < 1:
        raise ValueError(f"its number of batches inside an epoch is {batches!r}")
    if not isinstance(callbacks, dict) or not all(isinstance(values, dict) for values in callbacks.values()):
        raise ValueError("it has no states of callbacks")
    for name, values in callbacks.items():
        _check_numbers(values, f"the callback {name}")
    return Inside(batches, callbacks)


def _check_numbers(values: Mapping[str, Any], owner: str) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} of {owner} is {value!r}, not a number")


def read_arrays(path: Path, variables: Sequence[keras.Variable | tf.Variable]) -> list[np.ndarray]:
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
                    own = getattr(variable, "path", variable.name)
                    raise ValueError(f"{name} has shape {shape}; {own} has {tuple(variable.shape)}")
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name.removesuffix(".npy")] for name in names]
    except (OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from None


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(
            version
        )
        if read_header is None:
            raise ValueError(f"{name} has NumPy format {version}")
        shape, _, _ = read_header(file)
    return shape


def _seal(state: dict[str, Any]) -> str:
    return hashlib.sha256(files.to_json(state).encode()).hexdigest()
