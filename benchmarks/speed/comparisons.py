"""The comparisons and their sides, by name: a side's module is imported when the side is made, and not before."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.speed.networks import (
    Architecture,
    LanguageArchitecture,
    Network,
    PoolingArchitecture,
    TaggerArchitecture,
)

if TYPE_CHECKING:
    from benchmarks.speed.sides import Side


@dataclass(frozen=True)
class Comparison:
    """A comparison: one architecture, and the class that builds it on each side, as ``"module.Class"``."""

    architecture: type[Network]
    sides: dict[str, str]


COMPARISONS = {
    "classifier": Comparison(
        Architecture,
        {
            "ours": "peers.OurSide",
            "float32": "peers.Float32Side",
            "keras": "peers.StockSide",
            "torch": "torch_side.TorchClassifier",
        },
    ),
    "language_model": Comparison(
        LanguageArchitecture,
        {
            "ours": "language_sides.OurLanguageModel",
            "keras": "language_sides.StockLanguageModel",
            "torch": "torch_side.TorchLanguageModel",
        },
    ),
    "pooling": Comparison(
        PoolingArchitecture, {"ours": "pooling_sides.OurPooling", "keras": "pooling_sides.PlainPooling"}
    ),
    "tagger": Comparison(TaggerArchitecture, {"ours": "tagger_sides.OurTagger", "keras": "tagger_sides.StockTagger"}),
}


def make_side(network: str, side: str, architecture: dict[str, Any]) -> Side:
    """Build one side (``"ours"``, ``"keras"`` or ``"torch"``) of a network's comparison."""
    comparison = COMPARISONS[network]
    module, name = comparison.sides[side].split(".")
    make = getattr(importlib.import_module(f"benchmarks.speed.{module}"), name)
    return make(comparison.architecture(**architecture))
