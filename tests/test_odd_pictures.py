"""Figures with names from others and long texts: all are drawn as written, at a bounded size."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dense_lstm_zoo import tasks
from dense_lstm_zoo.classification import pictures
from dense_lstm_zoo.classification.analysis import analyse
from dense_lstm_zoo.classification.explain import Explanation
from dense_lstm_zoo.classification.report import markdown
from dense_lstm_zoo.display import plots
from dense_lstm_zoo.reports.base import write_evaluation
from dense_lstm_zoo.search import report
from dense_lstm_zoo.search.plan import Sweep
from dense_lstm_zoo.tagging import pictures as tagging_pictures
from dense_lstm_zoo.tagging.bundle import GateActivations

pytestmark = pytest.mark.usefixtures("drawn_figures")

pytest.importorskip("matplotlib")

ODD = ["$x", r"$\frac{", "$a$", "_hidden", "日本", "nul\0", "half \ud800"]


@pytest.fixture
def drawn_figures(monkeypatch):
    """The figures that were written, with the sizes of their pictures in pixels."""
    from matplotlib.figure import Figure

    figures = []
    save = Figure.savefig

    def record(self, *arguments, **options):
        save(self, *arguments, **options)
        figures.append(self)

    monkeypatch.setattr(Figure, "savefig", record)
    return figures


def words(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_labels_are_drawn_as_they_are_written(drawn_figures, tmp_path):
    probabilities = np.full((7, 7), 1 / 7)
    pictures.evaluation(analyse(list("abcdefg"), np.arange(7), probabilities, ODD), tmp_path / "a.png", "$title_")
    assert words(drawn_figures[0].axes[0]) == ["$x", r"$\frac{", "$a$", "_hidden", "日本", r"nul\x00", r"half \ud800"]
    assert drawn_figures[0].get_suptitle() == "$title_"


def test_runs_with_odd_names_are_all_in_the_legend(drawn_figures, tmp_path):
    curve = pd.DataFrame({"batch": [1, 2], "dev_accuracy": [0.5, 0.6]})
    plots.by_batch({"$x": {"_runs/a": curve, "b": curve}}, tmp_path / "a.png", "title")
    assert [text.get_text() for text in drawn_figures[0].axes[0].get_legend().get_texts()] == ["_runs/a", "b"]
    assert drawn_figures[0].axes[0].get_title() == "$x"


def test_perplexities_have_numbers_at_their_axis_and_no_mathematics(drawn_figures, tmp_path):
    history = pd.DataFrame({"epoch": [1, 2], "loss": 1.0, "val_loss": 1.0, "perplexity": [900.0, 90.0]})
    longer = history.assign(val_perplexity=[800.0, 80.0])
    plots.learning_curve(longer, tmp_path / "a.png", "title", "perplexity", higher_is_better=False)
    labels = words(drawn_figures[0].axes[1])
    assert "100" in labels
    assert not [label for label in labels if "$" in label]


def test_of_many_labels_those_that_are_confused_most_are_drawn(drawn_figures, tmp_path):
    gold = np.arange(40).repeat(5)
    probabilities = np.eye(40)[gold]
    for wrong, count in ((7, 5), (33, 4), (20, 3)):
        probabilities[np.flatnonzero(gold == wrong)[:count]] = np.eye(40)[11]
    evaluation = analyse(["x"] * 200, gold, probabilities, [f"label {i}" for i in range(40)])
    pictures.evaluation(evaluation, tmp_path / "a.png", "title")
    (axes, *_) = drawn_figures[0].axes
    names = words(axes)
    assert len(names) == 30
    assert {"label 7", "label 11", "label 33", "label 20"} <= set(names)
    assert names == sorted(names, key=lambda label: int(label.split()[1]))
    assert "the 30 of 40 confused most" in axes.get_title()
    shares = np.asarray(axes.images[0].get_array())
    assert shares[names.index("label 33"), names.index("label 11")] == pytest.approx(0.8)


def test_the_report_of_many_labels_names_their_confusions_from_cells_or_an_older_matrix():
    counts = np.zeros((120, 120), int)
    counts[3, 5], counts[8, 8], counts[1, 0] = 9, 50, 2
    gold, predicted = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0).T
    analysis = {"split": "test", **analyse(["x"] * 61, gold, np.eye(120)[predicted], [f"l{i}" for i in range(120)])}
    assert sorted(map(tuple, analysis["confusion_cells"])) == [(1, 0, 2), (3, 5, 9), (8, 8, 50)]
    older = {**analysis, "confusion": counts.tolist()}
    del older["confusion_cells"]
    for evaluation in (analysis, older):
        text = markdown(evaluation, "model")
        assert "| 9 | l3 | l5 |\n| 2 | l1 | l0 |\n\n" in text


def test_pictures_of_very_long_texts_show_their_beginning(drawn_figures, tmp_path):
    tokens = [f"$word{i}" for i in range(20_000)]
    gates = GateActivations(tokens, [1, 2], np.zeros((2, 2, 20_000)))
    tagging_pictures.gates(gates, tmp_path / "gates.png", "title")
    explanation = Explanation("text", "$x", 0.5, tokens, np.ones(20_000), ["layer 1"], np.ones((20_000, 1)))
    pictures.explanation(explanation, tmp_path / "explained.png", "title")
    for figure in drawn_figures:
        width, height = figure.get_size_inches() * 120
        assert width * height < 20_000_000
        assert words(figure.axes[0])[0] == "$word0"
        assert words(figure.axes[0])[-1] == "$word99 (and 19,900 more)"


def test_a_report_on_its_own_is_written_though_its_picture_fails(tmp_path, monkeypatch):
    def failing(*_):
        raise MemoryError

    monkeypatch.setattr(pictures, "evaluation", failing)
    evaluation = {"split": "test", **analyse(["a"], np.array([0]), np.array([[0.9, 0.1]]), ["x", "y"])}
    with pytest.warns(UserWarning, match=r"lacks report\.png \(MemoryError"):
        write_evaluation(tasks.find("classification"), evaluation, tmp_path, "model")
    assert [file.name for file in tmp_path.iterdir()] == ["report.md"]


def test_a_sweeps_page_is_made_though_its_picture_fails(monkeypatch):
    rows = {"trial": ["0000"], "status": ["completed"], "score": [0.5], "std": [None], "units": [4]}
    trials = pd.DataFrame({**rows, "encoder_parameters": [10], "parameters": [20]})
    options = {"space": {"units": [4]}, "tuner": "grid", "data": {}, "budget": None, "arguments": {}}
    sweep = Sweep("bilstm", "demo", epochs=1, seeds=(1,), folds=None, seed=1, **options)
    assert "<svg" in report.page(trials, sweep, {})

    def failing(*_, **__):
        raise RuntimeError("no font <b>\nat all")

    monkeypatch.setattr(sys.modules["matplotlib.figure"].Figure, "savefig", failing)
    page = report.page(trials, sweep, {})
    assert "<p>No picture: RuntimeError: no font &lt;b&gt; at all.</p>" in page
    assert "<td>0000</td>" in page


def test_the_readers_own_matplotlib_does_not_matter(drawn_figures, tmp_path):
    import matplotlib

    explanation = SimpleNamespace(tokens=["$a"], layers=[], saliency=np.ones(1), shares=None, label="$x")
    with matplotlib.rc_context({"text.usetex": True, "text.parse_math": True}):
        pictures.explanation(explanation, tmp_path / "a.png", "title")
        assert matplotlib.rcParams["text.usetex"]
        assert matplotlib.rcParams["text.parse_math"]
