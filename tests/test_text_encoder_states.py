"""A text encoder's states are those of its language models, read word by word. Tests of the mixture of layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.language.encoder import TextEncoder
from tests.text_encoder_harness import pair

TEXTS = [["the", "film", "was", "good"], ["bad", "qwerty"], [], ["it"]]


def states_of(encoder, texts, **options):
    """The layer's states of texts in one padded batch."""
    layer = layers.TextEncoderStates(
        encoder.num_layers,
        encoder.units,
        wiring=encoder.wiring,
        cell=encoder.cell,
        directions=len(encoder.directions),
        **options,
    )
    layer.build((None, None, encoder.embedding_dim))
    weights = [encoder.eos_vector, *(w for d in encoder.directions for w in encoder.weights[d])]
    layer.set_weights(weights)
    batch = np.full((len(texts), max(map(len, texts)) + 2, encoder.embedding_dim), 7.0, np.float32)
    for row, words in zip(batch, texts, strict=True):
        row[: len(words)] = encoder.word_vectors(words)
    return [states.numpy() for states in layer(batch, lengths=np.array(list(map(len, texts))))]


def step_by_step(bundle, words):
    """h of every layer of a language model after <eos> and after each word, one step at a time."""
    ids = [bundle.vocabulary.eos, *bundle.vocabulary.encode([" ".join(words)])[: len(words)]] if words else []
    states = bundle.model.zero_states(1)
    rows = []
    for word in ids:
        _, *states = bundle._step(np.array([[word]], np.int32), *states)
        rows.append([state.numpy()[0] for state in states[:: bundle.network.get_layer("stack").states_per_layer]])
    return np.array(rows[1:])  # (words, layers, units)


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        ("dense_lstm_lm", {}),
        pytest.param("skip_lstm_lm", {"num_layers": 3}, marks=pytest.mark.slow),
        ("stacked_lstm_lm", {"cell": "gru"}),
    ],
)
def test_states_are_those_of_the_language_models_read_word_by_word(model, arguments):
    forward, backward = pair(model=model, **arguments)
    encoder = TextEncoder.from_bundles(forward, backward)
    actual = states_of(encoder, TEXTS, trainable=False)
    assert len(actual) == encoder.num_layers
    for row, words in enumerate(TEXTS):
        ahead, back = step_by_step(forward, words), step_by_step(backward, words[::-1])[::-1]
        for layer, states in enumerate(actual):
            assert not states[row, len(words) :].any()
            for t in range(len(words)):
                expected = np.concatenate([ahead[t, layer], back[t, layer]])
                np.testing.assert_allclose(states[row, t], expected, atol=1e-5)


def test_one_direction_is_the_forward_language_models():
    forward, _ = pair()
    actual = states_of(TextEncoder.from_bundles(forward), TEXTS[:1])
    expected = step_by_step(forward, TEXTS[0])
    for layer, states in enumerate(actual):
        np.testing.assert_allclose(states[0, :4], expected[:, layer], atol=1e-5)


def loops(graph):
    """Count the ops of a graph and its functions that run a loop or an LSTM."""
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    return sum(node.op in ("While", "StatelessWhile", "BlockLSTM", "BlockLSTMGrad") for node in nodes)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["portable", "native"])
def test_frozen_states_are_constants_and_no_loop_runs_backward(kernel):
    loops_by_mode = {}
    for trainable in (False, True):
        layer = layers.TextEncoderStates(2, 3, wiring="dense", kernel=kernel, trainable=trainable, dropout=0.5)
        layer.build((None, None, 5))
        mixture = layers.LayerMixture()
        mixture.build([(None, None, 6)] * 2)

        def step(x, differentiate, layer=layer, mixture=mixture):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(mixture(layer(x, training=True)) ** 2)
            if differentiate:
                return tape.gradient(loss, [*mixture.trainable_weights, *layer.trainable_weights])
            return loss

        signature = tf.TensorSpec((None, None, 5))
        graphs = [tf.function(lambda x, d=d, step=step: step(x, d)).get_concrete_function(signature) for d in (0, 1)]
        loops_by_mode[trainable] = [loops(function.graph) for function in graphs]
        assert len(layer.trainable_weights) == (13 if trainable else 0)
        assert all(variable.trainable is trainable for variable in layer.weights)  # as a model around it would ask
    assert loops_by_mode[False][0] == loops_by_mode[False][1] > 0
    assert loops_by_mode[True][1] > loops_by_mode[True][0]


def test_frozen_states_drop_nothing_and_trained_ones_do():
    x = np.random.default_rng(1).normal(size=(2, 4, 5)).astype(np.float32)
    for trainable in (False, True):
        layer = layers.TextEncoderStates(2, 3, dropout=0.5, weight_dropout=0.5, seed=3, trainable=trainable)
        quiet = layer(x, training=False)[-1].numpy()
        assert np.array_equal(layer(x, training=True)[-1].numpy(), quiet) is not trainable


def test_a_wrong_number_of_directions_is_refused():
    with pytest.raises(ValueError, match=r"directions must be 1 \(forward\) or 2 .*; received 3"):
        layers.TextEncoderStates(2, 3, directions=3)


def test_a_mixture_is_a_weighted_sum_whose_weights_are_a_softmax_times_gamma():
    rng = np.random.default_rng(2)
    inputs = [rng.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(3)]
    layer = layers.LayerMixture()
    np.testing.assert_allclose(layer(inputs), sum(inputs) / 3, atol=1e-6)
    w, gamma = np.array([0.5, -1.0, 2.0], np.float32), np.float32(1.7)
    layer.set_weights([w, gamma])
    shares = np.exp(w) / np.exp(w).sum()
    expected = gamma * sum(s * x for s, x in zip(shares, inputs, strict=True))
    np.testing.assert_allclose(layer(inputs), expected, rtol=1e-5)
    half = layers.LayerMixture(dtype="mixed_bfloat16")
    assert keras.backend.standardize_dtype(half(inputs).dtype) == "bfloat16"
    assert layers.LayerMixture.from_config(layer.get_config()).get_config() == layer.get_config()
    with pytest.raises(ValueError, match="a list of tensors of one shape"):
        layers.LayerMixture()([inputs[0], inputs[1][:, :2]])
