"""Scores use the average of a language model's weights, and training continues as if there were no average."""

import itertools

import keras
import numpy as np
import pytest

from dense_lstm_zoo.training.averaging import EvaluateAverage, averaged
from tests.language_windows import perplexity_by_hand, text, tiny, windows


class Recorder(keras.callbacks.Callback):
    """A record of weights after every step, of all that a resumed run needs and of averages at an epoch's end."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.stop_after, self.steps, self.states, self.averages = stop_after, [], [], []

    def on_train_batch_end(self, batch, logs=None):
        self.steps.append(self.model.get_weights())

    def on_epoch_end(self, epoch, logs=None):
        self.states.append([v.numpy() for v in (*self.model.variables, *self.model.optimizer.variables)])
        with averaged(self.model):
            self.averages.append(self.model.get_weights())
        if epoch + 1 == self.stop_after:
            self.model.stop_training = True


def averages_by_hand(steps, momentum):
    averages = [steps[0]]
    for weights in steps[1:]:
        averages.append([momentum * a + (1 - momentum) * w for a, w in zip(averages[-1], weights, strict=True)])
    return averages


def same(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def trained(recorder, *callbacks, epochs=3, start=None, **options):
    """A model fitted on 3 windows an epoch, from an epoch's state if given, and its history."""
    keras.utils.set_random_seed(1)
    options = {"dropout": 0.3, "learning_rate": 0.5, "average": 0.8, "softmax": "tied", **options}
    model, ids = tiny("dense_lstm_lm", **options), text()
    initial = 0
    if start is not None:
        initial, values = start
        for variable, value in zip((*model.variables, *model.optimizer.variables), values, strict=True):
            variable.assign(value)
    history = model.fit(
        windows(ids, 10),
        validation_data=windows(ids, 10),
        initial_epoch=initial,
        epochs=epochs,
        callbacks=[*callbacks, recorder],
        verbose=0,
        shuffle=False,
    ).history
    return model, history


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_validation_scores_the_average_and_training_goes_on_as_if_it_had_not(optimizer):
    options = {"optimizer": optimizer, "learning_rate": 0.02 if optimizer == "adam" else 0.5}
    with_callback, without, unaveraged = Recorder(), Recorder(), Recorder()
    model, history = trained(with_callback, EvaluateAverage(), **options)
    expected = averages_by_hand(with_callback.steps, 0.8)
    for epoch in range(3):
        average = expected[3 * epoch + 2]
        for ours, theirs in zip(with_callback.averages[epoch], average, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
        scored = tiny("dense_lstm_lm", softmax="tied")
        scored.set_weights(average)
        score = history["val_perplexity"][epoch]
        assert score == pytest.approx(perplexity_by_hand(scored, text()), rel=1e-4)
        scored.set_weights(with_callback.steps[3 * epoch + 2])
        assert score != pytest.approx(perplexity_by_hand(scored, text()), rel=1e-4)
    assert same(model.get_weights(), with_callback.averages[-1])
    trained(without, **options)
    trained(unaveraged, **{**options, "average": None})
    for other in (without, unaveraged):
        assert all(itertools.starmap(same, zip(with_callback.steps, other.steps, strict=True)))


def test_a_training_that_stops_early_ends_with_the_average():
    recorder = Recorder(stop_after=2)
    model, history = trained(recorder, EvaluateAverage())
    assert len(history["loss"]) == 2
    assert same(model.get_weights(), recorder.averages[-1])
    assert not same(model.get_weights(), recorder.steps[-1])


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False])
def test_a_run_goes_on_from_an_epochs_state_to_the_same_average(first):
    uninterrupted, part = Recorder(), Recorder()
    model, history = trained(uninterrupted, EvaluateAverage())
    callbacks = [[EvaluateAverage()], []]
    keras.utils.set_random_seed(1)
    again, later = trained(part, *callbacks[not first], epochs=3, start=(1, uninterrupted.states[0]))
    assert same(again.get_weights(), model.get_weights())
    assert all(itertools.starmap(same, zip(uninterrupted.steps[3:], part.steps, strict=True)))
    assert (later["val_perplexity"] == history["val_perplexity"][1:]) == first


def test_an_evaluation_that_breaks_off_costs_no_training():
    model = trained(Recorder(), epochs=1)[0]
    trained_weights = [w + 1 for w in model.get_weights()]
    model.set_weights(trained_weights)
    callback = EvaluateAverage()
    callback.set_model(model)
    callback.on_test_begin()
    assert not same(model.get_weights(), trained_weights)
    callback.on_train_begin()
    assert same(model.get_weights(), trained_weights)
    with pytest.raises(ZeroDivisionError), averaged(model):
        1 / same(model.get_weights(), trained_weights)
    assert same(model.get_weights(), trained_weights)


@pytest.mark.parametrize("average", [None, 0.9])
def test_without_an_average_or_a_step_a_model_is_scored_as_it_is(average):
    model = tiny("stacked_lstm_lm", average=average)
    before = model.get_weights()
    with averaged(model):
        assert same(model.get_weights(), before)
