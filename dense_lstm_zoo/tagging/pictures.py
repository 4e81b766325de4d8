"""Figures for a tagger: how far its gates are open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dense_lstm_zoo.display.plots import first_tokens, picture

if TYPE_CHECKING:
    from dense_lstm_zoo.tagging.bundle import GateActivations


def gates(activations: GateActivations, path: str | os.PathLike[str], title: str) -> None:
    """Draw how far the skip gates are open: one panel per direction, one row per word, one column per layer.

    Args:
        activations: The result of ``TaggingBundle.gates``.
        path: The file to write. Its suffix sets the format.
        title: The picture's title.

    Raises:
        ImportError: matplotlib is not installed.
    """
    tokens = first_tokens(activations.tokens)
    with picture(path, title, 3.5 + 0.8 * len(activations.layers), 1.5 + 0.25 * len(tokens)) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for d, (axes, direction) in enumerate(zip(panels, ("forward", "backward"), strict=True)):
            image = axes.imshow(activations.values[:, d, : len(tokens)].T, cmap="viridis", aspect="auto")
            axes.set(xlabel="layer", title=direction)
            axes.set_xticks(range(len(activations.layers)), activations.layers)
            axes.set_yticks(range(len(tokens)), tokens)
            figure.colorbar(image, ax=axes, label="mean gate" if d else None)
