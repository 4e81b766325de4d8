"""A bundle: the folder that holds a trained model, and the object for it."""

from __future__ import annotations

import abc
import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dense_lstm_zoo.bundles import checks, hub, weights_file
from dense_lstm_zoo.bundles import shared_words as sharing
from dense_lstm_zoo.bundles.checks import BundleError, values_of
from dense_lstm_zoo.bundles.fewer_words import with_words
from dense_lstm_zoo.bundles.folder import BundleFolder, write_manifest
from dense_lstm_zoo.bundles.reading import DEV_CURVE, read, read_dev_curve
from dense_lstm_zoo.checks import integer, one_of
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files, scratch
from dense_lstm_zoo.storage.json_files import finite
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime import install
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER

if TYPE_CHECKING:
    import keras
    import numpy as np
    import pandas as pd

    from dense_lstm_zoo.storage.snapshots import Target

__all__ = ["DEV_CURVE", "EXPORT_FORMATS", "Bundle", "BundleError", "load", "read_dev_curve"]

# Metrics that stay when the weights change: what is still true, and what predictions are made with.
_FACTS = ("parameters", "encoder_parameters", "train_texts", "temperature", "changed")
_REPEAT = "run.toml"  # it repeats the run, and is its owner's to edit
_CHANGED = "the weights have changed since training"
EXPORT_FORMATS = ("saved_model", "onnx")
_ROUNDED = "rounded to float16 after training"


@dataclass(eq=False)
class Bundle(abc.ABC):
    """A trained model with everything needed to use it, and its record.

    Args:
        model: The model, rebuilt from ``config``.
        config: The model's name, every resolved argument, how it was trained, versions.
        vocabulary: The words it knows.
        labels: Names of the classes, in the order of the logits; empty where there are none.
        metrics: Test and dev scores, parameter counts, seconds of training.
        history: One row per epoch of its training: losses, scores, seconds.
        evaluation: Analysis of its errors on the test texts (else the dev texts); empty if it was never scored.
        dev_curve: Dev accuracy by batch, for a run with ``dev_every``.
        train_texts: Hashes of the texts it was trained on. None if they are not known.
        scored_weights: The checksum of the weights that ``metrics`` and ``evaluation`` describe. By default, if there
            are metrics, that of the model's current weights.
    """

    model: keras.Model
    config: dict[str, Any]
    vocabulary: Any
    labels: list[str]
    metrics: dict[str, Any]
    history: pd.DataFrame
    evaluation: dict[str, Any] = field(default_factory=dict)
    dev_curve: pd.DataFrame | None = None
    scored_weights: str | None = None
    train_texts: np.ndarray | None = None

    # Texts that the next saves write beside the model, by the file's name, such as how a run is repeated.
    beside: dict[str, str] = field(default_factory=dict, init=False)
    _saved: tuple[str, Any] | None = field(default=None, init=False)
    _own_manifests: set[str] = field(default_factory=set, init=False)

    task: ClassVar[Task]
    read_vocabulary: ClassVar[Callable[..., Any]]  # reads what ``vocabulary.write`` wrote

    def __post_init__(self) -> None:
        if self.metrics and self.scored_weights is None:
            self.scored_weights = self.fingerprint()

    @property
    def measure(self) -> str:
        """The score of its task: ``accuracy`` or ``perplexity``."""
        return self.task.measure

    @property
    def network(self) -> keras.Model:
        """The model without the parts only training needs: for a language model, the network with states in and out."""
        return registry.network(self.model)

    @property
    def _weights(self) -> keras.Model:
        """The network as an uncompiled model: Adam's moments would triple the size of the file."""
        import keras

        return keras.Model(self.network.inputs, self.network.outputs)

    @property
    def _variables(self) -> list[keras.Variable]:
        """The variables that prediction depends on. A language model's carried states are not among them."""
        return list(self.network.weights)

    def fingerprint(self) -> str:
        """Return the sha256 of all weights, which changes with any further training."""
        import numpy as np

        digest = hashlib.sha256()
        for variable in self._variables:
            value = np.ascontiguousarray(values_of(variable))
            digest.update(value.reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle has: all but traced graphs and the like, which are made again when needed."""
        cached = self._cached_names()
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    @classmethod
    def _cached_names(cls) -> set[str]:
        members = [item for parent in cls.__mro__ for item in vars(parent).items()]
        return {name for name, member in members if isinstance(member, functools.cached_property)}

    @property
    def saved_as(self) -> str | None:
        """The sha256 of the manifest of the folder that holds the same model, if it was loaded or saved as it is."""
        return self._saved[0] if self._saved and self._saved[1] == self._answers_by(self.fingerprint()) else None

    def _answers_by(self, fingerprint: str) -> tuple[object, ...]:
        """Return everything that decides its answers: the weights by their checksum, and what stands beside them."""
        return fingerprint, self.metrics.get("temperature"), self.config.get("thresholds")

    def mark_saved(self, folder: Path) -> str:
        """Remember which folder holds the model, which its exports name, and return its fingerprint."""
        fingerprint = self.fingerprint()
        self._saved = files.sha256(folder / "manifest.json"), self._answers_by(fingerprint)
        self._own_manifests.add(self._saved[0])
        return fingerprint

    @property
    def has_other_weights(self) -> bool:
        """True if the weights have changed since the bundle was scored."""
        return self.scored_weights is not None and self.scored_weights != self.fingerprint()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, shared_words: bool = False) -> Path:
        """Write the bundle to the folder ``path``, whole or not at all, and return the path.

        The card, the report and the pictures are written last, once the bundle is in place. A failure there is only a
        warning. Weights that have changed since they were scored are saved without scores, with a warning.

        Args:
            path: The folder to write.
            overwrite: Whether to replace an existing bundle.
            shared_words: Leave out the word vectors that an installed word table has, and refer to the table by name
                and sha256: a few MB instead of a hundred. Such a bundle loads only where that table is installed.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False, or it is not a bundle.
            ValueError: Weights that are not finite, quantised layers, or ``shared_words`` with word vectors that are
                not those of an installed table.
        """
        target = files.check_new_folder(path, "bundle" if overwrite else None)
        checks.check_savable(self._weights, "The model cannot be saved")
        scored = self._without_foreign_scores()
        self._publish(scored, target, shared_words)
        self.mark_saved(target.real)
        if scored is not self:
            warnings.warn(
                f"{target} is saved without scores: its weights have changed since they were scored. "
                "bundle.rescore(dev=..., test=...) scores the current weights.",
                stacklevel=2,
            )
        return target.path

    def _publish(self, bundle: Bundle, target: Target, shared_words: bool | None, dtype: str = "float32") -> None:
        """Write what this bundle is saved as in its place, and then what people read of it."""
        path = target.real
        beside, had_export = {**self._repeat_file(path), **bundle.beside}, (path / SUBFOLDER).is_dir()
        with files.new_folder(target) as folder:
            bundle._write(folder, shared_words, dtype)
            for name, text in beside.items():
                (folder / name).write_text(text, encoding="utf-8")
        self.task.module("report").write(bundle, path)
        if had_export:
            warnings.warn(
                f"{target.path / SUBFOLDER}, the export of the bundle that was there, is gone with it: "
                "export this one.",
                stacklevel=3,
            )

    def _repeat_file(self, path: Path) -> dict[str, str]:
        """Return the file that repeats the run if the bundle came from the folder, or was saved there."""
        manifest_file, repeat = path / "manifest.json", path / _REPEAT
        if not manifest_file.is_file() or files.sha256(manifest_file) not in self._own_manifests:
            return {}
        return {_REPEAT: repeat.read_text(encoding="utf-8")} if repeat.is_file() else {}

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        max_words: int | None = None,
        format: str = "saved_model",
        weights: str = "float32",
        shared_words: bool = False,
    ) -> Path:
        """Write the model for serving, whole or not at all, and return the path.

        ``"saved_model"`` is for TensorFlow and TF Serving: it takes raw strings and needs no Python. The ``export``
        module in the task's folder describes its signatures. ``"onnx"`` is for ``dense_lstm_zoo_runtime``, which needs
        no TensorFlow, and for any ONNX runtime. The ``to_onnx`` module describes its inputs and outputs.

        Args:
            path: The folder to write; TF Serving needs a version number as its name, such as ``exports/trec/1``.
            overwrite: Whether to replace an existing export.
            max_words: Keep this number of words: those of the training texts first, then the most frequent ones.
            format: ``saved_model`` or ``onnx``.
            weights: How ONNX stores weights: ``float32``, ``float16`` or ``int8``, a half or a quarter of the size.
                Answers are computed in float32. With ``int8``, wide LSTMs over words multiply bytes, which is faster.
            shared_words: With ONNX, leave out the word vectors that an installed word table has, and refer to the table
                by name and sha256.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False, or it is not an export.
            ValueError: Another ``format`` or ``weights``, an option of ONNX without it, ``max_words`` with a language
                model, or below 1, word vectors that are not those of an installed table, weights that are not
                finite, or quantised layers.
            ImportError: ``"onnx"`` without the package ``onnx``.

        Example:
            ``bundle.export("exports/trec", format="onnx", weights="float16")``
        """
        check_export(format, weights, shared_words, max_words)
        options: dict[str, Any] = {"weights": weights, "shared_words": shared_words}
        target = files.check_new_folder(path, "export" if overwrite else None)
        checks.check_savable(self._weights, "The model cannot be exported")
        bundle = self
        if max_words is not None:
            bundle = with_words(self, max_words)
        module = self.task.module("to_onnx" if format == "onnx" else "export")
        folder: Path = module.export(bundle, target, **(options if format == "onnx" else {}))
        return folder

    def as_keras(self) -> keras.Model:
        """Return the model as a ``keras.Model`` of raw text, such as ``TextClassifier``, which shares the weights.

        Raises:
            ValueError: A bundle that was loaded with ``compile=False``.

        Example:
            ``zoo.load("runs/trec").as_keras().fit(texts, labels)``
        """
        zoo = importlib.import_module("dense_lstm_zoo")
        return getattr(zoo, self.task.keras_task).from_bundle(self)

    def save_to_preset(
        self,
        folder: str | Path,
        *,
        dtype: str = "float32",
        shared_words: bool | None = None,
        dev: Any = None,
        test: Any = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the bundle as a preset, small enough to hand on; return the folder. The bundle itself does not change.

        Rounding changes the weights, and so a float16 preset keeps no scores but those of ``dev`` and ``test``.

        Args:
            folder: The folder to write. A preset is a bundle, which ``from_preset`` and ``load`` read.
            dtype: How weights are stored, ``"float32"`` or ``"float16"``. They are loaded as float32.
            shared_words: As for ``save``. None shares word vectors with an installed word table if it has any of them.
            dev: Dev data as ``evaluate`` takes it, to score the preset as it is stored.
            test: Test data, likewise.
            overwrite: Whether to replace an existing bundle.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False, or it is not a bundle.
            ValueError: Another ``dtype``, weights that float16 cannot hold, or as for ``save``.

        Example:
            ``bundle.save_to_preset("presets/mine", dtype="float16", test=corpus.test)``
        """
        one_of("dtype", dtype, weights_file.DTYPES)
        target = files.check_new_folder(folder, "bundle" if overwrite else None)
        checks.check_savable(self._weights, "The model cannot be saved")
        scored = self._without_foreign_scores()
        with scratch.new_folder("a preset while it is made") as work:
            scored._write(work, shared_words, dtype)
            rounded: Bundle = read(BundleFolder.open(work))
        if dtype != "float32" and rounded.fingerprint() != scored.fingerprint():
            scores = ("dev_", "test_")
            metrics = {name: value for name, value in rounded.metrics.items() if not name.startswith(scores)}
            rounded.metrics, rounded.evaluation = {**metrics, "rounded": _ROUNDED}, {}
        if dev is not None or test is not None:
            rounded.rescore(dev=dev, test=test)
        elif any(name.startswith(("dev_", "test_")) for name in self.metrics.keys() - rounded.metrics.keys()):
            warnings.warn(f"{target} is saved without scores: give dev=... or test=... to score it.", stacklevel=2)
        self._publish(rounded, target, shared_words, dtype)
        self._own_manifests.add(files.sha256(target.real / "manifest.json"))
        return target.path

    def push_to_hub(
        self, name: str, *, private: bool = False, token: str | None = None, revision: str | None = None
    ) -> str:
        """Upload the bundle to the Hugging Face Hub and return the address of the commit.

        It needs the extra ``hub``. ``from_preset("hf://owner/name")`` loads it again.

        Args:
            name: The repository, ``"owner/name"``. It is created if it does not exist.
            private: Whether a new repository is private.
            token: A token with write access. None takes that of ``hf auth login`` or ``$HF_TOKEN``.
            revision: The branch. None means the main one.

        Raises:
            ValueError: ``name`` is not a repository's.
            DownloadError: The hub refuses, or cannot be reached.
        """
        hub.check_name(name)
        with tempfile.TemporaryDirectory() as work:
            folder = self.save(Path(work) / "bundle")
            return hub.push(folder, name, private=private, token=token, revision=revision)

    def save_word_vectors(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the model's word vectors in GloVe's text format, one word per line, with all digits.

        If the first word begins with a byte order mark, word2vec's first line with the sizes stands before it.

        ``train(vectors=path)`` lets another model start from them. Other tools read them too.

        Args:
            path: The file to write, whole or not at all; compressed if its name ends in ``.gz``.
            overwrite: Whether to replace an existing file.

        Returns:
            The path.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False.
        """
        output = check_output(path, overwrite)
        layer = self.network.get_layer("embedding")
        matrix = layer.get_matrix() if hasattr(layer, "get_matrix") else values_of(layer.embeddings)
        words = self.vocabulary.words
        with new_output(output) as file:
            if words[0].startswith("\ufeff"):  # as the first character of a file, it is no part of a word
                file.write(f"{len(words)} {matrix.shape[1]}\n")
            for word, row in zip(words, matrix[len(matrix) - len(words) :], strict=True):  # after padding and unknown
                file.write(" ".join([word, *(f"{value:.9g}" for value in row.tolist())]) + "\n")
        return output.path

    def _without_foreign_scores(self) -> Bundle:
        """Return the bundle without its scores if they are those of other weights, else the bundle itself."""
        if not self.has_other_weights:
            return self
        facts = {name: value for name, value in self.metrics.items() if name in _FACTS}
        return dataclasses.replace(self, metrics={**facts, "changed": _CHANGED}, evaluation={}, scored_weights=None)

    def _write(self, folder: Path, shared_words: bool | None = False, dtype: str = "float32") -> None:
        """Write everything but the files for people, and the manifest."""
        weights, shapes = folder / "model.weights.h5", [tuple(variable.shape) for variable in self._weights.weights]
        checks.check_arguments("The model cannot be saved", self.config["arguments"], shapes)
        weights_file.save(self._weights, weights)
        shared = None
        if shared_words is not False:
            table_name = self.config["training"].get("vectors")
            shared = sharing.find(weights, self.network, self.vocabulary.words, table_name, required=shared_words)
            shared = shared and shared.shortened()
        if shared is not None or dtype != "float32":
            weights_file.reduce(weights, shared.reduced if shared else None, dtype)
        words = shared.own_words if shared else self.vocabulary.words
        dataclasses.replace(self.vocabulary, words=words).write(folder / "vocabulary.txt")
        config = self.config if shared is None else {**self.config, sharing.KEY: shared.config}
        if shared is not None:
            shared.write_rows(folder / sharing.ROWS)
        contents = {"config": config, "labels": self.labels}
        contents |= {"metrics": finite(self.metrics), "evaluation": finite(self.evaluation)}
        for name, content in contents.items():
            (folder / f"{name}.json").write_text(files.to_json(content), encoding="utf-8")
        self.history.to_csv(folder / "history.csv", index=False)
        if self.dev_curve is not None:
            self.dev_curve.to_csv(folder / DEV_CURVE, index=False)
        if self.train_texts is not None:
            from dense_lstm_zoo.bundles import text_hashes

            text_hashes.write_hashes(folder / text_hashes.FILE, self.train_texts)
        write_manifest(folder)

    def rescore(self, *, dev: Any = None, test: Any = None, **options: Any) -> dict[str, Any]:
        """Score splits with the current weights. The bundle keeps these scores and drops those of earlier weights.

        Args:
            dev: Dev data as ``evaluate`` takes it, or None to skip it.
            test: Test data, likewise.
            **options: Arguments of ``evaluate``.

        Returns:
            The bundle's metrics.

        Example:
            ``bundle.model.fit(...)``, then ``bundle.rescore(test=zoo.load_corpus("trec").test)``
        """
        for name in self._cached_names():  # graphs of layers that may have got LoRA since
            self.__dict__.pop(name, None)
        source = self._without_foreign_scores()
        metrics, evaluation = dict(source.metrics), source.evaluation
        for split, data in {"dev": dev, "test": test}.items():
            if data is not None:
                scores, analysis = self.assess(data, **options)
                metrics = {name: value for name, value in metrics.items() if not name.startswith(f"{split}_")}
                metrics |= {f"{split}_{measure}": value for measure, value in scores.items()}
                if split == "test" or evaluation.get("split") != "test":
                    evaluation = {"split": split, **analysis}
        self.metrics, self.evaluation, self.scored_weights = metrics, evaluation, self.fingerprint()
        return metrics

    @abc.abstractmethod
    def assess(self, data: Any) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the scores of a split and the analysis for its report."""

    def part_of(self, source: Any) -> tuple[Any, Sequence[str] | None]:
        """Return texts to score, and the names of their labels if ``source`` is the path of a file of them.

        A file is read by the columns of the training.

        Raises:
            FileNotFoundError: No such file.
            ValueError: A file that is not in a format of the task.
        """
        from dense_lstm_zoo.corpora.dataset import Dataset

        if not isinstance(source, str | os.PathLike):
            return source, None
        training, options = self.config["training"], {"test_file": os.fspath(source)}
        trained_on, columns = training["dataset"], training.get("columns", {})
        dataset = Dataset.to_score(None, options, self.task, "test", trained_on=trained_on, columns=columns)
        assert dataset is not None  # as a file is named
        _, part, label_names = dataset.load_part("test")
        return part, label_names

    def summary(self) -> str:
        """Return its scores, parameters and seconds of training in a few lines."""
        text: str = self.task.module("report").summary(self)
        return text

    def __repr__(self) -> str:
        """Return the model, the training corpus and the scores."""
        scores = ", ".join(f"{k}={v:.4f}" for k, v in self.metrics.items() if k.endswith((self.task.measure, "loss")))
        return f"{type(self).__name__}({self.config['model']}, {self.config['training']['dataset']}: {scores})"

    def _repr_html_(self) -> str:
        from dense_lstm_zoo.display.notebook import bundle_card

        return bundle_card(self)


def check_export(format: str, weights: str, shared_words: bool, max_words: int | None) -> None:
    """Raise for options of ``Bundle.export`` that no bundle can be exported with, as it does."""
    one_of("format", format, EXPORT_FORMATS)
    if format == "onnx":
        if importlib.util.find_spec("onnx") is None:
            raise ImportError(f"format='onnx' needs the package onnx: {install.extra('onnx')}.")
    elif weights != "float32" or shared_words:
        raise ValueError("weights and shared_words are for format='onnx'; a SavedModel is complete, in float32.")
    if max_words is not None:
        integer("max_words", max_words)


def load(path: str | os.PathLike[str], *, compile: bool = True, kernel: str | None = None) -> Bundle:
    """Load a bundle from its folder: the model is rebuilt from its arguments and its weights are read.

    Nothing in the folder's files is unpickled or executed.

    Args:
        path: A folder that ``train`` or ``Bundle.save`` wrote.
        compile: Whether the model gets its loss and optimiser, which only further training needs. Without them it
            loads sooner and takes a third of the memory.
        kernel: The kernel that its recurrent layers run, such as ``"native"``, which compiles nothing; by default the
            one it was built with. The bundle's config keeps that one.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: An unknown kernel, or one that cannot run here.
        BundleError: Not a bundle, or a damaged one. The message names the file.

    Example:
        ``zoo.load("runs/trec").predict(["Who was Galileo ?"])``
    """
    bundle: Bundle = read(BundleFolder.open(path), compile=compile, kernel=kernel)
    return bundle
