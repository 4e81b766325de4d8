"""The context of a training run, from a text encoder or from the trained model that the run starts from."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.bundles.shared_words import FIRST_WORD
from dense_lstm_zoo.data.token_ids import PADDING, UNKNOWN
from dense_lstm_zoo.models.context import ContextWeights

if TYPE_CHECKING:
    import numpy as np

    from dense_lstm_zoo.bundles.bundle import Bundle

UNKNOWN_WORD = "<unk>"  # of every language model


class Encoder(Protocol):
    """A text encoder, as training sees it: word vectors and recurrent layers that trained models read with."""

    name: str
    sha256: str
    wiring: str
    cell: str
    num_layers: int
    units: int
    embedding_dim: int
    words: tuple[str, ...]
    weights: dict[str, list[np.ndarray]]
    models: dict[str, dict[str, Any]]
    vectors: np.ndarray
    table: tuple[str, str] | None
    train_texts: np.ndarray | None

    @property
    def text_words(self) -> tuple[str, ...]:
        """Its words that a text can have."""

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions it reads in."""

    @property
    def sizes(self) -> dict[str, Any]:
        """The arguments of its network."""

    @property
    def eos_vector(self) -> np.ndarray:
        """The vector that every text begins with."""

    def word_vectors(self, words: Sequence[str]) -> np.ndarray:
        """Return what it reads for words (len(words), embedding_dim)."""


@dataclass(eq=False)
class Context:
    """The text encoder of a training run.

    Args:
        arguments: The model's arguments that describe it, all but ``context_dim``.
        states: The weights of the model's ``TextEncoderStates``.
        vectors: What it reads for each id (vocab_size, dim).
        record: What the config's ``training`` says about it.
        summary: A line for the log.
        dim: The model's ``context_dim``, if that is decided already.
    """

    arguments: dict[str, Any]
    states: list[np.ndarray]
    vectors: np.ndarray
    record: dict[str, Any]
    summary: str
    dim: int | None = field(default=None)

    def model_arguments(self, arguments: Mapping[str, Any], matrix: np.ndarray | None) -> dict[str, Any]:
        """Return the model's arguments. It reads the model's own word vectors where those are the same and stay so."""
        if self.dim is None:
            fixed = arguments.get("trainable_embeddings") is False
            self.dim = 0 if fixed and _same_words(self.vectors, matrix) else int(self.vectors.shape[1])
        return {**self.arguments, "context_dim": self.dim}

    def weights(self) -> ContextWeights:
        """Return the model's argument ``context_weights``."""
        return ContextWeights(self.states, self.vectors if self.dim else None)


def _same_words(vectors: np.ndarray, matrix: np.ndarray | None) -> bool:
    import numpy as np

    return matrix is not None and np.array_equal(vectors[FIRST_WORD:], matrix[FIRST_WORD:])


def read_context(name: str | None, words: Sequence[str], source: Any, job: Any) -> Context | None:
    """Return the context of a run: of the encoder that ``context`` names, or of the model that the run goes on from.

    Args:
        name: The option ``context``: a folder, a preset's name or an address, or None for a run without.
        words: The vocabulary's words, in the order of their ids from 2.
        source: The trained model of ``init_from``, or None.
        job: The run, whose dev and test texts are looked for among the texts that the encoder was trained on.

    Raises:
        ValueError: An encoder other than the source's.
    """
    config = getattr(source, "config", None) or {}
    units = config.get("arguments", {}).get("context_units", 0)
    encoder = load_encoder(name) if name is not None else None
    if source is not None and not units:
        if encoder is None:
            return None
        raise ValueError(
            f"context={name!r}: init_from goes on from a model without context, and its encoder reads words alone. "
            "Leave one of the two out."
        )
    if units:
        return _of_source(source, words, encoder)
    return None if encoder is None else _of_encoder(encoder, words, job)


def load_encoder(name: str | os.PathLike[str]) -> Encoder:
    """Return the text encoder in a folder or of a preset."""
    encoder: Encoder = tasks.text_encoder_class().load(name)
    return encoder


def _of_encoder(encoder: Encoder, words: Sequence[str], job: Any) -> Context:
    import numpy as np

    vectors = np.zeros((len(words) + FIRST_WORD, encoder.embedding_dim), np.float32)
    vectors[UNKNOWN] = encoder.word_vectors([UNKNOWN_WORD])[0]
    vectors[FIRST_WORD:] = encoder.word_vectors(words)
    num_known = len(set(encoder.words).intersection(words))
    datasets = sorted({str(model["dataset"]) for model in encoder.models.values() if "dataset" in model})
    record = {
        "name": encoder.name,
        "sha256": encoder.sha256,
        "datasets": datasets,
        "directions": list(encoder.directions),
        "known_words": num_known,
        **_overlap(encoder, job),
    }
    summary = (
        f"context: {encoder.name} ({' and '.join(encoder.directions)}, {encoder.num_layers} layers of "
        f"{encoder.units}), whose language models know {num_known:,} of {len(words):,} words"
    )
    states = [encoder.eos_vector, *(weight for name in encoder.directions for weight in encoder.weights[name])]
    return Context(_arguments(encoder), states, vectors, record, summary)


def _arguments(encoder: Encoder) -> dict[str, Any]:
    return {
        "context_units": encoder.units,
        "context_layers": encoder.num_layers,
        "context_wiring": encoder.wiring,
        "context_cell": encoder.cell,
        "context_directions": len(encoder.directions),
    }


def _overlap(encoder: Encoder, job: Any) -> dict[str, Any]:
    """Return how many dev and test texts the encoder has read, without their labels, and warn of more than a few."""
    if encoder.train_texts is None:
        return {"overlap": None}
    counts, shares = {}, []
    for part in ("dev", "test"):
        if (texts := getattr(job.corpus, part)) is not None:
            overlap = text_hashes.overlap(encoder.train_texts, job.token_rows(texts))
            counts[part] = overlap.count
            shares += [f"{overlap} of the {part} texts"] if overlap.is_too_much else []
    if shares:
        warnings.warn(
            f"The language models of {encoder.name} were trained on {' and '.join(shares)}, without labels. Scores on "
            "these say a little less about new texts; the model's config records it.",
            stacklevel=2,
        )
    return {"overlap": counts}


def _of_source(source: Bundle, words: Sequence[str], encoder: Encoder | None) -> Context:
    """Return the context of a trained model, with vectors for words that are new to it."""
    import numpy as np

    config, layers = source.config, {layer.name: layer for layer in source.network.layers}
    record = dict(config["training"].get("context", {}))
    if encoder is not None and encoder.sha256 != record.get("sha256"):
        raise ValueError(
            f"The model that init_from names has the context of {record.get('name', 'another encoder')} (sha256 "
            f"{str(record.get('sha256'))[:12]}...); received {encoder.name} ({encoder.sha256[:12]}...). Leave context "
            "out."
        )
    arguments = {name: value for name, value in config["arguments"].items() if name.startswith("context_")}
    dim = arguments.pop("context_dim")
    vectors = np.zeros((len(words) + FIRST_WORD, dim), np.float32)
    new: list[str] = []
    if dim:
        rows = {word: row for row, word in enumerate(source.vocabulary.words, start=FIRST_WORD)}
        matrix = layers["context_embedding"].get_matrix()
        vectors[[PADDING, UNKNOWN]] = matrix[[PADDING, UNKNOWN]]
        vectors[FIRST_WORD:] = matrix[[rows.get(word, UNKNOWN) for word in words]]
        new = [word for word in words if word not in rows]
    if new and (encoder := encoder or _installed(record)) is not None:
        places = [place for place, word in enumerate(words, start=FIRST_WORD) if word not in rows]
        vectors[places] = encoder.word_vectors(new)
    elif new:
        warnings.warn(
            f"The text encoder {record.get('name')} is not installed: {len(new):,} words that are new to the model get "
            "the context vector of unknown words. context=... names its folder.",
            stacklevel=2,
        )
    summary = f"context: {record.get('name')}, which the model of init_from was trained with"
    return Context(arguments, layers["context"].get_weights(), vectors, record, summary, dim)


def _installed(record: Mapping[str, Any]) -> Encoder | None:
    """Return the encoder that a config names, if it is here as it was."""
    try:
        encoder = load_encoder(str(record.get("name")))
    except (ValueError, OSError):
        return None
    return encoder if encoder.sha256 == record.get("sha256") else None
