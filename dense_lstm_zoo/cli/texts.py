"""Commands that run a model on texts and write the results: predict, score, generate, next-words."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import few_texts, light, writing
from dense_lstm_zoo.cli.commands import check_command, check_picture, load
from dense_lstm_zoo.cli.light import Folder
from dense_lstm_zoo.corpora.own_files import format_of, input_format
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.data.endings import ENDINGS, ending
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo.tasks.answers import fields
from dense_lstm_zoo_runtime.streams import for_reading

if TYPE_CHECKING:
    from dense_lstm_zoo.tasks import Task


@dataclass(frozen=True)
class Asked:
    """A request to ``predict`` or ``score``; see their ``--help``. ``model`` is the folder of a bundle or an export."""

    model: Folder
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

    @property
    def name(self) -> str:
        """The name of the input in errors."""
        return self.file or "standard input"


def predict(bundle: str | BundleFolder, **asked: Any) -> None:
    """Label texts, or tag the tokens of sentences."""
    _answer("predict", Asked(light.open_folder(bundle), **asked))


def score(bundle: str | BundleFolder, **asked: Any) -> None:
    """Write the log probability and perplexity of texts."""
    _answer("score", Asked(light.open_folder(bundle), **asked))


def _answer(command: str, asked: Asked) -> None:
    """Read the texts, run the bundle and write the answers; the whole request is checked first."""
    config = light.read_config(asked.model)
    task = check_command(asked.model, config, command)
    input_form, form = formats(asked, task)
    output = None if asked.output is None else check_output(asked.output, asked.overwrite)
    with contextlib.ExitStack() as stack:
        texts = source(asked, config, input_form, stack)
        once = few_texts.are_few(asked.texts)
        loaded = light.load(asked.model, once=once)
        if once:
            stack.enter_context(few_texts.eagerly())
        screen = sys.stdout if asked.raw else for_reading(sys.stdout)
        target: IO[str] = stack.enter_context(new_output(output)) if output else screen
        options = writing.Options(
            form=form,
            prefix=asked.prefix,
            raw=asked.raw,
            separator=_separator(asked, config),
            conllu=asked.output is not None and ending(asked.output) == "conllu",
        )
        writing.write(target, options, texts, getattr(loaded, f"{command}_stream"), _shapes(task, loaded.labels))


def _shapes(task: Task, labels: Sequence[str]) -> writing.Shapes:
    form = task.answers
    return writing.Shapes(
        columns=form.columns(labels),
        line=lambda answer: form.line(fields(answer), getattr(answer, "text", "")),
        row=lambda answer: [_cell(value) for value in form.values(fields(answer), labels)],
        fields=fields,
        shared=form.shared,
        tags=labels,
    )


def _cell(value: float | str) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def source(asked: Asked, config: dict[str, Any], input_form: str, stack: contextlib.ExitStack) -> records.Source:
    """Return the texts of a request: its own, those of its file, or of standard input; ``stack`` closes the file."""
    if asked.texts:
        return records.from_texts(asked.texts)
    remembered = config["training"].get("columns", {})
    how = records.Options(
        form=input_form,
        text_column=asked.text_column or remembered.get("text_column"),
        token_column=remembered.get("token_column", 0) if asked.token_column is None else asked.token_column,
        separator=_separator(asked, config),
        encoding=asked.encoding,
        tokens=tasks.find(config["task"]).takes_tokens,
    )
    file = None if asked.file is None else files.existing_file(asked.file)
    stream = sys.stdin.buffer if file is None else stack.enter_context(pipes.stream(file))
    return records.read(stream, asked.name, how)


def _separator(asked: Asked, config: dict[str, Any]) -> str | None:
    """Return the separator of a request's columns: its own, else that of the training."""
    remembered: str | None = config["training"].get("columns", {}).get("separator")
    return remembered if asked.separator is None else asked.separator


def formats(asked: Asked, task: Task) -> tuple[str, str]:
    """Return the format to read and the format to write."""
    is_tagger = task.takes_tokens
    readable = records.TAGGER_FORMATS if is_tagger else records.FORMATS
    writable = writing.TAGGER_FORMATS if is_tagger else writing.FORMATS
    if asked.form not in (None, *writable):
        raise ValueError(f"--format {asked.form} is not for {task.name}. Accepted: {', '.join(writable)}.")
    if asked.texts and asked.file is not None:
        raise ValueError("Give texts or --file, not both.")
    if asked.texts and asked.input_form not in (None, "text"):
        raise ValueError(f"Texts given as arguments are raw text; --input-format {asked.input_form} is for --file.")
    if asked.file is not None:
        files.existing_file(asked.file)
        found = input_format(asked.file, readable, "--input-format", asked.input_form, otherwise="text")
    else:
        found = "text" if asked.input_form is None else checks.one_of("--input-format", asked.input_form, readable)
    if asked.token_column is not None and found != "columns":
        raise ValueError(f"--token-column is for columns; the input is {found}.")
    if asked.separator is not None and found != "columns":
        raise ValueError(f"--separator is for columns; the input is {found}.")
    if asked.separator == "":
        raise ValueError("--separator is empty; give what is between columns, such as \\t for a tab.")
    if asked.text_column is not None and found in ("text", "columns"):
        raise ValueError(f"--text-column is for csv, tsv and jsonl; the input is {found}.")
    form = asked.form
    if form is None:
        likely = {"tsv": "csv"}.get(found, found)
        default = likely if likely in writable else "jsonl" if likely == "csv" else "text"
        form = default if asked.output is None else format_of(asked.output, writable, "--format", otherwise=default)
    is_text = asked.file is not None and ENDINGS.get(ending(asked.file)) == "text"
    is_open = found == "text" and asked.input_form is None and not asked.texts and not is_text
    if is_tagger and form != "text" and is_open:
        raise ValueError(
            f"{asked.name} could hold sentences or {form}: choose --input-format text (one sentence per line) or "
            f"--input-format {form}."
        )
    if asked.prefix is not None and form not in ("csv", "jsonl"):
        raise ValueError(f"--prefix is for csv and jsonl; the output is {form}.")
    if asked.raw and form not in ("text", "csv"):
        raise ValueError(f"--raw is for text and csv; the output is {form}.")
    return found, form


def generate(bundle: str | BundleFolder, prompt: str, count: int, seed: int | None, **options: Any) -> None:
    """Print continuations of a prompt, one per line."""
    checks.integer("count", count)
    once = few_texts.are_few([prompt]) and count * options["max_tokens"] <= few_texts.STEPS
    loaded = light.load(light.open_folder(bundle), "generate", once=once)
    with few_texts.eagerly() if once else contextlib.nullcontext():
        for i in range(count):
            found = loaded.generate(prompt, seed=None if seed is None else seed + i, **options)
            print(escape_controls(f"{prompt} {found.text}".strip(), keep="\n"))


def next_words(bundle: str | BundleFolder, prefix: str, k: int) -> None:
    """Print the likeliest next words with their probabilities."""
    checks.integer("k", k)
    once = few_texts.are_few([prefix])
    loaded = light.load(light.open_folder(bundle), "next-words", once=once)
    with few_texts.eagerly() if once else contextlib.nullcontext():
        found = loaded.next_words(prefix, k)
    for word, probability in found:
        print(f"{probability:.4f}\t{escape_controls(word)}")


def gates(bundle: str | BundleFolder, sentence: str, output: str | None, overwrite: bool) -> None:
    """Print how far a tagger's skip gates are open, one token per line, and draw them."""
    picture = check_picture(output, overwrite)
    loaded = load(bundle, "gates")
    found = loaded.gates(sentence)
    columns = [f"{direction} {layer}" for direction in ("forward", "backward") for layer in found.layers]
    print("\t".join(["token", *columns]))
    for t, token in enumerate(found.tokens):
        print("\t".join([escape_controls(token), *(f"{value:.3f}" for value in found.values[:, :, t].T.reshape(-1))]))
    if picture:
        loaded.task.module("pictures").gates(found, picture, f"gates of {loaded.config['model']}")


def explain(bundle: str | BundleFolder, text: str, output: str | None, overwrite: bool) -> None:
    """Print the saliency of a text's words and what each layer looked at, one word per line, and draw them."""
    picture = check_picture(output, overwrite)
    loaded = load(bundle, "explain")
    found = loaded.explain(text)
    print(f"{escape_controls(found.label)}\t{found.probability:.4f}")
    print("\t".join(["token", "saliency", *found.layers]))
    for token, saliency, shares in zip(found.tokens, found.saliency, found.shares, strict=True):
        print("\t".join([escape_controls(token), f"{saliency:+.4f}", *(f"{share:.3f}" for share in shares)]))
    if picture:
        loaded.task.module("pictures").explanation(
            found, picture, f"{loaded.config['model']}: {found.label}, {found.probability:.2f}"
        )
