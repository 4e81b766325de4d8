"""Learning rates by layer: the steps of an Adam with a smaller rate for each weight, and the order of layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dense_lstm_zoo.models.adam import FusedAdam
from dense_lstm_zoo.training.layer_order import decay_rates, weights_from_the_top
from tests import model_harness as harness

RATE, FACTORS, STEPS = 0.1, (1.0, 0.25), 4


def trained(optimizer, in_graph=True):
    """Two weights after some steps of known gradients."""
    weights = [keras.Variable(np.ones((3, 2))), keras.Variable(np.ones((2,)))]
    optimizer.build(weights)
    if isinstance(optimizer, FusedAdam):
        optimizer.scale_rates(FACTORS)
    rng = np.random.default_rng(1)
    apply = tf.function(lambda *gradients: optimizer.apply(list(gradients), weights)) if in_graph else None
    for _ in range(STEPS):
        gradients = [tf.constant(rng.normal(size=w.shape), tf.float32) for w in weights]
        apply(*gradients) if apply else optimizer.apply(gradients, weights)
    return [w.numpy() for w in weights]


@pytest.mark.parametrize(
    "options",
    [{}, {"weight_decay": 0.3}, {"global_clipnorm": 1.0}, {"amsgrad": True}, {"amsgrad": True, "weight_decay": 0.3}],
    ids=lambda options: "-".join(options),
)
def test_each_weight_takes_the_steps_of_an_adam_with_its_own_rate(options):
    weights = trained(FusedAdam(RATE, **options))
    for i, factor in enumerate(FACTORS):
        np.testing.assert_allclose(weights[i], trained(keras.optimizers.Adam(RATE * factor, **options))[i], atol=1e-5)
    assert np.abs(weights[1] - trained(keras.optimizers.Adam(RATE, **options))[1]).max() > 0.01


def test_a_rate_that_changes_in_training_is_still_multiplied():
    optimizer = FusedAdam(RATE)
    trained(optimizer, in_graph=False)
    optimizer.learning_rate = 0.01
    weights, before = optimizer._trainable_variables, [w.numpy() for w in optimizer._trainable_variables]
    optimizer.apply([tf.zeros_like(w) for w in before], weights)  # the moments go on
    distances = [np.abs(w.numpy() - b).max() for w, b in zip(weights, before, strict=True)]
    assert distances[0] > 0.001
    assert max(distances) < 0.02


def test_another_number_of_factors_than_of_weights_is_refused():
    optimizer = FusedAdam(RATE)
    optimizer.build([keras.Variable([1.0])])
    with pytest.raises(ValueError, match=r"a factor for each of the 1 weights .* received 2"):
        optimizer.scale_rates([1.0, 0.5])


# For each model, a layer of each depth from the top down, by a part of its weights' names.
ORDERS = {
    "bilstm": ["logits", "bilstm_1", "embedding"],
    "cnn_mc": ["logits", "pooling", "embedding"],
    "stacked_bilstm": ["logits", "bilstm_3", "bilstm_2", "bilstm_1", "embedding"],
    "residual_bilstm": ["logits", "bilstm_3", "bilstm_2", "bilstm_1", "projection", "embedding"],
    "dc_bilstm": ["logits", "top", "dense_2", "dense_1", "embedding"],
    "di_bilstm": ["logits", "pooling", "top", "dense_2", "dense_1", "embedding"],
    "gated_skip_tagger": ["logits", "ward_4", "ward_3", "ward_2", "ward_1", "embedding"],
    "highway_tagger": ["logits", "ward_3", "ward_2", "ward_1", "embedding"],
    "rhn_tagger": ["logits", "ward", "embedding"],
    "lm_classifier": ["logits", "lstm_3", "lstm_2", "lstm_1", "embedding"],
    "dense_lstm_lm": ["logits", "lstm_3", "lstm_2", "lstm_1", "embedding"],
}


@pytest.mark.parametrize("name", ORDERS)
def test_layers_come_from_the_top_down_both_directions_together_and_words_last(name):
    model = harness.tiny(name)
    groups = weights_from_the_top(model)
    assert len(groups) == len(ORDERS[name])
    for weights, part in zip(groups, ORDERS[name], strict=True):
        assert any(part in weight.path for weight in weights)
        directions = {d for d in ("forward", "backward") for weight in weights if d in weight.path}
        assert len(directions) in (0, 2)
    every = [id(weight) for weights in groups for weight in weights]
    assert sorted(every) == sorted(map(id, model.trainable_variables))


def test_a_crf_and_the_logits_are_one_layer_and_what_is_beside_a_stack_goes_with_its_lowest():
    model = harness.tiny("gated_skip_tagger", crf=True, project_input=True)
    head, *inner, words = weights_from_the_top(model)
    assert {weight.path.split("/")[0] for weight in head} == {"logits", "crf"}
    assert any("forward_input" in weight.path for weight in inner[-1])
    assert {weight.path.split("/")[0] for weight in words} >= {"embedding", "affixes"}


def test_frozen_words_are_not_a_layer():
    groups = weights_from_the_top(harness.tiny("bilstm", trainable_embeddings=False))
    assert len(groups) == 2


@pytest.mark.slow
def test_the_rate_of_a_layer_is_that_of_the_one_above_it_divided_by_the_decay():
    model = harness.tiny("dc_bilstm", learning_rate=0.01, l2=0.0)
    decay_rates(model, 2.0)
    assert type(model.optimizer) is FusedAdam
    token_ids = harness.ids(12, seed=4)[:9]
    layers = weights_from_the_top(model)
    before = [[weight.numpy() for weight in weights] for weights in layers]
    model.train_on_batch(token_ids, harness.labels(9))
    for depth, weights in enumerate(layers):  # Adam's first step is as long as its rate
        distance = max(np.abs(w.numpy() - b).max() for w, b in zip(weights, before[depth], strict=True))
        assert distance == pytest.approx(0.01 / 2**depth, rel=0.02)


def test_loss_scaling_of_half_precision_goes_on_around_the_new_optimiser():
    model = harness.tiny("bilstm", dtype="mixed_float16", learning_rate=0.01, kernel="native")
    if not isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer):
        model.optimizer = keras.optimizers.LossScaleOptimizer(model.optimizer)
        model.optimizer.build(model.trainable_variables)
    decay_rates(model, 4.0)
    assert type(model.optimizer.inner_optimizer) is FusedAdam
    encoder = weights_from_the_top(model)[1][0]
    before = encoder.numpy()
    model.train_on_batch(harness.ids(12, seed=4)[:9], harness.labels(9))
    assert np.abs(encoder.numpy() - before).max() == pytest.approx(0.01 / 4, rel=0.05)


def test_a_model_that_adam_does_not_train_is_refused():
    model = harness.tiny("dense_lstm_lm")
    with pytest.raises(ValueError, match=r"layer_decay=2\.6 needs Adam; .* trained with FusedSGD"):
        decay_rates(model, 2.6)
