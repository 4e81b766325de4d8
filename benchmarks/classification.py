"""Classifiers on corpora with a test set, by several seeds, or by the folds of a cross-validation (mr, subj, cr)."""

from __future__ import annotations

from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo.search import published
from tuning import ding2018_table1
from tuning.columns import Outcome
from tuning.command import main
from tuning.table import Row, Table

KEY = ("dataset", "model", "recipe", "settings", "vectors", "protocol")
# What Ding et al. 2018, Table 1, and Xie et al. 2019, Table 2, give for models that no recipe's `expected` is of.
PAPER = {
    **{name: ding2018_table1.PUBLISHED[f"{name}_ding2018"] for name in ("lstm", "bilstm")},
    "blstm_2dcnn": ding2018_table1.PUBLISHED["blstm_2dcnn_zhou2016"],
    "cnn_mc": {"cr": 85.0, **ding2018_table1.PUBLISHED["cnn_mc_kim2014"]},
    "di_bilstm": {"cr": 87.5, "mr": 83.1, "sst1_phrases": 51.0, "sst2_phrases": 89.9, "subj": 95.2, "trec": 96.5},
    "stacked_bilstm": {"sst1_phrases": 30.0},  # section 4.4: "deep stacked Bi-LSTM ... only about 30% accuracy"
}


def columns(outcome: Outcome) -> dict[str, Any]:
    """Return a row of results/classification.csv."""
    row, runs = outcome.row, outcome.result.runs
    recipe = zoo.get_recipe(row.recipe or "ding2018")
    paper = recipe.expected or zoo.get_recipe("ding2018").expected if row.model == "dc_bilstm" else PAPER.get(row.model)
    return {
        "dataset": outcome.dataset,
        "model": row.model,
        "recipe": row.recipe,
        "settings": outcome.all_settings,
        "vectors": outcome.vectors,
        "protocol": outcome.protocol,
        "accuracy_mean": outcome.mean("test_accuracy"),
        "accuracy_std": outcome.std("test_accuracy"),
        "accuracies": " ".join(f"{100 * accuracy:.1f}" for accuracy in runs["test_accuracy"]),
        "dev_accuracy_mean": outcome.mean("dev_accuracy"),
        "paper": published.figure(paper or {}, outcome.dataset),
        "encoder_parameters": runs["encoder_parameters"][0],
        **outcome.run_columns,
    }


# Model and recipe of each row, with the estimated minutes of a run.
ROWS = {
    ("bilstm", "ding2018"): 1.0,
    ("dc_bilstm", "ding2018"): 2.0,
    ("stacked_bilstm", "ding2018"): 4.0,
    ("bilstm", "fixed_vectors"): 2.5,
    ("dc_bilstm", "fixed_vectors"): 4.0,
    ("di_bilstm", "xie2019"): 8.0,
    ("cnn_mc", "kim2014"): 3.0,
    ("blstm_2dcnn", "zhou2016"): 7.0,
}

TABLE = Table(
    name="classification",
    title="How good are the classifiers, and is DC-Bi-LSTM better than a Bi-LSTM of equal size?",
    dataset="trec",
    minutes={"_".join(row): minutes for row, minutes in ROWS.items()},
    texts=5452,
    rows={f"{model}_{recipe}": Row(model, recipe) for model, recipe in ROWS},
    seeds=1,
    columns=columns,
    key=KEY,
    choices={"models": "model", "recipe": "recipe"},
)

if __name__ == "__main__":
    main(TABLE)
