"""Rows compared seed by seed: poolings with the curves of real runs, taggers, differences with their intervals."""

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from benchmarks import classification_tables, dynamic_interaction, tables, tagging
from tests.training_harness import small_demo
from tuning import table_cells
from tuning.columns import Outcome, read_config

pytestmark = pytest.mark.usefixtures("real_pictures")

SMALL = {"units": 4, "num_layers": 2, "embedding_dim": 8, "char_filters": 0}


@pytest.mark.slow
def test_runs_become_a_row_and_a_curve_and_the_table_pairs_them_by_seed(tmp_path, monkeypatch):
    for name in ("DYNAMIC_INTERACTION", "CURVES", "PICTURE"):
        module = classification_tables if name == "DYNAMIC_INTERACTION" else dynamic_interaction
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    monkeypatch.setattr(dynamic_interaction, "draw", lambda: None)
    row = dynamic_interaction.TABLE.points["stack_position"]
    options = {"epochs": 2, "batch_size": 50, "progress": False, **SMALL, **row.settings}
    result = zoo.run_protocol(row.model, small_demo(), tmp_path / "runs", **options)
    outcome = Outcome(
        dynamic_interaction.TABLE, "stack_position", row, "demo", "", "", "seed 1", "c", result, read_config(result)
    )
    cells = dynamic_interaction.columns(outcome)
    assert (cells["model"], cells["encoder"], cells["pooling"]) == ("stacked_di_bilstm", "stack", "position")
    assert (cells["protocol"], cells["settings"]) == ("seed 1", "")
    columns = pd.read_csv(tables.README.parent / "dynamic_interaction.csv").columns.tolist()
    assert list(cells) == columns
    dynamic_interaction.add_curve(outcome)
    curve = pd.read_csv(dynamic_interaction.CURVES, keep_default_na=False)
    assert curve["batch"].tolist() == list(range(5, 5 * len(curve) + 1, 5))
    assert curve.columns.tolist() == [*dynamic_interaction.KEY, "batch", "dev_accuracy"]
    tables.merge(classification_tables.DYNAMIC_INTERACTION, [cells], list(dynamic_interaction.KEY))
    assert "+0" not in classification_tables.dynamic_interaction()  # nothing to compare with yet
    peers = [{**cells, "pooling": "mean", "accuracies": "50.00 51.00"}, {**cells, "accuracies": "51.00 53.00"}]
    tables.merge(classification_tables.DYNAMIC_INTERACTION, peers, list(dynamic_interaction.KEY))
    assert "+1.50 (-4.85 to 7.85)" in classification_tables.dynamic_interaction()


def test_classifiers_are_compared_with_the_bilstm_of_their_own_seeds_and_corpus(monkeypatch, tmp_path):
    rows = pd.read_csv(classification_tables.CLASSIFICATION_FIXED, dtype=str, keep_default_na=False)
    row = rows[rows["model"] == "bilstm"].iloc[0].to_dict() | {"dataset": "demo", "protocol": "seeds 1 2"}
    lstm = {**row, "model": "lstm", "accuracies": "51.00 54.00"}
    table_rows = [
        {**row, "accuracies": "50.00 52.00"},
        lstm,
        {**lstm, "protocol": "seed 1"},
        {**lstm, "dataset": "trec"},
    ]
    monkeypatch.setattr(classification_tables, "CLASSIFICATION_FIXED", tmp_path / "fixed.csv")
    pd.DataFrame(table_rows).to_csv(tmp_path / "fixed.csv", index=False)
    beside = [line.split(" | ")[6] for line in classification_tables.classification_fixed().splitlines()[2:6]]
    assert beside == ["", "+1.50 (-4.85 to 7.85)", "", ""]


def test_a_paired_difference_has_students_interval():
    # The sleep of ten patients under two drugs (Student 1908): 1.58 hours, 0.70 to 2.46.
    scores = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    cells = [" ".join(map(str, values)) for values in (two, scores)]
    assert table_cells.compared(*cells) == "+1.58 (0.70 to 2.46)"
    assert table_cells.compared("2.0", "1.0") == "+1.00"


def test_a_difference_over_folds_has_the_wider_interval_that_shared_training_texts_leave():
    scores = "88.0 87.0 89.0", "87.0 87.0 87.0"
    assert table_cells.compared(*scores, "seeds 1 2 3") == "+1.00 (-1.48 to 3.48)"
    # The variance of Nadeau and Bengio 2003: 1 / 3 + 1 / 9 of that of the differences, 1.
    half = 4.3027 * (1 / 3 + 1 / 9) ** 0.5
    assert table_cells.compared(*scores, "folds 1 2 3 of 10, seed 1") == f"+1.00 ({1 - half:.2f} to {1 + half:.2f})"
    assert [table_cells.folds_of(protocol) for protocol in ("10 folds, seed 1", "folds 2 of 10, seeds 1 2 3")] == [
        10,
        None,
    ]


def test_curves_are_drawn_a_panel_a_corpus_and_encoder(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(dynamic_interaction, "CURVES", tmp_path / "curves.csv")
    monkeypatch.setattr(dynamic_interaction, "PICTURE", tmp_path / "curves.png")
    pictures = []
    monkeypatch.setattr(dynamic_interaction.plots, "by_batch", lambda panels, *_: pictures.append(panels))
    shared = {"dataset": "trec", "settings": "", "batch": [5, 10], "dev_accuracy": [0.5, 0.6]}
    rows = [pd.DataFrame({**shared, "encoder": e, "pooling": p}) for e in ("stack", "dense") for p in ("mean", "dsa")]
    pd.concat(rows).to_csv(dynamic_interaction.CURVES, index=False)
    dynamic_interaction.draw()
    assert {panel: list(runs) for panel, runs in pictures[0].items()} == {
        "trec, stack": ["mean"],
        "trec, dense": ["mean"],
    }


def test_a_tagger_stands_beside_plain_bi_lstms_of_as_many_layers_and_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "TAGGING", tmp_path / "results.csv")
    shared = {"dataset": "demo", "recipe": "batched", "vectors": "", "protocol": "seeds 1 2", "command": "python"}
    shared |= dict.fromkeys(["accuracy_std", "f1_mean", "f1_std", "versions"], "")
    shared |= {"accuracy_mean": 90, "dev_accuracy_mean": 90, "encoder_parameters": 1000}
    shared |= {"best_epochs": 2, "epochs": 3, "patience": 1}
    runs = [
        ("bilstm_tagger", "units=64 num_layers=1", "90.00 91.00"),
        ("bilstm_tagger", "units=64 num_layers=7", "88.00 90.00"),
        ("gated_skip_tagger", "units=64 num_layers=7", "91.00 91.00"),
        ("gated_skip_tagger", "units=64 num_layers=7 skip=gates", "89.00 90.00"),
        ("rhn_tagger", "units=64 depth=3", "95.00 96.00"),
        ("gated_skip_tagger", "units=32 num_layers=7", "80.00 80.00"),
        ("gated_skip_tagger", "num_layers=1 skip=none units=512", "92.00 92.00"),
        ("gated_skip_tagger", "num_layers=7 skip=none units=512", "91.00 92.00"),
        ("gated_skip_tagger", "num_layers=7 skip=gated_outputs units=512", "93.00 94.00"),
    ]
    rows = [{**shared, "model": m, "settings": settings, "scores": scores} for m, settings, scores in runs]
    tables.merge(tables.TAGGING, rows, list(tagging.KEY))
    lines = [line for line in tables.tagging().splitlines() if "batched" in line]
    assert [[cell.split("(")[0].strip() for cell in line.split("|")[-3:-1]] for line in lines] == [
        ["", ""],
        ["", "-1.50"],
        ["+2.00", "+0.50"],
        ["+0.50", "-1.00"],
        ["", ""],
        ["", ""],
        ["", "-0.50"],
        ["+2.00", "+1.50"],
        ["", "+5.00"],
    ]
