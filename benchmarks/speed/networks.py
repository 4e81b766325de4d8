"""The networks that are measured, and what they cost. Plain data: nothing here imports TensorFlow."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from dense_lstm_zoo.models import weight_counts

TIME = 30  # steps of a sentence in workload W


@dataclass(frozen=True, kw_only=True)
class Network:
    """The base of all architectures.

    Args:
        kernel: Ours only: the layers' ``kernel`` argument. None leaves their default.
    """

    kernel: str | None = None

    @property
    def matrix_weights(self) -> int:
        """Number of weights in the matrices: each takes part in one multiply-add a token."""
        raise NotImplementedError

    def gigaflops(self, kind: str, batch: int, time: int = TIME) -> float:
        """Return the work of one step: 2 operations a weight and token forward, and 4 more backward.

        Example:
            >>> round(Architecture().gigaflops("train", 200), 1)
            50.6
        """
        return {"train": 6, "predict": 2}[kind] * self.matrix_weights * batch * time / 1e9

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for another process."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Architecture(Network):
    """A densely connected Bi-LSTM classifier over features. The defaults are workload W, DC-Bi-LSTM 15 x 13 + 100.

    Args:
        num_dense_layers: Narrow layers (dl).
        dense_units: Their width, one direction (dh).
        top_units: Width of the top layer, one direction (th).
        features: Width of the input (e).
        num_classes: Labels.
        remat: Ours only: recompute layers in the backward pass.
        dtype: Keras dtype policy of both Keras sides.
    """

    num_dense_layers: int = 15
    dense_units: int = 13
    top_units: int = 100
    features: int = 300
    num_classes: int = 6
    remat: bool = False
    dtype: str = "float32"

    @property
    def layer_units(self) -> list[int]:
        """Units of each layer, one direction, bottom to top."""
        return [self.dense_units] * self.num_dense_layers + [self.top_units]

    @property
    def input_widths(self) -> list[int]:
        """Features that each layer reads: the input and the states of all layers below."""
        return [self.features + 2 * self.dense_units * i for i in range(self.num_dense_layers + 1)]

    @property
    def matrix_weights(self) -> int:
        """Number of weights in the encoder's matrices. The softmax's are too few to count.

        Example:
            >>> Architecture().matrix_weights
            1404200
        """
        sizes = self.features, self.num_dense_layers, self.dense_units, self.top_units
        return weight_counts.dense_bilstm(*sizes, biases=False)


@dataclass(frozen=True)
class LanguageArchitecture(Network):
    """A densely connected LSTM language model and its windows. The defaults are Godin et al. 2017's, dense 200 x 2.

    Args:
        num_layers: Depth.
        units: Width of a layer.
        embedding_dim: Width of a word vector.
        vocab_size: Words (V).
        dropout: Rate on the word vectors and every layer's output, a new mask each step.
        sampled_softmax: Ours only: number of words that a training step samples. None means all.
        batch: Rows of a window (B).
        time: Steps of a window (T).
        dtype: Keras dtype policy of both Keras sides.
    """

    num_layers: int = 2
    units: int = 200
    embedding_dim: int = 200
    vocab_size: int = 10_000
    dropout: float = 0.6
    sampled_softmax: int | None = None
    batch: int = 20
    time: int = 35
    dtype: str = "float32"

    @property
    def input_widths(self) -> list[int]:
        """Features that each layer reads, and last those that the softmax reads."""
        return [self.embedding_dim + self.units * i for i in range(self.num_layers + 1)]

    @property
    def matrix_weights(self) -> int:
        """Number of weights in the matrices of the layers and of the softmax.

        Example:
            >>> LanguageArchitecture().matrix_weights
            6800000
        """
        sizes = self.embedding_dim, self.num_layers, self.units
        stack = weight_counts.recurrent_stack(*sizes, wiring="dense", biases=False)
        return stack + self.input_widths[-1] * self.vocab_size


@dataclass(frozen=True)
class TaggerArchitecture(Network):
    """A gated-skip Bi-LSTM tagger over features. The defaults are Wu et al. 2016's encoder, 7 x 512.

    Args:
        num_layers: Depth, at least 3.
        units: Width of a layer, one direction.
        features: Width of the input.
        num_tags: Tags.
        dropout: Rate on what the first and the last layer pass up.
        time: Steps of a sentence (T).
    """

    num_layers: int = 7
    units: int = 512
    features: int = 655
    num_tags: int = 50
    dropout: float = 0.5
    time: int = 24

    @property
    def matrix_weights(self) -> int:
        """Number of weights in the encoder's matrices. The softmax's are too few to count.

        Example:
            >>> TaggerArchitecture().matrix_weights
            35188736
        """
        return weight_counts.skip_bilstm(self.features, self.num_layers, self.units, biases=False)


@dataclass(frozen=True)
class PoolingArchitecture(Network):
    """Dynamic interaction over the states of an encoder. The defaults are Xie et al. 2019's, DC-Bi-LSTM 14 x 13 + 100.

    Args:
        num_lower: Layers below the top.
        lower_width: Width of each, both directions.
        top_width: Width of the top layer, both directions.
        iterations: Rounds of the routing.
        num_classes: Labels.
    """

    num_lower: int = 14
    lower_width: int = 26
    top_width: int = 200
    iterations: int = 2
    num_classes: int = 6

    @property
    def features(self) -> int:
        """Width of all layers' states side by side."""
        return self.num_lower * self.lower_width + self.top_width

    @property
    def matrix_weights(self) -> int:
        """Number of weights in the projections. The softmax's are too few to count.

        Example:
            >>> PoolingArchitecture().matrix_weights
            280000
        """
        return self.num_lower * self.top_width * (self.top_width // 2)

    def gigaflops(self, kind: str, batch: int, time: int = TIME) -> float:
        """Return the operations on real words, in billions: a sentence has 1 to ``time`` of them, each as often.

        Example:
            >>> round(PoolingArchitecture().gigaflops("train", 200), 1)
            5.2
        """
        return super().gigaflops(kind, batch, time) * (time + 1) / (2 * time)
