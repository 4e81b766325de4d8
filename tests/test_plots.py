"""Figures of results: the right rows are drawn, and files are written whole."""

import json

import pandas as pd
import pytest

from benchmarks import language_model, tables, tagging
from dense_lstm_zoo.display import plots

pytestmark = pytest.mark.usefixtures("real_pictures")

pytest.importorskip("matplotlib")


def row(model: str, settings: str, mean: float, std: str = "", recipe: str = "batched") -> dict:
    return {
        **{"dataset": "ewt_upos", "model": model, "recipe": recipe, "settings": settings},
        **{"accuracy_mean": mean, "accuracy_std": std},
    }


def test_accuracy_is_drawn_by_depth_where_nothing_else_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "TAGGING", tmp_path / "tagging.csv")
    monkeypatch.setattr(tagging, "PICTURE", tmp_path / "depth.png")
    scores_of_pictures = []
    monkeypatch.setattr(plots, "by_depth", lambda scores, *_: scores_of_pictures.append(scores))
    single = [row("bilstm_tagger", "num_layers=1 units=64", 93.0), row("rhn_tagger", "units=64", 92.0)]
    pd.DataFrame(single).to_csv(tables.TAGGING, index=False)
    tagging.draw()
    assert scores_of_pictures == []
    # Seven layers are the gated tagger's default, one is the plain tagger; two depths are no curve.
    by_depth = (("num_layers=5 units=64", 94.2), ("units=64", 94.5))
    rows = [row("gated_skip_tagger", settings, mean, "0.1") for settings, mean in by_depth]
    two = [row("bilstm_tagger", f"num_layers={depth}", 95.0) for depth in (1, 7)]
    pd.DataFrame([*single, *rows, *two]).to_csv(tables.TAGGING, index=False)
    tagging.draw()
    (scores,) = scores_of_pictures
    assert scores["series"].unique().tolist() == ["ewt_upos gated_skip_tagger batched units=64"]
    assert scores["depth"].tolist() == [1, 5, 7]
    assert scores["mean"].iloc[0] == 93.0
    assert scores[["depth", "mean", "std"]].to_numpy().tolist()[1:] == [[5, 94.2, 0.1], [7, 94.5, 0.1]]


def test_curves_are_drawn_by_run_and_a_picture_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    curves = pd.DataFrame(
        {
            **{"dataset": "ptb", "recipe": ["a", "a", "b"], "settings": "", "run": "seed1", "epoch": [1, 2, 1]},
            "dev_perplexity": [200.0, 150.0, 180.0],
        }
    )
    monkeypatch.setattr(language_model, "CURVES", tmp_path / "curves.csv")
    monkeypatch.setattr(language_model, "PICTURE", tmp_path / "curves.png")
    curves.to_csv(language_model.CURVES, index=False)
    language_model.draw()
    assert language_model.PICTURE.read_bytes().startswith(b"\x89PNG")
    scores = pd.DataFrame({"series": "x", "depth": [1, 3], "mean": [90.0, 91.0], "std": [0.1, float("nan")]})
    path = tmp_path / "depth.svg"
    plots.by_depth(scores, path, "a title")
    before = path.read_bytes()
    assert before.startswith(b"<?xml")
    two = pd.concat([scores.assign(panel="sst1"), scores.assign(panel="sst2")])
    plots.by_depth(two, tmp_path / "panels.svg", "a title")
    drawn = (tmp_path / "panels.svg").read_text()
    assert all(drawn.count(f"<!-- {text} -->") == 1 for text in ("sst1", "sst2", "x"))  # one entry in the legend
    with pytest.raises(KeyError):
        plots.by_depth(scores.drop(columns="std"), path, "a title")
    assert path.read_bytes() == before


def test_a_run_without_a_single_score_is_drawn_without_a_best_epoch(tmp_path):
    nan = [float("nan")] * 2
    history = pd.DataFrame({"epoch": [1, 2], "loss": nan, "val_loss": nan, "accuracy": nan, "val_accuracy": nan})
    plots.learning_curve(history, tmp_path / "curve.png", "mine")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_learning_curves_are_written_of_runs_that_have_ended_and_of_those_that_have_not(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model, "CURVES", tmp_path / "curves.csv")
    monkeypatch.setattr(language_model, "PICTURE", tmp_path / "curves.png")
    monkeypatch.setattr(tables, "update_pages", lambda: None)
    recipe = "godin2017_dense_200x2_30_epochs"
    words = ["--recipes", recipe, "--seeds", "2", "--run-dir", str(tmp_path / "runs")]
    with pytest.raises(SystemExit, match=f"holds no run of {recipe}"):
        language_model.add_so_far(words)
    runs = tmp_path / "runs" / "ptb" / "trials" / "0000" / "runs"
    (runs / "seed1").mkdir(parents=True)
    (runs / "seed2.unfinished").mkdir()
    spec = {"model": "dense_lstm_lm", "dataset": "ptb", "data": {}, "values": {"row": recipe}, "arguments": {}}
    spec |= {"seeds": [1, 2], "folds": None, "pause_after": None}
    (runs.parent / "spec.json").write_text(json.dumps(spec))
    pd.DataFrame({"epoch": [1, 2], "val_perplexity": [200.0, 150.0]}).to_csv(
        runs / "seed1" / "history.csv", index=False
    )
    (runs / "seed2.unfinished" / "state.json").write_text('{"history": [{"val_perplexity": 210.0}]}')
    language_model.add_so_far(words)
    curves = pd.read_csv(language_model.CURVES, keep_default_na=False)
    assert curves[["run", "epoch", "dev_perplexity"]].values.tolist() == [
        ["seed1", 1, 200.0],
        ["seed1", 2, 150.0],
        ["seed2", 1, 210.0],
    ]
    assert set(curves["recipe"]) == {recipe}
    pd.DataFrame({"epoch": [1], "val_perplexity": [190.0]}).to_csv(runs / "seed1" / "history.csv", index=False)
    language_model.add_so_far(words)  # a shorter run leaves nothing of the longer one
    curves = pd.read_csv(language_model.CURVES)
    assert curves[["run", "epoch", "dev_perplexity"]].values.tolist() == [["seed1", 1, 190.0], ["seed2", 1, 210.0]]
    assert language_model.PICTURE.exists()


def test_a_long_title_is_broken_into_lines_that_fit_the_picture(tmp_path, monkeypatch):
    import matplotlib.figure

    titles = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "suptitle", lambda self, text, **_: titles.append((text, self.get_figwidth()))
    )
    with plots.picture(tmp_path / "picture.png", "a sentence of words that go on and on " * 3, 4.0, 2.0):
        pass
    ((title, width),) = titles
    assert title.count("\n") >= 2
    assert max(map(len, title.split("\n"))) <= 10 * width
