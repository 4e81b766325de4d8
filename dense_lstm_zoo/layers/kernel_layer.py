"""What the layers have in common whose loop over time can run in several ways."""

from __future__ import annotations

from typing import Any, Self

import keras

from dense_lstm_zoo.layers.recurrence import kernels


class KernelLayer(keras.layers.Layer):
    """A recurrent layer over right-padded sequences that passes their mask on.

    Args:
        kernel: Which loop over time runs; see ``dense_lstm_zoo.layers.recurrence.kernels``.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Raises:
        ValueError: The kernel is unknown or cannot run here.
    """

    def __init__(self, kernel: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kernel = kernels.check(kernel)
        self.supports_masking = True

    def explain_kernel(self) -> str:
        """Return which loop over time runs, and why."""
        return kernels.explain(self.kernel)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Rebuild a saved layer; where its kernel cannot run the portable one does, with a warning."""
        return cls(**{**config, "kernel": kernels.check_saved(config.get("kernel", "auto"))})
