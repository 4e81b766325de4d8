"""Train taggers on a corpus with several seeds and write their scores to results/tagging.csv.

Every run is a bundle under --run-dir: an interrupted benchmark goes on after its last epoch. The epoch is chosen on the
dev sentences; the test sentences are scored once a run.

examples:
  python -m benchmarks.tagging --dataset ewt_upos --models gated_skip_tagger --seeds 3 --vectors imdb.300d.txt.gz
  python -m benchmarks.tagging --dataset conll2000 --models bilstm_tagger --set num_layers=1 crf=true
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import protocols, tables
from dense_lstm_zoo import plots

KEY = ["dataset", "model", "recipe", "settings", "vectors", "protocol"]
PICTURE = tables.ROOT / "results" / "tagging_depth.png"
MEASURES = ("accuracy", "f1")


@protocols.plain_errors()
def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tagging",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", default="ewt_upos", help="a corpus (default: ewt_upos)")
    parser.add_argument("--models", nargs="+", default=["gated_skip_tagger"], help="default: gated_skip_tagger")
    protocols.add_options(parser)
    parser.add_argument("--recipe", help="a recipe (default: none)")
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument("--run-dir", default="runs/tagging", help="default: runs/tagging")
    options = parser.parse_args()
    vectors = protocols.vector_file(options.vectors)
    for model in options.models:
        zoo.describe(model)  # an unknown name fails before any training
    for model in options.models:
        name = "_".join([options.recipe or "none", *options.set]).replace("=", "_")
        result = zoo.run_protocol(
            model,
            options.dataset,
            Path(options.run_dir) / options.dataset / model / name,
            seeds=options.seeds,
            **({"recipe": options.recipe} if options.recipe else {}),
            **({"vectors": vectors} if vectors else {}),
            **protocols.parse_settings(options.set),
        )
        tables.merge(tables.TAGGING, [_row(model, options, result)], KEY)
        draw()
        tables.update_readme()


def _row(model: str, options: argparse.Namespace, result: zoo.ProtocolResult) -> dict[str, Any]:
    runs = result.runs
    command = f"python -m benchmarks.tagging --dataset {options.dataset} --models {model}"
    command += f" --recipe {options.recipe}" if options.recipe else ""
    scores = {}
    for measure in MEASURES:
        found = 100 * runs[f"test_{measure}"] if f"test_{measure}" in runs else None
        scores[f"{measure}_mean"] = "" if found is None else round(found.mean(), 2)
        scores[f"{measure}_std"] = "" if found is None or len(runs) < 2 else round(found.std(), 2)
    return {
        "dataset": options.dataset,
        "model": model,
        "recipe": options.recipe or "",
        "settings": " ".join(options.set),
        "vectors": Path(options.vectors).name if options.vectors else "",
        "protocol": protocols.seeds(options.seeds),
        **scores,
        "scores": " ".join(f"{100 * score:.2f}" for score in runs["test_f1" if "test_f1" in runs else "test_accuracy"]),
        "dev_accuracy_mean": round(100 * runs["dev_accuracy"].mean(), 2),
        "encoder_parameters": runs["encoder_parameters"][0],
        "best_epochs": " ".join(map(str, runs["best_epoch"])),
        **protocols.how_it_ran(result, options, command),
    }


def draw() -> None:
    """Draw the accuracy against depth, of three rows or more that differ in nothing else."""
    points = []
    for row in pd.read_csv(tables.TAGGING, keep_default_na=False).itertuples():
        settings = {**zoo.describe(row.model).arguments, **protocols.parse_settings(row.settings.split())}
        others = [setting for setting in row.settings.split() if not setting.startswith("num_layers=")]
        depth, spread = settings.get("num_layers"), float(row.accuracy_std or "nan")
        plain = depth == 1 and row.model == "bilstm_tagger"  # one layer has no skips: both curves begin there
        for model in (row.model, "gated_skip_tagger") if plain else (row.model,):
            series = " ".join(filter(None, [row.dataset, model, row.recipe, *others]))
            points.append({"series": series, "depth": depth, "mean": row.accuracy_mean, "std": spread})
    scores = pd.DataFrame(points).dropna(subset="depth")
    scores = scores.groupby("series").filter(lambda rows: rows["depth"].nunique() > 2)
    if len(scores):
        plots.by_depth(scores, PICTURE, "test accuracy by depth", "accuracy, %")


if __name__ == "__main__":
    main()
