"""Compare settings of a recipe on dev texts and write results/recipe_search.csv; test texts are taken away first.

Each --try is a set of arguments of train that differ from the recipe's; without any the recipe itself is the only one.
Runs are bundles under --run-dir, so an interrupted search goes on where it was.

example:
  python -m benchmarks.recipe_search --dataset sst2 --model dc_bilstm --vectors imdb.300d.txt.gz --seeds 2 \\
      --try --try learning_rate=0.002 --try learning_rate=0.002 embedding_learning_rate=0.0005
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import dense_lstm_zoo as zoo
from benchmarks import tables
from benchmarks.protocols import parse_settings, plain_errors, read_versions, vector_file
from dense_lstm_zoo.classification.corpus import cross_validation_fold

RESULTS = tables.ROOT / "results" / "recipe_search.csv"
KEY = ["dataset", "model", "recipe", "settings", "vectors"]


@plain_errors()
def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recipe_search",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", default="sst2", help="a corpus; of one without test texts, fold 1's training part")
    parser.add_argument("--model", default="dc_bilstm", help="default: dc_bilstm")
    parser.add_argument("--recipe", default="ding2018", help="default: ding2018")
    parser.add_argument("--seeds", type=int, default=1, help="default: 1")
    parser.add_argument("--vectors", help="a file of word vectors: a path, or a name in the data's vectors folder")
    parser.add_argument("--try", dest="tries", nargs="*", action="append", metavar="NAME=VALUE", help="repeatable")
    parser.add_argument("--run-dir", default="runs/recipe_search", help="default: runs/recipe_search")
    options = parser.parse_args()
    vectors = vector_file(options.vectors)
    corpus = zoo.load_corpus(options.dataset)
    if corpus.test is None:
        corpus = cross_validation_fold(corpus, 1)
    corpus = dataclasses.replace(corpus, test=None)
    for settings in options.tries or [[]]:
        run_dir = Path(options.run_dir) / options.dataset / options.model / "_".join([options.recipe, *settings])
        result = zoo.run_protocol(
            options.model,
            corpus,
            run_dir,
            seeds=options.seeds,
            recipe=options.recipe,
            **({"vectors": vectors} if vectors else {}),
            **parse_settings(settings),
        )
        config = json.loads((run_dir / result.runs["run"][0] / "config.json").read_text(encoding="utf-8"))
        row = {
            "dataset": options.dataset,
            "model": options.model,
            "recipe": options.recipe,
            "settings": " ".join(settings),
            "vectors": vectors.name if vectors else "",
            "seeds": options.seeds,
            "dev_accuracy_mean": round(100 * result.mean, 2),
            "dev_accuracy_std": "" if result.std is None else round(100 * result.std, 2),
            "best_epochs": " ".join(map(str, result.runs["best_epoch"])),
            "epochs": " ".join(map(str, result.runs["epochs"])),
            "seconds_median": round(result.runs["seconds"].median(), 1),
            "versions": read_versions(config),
            "command": f"python -m benchmarks.recipe_search --dataset {options.dataset} --model {options.model} "
            f"--recipe {options.recipe} --seeds {options.seeds} --vectors {options.vectors} --try {' '.join(settings)}",
        }
        tables.merge(RESULTS, [row], KEY)


if __name__ == "__main__":
    main()
