"""Gradients and traced functions of whichever backend Keras runs on, for tests of layers.

Tests that need TensorFlow's own ops are marked ``tensorflow``. ``test_other_backends.py`` runs the others without it.
"""

import contextlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

BACKEND = keras.config.backend()
tf: Any = importlib.import_module("tensorflow") if BACKEND == "tensorflow" else None
jax: Any = importlib.import_module("jax") if BACKEND == "jax" else None
torch: Any = importlib.import_module("torch") if BACKEND == "torch" else None
TENSORFLOW_KERNELS = [pytest.param(kernel, marks=pytest.mark.tensorflow) for kernel in ("native", "compiled")]


def numpy(tensor: Any) -> np.ndarray:
    """Return a tensor's values, also of one with a gradient or in bfloat16."""
    return ops.convert_to_numpy(tensor)


def traced(function: Callable[..., Any], *shapes: tuple[int | None, ...]) -> Callable[..., Any]:
    """Return a function of tensors as a graph or a program. PyTorch runs it as it is.

    With the shapes of its arguments (integers, if one has one axis), TensorFlow makes a single graph for all sizes.
    """
    if BACKEND == "tensorflow":
        specs = [tf.TensorSpec(shape, tf.int32 if len(shape) == 1 else tf.float32) for shape in shapes]
        return tf.function(function, input_signature=specs or None, autograph=False)
    return jax.jit(function) if BACKEND == "jax" else function


def training() -> Any:
    """Return a context for ``fit``: without it, tests on PyTorch compute no gradients (see ``conftest.py``)."""
    return contextlib.nullcontext() if torch is None else torch.enable_grad()


class Loss:
    """A scalar function of arrays and of a layer's weights, and its gradients.

    Keras multiplies float64 in float32 on JAX and PyTorch, so differences are as exact as float32 there.

    Args:
        function: From tensors to a scalar.
        arrays: Its arguments.
        weights: Variables that it reads.
    """

    def __init__(
        self, function: Callable[..., Any], arrays: Sequence[Any], weights: Sequence[keras.Variable] = ()
    ) -> None:
        self.values = [ops.convert_to_tensor(x) for x in (*arrays, *weights)]

        def of_values(values: list[Any]) -> Any:
            stand_ins = list(zip(weights, values[len(arrays) :], strict=True))
            with keras.StatelessScope(state_mapping=stand_ins):
                return function(*values[: len(arrays)])

        self._function, self._traced = of_values, traced(of_values)
        self._of_arrays, self._weights = function, weights

    def loss_after(self, i: int, difference: Any) -> float:
        """Return the loss where ``difference`` is added to value ``i`` of the arguments and weights."""
        values = list(self.values)
        values[i] = values[i] + ops.convert_to_tensor(difference, values[i].dtype)
        return float(self._traced(values))

    def slope(self, directions: Sequence[np.ndarray]) -> float:
        """Return the slope of the loss where all values move at once, each along its direction.

        Two losses are enough for all weights. No graph is made for them, which would take longer than they do.
        """
        step = 1e-5 / np.sqrt(sum(np.sum(direction**2) for direction in directions))
        higher, lower = (
            [
                value + ops.convert_to_tensor(sign * step * direction, value.dtype)
                for value, direction in zip(self.values, directions, strict=True)
            ]
            for sign in (1, -1)
        )
        return (float(self._function(higher)) - float(self._function(lower))) / (2 * step)

    def difference(self, i: int, direction: np.ndarray) -> float:
        """Return the slope of the loss along a direction of value ``i``, from two values of the loss."""
        step = (1e-5 if BACKEND == "tensorflow" else 1e-2) / np.linalg.norm(direction)
        return (self.loss_after(i, step * direction) - self.loss_after(i, -step * direction)) / (2 * step)

    def gradients(self) -> list[np.ndarray]:
        """Return the gradients of the arguments, then of the weights."""
        if BACKEND == "tensorflow":
            # Of the variables themselves: ``keras.remat`` finds no gradient of a tensor that takes a variable's place.
            # Not in a graph: to make one takes ten times as long, and the models' tests of ``fit`` have some.
            arrays = self.values[: len(self.values) - len(self._weights)]
            with tf.GradientTape() as tape:
                tape.watch(arrays)
                loss = self._of_arrays(*arrays)
            gradients = tape.gradient(loss, [*arrays, *(weight.value for weight in self._weights)])
        elif BACKEND == "jax":
            gradients = jax.jit(jax.grad(self._function))(self.values)
        else:
            with torch.enable_grad():
                values = [value.detach().requires_grad_() for value in self.values]
                gradients = torch.autograd.grad(self._function(values), values)
        return [numpy(ops.convert_to_tensor(gradient)) for gradient in gradients]
