"""Windows of running text: each token is predicted once from the tokens before it, in the papers' order."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.language.batches import TrainingWindows, evaluation_windows


def test_windows_of_training_by_hand():
    items = list(TrainingWindows(np.arange(100, 119), batch_size=2, num_steps=4))
    # Streams of 9 tokens: 100-108 and 109-117; 118 fills none.
    assert [inputs["token_ids"].tolist() for inputs, _ in items] == [
        [[100, 101, 102, 103], [109, 110, 111, 112]],
        [[104, 105, 106, 107], [113, 114, 115, 116]],
    ]
    assert [targets.tolist() for _, targets in items] == [
        [[101, 102, 103, 104], [110, 111, 112, 113]],
        [[105, 106, 107, 108], [114, 115, 116, 117]],
    ]
    assert [inputs["is_first"].tolist() for inputs, _ in items] == [[True, True], [False, False]]


sizes = st.tuples(st.integers(1, 400), st.integers(1, 12), st.integers(1, 40))


@given(sizes)
@settings(max_examples=200, deadline=None)
def test_windows_of_training_are_those_of_a_plain_loop(sizes):
    extra, batch, steps = sizes
    ids = np.arange(batch * (steps + 1) + extra - 1)
    expected = []
    length = len(ids) // batch
    at = 0
    while at + steps < length:
        rows = [list(range(row * length + at, row * length + at + steps)) for row in range(batch)]
        expected.append((rows, [[i + 1 for i in row] for row in rows]))
        at += steps
    windows = TrainingWindows(ids, batch_size=batch, num_steps=steps)
    assert [(inputs["token_ids"].tolist(), targets.tolist()) for inputs, targets in windows] == expected
    assert len(windows) == len(expected) > 0
    assert windows.num_predictions == len(expected) * batch * steps


@given(sizes)
@settings(max_examples=200, deadline=None)
def test_evaluation_predicts_every_token_but_the_first_once_from_the_token_before_it(sizes):
    extra, batch, steps = sizes
    ids = np.arange(batch + extra)  # an id tells its place
    windows = evaluation_windows(ids, batch, steps)
    items = list(windows)
    assert {targets.shape for _, targets in items} == {(batch, steps)}
    assert [inputs["is_first"].all() for inputs, _ in items] == [inputs["is_first"].any() for inputs, _ in items]
    assert [inputs["is_first"].all() for inputs, _ in items] == [True] + [False] * (len(items) - 1)
    token_ids = np.concatenate([inputs["token_ids"] for inputs, _ in items], axis=1)
    targets = np.concatenate([targets for _, targets in items], axis=1)
    counts = targets >= 0
    assert sorted(targets[counts].tolist()) == list(range(1, len(ids)))
    assert (token_ids[counts] == targets[counts] - 1).all()
    assert not token_ids[~counts].any()
    assert (targets[~counts] == -1).all()
    for row, inside in zip(targets, counts, strict=True):
        assert (np.diff(row[inside]) == 1).all()  # the state that a row carries is that of the token before
        assert not inside[int(inside.sum()) :].any()
    assert counts.sum(axis=1).max() - counts.sum(axis=1).min() <= 1
    assert len(items) == len(windows) == -(-int(counts.sum(axis=1).max()) // steps)
    assert windows.num_predictions == len(ids) - 1


def test_resuming_in_the_middle_of_an_epoch_goes_on_with_the_window_that_would_have_come():
    for windows in (
        TrainingWindows(np.arange(1000), batch_size=3, num_steps=7),
        evaluation_windows(np.arange(1000), 3, 7),
    ):
        items = [(inputs["token_ids"].tolist(), targets.tolist()) for inputs, targets in windows]
        for first in (0, 1, 20, len(windows) - 1):
            later_windows = windows.start_at(first)
            for form in (later_windows, later_windows.dataset.as_numpy_iterator()) if first == 20 else (later_windows,):
                assert [(inputs["token_ids"].tolist(), targets.tolist()) for inputs, targets in form] == items[first:]
            assert len(later_windows) == len(items) - first
            assert next(iter(later_windows))[0]["is_first"].tolist() == [first == 0] * 3
            assert later_windows.num_predictions == sum(np.sum(np.array(targets) >= 0) for _, targets in items[first:])
        assert len(windows.start_at(20).dataset) == len(items) - 20
        assert next(iter(windows.start_at(5).start_at(6)))[1].tolist() == items[11][1]
        for wrong in (-1, len(windows), 1.5):
            with pytest.raises(ValueError, match="window must be"):
                windows.start_at(wrong)


@keras.saving.register_keras_serializable(package="tests")
class Bigrams(keras.Model):
    """A model of the next token given the last, which counts its fresh starts."""

    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(10, 10)
        self.resets = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs):
        assert inputs["token_ids"].shape == (2, 5)
        assert inputs["is_first"].shape == (2,)
        self.resets.assign_add(keras.ops.cast(keras.ops.all(inputs["is_first"]), "float32"))
        return self.embedding(inputs["token_ids"])


def test_keras_fits_and_evaluates_on_windows_of_static_shapes_in_the_same_order_each_epoch():
    ids = np.arange(203, dtype=np.int32) % 10
    training = TrainingWindows(ids, batch_size=2, num_steps=5, vocab_size=10)
    inputs, targets = training.dataset.element_spec
    assert (inputs["token_ids"].shape, inputs["is_first"].shape, targets.shape) == ((2, 5), (2,), (2, 5))
    assert {inputs["token_ids"].dtype, targets.dtype} == {tf.int32}
    assert inputs["is_first"].dtype == tf.bool
    epochs = [[targets.tolist() for _, targets in training.dataset.as_numpy_iterator()] for _ in range(2)]
    assert epochs[0] == epochs[1] == [targets.tolist() for _, targets in training]
    model = Bigrams()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    model.compile(keras.optimizers.Adam(0.5), loss)
    history = model.fit(training.dataset, epochs=3, shuffle=False, verbose=0).history
    assert float(model.resets) == 3
    assert history["loss"][-1] < 0.1
    model.fit(training.start_at(4).dataset, shuffle=False, verbose=0)
    assert float(model.resets) == 3
    assert model.evaluate(evaluation_windows(ids, 2, 5).dataset, verbose=0) < 0.1
    assert float(model.resets) == 4


@pytest.mark.parametrize("make", [TrainingWindows, evaluation_windows])
@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        (np.arange(5), {}, "streams.* need at least .* tokens; received 5. Accepted: a longer text"),
        ([], {}, "tokens; received 0"),
        (np.arange(9.0), {}, r"ids must be integers \(tokens,\); received float64 of shape \(9,\)"),
        (np.zeros((9, 2), int), {}, r"received int64 of shape \(9, 2\)"),
        (np.array([True] * 99), {}, "received bool"),
        (np.arange(99), {"vocab_size": 98}, "ids must be from 0 to 97; received 0 to 98"),
        (np.arange(-1, 99), {}, r"ids must be from 0 to 2,147,483,647; received -1 to 98"),
        (np.arange(99) << 30, {}, "ids must be from 0 to 2,147,483,647"),
        (np.arange(99), {"batch_size": 0}, "batch_size must be an integer of at least 1; received 0"),
        (np.arange(99), {"num_steps": 0}, "num_steps must be an integer of at least 1; received 0"),
        (np.arange(99), {"num_steps": 2.0}, "num_steps must be an integer of at least 1; received 2.0"),
        (np.arange(99), {"vocab_size": 0}, "vocab_size must be an integer of at least 1; received 0"),
    ],
)
def test_ids_and_sizes_that_make_no_windows_are_refused(make, ids, options, message):
    with pytest.raises(ValueError, match=message):
        make(ids, **{"batch_size": 5, "num_steps": 3, **options})


def test_the_shortest_text_that_makes_windows_is_the_one_the_error_names():
    assert len(TrainingWindows(np.arange(12), batch_size=3, num_steps=3)) == 1
    with pytest.raises(ValueError, match="3 streams of 3 steps need at least 12 tokens; received 11"):
        TrainingWindows(np.arange(11), batch_size=3, num_steps=3)
    assert evaluation_windows(np.arange(4), 3, 35).num_predictions == 3
    with pytest.raises(ValueError, match="3 streams need at least 4 tokens; received 3"):
        evaluation_windows(np.arange(3), 3, 35)
