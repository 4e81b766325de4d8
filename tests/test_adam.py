"""Adam in one op per weight: the results of Kingma and Ba 2015, and those of Keras where they agree with it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo.models.adam import FusedAdam

WORDS, WIDTH, STEPS = 6, 3, 5
RATE, BETA_1, BETA_2, EPSILON = 0.1, 0.9, 0.999, 1e-7


def gradients(repeated: bool) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return looked-up words, the gradient of each look-up, and that of a dense weight, for every step."""
    rng = np.random.default_rng(1)
    return [
        (
            np.array([4, 1, 4, 4]) if repeated else rng.permutation(WORDS)[:4],
            rng.normal(size=(4, WIDTH)).astype("float32"),
            rng.normal(size=(2, WIDTH)).astype("float32"),
        )
        for _ in range(STEPS)
    ]


def trained(optimizer: keras.optimizers.Optimizer, steps: list) -> list[np.ndarray]:
    """Return a table of words and a dense weight after the steps, and what the optimiser keeps."""
    table, dense = keras.Variable(np.ones((WORDS, WIDTH))), keras.Variable(np.ones((2, WIDTH)))
    optimizer.build([table, dense])

    @tf.function
    def step(words, values, gradient):
        optimizer.apply([tf.IndexedSlices(values, words, (WORDS, WIDTH)), gradient], [table, dense])

    for words, values, gradient in steps:
        step(tf.constant(words), tf.constant(values), tf.constant(gradient))
    return [np.array(variable) for variable in (table, dense, *optimizer.variables)]


def reference(start: np.ndarray, all_gradients: list[np.ndarray]) -> np.ndarray:
    """Return Algorithm 1 of Kingma and Ba 2015, with epsilon where the text below it puts it."""
    m = v = np.zeros_like(start, "float64")
    weight = start.astype("float64")
    for t, g in enumerate(all_gradients, start=1):
        m, v = BETA_1 * m + (1 - BETA_1) * g, BETA_2 * v + (1 - BETA_2) * g * g
        weight = weight - RATE * np.sqrt(1 - BETA_2**t) / (1 - BETA_1**t) * m / (np.sqrt(v) + EPSILON)
    return weight


@pytest.mark.parametrize("repeated", [False, True])
def test_the_steps_are_those_of_the_paper_and_gradients_of_a_repeated_word_add_up_first(repeated):
    steps = gradients(repeated)
    table, dense, *_ = trained(FusedAdam(RATE, BETA_1, BETA_2, EPSILON), steps)
    spread = []
    for words, values, _ in steps:
        spread.append(np.zeros((WORDS, WIDTH)))
        np.add.at(spread[-1], words, values)
    np.testing.assert_allclose(table, reference(np.ones((WORDS, WIDTH)), spread), atol=1e-5)
    np.testing.assert_allclose(dense, reference(np.ones((2, WIDTH)), [g for _, _, g in steps]), atol=1e-5)
    kerass = trained(keras.optimizers.Adam(RATE, BETA_1, BETA_2, EPSILON), steps)[0]
    assert (np.abs(table - kerass).max() > 1e-3) == repeated  # why FusedAdam says that the two differ there


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"global_clipnorm": 1.0},
        {"global_clipnorm": 1.0, "weight_decay": 0.1},
        {"global_clipnorm": 1.0, "use_ema": True, "ema_momentum": 0.5},
        {"global_clipnorm": 1.0, "amsgrad": True},
    ],
    ids=lambda options: "-".join(options),
)
def test_weights_and_states_are_those_of_keras(options):
    steps = gradients(repeated=False)
    ours, kerass = (trained(adam(RATE, **options), steps) for adam in (FusedAdam, keras.optimizers.Adam))
    assert len(ours) == len(kerass) > 5
    for actual, expected in zip(ours, kerass, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"clipnorm": 1.0}, {"weight_decay": 0.1}], ids=lambda options: "-".join(options)
)
def test_a_repeated_word_has_the_step_of_keras_if_its_gradients_are_not_summed(options):
    steps = gradients(repeated=True)
    optimizer = FusedAdam(RATE, sums_words=False, **options)
    again = FusedAdam.from_config(optimizer.get_config())
    ours, restored, kerass = (
        trained(adam, steps) for adam in (optimizer, again, keras.optimizers.Adam(RATE, **options))
    )
    for actual, same, expected in zip(ours, restored, kerass, strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-5)
        np.testing.assert_array_equal(actual, same)


def test_the_clipping_norm_is_of_the_gradients_that_have_added_up():
    steps, clip = gradients(repeated=True), 1.0
    table = trained(FusedAdam(RATE, BETA_1, BETA_2, EPSILON, global_clipnorm=clip), steps)[0]
    clipped = []
    for words, values, dense in steps:
        spread = np.zeros((WORDS, WIDTH))
        np.add.at(spread, words, values)
        clipped.append(spread * min(1, clip / np.sqrt((spread**2).sum() + (dense**2).sum())))
    np.testing.assert_allclose(table, reference(np.ones((WORDS, WIDTH)), clipped), atol=1e-5)
