"""The rule for ``overwrite``: it replaces a folder of the kind that is written, never somebody's other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from dense_lstm_zoo.storage import bundle_names, export_names, mounted
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER, is_export

Kind = Literal["bundle", "export", "word table", "any"]

_WEIGHTS, _TABLE, _SAVED_MODEL, _MANIFEST = "model.weights.h5", "vectors.npy", "saved_model.pb", "manifest.json"
_CARD, _CONFIG = "README.md", "config.json"
_OF_TENSORFLOW = ("fingerprint.pb", "keras_metadata.pb", "variables", "assets", export_names.FOLDER)
# Also what is written for people, and what a manifest that is damaged, or of an earlier version, does not list.
_OWN: dict[str, frozenset[str]] = {
    "bundle": bundle_names.ALL,
    "export": frozenset({_CARD, _CONFIG, "SIGNATURES.md", *_OF_TENSORFLOW}),
    "word table": frozenset({_CARD, _CONFIG, "words.txt", "scales.npy"}),
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
    entries = mounted.content(folder)
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
    own = {_WEIGHTS, _TABLE, _SAVED_MODEL, _MANIFEST, *_OWN[kind], *_manifest_names(folder)}
    if kind == "bundle" and is_export(folder / SUBFOLDER):
        check(folder / SUBFOLDER, "export")
        own.add(SUBFOLDER)
    names = [entry.name for entry in entries]
    if kind == "export" and (folder / export_names.FOLDER).is_dir():
        names += [f"{export_names.FOLDER}/{entry.name}" for entry in mounted.content(folder / export_names.FOLDER)]
        own |= {f"{export_names.FOLDER}/{name}" for name in export_names.ALL}
    if extra := sorted(name for name in names if name not in own):
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        raise FileExistsError(
            f"{folder} also holds {extra[0]!r}{more}, which {_with_article(kind)} does not have: it is not "
            "overwritten. Move that elsewhere, or choose another folder."
        )


def _kind(folder: Path) -> Kind | None:
    if (folder / _WEIGHTS).exists():
        return "bundle"
    if (folder / _TABLE).exists():
        return "word table"
    return "export" if (folder / _SAVED_MODEL).exists() or is_export(folder) else None


def _manifest_names(folder: Path) -> set[str]:
    """Return the names in a folder's manifest, if there is one that can be read."""
    if not (folder / _MANIFEST).is_file():  # a pipe would wait for its writer
        return set()
    try:
        text = (folder / _MANIFEST).read_text(encoding="utf-8")
        return set(json.JSONDecoder().raw_decode(text)[0]["sha256"])  # a bundle's manifest ends with a line of its own
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return set()


def _with_article(kind: str) -> str:
    return f"{'an' if kind == 'export' else 'a'} {kind}"
