"""Views of a notebook: cards, tables and shaded words, with every text escaped."""

import html.parser
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dense_lstm_zoo.display import notebook
from dense_lstm_zoo.display.notebook import Answers
from dense_lstm_zoo_runtime.answers import Prediction, Score, TaggedSentence
from dense_lstm_zoo_runtime.span_forms import Span
from tests.bundle_harness import bundle

EVIL = "<script>alert('x')</script> & \"q\" \x1b[31m"


class Page(html.parser.HTMLParser):
    """The tags and the text of a page, as a browser reads them. Every tag must be closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self._open = [], [], []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"style"}
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def page_of(output):
    page = Page(output._repr_html_() if not isinstance(output, str) else output)
    assert set(page.tags) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "span", "br", "small"}
    return page


@pytest.mark.parametrize(
    ("answer", "header", "cells"),
    [
        (Prediction(EVIL, "<b>", 0.75, {"<b>": 0.75, "c": 0.25}), ["text", "label", "probability"], ["<b>", "0.7500"]),
        (TaggedSentence([EVIL, "b"], ["<i>", "T"], [0.5, 0.5]), ["tokens with their tags"], ["<i>", "b", "T"]),
        (Score(EVIL, -2.5, 12.25, 3, 1), None, ["-2.5000", "12.25", "3", "1"]),
    ],
)
def test_answers_are_a_table_in_which_every_text_is_only_text(answer, header, cells):
    page = page_of(Answers([answer] * 2))
    assert page.tags.count("tr") == 3
    if header:
        assert page.text[: len(header)] == header
    for cell in ("<script>alert('x')</script> & \"q\" \\x1b[31m", *cells):
        assert page.text.count(cell) == 2


def test_a_sentence_with_spans_shows_them_marked_with_label_and_confidence():
    spans = [Span("<i>", EVIL, 3, 9, 0.5, 1, 3), Span("", "B", 10, 11, 0.25, 4, 5)]
    sentence = TaggedSentence(["in", "a", "b", "&", "B", "."], ["T"] * 6, [1.0] * 6, "", spans)
    page = page_of(Answers([sentence]))
    assert page.text == [
        "tokens with their spans",
        "in ",
        "<script>alert('x')</script> & \"q\" \\x1b[31m ",
        "<i> 0.5000",
        " & ",
        "B ",
        "0.2500",
        " .",
    ]
    assert "overflow-wrap:anywhere" in Answers([sentence])._repr_html_()
    assert page_of(Answers([TaggedSentence([], [], [], "", [])])).text == ["tokens with their spans"]
    other = TaggedSentence(["a"], ["T"], [1.0])
    assert page_of(Answers([other, sentence])).text[:3] == ["tokens with their tags", "a", "T"]


def test_answers_are_a_list_and_long_ones_are_cut():
    answers = Answers(Prediction("word " * 1000, str(i), 0.5, {}) for i in range(150))
    assert answers == list(answers)
    assert isinstance(answers, list)
    page = page_of(answers)
    assert page.tags.count("tr") == 101
    assert "50 more rows are not shown." in page.text
    assert max(map(len, page.text)) <= 300
    assert page_of(Answers()).tags.count("tr") == 1


@pytest.mark.slow
def test_predictions_of_every_task_are_answers():
    texts = ["the film was good", ""]
    for model, method in (("lstm", "predict"), ("bilstm_tagger", "predict"), ("stacked_lstm_lm", "score")):
        answers = getattr(bundle(model), method)(texts)
        assert isinstance(answers, Answers), model
        assert page_of(answers).tags.count("tr") == 3


def test_a_bundle_is_a_card_with_its_name_task_scores_and_sizes():
    new_bundle = bundle("lstm")
    new_bundle.labels = [EVIL, "no", "yes"]
    assert "none" in page_of(new_bundle).text
    new_bundle.metrics = {"test_accuracy": 0.9, "test_texts": 1200, "dev_accuracy": None}
    text = " ".join(page_of(new_bundle).text)
    assert text.startswith("lstm task classification trained on none test accuracy 0.9000 (1,200 texts) labels")
    assert "<script>" in text
    assert f"parameters {new_bundle.model.count_params():,}" in text
    assert "labels" not in page_of(bundle("stacked_lstm_lm")).text


def test_an_explanation_is_shaded_words_with_their_numbers():
    explanation = SimpleNamespace(
        label="<b>",
        probability=0.875,
        tokens=["good", EVIL, "bad", "odd"],
        saliency=np.array([0.5, 0.0, -0.25, np.nan]),
        layers=["layer 1"],
        shares=np.array([[0.5], [0.25], [0.25], [0.0]]),
    )
    markup = notebook.explanation(explanation)
    page = page_of(markup)
    assert page.text[:2] == ["<b>", " 0.8750"]
    for number in ("+0.500", "+0.000", "\N{MINUS SIGN}0.250", "0.50", "0.25"):
        assert number in page.text
    assert "<script>alert('x')</script> & \"q\" \\x1b[31m" in page.text
    strengths = [float(x) for x in re.findall(r"rgba\(\d+,\d+,\d+,([\d.]+)\)", markup)]
    assert strengths == [0.6, 0.3, 0.3, 0.15, 0.15]  # half and all of the largest saliency; the shares


@pytest.mark.slow
def test_a_classifier_s_explanation_shows_itself():
    explanation = bundle("di_bilstm").explain("the film was good")
    page = page_of(explanation)
    for word in (*explanation.tokens, *explanation.layers, "saliency"):
        assert word in page.text


@pytest.mark.slow
def test_models_complete_their_arguments_and_layers_are_reached_without_tensorflow_until_then():
    script = """
import inspect, sys
import dense_lstm_zoo as zoo
assert dir(zoo.models) == zoo.list_models()
assert {"layers", "models", "train"} <= set(dir(zoo))
function = zoo.models.dc_bilstm
parameters = inspect.signature(function).parameters
assert list(parameters)[:3] == ["vocab_size", "num_classes", "num_dense_layers"]
assert parameters["top_units"].default == 100
assert parameters["recipe"].default is None
assert "top_units: Width of one direction of the top layer (th)." in inspect.getdoc(function)
assert not {"tensorflow", "keras", "numpy"} & set(sys.modules)
assert zoo.layers.BiLSTM.__name__ == "BiLSTM"
assert "keras" in sys.modules
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_model_s_function_builds_what_build_does():
    import dense_lstm_zoo as zoo

    sizes = {"vocab_size": 9, "num_classes": 2, "units": 3, "embedding_dim": 4}
    model = zoo.models.bilstm(**sizes)
    assert model.count_params() == zoo.build("bilstm", **sizes).count_params()
    with pytest.raises(ValueError, match="Unknown argument of bilstm: 'unit'"):
        zoo.models.bilstm(unit=3)
    with pytest.raises(AttributeError, match=r"Unknown model 'bilstn'\. Did you mean 'bilstm'"):
        zoo.models.bilstn  # noqa: B018 - the error is what is wanted
    with pytest.raises(AttributeError, match="has no attribute 'layer'"):
        zoo.layer  # noqa: B018
