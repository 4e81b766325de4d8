"""A training step of a language model: its gradients are those of the plain loss, on all words or a sample of them."""

import itertools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo import layers
from dense_lstm_zoo.language import full_softmax, sampled_softmax
from dense_lstm_zoo.language.assembly import WindowLoss
from dense_lstm_zoo.language.sampled_softmax import WordSampler
from tests.language_windows import WORDS, perplexity_by_hand, text, tiny, windows
from tests.slow_cases import slow_pairs_but
from tests.test_tied_softmax import MODELS, gradients

FEATURES = 5


def eager(name, **options):
    """A tiny model whose steps can be taken outside a graph."""
    return tiny(name, **options)


def problem(rows=12, words=WORDS, seed=0):
    """Features, a row of weights per word, a bias and targets, one of which does not count."""
    rng = np.random.default_rng(seed)
    features, table = rng.normal(size=(rows, FEATURES)), rng.normal(size=(words, FEATURES))
    bias, targets = rng.normal(size=words), rng.integers(0, words, rows)
    targets[3] = -1
    return features, table, bias, targets.astype(np.int32)


def by_hand(features, table, bias, targets, scale):
    """Losses and gradients in float64: p = softmax(x W' + b), dz = (p - one_hot) scale."""
    logits = features @ table.T + bias
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    real = targets >= 0
    errors = scale * real[:, None] * (np.exp(log_p) - np.eye(len(table))[targets])
    losses = np.where(real, -np.take_along_axis(log_p, np.maximum(targets, 0)[:, None], axis=1)[:, 0], 0)
    return losses, errors @ table, errors.T @ features, errors.sum(axis=0)


def tensors(*arrays):
    return [tf.constant(x, tf.int32 if x.dtype == np.int32 else tf.float32) for x in arrays]


@pytest.mark.parametrize("by_word", [True, False])
@pytest.mark.parametrize("most_bytes", [64 << 20, 5 * WORDS * 4, 1])
def test_losses_and_gradients_are_those_of_the_formula_however_many_rows_go_at_a_time(by_word, most_bytes, monkeypatch):
    monkeypatch.setattr(full_softmax, "_MOST_BYTES", most_bytes)
    features, table, bias, targets = problem()
    arguments = tensors(features, table if by_word else table.T, bias, targets)
    actual = full_softmax.differentiate(*arguments, 0.25, by_word=by_word)
    losses, d_features, d_table, d_bias = by_hand(features, table, bias, targets, 0.25)
    expected = losses, d_features, d_table if by_word else d_table.T, d_bias
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_parts_of_a_softmax_are_computed_one_after_the_other_in_a_graph(monkeypatch):
    monkeypatch.setattr(full_softmax, "_MOST_BYTES", 5 * WORDS * 4)
    shapes = [tf.TensorSpec(x.shape, x.dtype) for x in tensors(*problem())]
    softmax = tf.function(lambda *x: list(full_softmax.differentiate(*x, 1.0, by_word=True)))
    operations = softmax.get_concrete_function(*shapes).graph.get_operations()
    parts = [op for op in operations if op.type == "Identity" and op.inputs[0].op.type == "StridedSlice"]
    assert len(parts) > 1
    assert all(op.control_inputs for op in parts[1:])


def test_low_rank_weights_of_a_softmax_are_trained_by_keras_own_step():
    model = eager("stacked_lstm_lm", softmax="tied", learning_rate=0.1)
    assert model._window_step() is not None
    model.core.get_layer("embedding").enable_lora(2)
    model.compile(keras.optimizers.SGD(0.1), model.loss)
    assert model._window_step() is None


def test_very_large_and_very_small_logits_neither_overflow_nor_vanish():
    features, table, bias, targets = problem()
    actual = full_softmax.differentiate(*tensors(features, table * 100, bias * 1000, targets), 1.0, by_word=True)
    expected = by_hand(features, table * 100, np.longdouble(bias * 1000), targets, 1.0)
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, np.float64(theirs), rtol=1e-4, atol=1e-2)


OPTIONS = [{}, {"softmax": "tied"}, {"sampled_softmax": WORDS}, {"softmax": "tied", "sampled_softmax": WORDS + 9}]


# The models share the step: every option with one of them, every model with its defaults.
QUICK = [*(("dense_lstm_lm", options) for options in OPTIONS), *((name, {}) for name in MODELS)]


@pytest.mark.parametrize(("name", "options"), slow_pairs_but(QUICK, MODELS, OPTIONS), ids=str)
def test_a_step_on_all_words_follows_the_plain_gradient(name, options):
    model, ids = eager(name, learning_rate=1.0, clip_norm=None, **options), text(steps=6)
    ids[:, 3] = ids[:, 2]  # words come again
    expected, before = gradients(model, ids), model.get_weights()
    logits = model(ids[:, :-1])
    metrics = model.train_step((tf.constant(ids[:, :-1]), ids[:, 1:]))
    for weight, b, gradient in zip(model.weights, before, expected, strict=True):
        np.testing.assert_allclose(b - weight.numpy(), tf.convert_to_tensor(gradient), atol=2e-6)
    losses = keras.losses.sparse_categorical_crossentropy(ids[:, 1:], logits, from_logits=True)
    assert float(metrics["loss"]) == pytest.approx(float(tf.reduce_mean(tf.reduce_sum(losses, axis=1))), rel=1e-5)
    assert float(metrics["perplexity"]) == pytest.approx(float(tf.exp(tf.reduce_mean(losses))), rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"softmax": "tied"}], ids=str)
def test_in_half_precision_a_step_is_near_the_plain_one(options):
    model, ids = eager("dense_lstm_lm", clip_norm=None, dtype="mixed_bfloat16", **options), text()
    before = model.get_weights()
    plain = eager("dense_lstm_lm", clip_norm=None, **options)
    plain.set_weights(before)
    expected = gradients(plain, ids)
    model.train_step((tf.constant(ids[:, :-1]), ids[:, 1:]))
    for weight, b, gradient in zip(model.weights, before, expected, strict=True):
        expected_step = tf.convert_to_tensor(gradient).numpy()
        np.testing.assert_allclose(b - weight.numpy(), expected_step, atol=0.06 * np.abs(expected_step).max())


@pytest.mark.parametrize(
    "compiled",
    [
        {"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        {"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "metrics": ["accuracy"]},
    ],
    ids=lambda compiled: "-".join(compiled),
)
def test_with_another_loss_or_metric_keras_own_step_runs(compiled):
    model, ids = eager("dense_lstm_lm"), text()
    model.compile(keras.optimizers.SGD(1.0), **compiled)
    with tf.GradientTape() as tape:
        loss = model.compute_loss(y=ids[:, 1:], y_pred=model(tf.constant(ids[:, :-1]), training=True))
    before, weights = model.get_weights(), [w.value for w in model.trainable_variables]
    expected = tape.gradient(loss, weights)
    model.train_on_batch(tf.constant(ids[:, :-1]), ids[:, 1:])
    for weight, b, gradient in zip(model.weights, before, expected, strict=True):
        np.testing.assert_allclose(b - weight.numpy(), tf.convert_to_tensor(gradient), atol=1e-6)


class Halved(keras.optimizers.schedules.LearningRateSchedule):
    """A rate of a user's own, which cannot be saved."""

    def __call__(self, step):
        return 0.5 / (1.0 + tf.cast(step, tf.float32))


def test_a_schedule_that_cannot_be_saved_trains():
    model, plain, ids = eager("dense_lstm_lm"), eager("dense_lstm_lm"), text()
    plain.set_weights(model.get_weights())
    for each, rate in ((model, Halved()), (plain, 0.5)):
        each.compile(keras.optimizers.SGD(rate), WindowLoss())
        each.train_on_batch(tf.constant(ids[:, :-1]), ids[:, 1:])
    for ours, other in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(ours, other, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The model does not have any trainable weights")
def test_a_model_with_nothing_to_train_is_scored_by_fit():
    model, ids = eager("dense_lstm_lm"), text()
    model.trainable, before = False, model.get_weights()
    history = model.fit(windows(ids, 10), verbose=0, shuffle=False).history
    assert history["perplexity"][0] == pytest.approx(perplexity_by_hand(model, ids), rel=1e-4)
    for ours, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, other)


def test_sample_weights_count():
    model, ids = eager("dense_lstm_lm", clip_norm=None), text()
    twin = eager("dense_lstm_lm", clip_norm=None)
    twin.set_weights(model.get_weights())
    model.train_on_batch(ids[:, :-1], ids[:, 1:], sample_weight=np.array([3.0, 0.0, 0.0]))
    twin.train_on_batch(ids[:1, :-1], ids[:1, 1:])
    for ours, other in zip(model.get_weights(), twin.get_weights(), strict=True):
        np.testing.assert_allclose(ours, other, atol=1e-5)


def test_frozen_weights_stay_and_the_others_follow():
    model, ids = eager("dense_lstm_lm"), text()
    model.core.get_layer("softmax").trainable = False
    before = {w.path: w.numpy() for w in model.weights}
    model.train_step((tf.constant(ids[:, :-1]), ids[:, 1:]))
    same = [path for path, value in before.items() if np.array_equal(value, _by_path(model)[path])]
    assert len(same) == 1
    assert "softmax" in same[0]


def _by_path(model):
    return {w.path: w.numpy() for w in model.weights}


def test_expected_counts_are_log_uniform_but_no_more_than_one():
    counts = WordSampler(200, 30).expected_counts
    assert counts.sum() == pytest.approx(30)
    certain = int((counts == 1).sum())
    q = np.log((np.arange(200) + 2) / (np.arange(200) + 1))
    assert 0 < certain < 30
    np.testing.assert_allclose(counts[certain:] / counts[-1], q[certain:] / q[-1])
    assert counts[-1] * q[certain] / q[-1] < 1 <= counts[-1] * q[certain - 1] / q[-1]


@pytest.mark.slow
def test_a_word_is_drawn_as_often_as_is_expected():
    sampler, turns = WordSampler(200, 30), 2000
    counts = np.zeros(200)
    for turn in range(turns):  # every part of each stratum, once
        ids = sampler.draw(np.full(30, (turn + 0.5) / turns)).numpy()
        assert (np.diff(ids) >= 0).all()
        counts += np.bincount(ids, minlength=200)
    np.testing.assert_allclose(counts / turns, sampler.expected_counts, atol=2 / turns)


def test_words_of_another_order_are_drawn_by_their_ranks():
    order = np.random.default_rng(1).permutation(200)
    plain, ranked = WordSampler(200, 30), WordSampler(200, 30, order)
    np.testing.assert_array_equal(ranked.expected_counts[order], plain.expected_counts)
    uniform = np.random.default_rng(2).random(30)
    np.testing.assert_array_equal(ranked.draw(uniform), order[plain.draw(uniform)])
    ids = ranked.draw(uniform)
    expected = np.log(ranked.expected_counts[ids.numpy()])
    np.testing.assert_allclose(ranked.log_counts(ids, tf.float32), expected, rtol=1e-6)


def test_with_all_words_sampled_losses_and_gradients_are_those_of_all_words():
    features, table, bias, targets = problem()
    arguments = tensors(features, table, bias, targets)
    sampler = WordSampler(WORDS, WORDS)
    ids = sampler.draw(np.random.default_rng(0).random(WORDS))
    np.testing.assert_array_equal(ids, np.arange(WORDS))
    counts = sampler.log_counts(ids, tf.float32)
    actual = sampled_softmax.differentiate(*arguments, 0.25, ids, counts)
    for ours, theirs in zip(actual, by_hand(features, table, bias, targets, 0.25), strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(ours), theirs, atol=1e-5)


def sampled(sampler, arguments, draws):
    """Losses of each draw, and the means of the gradients over all draws."""
    rng, losses, sums = np.random.default_rng(5), [], 0
    for _ in range(draws):
        ids = sampler.draw(rng.random(sampler.num_samples))
        result = sampled_softmax.differentiate(*arguments, 1.0, ids, sampler.log_counts(ids, tf.float32))
        losses.append(result.losses.numpy())
        sums = sums + np.concatenate([np.ravel(tf.convert_to_tensor(x)) for x in result[1:]])
    return np.array(losses, np.float64), sums / draws


def test_the_estimated_sum_over_all_words_is_right_on_average():
    features, table, bias, targets = problem(words=300)
    features = features / 3
    losses, _ = sampled(WordSampler(300, 40), tensors(features, table, bias, targets), draws=120)
    expected = np.exp(by_hand(features, table, bias, targets, 1.0)[0])[targets >= 0]  # Z / exp(s_target)
    ratios = np.exp(losses)[:, targets >= 0] / expected
    error = ratios.std(axis=0) / np.sqrt(len(ratios))
    assert error.max() < 0.05
    assert (np.abs(ratios.mean(axis=0) - 1) < 4 * error).all()
    assert (losses.mean(axis=0)[targets >= 0] < np.log(expected) + 4 * error).all()  # log is concave


@pytest.mark.slow
def test_losses_and_gradients_come_closer_with_larger_samples():
    features, table, bias, targets = problem(words=300)
    arguments = tensors(features, table, bias, targets)
    exact_losses, *gradient = by_hand(features, table, bias, targets, 1.0)
    gradient = np.concatenate([np.ravel(x) for x in gradient])
    errors = []
    for size in (10, 60, 200, 300):
        losses, mean = sampled(WordSampler(300, size), arguments, draws=60)
        errors.append((np.abs(losses.mean(axis=0) - exact_losses).max(), np.abs(mean - gradient).max()))
    for larger, smaller in itertools.pairwise(errors):
        assert smaller[0] < 0.6 * larger[0]
        assert smaller[1] < 0.8 * larger[1]
    assert max(errors[-1]) < 1e-4


def test_gradients_of_rows_add_up_word_by_word():
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([4, 1]), tf.constant([6, 1]))
    other = tf.IndexedSlices(tf.constant([[10.0], [20.0]]), tf.constant([1, 5]), tf.constant([6, 1]))
    total = sampled_softmax.add_up(slices, other)
    assert sorted(total.indices.numpy()) == [1, 4, 5]
    np.testing.assert_array_equal(tf.convert_to_tensor(total)[:, 0], [0, 12, 0, 0, 1, 20])


SAMPLED = [{"sampled_softmax": 6}, {"sampled_softmax": 6, "softmax": "tied"}]


@pytest.mark.parametrize(
    ("name", "options"),
    slow_pairs_but([("dense_lstm_lm", options) for options in SAMPLED], MODELS, SAMPLED),
    ids=str,
)
def test_a_step_on_a_sample_changes_the_rows_of_its_words_and_no_others(name, options):
    model, ids = eager(name, vocab_size=400, **options), text(steps=8)
    table = model.core.get_layer("embedding" if "softmax" in options else "softmax").weights[0]
    before = table.numpy()
    model.train_step((tf.constant(ids[:, :-1]), ids[:, 1:]))
    changed = np.flatnonzero((table.numpy() != before).any(axis=1))
    words = np.unique(ids if "softmax" in options else ids[:, 1:])
    assert set(words) <= set(changed)
    assert len(words) <= len(changed) <= len(words) + 6


@pytest.mark.slow
@pytest.mark.parametrize("options", [*SAMPLED, {**SAMPLED[0], "optimizer": "adam", "learning_rate": 0.01}], ids=str)
def test_a_model_trained_on_samples_is_scored_on_all_words_and_saved_as_it_is(options, tmp_path):
    ids = np.minimum(np.random.default_rng(0).geometric(0.2, (3, 31)) - 1, WORDS - 1).astype(np.int32)
    model = tiny("dense_lstm_lm", **options)
    fitted = {"epochs": 6, "validation_data": windows(ids, 10), "verbose": 0, "shuffle": False}
    history = model.fit(windows(ids, 10), **fitted).history
    assert history["val_perplexity"][-1] == pytest.approx(perplexity_by_hand(model, ids), rel=1e-4)
    assert history["val_perplexity"][-1] < 0.9 * WORDS
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    assert again.sampled_softmax == 6
    np.testing.assert_allclose(again(ids), model(ids), atol=1e-6)
    later = again.fit(windows(ids, 10), **fitted).history["val_perplexity"][-1]
    assert later < 1.25 * history["val_perplexity"][-1]


def frequent_words_text(last, batch=20, steps=150):
    """A text in which a fifth of the words is one word, whose id is 0 or the last."""
    ids = np.minimum(np.random.default_rng(0).geometric(0.2, (batch, steps + 1)) - 1, WORDS - 1)
    return (WORDS - 1 - ids if last else ids).astype(np.int32)


@pytest.mark.slow
def test_words_whose_ids_are_not_ranks_are_learnt_from_samples_once_they_are_ranked():
    ids = frequent_words_text(last=True)
    entropy = -np.bincount(ids.ravel()) / ids.size @ np.log(np.bincount(ids.ravel()) / ids.size)

    def trained(ranked):
        keras.utils.set_random_seed(1)
        model = tiny("dense_lstm_lm", sampled_softmax=6, optimizer="adam", learning_rate=0.02)
        if ranked:
            model.rank_words(np.bincount(ids.ravel(), minlength=WORDS))
        fitted = {"epochs": 8, "validation_data": windows(ids, 10), "verbose": 0, "shuffle": False}
        return model.fit(windows(ids, 10), **fitted).history["val_perplexity"][-1]

    assert trained(ranked=True) < 1.3 * np.exp(entropy)
    assert trained(ranked=False) > 2 * np.exp(entropy)  # why the ranks count


@pytest.mark.slow
def test_words_that_are_ranked_after_a_training_change_the_next_one():
    ids = frequent_words_text(last=True, steps=20)
    model = tiny("dense_lstm_lm", sampled_softmax=6)
    model.fit(windows(ids, 10), verbose=0, shuffle=False)
    traced = model.train_function
    model.rank_words(np.arange(WORDS))
    model.fit(windows(ids, 10), verbose=0, shuffle=False)
    assert model.train_function is not traced
    np.testing.assert_array_equal(model._window_step().sampler._order, np.arange(WORDS)[::-1])


@pytest.mark.parametrize("counts", [np.ones(WORDS - 1), np.ones((1, WORDS)), 3])
def test_counts_of_other_words_are_refused(counts):
    with pytest.raises(ValueError, match=rf"counts must have the shape \({WORDS},\), one for each word; received"):
        tiny("dense_lstm_lm", sampled_softmax=6).rank_words(counts)


@pytest.mark.slow
def test_two_trainings_from_one_seed_are_the_same():
    weights_of_runs = []
    for _ in range(2):
        keras.utils.set_random_seed(3)
        model = tiny("dense_lstm_lm", vocab_size=400, sampled_softmax=6)
        model.fit(windows(text(), 10), verbose=0, shuffle=False)
        weights_of_runs.append(model.get_weights())
    for first, other in zip(*weights_of_runs, strict=True):
        np.testing.assert_array_equal(first, other)


def test_scores_are_products_with_rows_and_a_config_rebuilds_the_layer():
    layer = layers.WordScores(7, "normal", name="scores")
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    scores = layer(x)
    np.testing.assert_allclose(scores, x @ layer.kernel.numpy().T, atol=1e-6)
    again = layers.WordScores.from_config(json.loads(json.dumps(layer.get_config())))
    again.build(x.shape)
    again.set_weights(layer.get_weights())
    np.testing.assert_allclose(again(x), scores, atol=1e-6)
    assert layer.compute_output_shape((None, None, 4)) == (None, None, 7)


def test_a_sample_has_at_least_one_word():
    with pytest.raises(ValueError, match="sampled_softmax must be an integer of at least 1; received 0"):
        tiny("dense_lstm_lm", sampled_softmax=0)
