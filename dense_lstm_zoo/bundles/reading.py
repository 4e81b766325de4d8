"""Reading a bundle's folder: everything is checked before memory is taken for it."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.bundles import checks, weights_file
from dense_lstm_zoo.bundles import shared_words as sharing
from dense_lstm_zoo.bundles.checks import named
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.models import compiling, registry
from dense_lstm_zoo.storage import bundle_names

if TYPE_CHECKING:
    import pandas as pd

DEV_CURVE = bundle_names.DEV_CURVE
CURVE_COLUMNS = ("epoch", "batch", "dev_accuracy")


def read_dev_curve(folder: Path) -> pd.DataFrame | None:
    """Return the curve in a folder, with columns ``epoch``, ``batch`` and ``dev_accuracy``, or None.

    Raises:
        BundleError: Other columns, or cells that are not finite numbers: the file may come from a stranger.
    """
    import numpy as np
    import pandas as pd

    if not (folder / DEV_CURVE).is_file():
        return None
    with named(folder / DEV_CURVE):
        curve = pd.read_csv(folder / DEV_CURVE)
        if tuple(curve.columns) != CURVE_COLUMNS:
            raise ValueError("its columns are not epoch, batch and dev_accuracy")
        if len(curve) and not np.isfinite(curve.to_numpy(np.float64)).all():
            raise ValueError("it holds numbers that are not finite")
        return curve


def read(folder: BundleFolder, *, compile: bool = True, kernel: str | None = None) -> Any:
    """Return the bundle in a folder. See ``bundle.load``."""
    path, names = folder.path, folder.names
    check_tensorflow("Bundles")
    import pandas as pd

    from dense_lstm_zoo.bundles import text_hashes

    config = folder.read_config()
    checks.refuse_encoder(path, config)
    labels = checks.read_labels(path / "labels.json")
    metrics = checks.read_metrics(path / "metrics.json")
    evaluation = checks.read_json(path / "evaluation.json", dict) if "evaluation.json" in names else {}
    with named(path / "history.csv"):
        history = pd.read_csv(path / "history.csv")
    curve = read_dev_curve(path) if DEV_CURVE in names else None
    with named(path / text_hashes.FILE):
        texts = text_hashes.read_hashes(path / text_hashes.FILE) if text_hashes.FILE in names else None
    weights = path / "model.weights.h5"
    arrays = checks.read_shapes(weights)
    shared = sharing.read(path, config.pop(sharing.KEY), names, arrays) if sharing.KEY in config else None
    shapes = list((shared.shapes(arrays) if shared else arrays).values())
    checks.check_arguments(path / "config.json", config["arguments"], shapes)
    from dense_lstm_zoo.layers.recurrence import kernels

    if kernel is not None:
        kernels.check(kernel)
    made_with = f" (made with dense-lstm-zoo {config['versions'].get('dense-lstm-zoo', 'unknown')})"
    with named(path / "config.json", "is not readable by this version", made_with):
        bundle_class = tasks.find(config["task"]).bundle_class
        if registry.entry(config["model"]).task != config["task"]:
            raise ValueError(f"{config['model']} is not a model for {config['task']}")
        runs = kernel or kernels.check_saved(config["arguments"]["kernel"])
        compilation = contextlib.nullcontext() if compile else compiling.uncompiled()
        with compilation, checks.bounded_by(path / "config.json", shapes):
            model = registry.build(config["model"], **{**config["arguments"], "kernel": runs})
    checks.check_text(path / "config.json", config)
    with named(path / "vocabulary.txt"):
        vocabulary = bundle_class.read_vocabulary(path / "vocabulary.txt", **config["text"])
        if shared:
            vocabulary = dataclasses.replace(vocabulary, words=shared.words)
    bundle = bundle_class(model, config, vocabulary, labels, {}, history, evaluation, curve, train_texts=texts)
    checks.check_words(path, bundle)
    checks.check_shapes(weights, bundle._weights, shapes)
    with named(weights):
        if shared:
            weights_file.load(weights, bundle._weights, shared.complete, [part.array for part in shared.parts])
        else:
            weights_file.load(weights, bundle._weights)
    checks.check_finite(bundle._weights, f"{weights} is damaged")
    bundle.metrics = metrics  # set after the weights, which they describe
    with named(path / "metrics.json"):
        bundle.summary()  # which needs what belongs to a score, such as a baseline's margin
    bundle.scored_weights = bundle.mark_saved(path)
    return bundle
