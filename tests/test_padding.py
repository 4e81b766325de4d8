"""Rows with a real step after a padded one are refused: at once if values are known, else when a graph runs."""

import contextlib
import re

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers import recurrence
from tests import layer_harness, model_harness
from tests.backends import numpy, tf

LEFT = keras.utils.pad_sequences([[3, 4, 5], [6]])  # Keras pads on the left unless told otherwise
HOLE = np.array([[3, 4, 5], [6, 0, 7]], np.int32)
RIGHT = np.array([[3, 4, 0], [0, 0, 0]], np.int32)  # a row of padding alone is legal
BEGINS = r"row 1 begins with padding; use padding='post'.*received the mask \[0 0 1\]"
BETWEEN = r"row 1 has padding between real steps.*received the mask \[1 0 1\]"
wrong = pytest.mark.parametrize(("ids", "words"), [(LEFT, BEGINS), (HOLE, BETWEEN)], ids=["left", "hole"])


@contextlib.contextmanager
def refused(words):
    """Expect TensorFlow's error with the same words, which it puts in brackets, part by part, and escapes."""
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        yield
    assert re.search(words.replace(r"\[", "").replace(r"\]", ""), re.sub(r"[\[\]\\]", "", str(raised.value)))


@wrong
def test_ids_and_masks_are_refused_at_once_outside_of_graphs(ids, words):
    layer = layers.SequenceLengths()
    with pytest.raises(ValueError, match=words):
        layer(ids)
    assert numpy(layer(RIGHT)).tolist() == [2, 0]
    x = layer_harness.inputs(batch=2, time=3)
    one_of_each_class = {type(layer): layer for layer in (case.make() for case in layer_harness.CASES)}
    for layer in one_of_each_class.values():
        with pytest.raises(ValueError, match=words):
            layer(x, mask=ids != 0)


def test_of_several_wrong_rows_one_that_begins_with_padding_is_named():
    with pytest.raises(ValueError, match="row 2 begins with padding"):
        layers.SequenceLengths()(np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1]]))


def by_mask(kernel):
    model = keras.Sequential([keras.layers.Embedding(9, 4, mask_zero=True), layers.BiLSTM(2, kernel=kernel)])
    model.add(layers.MaskedPooling("mean"))
    model.add(keras.layers.Dense(model_harness.CLASSES))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    return model


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "make",
    [lambda: model_harness.tiny("lstm"), lambda: by_mask("auto"), lambda: by_mask("native")],
    ids=["classifier", "mask", "mask-native"],
)
def test_fit_evaluate_and_predict_refuse_in_the_same_words_before_a_weight_changes(make):
    model, labels = make(), np.array([0, 1])
    model.fit(RIGHT, labels, verbose=0)
    before = model.get_weights()
    for ids, words in ((LEFT, BEGINS), (HOLE, BETWEEN)):
        for run in (model.fit, model.evaluate):
            with refused(words):
                run(ids, labels, verbose=0)
        with refused(words):
            model.predict(ids, verbose=0)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.isfinite(model.predict(RIGHT, verbose=0)).all()


@pytest.mark.tensorflow
def test_the_first_batch_of_fit_is_refused_also_with_the_compiled_kernel():
    model = model_harness.tiny("lstm", kernel="compiled")
    with refused(BEGINS):
        model.fit(LEFT, np.array([0, 1]), verbose=0)


@pytest.mark.tensorflow
def test_a_tagger_refuses_sentences_padded_on_the_left():
    ids, tags = model_harness.sentences((6, 3, 1, 0))
    model = model_harness.tiny("bilstm_tagger")
    flipped = {name: np.flip(values, axis=1) for name, values in ids.items()}
    with refused("row 1 begins with padding"):
        model.fit(flipped, np.flip(tags, axis=1), verbose=0)


@wrong
def test_characters_of_a_word_are_refused_as_well(ids, words):
    layer = layers.CharacterCNN(9, filters=2, kernel_sizes=(2,))
    with pytest.raises(ValueError, match=words.replace("row 1", r"row \d")):
        layer(ids[None])


def assertions(function, *specs):
    graph = tf.function(function).get_concrete_function(*specs).graph.as_graph_def()
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    return sum(node.op == "Assert" for node in nodes)


@pytest.mark.tensorflow
def test_layers_that_share_a_mask_check_it_once_and_a_model_of_the_zoo_its_ids():
    ids = keras.Input((None,), dtype="int32")
    states = keras.layers.Embedding(9, 4, mask_zero=True)(ids)
    for _ in range(4):
        states = layers.LSTM(2, kernel="native")(states)
    stacked = keras.Model(ids, layers.MaskedPooling("mean")(states))
    spec = tf.TensorSpec((None, None), tf.int32)
    one_check = assertions(layers.SequenceLengths(), spec)
    assert one_check > 0
    assert assertions(stacked, spec) == assertions(model_harness.tiny("dc_bilstm"), spec) == one_check
    with recurrence.unchecked():
        assert assertions(stacked, spec) == assertions(model_harness.tiny("dc_bilstm"), spec) == 0
    assert assertions(stacked, spec) == one_check


@pytest.mark.tensorflow
def test_programs_of_xla_count_what_is_not_padding_without_a_check():
    count = tf.function(layers.SequenceLengths(), jit_compile=True)
    assert count(tf.constant(RIGHT)).numpy().tolist() == [2, 0]
    assert count(tf.constant(LEFT)).numpy().tolist() == [3, 1]


def test_the_mask_of_real_steps_is_true_up_to_each_length():
    mask = recurrence.real_steps(np.array([3, 0, 1, 2]), 3)
    np.testing.assert_array_equal(mask[:, :, 0], [[1, 1, 1], [0, 0, 0], [1, 0, 0], [1, 1, 0]])


def test_lengths_that_are_not_in_the_inputs_are_refused_and_read_no_further_in_a_graph():
    layer, x = layers.BiLSTM(4, return_state=True), layer_harness.inputs()
    expected = layer(x)
    for lengths, wrong_length in (([7, 3, 1, 0], 7), ([6, 3, -1, 0], -1)):
        with pytest.raises(ValueError, match=rf"from 0 to the 6 steps of the inputs; received {wrong_length}\."):
            layer(x, lengths=np.array(lengths))
    if tf is not None:
        outputs = tf.function(lambda lengths: layer(x, lengths=lengths))(tf.fill([layer_harness.BATCH], 9))
        for ours, theirs in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("make", [layers.LSTM, lambda units, **options: layers.DenseLSTM(2, units, **options)])
def test_a_mask_counts_where_states_are_given_too(make):
    ids, states = keras.Input((None,), dtype="int32"), [keras.Input((4,)) for _ in range(4)]
    layer = make(4, return_state=True)
    initial_state = states[:2] if isinstance(layer, layers.LSTM) else states
    vectors = keras.layers.Embedding(9, 5, mask_zero=True)(ids)
    model = keras.Model([ids, *initial_state], layer(vectors, initial_state=initial_state))
    start = [np.full((1, 4), 0.1 * i, np.float32) for i in range(1, len(initial_state) + 1)]
    long, short = (model([np.array([row]), *start]) for row in ([3, 4, 0, 0], [3, 4]))
    for ours, theirs in zip(keras.tree.flatten(long), keras.tree.flatten(short), strict=True):
        ours, theirs = numpy(ours), numpy(theirs)
        np.testing.assert_allclose(ours[:, :2] if ours.ndim == 3 else ours, theirs, atol=1e-6)
