"""What is measured: models, batches, targets, and how many times. Plain data: nothing here imports TensorFlow."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.corpora import SOURCES

LONG_REPEATS = 5
FRESH_BATCH = 200  # of the rows that take a fresh process a time
TIME = 30  # steps of a sentence in workload W
SHARE_FLOOR, SHARE_AIM = 0.35, 0.50  # of the measured float32 matrix-product peak: W, training, batch 200

# Speed relative to the peer, by row: (floor: must hold, aim: the goal); None where there is none.
TARGETS: dict[tuple[str, int, str], tuple[float | None, float | None]] = {
    ("train", 200, "keras"): (1.8, 2.5),
    ("train", 32, "keras"): (2.2, 3.0),
    ("train", 1, "keras"): (8.0, 10.0),
    ("train", 200, "torch"): (None, 4.0),
    ("train", 32, "torch"): (None, 5.0),
    ("train", 1, "torch"): (None, 1.5),
    ("predict", 200, "keras"): (1.2, 1.5),
    ("predict", 32, "keras"): (1.6, 2.0),
    ("predict", 1, "keras"): (7.0, 8.0),
    ("predict", 200, "torch"): (None, 1.0),
    ("predict", 32, "torch"): (None, 1.5),
    ("predict", 1, "torch"): (None, 2.0),
    ("language_model", 20, "keras"): (1.4, 1.8),
    ("language_model", 20, "torch"): (None, 1.5),
    ("tagger_512", 1, "keras"): (5.0, 6.0),
    ("tagger_512", 32, "keras"): (1.6, 2.0),
    ("tagger_128", 32, "keras"): (1.1, 2.0),
    ("first_step", 200, "keras"): (3.0, 4.0),
    ("first_epoch", 200, "keras"): (2.5, 4.0),
    ("second_epoch", 200, "keras"): (2.5, 4.0),
}

# The columns of results/speed_cpu.csv. Spreads are interquartile ranges; ratios are peer / ours, above 1 is faster
# (or smaller) than the peer; ratio_low and ratio_high are the quartiles of the ratio over paired repeats.
COLUMNS = (
    *("name", "batch", "corpus", "unit", "ours_ms", "ours_spread_ms", "peer", "peer_ms", "peer_spread_ms"),
    *("ratio", "ratio_low", "ratio_high", "repeats", "steps", "floor", "aim"),
    *("ours_rate", "peer_rate", "rate_unit", "ours_mb", "ours_spread_mb", "peer_mb", "peer_spread_mb"),
    *("gflops_share", "peak_gflops", "max_difference", "kernel"),
    *("versions", "processor", "cores", "load_average", "command"),
)


@dataclass(frozen=True, kw_only=True)
class Network:
    """What every architecture has and tells of itself.

    Args:
        kernel: Ours only: the layers' ``kernel`` argument; None leaves their default.
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
    """A densely connected Bi-LSTM classifier over features; the defaults are workload W, DC-Bi-LSTM 15 x 13 + 100.

    Args:
        num_dense_layers: Narrow layers (dl).
        dense_units: Their width, one direction (dh).
        top_units: Width of the top layer, one direction (th).
        features: Width of the input (e).
        num_classes: Labels.
        remat: Ours only: recompute layers in the backward pass.
    """

    num_dense_layers: int = 15
    dense_units: int = 13
    top_units: int = 100
    features: int = 300
    num_classes: int = 6
    remat: bool = False

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
        """Number of weights in the encoder's matrices; the softmax's are too few to count.

        Example:
            >>> Architecture().matrix_weights
            1404200
        """
        pairs = zip(self.input_widths, self.layer_units, strict=True)
        return sum(8 * units * (width + units) for width, units in pairs)


@dataclass(frozen=True)
class LanguageArchitecture(Network):
    """A densely connected LSTM language model and its windows; the defaults are Godin et al. 2017's, dense 200 x 2.

    Args:
        num_layers: Depth.
        units: Width of a layer.
        embedding_dim: Width of a word vector.
        vocab_size: Words (V).
        dropout: Rate on the word vectors and every layer's output, a new mask each step.
        batch: Rows of a window (B).
        time: Steps of a window (T).
        dtype: Keras dtype policy of both Keras sides.
    """

    num_layers: int = 2
    units: int = 200
    embedding_dim: int = 200
    vocab_size: int = 10_000
    dropout: float = 0.6
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
        *widths, read = self.input_widths
        return sum(4 * self.units * (width + self.units) for width in widths) + read * self.vocab_size


@dataclass(frozen=True)
class TaggerArchitecture(Network):
    """A gated-skip Bi-LSTM tagger over features; the defaults are Wu et al. 2016's encoder, 7 x 512.

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
        """Number of weights in the encoder's matrices; the softmax's are too few to count.

        Example:
            >>> TaggerArchitecture().matrix_weights
            35188736
        """
        widths = [self.features, *[self.units] * (self.num_layers - 1)]
        gates = [4, 4, *[5] * (self.num_layers - 2)]
        return sum(2 * g * self.units * (width + self.units) for g, width in zip(gates, widths, strict=True))


@dataclass(frozen=True)
class PoolingArchitecture(Network):
    """Dynamic interaction over the states of an encoder; the defaults are Xie et al. 2019's, DC-Bi-LSTM 14 x 13 + 100.

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
        """Number of weights in the projections; the softmax's are too few to count.

        Example:
            >>> PoolingArchitecture().matrix_weights
            280000
        """
        return self.num_lower * self.top_width * (self.top_width // 2)


@dataclass(frozen=True)
class Settings:
    """How often and how long to measure.

    Args:
        repeats: Turns of each warmed-up comparison; at most ``LONG_REPEATS`` of those whose turns are long.
        fresh_repeats: Fresh processes a side for the first step.
        epoch_repeats: Fresh processes a side for first and second epochs of the first corpus; one for others.
        memory_repeats: Fresh processes a side where memory counts.
        block_seconds: A turn runs as many steps as fill about this time, at least ``min_steps``.
        min_steps: Fewest steps a turn.
        batches: Batch sizes of W.
        memory_depths: Depths whose peak memory is measured.
        corpora: Corpora of the epochs from raw text, the first also of the other rows from text; one whose files are
            not on this machine is left out.
        max_texts: Use only so many training texts; None is all.
        scaling: Which scaling curves to measure, from ``SCALING``.
        architecture: The model of the W rows.
        language_model: The language model and its windows.
        taggers: Encoders of taggers, each with its batch sizes.
        pooling: The pooling by dynamic interaction.
        kernel: The layers' ``kernel`` argument; None leaves their default.
        torch: Whether to compare with PyTorch, where it is installed.
        command: The command that the rows name.

    Raises:
        ValueError: A number out of range, or an unknown corpus.
    """

    repeats: int = 5
    fresh_repeats: int = 3
    epoch_repeats: int = 2
    memory_repeats: int = 1
    block_seconds: float = 0.5
    min_steps: int = 3
    batches: tuple[int, ...] = (200, 32, 1)
    memory_depths: tuple[int, ...] = (10, 25, 50)
    corpora: tuple[str, ...] = ("trec", "mr")
    max_texts: int | None = None
    scaling: tuple[str, ...] = ("depth", "width", "batch", "length")
    architecture: Architecture = Architecture()
    language_model: LanguageArchitecture = LanguageArchitecture()
    taggers: tuple[tuple[TaggerArchitecture, tuple[int, ...]], ...] = (
        (TaggerArchitecture(units=512), (1, 32)),
        (TaggerArchitecture(units=128), (32,)),
    )
    pooling: PoolingArchitecture = PoolingArchitecture()
    kernel: str | None = None
    torch: bool = True
    command: str = "dense-lstm-zoo bench"

    def __post_init__(self) -> None:
        for name in ("repeats", "fresh_repeats", "epoch_repeats", "memory_repeats", "min_steps"):
            checks.integer(name, getattr(self, name))
        for corpus in self.corpora:
            if corpus not in SOURCES:
                raise checks.unknown_name("corpus", corpus, SOURCES)

    @classmethod
    def quick(cls, **changes: Any) -> Settings:
        """Return settings for a look of a few minutes: the same models, fewer of everything."""
        few: dict[str, Any] = {
            "repeats": 3,
            "fresh_repeats": 1,
            "epoch_repeats": 1,
            "block_seconds": 0.1,
            "min_steps": 1,
            "batches": (32, 1),
            "memory_depths": (5, 10),
            "corpora": ("trec",),
            "max_texts": 400,
            "scaling": ("depth", "batch"),
        }
        return cls(**{**few, **changes})


# Around a small base, one thing at a time; the base itself is a point of every curve.
SCALING_BASE = {"num_dense_layers": 5, "dense_units": 13, "batch": 32, "time": TIME}
SCALING: dict[str, tuple[str, tuple[int, ...]]] = {
    "depth": ("num_dense_layers", (5, 10, 20, 50)),
    "width": ("dense_units", (13, 32, 64, 128)),
    "batch": ("batch", (1, 8, 32, 200)),
    "length": ("time", (10, 30, 100)),
}
