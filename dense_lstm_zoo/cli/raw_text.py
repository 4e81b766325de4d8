"""Commands that prepare pretraining: raw text in a classifier's words, and the word vectors of a trained model."""

from __future__ import annotations

import contextlib
import sys

from dense_lstm_zoo.cli.commands import import_tensorflow, load
from dense_lstm_zoo.corpora.own_files import input_format
from dense_lstm_zoo.data import records
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.data.tokens import token_stream
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files, pipes
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output
from dense_lstm_zoo_runtime.streams import for_reading


def tokenize(
    file: str | None,
    output: str | None,
    input_form: str | None,
    text_column: str | None,
    encoding: str | None,
    overwrite: bool,
) -> None:
    """Write each text's tokens on a line; texts without tokens are left out, and line ends within texts are spaces."""
    form = input_form or "text"
    if file is not None:
        files.existing_file(file)
        form = input_format(file, records.FORMATS, "--input-format", input_form, otherwise="text")
    if text_column is not None and form == "text":
        raise ValueError("--text-column is for csv, tsv and jsonl; the input is text.")
    target_file = None if output is None else check_output(output, overwrite)
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(pipes.stream(files.existing_file(file))) if file is not None else sys.stdin.buffer
        options = records.Options(form, text_column, encoding=encoding)
        source = records.read(stream, file or "standard input", options)
        import_tensorflow()
        target = stack.enter_context(new_output(target_file)) if target_file else for_reading(sys.stdout)
        progress = Progress(file or "standard input", enabled=output is not None, unit="texts")
        progress.start(0, None)
        texts, lines, tokens = 0, 0, 0
        for found in token_stream(str(record.text) for record in source.records):
            texts += 1
            if found:
                target.write(" ".join(found) + "\n")
                lines, tokens = lines + 1, tokens + len(found)
            progress.update(texts)
    if target_file:
        left_out = f"; {texts - lines:,} texts without tokens are left out" if lines < texts else ""
        print(escape_controls(f"{output}: {lines:,} lines, {tokens:,} tokens{left_out}"), file=sys.stderr)


def word_vectors(bundle: str, output: str, overwrite: bool) -> None:
    """Write the word vectors of a trained model, one word per line."""
    target = check_output(output, overwrite)
    loaded = load(bundle)
    loaded.save_word_vectors(target, overwrite=overwrite)
    count = len(loaded.vocabulary.words)
    notes.show(escape_controls(f"{output}: vectors of {count:,} words; train --vectors {output} starts from them"))
