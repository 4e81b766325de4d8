"""A batch job: input files in, a folder of shards out, all or nothing."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apache_beam as beam

import dense_lstm_zoo as zoo
from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.batch import beam_options, engines, input_files, output, sinks, streams
from dense_lstm_zoo.batch.handler import BATCH
from dense_lstm_zoo.batch.layout import BrokenInputError, Layout
from dense_lstm_zoo.batch.shards import Read, Split, Write
from dense_lstm_zoo.batch.transform import Predict

SHARD_ROWS = 100_000


@dataclass(frozen=True)
class Job:
    """A request. ``dense-lstm-zoo predict-batch --help`` describes each option."""

    input: Sequence[str]
    output: str
    model: str
    runner: str = "DirectRunner"
    input_form: str | None = None
    form: str | None = None
    text_column: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    prefix: str | None = None
    raw: bool = False
    overwrite: bool = False
    max_chars: int = Layout.max_chars
    max_bad: int | None = None
    shard_rows: int = SHARD_ROWS
    batch_size: int = BATCH
    threads: int | None = 1


def run(job: Job, arguments: Sequence[str] = (), ours: Iterable[str] = ()) -> output.Summary:
    """Predict the rows of the input files and publish the output, whole or not at all.

    Args:
        job: What to do.
        arguments: Options of Beam, as on a command line.
        ours: Options of the command, for near matches of a misspelt one.

    Raises:
        FileExistsError: The output is there already.
        FileNotFoundError: No file matches. No such model.
        BrokenInputError: A file that cannot be read as a whole.
        ValueError: A bad option, a missing column, an input in the output folder, more bad rows than are allowed.
        ConnectionError: The runner cannot be reached.
        RuntimeError: The pipeline failed.
    """
    checks.integer("--shard-rows", job.shard_rows)
    if job.max_bad is not None:
        checks.integer("--max-bad", job.max_bad, minimum=0)
    runner, options = beam_options.parse(job.runner, arguments, ours)
    target = output.check(job.output, job.overwrite)
    model = engines.find(job.model)
    layout, plan = _plan_output(job, model)
    output.check_not_read(target, layout.files)
    with output.work_folder(job.output, target) as work:
        pipeline = beam.Pipeline(runner=runner, options=options)
        _build(pipeline, job, model, layout, plan, work)
        with beam_options.without_proxy(), _plain_errors():
            state = pipeline.run()
            state.wait_until_finish()
        streams.check_unchanged(layout.files, layout.stamps)
        source = {"model": job.model, "task": model.task, "input": list(layout.files), "version": zoo.__version__}
        return output.publish(work, job.output, sinks.SUFFIXES[plan.form], source, job.max_bad)


def _plan_output(job: Job, model: engines.Model) -> tuple[Layout, sinks.Plan]:
    """Return the layout of the input and a plan of the output."""
    task = tasks.find(model.task)
    layout, names = input_files.find_layout(
        input_files.InputOptions(
            patterns=job.input,
            form=job.input_form,
            text_column=job.text_column,
            encoding=job.encoding,
            delimiter=job.delimiter,
            takes_tokens=task.takes_tokens and model.engine == "onnx",
            max_chars=job.max_chars,
            has_prefix=job.prefix is not None,
        )
    )
    if job.runner != beam_options.DIRECT:  # workers elsewhere have another current folder
        paths = (path if output.is_remote(path) else str(Path(path).absolute()) for path in layout.files)
        layout = replace(layout, files=tuple(paths))
    writable = sinks.WRITABLE[layout.form]
    if task.takes_tokens:
        writable = tuple(form for form in writable if form != "csv")
        if not writable or (layout.form in ("csv", "tsv") and job.form is None):
            raise ValueError("A tagger's answers are lists, which csv cannot hold. Use --format jsonl.")
    form = job.form or writable[0]
    if form not in writable:
        raise ValueError(
            f"{layout.form} with a {model.task} model can be written as {' or '.join(writable)}, not {form}."
        )
    if job.raw and form not in ("text", "csv"):
        raise ValueError(f"--raw is for text and csv; the output is {form}.")
    if job.prefix is not None and form == "text":
        raise ValueError("--prefix is for csv, jsonl and parquet; the output is text.")
    table = layout.names if layout.is_table else ("text",)
    plan = sinks.Plan(form, model.task, model.labels, table, "", job.raw, layout.schema, model.is_several)
    if form == "text":
        return layout, plan
    shared = {"tokens"} if layout.shares_tokens else set()
    occupied = {*(names or ["text"])} - shared
    prefix = job.prefix if job.prefix is not None else "predicted_" if occupied.intersection(plan.new_names) else ""
    plan = sinks.Plan(**{**vars(plan), "prefix": prefix})
    if both := occupied.intersection(plan.new_names):
        raise ValueError(
            f"The input already has {min(both)!r}, the name of a new column. Choose a prefix for new names, such as "
            "--prefix new_."
        )
    return Layout(**{**vars(layout), "reserved": frozenset(plan.new_names)}), plan


def _build(
    pipeline: beam.Pipeline, job: Job, model: engines.Model, layout: Layout, plan: sinks.Plan, work: str
) -> None:
    """Apply the transforms: no row is shuffled, so that memory does not grow with the input."""
    files = pipeline | "Files" >> beam.Create(range(len(layout.files))) | "Spread files" >> beam.Reshuffle()
    split = files | "Split" >> beam.ParDo(Split(layout)).with_outputs("records", main="parts")
    parts = split.parts | "Spread parts" >> beam.Reshuffle()
    rows = parts | "Read" >> beam.ParDo(Read(layout)).with_outputs("bad", "records", main="good")
    predictions = rows.good | "Predict" >> Predict(model, batch_size=job.batch_size, threads=job.threads)
    good = predictions | "Write" >> beam.ParDo(Write(work, "part", plan, job.shard_rows))
    bad = rows.bad | "Write bad rows" >> beam.ParDo(Write(work, "bad", layout, job.shard_rows))
    records = (
        (split.records, rows.records, good, bad) | "All records" >> beam.Flatten() | "Gather" >> beam.combiners.ToList()
    )
    _ = records | "Write records" >> beam.Map(output.write_records, work)


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn what a worker raised, which arrives as a page of its traceback, into one line."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if "KeyboardInterrupt" in text.partition(" [while running ")[0]:
            raise KeyboardInterrupt from error
        if match := re.search(r"BrokenInputError: (.+?)(?: \[while running .*)?$", text, re.MULTILINE):
            raise BrokenInputError(match[1]) from error
        if isinstance(error, BrokenInputError):
            raise BrokenInputError(text.partition(" [while running ")[0]) from error
        lines = [line for line in text.strip().splitlines() if line.strip()]
        raise RuntimeError(
            f"the pipeline failed, and nothing is published: {lines[-1] if lines else error!r}"
        ) from error
