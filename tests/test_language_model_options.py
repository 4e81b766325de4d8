"""Options beyond Godin et al. 2017: DropConnect, word dropout, separate rates, Adam."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.training.averaging import EvaluateAverage
from tests.language_windows import text, tiny, windows
from tests.slow_cases import slow_but, slow_pairs_but
from tests.test_averaging import same
from tests.test_dense_lstm import by_hand
from tests.test_tied_softmax import MODELS, gradients

EVERYTHING = {
    "softmax": "tied",
    "dropout": 0.2,
    "variational_dropout": True,
    "input_dropout": 0.1,
    "output_dropout": 0.3,
    "embedding_dropout": 0.1,
    "weight_dropout": 0.3,
    "optimizer": "adam",
    "learning_rate": 0.01,
    "weight_decay": 0.01,
    "average": 0.5,
}


def test_words_are_dropped_from_a_whole_window_and_every_row_and_never_in_prediction():
    layer = layers.TiedEmbedding(200, 4, dropout=0.25, seed=1)
    ids = np.random.default_rng(0).integers(0, 200, (8, 100))
    words = layer(np.arange(200)[None])[0].numpy()
    np.testing.assert_array_equal(layer(ids), words[ids])
    dropped_words = []
    for _ in range(2):
        factors = layer(ids, training=True).numpy() / words[ids]
        by_word = {w: np.unique(np.round(factors[ids == w], 4)) for w in np.unique(ids)}
        assert all(len(vectors) == 1 for vectors in by_word.values())
        assert set(np.concatenate(list(by_word.values()))) == {0, np.float32(1.3333)}
        dropped_words.append({w for w, vectors in by_word.items() if vectors[0] == 0})
        assert 0.15 < len(dropped_words[-1]) / len(by_word) < 0.35
    assert dropped_words[0] != dropped_words[1]
    scores = layer(words[None], reverse=True, training=True)
    np.testing.assert_allclose(scores[0], words @ words.T, atol=1e-6)


def masked_kernels(layer, seed, rate):
    """The weights with the masks that the layer's first call draws, which are functions of its seed alone."""
    generator = keras.random.SeedGenerator(seed)
    weights = layer.get_weights()
    for i in range(1, len(weights), 3):
        weights[i] = np.asarray(keras.random.dropout(weights[i], rate, seed=generator))
    return weights


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled", "auto"])
def test_weight_dropout_holds_one_mask_of_the_recurrent_kernel_in_every_loop(kernel):
    x = np.random.default_rng(0).normal(size=(4, 9, 3)).astype(np.float32)
    layer = layers.DenseLSTM(2, 5, weight_dropout=0.5, seed=3, kernel=kernel)
    layer.build(x.shape)
    weights = masked_kernels(layer, 3, 0.5)
    recurrent = layer.get_weights()[1]
    assert set(np.unique(np.round(weights[1] / recurrent, 3))) == {0.0, 2.0}
    first = by_hand(x, *weights[:3], np.ones((4, 5)))
    below = np.concatenate([x, first], axis=-1)
    second = by_hand(below, *weights[3:], np.ones((4, 5)))
    np.testing.assert_allclose(layer(x, training=True), np.concatenate([below, second], axis=-1), atol=1e-5)
    plain = layers.DenseLSTM(2, 5)
    plain.build(x.shape)
    plain.set_weights(layer.get_weights())
    np.testing.assert_allclose(layer(x), plain(x), atol=1e-6)
    assert not np.allclose(layer(x, training=True), layer(x, training=True))
    assert "recurrent dropout" not in layer.explain_kernel()


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled"])
def test_a_dropped_weight_gets_no_gradient_and_a_kept_one_its_share(kernel):
    x = np.random.default_rng(0).normal(size=(4, 9, 3)).astype(np.float32)
    layer = layers.DenseLSTM(1, 5, weight_dropout=0.4, seed=3, kernel=kernel)
    layer.build(x.shape)
    masked = masked_kernels(layer, 3, 0.4)[1]
    plain = layers.DenseLSTM(1, 5, kernel=kernel)
    plain.build(x.shape)
    weights = layer.get_weights()
    plain.set_weights([weights[0], masked, weights[2]])
    by_layer = []
    for network, training in ((layer, True), (plain, False)):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(network(x, training=training)[:, :, 3:] ** 2)
        by_layer.append(tape.gradient(loss, network.trainable_variables[1].value).numpy())
    assert 0.2 < (masked == 0).mean() < 0.6
    assert (by_layer[0][masked == 0] == 0).all()
    assert np.abs(by_layer[1][masked == 0]).min() > 0
    np.testing.assert_allclose(by_layer[0], np.where(masked == 0, 0, by_layer[1] / 0.6), atol=1e-5)


def shares_of_zeros(wiring="dense", **options):
    """Of the input and of each layer's outputs, in what the stack returns in training."""
    layer = layers.RecurrentStack(2, 20, wiring=wiring, seed=1, **options)
    outputs = np.asarray(layer(np.ones((20, 10, 20), np.float32), training=True))
    return [round(float((part == 0).mean()), 1) for part in np.split(outputs, outputs.shape[-1] // 20, axis=-1)]


@pytest.mark.parametrize("sharing", ["per_output", "per_reader"])
def test_the_input_and_the_output_can_have_rates_of_their_own(sharing):
    both = {"dropout": 0.5, "dropout_sharing": sharing}
    assert shares_of_zeros(**both) == [0.5, 0.5, 0.5]
    assert shares_of_zeros(**both, input_dropout=0.2) == [0.2, 0.5, 0.5]
    assert shares_of_zeros(**both, output_dropout=0.0) == [0.0, 0.0, 0.0]
    assert shares_of_zeros(**both, output_dropout=0.3, input_dropout=0.0) == [0.3, 0.3, 0.3]
    assert shares_of_zeros("stacked", dropout_sharing=sharing, output_dropout=0.3) == [0.3]
    assert shares_of_zeros("stacked", **both, output_dropout=0.0) == [0.0]


@pytest.mark.parametrize("wiring", slow_but(["dense"], ["dense", "stacked", "skip", "residual"]))
@pytest.mark.parametrize("sharing", ["per_output", "per_reader"])
def test_rates_of_their_own_that_are_the_common_one_change_no_number(wiring, sharing):
    x = np.random.default_rng(0).normal(size=(3, 4, 6)).astype(np.float32)

    def run(**options):
        keras.utils.set_random_seed(1)
        return np.asarray(layers.RecurrentStack(3, 6, wiring=wiring, seed=1, **options)(x, training=True))

    common = run(dropout=0.5, dropout_sharing=sharing)
    np.testing.assert_array_equal(common, run(dropout=0.5, input_dropout=0.5, dropout_sharing=sharing))
    assert not np.array_equal(common, run(dropout=0.5, input_dropout=0.0, dropout_sharing=sharing))
    # What layer 1 reads is dropped though what is returned is not.
    baseline = run(dropout=0.0, input_dropout=0.5, output_dropout=0.0, dropout_sharing=sharing)
    assert not np.allclose(baseline, run())
    np.testing.assert_allclose(run(), run(dropout=0.0, input_dropout=0.0, output_dropout=0.0), atol=1e-6)


DROPOUTS = ("input_dropout", "output_dropout", "embedding_dropout", "weight_dropout")


# The wirings share the code of every dropout.
@pytest.mark.parametrize(
    ("name", "option"),
    slow_pairs_but([("dense_lstm_lm", option) for option in DROPOUTS], MODELS, DROPOUTS),
)
def test_each_dropout_of_a_model_acts_in_training_only(name, option):
    model, ids = tiny(name, **{option: 0.5}), text()[:, :-1]
    np.testing.assert_array_equal(model(ids), model(ids))
    once, twice = model(ids, training=True), model(ids, training=True)
    assert np.abs(once - twice).max() > 1e-6
    plain = tiny(name)
    plain.set_weights(model.get_weights())
    np.testing.assert_allclose(plain(ids), model(ids), atol=1e-6)


@pytest.mark.slow
def test_adams_first_step_is_as_long_as_its_rate_for_words_that_come_twice_as_well():
    model, ids = tiny("dense_lstm_lm", optimizer="adam", learning_rate=0.01, clip_norm=None), text()
    gradient, before = gradients(model, ids), [w.numpy() for w in model.trainable_variables]
    model.fit(windows(ids, 30), verbose=0, shuffle=False)
    for w, b, g in zip(model.trainable_variables, before, gradient, strict=True):
        steps, is_large = b - w.numpy(), np.abs(g) > 1e-3
        assert is_large.any()
        np.testing.assert_allclose(steps[is_large], 0.01 * np.sign(g)[is_large], rtol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_weight_decay_takes_its_share_of_every_weight_beside_the_gradients_step(optimizer):
    ids, options = text(), {"optimizer": optimizer, "learning_rate": 0.1, "clip_norm": 1.0}
    plain, decayed = tiny("stacked_lstm_lm", **options), tiny("stacked_lstm_lm", weight_decay=0.2, **options)
    decayed.set_weights(plain.get_weights())
    before = [w.numpy() for w in plain.trainable_variables]
    for model in (plain, decayed):
        assert model.optimizer.global_clipnorm == 1.0
        model.fit(windows(ids, 30), verbose=0, shuffle=False)
    for b, p, d in zip(before, plain.trainable_variables, decayed.trainable_variables, strict=True):
        np.testing.assert_allclose(p.numpy() - d.numpy(), 0.1 * 0.2 * b, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), [*((name, None) for name in MODELS), ("dense_lstm_lm", "mixed_bfloat16")])
def test_all_options_at_once_train_save_load_and_train_on(name, dtype, tmp_path):
    model, ids = tiny(name, dtype=dtype, **EVERYTHING), text()
    before = [w.numpy() for w in model.trainable_variables]
    fitted = {"validation_data": windows(ids, 10), "callbacks": [EvaluateAverage()], "verbose": 0, "shuffle": False}
    history = model.fit(windows(ids, 10), epochs=20, **fitted).history
    assert not any(np.array_equal(w, b) for w, b in zip(model.trainable_variables, before, strict=True))
    assert history["val_perplexity"][-1] < 0.9 * history["val_perplexity"][0]
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(again(ids), model(ids), atol=1e-6)
    assert (again.optimizer.use_ema, again.optimizer.ema_momentum) == (True, 0.5)
    assert same([v.numpy() for v in again.optimizer.variables], [v.numpy() for v in model.optimizer.variables])
    later = again.fit(windows(ids, 10), **fitted).history["val_perplexity"][0]
    assert later == pytest.approx(history["val_perplexity"][-1], rel=0.1)
    assert json.loads(json.dumps(EVERYTHING)).keys() <= registry.entry(name).arguments.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"softmax": "tide"}, "Did you mean 'tied'"),
        ({"optimizer": "adm"}, "Did you mean 'adam'"),
        ({"optimizer": "adam"}, r"at most 0\.1 with optimizer='adam'.*received 1\.0"),
        ({"weight_decay": -1}, "weight_decay must be"),
        ({"average": 1.0}, "average must be"),
        ({"input_dropout": 1}, "input_dropout must be"),
        ({"output_dropout": -0.1}, "output_dropout must be"),
        ({"embedding_dropout": 1}, "embedding_dropout must be"),
        ({"weight_dropout": 1}, "weight_dropout must be"),
        ({"weight_dropout": 0.5, "cell": "gru"}, "kernels of an LSTM; received cell='gru'"),
        ({"weight_dropout": 0.5, "cell": "simple_rnn"}, "kernels of an LSTM; received cell='simple_rnn'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tiny("stacked_lstm_lm", **options)


def test_the_layers_configs_hold_their_options():
    stack = layers.DenseLSTM(2, 3, weight_dropout=0.1, input_dropout=0.2, output_dropout=0.0)
    again = layers.DenseLSTM.from_config(json.loads(json.dumps(stack.get_config())))
    assert (again.weight_dropout, again.input_dropout, again.output_dropout) == (0.1, 0.2, 0.0)
    words = layers.TiedEmbedding(7, 3, dropout=0.1, seed=4)
    again = layers.TiedEmbedding.from_config(json.loads(json.dumps(words.get_config())))
    assert (again.dropout, again.seed, again.input_dim) == (0.1, 4, 7)
