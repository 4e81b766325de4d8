"""Trained models of a command: bundles, and ONNX exports, which answer without TensorFlow."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.bundles.checks import refuse_encoder
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import few_texts
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notices
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime import export_folder
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER
from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    from dense_lstm_zoo_runtime import Predictor

Source = str | BundleFolder  # a folder that a command names, or a preset's, whose files are checked
Folder = BundleFolder | Path  # a bundle, whose files are checked, or an ONNX export, whose files ``load`` checks


def import_tensorflow() -> None:
    """Import TensorFlow. Keras is imported with it, but not what Keras uses only in parts that no command needs."""
    with few_texts.hidden(), notices.hidden():
        check_tensorflow("Commands that run a model")
        import tensorflow_text  # noqa: F401 - imports TensorFlow


def check_command(bundle: object, config: dict[str, Any], command: str | None) -> Task:
    """Return the task of a bundle that a command can use. None stands for a command that takes bundles of any task.

    Raises:
        BundleError: A text encoder.
        ValueError: A bundle for a task that has no such command.
    """
    refuse_encoder(bundle, config)
    task = tasks.find(config["task"])
    if command not in (None, *task.commands):
        owners = " or ".join(other.name for other in tasks.every() if command in other.commands)
        *first, last = task.commands
        raise ValueError(f"{bundle} is for {task.name}, not for {owners}: use {', '.join(first)} or {last}.")
    return task


def load_bundle(bundle: Source, command: str | None = None, *, once: bool = False) -> Any:
    """Load a bundle for predictions. With ``command``, refuse one that is not for it before importing TensorFlow.

    With ``once``, its layers run the kernel that compiles nothing, for a few texts.
    """
    folder = BundleFolder.open(bundle)
    check_command(folder, folder.read_config(), command)
    import_tensorflow()
    from dense_lstm_zoo.training.allocator import keep_freed_memory

    keep_freed_memory()  # loading word vectors frees as much memory several times over
    return zoo.load(folder, compile=False, kernel="native" if once else None)


def open_folder(source: Source) -> Folder:
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

    A line on standard error says that a bundle's export is used, or why it is not. For ``once``, see ``load_bundle``.
    """
    check_command(folder, read_config(folder), command)
    predictor = load_export(folder)
    if predictor is not None or not isinstance(folder, BundleFolder):
        return predictor
    return load_bundle(folder, command, once=once)


def load_export(folder: Folder, threads: int | None = None) -> Predictor | None:
    """Return the light runtime's predictor over an export, or over a bundle's own. None: the bundle has none to use.

    A line on standard error says that a bundle's export is used, or why it is not.
    """
    if isinstance(folder, BundleFolder):
        return _own_export(folder, threads)
    from dense_lstm_zoo_runtime import Predictor

    return Predictor(folder, threads=threads)


def _own_export(folder: BundleFolder, threads: int | None) -> Predictor | None:
    export = folder.path / SUBFOLDER
    if not export.is_dir():  # before ONNX Runtime is loaded
        return None
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
        return None
    try:
        predictor = Predictor(export, threads=threads)
    except ExportError as error:
        _say(f"{export} is not used: {error}")
        return None
    _say(f"using {export} (ONNX, {weights} weights)")
    return predictor


def _say(line: str) -> None:
    print(escape_controls(line), file=sys.stderr)
