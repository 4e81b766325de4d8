"""The command that labels texts with a teacher: label."""

from __future__ import annotations

from typing import Any

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.cli.arguments import DELIMITER, OVERWRITE
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import import_tensorflow
from dense_lstm_zoo.cli.training_arguments import QUIET
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.data.delimited import check_delimiter
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.teaching import soft_files, teachers, token_teachers, token_teaching
from dense_lstm_zoo.teaching.teach import student_labels
from dense_lstm_zoo.teaching.token_teaching import student_tags


@command(
    "label",
    "Let a teacher label texts, and write probabilities that train reads. An interrupted run resumes.",
    argument(
        "teacher",
        nargs="+",
        help="a trained classifier or tagger (folder, preset's name or address) or a file of answers, or several for "
        "their mean",
    ),
    argument(
        "--file", metavar="FILE", help="texts: one per line, or a table (default: the training texts of --dataset)"
    ),
    argument(
        "-o", "--output", metavar="FILE", required=True, help="csv, jsonl or parquet, or for a tagger conll; required"
    ),
    OVERWRITE,
    argument(
        "--dataset",
        metavar="NAME",
        help="what the student is scored on, a corpus, file or folder: copies of its dev and test texts are left out",
    ),
    argument("--train-texts", action="store_true", help="also label the training texts of --dataset"),
    argument(
        "--augment", type=int, default=0, metavar="N", help="also label N changed copies of each text (default: 0)"
    ),
    argument("--seed", type=int, default=1, metavar="N", help="of the copies (default: 1)"),
    argument(
        "--labels",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="for a file of answers: the labels; others are left out",
    ),
    argument("--text-column", metavar="NAME", help="tables: the texts' column (default: text)"),
    argument("--label-column", metavar="NAME", help="tables: the labels' column (default: label, if there is one)"),
    argument(
        "--label-separator",
        metavar="TEXT",
        help="tables: what is between the labels of a text that may have several, such as '|'",
    ),
    argument("--encoding", metavar="NAME", help="encoding of the files (default: utf-8)"),
    DELIMITER,
    argument("--batch-size", type=int, metavar="N", help="texts that are labelled together (default: 1,024)"),
    QUIET,
    example="label dc_bilstm_sst2 --file raw.txt --output soft.parquet --dataset sst2",
)
def label(
    teacher: list[str],
    file: str | None,
    output: str,
    dataset: str | None,
    overwrite: bool,
    labels: list[str] | None,
    **options: Any,
) -> None:
    """Write soft labels."""
    target = check_output(output, overwrite)
    if file is not None:
        files.existing_file(file)
    delimiter = check_delimiter(options.pop("delimiter"))
    is_for_tokens = token_teaching.is_for_tokens(target)
    task = tasks.of_tagged_words() if is_for_tokens else tasks.of_texts_with_labels()
    targets = [target, token_teaching.check_target(target)] if is_for_tokens else [target]
    if not is_for_tokens:
        soft_files.check_format(target)
    corpus = None if dataset is None else Dataset.resolve(dataset, {}, task.name).load()
    teachers.check_sources(targets, teacher, file, corpus, are_columns=is_for_tokens)
    if is_for_tokens:
        source = token_teachers.find(teacher, student_tags(labels, corpus), task, options["encoding"])
    else:
        columns = {name: options[name] for name in ("text_column", "label_column", "label_separator", "encoding")}
        is_several = None if corpus is None else corpus.is_several
        source = teachers.find(teacher, student_labels(labels, corpus), {**columns, "delimiter": delimiter}, is_several)
    import_tensorflow()
    settings: dict[str, Any] = {"delimiter": delimiter, "overwrite": overwrite, "labels": labels}
    zoo.teach(source, file, output=output, dataset=corpus, **settings, **options)
