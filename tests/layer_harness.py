"""One harness for every layer: the checks each must pass, given how to build it and an oracle for its values."""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo import layers
from tests import backends, reference, reference_pooling

BATCH, TIME, FEATURES = 4, 6, 5
LENGTHS = np.array([6, 3, 1, 0], np.int32)


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[..., keras.layers.Layer]
    oracle: Callable[[np.ndarray, np.ndarray, list[np.ndarray]], Any]


def _pooling(mode: str, num_directions: int = 1) -> Case:
    features = {"num_directions": num_directions} if num_directions > 1 else {}
    return Case(
        f"pooling_{mode}_{num_directions}",
        lambda **kw: layers.MaskedPooling(mode, **features, **kw),
        lambda x, n, w: reference_pooling.pool(x, n, mode, num_directions, w),
    )


@keras.saving.register_keras_serializable(package="tests")
class Sliced(layers.DynamicInteractionPooling):
    """Dynamic interaction whose lower layers, 2 and 3 wide, are cut out of the one input."""

    LOWER = (slice(0, 2), slice(2, 5))

    def build(self, shape):
        super().build([(*shape[:2], 2), (*shape[:2], 3), shape])

    def call(self, x, **kwargs):
        return super().call([*(x[..., part] for part in self.LOWER), x], **kwargs)

    def compute_output_spec(self, x, **kwargs):
        lower = [keras.KerasTensor((*x.shape[:2], width), x.dtype) for width in (2, 3)]
        return super().compute_output_spec([*lower, x], **kwargs)


def _interaction(mode: str, iterations: int, **options: Any) -> Case:
    constant = options.get("weights") == "constant"
    return Case(
        f"interaction_{mode}_{iterations}{'_constant' if constant else ''}",
        lambda **kw: Sliced(iterations, mode, **options, **kw),
        lambda x, n, w: reference_pooling.dynamic_interaction(
            [x[..., part] for part in Sliced.LOWER], x, n, w, mode, iterations, constant
        )[0],
    )


def _stack(wiring: str, cell: str) -> Case:
    return Case(
        f"{wiring}_{cell}_states",
        lambda **kw: layers.RecurrentStack(3, FEATURES, wiring=wiring, cell=cell, return_state=True, **kw),
        lambda x, n, w: reference.recurrent_stack(x, n, w, wiring, cell),
    )


def _text_encoder(wiring: str, cell: str = "lstm", directions: int = 2) -> Case:
    return Case(
        f"text_encoder_{wiring}_{cell}_{directions}",
        lambda **kw: layers.TextEncoderStates(2, FEATURES, wiring=wiring, cell=cell, directions=directions, **kw),
        lambda x, n, w: reference.text_encoder(x, n, w, wiring, cell, directions),
    )


def _skips(name: str, skip: str, **options: Any) -> Case:
    skip_options = {key: options[key] for key in ("interleave", "gate_inputs", "project_input") if key in options}
    return Case(
        f"skip_bilstm_{name}",
        lambda **kw: layers.SkipBiLSTM(3, 3, skip, **{"forget_bias": 1.0, **options, **kw}),
        lambda x, n, w: reference.skip_bilstm(x, n, w, skip, options.get("skip_distance", 2), **skip_options),
    )


CASES = [
    Case("lstm", lambda **kw: layers.LSTM(4, **kw), lambda x, n, w: reference.lstm(x, n, w)[0]),
    Case(
        "lstm_last",
        lambda **kw: layers.LSTM(4, return_sequences=False, **kw),
        lambda x, n, w: reference.lstm(x, n, w)[1],
    ),
    Case("bilstm", lambda **kw: layers.BiLSTM(3, **kw), lambda x, n, w: reference.lstm(x, n, w)[0]),
    Case(
        "bilstm_states",
        lambda **kw: layers.BiLSTM(3, return_state=True, unit_forget_bias=False, **kw),
        lambda x, n, w: list(reference.lstm(x, n, w)),
    ),
    Case(
        "dense_bilstm",
        lambda **kw: layers.DenseBiLSTM(2, 3, 4, **kw),
        lambda x, n, w: reference.dense_bilstm(x, n, w)[-1],
    ),
    Case(
        "dense_bilstm_all_layers_remat",
        lambda **kw: layers.DenseBiLSTM(2, 3, 4, return_all_layers=True, remat=True, **kw),
        reference.dense_bilstm,
    ),
    Case(
        "dense_bilstm_decoupled",
        lambda **kw: layers.DenseBiLSTM(2, 3, 4, couple_directions=False, return_all_layers=True, **kw),
        reference.decoupled_dense_bilstm,
    ),
    Case(
        "dense_bilstm_no_dense_layer",
        lambda **kw: layers.DenseBiLSTM(0, 3, 4, **kw),
        lambda x, n, w: reference.dense_bilstm(x, n, w)[-1],
    ),
    Case(
        "dense_lstm",
        lambda **kw: layers.DenseLSTM(3, 4, **kw),
        lambda x, n, w: reference.recurrent_stack(x, n, w, "dense", "lstm")[0],
    ),
    *(_stack(wiring, cell) for wiring in ("dense", "stacked", "skip", "residual") for cell in ("lstm", "gru")),
    _stack("dense", "simple_rnn"),
    *(_text_encoder(wiring) for wiring in ("dense", "stacked", "skip", "residual")),
    _text_encoder("dense", "gru"),
    _text_encoder("stacked", directions=1),
    *(_skips(skip, skip) for skip in ("none", "gates", "internals", "gated_internals", "outputs", "gated_outputs")),
    _skips("gated_sigmoid_gate_on_skip", "gated_sigmoid", gate_inputs="skip"),
    _skips("interleaved", "gated_outputs", interleave=True),
    _skips("input_projected_distance_1", "gated_outputs", project_input=True, skip_distance=1),
    Case("highway_bilstm", lambda **kw: layers.HighwayBiLSTM(3, 3, **kw), reference.highway_bilstm),
    *(
        Case(
            f"recurrent_highway_{'coupled' if coupled else 'uncoupled'}",
            lambda coupled=coupled, **kw: layers.BiRecurrentHighway(3, couple_gates=coupled, **kw),
            lambda x, n, w, coupled=coupled: reference.recurrent_highway(x, n, w, coupled),
        )
        for coupled in (False, True)
    ),
    _pooling("mean"),
    _pooling("max"),
    _pooling("last"),
    _pooling("attention"),
    _pooling("last_mean_max"),
    *(_interaction(mode, 2) for mode in layers.dynamic_interaction.MODES),
    _interaction("position", 1),
    _interaction("position", 3),
    _interaction("vector", 2, weights="constant"),
    *(
        Case(
            f"convolution_{padding}",
            lambda padding=padding, **kw: layers.ConvolutionPooling(3, (2, 4), padding=padding, **kw),
            lambda x, n, w, padding=padding: reference_pooling.convolution_pooling(x, n, w, padding),
        )
        for padding in ("full", "valid")
    ),
    Case(
        "map_convolution",
        lambda **kw: layers.MapConvolutionPooling(4, 3, **kw),
        reference_pooling.map_convolution_pooling,
    ),
    *(
        Case(
            f"map_blocks_of_{size}_in_{length}",
            lambda size=size, length=length, **kw: layers.MapConvolutionPooling(
                2, 2, pool_size=size, max_length=length, **kw
            ),
            lambda x, n, w, size=size, length=length: reference_pooling.map_block_pooling(x, n, w, size, length),
        )
        for size, length in ((2, 9), (3, 4))
    ),
    Case(
        "dynamic_self_attention",
        lambda **kw: layers.DynamicSelfAttention(3, 2, 3, **kw),
        lambda x, n, w: reference_pooling.dynamic_self_attention(x, n, w, 2, 3),
    ),
]
BY_NAME = {case.name: case for case in CASES}
# What takes no padded sequences of features, or is a part of a layer above; and the file that tests it.
ELSEWHERE = {
    "AffixEmbedding": "test_token_features.py",
    "Bias": "test_tied_softmax.py",
    "CRF": "test_crf.py",
    "CharacterCNN": "test_token_features.py",
    "GatedContextWindow": "test_token_features.py",
    "GatedSkipLSTMCell": "test_skip_layers.py",
    "HighwayLSTMCell": "test_skip_layers.py",
    "LayerMixture": "test_text_encoder_states.py",
    "OrthogonalBlocks": "test_skip_layers.py",
    "RecurrentHighwayCell": "test_skip_layers.py",
    "SequenceLengths": "test_padding.py",
    "Standardization": "test_convex_head.py",
    "TiedEmbedding": "test_language_model_options.py",
    "WordEmbedding": "test_word_embedding.py",
    "WordScores": "test_language_window_step.py",
}


def inputs(seed: int = 0, batch: int = BATCH, time: int = TIME) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(batch, time, FEATURES)).astype(np.float32)


def flat(outputs: Any) -> list[np.ndarray]:
    return [backends.numpy(output).astype(np.float64) for output in keras.tree.flatten(outputs)]


# One case of each compiled loop runs the kernel that users get, whose programs take XLA seconds to compile. The others
# run the native one. Tests of kernels, of skips and of every model compare the kernels, with their gradients.
COMPILED = {"bilstm_states", "dense_bilstm", "dense_gru_states", "skip_bilstm_gated_outputs"}


def native(case: Case) -> dict[str, str]:
    """The argument that picks the native kernel, where the layer and the backend have one."""
    return {"kernel": "native"} if backends.BACKEND == "tensorflow" and "kernel" in case.make().get_config() else {}


def kernel(case: Case) -> dict[str, str]:
    """The argument that picks the kernel for tests of every layer."""
    return {} if case.name in COMPILED else native(case)


@functools.cache
def layer_of(case: Case) -> keras.layers.Layer:
    """The case's layer with random weights, the same for all tests: none changes it."""
    return new_layer(case)


def new_layer(case: Case, **kwargs: Any) -> keras.layers.Layer:
    """The case's layer with random weights (biases and all), so that no term of an equation can hide behind a zero."""
    layer = case.make(**{**kernel(case), **kwargs})
    layer(inputs(), lengths=LENGTHS)
    rng = np.random.default_rng(7)
    layer.set_weights([rng.normal(scale=0.5, size=w.shape) for w in layer.get_weights()])
    return layer


def model(case: Case, **kwargs: Any) -> keras.Model:
    """The layer inside a functional model of dynamic batch and time."""
    x = keras.Input((None, FEATURES), name="x")
    lengths = keras.Input((), dtype="int32", name="lengths")
    layer = case.make(**kwargs)
    return keras.Model([x, lengths], layer(x, lengths=lengths))


def loss(layer: keras.layers.Layer, x: np.ndarray) -> backends.Loss:
    """A sum of the layer's outputs, each number with a weight of its own."""
    rng = np.random.default_rng(3)
    outputs = flat(layer(x, lengths=LENGTHS))
    targets = [ops.convert_to_tensor(rng.normal(size=output.shape).astype(x.dtype)) for output in outputs]

    def weighted(x: Any) -> Any:
        return sum(ops.sum(o * t) for o, t in zip(keras.tree.flatten(layer(x, lengths=LENGTHS)), targets, strict=True))

    return backends.Loss(weighted, [x], layer.trainable_weights)


def save(folder: Path) -> dict[str, np.ndarray]:
    """Save a model of every case, and beside them ``expected.npz``: the models' outputs and gradients, returned."""
    expected = {}
    for case in CASES:
        network = model(case)
        network.save(folder / f"{case.name}.keras")
        outputs = flat(network([inputs(), LENGTHS]))
        expected |= {f"{case.name}/{i}": value for i, value in enumerate(outputs)}
        gradients = loss(network.layers[-1], inputs()).gradients()
        expected |= {f"{case.name}/gradient_{i}": value for i, value in enumerate(gradients)}
    np.savez(folder / "expected.npz", **expected)
    return expected


def compare(folder: Path) -> int:
    """Compare every model that ``save`` wrote with the arrays beside it. Return the number of arrays."""
    expected = np.load(folder / "expected.npz")
    for case in CASES:
        network = keras.saving.load_model(folder / f"{case.name}.keras")
        for i, value in enumerate(flat(network([inputs(), LENGTHS]))):
            np.testing.assert_allclose(value, expected[f"{case.name}/{i}"], atol=1e-6)
        for i, value in enumerate(loss(network.layers[-1], inputs()).gradients()):
            theirs = expected[f"{case.name}/gradient_{i}"]
            np.testing.assert_allclose(value, theirs, atol=1e-5 * max(1, np.abs(theirs).max()))
    return len(expected.files)


def graph(model: keras.Model) -> tuple[Callable[..., Any], list[tuple[int | None, ...]]]:
    """Return a model as one graph of TensorFlow, and the shapes that the graph knows."""
    tf = backends.tf
    specs = [tf.TensorSpec((None, None, FEATURES)), tf.TensorSpec((None,), tf.int32)]
    traced = tf.function(lambda *inputs: keras.tree.flatten(model(list(inputs)))).get_concrete_function(*specs)
    shapes = [tuple(x.shape) for x in traced.structured_outputs]
    return lambda inputs: traced(*map(tf.constant, inputs)), shapes


def trace_other_widths() -> None:
    """Trace the programs that LSTMs and gated skips of all widths share, forward and backward, for two widths."""
    tf = backends.tf
    for width, training in itertools.product((7, 9), (True, False)):
        for layer in (layers.LSTM(width), layers.SkipBiLSTM(3, width)):
            layer.build((None, None, FEATURES))

            @tf.function
            def run(x, layer=layer, training=training):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    total = tf.reduce_sum(layer(x, training=training))
                return tape.gradient(total, x)

            run.get_concrete_function(tf.TensorSpec((None, None, FEATURES), tf.float32))
