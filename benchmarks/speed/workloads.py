"""Workloads: batches, targets, and how many times. Plain data: nothing here imports TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.networks import (
    TIME,
    Architecture,
    LanguageArchitecture,
    PoolingArchitecture,
    TaggerArchitecture,
)
from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.loader import published

LONG_REPEATS = 5
FRESH_BATCH = 200  # of the rows that take a fresh process a time
SHARE_FLOOR, SHARE_AIM = 0.35, 0.50  # of the measured float32 matrix-product peak: W, training, batch 200

# Speed relative to the peer, by row: (floor: must hold, aim: the goal); None where there is none.
TARGETS: dict[tuple[str, int, str], tuple[float | None, float | None]] = {
    ("train", 200, "keras"): (2.5, 3.0),
    ("train", 32, "keras"): (4.0, 5.0),
    ("train", 1, "keras"): (10.0, 14.0),
    ("train", 200, "torch"): (1.0, 1.5),
    ("train", 32, "torch"): (1.0, 1.5),
    ("train", 1, "torch"): (1.0, 1.5),
    ("train_bfloat16", 200, "keras"): (2.5, 3.0),
    ("train_bfloat16", 200, "float32"): (1.2, 1.5),
    ("train_bfloat16", 32, "keras"): (2.5, 3.0),
    ("train_bfloat16", 32, "float32"): (1.2, 1.5),
    ("predict", 200, "keras"): (1.2, 1.5),
    ("predict", 32, "keras"): (1.6, 2.0),
    ("predict", 1, "keras"): (7.0, 8.0),
    ("predict", 200, "torch"): (1.4, 1.6),
    ("predict", 32, "torch"): (1.4, 1.6),
    ("predict", 1, "torch"): (1.0, 1.5),
    ("language_model", 20, "keras"): (1.5, 1.7),
    ("language_model", 20, "torch"): (1.0, 1.5),
    ("language_model_bfloat16", 20, "keras"): (1.7, 2.2),
    ("pooling", 200, "keras"): (1.15, 1.3),
    ("pooling", 32, "keras"): (1.0, None),
    ("tagger_512", 1, "keras"): (5.0, 6.0),
    ("tagger_512", 32, "keras"): (1.6, 2.0),
    ("tagger_128", 32, "keras"): (1.1, 2.0),
    ("first_step", 200, "keras"): (4.5, 6.0),
    ("first_epoch", 200, "keras"): (4.5, 6.0),
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


@dataclass(frozen=True)
class Settings:
    """The number and length of measurements.

    Args:
        repeats: Turns of each warmed-up comparison. Those whose turns are long take at most ``LONG_REPEATS``.
        fresh_repeats: Fresh processes a side for the first step.
        epoch_repeats: Fresh processes a side for first and second epochs of the first corpus, and one for others.
        memory_repeats: Fresh processes a side where memory counts.
        block_seconds: A turn runs as many steps as fill about this time, at least ``min_steps``.
        min_steps: Fewest steps a turn.
        batches: Batch sizes of W.
        memory_depths: Depths whose peak memory is measured.
        corpora: Corpora of the epochs from raw text, the first also of the other rows from text. One whose files are
            not on this machine is left out.
        max_texts: Use at most this many training texts. None is all.
        scaling: Which scaling curves to measure, from ``SCALING``.
        architecture: The model of the W rows.
        language_model: The language model and its windows.
        sampled_softmax: Language models over a large vocabulary, ours with sampled words.
        taggers: Encoders of taggers, each with its batch sizes.
        pooling: The pooling by dynamic interaction.
        kernel: The layers' ``kernel`` argument. None leaves their default.
        torch: Whether to compare with PyTorch, where it is installed.
        command: The command that the rows name.

    Raises:
        ValueError: A number out of range, or an unknown corpus.
    """

    repeats: int = 3
    fresh_repeats: int = 2
    epoch_repeats: int = 1
    memory_repeats: int = 1
    block_seconds: float = 0.5
    min_steps: int = 2
    batches: tuple[int, ...] = (200, 32, 1)
    memory_depths: tuple[int, ...] = (10, 25, 50)
    corpora: tuple[str, ...] = ("trec",)
    max_texts: int | None = None
    scaling: tuple[str, ...] = ("depth", "width", "batch", "length")
    architecture: Architecture = field(default_factory=Architecture)
    language_model: LanguageArchitecture = field(default_factory=LanguageArchitecture)
    sampled_softmax: tuple[LanguageArchitecture, ...] = (
        LanguageArchitecture(units=400, vocab_size=30_000, sampled_softmax=2048),
        LanguageArchitecture(units=400, vocab_size=30_000, sampled_softmax=2048, batch=64, dtype="mixed_bfloat16"),
    )
    taggers: tuple[tuple[TaggerArchitecture, tuple[int, ...]], ...] = (
        (TaggerArchitecture(units=512), (1, 32)),
        (TaggerArchitecture(units=128), (32,)),
    )
    pooling: PoolingArchitecture = field(default_factory=PoolingArchitecture)
    kernel: str | None = None
    torch: bool = True
    command: str = "python -m benchmarks.speed"

    def __post_init__(self) -> None:
        for name in ("repeats", "fresh_repeats", "epoch_repeats", "memory_repeats", "min_steps"):
            checks.integer(name, getattr(self, name))
        for corpus in self.corpora:
            if corpus not in published():
                raise checks.unknown_name("corpus", corpus, published())

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
