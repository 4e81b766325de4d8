"""An epoch of plain ``fit`` on padded arrays, of ``fit`` on ``zoo.text_dataset``, and of ``zoo.train``'s own batches.

The same model, texts, batch size and seed. Each epoch after the first, which traces and compiles, is measured
in turn. Rows go to results/cpu_seconds.csv. From the repository's root, with nothing else running:

    python -m benchmarks.fit_data --dataset trec
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

import dense_lstm_zoo as zoo
from benchmarks import cpu_seconds
from dense_lstm_zoo import checks
from dense_lstm_zoo.measuring.turns import take_turns
from tuning import protocols

BATCH = 200


def sides(corpus: Any, model: str) -> dict[str, Any]:
    """Return a function per side that trains one epoch, with its own model."""
    import keras

    from dense_lstm_zoo.classification.batches import TrainingBatches

    train = zoo.text_dataset(corpus.train.texts, corpus.train.labels, label_names=corpus.label_names, batch_size=BATCH)
    rows = train.vocabulary.text_to_ids().encode(corpus.train.texts)
    padded, labels = np.zeros((len(rows), max(map(len, rows))), np.int32), np.array(corpus.train.labels)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    own = TrainingBatches(rows, corpus.train.labels, batch_size=BATCH, seed=1)

    def new_model() -> Any:
        keras.utils.set_random_seed(1)
        return zoo.build(model, **train.model_arguments)

    arrays, dataset, ours = new_model(), new_model(), new_model()
    options: dict[str, Any] = {"verbose": 0, "shuffle": False}
    return {
        "fit on padded arrays": lambda: arrays.fit(padded, labels, batch_size=BATCH, verbose=0),
        "fit on zoo.text_dataset": lambda: dataset.fit(train, **options),
        "zoo.train's batches": lambda: ours.fit(own.dataset, callbacks=[own], **options),
    }


def main() -> None:
    """Measure each side in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="trec", help="a labelled corpus (default: trec)")
    parser.add_argument("--model", default="dc_bilstm", help="a classifier (default: dc_bilstm)")
    parser.add_argument("--epochs", type=int, default=3, help="epochs per side after the first (default: 3)")
    options = parser.parse_args()
    with protocols.plain_errors():
        checks.integer("--epochs", options.epochs)
        run = sides(zoo.load_corpus(options.dataset, "classification"), options.model)
    seconds = take_turns({way: partial(cpu_seconds.of, epoch) for way, epoch in run.items()}, options.epochs + 1)
    after_first = {way: each[1:] for way, each in seconds.items()}
    words = f"--dataset {options.dataset} --model {options.model} --epochs {options.epochs}"
    cpu_seconds.write(
        f"an epoch of {options.model}", options.dataset, after_first, f"python -m benchmarks.fit_data {words}"
    )


if __name__ == "__main__":
    main()
