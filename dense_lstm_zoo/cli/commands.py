"""The commands, except those that read texts line by line (``texts.py``)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.bundles.bundle import read_dev_curve
from dense_lstm_zoo.bundles.checks import refuse_encoder
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import few_texts, training
from dense_lstm_zoo.corpora import forms as datasets
from dense_lstm_zoo.corpora.own_files import input_format, read_split
from dense_lstm_zoo.data.cells import escape_controls, escape_json
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import finite
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.training.run_file import DATA
from dense_lstm_zoo_runtime import install

FILE_OPTIONS = tuple(name for name in DATA if name != "dataset")


def describe(name: str) -> None:
    """Print what is known of a model, a recipe, a preset or a run."""
    notes.show(zoo.describe(name))


def fetch(dataset: str) -> None:
    """Find or download a corpus and print its files."""
    paths = zoo.fetch(dataset)
    lines = [escape_controls(str(path)) for path in paths]
    notes.show(*lines or [f"{dataset} is built in: there is nothing to fetch."])


def train(model: str | None, config: str | None, **options: Any) -> None:
    """Train one run, or several with ``--seeds`` or ``--folds``."""
    model, corpus, options = training.prepared(model, config, options)
    import_tensorflow()
    if options.keys() & {"seeds", "folds", "only_folds"}:
        zoo.run_protocol(model, corpus, **options)
    else:
        zoo.train(model, corpus, **options)


def tune(
    model: str, dataset: str | None, search: list[str] | None, role: str | None, worker_id: str | None, **options: Any
) -> None:
    """Run a sweep, or be the chief or a worker of one."""
    from dense_lstm_zoo.search.space import parse_space

    if role and not options["oracle"]:
        raise ValueError(f"--role {role} needs the chief's address: --oracle HOST:PORT.")
    if worker_id and role != "worker":
        raise ValueError("--worker-id is for --role worker.")

    dataset, data = training.check_sweep(model, dataset, options)
    taken = registry.entry(model).arguments
    options = {name: x for name, x in options.items() if name not in FILE_OPTIONS and (x is not None or name in taken)}
    if search:
        options["space"] = parse_space(search)
    import_tensorflow()
    if role == "worker":
        from dense_lstm_zoo.search import fleet

        fleet.join(model, dataset, worker_id=worker_id, data=data, **options)
        return
    if role == "chief":
        options.setdefault("workers", 0)
    zoo.tune(model, dataset, data=data, **options)


def _as_in_training(config: dict[str, Any], form: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return options of a file with the columns that training read, where none are given."""
    return {**given, **{key: x for key, x in remembered_columns(config, form).items() if given.get(key) is None}}


def evaluate(
    bundle: str | BundleFolder,
    split: str,
    dataset: str | None,
    report: str | None,
    form: str,
    **file_options: str | None,
) -> None:
    """Score a bundle on a split of a corpus, or on one file without the corpus it belongs to."""
    folder = BundleFolder.open(bundle)
    config = folder.read_config()
    task, trained_on = config["task"], config["training"]["dataset"]
    own_file = file_options[f"{split}_file"]
    if dataset is not None and own_file is None and (own_files := datasets.files_of(dataset, task, split)):
        dataset, file_options = None, {**file_options, **own_files}
    own_file = file_options[f"{split}_file"]
    if own_file is not None:
        files.existing_file(own_file)
        kind = input_format(own_file, tasks.find(task).own_files, "--dataset", dataset, otherwise=trained_on)
        options = _as_in_training(config, kind, file_options)
        options = {key: x for key, x in options.items() if x is not None and not key.endswith("_file")}
        name, (texts, label_names) = Path(own_file).name, read_split(kind, own_file, **options)
    else:
        known = tasks.find(task)
        if dataset is None and trained_on not in {*known.sources, *known.own_files}:  # a frame, or made by hand
            raise ValueError(
                f"{bundle} was trained on {trained_on!r:.80}, which is no file and no published corpus: "
                f"give its {split} texts as --{split}-file FILE."
            )
        if dataset is None and (train_file := file_options["train_file"]):
            kind = input_format(train_file, known.own_files, "--dataset", None, otherwise=trained_on)
            file_options = _as_in_training(config, kind, file_options)
        name, found = datasets.resolve(dataset or trained_on, file_options, task)
        corpus = zoo.load_corpus(name, task, **found)
        name, texts, label_names = corpus.name, getattr(corpus, split), getattr(corpus, "label_names", ())
        if texts is None:
            raise ValueError(f"{name} has no {split} set.")
    labels = {"label_names": label_names} if label_names else {}
    target = None if report is None else files.check_new_folder(report, can_overwrite=False)
    loaded = load(folder)
    scores, analysis = loaded.assess(texts, **labels)
    if form == "json":
        told = {"bundle": str(bundle), "model": config["model"], "dataset": name, "split": split, **finite(scores)}
        print(escape_json(json.dumps(told, ensure_ascii=False)))
    else:
        notes.show(f"{split} {loaded.task.module('report').all_scores(scores)}")
    if target:
        from dense_lstm_zoo.reports.base import write_evaluation

        with files.new_folder(target) as new:
            write_evaluation(loaded.task, {"split": split, **analysis}, new, f"{loaded.config['model']} on {name}")


def export(bundle: str | BundleFolder, path: str, **options: Any) -> None:
    """Write a SavedModel or an ONNX export and print its folder; say so if a SavedModel has no warm-up requests."""
    target = files.check_new_folder(path, "export" if options["overwrite"] else None)
    written = load(bundle).export(target, **options)
    notes.show(escape_controls(str(written)))
    if (written / "saved_model.pb").is_file():
        from dense_lstm_zoo.exports import warmup

        if not (written / "assets.extra" / warmup.FILE).is_file():
            print(warmup.MISSING, file=sys.stderr)


def curves(bundles: list[str | BundleFolder], output: str | None, overwrite: bool) -> None:
    """Print the best dev accuracy of each run by batch, and draw the curves."""
    picture = check_picture(output, overwrite)
    found = {}
    for bundle in bundles:
        curve = read_dev_curve(BundleFolder.open(bundle).path)
        if curve is None:
            raise ValueError(f"{bundle} has no learning curve by batch; train it with --dev-every 1.")
        found[str(bundle)] = curve
    print("bundle\tbatches\tbest dev accuracy\tat batch")
    for bundle, curve in found.items():
        best = curve.loc[curve["dev_accuracy"].idxmax()]
        print(f"{escape_controls(bundle)}\t{curve['batch'].max()}\t{best['dev_accuracy']:.4f}\t{int(best['batch'])}")
    if picture:
        from dense_lstm_zoo.display import plots

        plots.by_batch({"": found}, picture, "dev accuracy by batch")


def check_picture(output: str | None, overwrite: bool) -> Target | None:
    """Return the file of a picture, if there is to be one. Raise for one that cannot be written."""
    if output is None:
        return None
    from dense_lstm_zoo.reports.base import has_matplotlib

    if not has_matplotlib():
        raise ValueError(f"--output needs matplotlib: {install.extra('plots')}.")
    if Path(output).suffix not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--output must end in .png, .svg or .pdf; received {output!r}.")
    return check_output(output, overwrite)


def load(bundle: str | BundleFolder, command: str | None = None, *, once: bool = False) -> Any:
    """Load a bundle for predictions; with ``command``, refuse one that is not for it before importing TensorFlow.

    With ``once``, its layers run the kernel that compiles nothing, for a few texts.
    """
    folder = BundleFolder.open(bundle)
    check_command(folder, folder.read_config(), command)
    import_tensorflow()
    from dense_lstm_zoo.training.allocator import keep_freed_memory

    keep_freed_memory()  # loading word vectors frees as much memory several times over
    return zoo.load(folder, compile=False, kernel="native" if once else None)


def check_command(bundle: object, config: dict[str, Any], command: str | None) -> Task:
    """Return the task of a bundle that a command can use; None stands for a command that takes bundles of any task.

    Raises:
        BundleError: A text encoder.
        ValueError: A bundle for a task that has no such command.
    """
    refuse_encoder(bundle, config)
    task = tasks.find(config["task"])
    if command not in (None, *task.commands):
        others = " or ".join(other.name for other in tasks.every() if command in other.commands)
        *first, last = task.commands
        raise ValueError(f"{bundle} is for {task.name}, not for {others}: use {', '.join(first)} or {last}.")
    return task


def import_tensorflow() -> None:
    """Import TensorFlow, hiding the lines its C++ code prints before any setting can silence it.

    Keras is imported with it, but not what Keras uses only in parts that no command needs.
    """
    sys.stderr.flush()
    stderr = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        with few_texts.hidden():
            check_tensorflow("Commands that run a model")
            import tensorflow_text  # noqa: F401 - imports TensorFlow
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def remembered_columns(config: dict[str, Any], form: str) -> dict[str, Any]:
    """Return the options of a bundle's training files that name the columns of texts, labels, tokens and tags."""
    columns: dict[str, Any] = config["training"].get("columns", {})
    of_tables = form != "columns"
    return {name: value for name, value in columns.items() if (name in ("text_column", "label_column")) == of_tables}
