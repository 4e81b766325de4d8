"""Commands that read texts and write what a model makes of them: predict, score, generate, next-words."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.cli.commands import check_picture, load, read_config
from dense_lstm_zoo.data.columns import sentence_lines

if TYPE_CHECKING:
    from dense_lstm_zoo.classification import ClassificationBundle, Prediction
    from dense_lstm_zoo.language_modelling import LanguageModelBundle, Score
    from dense_lstm_zoo.tagging import TaggedSentence, TaggingBundle

FORMATS = ("text", "csv", "jsonl")
TAGGER_FORMATS = ("text", "columns", "jsonl")


def predict(
    bundle: str, texts: list[str], file: str | None, output: str | None, form: str, token_column: int | None
) -> None:
    """Label texts, or tag the tokens of sentences."""
    if token_column is not None and form != "columns":
        raise ValueError(f"--token-column is for --format columns; the format is {form}.")
    task = read_config(bundle)["task"]
    accepted = TAGGER_FORMATS if task == "tagging" else FORMATS
    if form not in accepted:
        raise ValueError(f"--format {form} is not for {task}. Accepted: {', '.join(accepted)}.")
    if task == "tagging":
        _tag(bundle, texts, file, output, form, token_column or 0)
        return
    with _open(texts, file, output) as (lines, write_to):
        loaded: ClassificationBundle = load(bundle, "classification")  # type: ignore[assignment]
        labels = loaded.labels
        header = ["text", "label", "probability", *(f"p_{label}" for label in labels)]

        def text(found: Prediction) -> str:
            return f"{found.label}\t{found.probability:.4f}\t{found.text}"

        def row(found: Prediction) -> list[str]:
            shares = (found.probability, *(found.probabilities[label] for label in labels))
            return [found.text, found.label, *(f"{share:.6f}" for share in shares)]

        _write(write_to(), form, loaded.predict_stream(lines), text, header, row)


def _tag(bundle: str, texts: list[str], file: str | None, output: str | None, form: str, token_column: int) -> None:
    """Tag sentences: a line each, in columns with a blank line between them, or a JSON object a line."""
    with _open(texts, file, output) as (lines, write_to):
        loaded: TaggingBundle = load(bundle, "tagging")  # type: ignore[assignment]
        read, write = _TAGGER_READERS[form], _TAGGER_WRITERS[form]
        # Each sentence as it was read goes beside its tags into what is written.
        sources, sentences = itertools.tee(read(lines, token_column))
        target = write_to()
        for (source, _), found in zip(sources, loaded.predict_stream(s for _, s in sentences), strict=True):
            target.write(write(source, found))


def _read_text(lines: Iterable[str], _: int) -> Iterator[tuple[Any, Any]]:
    return ((line, line) for line in lines)


def _read_columns(lines: Iterable[str], token_column: int) -> Iterator[tuple[Any, Any]]:
    for sentence in sentence_lines(lines, token_column):
        yield sentence, [token for _, token in sentence if token is not None]


def _read_jsonl(lines: Iterable[str], _: int) -> Iterator[tuple[Any, Any]]:
    for number, line in enumerate(lines, start=1):
        try:
            item = json.loads(line)
            sentence = item["tokens"] if "tokens" in item else item["text"]
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                f"Line {number} must be a JSON object with tokens or text; received {line[:80]!r}."
            ) from None
        yield item, sentence


def _write_columns(rows: list[tuple[str, str | None]], found: TaggedSentence) -> str:
    """Write the lines as they were, with the tag behind each that has a token."""
    tags = iter(found.tags)
    separator = "\t" if any("\t" in row for row, _ in rows) else " "
    lines = [row if token is None else row.rstrip(" \t") + separator + next(tags) for row, token in rows]
    return "".join(f"{line}\n" for line in [*lines, ""])


_TAGGER_READERS: dict[str, Callable[[Iterable[str], int], Iterator[tuple[Any, Any]]]] = {
    "text": _read_text,
    "columns": _read_columns,
    "jsonl": _read_jsonl,
}
_TAGGER_WRITERS: dict[str, Callable[[Any, Any], str]] = {
    "text": lambda _, found: " ".join(f"{t}/{tag}" for t, tag in zip(found.tokens, found.tags, strict=True)) + "\n",
    "columns": _write_columns,
    "jsonl": lambda item, found: json.dumps({**item, **dataclasses.asdict(found)}, ensure_ascii=False) + "\n",
}


def score(bundle: str, texts: list[str], file: str | None, output: str | None, form: str) -> None:
    """Give texts their log probability and perplexity."""
    with _open(texts, file, output) as (lines, write_to):
        loaded: LanguageModelBundle = load(bundle, "language_model")  # type: ignore[assignment]
        header = ["text", "log_probability", "perplexity", "tokens", "unknown_words"]

        def text(found: Score) -> str:
            return f"{found.log_probability:.4f}\t{found.perplexity:.2f}\t{found.text}"

        def row(found: Score) -> list[Any]:
            numbers = f"{found.log_probability:.6f}", f"{found.perplexity:.6f}"
            return [found.text, *numbers, found.tokens, found.unknown_words]

        _write(write_to(), form, loaded.score_stream(lines), text, header, row)


def generate(bundle: str, prompt: str, count: int, seed: int | None, **options: Any) -> None:
    """Print continuations of a prompt, a line each."""
    checks.integer("count", count)
    loaded: LanguageModelBundle = load(bundle, "language_model")  # type: ignore[assignment]
    for i in range(count):
        found = loaded.generate(prompt, seed=None if seed is None else seed + i, **options)
        print(f"{prompt} {found.text}".strip())


def next_words(bundle: str, prefix: str, k: int) -> None:
    """Print the likeliest next words with their probabilities."""
    checks.integer("k", k)
    loaded: LanguageModelBundle = load(bundle, "language_model")  # type: ignore[assignment]
    for word, probability in loaded.next_words(prefix, k):
        print(f"{probability:.4f}\t{word}")


def gates(bundle: str, sentence: str, output: str | None) -> None:
    """Print how far a tagger's skips are open, a token a line, and draw it."""
    check_picture(output)
    loaded: TaggingBundle = load(bundle, "tagging")  # type: ignore[assignment]
    found = loaded.gates(sentence)
    columns = [f"{direction} {layer}" for direction in ("forward", "backward") for layer in found.layers]
    print("\t".join(["token", *columns]))
    for t, token in enumerate(found.tokens):
        print("\t".join([token, *(f"{value:.3f}" for value in found.values[:, :, t].T.reshape(-1))]))
    if output:
        from dense_lstm_zoo import plots

        plots.gates(found, Path(output), f"gates of {loaded.config['model']}")


def explain(bundle: str, text: str, output: str | None) -> None:
    """Print the saliency of a text's words and what each layer looked at, a word a line, and draw it."""
    check_picture(output)
    loaded: ClassificationBundle = load(bundle, "classification")  # type: ignore[assignment]
    found = loaded.explain(text)
    print(f"{found.label}\t{found.probability:.4f}")
    print("\t".join(["token", "saliency", *found.layers]))
    for token, saliency, shares in zip(found.tokens, found.saliency, found.shares, strict=True):
        print("\t".join([token, f"{saliency:+.4f}", *(f"{share:.3f}" for share in shares)]))
    if output:
        from dense_lstm_zoo import plots

        plots.explanation(found, Path(output), f"{loaded.config['model']}: {found.label}, {found.probability:.2f}")


@contextlib.contextmanager
def _open(
    texts: list[str], file: str | None, output: str | None
) -> Iterator[tuple[Iterable[str], Callable[[], IO[str]]]]:
    """Give the texts, and a function that opens the place to write to: nothing is made before the bundle is loaded."""
    if texts and file:
        raise ValueError("Give texts or --file, not both.")
    source = files.existing_file(file) if file else None
    with contextlib.ExitStack() as stack:
        lines = texts or _lines(stack.enter_context(source.open("rb")) if source else sys.stdin.buffer)
        yield lines, lambda: stack.enter_context(files.new_file(output, "w")) if output else sys.stdout


def _lines(stream: IO[bytes]) -> Iterator[str]:
    for line in stream:
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _write(
    target: IO[str],
    form: str,
    found: Iterable[Any],
    text: Callable[[Any], str],
    header: list[str],
    row: Callable[[Any], list[Any]],
) -> None:
    """Write what was found in one of ``FORMATS``, item by item."""
    if form == "csv":
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(map(row, found))
    for item in found if form != "csv" else ():
        line = text(item) if form == "text" else json.dumps(dataclasses.asdict(item), ensure_ascii=False)
        target.write(f"{line}\n")
