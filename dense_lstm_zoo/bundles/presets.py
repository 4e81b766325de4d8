"""Presets: trained models by name. A preset is a bundle's folder. This module finds, lists and loads them.

The official ones are named in ``presets_index.json`` and installed by the distribution ``dense-lstm-zoo-presets``.
"""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import json
import math
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import archives, hub
from dense_lstm_zoo.bundles import checks as bundle_checks
from dense_lstm_zoo.bundles.bundle import Bundle, load
from dense_lstm_zoo.bundles.folder import BundleFolder, missing, unfinished
from dense_lstm_zoo.corpora.terms import corpora_before, terms_of
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.data.word_table import presets_folder
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime import install
from dense_lstm_zoo_runtime.paths import user_path

INDEX = Path(__file__).with_name("presets_index.json")
_ARCHIVE = ("https://", "http://")


@dataclass(frozen=True)
class Preset:
    """A preset's entry in the index: name, task, scores, size. ``print`` shows it on a line.

    Attributes:
        name: As ``from_preset`` takes it.
        task: As in ``list_models(task=...)``.
        model: The model's name.
        corpus: What it was trained on.
        measure: What ``score`` is, such as ``"test accuracy"``.
        score: The score. None for a preset without one.
        protocol: On how much the score was measured, and the seed.
        size: Bytes of its folder.
        terms: The terms of the data it was trained on.
        vectors: The word vectors it was trained with, if any.
        sha256: The checksum of its manifest, which holds those of its files.
    """

    name: str
    task: str
    model: str
    corpus: str
    measure: str
    score: float | None
    protocol: str
    size: int
    terms: str
    vectors: str | None
    sha256: str

    @property
    def is_installed(self) -> bool:
        """True if it is on this machine."""
        return self.name in _installed()

    def __str__(self) -> str:
        score = "not scored" if self.score is None else f"{self.measure} {self.score:.4f} ({self.protocol})"
        ending = "" if self.is_installed else "; not installed"
        line = f"{self.name:<28} {self.task:<15} {score}; {self.size / 2**20:.1f} MB; {self.terms}{ending}"
        return escape_controls(line)  # a preset may come from a stranger


def list_presets(pattern: str = "*", task: str | None = None) -> list[Preset]:
    """Return the presets that match, sorted by name: the official ones, and others that are installed.

    Args:
        pattern: A name with the wildcards ``*``, ``?`` and ``[...]``.
        task: Keep only this task's.

    Raises:
        ValueError: An unknown task.

    Example:
        ``print(*zoo.list_presets(task="tagging"), sep="\\n")``
    """
    if task is not None:
        checks.one_of("task", task, tasks.names())
    presets = [preset for _, preset in sorted(_every_preset().items()) if task in (None, preset.task)]
    return [preset for preset in presets if fnmatch.fnmatchcase(preset.name, pattern)]


def from_preset(source: str | os.PathLike[str], *, sha256: str | None = None, task: str | None = None) -> Bundle:
    """Load a trained model, downloading it first if need be.

    Args:
        source: A preset's name from ``list_presets``, or a bundle's folder, which wins over a preset of the same name;
            ``hf://owner/name`` or ``hf://owner/name@revision`` on the Hugging Face Hub; or ``https://...#sha256=...``,
            a .zip or .tar.gz file of a bundle's folder.
        sha256: The checksum of the archive; of anything else, that of its ``manifest.json``.
        task: The task it must be for. None accepts any.

    Raises:
        ValueError: An unknown preset (with near matches), one for another task, another checksum.
        FileNotFoundError: A preset that is not installed, or no such folder.
        BundleError: A damaged bundle.
        DownloadError: It cannot be downloaded. Nothing half-written is left.

    Example:
        ``zoo.from_preset("dc_bilstm_sst2").predict(["a smart and sweet comedy ."])``
    """
    if task is not None:
        checks.one_of("task", task, tasks.names())
    folder = open_folder(source, sha256=sha256)
    if task is not None:
        bundle_task = folder.read_config()["task"]
        if bundle_task != task:
            raise ValueError(f"{os.fspath(source)} is for {bundle_task}, not for {task}.")
    return load(folder)


def open_folder(source: str | os.PathLike[str], *, sha256: str | None = None) -> BundleFolder:
    """Return the folder of a preset, its files checked, downloaded if need be; takes what ``from_preset`` takes.

    Raises:
        ValueError: An unknown preset, with near matches, or another checksum.
        FileNotFoundError: A preset that is not installed, or no such folder.
        BundleError: A damaged bundle.
        DownloadError: It cannot be downloaded.
    """
    if isinstance(source, BundleFolder):
        return source
    text = os.fspath(source)
    if text.startswith(_ARCHIVE):
        return archives.fetch(text, sha256)
    folder = hub.fetch(text) if text.startswith(hub.SCHEME) else _local(text)
    if sha256 is not None:
        _check_sum(Path(folder), sha256, "sha256")
    return BundleFolder.open(folder)


def locate(source: str | os.PathLike[str]) -> Path:
    """Return the folder of a preset. Its files are checked only if it has to be downloaded.

    Raises:
        ValueError: As for ``open_folder``.
        FileNotFoundError: As for ``open_folder``.
        DownloadError: As for ``open_folder``.
    """
    text = os.fspath(source)
    return open_folder(source).path if text.startswith((*_ARCHIVE, hub.SCHEME)) else _local(text)


def is_meant(source: str) -> bool:
    """Return whether a string that could name a folder means a preset: an address, a preset's name or nearly one.

    A file or folder of that name wins.
    """
    if user_path(source).exists():
        return False
    names = {*_installed(), *_official()}
    return "://" in source or (_is_bare(source) and bool(difflib.get_close_matches(source, names, cutoff=0.6)))


def _is_bare(text: str) -> bool:
    return bool(re.fullmatch(r"[\w.-]*\w[\w.-]*", text))


def _local(text: str) -> Path:
    if not text.strip():
        raise ValueError("The name of the preset is empty; give a name that list_presets shows, or a bundle's folder.")
    path = user_path(text)
    if path.is_dir():
        return path
    if "://" in text:
        raise ValueError(f"A preset's address begins with hf:// or https://; received {text!r:.200}.")
    if not _is_bare(text) or unfinished(Path(text)):
        raise missing(text)
    installed, official = _installed(), _official()
    if text in installed:
        if text in official:
            _check_sum(installed[text], official[text].sha256, "the zoo's index")
        return installed[text]
    if text in official:
        raise FileNotFoundError(f"The preset {text!r} is not installed: {install.PRESETS}.")
    unknown = str(checks.unknown_name("preset", text, {*installed, *official}))
    raise ValueError(f"{unknown} {text} is not a folder either; a bundle is the folder that train(run_dir=...) makes.")


def _check_sum(folder: Path, expected: str, source: str) -> None:
    file = folder / "manifest.json"
    actual = files.sha256(file) if file.is_file() else "no such file"
    if actual != expected.lower():
        raise bundle_checks.BundleError(
            f"{file} has sha256 {actual[:12]}..., {source} says {expected[:12]}...: it is damaged or another version."
        )


def _installed() -> dict[str, Path]:
    folder = presets_folder()
    if folder is None or not (folder / "models").is_dir():
        return {}
    paths = (path for path in sorted((folder / "models").iterdir()) if not path.name.startswith("."))  # half-written
    return {path.name: path for path in paths if (path / "manifest.json").is_file()}


def _official() -> dict[str, Preset]:
    entries = json.loads(INDEX.read_text(encoding="utf-8"))["presets"]
    return {entry["name"]: Preset(**entry) for entry in entries}


def names() -> list[str]:
    """Return the names of all presets, the zoo's own and those that are installed beside them."""
    return sorted({**_official(), **_installed()})


def _every_preset() -> dict[str, Preset]:
    presets = _official()
    for name, path in _installed().items():
        if name not in presets:
            try:
                presets[name] = Preset(**index_entry(path))
            except bundle_checks.BundleError as error:
                warnings.warn(f"The preset {name!r} is left out: {error}", stacklevel=3)
            except (ValueError, TypeError, LookupError, ArithmeticError, OSError) as error:
                reason = f"{path} cannot be read, or says what this version does not know: {error}"
                warnings.warn(f"The preset {name!r} is left out: {reason}", stacklevel=3)
    return presets


def index_entry(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the index says of the preset in a folder, read from its files."""
    folder = user_path(folder)
    config = bundle_checks.read_config(folder / "config.json")
    metrics = bundle_checks.read_metrics(folder / "metrics.json")
    training = config["training"]
    measure = tasks.find(config["task"]).measure
    split = next((split for split in ("test", "dev") if f"{split}_{measure}" in metrics), None)
    vectors = training.get("vectors")
    score = metrics[f"{split}_{measure}"] if split else None
    preset = Preset(
        name=folder.name,
        task=config["task"],
        model=config["model"],
        corpus=training["dataset"],
        measure=f"{split} {measure}" if split else measure,
        score=score if score is not None and math.isfinite(score) else None,
        protocol=_protocol(metrics, split, training),
        size=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        terms=_terms(training),
        vectors=vectors if isinstance(vectors, str) else None,
        sha256=files.sha256(folder / "manifest.json"),
    )
    return dataclasses.asdict(preset)


def _terms(training: Mapping[str, Any]) -> str:
    """Return the terms of all that a model has learnt from, in one line."""
    context = training.get("context")
    datasets = context.get("datasets", ()) if isinstance(context, dict) else ()
    corpora = [training["dataset"], *corpora_before(training), *map(str, datasets)]
    return "; ".join(dict.fromkeys(terms_of(corpus) or "terms not recorded" for corpus in corpora))


def _protocol(metrics: Mapping[str, Any], split: str | None, training: Mapping[str, Any]) -> str:
    counts = {unit: metrics.get(f"{split}_{unit}") for unit in ("texts", "tokens")}
    parts = [f"{count:,} {unit}" for unit, count in counts.items() if isinstance(count, int)]
    parts += [f"seed {training['seed']}"] if "seed" in training else []
    return ", ".join([*parts, *(str(metrics[name]) for name in ("tested_on", "chosen") if name in metrics)])


def write_index(folder: str | os.PathLike[str], path: str | os.PathLike[str] = INDEX) -> None:
    """Write the index of the presets in ``folder``, one folder each."""
    folders = (path.parent for path in sorted(user_path(folder).glob("*/manifest.json")))
    entries = [index_entry(preset) for preset in folders]
    files.write_json(user_path(path), {"presets": entries})
