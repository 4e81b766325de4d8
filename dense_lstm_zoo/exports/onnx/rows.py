"""Batches without a row, for which ONNX Runtime's ``LSTM`` ends the process (1.32): a row of padding stands in."""

from __future__ import annotations

from collections.abc import Mapping

from dense_lstm_zoo.exports.onnx.graph import Graph, Value


def at_least_one_row(graph: Graph, inputs: Mapping[str, Value]) -> tuple[dict[str, Value], str]:
    """Return inputs with a row of zeros if they have no row, and how many rows they had, for ``first_rows``.

    Args:
        graph: The graph.
        inputs: Inputs of any shapes, with the batch first.
    """
    rows = graph.dim(next(iter(inputs.values())), 0)
    missing = graph.op("Max", graph.op("Sub", graph.ints(1), rows), graph.ints(0))
    pads = graph.op("Concat", graph.ints(0), missing, axis=0)
    padded = {}
    for name, value in inputs.items():
        longer = graph.op("Pad", value, pads, "", graph.ints(0), name=f"{name}_rows")
        padded[name] = Value(graph.same_bounds(longer, value), value.shape)
    return padded, rows


def first_rows(graph: Graph, value: str, rows: str) -> str:
    """Return an output without the row that ``at_least_one_row`` added."""
    return graph.op("Slice", value, graph.ints(0), rows, graph.ints(0))
