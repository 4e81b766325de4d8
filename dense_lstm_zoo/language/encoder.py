"""A text encoder: trained language models without their softmax, one per direction, for other models to read with."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.bundles import presets, shared_words
from dense_lstm_zoo.bundles.bundle import load as load_bundle
from dense_lstm_zoo.language import encoder_files
from dense_lstm_zoo.language.corpus import EOS, UNKNOWN
from dense_lstm_zoo.language.encoder_card import encoder_card
from dense_lstm_zoo.language.encoder_files import SIZES
from dense_lstm_zoo.reports.base import write_readme
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tasks.options import DIRECTIONS

if TYPE_CHECKING:
    import keras
    import numpy as np

    from dense_lstm_zoo.bundles.bundle import Bundle


@dataclass(eq=False)
class TextEncoder:
    """The word vectors and recurrent layers of language models with one vocabulary.

    Args:
        wiring: How the layers are connected. See ``layers.RecurrentStack``.
        cell: ``lstm``, ``gru`` or ``simple_rnn``.
        num_layers: Depth of one direction.
        units: Width of a layer, one direction.
        embedding_dim: Length of a word vector.
        words: The language models' words, ``<eos>`` and ``<unk>`` among them.
        vectors: Their vectors (words, embedding_dim), float32, which both directions read.
        weights: The weights of each direction's ``RecurrentStack``, in the order of its ``weights``: ``forward`` and,
            where there is one, ``backward``.
        table: Name and sha256 of the word table that the vectors are rows of, if they were not trained. It has vectors
            for words that the language models do not know.
        models: What is known of the language model of each direction: corpus, perplexity, seed.
        train_texts: Hashes of the texts they were trained on, or None if they are not known.
        name: The name of its folder. Empty until it is saved.
        sha256: The checksum of its folder's manifest, and so of all of its files. Empty until it is saved.

    Example:
        ``TextEncoder.from_bundles(zoo.load("runs/forward"), zoo.load("runs/backward")).save("runs/encoder")``
    """

    wiring: str
    cell: str
    num_layers: int
    units: int
    embedding_dim: int
    words: tuple[str, ...]
    vectors: np.ndarray
    weights: dict[str, list[np.ndarray]]
    table: tuple[str, str] | None = None
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    train_texts: np.ndarray | None = None
    name: str = ""
    sha256: str = ""

    @classmethod
    def from_bundles(cls, forward: Bundle, backward: Bundle | None = None) -> TextEncoder:
        """Join trained language models of one vocabulary and one size.

        Args:
            forward: A language model that reads from left to right.
            backward: One trained with ``direction="backward"``. None leaves that direction out.

        Raises:
            ValueError: Not a language model, one of the other direction, both in the wrong order, or models that differ
                in words, vectors or size.
        """
        bundles = {"forward": forward, **({} if backward is None else {"backward": backward})}
        _check_directions(bundles)
        sizes = _sizes(forward)
        words, vectors = forward.vocabulary.words, _vectors(forward)
        table = word_table_of(forward.config)
        if backward is not None:
            _check_pair(forward, backward, sizes, vectors)
        return cls(
            **sizes,
            words=tuple(words),
            vectors=vectors,
            weights={direction: _stack_weights(bundle) for direction, bundle in bundles.items()},
            table=table,
            models={direction: _record(bundle) for direction, bundle in bundles.items()},
            train_texts=_joined([bundle.train_texts for bundle in bundles.values()]),
        )

    @classmethod
    def load(cls, source: str | os.PathLike[str]) -> TextEncoder:
        """Read an encoder, or take a trained language model as one that reads forward only.

        Args:
            source: A folder, a preset's name or an address, as ``from_preset`` takes them.

        Raises:
            ValueError: An unknown preset, or a language model that reads backward.
            FileNotFoundError: No such folder.
            BundleError: Neither an encoder nor a language model, or a damaged one.
        """
        folder, fields = encoder_files.read(source)
        encoder = cls.from_bundles(load_bundle(folder, compile=False)) if fields is None else cls(**fields)
        encoder.name, encoder.sha256 = folder.path.resolve().name, folder.sha256
        return encoder

    def save(self, path: str | os.PathLike[str], *, dtype: str = "float16", overwrite: bool = False) -> Path:
        """Write the encoder to the folder ``path``, whole or not at all, and return the path.

        Word vectors that are rows of an installed word table are not stored: the folder names the table. A card,
        README.md, is written last. A failure there is only a warning.

        Args:
            path: The folder to write.
            dtype: How numbers are stored: ``float16`` or ``float32``.
            overwrite: Whether to replace an existing folder.

        Raises:
            FileExistsError: Something is there and ``overwrite`` is False.
            ValueError: Another ``dtype``, or numbers that float16 cannot hold.
        """
        target = encoder_files.save(self, path, dtype, overwrite)
        self.name, self.sha256 = target.real.name, files.sha256(target.real / "manifest.json")
        write_readme(lambda: encoder_card(self, target.real), target.real)
        return target.path

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions it reads in, ``forward`` first."""
        return tuple(direction for direction in DIRECTIONS if direction in self.weights)

    @property
    def width(self) -> int:
        """Features of a layer's states, all directions side by side."""
        return self.units * len(self.directions)

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments of the network."""
        return {name: getattr(self, name) for name in SIZES}

    @property
    def text_words(self) -> tuple[str, ...]:
        """Its words but for ``<eos>`` and ``<unk>``, which no text has."""
        return tuple(word for word in self.words if word not in (EOS, UNKNOWN))

    @property
    def eos_vector(self) -> np.ndarray:
        """The vector that every text begins with, in either direction."""
        return self.vectors[self._row[EOS]]

    def word_vectors(self, words: Sequence[str]) -> np.ndarray:
        """Return what the encoder reads for words, float32 (len(words), embedding_dim).

        It is the language models' vector of a word. For a word they do not know, the word table's if their vectors are
        the table's. For any other, the vector of ``<unk>``.

        Raises:
            BundleError: The table is not installed, or another version.
        """
        import numpy as np

        rows = np.array([self._row.get(word, -1) for word in words], np.int64)
        vectors: np.ndarray = self.vectors[np.where(rows < 0, self._row[UNKNOWN], rows)].astype(np.float32)
        if self.table is None or not (rows < 0).any():
            return vectors
        table = shared_words.installed(f"The text encoder {self.name or 'given'}", *self.table)
        places = [i for i in np.flatnonzero(rows < 0).tolist() if words[i] in table]
        if places:
            vectors[places] = table.vectors([words[i] for i in places])
        return vectors

    def weight_shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes of one direction's weights, in their order."""
        return encoder_files.stack_shapes(self.wiring, self.cell, self.num_layers, self.units, self.embedding_dim)

    @functools.cached_property
    def _row(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}


def join_language_models(
    forward: Bundle | str | os.PathLike[str], backward: Bundle | str | os.PathLike[str] | None = None
) -> TextEncoder:
    """Join trained language models into a text encoder, for ``train(context=...)`` and ``train(init_from=...)``.

    Args:
        forward: A language model that reads from left to right: a bundle, a folder or a preset's name.
        backward: One trained with ``direction="backward"`` on the same words, likewise. None leaves it out.

    Raises:
        ValueError: As for ``TextEncoder.from_bundles``, or an unknown preset.
        FileNotFoundError: No such folder.

    Example:
        ``zoo.join_language_models("runs/forward", "runs/backward").save("runs/encoder")``
    """
    return TextEncoder.from_bundles(_bundle(forward), None if backward is None else _bundle(backward))


def _bundle(source: Bundle | str | os.PathLike[str]) -> Bundle:
    return presets.from_preset(source) if isinstance(source, str | os.PathLike) else source


def _check_directions(bundles: Mapping[str, Bundle]) -> None:
    for bundle in bundles.values():
        if bundle.task.name != "language_model":
            raise ValueError(f"A text encoder is made of language models; received {bundle!r}.")
    directions = [bundle.config["text"].get("direction", "forward") for bundle in bundles.values()]
    if directions == ["backward", "forward"]:
        raise ValueError(
            "The language models are in the wrong order: the first must read forward and the second backward; received "
            "the backward one first. Give them the other way round."
        )
    for direction, reads in zip(bundles, directions, strict=True):
        if reads != direction:
            raise ValueError(
                f"The {direction} language model must read {direction}, but this one reads {reads}; "
                f"train one with direction={direction!r}."
            )


def _check_pair(forward: Bundle, backward: Bundle, sizes: Mapping[str, Any], vectors: np.ndarray) -> None:
    import numpy as np

    theirs = _sizes(backward)
    if different := [name for name in SIZES if theirs[name] != sizes[name]]:
        differences = ", ".join(f"{name}={sizes[name]!r} and {theirs[name]!r}" for name in different)
        raise ValueError(f"Both language models must have the same size; received {differences}.")
    if backward.vocabulary.words != forward.vocabulary.words:
        pairs = itertools.zip_longest(forward.vocabulary.words, backward.vocabulary.words)
        place, (word, other) = next((i, pair) for i, pair in enumerate(pairs, start=1) if pair[0] != pair[1])
        raise ValueError(
            f"Both language models must have the same words in the same order; received {len(forward.vocabulary):,} "
            f"and {len(backward.vocabulary):,} words, of which number {place:,} is {word!r:.80} and {other!r:.80}. "
            "Train both on the same text, with the same max_words and min_count."
        )
    if not np.array_equal(_vectors(backward), vectors):
        raise ValueError(
            "Both language models must read the same word vectors, which stay as they are in training: train both with "
            "the same vectors=..., seed=... and trainable_embeddings=False."
        )


def _sizes(bundle: Bundle) -> dict[str, Any]:
    stack = bundle.network.get_layer("stack")
    sizes = {name: getattr(stack, name) for name in ("wiring", "cell", "num_layers", "units")}
    return {**sizes, "embedding_dim": int(bundle.network.get_layer("embedding").output_dim)}


def _vectors(bundle: Bundle) -> np.ndarray:
    return _numbers(bundle.network.get_layer("embedding").embeddings)


def _stack_weights(bundle: Bundle) -> list[np.ndarray]:
    return [_numbers(weight) for weight in bundle.network.get_layer("stack").weights]


def _numbers(variable: keras.Variable) -> np.ndarray:
    import keras
    import numpy as np

    return np.array(keras.ops.convert_to_numpy(variable), np.float32)


def word_table_of(config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return name and sha256 of the word table whose vectors a language model's words still have, or None."""
    training = config["training"]
    is_fixed = config["arguments"].get("trainable_embeddings", True) is False
    name, sha256 = training.get("vectors"), training.get("vectors_sha256")
    return (str(name), str(sha256)) if is_fixed and name and sha256 else None


def _record(bundle: Bundle) -> dict[str, Any]:
    training, metrics = bundle.config["training"], bundle.metrics
    facts = {
        "model": bundle.config["model"],
        "dataset": training["dataset"],
        "seed": training.get("seed"),
        "epochs": metrics.get("epochs"),
        "dev_perplexity": metrics.get("dev_perplexity"),
        "sha256": bundle.saved_as,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _joined(hashes: Sequence[np.ndarray | None]) -> np.ndarray | None:
    import numpy as np

    arrays = [array for array in hashes if array is not None]
    return np.unique(np.concatenate(arrays)) if len(arrays) == len(hashes) else None
