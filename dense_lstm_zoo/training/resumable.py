"""Callbacks with a state inside an epoch, which an interrupted run needs to go on from there."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

import keras


class Resumable(keras.callbacks.Callback, abc.ABC):
    """A callback whose state inside an epoch is saved with the run's.

    A resumed epoch begins with ``on_epoch_begin``, like every other. ``resume`` follows before its next batch.
    """

    KEY: ClassVar[str]  # its name in the file, different for each class

    @abc.abstractmethod
    def save(self) -> dict[str, float]:
        """Return its state after the last batch as finite numbers by name."""

    @abc.abstractmethod
    def resume(self, state: Mapping[str, float]) -> None:
        """Go on from a state that ``save`` returned."""
