"""Train language models by their recipes and write perplexities to results/language_model.csv, learning curves beside.

Every run is a bundle under --run-dir: an interrupted benchmark goes on after its last epoch. The epoch is chosen on the
dev text; the test text is scored once a run.

examples:
  python -m benchmarks.language_model --recipes godin2017_dense_200x2_30_epochs godin2017_stacked_200x2_30_epochs
  python -m benchmarks.language_model --recipes godin2017_dense_200x2  # the paper's 100 epochs, over several calls
  python -m benchmarks.language_model --recipes godin2017_dense_200x2 --so-far  # how far they are: its learning curve
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import protocols, tables
from dense_lstm_zoo import plots

KEY = ["dataset", "recipe", "settings", "protocol"]
CURVES = tables.ROOT / "results" / "language_model_curves.csv"
PICTURE = tables.ROOT / "results" / "language_model.png"


@protocols.plain_errors()
def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.language_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--recipes", nargs="+", required=True, help="recipes of language models")
    parser.add_argument("--dataset", default="ptb", help="a corpus (default: ptb)")
    protocols.add_options(parser)
    parser.add_argument("--run-dir", default="runs/language_model", help="default: runs/language_model")
    parser.add_argument(
        "--so-far", action="store_true", help="train nothing: only write the curves of runs as they are"
    )
    options = parser.parse_args()
    models = {recipe: _model(recipe) for recipe in options.recipes}  # an unknown name fails before any training
    for recipe, model in models.items():
        name = "_".join([recipe, *options.set]).replace("=", "_")
        run_dir = Path(options.run_dir) / options.dataset / name
        values = [options.dataset, recipe, " ".join(options.set), protocols.seeds(options.seeds)]
        key = dict(zip(KEY, values, strict=True))
        if not options.so_far:
            settings = protocols.parse_settings(options.set)
            result = zoo.run_protocol(model, options.dataset, run_dir, seeds=options.seeds, recipe=recipe, **settings)
            tables.merge(tables.LANGUAGE_MODEL, [{**key, **_row(recipe, model, options, result)}], KEY)
        curves = [
            {**key, "run": run, "epoch": epoch, "dev_perplexity": perplexity}
            for run in (f"seed{seed + 1}" for seed in range(options.seeds))
            for epoch, perplexity in enumerate(_dev_perplexities(run_dir, run), start=1)
        ]
        if not curves:
            raise ValueError(f"{run_dir} holds no run that has ended an epoch")
        tables.merge(CURVES, curves, [*KEY, "run", "epoch"])
        draw()
        tables.update_readme()


def _dev_perplexities(run_dir: Path, run: str) -> list[float]:
    """Return those of a run's epochs, whether it has ended or not."""
    ended, unfinished = run_dir / run / "history.csv", run_dir / f"{run}.unfinished" / "state.json"
    if ended.is_file():
        return list(pd.read_csv(ended)["val_perplexity"])
    if unfinished.is_file():
        return [epoch["val_perplexity"] for epoch in json.loads(unfinished.read_text(encoding="utf-8"))["history"]]
    return []


def _model(recipe: str) -> str:
    models = list(zoo.get_recipe(recipe).models)
    if len(models) != 1 or models[0] not in zoo.list_models(task="language_model"):
        raise ValueError(f"{recipe} is no recipe of a language model")
    return models[0]


def _row(recipe: str, model: str, options: argparse.Namespace, result: zoo.ProtocolResult) -> dict[str, Any]:
    runs = result.runs
    command = f"python -m benchmarks.language_model --recipes {recipe}"
    command += f" --dataset {options.dataset}" if options.dataset != "ptb" else ""
    return {
        "model": model,
        "test_perplexity_mean": round(runs["test_perplexity"].mean(), 2),
        "test_perplexity_std": "" if result.std is None else round(result.std, 2),
        "dev_perplexity_mean": round(runs["dev_perplexity"].mean(), 2),
        "paper": zoo.get_recipe(recipe).expected.get(options.dataset, ""),
        "parameters": runs["parameters"][0],
        "best_epochs": " ".join(map(str, runs["best_epoch"])),
        **protocols.how_it_ran(result, options, command),
    }


def draw() -> None:
    """Draw the dev perplexity by epoch of every run in ``CURVES``."""
    curves = pd.read_csv(CURVES, keep_default_na=False)
    names = ["dataset", "recipe", "settings", "run"]
    curves["series"] = [" ".join(filter(None, row)) for row in curves[names].itertuples(index=False)]
    curves = curves.rename(columns={"dev_perplexity": "dev perplexity"})
    plots.by_epoch(curves, PICTURE, "perplexity of the dev text", "dev perplexity")


if __name__ == "__main__":
    main()
