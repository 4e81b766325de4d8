"""Train classifiers on a corpus by its protocol and write their test accuracy to results/classification.csv.

Corpora with a test set take several seeds, the others (mr, subj, cr) the folds of a cross-validation. Every run is a
bundle under --run-dir, so an interrupted benchmark goes on where it was. The epoch is chosen on dev; the test texts
are scored once a run.

examples:
  python -m benchmarks.classification --dataset sst2 --seeds 3 --vectors imdb.300d.txt.gz
  python -m benchmarks.classification --dataset mr --folds 10 --vectors imdb.300d.txt.gz
  python -m benchmarks.classification --dataset subj --folds 10 --only-folds 1 2 3 --models dc_bilstm
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import protocols, tables
from dense_lstm_zoo.recipe import Recipe

KEY = ["dataset", "model", "recipe", "settings", "vectors", "protocol"]
# What Ding et al. 2018, Table 1, and Xie et al. 2019, Table 2, give for models that no recipe's `expected` is of.
PAPER = {
    "blstm_2dcnn": {"mr": 82.3, "sst1_phrases": 52.4, "sst2_phrases": 89.5, "subj": 94.0, "trec": 96.1},
    "cnn_mc": {"cr": 85.0, "mr": 81.1, "sst1_phrases": 47.4, "sst2_phrases": 88.1, "subj": 93.2, "trec": 92.2},
    "di_bilstm": {"cr": 87.5, "mr": 83.1, "sst1_phrases": 51.0, "sst2_phrases": 89.9, "subj": 95.2, "trec": 96.5},
    "bilstm": {"mr": 81.8, "sst1_phrases": 49.1, "sst2_phrases": 87.5, "subj": 93.0, "trec": 93.6},
    "stacked_bilstm": {"sst1_phrases": 30.0},  # section 4.4: "deep stacked Bi-LSTM ... only about 30% accuracy"
}


@protocols.plain_errors()
def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.classification",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", default="trec", help="a corpus (default: trec)")
    parser.add_argument("--models", nargs="+", default=["bilstm", "dc_bilstm"], help="default: bilstm dc_bilstm")
    protocols.add_options(parser)
    parser.add_argument("--folds", type=int, help="cross-validate with so many folds")
    parser.add_argument("--only-folds", type=int, nargs="+", metavar="FOLD", help="these folds only")
    parser.add_argument("--recipe", default="ding2018", help="default: ding2018")
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument("--run-dir", default="runs/classification", help="default: runs/classification")
    options = parser.parse_args()
    vectors = protocols.vector_file(options.vectors)
    for model in options.models:
        zoo.describe(model)  # an unknown name fails before any training
    recipe = "_".join([options.recipe, *options.set]).replace("=", "_")
    for model in options.models:
        run_dir = Path(options.run_dir) / options.dataset / recipe / model
        result = zoo.run_protocol(
            model,
            options.dataset,
            run_dir,
            seeds=options.seeds,
            folds=options.folds,
            only_folds=options.only_folds,
            recipe=options.recipe,
            **({"vectors": vectors} if vectors else {}),
            **protocols.parse_settings(options.set),
        )
        tables.merge(tables.CLASSIFICATION, [_row(model, options, result)], KEY)
        tables.update_readme()


def _row(model: str, options: argparse.Namespace, result: zoo.ProtocolResult) -> dict[str, Any]:
    runs, recipe = result.runs, zoo.get_recipe(options.recipe)
    folds = f"folds {' '.join(map(str, options.only_folds))} of {options.folds}" if options.only_folds else ""
    folds = folds or (f"{options.folds} folds" if options.folds else "")
    command = f"python -m benchmarks.classification --dataset {options.dataset} --models {model}"
    command += f" --folds {options.folds}" if options.folds else ""
    command += f" --only-folds {' '.join(map(str, options.only_folds))}" if options.only_folds else ""
    return {
        "dataset": options.dataset,
        "model": model,
        "recipe": options.recipe,
        "settings": " ".join(options.set),
        "vectors": Path(options.vectors).name if options.vectors else "",
        "protocol": ", ".join(filter(None, [folds, protocols.seeds(options.seeds)])),
        "accuracy_mean": round(100 * result.mean, 2),
        "accuracy_std": "" if result.std is None else round(100 * result.std, 2),
        "accuracies": " ".join(f"{100 * accuracy:.1f}" for accuracy in runs["test_accuracy"]),
        "dev_accuracy_mean": round(100 * runs["dev_accuracy"].mean(), 2),
        "paper": protocols.published(_paper(model, recipe), options.dataset),
        "encoder_parameters": runs["encoder_parameters"][0],
        **protocols.how_it_ran(result, options, f"{command} --recipe {options.recipe}"),
    }


def _paper(model: str, recipe: Recipe) -> Mapping[str, float]:
    """Return the published accuracy by corpus of a model; of our own recipes, that of the model's own paper."""
    if model == "dc_bilstm":
        return recipe.expected or zoo.get_recipe("ding2018").expected
    return PAPER.get(model, {})


if __name__ == "__main__":
    main()
