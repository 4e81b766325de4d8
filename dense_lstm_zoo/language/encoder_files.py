"""The folder of a text encoder: that of a bundle whose weights are those of a ``TextEncoder`` alone.

It has a bundle's files, so that presets, downloads and manifests treat it as one. Its config also holds ``encoder``. A
folder may come from a stranger: shapes are compared before memory is taken, and nothing is unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles import checks as bundle_checks
from dense_lstm_zoo.bundles import presets, shared_words, weights_file
from dense_lstm_zoo.bundles.checks import BundleError, Shape, named
from dense_lstm_zoo.bundles.folder import BundleFolder, write_manifest
from dense_lstm_zoo.bundles.shared_words import FIRST_WORD
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import finite
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.tasks.options import DIRECTIONS

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.training.context_source import Encoder

SIZES = ("wiring", "cell", "num_layers", "units", "embedding_dim")
KEY = "encoder"  # in config.json
_WORDS = "/words"
_WIRINGS, _CELLS = ("dense", "stacked", "skip", "residual"), ("lstm", "gru", "simple_rnn")


def stack_shapes(wiring: str, cell: str, num_layers: int, units: int, embedding_dim: int) -> list[tuple[int, ...]]:
    """Return the shapes of a ``RecurrentStack``'s weights, in their order, without building it.

    Example:
        >>> stack_shapes("dense", "lstm", 2, 3, 5)
        [(5, 12), (3, 12), (12,), (8, 12), (3, 12), (12,)]
    """
    gates = {"lstm": 4, "gru": 3, "simple_rnn": 1}[cell]
    shapes: list[tuple[int, ...]] = []
    for layer in range(num_layers):
        below = units if layer else embedding_dim
        if wiring == "dense":
            below = embedding_dim + layer * units
        elif wiring == "skip" and layer:
            below = units + (embedding_dim if layer == 1 else units)
        bias = (2, gates * units) if cell == "gru" else (gates * units,)  # Keras's GRU has two
        shapes += [(below, gates * units), (units, gates * units), bias]
    return shapes


def save(encoder: Encoder, path: str | os.PathLike[str], dtype: str, overwrite: bool) -> Target:
    """Write a ``TextEncoder`` to a folder. See its ``save``."""
    import h5py

    checks.one_of("dtype", dtype, weights_file.DTYPES)
    target = files.check_new_folder(path, "bundle" if overwrite else None)
    arrays = {_WORDS: encoder.vectors}
    for direction, weights in encoder.weights.items():
        arrays |= {f"/{direction}/{number}": weight for number, weight in enumerate(weights)}
    table_name = encoder.table[0] if encoder.table else None
    shared = shared_words.find_in(
        [(_WORDS, FIRST_WORD, 1.0, encoder.vectors)], encoder.words, table_name, required=None
    )
    if shared is not None:
        arrays[_WORDS] = shared.reduced(_WORDS, encoder.vectors)
    with files.new_folder(target) as folder:
        with h5py.File(folder / "model.weights.h5", "w") as file:
            for name, values in arrays.items():
                file.create_dataset(name, data=values)
        if dtype != "float32":
            weights_file.reduce(folder / "model.weights.h5", None, dtype)
        config = _config(encoder)
        if shared is not None:
            config[shared_words.KEY] = shared.config
            shared.write_rows(folder / shared_words.ROWS)
        (folder / "vocabulary.txt").write_text("".join(f"{w}\n" for w in encoder.words), "utf-8", newline="\n")
        for name, content in {"config": config, "labels": [], "metrics": _metrics(encoder)}.items():
            (folder / f"{name}.json").write_text(files.to_json(finite(content)), encoding="utf-8")
        (folder / "history.csv").write_text("epoch\n", encoding="utf-8")
        if encoder.train_texts is not None:
            from dense_lstm_zoo.bundles import text_hashes

            text_hashes.write_hashes(folder / text_hashes.FILE, encoder.train_texts)
        write_manifest(folder)
    return target


def _config(encoder: Encoder) -> dict[str, Any]:
    from dense_lstm_zoo.machine import versions

    first = encoder.models.get("forward", {})
    table = None if encoder.table is None else {"name": encoder.table[0], "sha256": encoder.table[1]}
    return {
        "task": "language_model",
        "model": str(first.get("model", "language model")),
        "arguments": encoder.sizes,
        "text": {},
        "training": {
            "dataset": str(first.get("dataset", "unknown")),
            "vectors": encoder.table[0] if encoder.table else None,
            **({"seed": first["seed"]} if "seed" in first else {}),
        },
        KEY: {"directions": list(encoder.directions), "table": table, "models": encoder.models},
        "versions": versions(),
    }


def _metrics(encoder: Encoder) -> dict[str, Any]:
    metrics = {
        f"{'' if direction == 'forward' else 'backward_'}dev_perplexity": model.get("dev_perplexity")
        for direction, model in encoder.models.items()
    }
    return {name: value for name, value in metrics.items() if value is not None}


def read(source: str | os.PathLike[str]) -> tuple[BundleFolder, dict[str, Any] | None]:
    """Return the folder of an encoder and the fields of a ``TextEncoder``, or None for a language model's folder."""
    folder = presets.open_folder(source)
    config = folder.read_config()
    if KEY in config:
        return folder, _fields(folder.path, config, folder.names)
    if config["task"] == "language_model":
        return folder, None
    raise BundleError(
        f"{folder} is a {config['model']} for {config['task']}, not a text encoder. Give a folder that "
        "join_language_models(...).save or dense-lstm-zoo join-lm wrote, or a language model."
    )


def _fields(folder: Path, config: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    weights, path = folder / "model.weights.h5", folder / "config.json"
    arrays = bundle_checks.read_shapes(weights)
    with named(path):
        sizes, directions, table, models = _claims(config)
    bundle_checks.check_arguments(path, sizes, list(arrays.values()))
    with named(folder / "vocabulary.txt"):
        from dense_lstm_zoo.language.vocabulary import LanguageVocabulary

        words = LanguageVocabulary.read(folder / "vocabulary.txt").words
    shared = None
    if shared_words.KEY in config:
        shared = shared_words.read(folder, config[shared_words.KEY], names, arrays)
        if [(part.array, part.first) for part in shared.parts] != [(_WORDS, FIRST_WORD)]:
            raise BundleError(f"{path} is damaged: only the words of an encoder can be those of a table.")
    shapes = shared.shapes(arrays) if shared else arrays
    expected: dict[str, Shape] = {_WORDS: (len(words), sizes["embedding_dim"])}
    for direction in directions:
        expected |= {f"/{direction}/{i}": shape for i, shape in enumerate(stack_shapes(**sizes))}
    if shapes != expected:
        wrong = next(name for name in {**expected, **shapes} if shapes.get(name) != expected.get(name))
        raise BundleError(
            f"{weights} does not match config.json: {wrong:.80} has shape {shapes.get(wrong)}, not "
            f"{expected.get(wrong)}."
        )
    values = _values(weights, list(expected))
    if shared is not None:
        values[_WORDS] = shared.complete(_WORDS, values[_WORDS])
    from dense_lstm_zoo.bundles import text_hashes

    texts = None
    if text_hashes.FILE in names:
        with named(folder / text_hashes.FILE):
            texts = text_hashes.read_hashes(folder / text_hashes.FILE)
    count = len(stack_shapes(**sizes))
    return {
        **sizes,
        "words": words,
        "vectors": values[_WORDS],
        "weights": {d: [values[f"/{d}/{i}"] for i in range(count)] for d in directions},
        "table": table,
        "models": models,
        "train_texts": texts,
    }


def _claims(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], tuple[str, str] | None, dict[str, Any]]:
    """Return an encoder's sizes, directions, table and models from its config, after checking their types."""
    arguments, claims = config["arguments"], config[KEY]
    sizes = {name: arguments[name] for name in SIZES}
    checks.one_of("wiring", sizes["wiring"], _WIRINGS)
    checks.one_of("cell", sizes["cell"], _CELLS)
    for name in ("num_layers", "units", "embedding_dim"):
        checks.integer(name, sizes[name])
    directions, table, models = claims["directions"], claims["table"], claims["models"]
    if directions not in (["forward"], list(DIRECTIONS)):
        raise ValueError(f"directions must be forward, or forward and backward; received {directions!r:.80}")
    if not isinstance(models, dict) or not all(isinstance(model, dict) for model in models.values()):
        raise ValueError("'models' must say of each direction what is known of its language model")
    if table is None:
        return sizes, directions, None, models
    if not isinstance(table["name"], str) or not isinstance(table["sha256"], str):
        raise ValueError("'table' must have a name and a sha256")
    return sizes, directions, (table["name"], table["sha256"]), models


def _values(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    import h5py
    import numpy as np

    values = {}
    with named(path), h5py.File(path, "r") as file:
        for name in names:
            if file[name].dtype.kind != "f":
                raise ValueError(f"{name} holds {file[name].dtype}, not float16 or float32")
            values[name] = file[name][()].astype(np.float32)
            if not np.isfinite(values[name]).all():
                raise ValueError(f"{name} holds values that are not finite numbers")
    return values
