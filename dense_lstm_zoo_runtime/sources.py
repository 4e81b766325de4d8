"""Finding exports: a folder, or the name of an installed preset."""

from __future__ import annotations

import os
from pathlib import Path

from dense_lstm_zoo_runtime import checks, export_folder, install
from dense_lstm_zoo_runtime.errors import ExportError
from dense_lstm_zoo_runtime.paths import user_path
from dense_lstm_zoo_runtime.word_table import presets_folder


def find(source: str | os.PathLike[str]) -> Path:
    """Return the folder of an export.

    Args:
        source: An export's folder, a bundle's folder that holds one in ``onnx``, or an installed preset's name. A
            folder wins over a preset of the same name.

    Raises:
        ExportError: A folder that is not and does not hold an export.
        FileNotFoundError: No such folder, and no presets are installed.
        ValueError: No such preset, with near matches.
    """
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"Predictor takes a folder or a preset's name; received {source!r:.80}.")
    text = os.fspath(source)
    path = user_path(text)
    if path.is_dir():
        return export_folder.find(path)
    if path.exists():
        raise ExportError(f"{path} is a file; an ONNX export is a folder.")
    if Path(text).name != text:
        raise FileNotFoundError(f"{text} does not exist; Predictor takes an export's folder or a preset's name.")
    presets = installed()
    if not presets:
        raise FileNotFoundError(f"{text} is not a folder, and no presets are installed: {install.PRESETS}.")
    if text not in presets:
        raise ValueError(f"{checks.unknown_name('preset', text, presets)} {text} is not a folder either.")
    return export_folder.find(presets[text])


def installed() -> dict[str, Path]:
    """Return the folders of the installed presets that hold an export, by name."""
    folder = presets_folder()
    if folder is None or not (folder / "models").is_dir():
        return {}
    folders = sorted(path for path in (folder / "models").iterdir() if path.is_dir())
    return {path.name: path for path in folders}
