"""The runtime's predictor answers as the bundle does that it was exported from, for every registered model."""

import dataclasses

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
import dense_lstm_zoo_runtime as runtime
from dense_lstm_zoo.classification.bundle import Prediction
from dense_lstm_zoo.language.bundle import Continuation, Score
from dense_lstm_zoo.tagging.bundle import TaggedSentence
from dense_lstm_zoo_runtime import Predictor
from tests import bundle_harness
from tests.bundle_harness import WORDS, bundle
from tests.preset_harness import TABLE, with_vectors, write_table
from tests.slow_cases import slow_but

CLASSIFIERS, TAGGERS, LANGUAGE_MODELS = (
    zoo.list_models(task=task) for task in ("classification", "tagging", "language_model")
)
ODD = ["The film was n't good", "", "It's a “very” LONG café… ½ 😀", "\ud800 x", "a\u200db", "?", b"caf\xe9 good"]


def words(count: int) -> str:
    drawn_words = np.random.default_rng(count).choice([*WORDS, "zzz", "Café", "DON'T", "1984"], count)
    return " ".join(drawn_words)


# Lengths around a window of a language model and a batch, then a very long one.
TEXTS = [*ODD, *(words(count) for count in (1, 2, 7, 31, 32, 33, 64, 65))]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A bundle and a predictor over its export, made once per model."""
    folder, exports = tmp_path_factory.mktemp("exports"), {}

    def _exported(name, **arguments):
        key = f"{name}{len(exports)}"
        if (name, str(arguments)) not in exports:
            keras.utils.set_random_seed(1)
            new_bundle = bundle(name, **arguments)
            exports[name, str(arguments)] = new_bundle, Predictor(new_bundle.export(folder / key, format="onnx"))
        return exports[name, str(arguments)]

    return _exported


def compare_labels(bundle_of_export, predictor, texts):
    expected, actual = bundle_of_export.predict(texts), predictor.predict(texts)
    for a, b in zip(expected, actual, strict=True):
        assert (a.text, a.label) == (b.text, b.label)
        assert b.probability == pytest.approx(a.probability, abs=1e-5)
        assert b.probabilities == pytest.approx(a.probabilities, abs=1e-5)


def compare_tags(bundle_of_export, predictor, sentences):
    for a, b in zip(bundle_of_export.predict(sentences), predictor.predict(sentences), strict=True):
        assert (a.tokens, a.tags) == (b.tokens, b.tags)
        assert b.probabilities == pytest.approx(a.probabilities, abs=1e-5)


def compare_scores(bundle_of_export, predictor, texts):
    for a, b in zip(bundle_of_export.score(texts), predictor.score(texts), strict=True):
        assert (a.text, a.tokens, a.unknown_words) == (b.text, b.tokens, b.unknown_words)
        assert b.log_probability == pytest.approx(a.log_probability, abs=1e-5 * a.tokens)
        assert b.perplexity == pytest.approx(a.perplexity, rel=1e-4)


QUICK = ("dc_bilstm", "gated_skip_tagger", "dense_lstm_lm")  # the graphs of all are compared with their models
COMPARE = {"classification": compare_labels, "tagging": compare_tags, "language_model": compare_scores}


@pytest.mark.parametrize("name", slow_but(QUICK, zoo.list_models()))
def test_every_model_answers_as_its_bundle_does(name, exported):
    bundle_of_export, predictor = exported(name)
    COMPARE[predictor.task](bundle_of_export, predictor, TEXTS)
    assert (predictor.task, predictor.model) == (bundle_of_export.config["task"], name)
    assert predictor.labels == bundle_of_export.labels


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.list_models())
def test_every_model_answers_for_10000_words_as_its_bundle_does(name, exported):
    bundle_of_export, predictor = exported(name)
    COMPARE[predictor.task](bundle_of_export, predictor, [words(10_000), "good"])


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.list_models())
def test_every_model_answers_for_the_demo_corpus_as_its_bundle_does(name, exported):
    bundle_of_export, predictor = exported(name)
    test = zoo.load_corpus("demo", task=predictor.task).test
    lines = {"classification": lambda: test.texts, "tagging": lambda: test.tokens, "language_model": lambda: list(test)}
    COMPARE[predictor.task](bundle_of_export, predictor, lines[predictor.task]()[:200])


@pytest.mark.parametrize(
    "arguments",
    slow_but(
        [{"oov": "drop", "char_filters": 4}], [{"char_filters": 4}, {"oov": "drop"}, {"oov": "drop", "char_filters": 4}]
    ),
    ids=str,
)
def test_characters_and_dropped_words_are_read_as_the_bundle_reads_them(arguments, exported):
    compare_labels(*exported("bilstm", **arguments), TEXTS)


@pytest.mark.parametrize(
    "arguments",
    slow_but(
        [{"crf": True}, {"case": "four_way"}],
        [{"crf": True}, {"case": "four_way"}, {"case": None}, {"char_filters": 4}],
    ),
    ids=str,
)
def test_a_tagger_with_other_options_tags_as_its_bundle_does(arguments, exported):
    compare_tags(*exported("bilstm_tagger", **arguments), [*TEXTS, ["The", "FILM", "a\nb", "\ud800"], [], ["good"]])


def test_a_calibrated_classifier_keeps_its_temperature(tmp_path):
    new_bundle = bundle("bilstm")
    new_bundle.metrics["temperature"] = 3.0
    compare_labels(new_bundle, Predictor(new_bundle.export(tmp_path / "export", format="onnx")), TEXTS)


def test_vectors_of_texts_are_those_of_the_bundle(exported):
    bundle_of_export, predictor = exported("dc_bilstm")
    np.testing.assert_allclose(predictor.embed(TEXTS), bundle_of_export.embed(TEXTS), atol=1e-6)
    assert predictor.embed([]).shape == bundle_of_export.embed([]).shape


def test_a_language_model_continues_a_prompt_with_the_same_words(exported):
    bundle_of_export, predictor = exported("dense_lstm_lm")
    for options in ({}, {"temperature": 0}, {"top_k": 3, "stop_at_line_end": False}, {"allow_unknown": True}):
        a, b = (model.generate(words(40), 30, seed=5, **options) for model in (bundle_of_export, predictor))
        assert (b.prompt, b.text) == (a.prompt, a.text)
        assert b.log_probability == pytest.approx(a.log_probability, abs=1e-4)
    expected, actual = bundle_of_export.next_words("the film", 5), predictor.next_words("the film", 5)
    assert [word for word, _ in actual] == [word for word, _ in expected]
    assert [share for _, share in actual] == pytest.approx([share for _, share in expected], abs=1e-6)


@pytest.mark.parametrize("name", slow_but(["bilstm_tagger"], ["bilstm", "bilstm_tagger"]))
def test_a_model_that_knows_no_words_answers_as_its_bundle_does(name, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle_harness, "WORDS", ())
    monkeypatch.setattr(bundle_harness, "FROZEN", 0)
    wordless = bundle(name, num_frozen_words=0)
    predictor = Predictor(wordless.export(tmp_path / "onnx", format="onnx"))
    assert (tmp_path / "onnx" / "vocabulary.txt").read_bytes() == b""
    COMPARE[predictor.task](wordless, predictor, TEXTS)


@pytest.mark.parametrize("name", ["bilstm", "cnn_mc", "bilstm_tagger"])
def test_words_of_a_shared_table_are_looked_up_in_it(name, tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    new_bundle = with_vectors(write_table(tmp_path / "presets"), name)
    predictor = Predictor(new_bundle.export(tmp_path / "export", format="onnx", shared_words=True))
    assert predictor.config["shared_words"]["table"] == TABLE
    COMPARE[predictor.task](new_bundle, predictor, TEXTS)


def test_a_stream_is_answered_as_it_comes(exported):
    predictor = exported("bilstm")[1]
    endless = iter(lambda: "good film", None)
    stream = predictor.predict_stream(endless)
    assert next(stream) == next(stream)


def test_no_texts_have_no_answers(exported):
    for name in ("bilstm", "bilstm_tagger", "stacked_lstm_lm"):
        assert exported(name)[1].predict([]) == []


@pytest.mark.parametrize("wrong", ["one text", ["good", None], {"text": ["good"]}, ["good", float("nan")], 3, [["a"]]])
@pytest.mark.parametrize("name", ["bilstm", "stacked_lstm_lm"])
def test_what_is_not_a_list_of_strings_is_refused_as_by_the_bundle(wrong, name, exported):
    bundle_of_export, predictor = exported(name)
    messages = []
    for ask in (
        bundle_of_export.predict if predictor.task == "classification" else bundle_of_export.score,
        predictor.predict,
    ):
        with pytest.raises(TypeError) as raised:
            ask(wrong)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("wrong", ["one text", ["good", None], [["good", 3]]])
def test_what_is_not_a_list_of_sentences_is_refused_as_by_the_bundle(wrong, exported):
    messages = []
    for model in exported("bilstm_tagger"):
        with pytest.raises(TypeError) as raised:
            model.predict(wrong)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_a_method_of_another_task_is_refused(exported):
    for name, ask in (("bilstm", "score"), ("bilstm_tagger", "embed"), ("bilstm", "probabilities")):
        with pytest.raises(ValueError, match=f"{ask} is for .* models; {name} is a .* model. Use predict."):
            getattr(exported(name)[1], ask)(["good"])


@pytest.mark.parametrize(
    "ours", [Prediction, TaggedSentence, Score, Continuation], ids=lambda answer_class: answer_class.__name__
)
def test_answers_have_the_fields_of_the_bundles(ours):
    theirs = getattr(runtime, ours.__name__)
    assert [(f.name, f.type) for f in dataclasses.fields(ours)] == [
        (f.name, f.type) for f in dataclasses.fields(theirs)
    ]


def test_the_versions_of_both_distributions_are_equal():
    assert runtime.__version__ == zoo.__version__
