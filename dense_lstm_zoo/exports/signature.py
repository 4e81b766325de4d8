"""A signature as its callers see it: names, types and shapes of its tensors, and a request with the model's answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from dense_lstm_zoo.exports.endpoint import EXAMPLE, Endpoint

_PER_TEXT = ("text", "row_lengths")  # tensors of a concatenated signature that have a row per text


@dataclass(frozen=True)
class Tensor:
    """An input or output.

    Args:
        name: Its name in requests and answers.
        dtype: The name of its type, such as ``"int32"``.
        shape: Its sizes. Those that vary have names: ``batch``, ``time``, ``tokens``.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class Signature:
    """A signature with an example.

    Args:
        name: Its name.
        meaning: What it returns, in Markdown.
        inputs: Its inputs.
        outputs: Its outputs, sorted by name.
        is_concatenated: See ``Endpoint``.
        request: Inputs by name.
        answer: The model's outputs for ``request``, by name.
    """

    name: str
    meaning: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    is_concatenated: bool
    request: dict[str, np.ndarray]
    answer: dict[str, np.ndarray]

    @property
    def needs_equal_lengths(self) -> bool:
        """True if an input varies in more than its rows, so that a server can batch only requests of equal length."""
        return any(isinstance(size, str) for tensor in self.inputs for size in tensor.shape[1:])


def describe(name: str, endpoint: Endpoint, traced: tf.types.experimental.PolymorphicFunction) -> Signature:
    """Describe a signature from its trace and run the example through it.

    Args:
        name: Its name.
        endpoint: What it was traced from.
        traced: The ``tf.function`` that is exported under the name.
    """
    specs = tf.nest.flatten(endpoint.inputs)
    request = endpoint.request(EXAMPLE)
    tensors = [tf.constant(request[spec.name], spec.dtype) for spec in specs]
    answer = traced(*tf.nest.pack_sequence_as(endpoint.inputs, tensors))
    outputs = traced.get_concrete_function().structured_outputs
    return Signature(
        name,
        endpoint.meaning,
        [_tensor(spec.name, spec, endpoint) for spec in specs],
        [_tensor(output, outputs[output], endpoint) for output in sorted(outputs)],
        endpoint.is_concatenated,
        {spec.name: tensor.numpy() for spec, tensor in zip(specs, tensors, strict=True)},
        {output: answer[output].numpy() for output in sorted(answer)},
    )


def _tensor(name: str, spec: tf.TensorSpec | tf.Tensor, endpoint: Endpoint) -> Tensor:
    rows = "tokens" if endpoint.is_concatenated and name not in _PER_TEXT else "batch"
    names = [rows, *["time"] * len(spec.shape)]
    sizes = zip(spec.shape.as_list(), names, strict=False)
    return Tensor(name, spec.dtype.name, tuple(label if size is None else size for size, label in sizes))
