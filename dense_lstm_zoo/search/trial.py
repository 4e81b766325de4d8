"""One trial in its own process: ``python -m dense_lstm_zoo.search.trial FOLDER``.

TensorFlow and XLA keep memory until their process ends, so a sweep of a hundred trials runs in a hundred processes. The
folder holds ``spec.json``, which says what to train. The trial leaves one bundle per run, ``log.txt`` and
``result.json``, which is written last. A killed trial resumes after its last epoch when the same folder is run again.
It ends with the process that started it, however that ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search import process, trouble
from dense_lstm_zoo.search.runs import training_runs
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import Kind, check_fields, damaged, read_object
from dense_lstm_zoo.tasks import recipes

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

SPEC, RESULT, TEST = "spec.json", "result.json", "test.json"
# Signals of a crash in the trial's own code; others come from the system or the user.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)

_SPEC: dict[str, Kind] = {"model": str, "dataset": str, "data": dict, "values": dict, "arguments": dict}
_SPEC |= {"seeds": list, "folds": (int, type(None)), "pause_after": (int, type(None))}
_RESULT: dict[str, Kind] = {"parameters": int, "encoder_parameters": int, "epochs": list, "best_epochs": list}
_RESULT |= {"seconds": (int, float)}


def read_spec(folder: Path) -> dict[str, Any]:
    """Return the specification of a trial."""
    path, advice = folder / SPEC, f"Delete {folder} to run the trial again."
    try:
        return read_object(path, _SPEC, advice=advice)
    except FileNotFoundError:
        raise damaged(path, "it is missing", advice) from None


def read_result(folder: Path, score: str) -> dict[str, Any]:
    """Return a trial's result: its ``score`` and more, or the ``reason`` why it has none.

    Raises:
        DamagedFileError: The result has neither.
        FileNotFoundError: The trial has not ended.
    """
    path, advice = folder / RESULT, "Delete the file to run the trial again."
    result = read_object(path, advice=advice)
    fields: dict[str, Kind] = {"reason": str} if "reason" in result else {score: (int, float), **_RESULT}
    if "std" in result:
        fields["std"] = (int, float, type(None))
    check_fields(path, result, fields, advice=advice)
    if not math.isfinite(result.get(score, 0)):
        raise damaged(path, f"{score!r} is {result[score]}", advice)
    return result


def bundles(folder: Path) -> list[Path]:
    """Return the folders of a trial's finished runs, those that are kept."""
    return [path.parent for path in sorted((folder / "runs").glob("*/manifest.json"))]


def read_metrics(run_dir: Path) -> dict[str, Any]:
    """Return the scores of a trial's finished run. One that diverged has none."""
    metrics = read_object(run_dir / "metrics.json", advice=f"Delete {run_dir} to have it trained again.")
    if "diverged" in metrics:
        raise ArithmeticError(f"{run_dir.name}: {metrics['diverged']}")
    return metrics


def read_test(folder: Path) -> dict[str, Any]:
    """Return a trial's scores on the test texts."""
    path, advice = folder / TEST, "Delete the file to score them again."
    test = read_object(path, advice=advice)
    for name, scores in test.items():
        if not isinstance(scores, dict) or not scores.keys() >= {"mean", "std", "runs"}:
            raise damaged(path, f"{name!r} has no mean, std and runs", advice)
    if not test:
        raise damaged(path, "it holds no scores", advice)
    return test


def start(folder: Path, *, test: bool = False, environment: Mapping[str, str] | None = None) -> process.Child:
    """Start a trial, or with ``test`` the scoring of its test texts, and return its process."""
    arguments = [str(folder), *(["--test"] if test else [])]
    log = folder / "log.txt"
    return process.Child("dense_lstm_zoo.search.trial", *arguments, log=log, environment=environment)


def wait(folder: Path, child: process.Child) -> None:
    """Return when a trial's process has ended and left its results. Stop it if this process is interrupted.

    Raises:
        TrialFailedError: The trial failed. The message says why.
        SweepPausedError: A fault of the machine stopped it.
        TrialDiedError: It died.
    """
    try:
        child.wait()
        status, words = child.returncode, child.last_words()
    except BaseException:
        child.terminate()
        child.wait()
        raise
    finally:
        child.close()
    if status == 0:
        return
    if status == process.FAILED:
        raise trouble.TrialFailedError(words)
    if status == process.PAUSED:
        raise trouble.paused(f"trial {folder.name}: {words}")
    if status == process.SHORT_OF_MEMORY:
        raise trouble.TrialDiedError(words, pauses=False)
    if status < 0:
        number = signal.Signals(-status)
        if number in _CRASHES:
            raise trouble.TrialFailedError(f"it crashed with {number.name}")
        likely = ": likely out of memory" if number == signal.SIGKILL else ""
        raise trouble.TrialDiedError(f"killed by {number.name}{likely}")
    lines = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "nothing was printed")
    raise trouble.TrialDiedError(f"ended with status {status}: {last}")


def _without_vectors(spec: Mapping[str, Any]) -> dict[str, str]:
    """The option for a sweep that names no vectors: its budget counts the weights of the model's own width."""
    if "init_from" in spec["arguments"]:  # the source decides the width, and where new words have their vectors from
        return {}
    options = tasks.find(registry.entry(spec["model"]).task).all_options
    return {"vectors": word_source.NONE} if any(option.name == "vectors" for option in options) else {}


def run(folder: Path) -> dict[str, Any]:
    """Train what ``spec.json`` asks for and return the result. Finished runs are kept.

    The test texts are not looked at unless the spec's ``test`` says that every trial reports them.
    """
    from dense_lstm_zoo.training import run_folder
    from dense_lstm_zoo.training.loop import Paused, train
    from dense_lstm_zoo.training.overlap import check_test_texts
    from dense_lstm_zoo.training.protocol import has_scores

    spec = read_spec(folder)
    arguments = {"recipe": recipes.NONE, **_without_vectors(spec), **spec["arguments"]}
    task = tasks.find(registry.entry(spec["model"]).task)
    rows = []
    for name, _, corpus, seed in training_runs(spec):
        run_dir = folder / "runs" / name
        if (run_dir / "manifest.json").is_file() and not has_scores(read_metrics(run_dir)):
            shutil.rmtree(run_dir)  # its texts could not be read when it ended
        if not (run_dir / "manifest.json").is_file():
            check_test_texts(task.job_class, spec["arguments"], corpus)
            try:
                train(
                    spec["model"],
                    corpus if spec.get("test") else dataclasses.replace(corpus, test=None),
                    run_dir,
                    seed=seed,
                    pause_after=spec["pause_after"],
                    **{"baseline": False, **arguments},
                )
            except Paused as paused:
                rows.append({"run": name, **paused.metrics})
                continue
        run_folder.tidy(run_dir)
        rows.append({"run": name, **read_metrics(run_dir)})
    import pandas as pd

    runs = pd.DataFrame(rows)
    score = next(name for part in ("dev", "cross_validation") if (name := f"{part}_{task.measure}") in runs)
    mean = float(runs[score].mean())
    if not math.isfinite(mean):
        raise ArithmeticError(f"{score} is {mean}")
    test = f"test_{task.measure}"
    return {
        score: mean,
        "std": float(runs[score].std()) if len(runs) > 1 else None,
        **({test: float(runs[test].mean())} if test in runs else {}),
        "parameters": int(runs["parameters"].max()),
        "encoder_parameters": int(runs["encoder_parameters"].max()),
        "epochs": [int(n) for n in runs["epochs"]],
        "best_epochs": [int(n) for n in runs["best_epoch"]],
        "seconds": round(float(runs["seconds"].sum()), 1),
        "runs": list(runs["run"]),
    }


def write_hparams(folder: Path, result: dict[str, Any]) -> None:
    """Write a trial's values and score for TensorBoard's HParams page, if TensorBoard is installed."""
    try:
        from tensorboard.plugins.hparams import api
    except ImportError:
        return
    import tensorflow as tf

    values = read_spec(folder)["values"]
    with tf.summary.create_file_writer(str(folder.parents[1] / "tensorboard" / folder.name)).as_default():
        api.hparams(values, trial_id=folder.name)
        for name, value in result.items():
            if name.startswith(("dev_", "cross_validation_")) or name == "encoder_parameters":
                tf.summary.scalar(name, value, step=0)


def score_test(folder: Path) -> dict[str, Any]:
    """Score the test texts of a finished trial's runs: mean and standard deviation of each measure."""
    from dense_lstm_zoo.bundles.bundle import load

    spec = read_spec(folder)
    rows = []
    for name, _, corpus, _ in training_runs(spec):
        bundle: Bundle = load(folder / "runs" / name)
        labels = {"label_names": corpus.label_names} if hasattr(corpus, "label_names") else {}
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


def main(folder: Path, test: bool) -> int:
    """Run a trial's folder, write its result, report failures to the parent and return the exit status."""
    process.end_with_parent()
    while True:
        try:
            if test:
                files.write_json(folder / TEST, score_test(folder))
                return 0
            result = run(folder)
            if not all((folder / name).is_file() for name in (RESULT, TEST)):  # else only its bundles were missing
                write_hparams(folder, result)
                files.write_json(folder / RESULT, result)
            return 0
        except BlockingIOError:
            time.sleep(2)  # a worker that was given up still trains it; its result will be used
        except Exception as error:
            with contextlib.suppress(OSError):  # the log's disk may be full
                traceback.print_exc()
            return _tell(error)


def _tell(error: Exception) -> int:
    """Report to the parent why this process ends, and return its exit status."""
    if trouble.is_the_machines(error):
        process.say_last(trouble.describe(error))
        return process.PAUSED
    if trouble.is_memory(error):
        process.say_last(f"out of memory: {str(error).strip().split(chr(10))[0]}")
        return process.SHORT_OF_MEMORY
    process.say_last(trouble.describe(error))
    return process.FAILED


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--test" in sys.argv[2:]))
