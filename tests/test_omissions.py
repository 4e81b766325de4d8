"""The contribution of each word to a label, in the runtime: the text is read again without the word."""

import numpy as np
import pytest

from dense_lstm_zoo_runtime import Predictor, omissions
from tests.bundle_harness import bundle

WORDS = ["the", "film", "was", "very", "good", "unheard"]


@pytest.fixture(scope="module", params=["unk", "drop"])
def predictor(request, tmp_path_factory):
    one = bundle("dc_bilstm", oov=request.param)
    return Predictor(one.export(tmp_path_factory.mktemp("exports") / "x", format="onnx"))


def log_odds(predictor, words, label):
    (answer,) = predictor.predict([" ".join(words)])
    share = answer.probabilities[label]
    return np.log(share) - np.log1p(-share)


def test_an_effect_is_the_difference_of_the_log_odds_without_the_word(predictor):
    explanation = predictor.explain(" ".join(WORDS))
    (answer,) = predictor.predict([" ".join(WORDS)])
    assert (explanation.text, explanation.label, explanation.tokens) == (answer.text, answer.label, WORDS)
    assert explanation.probabilities == pytest.approx(answer.probabilities, abs=1e-6)
    assert explanation.probability == explanation.probabilities[explanation.label]
    whole = log_odds(predictor, WORDS, explanation.label)
    without = [log_odds(predictor, WORDS[:i] + WORDS[i + 1 :], explanation.label) for i in range(len(WORDS))]
    assert explanation.effects == pytest.approx([whole - one for one in without], abs=1e-4)
    assert max(map(abs, explanation.effects)) > 1e-3
    assert explanation.in_vocabulary == [True] * 5 + [False]
    assert explanation.group == 1


def test_odd_texts_have_explanations(predictor):
    assert predictor.explain("").effects == []
    assert predictor.explain(" \n ").tokens == []
    assert len(predictor.explain("film").effects) == 1
    assert predictor.explain("\ud800 good").in_vocabulary[-1]


@pytest.mark.parametrize("text", [None, 3, ["good"], float("nan"), b"good"])
def test_what_is_not_a_text_is_refused(predictor, text):
    with pytest.raises(TypeError, match="The text must be a string; received"):
        predictor.explain(text)


def test_only_classifiers_explain(tmp_path):
    tagger = Predictor(bundle("bilstm_tagger").export(tmp_path / "x", format="onnx"))
    with pytest.raises(ValueError, match="explain is for classification models"):
        tagger.explain("good")


def test_a_long_text_leaves_out_neighbours_together_in_short_steps(predictor):
    words = (WORDS * 60)[:300]
    steps = list(predictor.explain_steps(" ".join(words)))
    explanation = steps[-1]
    assert (steps.count(None), len(explanation.effects)) == (len(steps) - 1, 300)
    group = explanation.group
    assert group == omissions.group_size(300) == 6
    whole = log_odds(predictor, words, explanation.label)
    last = log_odds(predictor, words[: 300 - group], explanation.label)
    assert explanation.effects[-group:] == pytest.approx([whole - last] * group, abs=1e-4)


@pytest.mark.parametrize("tokens", [1, 7, 127, 128, 129, 500, 3000, 10_000, 1_000_000])
def test_no_text_costs_more_than_the_bound(tokens):
    variants = -(-tokens // omissions.group_size(tokens))
    assert variants <= 128
    assert variants * tokens <= (1 << 14) + tokens
    assert 1 <= omissions.variants_per_step(tokens) <= 8
    assert omissions.variants_per_step(tokens) * tokens <= max(1024, tokens)


def test_log_odds_are_those_of_the_softmax_and_survive_certainty():
    logits = np.array([[0.3, -1.2, 2.0], [0.1, 0.5, 0.2]], np.float32)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = np.log(shares[:, 2] / (1 - shares[:, 2]))
    assert omissions.effects(logits[:1], logits[1:], 2) == pytest.approx([expected[0] - expected[1]], abs=1e-5)
    assert omissions.effects(np.array([[0.0, 500.0]]), np.array([[0.0, 400.0]]), 1) == [100.0]
    assert omissions.effects(np.array([[5.0]]), np.array([[4.0]]), 0) == [0.0]  # a model of one label
