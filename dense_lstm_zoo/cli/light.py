"""Commands that answer without TensorFlow, from an ONNX export: a folder of its own, or one in a bundle's folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import commands
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo_runtime import export_folder
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER
from dense_lstm_zoo_runtime.paths import user_path

Folder = BundleFolder | Path  # a bundle, whose files are checked, or an ONNX export, whose files ``load`` checks


def open_folder(source: str | BundleFolder) -> Folder:
    """Return the folder of a bundle or of an ONNX export."""
    path = user_path(source)
    return path if export_folder.is_export(path) else BundleFolder.open(source)


def read_config(folder: Folder) -> dict[str, Any]:
    """Return the config of a bundle or an ONNX export, which of the training knows the columns that were read."""
    if isinstance(folder, BundleFolder):
        return folder.read_config()
    config = export_folder.read_config(folder)
    return {**config, "training": {"columns": config["columns"]}}


def load(folder: Folder, command: str | None = None, *, once: bool = False) -> Any:
    """Return a bundle, or the light runtime's predictor if its folder is or has an export: it has the same methods.

    A line on standard error says that a bundle's export is used, or why it is not. For ``once``, see ``commands.load``.
    """
    commands.check_command(folder, read_config(folder), command)
    if not isinstance(folder, BundleFolder):
        from dense_lstm_zoo_runtime import Predictor

        return Predictor(folder)
    export = folder.path / SUBFOLDER
    if not export.is_dir():
        return commands.load(folder, command, once=once)
    from dense_lstm_zoo_runtime import ExportError, Predictor

    try:
        if not (export / "config.json").is_file():  # a pipe would wait for its writer
            raise FileNotFoundError(export / "config.json")
        config = json.loads((export / "config.json").read_text(encoding="utf-8"))
        source, weights = config["bundle"], config["weights"]
    except (OSError, ValueError, KeyError, TypeError):
        source = weights = None
    if source != folder.sha256:
        _say(f"{export} was not made from this bundle and is not used; export it again.")
        return commands.load(folder, command, once=once)
    try:
        predictor = Predictor(export)
    except ExportError as error:
        _say(f"{export} is not used: {error}")
        return commands.load(folder, command, once=once)
    _say(f"using {export} (ONNX, {weights} weights)")
    return predictor


def _say(line: str) -> None:
    print(escape_controls(line), file=sys.stderr)
