"""The folder of an ONNX export: found, compared with its manifest, and its claims checked, before anything is loaded.

An export may come from a stranger: nothing in it is executed or unpickled, and no file outside it is read.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo_runtime import claims, install
from dense_lstm_zoo_runtime.errors import ExportError, errors_of

KIND = "dense-lstm-zoo ONNX export"
FORMAT = 1
DECIDING_FORMAT = 2  # of a classifier with thresholds, or with several labels per text
SUBFOLDER = "onnx"  # of a bundle
TASKS = ("classification", "tagging", "language_model")
_MANIFEST = "manifest.json"
_MOST_JSON = 1 << 24  # bytes
_HOW = 'bundle.export(path, format="onnx"), or dense-lstm-zoo export RUN PATH --format onnx, writes one'


@dataclass(frozen=True)
class Export:
    """An export whose files are those of its manifest.

    Attributes:
        folder: Where it is.
        config: What its ``config.json`` says, with the types that this module checks.
        words: The words of its vocabulary, in the order of their ids.
        other_rows: The rows of a word table whose words are the last ones. See ``shared_words.with_all_words``.
        sha256: The checksum of its manifest, and so of all its files.
    """

    folder: Path
    config: dict[str, Any]
    words: list[str]
    other_rows: tuple[int, ...] = ()
    sha256: str = ""


def is_export(folder: Path) -> bool:
    """Return whether a folder looks like an ONNX export, of whatever version."""
    if not (folder / "config.json").is_file():  # to open a pipe would wait for its writer
        return False
    try:
        with (folder / "config.json").open("rb") as file:
            return KIND in file.read(_MOST_JSON).decode("utf-8", "replace")
    except OSError:
        return False


def find(folder: Path) -> Path:
    """Return the folder of the export that a folder is, or that a bundle's folder holds.

    Raises:
        ExportError: There is none. The message says what the folder is and how to export.
    """
    for candidate in (folder, folder / SUBFOLDER):
        if is_export(candidate):
            return candidate
    if (folder / "saved_model.pb").is_file():
        reason = "is a SavedModel, not an ONNX export"
    elif (folder / "model.weights.h5").is_file():
        reason = f"is a bundle without an ONNX export in its subfolder {SUBFOLDER!r}"
    else:
        reason = "is not an ONNX export: it has no config.json of one"
    raise ExportError(f"{folder} {reason}; {_HOW}.")


def read_export(folder: Path) -> Export:
    """Check an export's files against its manifest and read what is not a graph.

    Raises:
        ExportError: A file that is missing, changed or a link, another version, or a claim that cannot be.
    """
    sums = _manifest(folder)
    for parent, folders, files in os.walk(folder):
        for entry in (Path(parent, name) for name in (*folders, *files)):
            if entry.is_symlink():
                raise ExportError(f"{entry} is a link; an export must hold its own files.")
    for name, expected in sums.items():
        _check(folder, name, expected)
    config = read_config(folder)
    required = ["model.onnx", "vocabulary.txt", "config.json"]
    required += ["score.onnx"] if config["task"] == "language_model" else []
    if config.get("shared_words") is not None:
        with errors_of(folder / "config.json"):
            count = len(config["shared_words"]["arrays"])
        required += ["shared_words.rows", *(f"own_words_{number}.npy" for number in range(count))]
    for name in required:
        if name not in sums:
            raise ExportError(f"{folder} is incomplete: {name} is missing in its manifest. Export the model again.")
    with errors_of(folder / "vocabulary.txt"):
        words = claims.words((folder / "vocabulary.txt").read_bytes())
        if config["task"] == "language_model" and not {"<eos>", "<unk>"} <= set(words):
            raise ValueError("it lacks <eos> or <unk>")
    seal = hashlib.sha256((folder / _MANIFEST).read_bytes()).hexdigest()
    return Export(folder, config, words, sha256=seal)


def read_config(folder: Path) -> dict[str, Any]:
    """Read an export's config and check what it claims, but no other file.

    Raises:
        ExportError: As for ``read``.
    """
    config = _object(folder / "config.json")
    with errors_of(folder / "config.json"):
        _check_config(config)
    return config


def _manifest(folder: Path) -> dict[str, str]:
    path = folder / _MANIFEST
    if not path.is_file() or path.is_symlink():
        raise ExportError(f"{folder} is incomplete: {_MANIFEST} is missing or a link. Export the model again.")
    manifest = _object(path)
    if not _is_format(manifest):
        raise _version(path, manifest.get("format"))
    with errors_of(path):
        sums = {str(name): str(expected) for name, expected in manifest["sha256"].items()}
    for name in sums:
        if Path(name).name != name:
            raise ExportError(f"{folder / name} is a link or lies elsewhere; an export must hold its own files.")
    with errors_of(path):
        claims.own_names(list(sums))
    return sums


def _is_format(content: dict[str, Any]) -> bool:
    version = content.get("format")
    return type(version) is int and version in (FORMAT, DECIDING_FORMAT)


def _version(path: Path, version: object) -> ExportError:
    return ExportError(
        f"{path} has format {version!r:.40}; this runtime reads formats {FORMAT} and {DECIDING_FORMAT}. Export the "
        f"model again, or install a newer runtime: {install.RUNTIME}."
    )


def _check(folder: Path, name: str, expected: str) -> None:
    file = folder / name
    if Path(name).name != name or file.is_symlink():
        raise ExportError(f"{file} is a link or lies elsewhere; an export must hold its own files.")
    if not file.is_file():
        raise ExportError(f"{folder} is incomplete: {name} is missing. Export the model again.")
    with errors_of(file), file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != expected:
        raise ExportError(
            f"{file} has been changed or damaged since it was written: its sha256 is {digest[:12]}..., the manifest "
            f"says {expected[:12]}... Export the model again."
        )


def _object(path: Path) -> dict[str, Any]:
    with errors_of(path):
        if path.stat().st_size > _MOST_JSON:
            raise ValueError(f"it has {path.stat().st_size:,} bytes")
        value = claims.parse_json(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("it is not a JSON object")
    if path.name == "config.json":
        if value.get("kind") != KIND:
            raise ExportError(f"{path} is not of an ONNX export: its kind is {value.get('kind')!r:.80}; {_HOW}.")
        if not _is_format(value):
            raise _version(path, value.get("format"))
    return value


def _check_config(config: dict[str, Any]) -> None:
    """Raise ``ValueError`` for values of another type than this package reads."""
    if config.get("task") not in TASKS:
        raise ValueError(f"'task' must be one of {', '.join(TASKS)}; it is {config.get('task')!r:.80}")
    for name, kind in {"model": str, "labels": list, "text": dict, "inputs": list, "weights": str}.items():
        if not isinstance(config.get(name), kind):
            raise ValueError(f"{name!r} must be a {kind.__name__}; it is {config.get(name)!r:.80}")
    for name in ("labels", "inputs", "states"):
        values = config.setdefault(name, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError(f"{name!r} must be a list of strings")
        if len(set(values)) < len(values):
            raise ValueError(f"{name!r} holds a value twice")
    claims.labels(config["labels"])
    _check_columns(config.setdefault("columns", {}))  # older exports have none
    claims.text_settings(config["text"])
    if config["task"] == "language_model":
        return
    if not config["labels"]:
        raise ValueError("'labels' is empty")
    claims.thresholds(config.get("thresholds", {}), config["labels"], config.get("labels_per_text", "one"))
    if config["tokenizer"].get("normalization") != "NFKC":
        raise ValueError(f"the normalization {config['tokenizer'].get('normalization')!r:.80} is not NFKC")
    for rule in config["tokenizer"]["rules"]:
        if not isinstance(rule, list) or [type(part) for part in rule] != [str, str]:
            raise ValueError(f"a rule of the tokeniser must be a pattern and a replacement; one is {rule!r:.80}")


def _check_columns(columns: object) -> None:
    """Raise ``ValueError`` if the columns of the training file are not names, or not numbers."""
    number_or_name = (int, str)
    kinds: dict[str, tuple[type, ...]] = {"text_column": (str,), "label_column": (str,), "separator": (str,)}
    kinds |= {"token_column": number_or_name, "tag_column": number_or_name}
    if not isinstance(columns, dict) or any(
        type(columns[name]) not in kind or columns[name] == "" for name, kind in kinds.items() if name in columns
    ):
        raise ValueError(f"'columns' must say where texts are in a file; it is {columns!r:.80}")
