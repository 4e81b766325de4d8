"""The folders to measure: found, checked and named before any work."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.storage import export_names
from dense_lstm_zoo_runtime.paths import user_path

_ONNX = "model.onnx"
_GRAPH, _OPS = "saved_model.pb", f"{export_names.FOLDER}/{export_names.OPS}"  # present in every export
_EXPORT_FILES = (_GRAPH, _OPS, "variables/variables.index")


@dataclass(frozen=True)
class Run:
    """A bundle or an export.

    Args:
        path: Its folder, as the user wrote it.
        kind: ``"bundle"``, ``"export"`` (a SavedModel) or ``"onnx"``.
        name: Its name in results, which is never an absolute path.
    """

    path: Path
    kind: str
    name: str


def find(paths: Sequence[str | os.PathLike[str]]) -> list[Run]:
    """Return the runs in these folders, or those of presets that are named, in order.

    Raises:
        FileNotFoundError: No such folder. The message names similar ones.
        ValueError: No folders, a folder given twice, or one that is neither bundle nor export. The message names
            those inside it. Also for a damaged bundle (``BundleError``), or an export with a file missing.
    """
    paths = [presets.open_folder(path) if isinstance(path, str) and presets.is_meant(path) else path for path in paths]
    if not paths:
        raise ValueError("There is nothing to measure; give at least one bundle or export.")
    folders = [user_path(path) for path in paths]
    paths_of: dict[Path, Path] = {}
    for path in folders:
        real = path.resolve()
        if real in paths_of:
            also = "" if paths_of[real] == path else f", also as {paths_of[real]}"
            raise ValueError(f"{path} is given twice{also}; give each folder once.")
        paths_of[real] = path
    kinds = ["bundle" if isinstance(path, BundleFolder) else check(user_path(path)) for path in paths]
    return [Run(*fields) for fields in zip(folders, kinds, names(folders), strict=True)]


def check(path: Path) -> str:
    """Return ``"bundle"``, ``"export"`` or ``"onnx"`` for a complete one, else raise as ``find`` does."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.{_hint(_similar(path))}")
    if not path.is_dir():
        raise ValueError(f"{path} is a file; give the folder that train or export wrote.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be read: no permission.")
    if (path / _GRAPH).is_file():
        missing = next((name for name in _EXPORT_FILES if not (path / name).is_file()), None)
        if missing == _OPS:
            raise ValueError(f"{path} is a SavedModel that export did not write: it has no {_OPS}.")
        if missing is not None or not (path / _GRAPH).stat().st_size:
            raise ValueError(f"{path} is a damaged export: {missing or _GRAPH} is {'missing' if missing else 'empty'}.")
        return "export"
    if (path / _ONNX).is_file():
        return "onnx"  # its loader checks its files
    if (path / "manifest.json").exists() or (path / "config.json").exists():
        BundleFolder.open(path)
        return "bundle"
    raise ValueError(
        f"{path} is neither a bundle (it has no manifest.json) nor an export (no {_GRAPH}, no {_ONNX})."
        f"{_hint([*_inside(path), *_similar(path)])}"
    )


def names(paths: Sequence[Path]) -> list[str]:
    """Return names for folders: relative paths unchanged, absolute paths cut to the last parts that identify them.

    Example:
        >>> names([Path("runs/a"), Path("/data/exports/trec/1"), Path("/data/exports/mr/1")])
        ['runs/a', 'trec/1', 'mr/1']
    """
    short_names = []
    for path in paths:
        if not path.is_absolute():
            short_names.append(str(path))
            continue
        others = [other.parts for other in paths if other is not path]
        parts = path.parts[1:]
        # TF Serving's version numbers identify nothing on their own.
        fewest = 2 if path.name.isdigit() else 1
        count = next((n for n in range(fewest, len(parts)) if all(o[-n:] != parts[-n:] for o in others)), len(parts))
        short_names.append("/".join(parts[-count:]) or "/")
    return short_names


def size_mb(path: Path) -> float:
    """Return the size of all files in a folder, in MB of 2**20 bytes. Links are not followed."""
    files = (file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files) / 2**20


def _is_run(path: Path) -> bool:
    return (path / _GRAPH).is_file() or (path / "manifest.json").is_file()


def _inside(path: Path) -> list[Path]:
    """Return bundles and exports in a folder, at most two levels down, such as exports/trec/1 in exports."""
    return sorted({file.parent for name in (_GRAPH, "manifest.json") for file in _glob(path, name)})


def _glob(path: Path, name: str) -> Iterable[Path]:
    return [*path.glob(f"*/{name}"), *path.glob(f"*/*/{name}")]


def _similar(path: Path) -> list[Path]:
    """Return bundles and exports beside a path with similar names."""
    if not path.parent.is_dir():
        return []
    beside = {other.name: other for other in path.parent.iterdir() if other.name != path.name and _is_run(other)}
    return [beside[name] for name in difflib.get_close_matches(path.name, beside, n=3)]


def _hint(near: list[Path]) -> str:
    if not near:
        return ""
    more = f" ({len(near) - 3} more are there)" if len(near) > 3 else ""
    return f" Did you mean {' or '.join(map(str, near[:3]))}?{more}"
