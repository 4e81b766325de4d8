"""What is made of a bundle for others: exports for serving, presets, an upload to the hub."""

from __future__ import annotations

import importlib.util
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles import checks as bundle_checks
from dense_lstm_zoo.bundles import hub, weights_file
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.bundles.reading import read
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime import install

EXPORT_FORMATS = ("saved_model", "onnx")
_ROUNDED = "rounded to float16 after training"


class Published:
    """The methods of a ``Bundle`` that write it for others."""

    def export(
        self: Any,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        max_words: int | None = None,
        format: str = "saved_model",
        weights: str = "float32",
        shared_words: bool = False,
    ) -> Path:
        """Write the model for serving, whole or not at all; return the path.

        ``"saved_model"`` is for TensorFlow and TF Serving: it takes raw strings and needs no Python; the ``export``
        module in the task's folder describes its signatures. ``"onnx"`` is for ``dense_lstm_zoo_runtime``, which needs
        no TensorFlow, and for any ONNX runtime; the ``to_onnx`` module describes its inputs and outputs.

        Args:
            path: The folder to write; TF Serving needs a version number as its name, such as ``exports/trec/1``.
            overwrite: Whether to replace an existing export.
            max_words: Keep this number of words: those of the training texts first, then the most frequent ones.
            format: ``saved_model`` or ``onnx``.
            weights: How ONNX stores weights: ``float32``, ``float16`` or ``int8``, a half or a quarter of the size.
                Answers are computed in float32 either way.
            shared_words: With ONNX, leave out the word vectors that an installed word table has, and refer to the table
                by name and sha256.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False, or it is no export.
            ValueError: Another ``format`` or ``weights``; an option of ONNX without it; ``max_words`` with a language
                model, or below 1; word vectors that are not those of an installed table; weights that are not finite.
            ImportError: ``"onnx"`` without the package ``onnx``.

        Example:
            ``bundle.export("exports/trec", format="onnx", weights="float16")``
        """
        checks.one_of("format", format, EXPORT_FORMATS)
        options: dict[str, Any] = {"weights": weights, "shared_words": shared_words}
        if format == "onnx":
            if importlib.util.find_spec("onnx") is None:
                raise ImportError(f"format='onnx' needs the package onnx: {install.extra('onnx')}.")
        elif options != {"weights": "float32", "shared_words": False}:
            raise ValueError("weights and shared_words are for format='onnx'; a SavedModel is complete, in float32.")
        target = files.check_new_folder(path, "export" if overwrite else None)
        bundle_checks.check_finite(self._weights, "The model cannot be exported")
        bundle = self
        if max_words is not None:
            from dense_lstm_zoo.bundles.fewer_words import with_words

            bundle = with_words(self, max_words)
        module = self.task.module("to_onnx" if format == "onnx" else "export")
        folder: Path = module.export(bundle, target, overwrite=overwrite, **(options if format == "onnx" else {}))
        return folder

    def save_to_preset(
        self: Any,
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
            folder: The folder to write; a preset is a bundle, which ``from_preset`` and ``load`` read.
            dtype: How weights are stored, ``"float32"`` or ``"float16"``; they are loaded as float32.
            shared_words: As for ``save``; None shares word vectors with an installed word table if it has any of them.
            dev: Dev data as ``evaluate`` takes it, to score the preset as it is stored.
            test: Test data, likewise.
            overwrite: Whether to replace an existing bundle.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False, or it is no bundle.
            ValueError: Another ``dtype``, weights that float16 cannot hold, or as for ``save``.

        Example:
            ``bundle.save_to_preset("presets/mine", dtype="float16", test=corpus.test)``
        """
        checks.one_of("dtype", dtype, weights_file.DTYPES)
        target = files.check_new_folder(folder, "bundle" if overwrite else None)
        bundle_checks.check_finite(self._weights, "The model cannot be saved")
        shown = self._without_foreign_scores() if self.has_other_weights else self
        with tempfile.TemporaryDirectory() as work:
            shown._write(Path(work), shared_words, dtype)
            stored = read(BundleFolder.open(work))
        if stored.fingerprint() != shown.fingerprint():
            scores = ("dev_", "test_")
            kept = {name: value for name, value in stored.metrics.items() if not name.startswith(scores)}
            stored.metrics, stored.evaluation = {**kept, "rounded": _ROUNDED}, {}
        if dev is not None or test is not None:
            stored.rescore(dev=dev, test=test)
        elif any(name.startswith(("dev_", "test_")) for name in self.metrics.keys() - stored.metrics.keys()):
            warnings.warn(f"{target} is saved without scores: give dev=... or test=... to score it.", stacklevel=2)
        with files.new_folder(target) as new:
            stored._write(new, shared_words, dtype)
        self.task.module("report").write(stored, target.real)
        return target.path

    def push_to_hub(
        self: Any, name: str, *, private: bool = False, token: str | None = None, revision: str | None = None
    ) -> str:
        """Upload the bundle to the Hugging Face Hub and return the address of the commit.

        It needs the extra ``hub``. ``from_preset("hf://owner/name")`` loads it again.

        Args:
            name: The repository, ``"owner/name"``; it is created if it does not exist.
            private: Whether a new repository is private.
            token: A token with write access; None takes that of ``hf auth login`` or ``$HF_TOKEN``.
            revision: The branch; None means the main one.

        Raises:
            ValueError: ``name`` is not a repository's.
            DownloadError: The hub refuses, or cannot be reached.
        """
        hub.check_name(name)
        with tempfile.TemporaryDirectory() as work:
            folder = self.save(Path(work) / "bundle")
            return hub.push(folder, name, private=private, token=token, revision=revision)
