"""From scratch beside ``init_from``, with 100, 500 and all training texts.

Each seed holds out a tenth of the training texts for dev, the same for every size, and draws the training texts of a
size from the others, by label. A corpus without test texts is scored on fold SEED of ten. Runs that are finished are
kept. The rows are in results/transfer.csv, the picture in results/transfer.png. From the repository's root:

    python -m benchmarks.transfer --source runs/sst2 --datasets trec cr --run-dir runs/transfer
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.display import plots
from tuning import protocols

RESULTS = tables.ROOT / "results" / "transfer.csv"
PICTURE = tables.ROOT / "results" / "transfer.png"
KEY = ["dataset", "model", "start", "texts", "settings", "vectors"]
SIZES = (100, 500, None)  # None is all
_FOLDS = 10


def subset(split: Split, size: int, seed: int) -> Split:
    """Return ``size`` examples of a split, each label with its share of them and with one at least.

    Raises:
        ValueError: A size below the number of labels, or above the number of examples.

    Example:
        >>> split = Split([f"text {i}" for i in range(40)], [0, 0, 0, 1] * 10)
        >>> small = subset(split, 8, seed=1)
        >>> len(small), sum(small.labels)
        (8, 2)
    """
    import numpy as np

    labels = np.asarray(split.labels)
    names, counts = np.unique(labels, return_counts=True)
    if not len(names) <= size <= len(labels):
        raise ValueError(f"size must be from {len(names)} to {len(labels)}; received {size}.")
    quotas = counts * (size / len(labels))
    sizes = np.minimum(np.maximum(np.floor(quotas).astype(int), 1), counts)
    while sizes.sum() != size:
        step = 1 if sizes.sum() < size else -1
        open_to = sizes < counts if step > 0 else sizes > 1
        sizes[np.where(open_to, step * (quotas - sizes), -np.inf).argmax()] += step
    generator = np.random.Generator(np.random.PCG64(seed))
    indices = [generator.permutation(np.flatnonzero(labels == name))[:n] for name, n in zip(names, sizes, strict=True)]
    ids = sorted(int(i) for i in np.concatenate(indices))
    return Split([split.texts[i] for i in ids], [split.labels[i] for i in ids])


def corpus_of(corpus: Corpus, size: int | None, seed: int) -> Corpus:
    """Return a corpus with dev and test texts and ``size`` training texts."""
    if corpus.test is None:
        corpus = corpus.fold(seed, _FOLDS)
    corpus = corpus.with_dev(seed=seed)
    return corpus if size is None else dataclasses.replace(corpus, train=subset(corpus.train, size, seed))


def check_parts(corpora: Mapping[str, Corpus], sizes: Sequence[int | None], seeds: int) -> None:
    """Raise ``ValueError`` for a number of seeds or a size that a corpus does not have texts for."""
    checks.integer("--seeds", seeds)
    for name, corpus in corpora.items():
        if corpus.test is None and seeds > _FOLDS:
            raise ValueError(
                f"{name} has no test texts and is scored on fold SEED of {_FOLDS}: --seeds must be at most {_FOLDS}; "
                f"received {seeds}."
            )
        for seed in range(1, seeds + 1):
            for size in sizes:
                corpus_of(corpus, size, seed)


def run(model: str, corpus: Corpus, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Train, unless that is done, and return the config and the metrics.

    The folder's name gets a checksum of the model and the settings: a run of others is not taken for this one.
    """
    settings_words = json.dumps([model, {name: str(value) for name, value in sorted(settings.items())}])
    folder = folder.with_name(f"{folder.name}_{hashlib.sha256(settings_words.encode()).hexdigest()[:8]}")
    if not (folder / "manifest.json").is_file():
        print(f"\n{folder.name}", flush=True)
        zoo.train(model, corpus, folder, **settings)
    BundleFolder.open(folder)
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("config", "metrics")}


def row(
    dataset: str,
    start: str,
    size: int | None,
    words: str,
    runs: Sequence[Mapping[str, Any]],
    script: str = "benchmarks.transfer",
) -> dict[str, Any]:
    """Return a row of results/transfer.csv, or of another script's results."""
    config, accuracies = runs[0]["config"], [100 * each["metrics"]["test_accuracy"] for each in runs]
    return {
        "dataset": dataset,
        "start": start,
        "texts": size or "all",
        "settings": words,
        "vectors": config["training"]["vectors"] or "",
        "model": config["model"],
        "train_texts": round(statistics.mean(each["metrics"]["train_texts"] for each in runs)),
        "accuracy_mean": round(statistics.mean(accuracies), 2),
        "accuracy_std": round(statistics.stdev(accuracies), 2) if len(runs) > 1 else "",
        "accuracies": " ".join(f"{accuracy:.2f}" for accuracy in accuracies),
        "dev_accuracy_mean": round(100 * statistics.mean(each["metrics"]["dev_accuracy"] for each in runs), 2),
        "seeds": len(runs),
        "best_epochs": " ".join(str(each["metrics"]["best_epoch"]) for each in runs),
        "seconds_median": round(statistics.median(each["metrics"]["seconds"] for each in runs), 1),
        "versions": protocols.read_versions(config),
        "processor": platform.processor() or platform.machine(),
        "command": command(script),
    }


def command(script: str) -> str:
    """Return what made a row, without the folder of its runs, which is a machine's own."""
    words = sys.argv[1:]
    if "--run-dir" in words:
        at = words.index("--run-dir")
        del words[at : at + 2]
    return " ".join([f"python -m {script}", *words])


def draw(results: Path = RESULTS, path: Path = PICTURE) -> None:
    """Draw test accuracy against the number of training texts, a panel for each corpus."""
    import pandas as pd

    rows = pd.read_csv(results, keep_default_na=False)
    corpora = list(dict.fromkeys(rows["dataset"]))
    with plots.picture(path, "from scratch and from a trained model", 4.5 * len(corpora), 4) as figure:
        for axes, name in zip(figure.subplots(1, len(corpora), squeeze=False)[0], corpora, strict=True):
            for start, line in rows[rows["dataset"] == name].groupby("start", sort=False):
                line = line.sort_values("train_texts")
                spread = pd.to_numeric(line["accuracy_std"], errors="coerce").fillna(0)
                label = plots.short(start)
                axes.errorbar(line["train_texts"], line["accuracy_mean"], spread, label=label, marker="o", capsize=3)
            axes.set(xlabel="training texts", ylabel="test accuracy %", title=plots.short(name), xscale="log")
            # A logarithmic axis writes its powers of ten as mathematics, which pictures here show as it is typed.
            sizes = sorted(set(rows.loc[rows["dataset"] == name, "train_texts"]))
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.set_xticks([], minor=True)
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--source", required=True, help="the trained model that training goes on from")
    options.add_argument("--datasets", nargs="+", default=["trec", "cr"], help="default: trec cr")
    options.add_argument("--seeds", type=int, default=3, help="default: 3")
    options.add_argument("--vectors", help="word vectors, for both: a file, or a name in the data's vectors folder")
    options.add_argument("--recipe", default="fixed_vectors", help="of the runs from scratch (default: fixed_vectors)")
    options.add_argument("--freeze", choices=("encoder", "embedding"), help="what init_from does not train at first")
    options.add_argument("--unfreeze-after", type=int, metavar="N", help="train everything after N epochs")
    options.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="arguments of train, for both")
    options.add_argument("--run-dir", default="runs/transfer", help="default: runs/transfer")
    return options


def main() -> None:
    """Run every corpus, size, start and seed, and write and draw the rows."""
    options = parser().parse_args()
    with protocols.plain_errors():
        folder = BundleFolder.open(options.source)
        source = folder.path
        source_name, sha256 = source.resolve().name, folder.sha256
        model = json.loads((source / "config.json").read_text(encoding="utf-8"))["model"]
        settings = {**protocols.parse_settings(options.set), "vectors": protocols.vector_file(options.vectors)}
        tuned = {"init_from": source, "freeze": options.freeze, "unfreeze_after": options.unfreeze_after}
        words = [protocols.as_words(protocols.parse_settings(options.set))]
        frozen = {name: tuned[name] for name in ("freeze", "unfreeze_after") if tuned[name] is not None}
        starts = {
            "from scratch": ({"recipe": options.recipe, **settings}, " ".join([f"recipe={options.recipe}", *words])),
            f"from {source_name}": ({**settings, **tuned}, " ".join([protocols.as_words(frozen), *words])),
        }
        corpora = {name: zoo.load_corpus(name, "classification") for name in options.datasets}
        check_parts(corpora, SIZES, options.seeds)
        for name, corpus in corpora.items():
            for size in SIZES:
                for start, (arguments, source_words) in starts.items():
                    runs = []
                    # A source that was trained again is another one, whatever its path.
                    source_tag = f"_{sha256[:12]}" if "init_from" in arguments else ""
                    for seed in range(1, options.seeds + 1):
                        folder = f"{name}_{size or 'all'}_{start.replace(' ', '_')}{source_tag}_seed{seed}"
                        part = corpus_of(corpus, size, seed)
                        runs.append(run(model, part, Path(options.run_dir) / folder, {**arguments, "seed": seed}))
                    tables.merge(RESULTS, [row(name, start, size, source_words.strip(), runs)], KEY)
        draw()


if __name__ == "__main__":
    main()
