"""Skip connections inside the cell: the cell in Keras's own loop, what the paper's equations imply."""

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence.gated_skip import SKIPS
from tests.backends import numpy, tf
from tests.slow_cases import slow_but


def random_inputs(units, batch=5, time=7):
    rng = np.random.default_rng(units)
    lengths = np.array([time, 1, 3, 5, time], np.int32)[:batch]
    return rng.normal(size=(batch, time, 6)).astype(np.float32), lengths, rng


@pytest.mark.tensorflow
@pytest.mark.parametrize("kernel", ["portable", "native", "compiled"])
@pytest.mark.parametrize(
    ("skip", "units"),
    [
        ("none", 4),
        pytest.param("outputs", 4, marks=pytest.mark.slow),
        ("gated_outputs", 4),
        pytest.param("gated_outputs", 40, marks=pytest.mark.slow),
    ],
)
def test_a_stack_equals_its_cells_in_keras_loops_in_values_and_gradients(skip, kernel, units):
    x, lengths, rng = random_inputs(units)
    stack = layers.SkipBiLSTM(3, units, skip, kernel=kernel, forget_bias=1.0)
    stack.build(x.shape)
    stack.set_weights([rng.normal(scale=units**-0.5, size=w.shape) for w in stack.get_weights()])
    target = rng.normal(size=(len(x), x.shape[1], 2 * units)).astype(np.float32)
    mask = tf.sequence_mask(lengths, x.shape[1])

    def by_keras(inputs):
        outputs = []
        for d in (0, 1):
            states = [inputs]
            for cells in stack.cells:
                layer_input = states[-1]
                if cells[d].skip_width:
                    layer_input = tf.concat([layer_input, states[-2]], axis=-1)
                rnn = keras.layers.RNN(cells[d], return_sequences=True, go_backwards=bool(d))
                turned = tf.reverse_sequence(layer_input, lengths, 1) if d else layer_input
                rnn.go_backwards = False  # rows end at different steps: they are turned by hand
                output = rnn(turned, mask=mask)
                output = tf.where(mask[:, :, None], output, 0.0)
                states.append(tf.reverse_sequence(output, lengths, 1) if d else output)
            outputs.append(states[-1])
        return tf.concat(outputs, axis=-1)

    results = []
    for run in (lambda inputs: stack(inputs, lengths=lengths, training=True), by_keras):
        inputs = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            actual = run(inputs)
            loss = tf.reduce_sum(actual * target)
        results.append([actual, *tape.gradient(loss, [inputs, *(w.value for w in stack.trainable_weights)])])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * max(1, np.abs(theirs).max()))


STEPS = {
    **{skip: lambda kernel, skip=skip: layers.SkipBiLSTM(3, 4, skip, kernel=kernel) for skip in SKIPS},
    "highway": lambda kernel: layers.HighwayBiLSTM(2, 4, kernel=kernel),
    "recurrent_highway": lambda kernel: layers.BiRecurrentHighway(4, 2, kernel=kernel),
}


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    "name",
    slow_but(("highway", "recurrent_highway"), sorted({*STEPS} - {"none", "outputs", "gated_outputs"})),  # those: above
)
def test_a_compiled_step_equals_the_portable_one_in_values_and_gradients(name):
    x, lengths, rng = random_inputs(4, batch=4, time=4)
    lengths[2:] = 0, 3
    target = rng.normal(size=(4, 4, 8)).astype(np.float32)
    weights, results = None, []
    for kernel in ("portable", "compiled"):
        layer = STEPS[name](kernel)
        layer.build(x.shape)
        weights = weights or [rng.normal(scale=0.5, size=w.shape) for w in layer.get_weights()]
        layer.set_weights(weights)
        inputs = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = layer(inputs, lengths=lengths, training=True)
            loss = tf.reduce_sum(outputs * target)
        results.append([outputs, *tape.gradient(loss, [inputs, *(w.value for w in layer.trainable_weights)])])
    for portable, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, portable, atol=1e-5 * max(1, np.abs(portable).max()))


def test_a_closed_gate_leaves_a_plain_lstm_and_an_ungated_skip_alone_passes_through():
    x, lengths, rng = random_inputs(4)
    plain, gated = layers.SkipBiLSTM(4, 4, "none"), layers.SkipBiLSTM(4, 4, "gated_outputs", gate_bias=-1e9)
    plain.build(x.shape)
    gated.build(x.shape)
    for ours, theirs in zip(
        (cell for cells in plain.cells for cell in cells), (c for cells in gated.cells for c in cells), strict=True
    ):
        weights = [rng.normal(scale=0.5, size=w.shape) for w in ours.get_weights()]
        ours.set_weights(weights)
        own = theirs.get_weights()
        for new, old in zip(weights, own, strict=True):
            old[..., : new.shape[-1]] = new
        theirs.set_weights(own)
    np.testing.assert_allclose(gated(x, lengths=lengths), plain(x, lengths=lengths), atol=1e-6)
    cell = layers.GatedSkipLSTMCell(4, "outputs")
    rnn = keras.layers.RNN(cell, return_sequences=True)
    k = rng.normal(size=(2, 3, 4)).astype(np.float32)
    rnn.build((2, 3, 9))
    cell.set_weights([np.zeros_like(w) for w in cell.get_weights()])
    np.testing.assert_array_equal(rnn(np.concatenate([np.ones((2, 3, 5), np.float32), k], axis=-1)), k)


X = np.ones((2, 3, 9), np.float32)  # x alone, or x of 5 features and k of 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: layers.GatedSkipLSTMCell(4),
            "cannot tell whether its input holds k: it would take the last 4 features",
        ),
        (
            lambda: layers.GatedSkipLSTMCell(4, gate_bias=1.0),
            r"received inputs of shape \(2, 9\), and neither skip nor",
        ),
        (lambda: layers.GatedSkipLSTMCell.from_config(layers.GatedSkipLSTMCell(4).get_config()), "cannot tell whether"),
        (lambda: layers.GatedSkipLSTMCell(4, input_dim=9), "x of 9 features followed by 4 features of k; received"),
        (lambda: layers.GatedSkipLSTMCell(4, "outputs", input_dim=9), "must hold x of 9 features followed by 4"),
        (
            lambda: layers.GatedSkipLSTMCell(4, "none", input_dim=5),
            r"must hold x of 5 features; received shape \(2, 9\)",
        ),
        (lambda: layers.GatedSkipLSTMCell(9, "outputs"), "must hold x followed by 9 features of k"),
        (lambda: layers.HighwayLSTMCell(4, input_dim=9), "x of 9 features followed by 4 features of c; received"),
        (lambda: layers.HighwayLSTMCell(9), "must hold x followed by 9 features of c"),
    ],
)
def test_a_cell_that_cannot_know_what_its_input_holds_refuses_it(make, message):
    with pytest.raises(ValueError, match=message):
        keras.layers.RNN(make())(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.GatedSkipLSTMCell(4, "gated_outputs"),
        lambda: layers.GatedSkipLSTMCell(4, gate_inputs="skip"),
        lambda: layers.GatedSkipLSTMCell(4, input_dim=5),
        lambda: layers.HighwayLSTMCell(4, input_dim=5),
    ],
)
def test_a_cell_that_was_told_what_its_input_holds_reads_it_also_when_saved(make, tmp_path):
    rnn = keras.layers.RNN(make())
    inputs = keras.Input((None, 9))
    model = keras.Model(inputs, rnn(inputs))
    assert rnn.cell.kernel.shape[0] == 5
    model.save(tmp_path / "m.keras")
    np.testing.assert_array_equal(keras.saving.load_model(tmp_path / "m.keras")(X), model(X))


@pytest.mark.slow
def test_gates_begin_in_layer_3_and_the_papers_stacks_have_their_parameters():
    stack = layers.SkipBiLSTM(4, 5)
    stack.build((None, None, 7))
    assert [[cell.num_gates for cell in cells] for cells in stack.cells] == [[4, 4], [4, 4], [5, 5], [5, 5]]
    tagger = 1286 * (2 * 512 + 1)
    expected = {3: (15_548_678, 20_267_270), 7: (36_540_678, 51_745_030)}  # spec, section W
    for depth, counts in expected.items():
        for interleave, count in zip((False, True), counts, strict=True):
            stack = layers.SkipBiLSTM(depth, 512, interleave=interleave)
            stack.build((None, None, 655))
            assert stack.count_params() + tagger == count
    stack = layers.SkipBiLSTM(7, 512, "outputs")
    stack.build((None, None, 655))
    assert stack.count_params() + tagger == 31_292_678


def test_weights_start_as_the_paper_says():
    stack = layers.SkipBiLSTM(3, 60, forget_bias=5.0, gate_bias=-2.0)
    stack.build((None, None, 400))
    (first, _), _, (third, _) = stack.cells
    assert np.std(first.kernel) == pytest.approx(0.1 / np.sqrt(400), rel=0.05)
    for block in np.split(third.recurrent_kernel.numpy(), 5, axis=1):
        np.testing.assert_allclose(block @ block.T, np.eye(60), atol=1e-5)
    bias = third.bias.numpy().reshape(5, 60)
    assert bias.mean(axis=1).tolist() == [0, 5, 0, 0, -2]
    assert not np.allclose(first.recurrent_kernel.numpy(), stack.cells[0][1].recurrent_kernel.numpy())


def test_recurrent_matrices_start_gate_by_gate_from_the_initialiser_asked_for():
    stack = layers.SkipBiLSTM(3, 60, recurrent_initializer="glorot_uniform")
    stack.build((None, None, 40))
    (first, backward), _, (third, _) = stack.cells
    limit = np.sqrt(6 / 120)  # of one 60 x 60 matrix, not of all gates side by side
    for cell, gates in ((first, 4), (backward, 4), (third, 5)):
        blocks = np.split(cell.recurrent_kernel.numpy(), gates, axis=1)
        assert all(0.95 * limit < np.abs(block).max() <= limit for block in blocks)
        assert len({float(block[0, 0]) for block in blocks}) == gates
    again = layers.SkipBiLSTM.from_config(stack.get_config())
    again.build((None, None, 40))
    assert np.abs(again.cells[0][0].recurrent_kernel.numpy()).max() <= limit


def test_gates_are_those_the_states_were_made_with():
    x, lengths, rng = random_inputs(4)
    stack = layers.SkipBiLSTM(4, 4)
    stack.build(x.shape)
    stack.set_weights([rng.normal(scale=0.5, size=w.shape) for w in stack.get_weights()])
    third = numpy(stack.gates(x, lengths)[0])
    assert third.shape == (5, 7, 8)
    assert not third[1, 1:].any()
    real = np.arange(7) < lengths[:, None]
    assert (third[real] > 0).all()
    assert (third[real] < 1).all()
    # With its gate's weights at zero a cell's gate is sigmoid(bias), whatever it reads.
    for cell in stack.cells[3]:
        kernel, recurrent, bias = cell.get_weights()
        kernel[:, 16:], recurrent[:, 16:], bias[16:] = 0, 0, 0.5
        cell.set_weights([kernel, recurrent, bias])
    np.testing.assert_allclose(numpy(stack.gates(x, lengths)[1])[real], 1 / (1 + np.exp(-0.5)), atol=1e-6)
    with pytest.raises(ValueError, match="skip='outputs' has no gate"):
        layers.SkipBiLSTM(3, 4, "outputs").gates(x)


@pytest.mark.parametrize("coupled", [True, False])
def test_the_state_of_a_recurrent_highway_network_is_bounded_with_coupled_gates_only(coupled):
    cell = layers.RecurrentHighwayCell(4, 3, couple_gates=coupled)
    cell.build((None, 6))
    weights = [np.zeros_like(w) for w in cell.get_weights()]
    weights[2][:] = weights[4][:] = 3.0  # every gate nearly open, every candidate nearly 1
    cell.set_weights(weights)
    y = np.full((1, 4), 0.9, np.float32)
    (output, _) = cell(np.zeros((1, 6), np.float32), [y])
    s = np.arctanh(numpy(output) * (1 + np.exp(-3)))  # y = sigmoid(3) tanh(s)
    assert (s <= 1).all() == coupled
    assert (s > 2).all() == (not coupled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"skip": "gated_output"}, "Did you mean 'gated_outputs'"),
        ({"num_layers": 0}, "num_layers must be"),
        ({"units": 0}, "units must be"),
        ({"skip_distance": 0}, "skip_distance must be"),
        ({"gate_inputs": "above"}, "Unknown value of gate_inputs: 'above'"),
        ({"dropout": 1.0}, "dropout must be"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        layers.SkipBiLSTM(**{"num_layers": 3, "units": 4, **arguments})


@pytest.mark.slow
def test_dropout_is_on_the_first_and_last_layer_in_training_only():
    x, lengths, _ = random_inputs(30)
    for layer in (
        layers.SkipBiLSTM(3, 30, dropout=0.5, seed=1),
        layers.HighwayBiLSTM(2, 30, dropout=0.5, seed=1),
        layers.BiRecurrentHighway(30, dropout=0.5, seed=1),
    ):
        first, second = (numpy(layer(x, lengths=lengths, training=True)) for _ in range(2))
        assert not np.array_equal(first, second)
        assert 0.3 < (first[0] == 0).mean() < 0.7
        np.testing.assert_array_equal(layer(x, lengths=lengths), layer(x, lengths=lengths, training=False))
        assert (numpy(layer(x, lengths=lengths))[0] != 0).all()


def test_each_gate_starts_from_an_orthogonal_matrix_of_its_own():
    blocks = np.split(np.asarray(layers.OrthogonalBlocks(seed=3)((5, 20))), 4, axis=1)
    for i, block in enumerate(blocks):
        np.testing.assert_allclose(block @ block.T, np.eye(5), atol=1e-5)
        assert not any(np.allclose(block, other) for other in blocks[:i])
    again = layers.OrthogonalBlocks(**layers.OrthogonalBlocks(seed=3).get_config())
    np.testing.assert_array_equal(np.concatenate(blocks, axis=1), again((5, 20)))
