"""The formulas for the weights of recurrent layers, against the weights of built layers."""

import math

import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.models import weight_counts

FEATURES = 6
# A layer with its arguments, and the formula with what it is told beside them.
CASES = [
    (layers.LSTM, (3,), {}, weight_counts.lstm, {}),
    (layers.BiLSTM, (3,), {}, weight_counts.lstm, {"directions": 2}),
    (layers.DenseBiLSTM, (3, 2, 4), {}, weight_counts.dense_bilstm, {}),
    (layers.DenseBiLSTM, (3, 2, 4), {"couple_directions": False}, weight_counts.dense_bilstm, {}),
    (layers.DenseBiLSTM, (0, 2, 4), {}, weight_counts.dense_bilstm, {}),
    (layers.DenseLSTM, (3, 2), {}, weight_counts.recurrent_stack, {"wiring": "dense"}),
    (layers.RecurrentStack, (3, 2), {"wiring": "stacked", "cell": "simple_rnn"}, weight_counts.recurrent_stack, {}),
    (layers.RecurrentStack, (4, 2), {"wiring": "skip"}, weight_counts.recurrent_stack, {}),
    (layers.RecurrentStack, (3, FEATURES), {"wiring": "residual", "cell": "gru"}, weight_counts.recurrent_stack, {}),
    (layers.SkipBiLSTM, (4, 3), {}, weight_counts.skip_bilstm, {}),
    (layers.SkipBiLSTM, (4, 3), {"skip": "none", "interleave": True}, weight_counts.skip_bilstm, {}),
    (layers.SkipBiLSTM, (4, 3), {"skip": "gated_sigmoid", "gate_inputs": "skip"}, weight_counts.skip_bilstm, {}),
    (
        layers.SkipBiLSTM,
        (4, 3),
        {"skip": "internals", "skip_distance": 1, "project_input": True},
        weight_counts.skip_bilstm,
        {},
    ),
    (layers.HighwayBiLSTM, (3, 2), {}, weight_counts.highway_bilstm, {}),
    (layers.BiRecurrentHighway, (4, 2), {}, weight_counts.bi_recurrent_highway, {}),
    (layers.BiRecurrentHighway, (4,), {"couple_gates": True}, weight_counts.bi_recurrent_highway, {}),
]


@pytest.mark.parametrize(("layer", "sizes", "options", "formula", "beside"), CASES)
def test_a_formula_counts_the_weights_that_the_built_layer_has(layer, sizes, options, formula, beside):
    new_layer = layer(*sizes, **options)
    new_layer.build((None, None, FEATURES))
    sizes_by_path = {weight.path: math.prod(weight.shape) for weight in new_layer.trainable_weights}
    assert formula(FEATURES, *sizes, **options, **beside) == sum(sizes_by_path.values())
    in_matrices = sum(size for path, size in sizes_by_path.items() if not path.endswith("bias"))
    assert formula(FEATURES, *sizes, **options, **beside, biases=False) == in_matrices


def test_every_recurrent_layer_has_a_formula():
    public = [getattr(layers, name) for name in layers.__all__]
    recurrent = {value for value in public if isinstance(value, type) and issubclass(value, KernelLayer)}
    # A text encoder is a RecurrentStack in each direction, which lm_classifier counts; all registered models are tried.
    assert {case[0] for case in CASES} == recurrent - {layers.TextEncoderStates}
