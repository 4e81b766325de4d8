"""Initialisers that Keras lacks, for weights made of several matrices side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers.recurrence.tensors import Tensor

# An initialiser as Keras's layers take it: an object, a function of shape and dtype, or a name.
InitializerLike: TypeAlias = "keras.initializers.Initializer | Callable[..., Tensor] | str"


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class OrthogonalBlocks(keras.initializers.Initializer):
    """One orthogonal n x n matrix for each gate of a recurrent kernel [n, G n].

    ``keras.initializers.Orthogonal`` on [n, G n] makes its rows orthonormal instead: each gate's block is then only a
    part of an orthogonal matrix, and shrinks what it multiplies.

    Args:
        seed: Seed for the matrices.

    Example:
        >>> import numpy as np
        >>> kernel = OrthogonalBlocks(seed=1)((2, 6))
        >>> blocks = np.split(np.array(kernel), 3, axis=1)
        >>> [bool(np.allclose(block @ block.T, np.eye(2), atol=1e-6)) for block in blocks]
        [True, True, True]
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None, **_: object) -> Tensor:
        """Return the kernel [n, G n]."""
        if len(shape) != 2 or shape[1] % shape[0]:
            raise ValueError(f"OrthogonalBlocks makes weights of shape (n, gates * n); received shape {tuple(shape)}.")
        generator = keras.random.SeedGenerator(self.seed)
        blocks = []
        for _gate in range(shape[1] // shape[0]):
            q, r = ops.qr(keras.random.normal((shape[0], shape[0]), seed=generator))
            blocks.append(q * ops.sign(ops.diagonal(r)))  # otherwise the signs are not uniform
        return ops.cast(ops.concatenate(blocks, axis=1), dtype or keras.config.floatx())

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {"seed": self.seed}


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class Blocks(keras.initializers.Initializer):
    """Matrices side by side in one weight, each initialised on its own.

    Args:
        initializer: The initialiser of each matrix.
        widths: The number of columns of each matrix.

    Example:
        >>> Blocks(keras.initializers.Identity(), [2, 2])((2, 4)).numpy().tolist()
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """

    def __init__(self, initializer: InitializerLike, widths: Sequence[int]) -> None:
        self.initializer, self.widths = find_initializer(initializer), list(widths)

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None, **_: object) -> Tensor:
        """Return the weight [in, sum of widths]."""
        parts = ((shape[0], width) for width in self.widths)
        return ops.concatenate([self._of(i)(part, dtype=dtype) for i, part in enumerate(parts)], axis=1)

    def _of(self, i: int) -> keras.initializers.Initializer:
        """Return the initialiser of a matrix: a single seed would make all of them equal."""
        if not isinstance(self.initializer, keras.initializers.Initializer):
            return self.initializer
        config = self.initializer.get_config()
        seed = config.get("seed")
        if isinstance(seed, dict):  # of a generator, which draws other numbers each time
            return self.initializer
        return self.initializer.from_config(config if seed is None else {**config, "seed": seed + i})

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {"initializer": keras.initializers.serialize(self.initializer), "widths": self.widths}


def find_initializer(initializer: InitializerLike) -> Any:
    """Return Keras's initialiser of a name. Others stay as they are.

    Raises:
        ValueError: No initialiser has the name.
    """
    try:
        return keras.initializers.get(initializer)
    except ValueError:
        if not isinstance(initializer, str):
            raise
        names = [name for name in dir(keras.initializers) if isinstance(getattr(keras.initializers, name), type)]
        raise checks.unknown_name("initialiser:", initializer, filter(str.islower, names)) from None


def fresh(initializer: keras.initializers.Initializer) -> keras.initializers.Initializer:
    """Return an initialiser for one more weight: a clone, as one gives the same numbers each time. Functions stay."""
    return initializer.clone() if isinstance(initializer, keras.initializers.Initializer) else initializer


def scaled_normal() -> keras.initializers.Initializer:
    """Return N(0, 0.1 / sqrt(fan_in)), the initialiser of input kernels in Wu et al. 2016."""
    return keras.initializers.VarianceScaling(scale=0.01, mode="fan_in", distribution="untruncated_normal")
