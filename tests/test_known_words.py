"""The number of words of a text that a classifier knows: in bundles, in the light runtime, on the command line."""

import numpy as np
import pytest

from dense_lstm_zoo.cli import main
from dense_lstm_zoo_runtime import Predictor
from dense_lstm_zoo_runtime.decisions import Decisions
from tests.bundle_harness import WORDS, bundle, with_random_weights

TEXTS = {
    "The film was good": 4,
    "good GOOD qwer": 2,
    "asdf qwer": 0,
    "\u6620\u753b\u306f\u826f\u304b\u3063\u305f": 0,
    "": 0,
}


@pytest.fixture(scope="module", params=["unk", "drop", "characters"])
def classifier(request, tmp_path_factory):
    """A bundle, and the folder of its export."""
    options = {"oov": "drop"} if request.param == "drop" else {}
    options |= {"char_filters": 4, "char_dim": 3} if request.param == "characters" else {}
    untrained = bundle("bilstm", kernel="native", **options)
    return untrained, untrained.export(tmp_path_factory.mktemp("export") / "model", format="onnx")


def test_the_words_that_are_known_are_counted(classifier):
    untrained, export = classifier
    for model in (untrained, Predictor(export)):
        assert {p.text: p.known_words for p in model.predict(list(TEXTS))} == TEXTS


def test_a_text_without_a_known_word_is_not_answered_with_confidence(classifier, tmp_path):
    model = with_random_weights(classifier[0], scale=3.0)
    exported = Predictor(model.export(tmp_path / "export", format="onnx"))
    for engine in (model, exported):
        for p in engine.predict(list(TEXTS)):
            assert p.label == max(p.probabilities, key=p.probabilities.get)
            is_even = p.probability == pytest.approx(1 / 3, abs=1e-3)
            assert is_even == (p.known_words == 0 and not model.vocabulary.chars)  # whose words say something
        is_even = engine.explain("asdf qwer").probability == pytest.approx(1 / 3, abs=1e-3)
        assert is_even != bool(model.vocabulary.chars)
    shares = np.array([list(p.probabilities.values()) for p in exported.predict(list(TEXTS))])
    np.testing.assert_allclose(model.probabilities(list(TEXTS)), shares, atol=1e-5)


def test_of_several_labels_the_probabilities_stay():
    decisions = Decisions(["food", "staff"], is_several=True)
    shares = np.array([[0.9, 0.1]])
    assert decisions.evened(shares, [0]) is shares


def test_only_words_that_are_read_are_counted():
    untrained = bundle("bilstm", kernel="native")
    untrained.vocabulary = type(untrained.vocabulary)(WORDS, max_tokens=2)
    assert [p.known_words for p in untrained.predict(["good good good", "qwer qwer good"])] == [2, 0]


@pytest.mark.parametrize(("texts", "line"), [(TEXTS, "3 of 5 texts: the model knows none"), (["good"], "")])
def test_the_command_says_how_many_texts_have_none(classifier, capsys, texts, line):
    assert main(["predict", str(classifier[1]), *texts]) == 0
    answers, notes = capsys.readouterr()
    assert len(answers.splitlines()) == len(texts)
    assert ("so their labels are guesses.\n" in notes) == bool(line)
    assert line in notes
