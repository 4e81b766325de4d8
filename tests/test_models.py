"""Every registered model is tested as soon as it is registered: the harness runs over ``list_models()``."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import registry
from tests import model_harness as harness

models = pytest.mark.parametrize("name", zoo.list_models(task="classification"))


@models
def test_padding_and_company_never_change_the_logits(name):
    model = harness.tiny(name)
    ids = harness.ids()
    logits = model(ids)
    assert np.isfinite(logits).all()
    padded = np.pad(ids, ((0, 0), (0, 5)))
    np.testing.assert_allclose(model(padded), logits, atol=1e-5)
    for row, expected in zip(ids, logits, strict=True):
        alone = row[None, : max(1, np.count_nonzero(row))]
        np.testing.assert_allclose(model(alone)[0], expected, atol=1e-5)


@models
def test_fit_learns_a_handful_of_sentences_by_every_trainable_weight_and_leaves_frozen_words_alone(name):
    free = {"embedding_dropout": 0.0, "dropout": 0.0, "l2": 0.0, "learning_rate": 0.05}
    model = zoo.build(name, **{**harness.tiny_arguments(name), **free})
    before = {w.path: w.numpy() for w in model.weights}
    ids, labels = harness.ids(12, seed=4)[:9], harness.labels(9)
    step, traced = model.train_step, []
    model.train_step = lambda data: traced.append(data) or step(data)
    model.fit(ids, labels, epochs=60, batch_size=9, verbose=0)
    assert len(traced) == 1  # a trace that makes variables is done a second time, which takes seconds
    assert (model.predict_on_batch(ids).argmax(axis=1) == labels).all()
    changed = {w.path for w in model.weights if not np.array_equal(before[w.path], w.numpy())}
    assert changed == {w.path for w in model.trainable_weights}
    assert any("frozen_table" in w.path for w in model.non_trainable_weights)


def test_the_softmax_reads_all_blocks_of_the_papers_pooling_or_one_value_of_each_filter():
    sizes = {"units": 7, "max_length": 9}
    model = zoo.build("blstm_2dcnn", **{**harness.tiny_arguments("blstm_2dcnn"), **sizes})
    assert model.get_layer("logits").kernel.shape == (5 * ((9 - 2) // 2) * ((7 - 2) // 2), harness.CLASSES)
    whole = harness.tiny("blstm_2dcnn", pool_size=None)
    assert whole.get_layer("logits").kernel.shape == (5, harness.CLASSES)
    arguments = zoo.describe("blstm_2dcnn").arguments
    assert (arguments["pool_size"], arguments["max_length"]) == (2, 64)
    with pytest.raises(ValueError, match="need at least 4 steps and 4 features; received features=3"):
        zoo.build("blstm_2dcnn", **{**harness.tiny_arguments("blstm_2dcnn"), "units": 3})
    with pytest.raises(ValueError, match="need at least 4 steps and 4 features; received max_length=3"):
        harness.tiny("blstm_2dcnn", max_length=3)


def choices() -> list[tuple[str, dict]]:
    """Every model with each of the choices that change its number of weights."""
    options = {
        "pooling": ("mean", "attention"),
        "mode": ("position", "vector", "projected_vector"),
        "weights": ("constant",),
        "couple_directions": (False,),
        "num_heads": (1, 2),
        "char_filters": (4,),
        "pool_size": (None,),
    }
    found = []
    for name in zoo.list_models(task="classification"):
        known = zoo.describe(name).arguments
        found += [(name, {option: value}) for option in options if option in known for value in options[option]]
    return found


@pytest.mark.parametrize(("name", "choice"), choices(), ids=str)
@pytest.mark.parametrize("embedding_dim", [6, 8])
def test_the_closed_formula_counts_what_the_built_model_has(name, choice, embedding_dim):
    arguments = {**harness.tiny_arguments(name), "num_chars": 9, "embedding_dim": embedding_dim, **choice}
    model = zoo.build(name, **arguments)
    for biases in (True, False):
        by_formula = zoo.count_encoder_parameters(name, biases=biases, **arguments)
        assert by_formula == zoo.count_encoder_parameters(model, biases=biases)
    rest = harness.VOCABULARY * embedding_dim + model.get_layer("logits").count_params()
    if name == "cnn_mc":
        rest += harness.VOCABULARY * embedding_dim  # the channel that is never trained
    if "char_filters" in choice:
        rest += 9 * 50 + 5 * 50 * 4 + 4  # characters' vectors, and a convolution five wide
    assert model.count_params() == rest + zoo.count_encoder_parameters(model)


@models
def test_dropout_acts_in_training_and_never_in_inference(name):
    for rate in ("embedding_dropout", "dropout"):
        off = {"embedding_dropout": 0.0, "dropout": 0.0}
        model = harness.tiny(name, **{**off, rate: 0.5})
        ids = harness.ids()
        trained = [np.asarray(model(ids, training=True)) for _ in range(2)]
        assert not np.allclose(*trained), rate
        np.testing.assert_array_equal(model(ids, training=False), model(ids, training=False))


@models
def test_mixed_precision_keeps_logits_in_float32_and_near(name):
    full, half = harness.tiny(name), harness.tiny(name, dtype="mixed_bfloat16")
    half.set_weights(full.get_weights())
    logits = half(harness.ids())
    assert logits.dtype == "float32"
    np.testing.assert_allclose(logits, full(harness.ids()), atol=0.05)
    half.run_eagerly = True  # tracing takes longer than all the rest
    half.fit(harness.ids(), harness.labels(), verbose=0)
    assert np.isfinite(half.predict_on_batch(harness.ids())).all()


def test_saved_models_give_the_same_logits_in_a_fresh_process(tmp_path):
    expected = {}
    for name in zoo.list_models(task="classification"):
        model = harness.tiny(name)
        model.save(tmp_path / f"{name}.keras")
        expected[name] = np.asarray(model(harness.ids()))
    np.savez(tmp_path / "expected.npz", **expected)
    script = """
import sys, pathlib, numpy as np, keras
import dense_lstm_zoo.layers
from tests import model_harness as harness
folder = pathlib.Path(sys.argv[1])
expected = np.load(folder / "expected.npz")
for name in expected.files:
    model = keras.saving.load_model(folder / f"{name}.keras")
    np.testing.assert_allclose(model(harness.ids()), expected[name], atol=1e-6)
    model.fit(harness.ids(), harness.labels(), verbose=0)
print("same:", len(expected.files))
"""
    root = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=root, capture_output=True, text=True)
    assert run.stdout.strip() == f"same: {len(expected)}", run.stderr


def test_the_papers_sizes():
    # 14 layers of 13 and one of 100 over words of 350 features, directions coupled; the interaction has 281,400
    dense = {"embedding_dim": 350, "num_dense_layers": 14}
    assert zoo.count_encoder_parameters("dc_bilstm", **dense) == 1_428_048
    assert zoo.count_encoder_parameters("dc_bilstm", couple_directions=False, **dense) == 1_159_416
    assert zoo.count_encoder_parameters("di_bilstm", embedding_dim=350) == 1_428_048 + 281_400
    # 4 x 100: three layers below the top, each with a 200 x 100 matrix
    stack = zoo.count_encoder_parameters("stacked_bilstm", num_layers=4)
    assert zoo.count_encoder_parameters("stacked_di_bilstm") == stack + 3 * (200 * 100 + 100)
    assert zoo.count_encoder_parameters("dsa_bilstm") == stack + 200 * 100 + 100


def test_dynamic_interaction_has_its_penalty_and_its_ablation_differs():
    model = harness.tiny("di_bilstm", pooling_l2=2.0, l2=0.0)
    kernel = model.get_layer("pooling").kernel.numpy()
    assert float(sum(model.losses)) == pytest.approx(2 * np.square(kernel).sum(), rel=1e-5)
    halves = harness.tiny("di_bilstm", weights="constant")
    # Small weights would show nothing: states near 0 leave every v at a half.
    rng = np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) for w in model.get_weights()])
    halves.set_weights(model.get_weights())
    assert np.abs(halves(harness.ids()) - model(harness.ids())).max() > 1e-4
    assert not harness.tiny("dsa_bilstm", pooling_l2=0.0, l2=0.0).losses


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("di_bilstm", {"num_dense_layers": 0}, "num_dense_layers must be an integer of at least 1"),
        ("stacked_di_bilstm", {"num_layers": 1}, "num_layers must be an integer of at least 2"),
        ("di_bilstm", {"mode": "vectors"}, "Did you mean 'vector'"),
        ("di_bilstm", {"pooling": "mean"}, "Unknown argument of di_bilstm: 'pooling'"),
        ("dsa_bilstm", {"num_heads": 0}, "num_heads must be"),
    ],
)
def test_bad_arguments_of_the_interaction_are_refused(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        zoo.build(name, **{**harness.tiny_arguments(name), **arguments})


def test_the_options_of_the_softmax_do_what_they_say():
    heavy = harness.tiny("bilstm", l2=10.0)
    light = harness.tiny("bilstm", l2=0.0)
    kernel = heavy.get_layer("logits").kernel.numpy()
    assert float(sum(heavy.losses)) == pytest.approx(10 * np.square(kernel).sum(), rel=1e-5)
    assert not light.losses
    capped = harness.tiny("bilstm", softmax_max_norm=0.01)
    capped.fit(harness.ids(), harness.labels(), verbose=0)
    assert np.linalg.norm(capped.get_layer("logits").kernel.numpy(), axis=0).max() <= 0.0101


def test_initial_word_vectors_and_their_training_follow_the_arguments():
    matrix = np.random.default_rng(0).normal(size=(harness.VOCABULARY, 6)).astype(np.float32)
    model = harness.tiny("bilstm", embedding_matrix=matrix)
    np.testing.assert_array_equal(np.concatenate(model.get_layer("embedding").get_weights()), matrix)
    fixed = harness.tiny("bilstm", embedding_matrix=matrix, trainable_embeddings=False)
    fixed.fit(harness.ids(), harness.labels(), verbose=0)
    np.testing.assert_array_equal(np.concatenate(fixed.get_layer("embedding").get_weights()), matrix)


def test_the_model_is_compiled_with_the_papers_loss_and_optimiser():
    model = harness.tiny("dc_bilstm")
    assert isinstance(model.optimizer, keras.optimizers.Adam)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.005)
    assert model.loss.get_config()["from_logits"] is True


def test_initialisation_follows_the_recipe():
    def recurrent_and_bias(recipe):
        model = zoo.build("dc_bilstm", recipe=recipe, vocab_size=9, num_classes=2, embedding_dim=4, num_chars=5)
        weights = {w.path: w.numpy() for w in model.get_layer("encoder").weights}
        kernel = next(w for path, w in weights.items() if "top" in path and path.endswith("forward_recurrent_kernel"))
        return kernel, np.concatenate([w for path, w in weights.items() if path.endswith("bias")])

    kernel, bias = recurrent_and_bias("ding2018")
    np.testing.assert_allclose(kernel @ kernel.T, np.eye(100), atol=1e-4)
    assert set(bias.tolist()) == {0.0, 1.0}
    kernel, bias = recurrent_and_bias("xie2019")
    assert np.abs(kernel @ kernel.T - np.eye(100)).max() > 0.1
    assert set(bias.tolist()) == {0.0}


def test_residual_connections_add_the_words_through_a_projection_only_where_widths_differ():
    projected, plain = (
        harness.tiny("residual_bilstm"),
        zoo.build("residual_bilstm", **{**harness.tiny_arguments("residual_bilstm"), "embedding_dim": 8}),
    )
    assert "projection" in {layer.name for layer in projected.layers}
    assert "projection" not in {layer.name for layer in plain.layers}
    for layer in plain.layers:
        if layer.name.startswith("bilstm_"):
            layer.set_weights([np.zeros_like(w) for w in layer.get_weights()])
    # Silent LSTMs leave the words themselves: the mean word vector reaches the softmax.
    ids = np.array([[3, 5]])
    words = np.concatenate(plain.get_layer("embedding").get_weights())[ids[0]].mean(axis=0)
    expected = words @ plain.get_layer("logits").kernel.numpy()
    np.testing.assert_allclose(plain(ids)[0], expected, atol=1e-5)


def test_remat_changes_neither_values_nor_training():
    keras.utils.set_random_seed(3)
    model = harness.tiny("dc_bilstm", dropout=0.0, embedding_dropout=0.0)
    again = harness.tiny("dc_bilstm", dropout=0.0, embedding_dropout=0.0, remat=True)
    again.set_weights(model.get_weights())
    for each in (model, again):
        each.fit(harness.ids(), harness.labels(), epochs=2, shuffle=False, verbose=0)
    for ours, theirs in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_seeded_training_repeats_exactly():
    def weights():
        keras.utils.set_random_seed(11)
        model = harness.tiny("dc_bilstm")
        model.fit(harness.ids(9), harness.labels(9), batch_size=3, epochs=2, verbose=0)
        return model.get_weights()

    for ours, theirs in zip(weights(), weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", zoo.list_models())
def test_docstrings_document_every_argument(name):
    entry = registry.entry(name)
    pages = "\n".join(inspect.getdoc(function) for function in (entry.factory, *entry.options))
    assert set(re.findall(r"^\s+(\w+): ", pages, re.M)) >= set(entry.arguments)
