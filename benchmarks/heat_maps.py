"""The paper's example sentences, word by word and layer by layer (Xie et al. 2019, Figures 6 and 7).

DC-Bi-LSTM with dynamic interaction is trained on SST-2, and on nine folds of CR; then it explains the sentences of
Table 4. Runs that are finished are kept. The shares go to results/heat_maps.csv, a picture each beside it. From the
repository's root:

    python -m benchmarks.heat_maps
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables, transfer
from dense_lstm_zoo.classification import pictures
from dense_lstm_zoo.classification.explain import Explanation
from tuning import protocols

RESULTS = tables.ROOT / "results" / "heat_maps.csv"
KEY = ["dataset", "place"]
RECIPE = "xie2019"
# Table 4, in the form of each corpus' texts.
SENTENCES = {
    "sst2": "a smart , sweet and playful romantic comedy .",
    "cr": "this phone is not suitable for fast people , maybe only for old people .",
}


def rows(dataset: str, trained: dict[str, Any], found: Explanation) -> Iterator[dict[str, Any]]:
    """Yield a row for each word: its saliency, and its least and greatest share of a layer, times the words.

    A word that a layer weighs as much as all others has the share 1.
    """
    words = len(found.tokens)
    for place, (token, saliency, shares) in enumerate(zip(found.tokens, found.saliency, found.shares, strict=True), 1):
        yield {
            **{"dataset": dataset, "place": place, "token": token, "label": found.label},
            **{"probability": round(found.probability, 3), "saliency": round(float(saliency), 3)},
            **{"share_min": round(words * float(shares.min()), 3), "share_max": round(words * float(shares.max()), 3)},
            "test_accuracy": round(100 * trained["metrics"]["test_accuracy"], 2),
            "recipe": RECIPE,
            "vectors": trained["config"]["training"]["vectors"] or "",
            "seed": 1,
            "versions": protocols.read_versions(trained["config"]),
            "command": f"python -m benchmarks.heat_maps --datasets {dataset}",
        }


def main() -> None:
    """Train, explain, and write the rows and the pictures."""
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    made.add_argument("--datasets", nargs="+", choices=[*SENTENCES], default=[*SENTENCES], help="default: sst2 cr")
    made.add_argument("--run-dir", default="runs/heat_maps", help="default: runs/heat_maps")
    given = made.parse_args()
    with protocols.plain_errors():
        for dataset in given.datasets:
            corpus = transfer.corpus_of(zoo.load_corpus(dataset, "classification"), None, seed=1)
            folder = Path(given.run_dir) / dataset
            trained = transfer.run("di_bilstm", corpus, folder, {"recipe": RECIPE, "seed": 1})
            bundle: Any = zoo.load(folder)
            found = bundle.explain(SENTENCES[dataset])
            tables.merge(RESULTS, list(rows(dataset, trained, found)), KEY)
            picture = RESULTS.with_name(f"heat_map_{dataset}.png")
            pictures.explanation(found, picture, SENTENCES[dataset])
            print(f"{picture.name}: {found.label} ({found.probability:.3f})", file=sys.stderr)


if __name__ == "__main__":
    main()
