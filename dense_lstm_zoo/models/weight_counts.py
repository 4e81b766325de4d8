"""The number of weights of each recurrent layer, by formula, without loading Keras.

Models and benchmarks count their encoders with these functions, since ``describe``, budgets and tables need the numbers
without building layers or loading TensorFlow. Each function is named after a layer and takes the features that
the layer reads, the layer's own arguments, and ``biases``: whether to count bias vectors, which the papers leave out.
"""

from __future__ import annotations

GATES = {"lstm": 4, "gru": 3, "simple_rnn": 1}


def lstm(input_dim: int, units: int, *, directions: int = 1, gates: int = 4, biases: bool = True) -> int:
    """Return the number of weights of an ``LSTM``, or of a ``BiLSTM`` with two directions.

    Example:
        >>> lstm(300, 200, directions=2)
        801600
    """
    return directions * gates * units * (input_dim + units + biases)


def dense_bilstm(
    input_dim: int,
    num_dense_layers: int,
    dense_units: int,
    top_units: int,
    *,
    couple_directions: bool = True,
    biases: bool = True,
) -> int:
    """Return the number of weights of a ``DenseBiLSTM``.

    Example:
        >>> dense_bilstm(300, 15, 13, 100, biases=False)
        1404200
    """
    step = dense_units * (2 if couple_directions else 1)
    widths = [input_dim + step * layer for layer in range(num_dense_layers + 1)]
    units = [dense_units] * num_dense_layers + [top_units]
    return sum(lstm(width, n, directions=2, biases=biases) for width, n in zip(widths, units, strict=True))


def recurrent_stack(
    input_dim: int, num_layers: int, units: int, *, wiring: str, cell: str = "lstm", biases: bool = True
) -> int:
    """Return the number of weights of a ``RecurrentStack``, or of a ``DenseLSTM`` with ``wiring="dense"``.

    Example:
        >>> recurrent_stack(200, 2, 200, wiring="dense", biases=False)
        800000
    """
    widths = [
        input_dim + units * layer if wiring == "dense" else units if layer else input_dim for layer in range(num_layers)
    ]
    if wiring == "skip":
        widths[1:] = [units + (input_dim if layer == 1 else units) for layer in range(1, num_layers)]
    gates = GATES[cell]
    bias = gates * units * (2 if cell == "gru" else 1) * biases  # Keras's GRU has two
    return sum(lstm(width, units, gates=gates, biases=False) + bias for width in widths)


def skip_bilstm(
    input_dim: int,
    num_layers: int,
    units: int,
    *,
    skip: str = "gated_outputs",
    gate_inputs: str = "below",
    skip_distance: int = 2,
    project_input: bool = False,
    interleave: bool = False,
    biases: bool = True,
) -> int:
    """Return the number of weights of a ``SkipBiLSTM``.

    Example:
        >>> skip_bilstm(655, 7, 512, biases=False)
        35188736
    """
    width, total = input_dim, 0
    for layer in range(1, num_layers + 1):
        below = layer - skip_distance
        skips = skip != "none" and (below > 0 or (below == 0 and project_input))
        total += lstm(width, units, directions=2, biases=biases)
        if skips and skip.startswith("gated_"):
            total += lstm(units if gate_inputs == "skip" else width, units, directions=2, gates=1, biases=biases)
        if skips and below == 0:
            total += 2 * units * input_dim
        width = units * (2 if interleave else 1)
    return total


def highway_bilstm(input_dim: int, num_layers: int, units: int, *, biases: bool = True) -> int:
    """Return the number of weights of a ``HighwayBiLSTM``.

    Example:
        >>> highway_bilstm(5, 1, 4) == lstm(5, 4, directions=2)
        True
    """
    gate = units * (units + 2 + biases)  # it reads no h, but has two peepholes
    widths = [input_dim, *[units] * (num_layers - 1)]
    lstms = sum(lstm(width, units, directions=2, biases=biases) for width in widths)
    return lstms + (num_layers - 1) * 2 * gate


def bi_recurrent_highway(
    input_dim: int, units: int, depth: int = 3, *, couple_gates: bool = False, biases: bool = True
) -> int:
    """Return the number of weights of a ``BiRecurrentHighway``.

    Example:
        >>> bi_recurrent_highway(5, 1, depth=1, biases=False)
        48
    """
    blocks = 2 if couple_gates else 3
    inputs = (blocks + 1) * units * input_dim
    return 2 * (inputs + (depth * blocks + 1) * units * (units + biases))
