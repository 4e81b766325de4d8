"""Train classifiers on a corpus, several seeds each, and write their test accuracy to results/classification.csv.

Every run is a bundle under --run-dir, so an interrupted benchmark goes on where it was; each runs in a process of its
own. The test set is scored once a run, at the epoch with the best dev accuracy.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo.data.corpora import find_file

RESULTS = Path(__file__).parent.parent / "results" / "classification.csv"
KEY = ["dataset", "model", "recipe", "settings", "vectors"]


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classification", description=__doc__)
    parser.add_argument("--dataset", default="trec", help="a corpus (default: trec)")
    parser.add_argument("--models", nargs="+", default=["bilstm", "dc_bilstm"], help="default: bilstm dc_bilstm")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], help="default: 1 2 3")
    parser.add_argument("--recipe", default="ding2018", help="default: ding2018")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="model arguments that differ from the recipe's"
    )
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument("--run-dir", default="runs/classification", help="default: runs/classification")
    options = parser.parse_args()
    vectors = options.vectors and (find_file("vectors", options.vectors) or Path(options.vectors))
    if vectors and not vectors.is_file():
        parser.error(f"there are no vectors {options.vectors}")
    rows = []
    for model in options.models:
        zoo.describe(model)  # an unknown name fails before any training
        runs = []
        for seed in options.seeds:
            recipe = "_".join([options.recipe, *options.set]).replace("=", "_")
            run_dir = Path(options.run_dir) / options.dataset / recipe / model / f"seed{seed}"
            if not (run_dir / "manifest.json").is_file():
                _train(model, options, vectors, seed, run_dir)
            runs.append(_read(run_dir, seed, vectors))
        rows.append(_row(model, options, runs))
    tables.merge(RESULTS, rows, KEY)
    tables.update_readme()


def _train(model: str, options: argparse.Namespace, vectors: Path | None, seed: int, run_dir: Path) -> None:
    print(f"{model} on {options.dataset}, seed {seed}", flush=True)
    command = [sys.executable, "-m", "dense_lstm_zoo", "train", model, "--dataset", options.dataset]
    command += ["--recipe", options.recipe, "--seed", str(seed), "--run-dir", str(run_dir)]
    for name, value in (setting.split("=", 1) for setting in options.set):
        command += [f"--{name.replace('_', '-')}", value]
    subprocess.run([*command, *(["--vectors", str(vectors)] if vectors else [])], check=True)


def _read(run_dir: Path, seed: int, vectors: Path | None) -> dict[str, Any]:
    config, metrics = (json.loads((run_dir / name).read_text()) for name in ("config.json", "metrics.json"))
    trained = config["training"]
    if (trained["seed"], trained["vectors"]) != (seed, vectors.name if vectors else None):
        raise SystemExit(f"{run_dir} holds another run ({trained}); name another --run-dir.")
    return {**config, **metrics}


def _row(model: str, options: argparse.Namespace, runs: list[dict[str, Any]]) -> dict[str, Any]:
    accuracy = [100 * run["test_accuracy"] for run in runs]
    recipe = zoo.get_recipe(options.recipe)
    seeds = " ".join(map(str, options.seeds))
    command = (
        f"python -m benchmarks.classification --dataset {options.dataset} --models {model} --seeds {seeds} "
        f"--recipe {options.recipe}" + (f" --set {' '.join(options.set)}" if options.set else "")
    )
    return {
        "dataset": options.dataset,
        "model": model,
        "recipe": options.recipe,
        "settings": " ".join(options.set),
        "vectors": Path(options.vectors).name if options.vectors else "",
        "seeds": seeds,
        "accuracy_mean": round(statistics.mean(accuracy), 2),
        "accuracy_std": round(statistics.stdev(accuracy), 2) if len(accuracy) > 1 else "",
        "accuracies": " ".join(f"{a:.1f}" for a in accuracy),
        "dev_accuracy_mean": round(statistics.mean(100 * run["dev_accuracy"] for run in runs), 2),
        "paper": PAPER.get((model, options.dataset), recipe.expected.get(options.dataset, "")),
        "encoder_parameters": runs[0]["encoder_parameters"],
        "epochs": " ".join(str(run["epochs"]) for run in runs),
        "patience": recipe.patience,
        "seconds_median": round(statistics.median(run["seconds"] for run in runs), 1),
        "versions": " ".join(f"{name}={version}" for name, version in runs[0]["versions"].items()),
        "processor": platform.processor() or platform.machine(),
        "command": command + (f" --vectors {Path(options.vectors).name}" if options.vectors else ""),
    }


# What Ding et al. 2018, Table 1, gives for their baseline; a recipe's `expected` is the paper's own model's.
PAPER = {("bilstm", "mr"): 81.8, ("bilstm", "sst1"): 49.1, ("bilstm", "sst2"): 87.5}
PAPER |= {("bilstm", "subj"): 93.0, ("bilstm", "trec"): 93.6}

if __name__ == "__main__":
    main()
