"""The command evaluate: the scores of a trained model on a corpus or on a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli.arguments import BUNDLE, corpus
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, load_bundle
from dense_lstm_zoo.corpora import forms
from dense_lstm_zoo.corpora.own_files import input_format, read_split
from dense_lstm_zoo.data.cells import escape_json
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import finite


@command(
    "evaluate",
    "Score a bundle on the texts of a corpus or of your own file.",
    BUNDLE,
    argument("--split", choices=("test", "dev", "train"), default="test", help="default: test"),
    argument("--format", dest="form", choices=("text", "json"), default="text", help="default: text"),
    argument("--report", metavar="FOLDER", help="write an error analysis there: report.md and report.png"),
    corpus(trains=False),
    example="evaluate runs/trec --split test",
)
def evaluate(
    bundle: Source, split: str, dataset: str | None, report: str | None, form: str, **file_options: str | None
) -> None:
    """Score a bundle on a split of a corpus, or on one file without the corpus it belongs to."""
    folder = BundleFolder.open(bundle)
    config = folder.read_config()
    name, texts, label_names = _read_texts(bundle, config, split, dataset, file_options)
    labels = {"label_names": label_names} if label_names else {}
    target = None if report is None else files.check_new_folder(report, can_overwrite=False)
    model = load_bundle(folder)
    scores, analysis = model.assess(texts, **labels)
    if form == "json":
        row = {"bundle": str(bundle), "model": config["model"], "dataset": name, "split": split, **finite(scores)}
        print(escape_json(json.dumps(row, ensure_ascii=False)))
    else:
        notes.show(f"{split} {model.task.module('report').all_scores(scores)}")
    if target:
        from dense_lstm_zoo.reports.base import write_evaluation

        with files.new_folder(target) as new:
            write_evaluation(model.task, {"split": split, **analysis}, new, f"{model.config['model']} on {name}")


def _read_texts(
    bundle: Source, config: dict[str, Any], split: str, dataset: str | None, file_options: dict[str, str | None]
) -> tuple[str, Any, Any]:
    """Return the name of a corpus or a file, its texts with their labels, and the names of the labels."""
    task, trained_on = tasks.find(config["task"]), config["training"]["dataset"]
    path = file_options[f"{split}_file"]
    if dataset is not None and path is None and (own_files := forms.files_of(dataset, task.name, split)):
        dataset, file_options = None, {**file_options, **own_files}
        path = file_options[f"{split}_file"]
    if path is not None:
        files.existing_file(path)
        form = input_format(path, task.own_files, "--dataset", dataset, otherwise=trained_on)
        options = _as_in_training(config, form, file_options)
        options = {key: x for key, x in options.items() if x is not None and not key.endswith("_file")}
        return Path(path).name, *read_split(form, path, **options)
    if dataset is None and trained_on not in {*task.sources, *task.own_files}:  # a frame, or made by hand
        raise ValueError(
            f"{bundle} was trained on {trained_on!r:.80}, which is no file and no published corpus: "
            f"give its {split} texts as --{split}-file FILE."
        )
    if dataset is None and (train_file := file_options["train_file"]):
        form = input_format(train_file, task.own_files, "--dataset", None, otherwise=trained_on)
        file_options = _as_in_training(config, form, file_options)
    name, options = forms.resolve(dataset or trained_on, file_options, task.name)
    corpus = zoo.load_corpus(name, task.name, **options)
    texts = getattr(corpus, split)
    if texts is None:
        raise ValueError(f"{corpus.name} has no {split} set.")
    return corpus.name, texts, getattr(corpus, "label_names", ())


def _as_in_training(config: dict[str, Any], form: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a file with the columns that training read, where none are given."""
    columns: dict[str, Any] = config["training"].get("columns", {})
    of_tables = form != "columns"
    columns = {name: x for name, x in columns.items() if (name in ("text_column", "label_column")) == of_tables}
    return {**options, **{name: x for name, x in columns.items() if options.get(name) is None}}
