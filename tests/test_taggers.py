"""Taggers as models: counts, loss, padding, the CRF, exact equivalences."""

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.tagging.assembly import SentenceLoss, TokenAccuracy
from tests.model_harness import TAGS, sentences, tiny

MODELS = zoo.list_models(task="tagging")
LENGTHS = np.array([6, 3, 1, 0])


def batch():
    """Ids of sentences of ``LENGTHS`` and their tags."""
    return sentences(LENGTHS)


def test_the_taggers_are_those_of_the_paper():
    assert MODELS == ["bilstm_tagger", "gated_skip_tagger", "highway_tagger", "rhn_tagger"]


@pytest.mark.parametrize(
    ("depth", "separate", "interleaved"),
    [
        (3, 15_548_678, 20_267_270),
        (5, 26_044_678, 36_006_150),
        (7, 36_540_678, 51_745_030),
        (9, 47_036_678, 67_483_910),
        (11, 57_532_678, 83_222_790),
    ],
)
def test_every_depth_of_the_paper_has_the_parameters_of_the_spec(depth, separate, interleaved):
    softmax = 1286 * (2 * 512 + 1)
    count = zoo.count_encoder_parameters
    assert count("gated_skip_tagger", num_layers=depth) + softmax == separate
    assert count("gated_skip_tagger", num_layers=depth, interleave=True) + softmax == interleaved
    if depth == 7:
        assert count("gated_skip_tagger", skip="outputs") + softmax == 31_292_678
        assert count("bilstm_tagger", num_layers=7) + softmax == 31_292_678


# Wu et al. 2016, Tables 1 to 4: test accuracy by recipe.
TABLES = {
    "7_layers": 94.67,
    "7_layers_no_char": 94.45,
    "7_layers_no_dropout": 94.0,
    "9_layers": 94.69,
    "highway": 93.52,
    "rhn": 94.24,
    "none": 94.26,
    "gates": 94.22,
    "internals": 94.63,
    "gated_internals": 94.52,
    "outputs": 93.98,
    "gated_outputs": 94.67,
    "gated_outputs_forget_bias_5": 94.81,
    "gated_sigmoid": 94.18,
    **{f"depth_{depth}": x for depth, x in zip((3, 5, 7, 9, 11), (94.35, 94.57, 94.67, 94.7, 94.65), strict=True)},
    "wsj_7_layers": 97.45,
    "wsj_9_layers": 97.45,
}


@pytest.mark.parametrize("name", ["bilstm_tagger", "gated_skip_tagger"])
def test_recurrent_matrices_start_orthogonal_unless_something_else_is_asked_for(name):
    for other in ({}, {"recurrent_initializer": "orthogonal"}, {"recurrent_initializer": "glorot_uniform"}):
        weights = {weight.path: weight.numpy() for weight in tiny(name, **other).weights}
        (kernel,) = (value for path, value in weights.items() if path.endswith("forward_1/recurrent_kernel"))
        block = kernel[:, : len(kernel)]
        is_orthogonal = np.allclose(block @ block.T, np.eye(len(kernel)), atol=1e-5)
        assert is_orthogonal is (other.get("recurrent_initializer") != "glorot_uniform")
    with pytest.raises(ValueError, match="Did you mean 'glorot_uniform'"):
        tiny(name, recurrent_initializer="glorot_unifrom")
    with keras.saving.custom_object_scope({"mine": keras.initializers.Zeros}):  # a user's own, by its name
        (kernel,) = (w for w in tiny(name, recurrent_initializer="mine").weights if "forward_1/recurrent" in w.path)
    assert not kernel.numpy().any()


def test_every_row_of_the_papers_tables_is_a_recipe():
    recipes = {name.removeprefix("wu2016_"): zoo.get_recipe(name) for name in zoo.list_recipes() if "wu2016" in name}
    assert {name: next(iter(recipe.expected.values())) for name, recipe in recipes.items()} == TABLES
    for name, recipe in recipes.items():
        (model,) = recipe.models
        arguments = registry.resolve(model, {}, recipe.name, complete=False)
        assert (arguments["units"], arguments["optimizer"], arguments["learning_rate"]) == (512, "sgd", 0.02)
        assert recipe.batch_size == 1
        assert arguments["forget_bias" if name.endswith("bias_5") else "window"] == (5.0 if "bias_5" in name else 3)
        assert list(recipe.expected) == ["wsj" if name.startswith("wsj") else "ccgbank"]


@pytest.mark.parametrize(("recipe", "trained"), [("batched", True), ("batched_fixed_vectors", False)])
def test_our_own_recipes_are_for_every_tagger(recipe, trained):
    assert list(zoo.get_recipe(recipe).models) == MODELS
    for name in MODELS:
        arguments = registry.resolve(name, {}, recipe, complete=False)
        assert (arguments["units"], arguments["optimizer"], arguments["clip_norm"]) == (128, "adam", 5.0)
        assert (arguments["char_filters"], arguments["trainable_embeddings"]) == (30, trained)
    assert zoo.get_recipe(recipe).batch_size == 64


def test_without_skips_the_two_bilstm_taggers_are_one_and_the_same():
    ids, _ = batch()
    pair = [("bilstm_tagger", {}), ("gated_skip_tagger", {"skip": "none"})]
    outputs = []
    for name, options in pair:
        keras.utils.set_random_seed(3)
        outputs.append(tiny(name, num_layers=4, **options)(ids).numpy())
    np.testing.assert_array_equal(*outputs)


def test_the_loss_is_the_mean_of_a_sentences_tokens_then_of_sentences():
    rng = np.random.default_rng(0)
    logits, (_, tags) = rng.normal(size=(4, 6, TAGS)).astype(np.float32), batch()
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    means = [-log_p[b, range(n), tags[b, :n]].mean() for b, n in enumerate(LENGTHS[:3])]
    assert float(SentenceLoss()(tags, logits)) == pytest.approx(np.sum(means) / 4, rel=1e-5)
    metric = TokenAccuracy()
    metric.update_state(tags, logits)
    right = sum((logits[b, :n].argmax(axis=1) == tags[b, :n]).sum() for b, n in enumerate(LENGTHS))
    assert float(metric.result()) == pytest.approx(right / LENGTHS.sum())
    unknown = tags.copy()
    unknown[0, 0] = -2  # a tag that no model can know
    other = TokenAccuracy()
    other.update_state(unknown, logits)
    assert float(other.result()) == pytest.approx((right - (logits[0, 0].argmax() == tags[0, 0])) / LENGTHS.sum())


def test_a_crf_is_trained_on_the_likelihood_and_judged_by_the_best_sequence():
    model, (ids, tags) = tiny("bilstm_tagger", crf=True, dropout=0.0, window_dropout=0.0), batch()
    rng = np.random.default_rng(0)
    model.crf.set_weights([rng.normal(size=w.shape) for w in model.crf.get_weights()])
    potentials = model(ids)
    likelihood = model.crf.log_likelihood(potentials, tags, LENGTHS).numpy()
    best = model.crf(potentials, lengths=LENGTHS).numpy()
    scores = model.evaluate(ids, tags, verbose=0, return_dict=True)
    assert scores["loss"] == pytest.approx(-(likelihood / np.maximum(LENGTHS, 1)).mean(), rel=1e-4)
    assert scores["accuracy"] == pytest.approx((best == tags)[tags >= 0].mean())


def test_a_crf_sums_over_the_tags_of_a_token_whose_tag_is_unknown():
    model, (ids, tags) = tiny("bilstm_tagger", crf=True), batch()
    model.run_eagerly = True
    rng = np.random.default_rng(0)
    model.crf.set_weights([rng.normal(size=w.shape) for w in model.crf.get_weights()])
    likelihoods = []
    for tag in range(TAGS):
        tags[0, 1] = tag
        likelihoods.append(model.crf.log_likelihood(model(ids), tags, LENGTHS).numpy())
    likelihood = likelihoods[0]
    likelihood[0] = np.log(np.exp([row[0] for row in likelihoods]).sum())
    for unknown in (-2, -1):  # what the padding of a label means inside a sentence
        tags[0, 1] = unknown
        scores = model.evaluate(ids, tags, verbose=0, return_dict=True)
        assert scores["loss"] == pytest.approx(-(likelihood / [5, 3, 1, 1]).mean(), rel=1e-5)


@pytest.mark.parametrize("crf", [False, True])
def test_weighted_sentences_and_penalties_of_layers_are_in_the_loss(crf):
    model, (ids, tags) = tiny("bilstm_tagger", crf=crf), batch()
    model.run_eagerly = True
    plain = model.evaluate(ids, tags, verbose=0)[0]
    each = [model.evaluate({k: v[b : b + 1] for k, v in ids.items()}, tags[b : b + 1], verbose=0)[0] for b in range(4)]
    weights = np.array([2.0, 0.5, 0.0, 3.0], np.float32)
    weighted = model.evaluate(ids, tags, sample_weight=weights, verbose=0)[0]
    assert weighted == pytest.approx(np.mean(weights * each), rel=1e-5)
    kernel = registry.network(model).get_layer("logits").kernel
    kernel.assign(np.ones(kernel.shape))
    without = model.evaluate(ids, tags, verbose=0)[0]
    kernel.regularizer = keras.regularizers.L2(0.25)
    assert model.evaluate(ids, tags, verbose=0)[0] == pytest.approx(without + 0.25 * np.prod(kernel.shape), rel=1e-5)
    assert plain == pytest.approx(np.mean(each), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_step_of_sgd_on_a_batch_is_the_sum_of_its_sentences_steps(optimizer, crf):
    options = {"optimizer": optimizer, "learning_rate": 0.01, "dropout": 0.0, "window_dropout": 0.0}
    model, (ids, tags) = tiny("bilstm_tagger", crf=crf, **options), batch()
    start, moves = model.get_weights(), []
    if optimizer == "adam":  # SGD's step shows the gradient that Adam gets
        model.compile(keras.optimizers.SGD(0.01), model.loss)
    model.run_eagerly = True
    for rows in [slice(None), *(slice(b, b + 1) for b in range(4))]:
        model.set_weights(start)
        model.train_on_batch({name: value[rows] for name, value in ids.items()}, tags[rows])
        moves.append([after - before for after, before in zip(model.get_weights(), start, strict=True)])
    together, *alone = moves
    share = 1 if optimizer == "sgd" else 1 / 4
    for actual, *expected in zip(together, *alone, strict=True):
        np.testing.assert_allclose(actual, share * np.sum(expected, axis=0), atol=1e-7)
    assert max(np.abs(step).max() for step in together) > 1e-4


def test_softmax_and_window_gate_start_as_small_as_the_papers_weights():
    model = tiny("bilstm_tagger", units=64, embedding_dim=200, num_tags=40)
    kernels = [registry.network(model).get_layer(name).weights for name in ("logits", "window")]
    for weights, fan_in in zip(kernels, (128, 600), strict=True):
        (kernel,) = (w.numpy() for w in weights if w.shape[0] == fan_in)
        assert kernel.std() == pytest.approx(0.1 / fan_in**0.5, rel=0.1)
        assert abs(kernel.mean()) < 0.3 * kernel.std()
        assert np.abs(kernel).max() > 2.5 * kernel.std()  # not cut off


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_tags": 1}, "num_tags must be"),
        ({"num_chars": 1}, "num_chars must be"),
        ({"window": 2}, "size must be odd"),
        ({"case": "both"}, "Unknown value of case: 'both'"),
        ({"skip": "gated"}, "Unknown value of skip: 'gated'"),
        ({"kernel": "fast"}, "Unknown value of kernel: 'fast'"),
        ({"optimizer": "sdg"}, "Did you mean 'sgd'"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"unitz": 3}, "Did you mean 'units'"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tiny("gated_skip_tagger", **options)
