"""The command export: a SavedModel, or an ONNX graph for the light runtime."""

from __future__ import annotations

import sys
from typing import Any

from dense_lstm_zoo.bundles.bundle import EXPORT_FORMATS, check_export
from dense_lstm_zoo.cli.arguments import BUNDLE, OVERWRITE_FOLDER
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, load_bundle
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import export_names, files


@command(
    "export",
    "Write a SavedModel for TF Serving, or ONNX for the light runtime.",
    BUNDLE,
    argument("path", help="the folder to write; for TF Serving, its name must be a version number"),
    argument(
        "--format",
        choices=EXPORT_FORMATS,
        default="saved_model",
        help="onnx: for python -m dense_lstm_zoo_runtime; written to RUN/onnx, predict uses it (default: saved_model)",
    ),
    argument(
        "--weights",
        choices=("float32", "float16", "int8"),
        default="float32",
        help="onnx: how weights are stored; int8 also computes in bytes where that is faster (default: float32)",
    ),
    argument(
        "--shared-words", action="store_true", help="onnx: refer to the installed word table for its word vectors"
    ),
    argument(
        "--max-words", type=int, metavar="N", help="keep N words: those of the training texts, then the most frequent"
    ),
    OVERWRITE_FOLDER,
    example="export runs/trec exports/trec/1",
)
def export(bundle: Source, path: str, **options: Any) -> None:
    """Write a SavedModel or an ONNX export and print its folder. Say so if a SavedModel has no warm-up requests."""
    check_export(**{name: value for name, value in options.items() if name != "overwrite"})
    target = files.check_new_folder(path, "export" if options["overwrite"] else None)
    folder = load_bundle(bundle).export(target, **options)
    notes.show(escape_controls(str(folder)))
    if (folder / "saved_model.pb").is_file():
        from dense_lstm_zoo.exports import warmup

        if not (folder / export_names.FOLDER / export_names.WARM_UP).is_file():
            print(warmup.MISSING, file=sys.stderr)
