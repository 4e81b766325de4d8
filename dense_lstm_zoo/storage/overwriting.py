"""The rule for ``overwrite``: it replaces a folder of the kind that is written, never somebody's other files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from dense_lstm_zoo.storage import bundle_names, export_names, mounted, temporary
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER, is_export

Kind = Literal["bundle", "export", "word table", "any"]

_WEIGHTS, _TABLE, _SAVED_MODEL, _MANIFEST = "model.weights.h5", "vectors.npy", "saved_model.pb", "manifest.json"
_CARD, _CONFIG, _SIGNATURES = "README.md", "config.json", "SIGNATURES.md"
# Also what is written for people, and what a manifest that is damaged, or of an earlier version, does not list.
_OWN: dict[str, frozenset[str]] = {
    "bundle": bundle_names.ALL,
    "export": frozenset(
        {_CARD, _CONFIG, _MANIFEST, _SIGNATURES, _SAVED_MODEL, "fingerprint.pb", "keras_metadata.pb", "model.onnx"}
        | {"score.onnx", "weights.bin", "vocabulary.txt", bundle_names.SHARED_ROWS}
    ),
    "word table": frozenset({_CARD, _CONFIG, _MANIFEST, _TABLE, "words.txt", "scales.npy"}),
}
# The folders of a SavedModel, with patterns of the files in them. We write no assets.
_FOLDERS = {
    "variables": r"variables\.(index|data-\d+-of-\d+)",
    "assets": r"(?!)",
    export_names.FOLDER: "|".join(map(re.escape, export_names.ALL)),
}


def check(folder: Path, kind: Kind) -> None:
    """Raise ``FileExistsError`` if a folder is of another kind, or holds what is not of that kind.

    Args:
        folder: The folder that is to be overwritten. One that is not there, or is empty, may be.
        kind: ``"bundle"`` (a run, a preset and a text encoder are bundles), ``"export"`` or ``"word table"``. ``"any"``
            if the caller has made sure by itself.
    """
    if kind == "any" or not folder.is_dir():
        return
    # What belongs to a volume stays in one that is filled in place. Any other folder is removed with all that it holds.
    entries = mounted.content(folder) if mounted.is_needed(folder.resolve()) else sorted(folder.iterdir())
    if not entries:
        return
    current = _kind(folder)
    if current != kind:
        problem = (
            f"is {_with_article(current)}, not {_with_article(kind)}"
            if current
            else f"is not {_with_article(kind)}, and holds files"
        )
        raise FileExistsError(f"{folder} {problem}: it is not overwritten. Choose another folder, or remove it.")
    sums = _sums(folder)
    if extra := sorted(name for entry in entries for name in _foreign(entry, kind, sums)):
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        raise FileExistsError(
            f"{folder} also holds {extra[0]!r}{more}, which {_with_article(kind)} does not have: it is not "
            "overwritten. Move that elsewhere, or choose another folder."
        )


def _kind(folder: Path) -> Kind | None:
    """Return what a folder is, by its main file and by one that only this package writes beside it.

    The names of the main files alone are also those of others: Keras, NumPy and TensorFlow.
    """
    config = _read(folder / _CONFIG)
    if (folder / _WEIGHTS).is_file() and ({"model", "arguments"} <= config.keys() or _WEIGHTS in _sums(folder)):
        return "bundle"
    if (folder / _TABLE).is_file() and {"name", "sha256"} <= config.keys():
        return "word table"
    signs = (_SIGNATURES, f"{export_names.FOLDER}/{export_names.OPS}")
    if (folder / _SAVED_MODEL).is_file() and any((folder / sign).is_file() for sign in signs):
        return "export"
    return "export" if is_export(folder) else None


def _foreign(entry: Path, kind: Kind, sums: Mapping[str, object]) -> list[str]:
    """Return the names of what a folder's entry has that is not of the kind: its own, or those in it."""
    if temporary.target_of(entry.name) in {*_OWN[kind], *([SUBFOLDER] if kind == "bundle" else [])}:
        return []  # half-written by a killed process
    if not entry.is_dir():
        return [] if entry.name in _OWN[kind] or _is_listed(entry, sums) else [entry.name]
    if kind == "export" and entry.name in _FOLDERS:
        inside = [e for e in entry.iterdir() if e.is_dir() or not re.fullmatch(_FOLDERS[entry.name], e.name)]
        return [f"{entry.name}/{e.name}" for e in inside]
    if kind == "bundle" and entry.name == SUBFOLDER and is_export(entry):
        check(entry, "export")
        return []
    return [entry.name]


def _is_listed(file: Path, sums: Mapping[str, object]) -> bool:
    """Return whether a file is the one that the manifest lists, and not another one of that name."""
    if file.name not in sums or not file.is_file():
        return False
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == sums[file.name]


def _sums(folder: Path) -> dict[str, object]:
    """Return the checksums in a folder's manifest by the names of the files, if there is one that can be read."""
    sums = _read(folder / _MANIFEST).get("sha256")
    return sums if isinstance(sums, dict) else {}


def _read(file: Path) -> dict[str, object]:
    """Return the JSON object in a file, or an empty one if it holds none."""
    if not file.is_file():  # a pipe would wait for its writer
        return {}
    try:
        content = json.JSONDecoder().raw_decode(file.read_text(encoding="utf-8"))[0]  # a manifest has a line behind it
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _with_article(kind: str) -> str:
    return f"{'an' if kind == 'export' else 'a'} {kind}"
