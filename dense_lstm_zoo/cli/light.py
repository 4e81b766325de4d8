"""Commands that answer without TensorFlow, from an ONNX export: a folder of its own, or one in a bundle's folder."""

from __future__ import annotations

import json
import sys
from typing import Any

from dense_lstm_zoo import files
from dense_lstm_zoo.cli import commands
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo_runtime import export_folder
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER
from dense_lstm_zoo_runtime.paths import user_path


def read_config(path: str) -> dict[str, Any]:
    """Return the config of a bundle, whose files are checked, or of an ONNX export.

    Of the training, an export knows the columns that were read. ``load`` checks an export's files.
    """
    if export_folder.is_export(user_path(path)):
        config = export_folder.read_config(user_path(path))
        return {**config, "training": {"columns": config["columns"]}}
    return commands.read_config(path)


def load(bundle: str, task: str | None = None, *, once: bool = False) -> Any:
    """Return a bundle, or the light runtime's predictor if its folder is or has an export: it has the same methods.

    A line on standard error says that a bundle's export is used, or why it is not. For ``once``, see ``commands.load``.
    """
    commands.check_task(bundle, read_config(bundle), task)
    if export_folder.is_export(user_path(bundle)):
        from dense_lstm_zoo_runtime import Predictor

        return Predictor(bundle)
    folder = user_path(bundle) / SUBFOLDER
    if not folder.is_dir():
        return commands.load(bundle, task, once=once)
    from dense_lstm_zoo_runtime import ExportError, Predictor

    try:
        if not (folder / "config.json").is_file():  # a pipe would wait for its writer
            raise FileNotFoundError(folder / "config.json")
        told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        made_from, weights = told["bundle"], told["weights"]
    except (OSError, ValueError, KeyError, TypeError):
        made_from = weights = None
    if made_from != files.sha256(user_path(bundle) / "manifest.json"):
        _say(f"{folder} was not made from this bundle and is not used; export it again.")
        return commands.load(bundle, task, once=once)
    try:
        found = Predictor(folder)
    except ExportError as error:
        _say(f"{folder} is not used: {error}")
        return commands.load(bundle, task, once=once)
    _say(f"using {folder} (ONNX, {weights} weights)")
    return found


def _say(line: str) -> None:
    print(escape_controls(line), file=sys.stderr)
