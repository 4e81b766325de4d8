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
import json
import platform
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo.data.corpora import find_file

KEY = ["dataset", "model", "recipe", "settings", "vectors", "protocol"]
# What Ding et al. 2018, Table 1, gives for their baselines; a recipe's `expected` is the paper's own model's.
PAPER = {
    "bilstm": {"mr": 81.8, "sst1": 49.1, "sst2": 87.5, "subj": 93.0, "trec": 93.6},
    "stacked_bilstm": {"sst1": 30.0},  # section 4.4: "deep stacked Bi-LSTM ... only about 30% accuracy"
}


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.classification",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", default="trec", help="a corpus (default: trec)")
    parser.add_argument("--models", nargs="+", default=["bilstm", "dc_bilstm"], help="default: bilstm dc_bilstm")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 1 (default: 1)")
    parser.add_argument("--folds", type=int, help="cross-validate with so many folds")
    parser.add_argument("--only-folds", type=int, nargs="+", metavar="FOLD", help="these folds only")
    parser.add_argument("--recipe", default="ding2018", help="default: ding2018")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="arguments of train that differ from the recipe's"
    )
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument("--run-dir", default="runs/classification", help="default: runs/classification")
    options = parser.parse_args()
    vectors = vector_file(options.vectors)
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
            **parse_settings(options.set),
        )
        tables.merge(tables.CLASSIFICATION, [_row(model, options, result)], KEY)
        tables.update_readme()


def vector_file(name: str | None) -> Path | None:
    """Return the vectors that an argument names: a path, or a name in the data's vectors folder."""
    found = name and (find_file("vectors", name) or Path(name))
    if found and not found.is_file():
        raise SystemExit(f"error: there are no vectors {name}")
    return found or None


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """Return the arguments of ``train`` that NAME=VALUE words ask for; values as in JSON."""
    return {name: json.loads(value) for name, value in (setting.split("=", 1) for setting in settings)}


def read_versions(config: dict[str, Any]) -> str:
    """Return the versions that a bundle was made with, for a row."""
    return " ".join(f"{name}={version}" for name, version in config["versions"].items())


def _row(model: str, options: argparse.Namespace, result: zoo.ProtocolResult) -> dict[str, Any]:
    runs, recipe = result.runs, zoo.get_recipe(options.recipe)
    config = json.loads((result.run_dir / runs["run"][0] / "config.json").read_text(encoding="utf-8"))
    dataset = options.dataset.removesuffix("_phrases")
    seeds = f"seed{'s' if options.seeds > 1 else ''} {' '.join(map(str, range(1, options.seeds + 1)))}"
    folds = f"folds {' '.join(map(str, options.only_folds))} of {options.folds}" if options.only_folds else ""
    folds = folds or (f"{options.folds} folds" if options.folds else "")
    command = f"python -m benchmarks.classification --dataset {options.dataset} --models {model}"
    command += f" --seeds {options.seeds}" if options.seeds > 1 else ""
    command += f" --folds {options.folds}" if options.folds else ""
    command += f" --only-folds {' '.join(map(str, options.only_folds))}" if options.only_folds else ""
    command += f" --recipe {options.recipe}"
    command += f" --set {' '.join(options.set)}" if options.set else ""
    command += f" --vectors {Path(options.vectors).name}" if options.vectors else ""
    return {
        "dataset": options.dataset,
        "model": model,
        "recipe": options.recipe,
        "settings": " ".join(options.set),
        "vectors": Path(options.vectors).name if options.vectors else "",
        "protocol": ", ".join(filter(None, [folds, seeds])),
        "accuracy_mean": round(100 * result.mean, 2),
        "accuracy_std": "" if result.std is None else round(100 * result.std, 2),
        "accuracies": " ".join(f"{100 * accuracy:.1f}" for accuracy in runs["test_accuracy"]),
        "dev_accuracy_mean": round(100 * runs["dev_accuracy"].mean(), 2),
        "paper": (PAPER.get(model) or recipe.expected or zoo.get_recipe("ding2018").expected).get(dataset, ""),
        "encoder_parameters": runs["encoder_parameters"][0],
        "epochs": " ".join(map(str, runs["epochs"])),
        "patience": config["training"]["patience"],
        "seconds_median": round(runs["seconds"].median(), 1),
        "versions": read_versions(config),
        "processor": platform.processor() or platform.machine(),
        "command": command,
    }


if __name__ == "__main__":
    main()
