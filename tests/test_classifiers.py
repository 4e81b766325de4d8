"""Classifiers as models: every weight in its place, what each option does, the papers' sizes and their start."""

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from tests import model_harness as harness

CHOICES = [case for case in harness.CHOICES if case.task == "classification"]


@harness.slow_but_one_of_each_choice(CHOICES)
def test_beside_the_encoder_there_are_words_characters_and_a_softmax_alone(case):
    model, embedding_dim = harness.shared(case), case.arguments["embedding_dim"]
    count = harness.VOCABULARY * embedding_dim + model.get_layer("logits").count_params()
    if case.name == "cnn_mc":
        count += harness.VOCABULARY * embedding_dim  # the channel that is never trained
    if case.arguments.get("char_filters"):
        count += 9 * 2 + 5 * 2 * 4 + 4  # characters' vectors, and a convolution five wide
    if case.arguments.get("pooled_words"):  # a mean and a scale of each state and, twice, of each number of a word
        count += 2 * (2 * case.arguments["units"] + 2 * (embedding_dim + case.arguments["char_filters"]))
    if units := case.arguments.get("context_units"):  # two dense layers read in both directions, <eos> first
        dim = case.arguments["context_dim"]
        layers = [(dim + units + 1) * 4 * units, (dim + 2 * units + 1) * 4 * units]
        count += harness.VOCABULARY * dim + dim + 2 * sum(layers) + 2 + 1  # and a weight per layer, and their scale
    assert model.count_params() == count + zoo.count_encoder_parameters(model)


def test_the_softmax_reads_all_blocks_of_the_papers_pooling_or_one_value_of_each_filter():
    sizes = {"units": 7, "max_length": 9}
    model = zoo.build("blstm_2dcnn", **{**harness.tiny_arguments("blstm_2dcnn"), **sizes})
    assert model.get_layer("logits").kernel.shape == (5 * ((9 - 2) // 2) * ((7 - 2) // 2), harness.CLASSES)
    network = harness.tiny("blstm_2dcnn", pool_size=None)
    assert network.get_layer("logits").kernel.shape == (5, harness.CLASSES)
    arguments = zoo.describe("blstm_2dcnn").arguments
    assert (arguments["pool_size"], arguments["max_length"]) == (2, 64)
    with pytest.raises(ValueError, match="need at least 4 steps and 4 features; received features=3"):
        zoo.build("blstm_2dcnn", **{**harness.tiny_arguments("blstm_2dcnn"), "units": 3})
    with pytest.raises(ValueError, match="need at least 4 steps and 4 features; received max_length=3"):
        harness.tiny("blstm_2dcnn", max_length=3)


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
    capped.run_eagerly = True
    capped.fit(harness.ids(), harness.labels(), verbose=0)
    assert np.linalg.norm(capped.get_layer("logits").kernel.numpy(), axis=0).max() <= 0.0101


def test_initial_word_vectors_and_their_training_follow_the_arguments():
    matrix = np.random.default_rng(0).normal(size=(harness.VOCABULARY, 7)).astype(np.float32)
    model = harness.tiny("bilstm", embedding_matrix=matrix)
    np.testing.assert_array_equal(np.concatenate(model.get_layer("embedding").get_weights()), matrix)
    fixed = harness.tiny("bilstm", embedding_matrix=matrix, trainable_embeddings=False)
    fixed.run_eagerly = True  # tracing takes longer than all the rest
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


@pytest.mark.slow
def test_remat_changes_neither_values_nor_training():
    keras.utils.set_random_seed(3)
    model = harness.tiny("dc_bilstm", dropout=0.0, embedding_dropout=0.0)
    again = harness.tiny("dc_bilstm", dropout=0.0, embedding_dropout=0.0, remat=True)
    again.set_weights(model.get_weights())
    for each in (model, again):
        each.fit(harness.ids(), harness.labels(), epochs=2, shuffle=False, verbose=0)
    for ours, theirs in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.slow
def test_seeded_training_repeats_exactly():
    def weights():
        keras.utils.set_random_seed(11)
        model = harness.tiny("dc_bilstm")
        model.fit(harness.ids(9), harness.labels(9), batch_size=3, epochs=2, verbose=0)
        return model.get_weights()

    for ours, theirs in zip(weights(), weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
