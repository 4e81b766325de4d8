"""The base class of layers whose loop over time can run on several kernels."""

from __future__ import annotations

from typing import Any, Self

import keras

from dense_lstm_zoo.layers.keras_keywords import INSTEAD, check_keywords
from dense_lstm_zoo.layers.recurrence import kernels


class KernelLayer(keras.layers.Layer):
    """A recurrent layer over right-padded sequences that passes their mask on.

    Args:
        kernel: The kernel that runs the loop over time. See ``dense_lstm_zoo.layers.recurrence.kernels``.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Raises:
        ValueError: The kernel is unknown or cannot run here, or a keyword that the layer does not take.
    """

    def __init__(self, kernel: str, **kwargs: Any) -> None:
        super().__init__(**check_keywords(type(self), kwargs))
        self.kernel = kernels.check(kernel)
        self.supports_masking = True
        # As Keras's own recurrent layers say of cuDNN's loop: XLA compiles neither that nor TensorFlow's, with which
        # ``auto`` predicts, nor the gradient of the portable one.
        if keras.config.backend() == "tensorflow" and kernel != "compiled":
            self.supports_jit = False

    def explain_kernel(self) -> str:
        """Return which kernel runs, and why."""
        return kernels.explain(self.kernel)

    @property
    def go_backwards(self) -> bool:
        """Say what to use instead where Keras asks for it, in ``Bidirectional`` with two layers."""
        raise AttributeError(f"{type(self).__name__} has no go_backwards: {INSTEAD['go_backwards']}.")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Rebuild a saved layer. If its kernel cannot run here, use the portable one, with a warning."""
        return cls(**{**config, "kernel": kernels.check_saved(config.get("kernel", "auto"))})
