"""Loops over time as ONNX's ``Scan`` operator, and both directions of a layer side by side in one loop.

Each direction reads a row in its own order, the backward one from the last real step to the first. It has read the
whole row before it comes to the padding, so that a loop needs no lengths. What it returns there is not to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dense_lstm_zoo.exports.onnx.graph import Graph
from dense_lstm_zoo.exports.onnx.recurrent import at_least_one, time_major


class Typed(NamedTuple):
    """A tensor, with the shape that it has at one step."""

    value: str
    shape: tuple[int | str, ...]
    dtype: str = "float32"


# (body, carries, what is read at this step) -> the next carries, the outputs of this step
Step = Callable[[Graph, list[str], list[str]], tuple[list[str], list[str]]]


def over_time(
    graph: Graph,
    step: Step,
    starts: Sequence[Typed],
    reads: Sequence[Typed],
    dtypes: Sequence[str] = ("float32",),
    *,
    reverse: bool = False,
) -> list[str]:
    """Run a step over time-major sequences, and return its outputs at every step, likewise.

    Args:
        graph: The graph.
        step: Adds what happens in one step to the body of the loop.
        starts: The carries before the first step.
        reads: The sequences.
        dtypes: The types of the outputs, each of which has the shape of the first carry.
        reverse: Whether to run from the last step to the first.
    """
    body = graph.body()
    carries = [body.input("carry", tensor.dtype, tensor.shape) for tensor in starts]
    following, outputs = step(body, list(carries), [body.input("read", tensor.dtype, tensor.shape) for tensor in reads])
    for value, start in zip(following, starts, strict=True):
        body.output(value, "next", start.dtype, start.shape)
    for value, dtype in zip(outputs, dtypes, strict=True):
        body.output(value, "output", dtype, starts[0].shape)
    results = graph.op(
        "Scan",
        *(tensor.value for tensor in (*starts, *reads)),
        outputs=len(starts) + len(outputs),
        body=body,
        num_scan_inputs=len(reads),
        scan_input_directions=[int(reverse)] * len(reads),
        scan_output_directions=[int(reverse)] * len(outputs),
    )
    return results[len(starts) :]


def both_ways(graph: Graph, inputs: str, lengths: str) -> list[str]:
    """Return (batch, time, features) as each direction reads it: (time, batch, features)."""
    forward = time_major(graph, inputs)
    return [forward, turned(graph, forward, lengths)]


def turned(graph: Graph, values: str, lengths: str) -> str:
    """Reverse the real steps of each row of (time, batch, features)."""
    key = "real steps", lengths
    if key not in graph.cache:
        graph.cache[key] = graph.cast(at_least_one(graph, lengths), "int64")
    return graph.op("ReverseSequence", values, graph.cache[key], time_axis=0, batch_axis=1)


def joined(graph: Graph, states: Sequence[str], lengths: str) -> str:
    """Return the states of both directions as (time, batch, 2 units), in the order of time."""
    return graph.op("Concat", states[0], turned(graph, states[1], lengths), axis=2)


def stacked(graph: Graph, parts: Sequence[str]) -> str:
    """Return a sequence of each direction as one: (time, directions, batch, features)."""
    return graph.op("Concat", *(graph.op("Unsqueeze", part, graph.ints(1)) for part in parts), axis=1)


def apart(graph: Graph, states: str) -> list[str]:
    """Return what ``stacked`` joined."""
    parts = graph.op("Split", states, outputs=2, axis=1, num_outputs=2)
    return [graph.op("Squeeze", part, graph.ints(1)) for part in parts]


def zeros(graph: Graph, like: str, units: int) -> Typed:
    """Return a first carry for both directions: zeros (2, batch, units), for sequences (time, batch, features)."""
    key = "zeros", units
    if key not in graph.cache:
        shape = graph.op("Concat", graph.ints(2), graph.dim(like, 1), graph.ints(units), axis=0)
        graph.cache[key] = graph.op("Expand", graph.constant(0), shape, name="zeros")
    return Typed(graph.cache[key], (2, "batch", units))
