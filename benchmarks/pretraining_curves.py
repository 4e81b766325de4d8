"""A text encoder with few labels: from scratch, with its context, and fine-tuned, by labelled texts.

Texts are drawn and split as in ``benchmarks.transfer``. Where results/pretraining.csv has a start with the same seeds
and encoder, that is its row of all texts, with the batches of its recipe. Runs that are finished are kept. The rows are
in results/pretraining_curves.csv, the picture in results/pretraining_curves.png. From the repository's root:

    python -m benchmarks.pretraining_curves --datasets sst2 trec --sizes 100 500
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables, transfer
from dense_lstm_zoo.language.encoder import TextEncoder
from tuning import protocols
from tuning.result_files import read_rows

NAME = "pretraining_curves"
RESULTS = tables.ROOT / "results" / f"{NAME}.csv"
WHOLE = tables.ROOT / "results" / "pretraining.csv"
PICTURE = RESULTS.with_suffix(".png")
ALL = "all"
# Columns that results/pretraining.csv has under the same name.
_SAME = ("vectors", "model", "accuracy_mean", "accuracy_std", "accuracies", "dev_accuracy_mean", "best_epochs")
_SAME += ("seconds_median", "versions", "processor", "command")


def starts(model: str, encoder: str) -> dict[str, tuple[str, dict[str, Any], str]]:
    """Return the model, the arguments of ``train`` and the settings in words of each start, by its name."""
    fixed = {"recipe": "fixed_vectors", "batch_size": 50}
    words = "recipe=fixed_vectors batch_size=50"
    tuned = {"recipe": "fine_tuning", "init_from": encoder}
    return {
        "from scratch": (model, fixed, words),
        "context": (model, {**fixed, "context": encoder}, words),
        "fine-tuned": ("lm_classifier", tuned, "recipe=fine_tuning"),
    }


def row(encoder: TextEncoder, dataset: str, start: str, size: int | None, words: str, runs: Any) -> Mapping[str, Any]:
    """Return a row of results/pretraining_curves.csv."""
    cells = transfer.row(dataset, start, size, words, runs, f"benchmarks.{NAME}")
    return {**cells, "encoder": "" if start == "from scratch" else encoder.sha256[:12]}


def of_all_texts(encoder: TextEncoder, corpus: Any, start: str, model: str, seeds: int) -> dict[str, Any] | None:
    """Return the row of a start with all texts that results/pretraining.csv has, if it has one."""
    cells = {
        "dataset": corpus.name,
        "start": start.removeprefix("from "),
        "model": model,
        "settings": "",
        "encoder_sha256": "" if start == "from scratch" else encoder.sha256,
        "protocol": protocols.name(seeds),
    }
    rows = read_rows(WHOLE)
    rows = rows[(rows[list(cells)] == list(cells.values())).all(axis=1)]
    if rows.empty:
        return None
    row_of_all = rows.iloc[-1]
    return {
        "dataset": corpus.name,
        "start": start,
        "texts": ALL,
        "settings": f"recipe={row_of_all.recipe}",
        "train_texts": len(transfer.corpus_of(corpus, None, 1).train),
        "seeds": seeds,
        "encoder": cells["encoder_sha256"][:12],
        **row_of_all[[*_SAME]],
    }


def number(size: str) -> int:
    """Return a number of training texts. Any other word than one raises ``ValueError``."""
    if not size.isdecimal():
        raise ValueError(f"--sizes takes numbers of training texts, and {ALL!r}; received {size!r}.")
    return int(size)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--encoder", default="dense_lm_reviews", help="a text encoder (default: dense_lm_reviews)")
    options.add_argument("--model", default="dc_bilstm", help="from scratch and with context (default: dc_bilstm)")
    options.add_argument("--datasets", nargs="+", default=["sst2", "trec"], help="default: sst2 trec")
    options.add_argument("--sizes", nargs="+", default=["100", "500", "2000", ALL], help="default: 100 500 2000 all")
    options.add_argument("--seeds", type=int, default=3, help="default: 3")
    options.add_argument("--run-dir", default=f"runs/{NAME}", help=f"default: runs/{NAME}")
    return options


def main() -> None:
    """Run every corpus, size, start and seed, and write and draw the rows."""
    options = parser().parse_args()
    with protocols.plain_errors():
        encoder = TextEncoder.load(options.encoder)
        sizes = [None if size == ALL else number(size) for size in options.sizes]
        corpora = {name: zoo.load_corpus(name, "classification") for name in options.datasets}
        transfer.check_parts(corpora, sizes, options.seeds)
        for size in sizes:
            for name, corpus in corpora.items():
                for start, (model, arguments, words) in starts(options.model, options.encoder).items():
                    row_of_all = None if size else of_all_texts(encoder, corpus, start, model, options.seeds)
                    if row_of_all:
                        tables.merge(RESULTS, [row_of_all], [*transfer.KEY, "encoder"])
                        continue
                    runs = []
                    for seed in range(1, options.seeds + 1):
                        folder = f"{name}_{size or ALL}_{start.replace(' ', '_')}_{encoder.sha256[:12]}_seed{seed}"
                        part = transfer.corpus_of(corpus, size, seed)
                        arguments = {**arguments, "seed": seed}
                        runs.append(transfer.run(model, part, Path(options.run_dir) / folder, arguments))
                    cells = row(encoder, name, start, size, words, runs)
                    tables.merge(RESULTS, [cells], [*transfer.KEY, "encoder"])
        transfer.draw(RESULTS, PICTURE)


if __name__ == "__main__":
    main()
