"""The paper's example sentences, word by word and layer by layer (Xie et al. 2019, Figures 6 and 7).

DC-Bi-LSTM with dynamic interaction is trained on SST-2, and on nine folds of CR. Then it explains the sentences of
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


def rows(dataset: str, trained: dict[str, Any], explanation: Explanation) -> Iterator[dict[str, Any]]:
    """Yield a row for each word: its saliency, and its least and greatest share of a layer, times the words.

    A word that a layer weighs as much as all others has the share 1.
    """
    words = len(explanation.tokens)
    for place, (token, saliency, shares) in enumerate(
        zip(explanation.tokens, explanation.saliency, explanation.shares, strict=True), 1
    ):
        yield {
            **{"dataset": dataset, "place": place, "token": token, "label": explanation.label},
            **{"probability": round(explanation.probability, 3), "saliency": round(float(saliency), 3)},
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--datasets", nargs="+", choices=[*SENTENCES], default=[*SENTENCES], help="default: sst2 cr")
    parser.add_argument("--run-dir", default="runs/heat_maps", help="default: runs/heat_maps")
    options = parser.parse_args()
    with protocols.plain_errors():
        for dataset in options.datasets:
            corpus = transfer.corpus_of(zoo.load_corpus(dataset, "classification"), None, seed=1)
            folder = Path(options.run_dir) / dataset
            trained = transfer.run("di_bilstm", corpus, folder, {"recipe": RECIPE, "seed": 1})
            bundle: Any = zoo.load(folder)
            explanation = bundle.explain(SENTENCES[dataset])
            tables.merge(RESULTS, list(rows(dataset, trained, explanation)), KEY)
            picture = RESULTS.with_name(f"heat_map_{dataset}.png")
            pictures.explanation(explanation, picture, SENTENCES[dataset])
            print(f"{picture.name}: {explanation.label} ({explanation.probability:.3f})", file=sys.stderr)


if __name__ == "__main__":
    main()
