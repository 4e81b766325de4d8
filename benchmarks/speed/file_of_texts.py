"""The command ``train`` on a file of reviews, beside the same network, vectors and epochs in stock Keras.

Both read the same two csv files, each in a process of its own, and the time is that of the whole process: imports,
words, training, dev scores and a saved model. Stock Keras is given our vocabulary and its vectors, so that it need not
find them: ids in shuffled ``padded_batch``, stock layers under a mask. Reviews are IMDB's, cut to 20 to 160 words.

A row also has the share of the machine's peak of float32 products that our epochs reach, the first left out, where
only real words count: padding, dev scores and saving take time, and are no work. From the repository's root:

    python -m benchmarks.speed.file_of_texts --batches 200 32
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.speed.measure import Worker, seconds_a_step
from benchmarks.speed.runs import PEAK_SIZE
from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring.turns import compare, spread, take_turns
from dense_lstm_zoo.models import weight_counts
from tuning import protocols, result_files

RESULTS = result_files.ROOT / "results" / "file_of_texts.csv"
KEY = ["corpus", "texts", "batch", "processor"]
SHORTEST, LONGEST, DEV_TEXTS, SEED = 20, 160, 300, 7


def write_files(folder: Path, corpus: str, texts: int) -> None:
    """Write train.csv and dev.csv: the first words of so many reviews of a corpus, drawn at random."""
    from dense_lstm_zoo.corpora.loader import load_corpus

    data, rng = load_corpus(corpus), np.random.default_rng(SEED)
    places = rng.permutation(len(data.train.texts))
    rows = []
    for place in places:
        words = data.train.texts[place].split()
        if len(words) >= SHORTEST:
            label = data.label_names[int(data.train.labels[place])]
            rows.append((" ".join(words[: rng.integers(SHORTEST, LONGEST + 1)]), label))
        if len(rows) == texts + DEV_TEXTS:
            break
    table = pd.DataFrame(rows, columns=["text", "label"])
    table[:-DEV_TEXTS].to_csv(folder / "train.csv", index=False)
    table[-DEV_TEXTS:].to_csv(folder / "dev.csv", index=False)


def train_ours(folder: Path, batch: int, epochs: int) -> Path:
    """Run the command ``train`` and return the run's folder."""
    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    arguments = ["train", "dc_bilstm", "--train-file", "train.csv", "--dev-file", "dev.csv", "--run-dir", str(run)]
    arguments += ["--batch-size", str(batch), "--epochs", str(epochs), "--patience", str(epochs), "--no-baseline"]
    _run([sys.executable, "-m", "dense_lstm_zoo", *arguments], folder)
    return run


def write_peer(folder: Path, run: Path, batch: int, epochs: int) -> None:
    """Write what the peer is given: our model's arguments, words and vectors."""
    from dense_lstm_zoo.bundles.bundle import load

    bundle: Any = load(run)
    embedding = bundle.model.get_layer("embedding")
    table = np.concatenate([np.asarray(w) for w in embedding.get_weights()])
    np.save(folder / "vectors.npy", table)
    settings = {"arguments": bundle.config["arguments"], "text": bundle.vocabulary.settings, "labels": bundle.labels}
    settings |= {"words": list(bundle.vocabulary.words), "batch": batch, "epochs": epochs}
    (folder / "peer.json").write_text(json.dumps(settings), encoding="utf-8")


def train_peer(folder: Path) -> None:
    """Train the stock network in this process on the folder's files, as its user would."""
    import keras

    from benchmarks.speed.texts import padded_batches, stock_classifier

    settings = json.loads((folder / "peer.json").read_text(encoding="utf-8"))
    keras.utils.set_random_seed(SEED)
    model = stock_classifier(settings["arguments"], np.load(folder / "vectors.npy"))

    def batches(name: str) -> Any:
        table = pd.read_csv(folder / f"{name}.csv")
        labels = [settings["labels"].index(label) for label in table.label.astype(str)]
        return padded_batches(_encode(table, settings), labels, settings["batch"], shuffled=name == "train")

    model.fit(batches("train"), validation_data=batches("dev"), epochs=settings["epochs"], verbose=0)
    model.save(folder / "peer.keras")


def _run(command: list[str], folder: Path) -> None:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stderr[-2000:]}")


def measure(corpus: str, texts: int, batch: int, epochs: int, repeats: int) -> dict[str, Any]:
    """Return the medians, spreads and ratios of both sides, and our epochs' share of the peak."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, corpus, texts)
        runs = [train_ours(folder, batch, epochs)]  # also warms the machine's file cache up
        write_peer(folder, runs[0], batch, epochs)
        peer = [sys.executable, "-m", "benchmarks.speed.file_of_texts", "--peer", str(folder)]
        sides = {
            "ours": partial(seconds_a_step, lambda: runs.append(train_ours(folder, batch, epochs)), 1),
            "keras": partial(seconds_a_step, lambda: _run(peer, result_files.ROOT), 1),
        }
        seconds = take_turns(sides, repeats)
        settings = json.loads((folder / "peer.json").read_text(encoding="utf-8"))
        history = pd.concat([pd.read_csv(run / "history.csv") for run in runs[1:]])
        epoch = float(history[history.epoch > 1].seconds.median())
        with Worker("tensorflow") as worker:
            peak = worker.ask("matmul_gflops", size=PEAK_SIZE, repeats=10)
        words = sum(map(len, _encode(pd.read_csv(folder / "train.csv"), settings)))
    sizes = [settings["arguments"][key] for key in ("embedding_dim", "num_dense_layers", "dense_units", "top_units")]
    work = 6 * weight_counts.dense_bilstm(*sizes, biases=False) * words / 1e9
    cells: dict[str, Any] = {"epochs": epochs, "repeats": repeats}
    for side, values in seconds.items():
        cells |= dict(zip((f"{side}_s", f"{side}_spread_s"), (round(x, 1) for x in spread(values)), strict=True))
    cells |= {key: round(value, 2) for key, value in compare(seconds["ours"], seconds["keras"]).items()}
    cells |= {"epoch_s": round(epoch, 1), "words_per_s": round(words / epoch)}
    return cells | {"gflops_share": round(work / epoch / peak, 3), "peak_gflops": round(peak)}


def _encode(table: pd.DataFrame, settings: dict[str, Any]) -> Any:
    """Return the ids of a file's texts, without the words that the model does not read."""
    from dense_lstm_zoo.classification.vocabulary import Vocabulary

    text_to_ids = Vocabulary(tuple(settings["words"]), **settings["text"]).text_to_ids()
    return text_to_ids.encode(list(table.text))


def main(argv: list[str] | None = None) -> None:
    """Measure a file of reviews at some batch sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="imdb", help="whose texts (default: imdb)")
    parser.add_argument("--texts", type=int, default=2600, help="of training (default: 2600)")
    parser.add_argument("--batches", type=int, nargs="+", default=[200, 32], help="texts a step (default: 200 32)")
    parser.add_argument("--epochs", type=int, default=4, help="of both (default: 4)")
    parser.add_argument("--repeats", type=int, default=2, help="turns of each side (default: 2)")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.peer:
        train_peer(Path(options.peer))
        return
    for batch in options.batches:
        cells = measure(options.corpus, options.texts, batch, options.epochs, options.repeats)
        row = {"corpus": options.corpus, "texts": options.texts, "batch": batch, **cells}
        row |= {"processor": machine.processor(), "cores": machine.cores(), "load_average": machine.load_average()}
        row |= {"versions": protocols.read_versions({"versions": machine.versions()})}
        command = f"python -m benchmarks.speed.file_of_texts --corpus {options.corpus} --texts {options.texts}"
        row |= {"command": f"{command} --batches {batch} --epochs {options.epochs} --repeats {options.repeats}"}
        result_files.merge(RESULTS, [row], KEY)
        print(row, flush=True)


if __name__ == "__main__":
    with protocols.plain_errors():
        main()
