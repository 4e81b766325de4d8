"""Checks of a bundle's files before they are used: a bundle may come from a stranger.

A manifest shows that files are unchanged since they were written, not who wrote them. So no claim in them is trusted:
memory is allocated only for weights that are in the file, and no file outside the bundle is read.
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dense_lstm_zoo import tasks
from dense_lstm_zoo_runtime import checks, claims
from dense_lstm_zoo_runtime.claims import short, twice

if TYPE_CHECKING:
    import h5py
    import keras
    import numpy as np


Shape = tuple[int, ...]
Kind = TypeVar("Kind")

_DEPTHS = ("num_layers", "num_dense_layers", "context_layers")  # each counts layers with weights of their own
_NO_SIZE = re.compile(r"\w*(norm|rate|decay|l2|bias|range|distance)")  # arguments that no memory depends on
# Metrics that are numbers; others, such as how a model was chosen, are notes.
_NUMBER = re.compile(
    r"(\w+_)?(dev|test|train)_\w+|seconds|(encoder_)?parameters|(best_)?epochs?|speed_batch|p\d+_ms_\d+|texts_per_s"
)
_PAIRS = {"parameters": "encoder_parameters", "best_epoch": "epochs"}  # shown together
_SMALL = 1000  # elements, or unrolled iterations, that are cheap enough to allow


class BundleError(ValueError):
    """A folder that is not a bundle, or a bundle that is damaged. The message names the file and what is wrong."""


@contextlib.contextmanager
def named(path: Path, what: str = "is damaged", then: str = "") -> Iterator[None]:
    """Turn any error in a block into a ``BundleError`` that names the file.

    The errors that a stranger's file can cause cannot be listed. Running out of memory and Ctrl-C pass through.
    """
    try:
        yield
    except (BundleError, MemoryError):
        raise
    except Exception as error:
        text = str(error).strip().split("\n")[0] or type(error).__name__
        text = f"{error.args[0]} is missing" if isinstance(error, KeyError) and error.args else text
        raise BundleError(f"{path} {what}: {text}{then}") from error


def read_json(path: Path, kind: type[Kind]) -> Kind:
    """Return the content of a JSON file, which must be of the given type."""
    with named(path):
        value = claims.parse_json(path.read_text(encoding="utf-8"))
    if not isinstance(value, kind):
        raise BundleError(f"{path} is damaged: it holds a {type(value).__name__}, not a {kind.__name__}.")
    return value


def read_config(path: Path) -> dict[str, Any]:
    """Return a bundle's config, after checking that it is complete and that arguments are plain values."""
    config: dict[str, Any] = read_json(path, dict)
    for part, kind in {"task": str, "model": str, "arguments": dict, "text": dict, "training": dict}.items():
        if not isinstance(config.get(part), kind):
            raise BundleError(
                f"{path} is damaged: {part!r} must be a {kind.__name__}; it is {short(config.get(part))}."
            )
    versions = config.setdefault("versions", {})
    if not isinstance(versions, dict) or not isinstance(config["training"].get("dataset"), str):
        raise BundleError(f"{path} is damaged: 'versions' must be a dict, and 'training' must name its 'dataset'.")
    for name, value in config["arguments"].items():
        values = value if isinstance(value, list) else [value]
        if len(values) > _SMALL or any(isinstance(item, dict | list) for item in values):
            raise BundleError(
                f"{path}: argument {name!r} must be a plain value or a list of plain values; it is {short(value)}."
            )
    return config


def refuse_encoder(path: object, config: dict[str, Any]) -> None:
    """Raise ``BundleError`` for the config of a text encoder."""
    if "encoder" in config:
        raise BundleError(
            f"{path} is a text encoder, which predicts nothing by itself: train --context or --init-from reads with "
            "it, and in Python train(context=...), train(init_from=...) and TextEncoder.load."
        )


def read_labels(path: Path) -> list[str]:
    """Return the names of the classes, which must be distinct strings."""
    labels: list[str] = read_json(path, list)
    with named(path, then="."):
        return claims.labels(labels)


def read_metrics(path: Path) -> dict[str, Any]:
    """Return the metrics, after checking that scores and counts are numbers, and notes are texts or numbers."""
    metrics: dict[str, Any] = read_json(path, dict)
    for name, value in metrics.items():
        is_number = isinstance(value, int | float | None) and not isinstance(value, bool)
        if not is_number and (_NUMBER.fullmatch(name) or name.endswith(("accuracy", "perplexity", "loss"))):
            raise BundleError(f"{path} is damaged: {name!r:.80} must be a number; it is {short(value)}.")
        if not is_number and not isinstance(value, str | bool):
            raise BundleError(f"{path} is damaged: {name!r:.80} must be a text or a number; it is {short(value)}.")
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            raise BundleError(f"{path} is damaged: {name!r:.80} must be at most 1e+308; it is {short(value)}.")
    for name, other in _PAIRS.items():
        if name in metrics and other not in metrics:
            raise BundleError(f"{path} is damaged: it has {name!r}, but not {other!r}.")
    with named(path):
        checks.temperature("'temperature'", metrics.get("temperature", 1.0))
    # a value that is not finite is written as null.
    return {name: math.nan if value is None else value for name, value in metrics.items()}


def read_shapes(path: Path) -> dict[str, Shape]:
    """Return the shapes of the arrays in a weights file by name, after checking that their bytes are in that file.

    Raises:
        BundleError: Not a weights file, or one that links to others, is compressed, or claims more than it holds.
    """
    import h5py

    shapes: dict[str, Shape] = {}
    with named(path), h5py.File(path, "r") as file:
        total, addresses = 0, set()
        for name, item in _items(file, path):
            address = h5py.h5o.get_info(item.id).addr
            if address in addresses:
                raise BundleError(f"{path}: {name} occurs under two names.")
            addresses.add(address)
            if isinstance(item, h5py.Group):
                continue
            if not isinstance(item, h5py.Dataset) or not _is_plain(item):
                raise BundleError(f"{path}: {name} is not a plain array of numbers stored in this file.")
            total += item.nbytes
            shapes[name] = tuple(item.shape)
    if total > path.stat().st_size:
        raise BundleError(f"{path} claims {total:,} bytes of weights but has {path.stat().st_size:,}.")
    return shapes


def _items(group: h5py.Group, path: Path, depth: int = 0) -> Iterator[tuple[str, Any]]:
    import h5py

    if depth > 50:
        raise BundleError(f"{path}: {group.name:.80} is nested too deep.")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise BundleError(f"{path}: {group.name:.80} holds a link, {name!r:.80}; weights files have none.")
        item = group[name]
        yield item.name, item
        if isinstance(item, h5py.Group):
            yield from _items(item, path, depth + 1)


def _is_plain(array: h5py.Dataset) -> bool:
    number = array.dtype.kind in "fiu" or array.dtype == "V2"  # bfloat16
    inside = not array.is_virtual and not array.external and array.chunks is None
    return number and inside and array.shape is not None and array.id.get_storage_size() == array.nbytes


def check_arguments(path: object, arguments: dict[str, Any], shapes: list[Shape]) -> None:
    """Raise ``BundleError`` if an argument that is a size is too large for weights of these shapes."""
    limits = dict.fromkeys(_DEPTHS, len(shapes)) | {"iterations": _SMALL}
    limits["depth"] = max((shape[0] for shape in shapes if len(shape) == 3), default=0)  # its weights are one array
    if arguments.get("dense_units") == 0:  # without them, there are no such layers
        del limits["num_dense_layers"]
    elements = sum(map(math.prod, shapes))
    for name, value in arguments.items():
        if _NO_SIZE.fullmatch(name):
            continue
        most = limits.get(name, max(elements, _SMALL))
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, int) and item > most:
                raise BundleError(
                    f"{path}: {name}={item:,} does not fit model.weights.h5, which allows {most:,} at most."
                )


@contextlib.contextmanager
def bounded_by(path: Path, shapes: list[Shape]) -> Iterator[None]:
    """Raise ``BundleError`` if a model built in this block asks for a weight that the weights file does not hold.

    Large weights start as zeros: the file's values replace them, and drawing others for them takes longer than that.
    """
    import tensorflow as tf

    expected = set(shapes)
    budget = 4 * sum(map(math.prod, shapes)) + 1_000 * _SMALL  # the weights and the optimiser's slots

    def create(next_creator: Callable[..., tf.Variable], **options: Any) -> tf.Variable:
        nonlocal budget
        shape = _shape(options["initial_value"])
        size = math.prod(shape)
        budget -= max(size, 100)
        if budget < 0 or (size > _SMALL and shape not in expected):
            raise BundleError(f"{path} asks for weights of shape {shape}, which model.weights.h5 does not hold.")
        if size > _SMALL and options.get("dtype") is not None:
            options["initial_value"] = functools.partial(tf.zeros, shape, options["dtype"])
        return next_creator(**options)

    with tf.variable_creator_scope(create):
        yield


def _shape(initial_value: Any) -> Shape:
    """Return the shape of a variable that is about to be created, without computing its value."""
    import tensorflow as tf

    if not callable(initial_value):
        return tuple(getattr(initial_value, "shape", ()))
    for cell in initial_value.__closure__ or ():  # Keras passes a closure over the variable, which knows its shape
        if isinstance(shape := getattr(cell.cell_contents, "shape", None), tf.TensorShape):
            return tuple(shape)
    with tf.Graph().as_default():  # a graph that is never run computes nothing
        return tuple(initial_value().shape)


def check_shapes(path: Path, model: keras.Model, shapes: list[Shape]) -> None:
    """Raise ``BundleError`` if a model's weights do not match the file's."""
    model_shapes, file_shapes = Counter(tuple(weight.shape) for weight in model.weights), Counter(shapes)
    if model_shapes != file_shapes:
        raise BundleError(
            f"{path} does not match config.json (shapes): it lacks {_few(model_shapes - file_shapes)} and has "
            f"{_few(file_shapes - model_shapes)} too many."
        )


def check_text(path: Path, config: dict[str, Any]) -> None:
    """Raise ``BundleError`` if the config's text settings are invalid or do not match the model's."""
    text, arguments = config["text"], config["arguments"]
    with named(path, "is damaged", "."):
        claims.text_settings(text)
    for name in ("num_frozen_words", "case"):
        if name in text and text[name] != arguments.get(name, text[name]):
            raise BundleError(
                f"{path}: {name!r} in 'text' is {short(text[name])}; the model has {short(arguments.get(name))}."
            )
    chars = text.get("chars", "")
    reads_chars = tasks.find(config["task"]).reads_characters or arguments.get("char_filters")
    if reads_chars and len(chars) + 2 != arguments.get("num_chars"):
        expected = arguments.get("num_chars")
        raise BundleError(f"{path}: its {len(chars)} characters do not match the model's num_chars={expected}.")


def check_words(folder: Path, bundle: Any) -> None:
    """Raise ``BundleError`` if the number of words or labels does not match the model."""
    arguments, words, file = bundle.config["arguments"], bundle.vocabulary.words, folder / "vocabulary.txt"
    size = len(words) + (0 if bundle.task.predicts_words else 2)
    if size != arguments["vocab_size"]:
        raise BundleError(f"{file} makes {size:,} word ids; the model has {arguments['vocab_size']:,}.")
    if len(set(words)) < len(words):
        raise BundleError(f"{file}: {short(twice(words))} occurs twice.")
    classes = arguments.get("num_classes", arguments.get("num_tags", 0))
    with named(folder / "config.json", "is damaged", "."):
        claims.thresholds(bundle.config.get("thresholds", {}), bundle.labels, arguments.get("labels", "one"))
    if len(bundle.labels) != classes:
        raise BundleError(f"{folder / 'labels.json'} holds {len(bundle.labels)} labels; the model has {classes}.")


def check_savable(model: keras.Model, complaint: str) -> None:
    """Raise ``ValueError``, which begins with a complaint, for quantised layers and for weights that are not finite."""
    refuse_quantised_layer(quantised_layer(model), complaint)
    check_finite(model, complaint)


def quantised_layer(model: keras.Model) -> str | None:
    """Return the first layer that the model's arguments do not rebuild, and how it is quantised, or None."""
    layers = (layer for layer in model._flatten_layers() if layer.quantization_mode is not None)
    return next((f"{layer.name!r} is quantised ({layer.quantization_mode})" for layer in layers), None)


def refuse_quantised_layer(layer: object, complaint: str) -> None:
    """Raise ``ValueError``, which begins with a complaint, if there is a quantised layer."""
    if layer is not None:
        raise ValueError(
            f"{complaint}: its layer {layer!s:.200}, which is not built again on loading. Save or export the model "
            "before quantize, and quantise what is loaded; a bundle's export(..., format='onnx', weights='int8') "
            "writes int8 by itself."
        )


def check_finite(model: keras.Model, complaint: str) -> None:
    """Raise ``BundleError``, which begins with a complaint, if a weight is infinite or not a number."""
    import numpy as np

    for weight in model.weights:
        if not np.isfinite(values_of(weight)).all():
            raise BundleError(f"{complaint}: {weight.path} holds values that are not finite numbers.")


def values_of(variable: keras.Variable) -> np.ndarray:
    """Return a variable's values, not to be changed: a view of TensorFlow's memory, where NumPy can read it."""
    import keras
    import numpy as np
    import tensorflow as tf

    try:
        return np.asarray(memoryview(tf.convert_to_tensor(variable.value)))
    except (TypeError, ValueError):  # bfloat16, or memory of a GPU
        return np.asarray(keras.ops.convert_to_numpy(variable))


def _few(shapes: Counter[Shape]) -> str:
    return ", ".join(map(str, list(shapes)[:3])) + (", ..." if len(shapes) > 3 else "") or "none"
