"""Does routing help? Poolings over the same encoder, seed by seed, to results/dynamic_interaction.csv.

For each corpus, each encoder (`stack`: Bi-LSTMs of 4 x 100; `dense`: DC-Bi-LSTM, 14 x 13 and 100) and each pooling, the
same seeds are trained by the recipe `xie2019`: `mean` (the papers' baseline), `constant` (the projections of dynamic
interaction, all words weighed alike), `position` and `vector` (routed), `dsa` (dynamic self-attention). Differences are
between runs of the same seed. With `mean` and `position` dev is scored every few batches, from which
results/dynamic_interaction.png is drawn.

Every run is a bundle under --run-dir: an interrupted benchmark goes on after its last epoch. The epoch is chosen on
dev; the test texts are scored once a run.

examples:
  python -m benchmarks.dynamic_interaction --dataset sst2 --vectors imdb.300d.txt.gz
  python -m benchmarks.dynamic_interaction --dataset trec --poolings mean constant position --vectors imdb.300d.txt.gz
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import protocols, tables
from dense_lstm_zoo import checks, plots

KEY = ["dataset", "encoder", "pooling", "vectors", "protocol", "settings"]
CURVES = tables.ROOT / "results" / "dynamic_interaction_curves.csv"
PICTURE = tables.ROOT / "results" / "dynamic_interaction.png"
RECIPE = "xie2019"
# Model and arguments of a pooling over an encoder.
MODELS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    encoder: {
        "mean": (plain, {}),
        "constant": (routed, {"weights": "constant"}),
        "position": (routed, {}),
        "vector": (routed, {"mode": "vector"}),
        "dsa": (attended, {}),
    }
    for encoder, plain, routed, attended in (
        ("stack", "stacked_bilstm", "stacked_di_bilstm", "dsa_bilstm"),
        ("dense", "dc_bilstm", "di_bilstm", "dsa_dc_bilstm"),
    )
}
POOLINGS = tuple(MODELS["stack"])
# The poolings of the picture; only for it is dev scored every five batches, which takes time and changes no result.
DRAWN = ("mean", "position")


@protocols.plain_errors()
def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamic_interaction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", default="sst2", help="a corpus with a test set (default: sst2)")
    parser.add_argument("--encoders", nargs="+", default=list(MODELS), help=f"default: {' '.join(MODELS)}")
    parser.add_argument("--poolings", nargs="+", default=list(POOLINGS), help=f"default: {' '.join(POOLINGS)}")
    protocols.add_options(parser)
    parser.set_defaults(seeds=4)
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument("--run-dir", default="runs/dynamic_interaction", help="default: runs/dynamic_interaction")
    options = parser.parse_args()
    for encoder in options.encoders:
        checks.one_of("encoder", encoder, MODELS)
    for pooling in options.poolings:
        checks.one_of("pooling", pooling, POOLINGS)
    protocols.vector_file(options.vectors)  # a missing one fails before any training
    for encoder in options.encoders:
        for pooling in options.poolings:
            # XLA keeps what it compiled until its process ends: a process a model keeps memory flat.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
                row, curves = process.submit(train, encoder, pooling, options).result()
            tables.merge(tables.DYNAMIC_INTERACTION, [row], KEY)
            if curves:
                tables.merge(CURVES, curves, [*KEY, "batch"])
                draw()
            tables.update_readme()


def train(encoder: str, pooling: str, options: argparse.Namespace) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Train one model with all seeds; return its row and, for the picture, the first seed's dev accuracy by batch."""
    model, arguments = MODELS[encoder][pooling]
    vectors = protocols.vector_file(options.vectors)
    curve_every = {"dev_every": 5} if pooling in DRAWN else {}
    name = "_".join([pooling, *options.set]).replace("=", "_")
    result = zoo.run_protocol(
        model,
        options.dataset,
        Path(options.run_dir) / options.dataset / encoder / name,
        seeds=options.seeds,
        **{"recipe": RECIPE, **curve_every, **arguments, **protocols.parse_settings(options.set)},
        **({"vectors": vectors} if vectors else {}),
    )
    runs, command = result.runs, f"python -m benchmarks.dynamic_interaction --dataset {options.dataset}"
    row = {
        "dataset": options.dataset,
        "encoder": encoder,
        "pooling": pooling,
        "vectors": Path(options.vectors).name if options.vectors else "",
        "protocol": protocols.seeds(options.seeds),
        "settings": " ".join(options.set),
        "model": model,
        "accuracy_mean": round(100 * result.mean, 2),
        "accuracy_std": "" if result.std is None else round(100 * result.std, 2),
        "accuracies": " ".join(f"{100 * accuracy:.2f}" for accuracy in runs["test_accuracy"]),
        "dev_accuracy_mean": round(100 * runs["dev_accuracy"].mean(), 2),
        "encoder_parameters": runs["encoder_parameters"][0],
        "best_epochs": " ".join(map(str, runs["best_epoch"])),
        **protocols.how_it_ran(result, options, f"{command} --encoders {encoder} --poolings {pooling}"),
    }
    if pooling not in DRAWN:
        return row, []
    curve = pd.read_csv(result.run_dir / runs["run"][0] / "dev_curve.csv")
    named = {key: row[key] for key in KEY}
    return row, [{**named, "batch": p.batch, "dev_accuracy": round(p.dev_accuracy, 4)} for p in curve.itertuples()]


def draw() -> None:
    """Draw dev accuracy by batch, mean pooling beside dynamic interaction, a panel a corpus and encoder."""
    curves = pd.read_csv(CURVES, keep_default_na=False)
    curves = curves[curves["pooling"].isin(DRAWN) & (curves["settings"] == "")]
    panels = {
        f"{dataset}, {encoder}": {str(pooling): rows for pooling, rows in found.groupby("pooling")}
        for (dataset, encoder), found in curves.groupby(["dataset", "encoder"])
    }
    if panels:
        plots.by_batch(panels, PICTURE, "dev accuracy by batch, first seed")


if __name__ == "__main__":
    main()
