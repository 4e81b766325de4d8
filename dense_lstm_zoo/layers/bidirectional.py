"""The base class of deep bidirectional encoders."""

from __future__ import annotations

from typing import Any, ClassVar

import keras

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.layers.recurrence.tensors import Shape
from dense_lstm_zoo.layers.saving import arguments_of

DIRECTIONS = ("forward", "backward")


class BidirectionalEncoder(KernelLayer):
    """Bidirectional layers over right-padded sequences, (batch, time, features) to (batch, time, 2 units).

    Args:
        units: Width n of one direction.
        dropout: Dropout rate between layers. Each encoder documents where it applies.
        kernel: The kernel that runs the loop over time. See ``dense_lstm_zoo.layers.recurrence.kernels``.
        seed: Seed for the dropout masks.
        **kwargs: Arguments of ``keras.layers.Layer``.
    """

    ARGUMENTS: ClassVar[tuple[str, ...]]  # the arguments that ``get_config`` adds to Keras's own

    def __init__(self, units: int, dropout: float, kernel: str, seed: int | None, **kwargs: Any) -> None:
        super().__init__(kernel, **kwargs)
        self.units = checks.integer("units", units)
        self.dropout = checks.fraction("dropout", dropout)
        self.seed, self.seed_generator = seed, keras.random.SeedGenerator(seed)

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, time, 2 units)."""
        return (*inputs_shape[:2], 2 * self.units)

    def explain_kernel(self) -> str:
        """Return which kernel runs, and why."""
        return kernels.explain(self.kernel, "steps")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return super().get_config() | arguments_of(self, *self.ARGUMENTS)
