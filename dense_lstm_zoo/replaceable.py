"""What ``overwrite`` may replace: a folder of the kind that is written, never somebody's other files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from dense_lstm_zoo import in_place
from dense_lstm_zoo_runtime.export_folder import is_export

Kind = Literal["bundle", "export", "word table", "any"]

_WEIGHTS, _TABLE, _SAVED_MODEL = "model.weights.h5", "vectors.npy", "saved_model.pb"


def check(folder: Path, kind: Kind) -> None:
    """Raise ``FileExistsError`` if a folder holds files and is of another kind; one that is not there is none.

    Args:
        folder: The folder that is to be overwritten.
        kind: ``"bundle"`` (a run, a preset and a text encoder are bundles), ``"export"`` or ``"word table"``; ``"any"``
            if the caller has made sure by itself.
    """
    if kind == "any" or not folder.is_dir() or not in_place.content(folder):
        return
    found = _kind(folder)
    if found != kind:
        what = f"is {_named(found)}, not {_named(kind)}" if found else f"is not {_named(kind)}, and holds files"
        raise FileExistsError(f"{folder} {what}: it is not overwritten. Choose another folder, or remove it.")


def _kind(folder: Path) -> Kind | None:
    if (folder / _WEIGHTS).exists():
        return "bundle"
    if (folder / _TABLE).exists():
        return "word table"
    return "export" if (folder / _SAVED_MODEL).exists() or is_export(folder) else None


def _named(kind: str) -> str:
    return f"{'an' if kind == 'export' else 'a'} {kind}"
