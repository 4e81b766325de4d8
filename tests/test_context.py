"""A text encoder's frozen states beside the words of classifiers and taggers: trained, saved, exported, trained on."""

import dataclasses
import json

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.reports import cards, command_line
from tests.context_harness import text_encoder, words_of
from tests.model_harness import CONTEXT, tiny
from tests.preset_harness import write_table
from tests.saving_harness import same_weights
from tests.text_encoder_harness import language_model
from tests.training_harness import MODELS, small_demo, train

TEXTS = ["What is the capital of France ?", "", "qwerty who", "Name the film about the war !"]


@pytest.fixture(scope="module", params=["classification", pytest.param("tagging", marks=pytest.mark.slow)])
def trained(request, tmp_path_factory):
    """A task, an encoder and its folder, and a model trained with it and its folder. No test changes them."""
    folder = tmp_path_factory.mktemp("context")
    encoder = text_encoder(request.param, folder / "encoder")
    bundle = train(folder / "run", request.param, context=str(folder / "encoder"), epochs=2)
    return request.param, encoder, folder / "encoder", bundle, folder / "run"


@pytest.mark.parametrize("name", ["bilstm", "bilstm_tagger"])
def test_of_the_encoder_only_the_mixture_is_trained(name):
    model = tiny(name, **CONTEXT)
    layers = [layer for layer in registry.network(model).layers if layer.name.startswith("context")]
    with_weights = {layer.name: bool(layer.trainable_weights) for layer in layers if layer.weights}
    assert with_weights == {"context": False, "context_embedding": False, "context_mixture": True}


def predicted(bundle, texts=TEXTS):
    predictions = bundle.predict(texts)
    if bundle.task.name == "tagging":
        return [(prediction.tags, prediction.probabilities) for prediction in predictions]
    return [(prediction.label, list(prediction.probabilities.values())) for prediction in predictions]


def same_answers(ours, theirs, tolerance=1e-5):
    for (label, shares), (other, other_shares) in zip(ours, theirs, strict=True):
        assert label == other
        np.testing.assert_allclose(shares, other_shares, atol=tolerance)


@pytest.mark.slow
def test_a_model_trained_with_context_holds_the_encoder_as_it_was_and_learns_the_mixture(trained):
    _, encoder, _, bundle, _ = trained
    network = bundle.network
    states = network.get_layer("context")
    expected = [encoder.eos_vector, *encoder.weights["forward"], *encoder.weights["backward"]]
    assert all(map(np.array_equal, states.get_weights(), expected))
    assert not states.trainable_weights
    matrix = network.get_layer("context_embedding").get_matrix()
    assert not matrix[0].any()
    np.testing.assert_array_equal(matrix[1], encoder.vectors[encoder.words.index("<unk>")])
    np.testing.assert_array_equal(matrix[2:], encoder.word_vectors(bundle.vocabulary.words))
    weights, gamma = network.get_layer("context_mixture").get_weights()
    assert weights.any()
    assert gamma != 1


def test_its_config_names_the_encoder_and_its_arguments_rebuild_it(trained):
    _, encoder, _, bundle, run = trained
    context = bundle.config["training"]["context"]
    assert (context["name"], context["sha256"], context["datasets"]) == ("encoder", encoder.sha256, ["raw"])
    assert context["directions"] == ["forward", "backward"]
    assert context["overlap"] == {"dev": 0, "test": 0}
    sizes = {name: bundle.config["arguments"][name] for name in registry.FROM_DATA if name.startswith("context_u")}
    assert sizes == {"context_units": 4}
    assert "context_weights" not in bundle.config["arguments"]
    assert json.loads((run / "config.json").read_text())["arguments"]["context_dim"] == 7
    assert "--context encoder" in command_line.of(bundle.config)
    card = (run / "README.md").read_text()
    assert "frozen states of the text encoder encoder, trained without labels on raw" in card
    assert cards.model_card(bundle, run)


def test_frozen_states_are_not_in_the_count_of_the_encoder(trained):
    task, _, _, bundle, _ = trained
    arguments = bundle.config["arguments"]
    count = registry.count_encoder_parameters(bundle.model)
    assert bundle.metrics["encoder_parameters"] == count
    accepted = {name: value for name, value in arguments.items() if name in registry.entry(MODELS[task]).arguments}
    assert registry.count_encoder_parameters(MODELS[task], **accepted) == count
    frozen = [w for name in ("context", "context_embedding") for w in bundle.network.get_layer(name).weights]
    assert bundle.metrics["parameters"] > count + sum(int(np.prod(w.shape)) for w in frozen)
    assert "context (TextEncoderStates)" in str(zoo.describe(bundle.model))


@pytest.mark.slow
def test_a_saved_model_with_context_loads_the_same_without_its_encoder(trained):
    _, _, _, bundle, run = trained
    again = zoo.load(run)
    assert same_weights(again, bundle)
    same_answers(predicted(again), predicted(bundle), 1e-6)


def test_padding_and_neighbours_in_a_batch_do_not_change_an_answer(trained):
    _, _, _, bundle, _ = trained
    alone = [answer for text in TEXTS for answer in predicted(bundle, [text])]
    same_answers(predicted(bundle), alone)


@pytest.mark.slow
def test_exports_of_a_model_with_context_answer_as_it_does(trained, tmp_path):
    import tensorflow as tf

    from dense_lstm_zoo_runtime import Predictor

    task, _, _, bundle, _ = trained
    expected = predicted(bundle)
    onnx = bundle.export(tmp_path / "onnx", format="onnx")
    answers = Predictor(onnx).predict(TEXTS)
    served = tf.saved_model.load(str(bundle.export(tmp_path / "1")))
    outputs = served.signatures["serving_default"](text=tf.constant(TEXTS))
    if task == "tagging":
        same_answers([(answer.tags, answer.probabilities) for answer in answers], expected)
        rows = outputs["row_lengths"].numpy()
        tags = [[tag.decode() for tag in row[:n]] for row, n in zip(outputs["tags"].numpy(), rows, strict=True)]
        shares = [row[:n] for row, n in zip(outputs["probabilities"].numpy(), rows, strict=True)]
        same_answers(list(zip(tags, shares, strict=True)), expected)
    else:
        same_answers([(answer.label, list(answer.probabilities.values())) for answer in answers], expected)
        labels = [label.decode() for label in outputs["label"].numpy()]
        same_answers(list(zip(labels, outputs["probabilities"].numpy(), strict=True)), expected)


@pytest.mark.slow
def test_vectors_and_explanations_work_with_context(trained):
    task, _, _, bundle, _ = trained
    tokens = bundle.embed_tokens(TEXTS[:1])[0]
    assert len(tokens[0]) == len(tokens[1])
    if task == "classification":
        assert bundle.embed(TEXTS).shape == (4, bundle.embedding_width)
        explanation = bundle.explain(TEXTS[0])
        assert len(explanation.saliency) == len(explanation.tokens)
        assert np.abs(explanation.saliency).max() > 0


@pytest.mark.slow
def test_a_model_with_context_goes_on_with_it_on_other_texts(trained, tmp_path):
    task, encoder, folder, bundle, run = trained
    corpus = small_demo(task)
    parts = {part: _renamed(getattr(corpus, part), "zebra", part) for part in ("train", "dev", "test")}
    other = dataclasses.replace(corpus, name="other", **parts)
    options = {"dataset": other, "init_from": str(run), "context": str(folder), "epochs": 1, "force_overlap": True}
    new_bundle = train(tmp_path / "on", task, **options)
    assert new_bundle.config["training"]["context"]["sha256"] == encoder.sha256
    assert "zebra" in new_bundle.vocabulary.words
    assert "zebra" not in bundle.vocabulary.words
    ours, theirs = (source.network.get_layer("context").get_weights() for source in (new_bundle, bundle))
    assert all(map(np.array_equal, ours, theirs))
    matrix = new_bundle.network.get_layer("context_embedding").get_matrix()
    np.testing.assert_array_equal(matrix[2:], encoder.word_vectors(new_bundle.vocabulary.words))
    mixture = [source.network.get_layer("context_mixture").get_weights()[0] for source in (new_bundle, bundle)]
    assert np.abs(mixture[0] - mixture[1]).max() < 0.2 * np.abs(mixture[1]).max() + 0.1  # it went on
    alien = language_model(seed=8)
    alien.save(tmp_path / "alien")
    with pytest.raises(ValueError, match=r"has the context of encoder .* received alien .* Leave context out"):
        train(tmp_path / "no", task, **{**options, "context": str(tmp_path / "alien")})


def _renamed(split, word, part):
    """Put a new word into every text."""
    if hasattr(split, "texts"):
        return dataclasses.replace(split, texts=[f"{word} {text} {part}" for text in split.texts])
    tokens = [[word, *row[1:]] for row in split.tokens]
    return dataclasses.replace(split, tokens=tokens)


@pytest.mark.slow
def test_new_words_of_a_model_whose_encoder_is_not_here_get_the_unknown_words_vector(trained, tmp_path):
    task, encoder, _, _, run = trained
    corpus = small_demo(task)
    parts = {part: _renamed(getattr(corpus, part), "zebra", part) for part in ("train", "dev", "test")}
    options = {"dataset": dataclasses.replace(corpus, **parts), "init_from": str(run), "force_overlap": True}
    with pytest.warns(UserWarning, match="encoder is not installed: .* new to the model get the context vector of unk"):
        new_bundle = train(tmp_path / "on", task, **options, epochs=1)
    matrix = new_bundle.network.get_layer("context_embedding").get_matrix()
    place = new_bundle.vocabulary.words.index("zebra") + 2
    np.testing.assert_array_equal(matrix[place], encoder.vectors[encoder.words.index("<unk>")])


@pytest.mark.slow
def test_context_is_refused_where_it_has_no_place(tmp_path):
    model = language_model()
    model.save(tmp_path / "lm")
    with pytest.raises(ValueError, match="context is not an option for language_model"):
        train(tmp_path / "run", "language_model", context=str(tmp_path / "lm"))
    with pytest.raises(ValueError, match="context_units is derived from the data"):
        train(tmp_path / "run", context_units=4)
    plain = train(tmp_path / "plain", epochs=1)
    with pytest.raises(ValueError, match=r"init_from goes on from a model without context"):
        train(tmp_path / "on", init_from=str(tmp_path / "plain"), context=str(tmp_path / "lm"), force_overlap=True)
    assert plain.config["arguments"]["context_units"] == 0
    with pytest.raises(zoo.BundleError, match="is a bilstm for classification, not a text encoder"):
        train(tmp_path / "other", context=str(tmp_path / "plain"))


@pytest.mark.slow
def test_texts_that_the_encoder_has_read_are_counted_and_told(tmp_path):
    corpus = small_demo()
    model = language_model()
    rows = list(zoo.tasks.find("classification").job_class.token_rows(corpus.test))
    model.train_texts = text_hashes.hash_texts(rows)
    model.save(tmp_path / "lm")
    with pytest.warns(UserWarning, match=r"trained on .* of the test texts, without labels"):
        new_bundle = train(tmp_path / "run", context=str(tmp_path / "lm"), epochs=1)
    assert new_bundle.config["training"]["context"]["overlap"]["test"] > 10
    assert "test texts were among its own" in (tmp_path / "run" / "README.md").read_text()


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Word tables of two lengths, which know the demo's words."""
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    words = words_of("classification")
    return [write_table(tmp_path / "presets", f"tiny_{dim}d", words=words, dim=dim) for dim in (7, 5)]


@pytest.mark.slow
def test_word_vectors_of_two_lengths_are_shared_with_two_tables(tables, tmp_path):
    from dense_lstm_zoo_runtime import Predictor

    own, encoder_table = tables
    text_encoder("classification", tmp_path / "encoder", encoder_table, embedding_dim=5)
    fixed = {"vectors": own.name, "trainable_embeddings": False}
    new_bundle = train(tmp_path / "run", **fixed, context=str(tmp_path / "encoder"), epochs=1)
    unshared, shared = new_bundle.save(tmp_path / "whole"), new_bundle.save(tmp_path / "shared", shared_words=True)
    claims = json.loads((shared / "config.json").read_text())["shared_words"]
    by_array = [array.get("table", claims["table"]) for array in claims["arrays"]]
    assert sorted(by_array) == sorted([encoder_table.name, *[own.name] * (len(by_array) - 1)])
    assert len(by_array) > 1
    assert (shared / "model.weights.h5").stat().st_size < (unshared / "model.weights.h5").stat().st_size
    assert same_weights(zoo.load(shared), new_bundle)
    onnx = new_bundle.export(tmp_path / "onnx", format="onnx", shared_words=True)
    answers = Predictor(onnx).predict(TEXTS)
    same_answers([(answer.label, list(answer.probabilities.values())) for answer in answers], predicted(new_bundle))


@pytest.mark.slow
def test_an_encoder_over_the_models_own_fixed_vectors_has_no_second_table(tables, tmp_path):
    _, encoder_table = tables
    text_encoder("classification", tmp_path / "encoder", encoder_table, embedding_dim=5)
    new_bundle = train(
        tmp_path / "run",
        vectors=encoder_table.name,
        embedding_dim=5,
        trainable_embeddings=False,
        context=str(tmp_path / "encoder"),
        epochs=1,
    )
    assert new_bundle.config["arguments"]["context_dim"] == 0
    assert "context_embedding" not in [layer.name for layer in new_bundle.network.layers]
    same_answers(predicted(zoo.load(tmp_path / "run")), predicted(new_bundle), 1e-6)
