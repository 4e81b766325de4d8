"""The command evaluate: the scores of a trained model on a corpus or on a file."""

from __future__ import annotations

import json

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli.arguments import BUNDLE, corpus
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Source, load_bundle
from dense_lstm_zoo.corpora.dataset import Dataset
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
    training, task = config["training"], tasks.find(config["task"])
    trained_on, columns = training["dataset"], training.get("columns", {})
    resolved = Dataset.to_score(dataset, file_options, task, split, trained_on=trained_on, columns=columns)
    if resolved is None:
        raise ValueError(
            f"{bundle} was trained on {trained_on!r:.80}, which is no file and no published corpus: "
            f"give its {split} texts as --{split}-file FILE."
        )
    name, texts, label_names = resolved.load_part(split)
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
