"""Commands that read texts and write what a model makes of each: predict, score."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.cli import few_texts, writing
from dense_lstm_zoo.cli.arguments import THRESHOLD, check_threshold, column, texts, unescaped
from dense_lstm_zoo.cli.command import argument, command
from dense_lstm_zoo.cli.loading import Folder, Source, check_command, load, open_folder, read_config
from dense_lstm_zoo.corpora.own_files import format_of, input_format
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.delimited import check_delimiter
from dense_lstm_zoo.data.endings import ENDINGS, ending
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.answers import cell, fields
from dense_lstm_zoo_runtime.schemes import SchemeError, scheme_of
from dense_lstm_zoo_runtime.streams import for_reading

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle
    from dense_lstm_zoo_runtime import Predictor
    from dense_lstm_zoo_runtime.decisions import Threshold


@dataclass(frozen=True)
class Request:
    """The model and the options of ``predict``, ``score`` or ``embed``. See their ``--help``."""

    folder: Folder
    texts: list[str]
    file: str | None
    output: str | None
    form: str | None
    input_form: str | None
    text_column: str | None
    encoding: str | None
    prefix: str | None
    raw: bool
    overwrite: bool
    token_column: int | str | None = None
    separator: str | None = None
    delimiter: str | None = None
    threshold: Threshold = None

    @property
    def name(self) -> str:
        """The name of the input in errors."""
        return self.file or "standard input"


@command(
    "predict",
    "Label raw texts, or tag their tokens.",
    *texts(records.TAGGER_FORMATS, (*writing.FORMATS, "columns", *writing.SPAN_FORMATS)),
    argument(
        "--token-column",
        type=column,
        help="columns: the tokens' column, from 0, or its CoNLL-U name (default: as in training, else 0; CoNLL-U: 1)",
    ),
    argument(
        "--separator",
        metavar="TEXT",
        type=unescaped,
        help="columns: what is between them, such as \\t for a tab (default: as in training, else spaces and tabs)",
    ),
    THRESHOLD,
    example='predict runs/trec "Who was Galileo ?"',
)
def predict(bundle: Source, **options: Any) -> None:
    """Label texts, or tag the tokens of sentences."""
    _answer("predict", Request(open_folder(bundle), **options))


@command(
    "score",
    "Print the log probability and perplexity of texts under a language model.",
    *texts(records.FORMATS, writing.FORMATS),
    example='score runs/ptb "the market fell"',
)
def score(bundle: Source, **options: Any) -> None:
    """Write the log probability and perplexity of texts."""
    _answer("score", Request(open_folder(bundle), **options))


def _answer(command: str, request: Request) -> None:
    """Read the texts, run the bundle and write the answers. The whole request is checked first."""
    config = read_config(request.folder)
    task = check_command(request.folder, config, command)
    input_form, form = formats(request, task)
    check_threshold(request.threshold, task)
    output = None if request.output is None else check_output(request.output, request.overwrite)
    with contextlib.ExitStack() as stack:
        texts = open_source(request, config, input_form, stack)
        once = few_texts.are_few(request.texts)
        model = load(request.folder, once=once)
        if form in writing.SPAN_FORMATS:
            _check_spans(form, model.labels)
        if once:
            stack.enter_context(few_texts.eagerly())
        screen = sys.stdout if request.raw else for_reading(sys.stdout)
        target: IO[str] = stack.enter_context(new_output(output)) if output else screen
        options = writing.Options(
            form=form,
            prefix=request.prefix,
            raw=request.raw,
            separator=_separator(request, config),
            conllu=request.output is not None and ending(request.output) == "conllu",
        )
        answer = getattr(model, f"{command}_stream")
        if request.threshold is not None:
            answer = functools.partial(answer, threshold=request.threshold)
        unknown = _UnknownTexts(answer)
        writing.write(target, options, texts, unknown.answers, _shapes(task, model))
    unknown.warn()


def _check_spans(form: str, labels: Sequence[str]) -> None:
    """Raise ``ValueError`` for tags that mark no spans, or mark some with a label that the format cannot hold."""
    try:
        scheme = scheme_of(labels)
    except SchemeError as error:
        raise ValueError(f"--format {form} writes spans. {error}") from None
    names = (scheme.part(label)[1] for label in labels)
    if form == "brat" and (odd := next((name for name in names if re.search(r"\s", name)), None)):
        raise ValueError(f"--format brat cannot hold the label {odd!r:.80}, which has white space. Use --format jsonl.")


class _UnknownTexts:
    """The answers of a model, and how many of the texts hold no word that it knows."""

    def __init__(self, answer: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
        self._answer = answer
        self._texts = self._without_words = 0

    def answers(self, texts: Iterable[Any]) -> Iterator[Any]:
        """Yield the answers to texts."""
        for answer in self._answer(texts):
            self._texts += 1
            self._without_words += getattr(answer, "known_words", None) == 0
            yield answer

    def warn(self) -> None:
        """Say on standard error if there were such texts."""
        if self._without_words:
            sys.stdout.flush()
            print(
                f"{self._without_words:,} of {self._texts:,} texts: the model knows none of their words, so their "
                "labels are guesses.",
                file=sys.stderr,
            )


def _shapes(task: Task, model: Bundle | Predictor) -> writing.Shapes:
    labels: Sequence[str] = model.labels
    form = task.answers.of_model(model)
    return writing.Shapes(
        columns=form.columns(labels),
        line=lambda answer: form.line(fields(answer), getattr(answer, "text", "")),
        row=lambda answer: [cell(value) for value in form.values(fields(answer), labels)],
        fields=fields,
        shared=form.shared,
        tags=labels,
    )


def open_source(
    request: Request, config: dict[str, Any], input_form: str, stack: contextlib.ExitStack
) -> records.Source:
    """Return the texts of a request: its own, those of its file, or of standard input. ``stack`` closes the file."""
    if request.texts:
        return records.from_texts(request.texts)
    remembered = config["training"].get("columns", {})
    options = records.Options(
        form=input_form,
        text_column=request.text_column or remembered.get("text_column"),
        token_column=remembered.get("token_column", 0) if request.token_column is None else request.token_column,
        separator=_separator(request, config),
        encoding=request.encoding,
        tokens=tasks.find(config["task"]).takes_tokens,
        delimiter=check_delimiter(request.delimiter),
    )
    file = None if request.file is None else files.existing_file(request.file)
    stream = sys.stdin.buffer if file is None else stack.enter_context(pipes.stream(file))
    return records.read_records(stream, request.name, options)


def _separator(request: Request, config: dict[str, Any]) -> str | None:
    """Return the separator of a request's columns: its own, else that of the training."""
    remembered: str | None = config["training"].get("columns", {}).get("separator")
    return remembered if request.separator is None else request.separator


def formats(request: Request, task: Task) -> tuple[str, str]:
    """Return the format to read and the format to write."""
    is_tagger = task.takes_tokens
    readable = records.TAGGER_FORMATS if is_tagger else records.FORMATS
    writable = writing.TAGGER_FORMATS if is_tagger else writing.FORMATS
    if request.form not in (None, *writable):
        raise ValueError(f"--format {request.form} is not for {task.name}. Accepted: {', '.join(writable)}.")
    if request.texts and request.file is not None:
        raise ValueError("Give texts or --file, not both.")
    if request.texts and request.input_form not in (None, "text"):
        raise ValueError(f"Texts given as arguments are raw text; --input-format {request.input_form} is for --file.")
    if request.file is not None:
        files.existing_file(request.file)
        input_form = input_format(request.file, readable, "--input-format", request.input_form, otherwise="text")
    else:
        input_form = (
            "text" if request.input_form is None else checks.one_of("--input-format", request.input_form, readable)
        )
    if request.token_column is not None and input_form != "columns":
        raise ValueError(f"--token-column is for columns; the input is {input_form}.")
    if request.separator is not None and input_form != "columns":
        raise ValueError(f"--separator is for columns; the input is {input_form}.")
    if request.separator == "":
        raise ValueError("--separator is empty; give what is between columns, such as \\t for a tab.")
    records.check_options(input_form, request.text_column, request.encoding, request.delimiter)
    form = request.form
    if form is None:
        likely = "csv" if input_form in ("tsv", "parquet", "xlsx") else input_form
        default = likely if likely in writable else "jsonl" if likely == "csv" else "text"
        form = default if request.output is None else format_of(request.output, writable, "--format", otherwise=default)
    is_text = request.file is not None and ENDINGS.get(ending(request.file)) == "text"
    is_open = input_form == "text" and request.input_form is None and not request.texts and not is_text
    if form == "brat" and input_form != "text":
        raise ValueError(
            f"--format brat gives places in a file of one text per line; the input is {input_form}. Use --format spacy."
        )
    if is_tagger and form not in ("text", *writing.SPAN_FORMATS) and is_open:
        raise ValueError(
            f"{request.name} could hold sentences or {form}: choose --input-format text (one sentence per line) or "
            f"--input-format {form}."
        )
    if request.prefix is not None and form not in ("csv", "jsonl", "json"):
        raise ValueError(f"--prefix is for csv, jsonl and json; the output is {form}.")
    if request.raw and form not in ("text", "csv"):
        raise ValueError(f"--raw is for text and csv; the output is {form}.")
    return input_form, form
