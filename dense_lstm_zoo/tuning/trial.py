"""One trial in a process of its own: ``python -m dense_lstm_zoo.tuning.trial FOLDER``.

TensorFlow and XLA keep memory until their process ends, so a sweep of a hundred trials is a hundred processes. The
folder holds ``spec.json``, what to train; the trial leaves a bundle a run, ``log.txt`` and ``result.json``, which is
written last. A trial that was killed goes on after its last epoch when the same folder is run again. It ends with the
process that started it, however that ends.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import files, registry

if TYPE_CHECKING:
    from dense_lstm_zoo.bundle import Bundle

RESULT, TEST = "result.json", "test.json"


class TrialFailedError(RuntimeError):
    """A trial without a score; the message is the reason."""


def start(folder: Path, *, test: bool = False) -> subprocess.Popen[bytes]:
    """Start a trial, or with ``test`` the scoring of its test texts, and return its process."""
    command = [sys.executable, "-m", "dense_lstm_zoo.tuning.trial", str(folder), *(["--test"] if test else [])]
    with (folder / "log.txt").open("ab") as log:
        # Its standard input closes when this process ends, even by kill -9.
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)


def outcome(folder: Path, process: subprocess.Popen[bytes], *, test: bool = False) -> dict[str, Any]:
    """Return what a process that has ended left.

    Raises:
        TrialFailedError: It failed; the message says why.
    """
    path = folder / (TEST if test else RESULT)
    if path.is_file():
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "reason" not in result:
            return result
        raise TrialFailedError(result["reason"])
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise TrialFailedError(f"killed by {name}" + (": likely out of memory" if name == "SIGKILL" else ""))
    lines = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "nothing was printed")
    raise TrialFailedError(f"ended with status {process.returncode}: {last}")


def run(folder: Path) -> dict[str, Any]:
    """Train what ``spec.json`` asks for and return the result; finished runs are kept, test texts are not looked at."""
    from dense_lstm_zoo.training.loop import Paused, train

    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    rows = []
    for name, corpus, seed in _parts(spec):
        run_dir = folder / "runs" / name
        if not (run_dir / "manifest.json").is_file():
            unscored = dataclasses.replace(corpus, test=None)
            try:
                train(
                    spec["model"],
                    unscored,
                    run_dir,
                    seed=seed,
                    pause_after=spec["pause_after"],
                    **spec["arguments"],
                )
            except Paused as paused:
                rows.append({"run": name, **paused.metrics})
                continue
        rows.append({"run": name, **json.loads((run_dir / "metrics.json").read_text(encoding="utf-8"))})
    import pandas as pd

    runs = pd.DataFrame(rows)
    score = "dev_perplexity" if "dev_perplexity" in runs else "dev_accuracy"
    return {
        score: float(runs[score].mean()),
        "std": float(runs[score].std()) if len(runs) > 1 else None,
        "parameters": int(runs["parameters"].max()),
        "encoder_parameters": int(runs["encoder_parameters"].max()),
        "epochs": [int(n) for n in runs["epochs"]],
        "best_epochs": [int(n) for n in runs["best_epoch"]],
        "seconds": round(float(runs["seconds"].sum()), 1),
        "runs": list(runs["run"]),
    }


def write_hparams(folder: Path, result: dict[str, Any]) -> None:
    """Write a trial's values and score for TensorBoard's HParams page, where TensorBoard is installed."""
    try:
        from tensorboard.plugins.hparams import api
    except ImportError:
        return
    import tensorflow as tf

    values = json.loads((folder / "spec.json").read_text(encoding="utf-8"))["values"]
    with tf.summary.create_file_writer(str(folder.parents[1] / "tensorboard" / folder.name)).as_default():
        api.hparams(values, trial_id=folder.name)
        for name, value in result.items():
            if name.startswith("dev_") or name == "encoder_parameters":
                tf.summary.scalar(name, value, step=0)


def score_test(folder: Path) -> dict[str, Any]:
    """Score the test texts of a finished trial's runs: mean and standard deviation of each measure."""
    from dense_lstm_zoo.bundle import load

    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    rows = []
    for name, corpus, _ in _parts(spec):
        bundle: Bundle = load(folder / "runs" / name)
        labels = {"label_names": corpus.label_names} if bundle.config["task"] == "classification" else {}
        scores, _ = bundle.assess(corpus.test, **labels)
        rows.append(scores)
    import pandas as pd

    scores = pd.DataFrame(rows)
    mean, std = scores.mean(), scores.std()
    return {
        f"test_{measure}": {
            "mean": float(mean[measure]),
            "std": float(std[measure]) if len(rows) > 1 else None,
            "runs": [float(x) for x in scores[measure]],
        }
        for measure in scores
    }


def _parts(spec: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """Yield the name, the corpus and the seed of each run."""
    from dense_lstm_zoo.data.corpora import load_corpus
    from dense_lstm_zoo.data.corpus import cross_validation_fold

    corpus = load_corpus(spec["dataset"], registry.entry(spec["model"]).task, **spec["data"])
    for fold in range(1, spec["folds"] + 1) if spec["folds"] else [None]:
        part = corpus if fold is None else cross_validation_fold(corpus, fold, spec["folds"])
        for seed in spec["seeds"]:
            yield (f"fold{fold:02}_" if fold else "") + f"seed{seed}", part, seed


def _reason(error: BaseException) -> str:
    """Return why a trial failed, in a line."""
    import tensorflow as tf

    text = str(error).strip().split("\n")[0]
    if isinstance(error, MemoryError | tf.errors.ResourceExhaustedError):
        return f"out of memory: {text}"
    return text if isinstance(error, ValueError | ArithmeticError | OSError) else f"{type(error).__name__}: {text}"


def end_with_parent() -> None:
    """End this process when the one that holds its standard input ends, however that does."""

    def watch() -> None:
        while os.read(0, 1024):  # not sys.stdin: its lock would be held when Python ends
            pass
        os._exit(1)

    if not sys.stdin.isatty():
        threading.Thread(target=watch, daemon=True).start()


def main(folder: Path, test: bool) -> int:
    """Run a trial's folder, write its result, return the process's status."""
    end_with_parent()
    result: dict[str, Any] = {}
    while not result:
        try:
            result = score_test(folder) if test else run(folder)
            if not test:
                write_hparams(folder, result)
        except BlockingIOError:
            time.sleep(2)  # a worker that was given up still trains it: what it leaves is taken
        except Exception as error:
            result = {"reason": _reason(error)}
            traceback.print_exc()
    files.write_json(folder / (TEST if test else RESULT), result)
    return 1 if "reason" in result else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--test" in sys.argv[2:]))
