"""The folder of an ONNX export: graphs, vocabulary, labels and rules of the tokeniser, with the sha256 of each file.

``dense_lstm_zoo_runtime`` reads it. Any ONNX runtime reads the graphs in float32 and float16, and ONNX Runtime all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from dense_lstm_zoo import checks
from dense_lstm_zoo.exports.onnx.graph import OPSET, WEIGHTS, Graph, WeightsFile
from dense_lstm_zoo.exports.onnx.words import write_shared
from dense_lstm_zoo.reports import base
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime.export_folder import DECIDING_FORMAT, FORMAT, KIND
from dense_lstm_zoo_runtime.rules import VERSIONS

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo.storage.snapshots import Target

USE = """from dense_lstm_zoo_runtime import Predictor

print(Predictor("this folder").predict(["a text", "another one"]))"""
_CARD, _MANIFEST = "README.md", "manifest.json"
_MOST_BYTES = 2**31 - 1  # of a file in the format's protocol
_LARGE = 1 << 20  # numbers


def write(
    bundle: Bundle,
    target: Target,
    graphs_of: Callable[..., dict[str, Graph]],
    *,
    weights: str = "float32",
    shared_words: bool = False,
) -> Path:
    """Write a bundle as an ONNX export, whole or not at all, and return its path.

    The card is written last, once the export is in place. A failure there is only a warning.

    Args:
        bundle: A trained model.
        target: The folder to write, as it was when it was checked.
        graphs_of: Returns the bundle's graphs by the names of their files: ``graphs`` of its task's ``to_onnx``.
        weights: How weights are stored: ``float32``, ``float16`` or ``int8``. Answers are computed in float32, but with
            ``int8`` the products of wide LSTMs in bytes, where that is faster.
        shared_words: Leave out the word vectors that an installed word table has, and refer to the table by name and
            sha256.

    Raises:
        ValueError: Another ``weights``, a layer without an ONNX form, a graph above 2 GB, or ``shared_words`` with word
            vectors that are not those of an installed table.
    """
    checks.one_of("weights", weights, WEIGHTS)
    graphs = graphs_of(bundle, weights=weights, shared=shared_words)
    with files.new_folder(target) as folder:
        _write_graphs(folder, graphs)
        table = write_shared(folder, bundle) if shared_words else None
        if table is None:
            bundle.vocabulary.write(folder / "vocabulary.txt")
        config = _config(bundle, graphs["model.onnx"], weights, table)
        files.write_json(folder / "config.json", config)
        write_manifest(folder, config["format"])
    base.write_card(bundle, target.real, USE)
    return target.path


def write_manifest(folder: Path, version: int = FORMAT) -> None:
    """Write the checksums of an export's files, all but its card, with the version of the export's format."""
    names = (file for file in sorted(folder.iterdir()) if file.name not in (_CARD, _MANIFEST))
    sums = {file.name: files.sha256(file) for file in names}
    files.write_json(folder / _MANIFEST, {"format": version, "sha256": sums})


def _write_graphs(folder: Path, graphs: dict[str, Graph]) -> None:
    """Write the graphs. Several share one file of weights, and large tables of words always stand in it."""
    external = WeightsFile() if len(graphs) > 1 else WeightsFile(_LARGE)
    for name, graph in graphs.items():
        model = graph.model(Path(name).stem, external)
        if model.ByteSize() > _MOST_BYTES:
            raise ValueError(
                f"{name} would be {model.ByteSize() / 2**30:.1f} GB; the format holds 2. Use smaller weights, such as "
                "'float16'."
            )
        (folder / name).write_bytes(model.SerializeToString())
    if external.data:
        (folder / external.name).write_bytes(external.data)


def _config(bundle: Bundle, graph: Graph, weights: str, table: dict[str, Any] | None) -> dict[str, Any]:
    names = [tensor.name for tensor in graph.inputs]
    decisions = {"labels_per_text": bundle.config["arguments"].get("labels", "one")}
    decisions["thresholds"] = bundle.config.get("thresholds", {})
    decides = decisions != {"labels_per_text": "one", "thresholds": {}}
    config = {
        "kind": KIND,
        # A runtime that does not know of them would give other labels.
        "format": DECIDING_FORMAT if decides else FORMAT,
        **(decisions if decides else {}),
        "task": bundle.task.name,
        "model": bundle.config["model"],
        "labels": bundle.labels,
        "text": {name: value for name, value in bundle.config["text"].items() if name != "tokenizer"},
        "columns": bundle.config["training"].get("columns", {}),
        "inputs": names,
        "states": [name for name in names if name.startswith("state_")],
        "weights": weights,
        "bundle": bundle.saved_as,
        "shared_words": table,
        "opset": OPSET,
        "versions": {**bundle.config.get("versions", {}), "onnx": onnx.__version__},
    }
    if not bundle.task.predicts_words:  # those words are separated by white space
        rules = VERSIONS[bundle.vocabulary.tokenizer]  # themselves, so that a runtime need not know their version
        config["tokenizer"] = {"normalization": "NFKC", "rules": [list(rule) for rule in rules]}
    return config
