"""The command evaluate: the scores of a trained model on a corpus or on a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli.arguments import BUNDLE, FORMAT, OVERWRITE, THRESHOLD, check_threshold, corpus
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, load_bundle
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.data.cells import csv_row, escape_json
from dense_lstm_zoo.data.label_columns import check_complete
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import finite
from dense_lstm_zoo.storage.outputs import check_not_read, check_output
from dense_lstm_zoo.storage.packed_files import new_output

if TYPE_CHECKING:
    from dense_lstm_zoo_runtime.decisions import Threshold


@command(
    "evaluate",
    "Score a bundle on the texts of a corpus or of your own file.",
    BUNDLE,
    argument("--split", choices=("test", "dev", "train"), default="test", help="the part to score (default: test)"),
    FORMAT,
    argument("--report", metavar="FOLDER", help="write an error analysis there: report.md and report.png"),
    argument("--errors", metavar="FILE", help="csv: write every wrong answer there, with its line in the file"),
    OVERWRITE,
    THRESHOLD,
    corpus(trains=False),
    example="evaluate runs/trec --test-file labelled.csv --errors wrong.csv",
)
def evaluate(
    bundle: Source,
    split: str,
    dataset: str | None,
    report: str | None,
    errors: str | None,
    overwrite: bool,
    form: str,
    threshold: Threshold,
    **file_options: str | None,
) -> None:
    """Score a bundle on a split of a corpus, or on one file without the corpus it belongs to."""
    folder = BundleFolder.open(bundle)
    config = folder.read_config()
    training, task = config["training"], tasks.find(config["task"])
    check_threshold(threshold, task)
    if errors is not None and task.predicts_words:
        raise ValueError(f"--errors is for models that label texts or words; {bundle} is for {task.name}.")
    errors_file = None if errors is None else check_output(errors, overwrite)
    target = None if report is None else files.check_new_folder(report, can_overwrite=False)
    if target is not None and errors_file is not None and target.real == errors_file.real:
        raise ValueError(f"--report and --errors are both {report}: the first is a folder, the second a file.")
    trained_on, columns = training["dataset"], training.get("columns", {})
    resolved = Dataset.to_score(dataset, file_options, task, split, trained_on=trained_on, columns=columns)
    if resolved is None:
        raise ValueError(
            f"{bundle} was trained on {trained_on!r:.80}, which is not a published corpus: "
            f"give its {split} texts as --{split}-file FILE."
        )
    check_not_read(errors_file, [*file_options.values(), *resolved.files], "--errors")
    name, texts, label_names = resolved.load_part(split)
    options: dict[str, Any] = {"label_names": label_names} if label_names else {}
    if errors_file is not None:
        options["errors"] = True
    if threshold is not None:
        options["threshold"] = threshold
    model = load_bundle(folder)
    check_complete(resolved.options.get("label_columns"), model.labels)
    scores, analysis = model.assess(texts, **options)
    errors_table = analysis.pop("errors", None)
    if target:
        from dense_lstm_zoo.reports.base import write_evaluation

        with files.new_folder(target) as new:
            write_evaluation(model.task, {"split": split, **analysis}, new, f"{model.config['model']} on {name}")
    if errors_file is not None:  # after the folder, in which it may be
        names, rows = errors_table
        with new_output(errors_file) as file:
            file.writelines(map(csv_row, [names, *rows]))
    if form == "json":
        row = {"bundle": str(bundle), "model": config["model"], "dataset": name, "split": split, **finite(scores)}
        row |= {"spans": finite(analysis["spans"])} if "spans" in analysis else {}
        print(escape_json(json.dumps(row, ensure_ascii=False)))
    else:
        notes.show(f"{split} {model.task.module('report').all_scores(scores)}")
